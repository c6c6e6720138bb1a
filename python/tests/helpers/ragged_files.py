"""Events of many fields in files of three formats, and what batches of them have to be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

import headrace as hr

FILES, EVENTS = 2, 30  # of each file
LONG = 5000  # rows: several tiles of 1024 rows and of 16 KiB, and several chunks and pages
SENSORS = 50
Event = dict[str, np.ndarray]


def make_events(seed: int = 0) -> list[Event]:
    """Events of all files, in order; some have no rows, and one in each file is long."""
    random = np.random.default_rng(seed)
    events = []
    for number in range(FILES * EVENTS):
        rows = min(int(random.pareto(1.0) * 6), 300)
        rows = {0: 0, 7: 0, 8: 0, 12: LONG, EVENTS - 1: 0}.get(number % EVENTS, rows)
        events.append(
            {
                "charge": random.normal(3, 2, rows).astype(np.float32),
                "xyz": random.normal(size=(rows, 3)).astype(np.float32),
                "sensor": random.integers(0, SENSORS, rows).astype(np.int16),
                "flag": random.random(rows) < 0.4,
                "big": random.integers(0, 2**64, rows, dtype=np.uint64),
                "half": random.normal(size=rows).astype(np.float16),
                "y": np.float64(random.normal()),
                "kind": np.int64(number % 4),
                "number": np.int64(number),
            }
        )
    return events


TARGETS = ["y", "kind", "number"]
ROWS = ["charge", "xyz", "sensor", "flag", "big", "half"]


def columns(events: list[Event]) -> dict[str, np.ndarray]:
    """The rows of several events as one table, its targets, and where each event begins."""
    table = {name: np.concatenate([event[name] for event in events]) for name in ROWS}
    table |= {name: np.array([event[name] for event in events]) for name in TARGETS}
    table["begin"] = np.concatenate(([0], np.cumsum([len(event["charge"]) for event in events])))
    return table


FORMATS = ["h5", "compound.h5", "npz", "npy", "parquet", "lists.parquet"]


def opened(folder: Path, kind: str, events: list[Event]) -> hr.Dataset:
    """Write the events in the format, and open them. In Parquet there are no vectors."""
    for part in range(FILES):
        table = columns(events[part * EVENTS : (part + 1) * EVENTS])
        WRITERS[kind](folder / f"part_{part}.{kind}", table)
    files = folder / f"part_*.{kind}"
    if kind == "compound.h5":
        named = {name: f"rows.{name}" for name in ROWS}
        return hr.open(files, named, sample_by=hr.Spans(offsets="begin"), targets=TARGETS)
    if kind == "npy":
        begin = columns(events)["begin"]
        targets = {name: f"{folder}/targets.npz::{name}" for name in TARGETS}
        np.savez(folder / "targets.npz", **{name: columns(events)[name] for name in TARGETS})
        named = {name: f"part.{name}" for name in ROWS}
        return hr.open(files, named, sample_by=hr.Spans(offsets=begin), targets=targets)
    if kind == "lists.parquet":
        return hr.open(files, [*(name for name in ROWS if name != "xyz"), *TARGETS])
    if kind == "parquet":
        spans = hr.Spans(meta=folder / "meta_*.parquet", first="first", end="end")
        return hr.open(files, [name for name in ROWS if name != "xyz"], sample_by=spans, targets=TARGETS)
    return hr.open(files, ROWS, sample_by=hr.Spans(offsets="begin"), targets=TARGETS)


def records_of(table: dict[str, np.ndarray]) -> np.ndarray:
    """Members one behind the other, which are not aligned."""
    members = [(name, table[name].dtype, table[name].shape[1:]) for name in sorted(ROWS, reverse=True)]
    records = np.zeros(len(table["charge"]), np.dtype([("odd", "u1"), *members]))
    for name in ROWS:
        records[name] = table[name]
    return records


def write_compound(path: Path, table: dict[str, np.ndarray]) -> None:
    """In one piece, so that rows are read where they are."""
    with h5py.File(path, "w") as file:
        file["rows"] = records_of(table)
        for name in (*TARGETS, "begin"):
            file[name] = table[name]


def write_h5(path: Path, table: dict[str, np.ndarray]) -> None:
    with h5py.File(path, "w") as file:
        for name, values in table.items():
            chunks = {"chunks": (700, *values.shape[1:]), "compression": "gzip"} if name in ROWS else {}
            file.create_dataset(name, data=values, **chunks)


def write_parquet(path: Path, table: dict[str, np.ndarray]) -> None:
    """Pages of few rows in row groups of several; the table of events lies beside the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pa.table({name: table[name] for name in ROWS if name != "xyz"})
    pq.write_table(rows, path, row_group_size=997, data_page_size=500, write_batch_size=64)
    meta = {name: table[name] for name in TARGETS} | {"first": table["begin"][:-1], "end": table["begin"][1:]}
    pq.write_table(pa.table(meta), path.with_name(path.name.replace("part", "meta")))


