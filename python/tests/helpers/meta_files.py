"""Rows of events in Parquet files batch_1, batch_2 and batch_10, and a table that says where each event is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

GROUP = 97  # rows of a row group
BATCHES = (1, 2, 10)
FIELDS = ["sensor_id", "charge", "auxiliary"]
TEMPLATE = "batch_{batch_id}.parquet"
Event = dict[str, Any]


class Events(NamedTuple):
    """Columns of each file, and a row of the table for each event."""

    folder: Path
    rows: dict[int, dict[str, np.ndarray]]
    meta: dict[str, np.ndarray]

    @property
    def files(self) -> str:
        return str(self.folder / "batch_*.parquet")

    @property
    def table(self) -> Path:
        return self.folder / "train_meta.parquet"

    def event(self, row: int) -> Event:
        """Event of a row of the table, by slices."""
        first, last = int(self.meta["first"][row]), int(self.meta["last"][row])
        columns = self.rows[int(self.meta["batch_id"][row])]
        cut = {name: columns[name][first : last + 1] for name in FIELDS}
        return {**cut, "azimuth": self.meta["azimuth"][row], "event_id": self.meta["event_id"][row]}

    def in_order(self, batches: tuple[int, ...] = BATCHES) -> list[Event]:
        """Events of the files in natural order, as their rows stand."""
        key = [
            (b, f, e) for b, f, e in zip(*(self.meta[n].tolist() for n in ("batch_id", "first", "last")), strict=True)
        ]
        rows = [row for row in sorted(range(len(key)), key=key.__getitem__) if key[row][0] in batches]
        return [self.event(row) for row in rows]

    def left_out(self) -> int:
        named = int((self.meta["last"] - self.meta["first"] + 1).sum())
        return sum(len(columns["charge"]) for columns in self.rows.values()) - named


def make_rows(rows: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "sensor_id": random.integers(0, 5160, rows).astype(np.int16),
        "charge": random.random(rows),
        "auxiliary": random.random(rows) < 0.6,
    }


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=GROUP, **options)
    return path


def make_events(folder: Path, *, gaps: bool = False, empty: bool = False, shuffled: bool = False) -> Events:
    """Events of one row, of several row groups, and with `empty` of none; with `gaps` rows of no event between."""
    random = np.random.default_rng(7)
    rows, meta = {}, []
    for batch in BATCHES:
        at = 0
        for number in range(19):
            length = int(1 + random.pareto(1.1) * 6) if number not in (3, 4) else (1, 2 * GROUP + 5)[number - 3]
            length = 0 if empty and number in (0, 6, 7, 18) else min(length, 250)
            at += int(random.integers(0, 9)) if gaps else 0
            meta.append((batch, at, at + length - 1))
            at += length
        rows[batch] = make_rows(at + (11 if gaps else 0), batch)
        write(folder / f"batch_{batch}.parquet", rows[batch])
    table = np.array(meta)
    if shuffled:
        table = table[random.permutation(len(table))]
    columns = {name: table[:, i] for i, name in enumerate(("batch_id", "first", "last"))}
    columns |= {"azimuth": random.random(len(table)), "event_id": 3 * random.permutation(len(table)) + 24}
    made = Events(folder, rows, columns)
    write(made.table, columns)
    return made


def by_meta(meta: Any, **changes: Any) -> hr.Spans:
    words = {"first": "first", "last": "last", "file": "batch_id", "file_template": TEMPLATE, **changes}
    return hr.Spans(meta=meta, **words)


def opened(events: Events, files: Any = None, spans: hr.Spans | None = None, targets: Any = None) -> hr.Dataset:
    return hr.open(
        files or events.files,
        FIELDS,
        sample_by=spans or by_meta(events.table),
        targets=targets or ["azimuth", "event_id"],
    )


def key_of(event: Event) -> tuple[Any, ...]:
    """Values and types of an event."""
    arrays = [np.asarray(event[name]) for name in (*FIELDS, "azimuth", "event_id")]
    return tuple((array.dtype.str, array.tobytes()) for array in arrays)


def keys_of(events: Any) -> list[tuple[Any, ...]]:
    return [key_of(event) for event in events]


def split_up(batch: Any) -> list[Event]:
    """The events of a ragged batch or of a padded one."""
    out = []
    for i in range(len(batch["event_id"])):
        event = {name: batch[name][i] for name in ("azimuth", "event_id")}
        for name in FIELDS:
            if "mask" in batch:
                event[name] = batch[name][i, : batch["lengths"][i]]
                assert not batch[name][i, batch["lengths"][i] :].any()
            else:
                event[name] = batch[name][batch[f"{name}.offsets"][i] : batch[f"{name}.offsets"][i + 1]]
        out.append(event)
    return out


def keys_of_batches(loader: hr.Loader) -> list[list[tuple[Any, ...]]]:
    return [keys_of(split_up(batch)) for batch in loader]