def write_lists(path: Path, table: dict[str, np.ndarray]) -> None:
    """A row for each event, whose columns are lists; pages of few elements."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    begin = pa.array(table["begin"], pa.int32())
    lists = {name: pa.ListArray.from_arrays(begin, pa.array(table[name])) for name in ROWS if name != "xyz"}
    values = {name: table[name] for name in TARGETS}
    pq.write_table(pa.table({**lists, **values}), path, row_group_size=11, data_page_size=500, write_batch_size=64)


WRITERS: dict[str, Callable[[Path, dict[str, np.ndarray]], Any]] = {
    "h5": write_h5,
    "compound.h5": write_compound,
    "npz": lambda path, table: np.savez(path, **table),  # type: ignore[arg-type]
    "npy": lambda path, table: np.save(path, records_of(table)),
    "parquet": write_parquet,
    "lists.parquet": write_lists,
}


def equal(got: Any, want: Any) -> None:
    """Types and shapes are equal, and values but for the last bit of floating point numbers."""
    got, want = np.asarray(got), np.asarray(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind == "f":
        np.testing.assert_allclose(got, want, rtol=1e-3 if want.dtype.itemsize == 2 else 4e-7, atol=1e-7)
    else:
        np.testing.assert_array_equal(got, want)


def events_of(batch: Any, fill: float = 0) -> list[Event]:
    """The events of a batch, ragged or padded; of a padded one, all that is filled up is checked."""
    if "mask" in batch:
        most = int(batch["lengths"].max(initial=0))
        np.testing.assert_array_equal(batch["mask"], np.arange(most) < batch["lengths"][:, None])
    dense = [name for name in batch if f"{name}.offsets" not in batch and not name.endswith(".offsets")]
    out: list[Event] = []
    for i in range(len(batch[dense[0]] if dense else batch[next(n for n in batch if n.endswith(".offsets"))][1:])):
        event = {}
        for name, values in batch.items():
            if name.endswith(".offsets") or name in ("mask", "lengths"):
                continue
            if f"{name}.offsets" in batch:
                event[name] = values[slice(*batch[f"{name}.offsets"][i : i + 2])]
            elif "mask" in batch and values.shape[1:2] == batch["mask"].shape[1:] and name not in TARGETS:
                event[name] = values[i, : batch["lengths"][i]]
                assert (values[i, batch["lengths"][i] :] == values.dtype.type(fill)).all(), f"the filling of {name}"
            else:
                event[name] = values[i]
        out.append(event)
    return out


def check(got: Iterable[Event], want: list[Event], numbers: list[int] | None = None) -> list[int]:
    """Compare each event with that of its number, or with those given; return the numbers."""
    found = []
    for i, event in enumerate(got):
        number = int(event["number"]) if numbers is None else numbers[i]
        assert list(event) == list(want[number])
        for name, values in event.items():
            equal(values, want[number][name])
        found.append(number)
    return found


def check_everywhere(data: hr.Dataset, want: list[Event], fill: float = 0) -> None:
    """Random access, slices, columns, and epochs in each layout, in order and shuffled, by one thread and by three."""
    everything = list(range(len(want)))
    for number in (0, 12, 13, -1, 42):
        check([data[number]], want, [number])
    some = [42, 3, 3, 12, 0, 59]
    check(events_of(data[some]), want, some)
    check(events_of(data[5:47]), want, everything[5:47])
    for name, field in data.fields.items():
        if field.ragged:
            equal(data[name][12], want[12][name])
    for layout in ("ragged", "padded"):
        for shuffle, threads, size in ((False, 3, 7), (True, 1, 16), (True, 3, 60)):
            how = {"layout": layout, "fill": fill} if layout == "padded" else {}
            with hr.Loader(data, size, shuffle=shuffle, threads=threads, **how) as loader:
                found = check((event for batch in loader for event in events_of(batch, fill)), want)
            assert sorted(found) == everything
            assert (found == everything) == (not shuffle)


def changed(events: list[Event], change: Callable[[Event], dict[str, Any]], names: Iterable[str] = ()) -> list[Event]:
    """The events with other fields in the place of those of their name; with these alone, in this order, if named."""
    made = [{**event, **change(event)} for event in events]
    return [{name: event[name] for name in names or event} for event in made]
