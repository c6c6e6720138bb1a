#!/usr/bin/env python3
"""Make the Parquet files of the benchmarks once: events like IceCube's, and a table of where they lie.

The places of the sensors are no file: geometry() makes them, the same ones each time.

Usage: parquet_files.py [NAME…]      files go to $HEADRACE_BENCH_DATA or ./bench_data

large   8 files of 50,000 events, about 0.4 GB
many    660 files of 2,000 events, about 1.3 GB
small   2 files of 2,000 events, for trials
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np

SETS = {"large": (8, 50_000), "many": (660, 2_000), "small": (2, 2_000)}  # files, and events in each
COLUMNS = ("sensor_id", "time", "charge", "auxiliary", "event_id")
FIELDS = ("sensor_id", "time", "charge")
JOINED = ("sensor_id", "time", "charge", "auxiliary")  # what the joined benchmarks read
SENSORS = 5_160
TARGETS = ("azimuth", "zenith")
LEAST, MOST = 5, 178_000  # pulses of an event


class Files(NamedTuple):
    paths: list[str]
    meta: str
    events: int
    pulses: int


def lengths_of(random: np.random.Generator, events: int) -> np.ndarray:
    """Return log-normal lengths, median 65, mean about 155."""
    drawn = np.exp(np.log(65) + 1.3 * random.standard_normal(events)).astype(np.int64)
    return np.clip(drawn, LEAST, MOST)


def pulses_of(random: np.random.Generator, ids: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of a file: times rise within an event, charges are whole multiples of 0.025."""
    rows, ends = int(lengths.sum()), np.cumsum(lengths)
    steps = random.integers(0, 200, rows)
    steps[ends - lengths] = random.integers(5_000, 7_000, len(ids))
    time_ = np.cumsum(steps)
    time_ -= np.repeat(time_[ends - lengths] - steps[ends - lengths], lengths)
    return {
        "sensor_id": random.integers(0, SENSORS, rows, dtype=np.int16),
        "time": time_,
        "charge": np.round(40 * random.lognormal(0, 0.6, rows) + 1) * 0.025,
        "auxiliary": random.random(rows, dtype=np.float32) < 0.7,
        "event_id": np.repeat(ids, lengths),
    }


def write(name: str, folder: Path) -> None:
    """Write the files of a set as pyarrow writes them when nothing is said, and their table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    files, events = SETS[name]
    part = folder.with_suffix(".part")
    part.mkdir(parents=True, exist_ok=True)
    tables = []
    for number in range(1, files + 1):
        random = np.random.default_rng(number)
        ids = 24 + np.cumsum(random.integers(1, 80, events)) + number * 80 * events
        lengths = lengths_of(random, events)
        if number == 1:
            lengths[events // 2] = MOST
        pq.write_table(pa.table(pulses_of(random, ids, lengths)), part / f"batch_{number}.parquet")
        ends = np.cumsum(lengths)
        meta = {"batch_id": np.full(events, number), "event_id": ids}
        meta |= {"first_pulse_index": ends - lengths, "last_pulse_index": ends - 1}
        meta |= {"azimuth": random.uniform(0, 2 * np.pi, events), "zenith": np.arccos(random.uniform(-1, 1, events))}
        tables.append(pa.table(meta))
    pq.write_table(pa.concat_tables(tables).combine_chunks(), part / "train_meta.parquet")
    old = time.time() - 60  # what was written just now is not kept in an index store
    for path in part.iterdir():
        os.utime(path, (old, old))
    part.rename(folder)


def make(name: str) -> Files:
    """Return a set, made once and left in the page cache."""
    import pyarrow.parquet as pq

    files, events = SETS[name]
    folder = common.data_dir() / f"parquet_{name}"
    if not folder.exists():
        write(name, folder)
    paths = [folder / f"batch_{number}.parquet" for number in range(1, files + 1)]
    rows = sum(pq.read_metadata(path).num_rows for path in paths)
    for path in paths:
        path.read_bytes()
    return Files([str(path) for path in paths], str(folder / "train_meta.parquet"), files * events, rows)


def geometry() -> dict[str, np.ndarray]:
    """Return the sensors' numbers and places: 86 strings of 60 sensors in a cubic kilometre, in metres."""
    random = np.random.default_rng(86)
    string, depth = np.divmod(np.arange(SENSORS), 60)
    across = random.uniform(-500, 500, (86, 2))[string]
    places = {"x": across[:, 0], "y": across[:, 1], "z": 500 - 17 * depth + random.normal(0, 1, SENSORS)}
    return {"sensor_id": np.arange(SENSORS, dtype=np.int16), **{k: v.astype(np.float32) for k, v in places.items()}}


def four_columns(files: Files) -> list[str]:
    """Return files of the columns of JOINED alone, made once of those of a set, and left in the page cache."""
    import pyarrow.parquet as pq

    folder = Path(files.meta).parent
    folder = folder.with_name(f"{folder.name}_joined")
    if not folder.exists():
        part = folder.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        for path in files.paths:
            table = pq.read_table(path, columns=list(JOINED)).combine_chunks()
            pq.write_table(table, part / Path(path).name)
        part.rename(folder)
    paths = [folder / Path(path).name for path in files.paths]
    for path in paths:
        path.read_bytes()
    return [str(path) for path in paths]


def spans_of(meta: str) -> list[dict[str, np.ndarray]]:
    """Return for each file what the table says of its events: first rows, ends and targets. For the rivals."""
    import pyarrow.parquet as pq

    columns = ["batch_id", "first_pulse_index", "last_pulse_index", *TARGETS]
    read = pq.read_table(meta, columns=columns)
    table = {name: read[name].to_numpy() for name in columns}
    edges = np.flatnonzero(np.diff(table["batch_id"], prepend=-1, append=-1))
    spans = []
    for first, end in itertools.pairwise(edges):
        of_file: dict[str, Any] = {name: column[first:end] for name, column in table.items()}
        begins, ends = of_file["first_pulse_index"], of_file["last_pulse_index"] + 1
        spans.append({"first": begins, "end": ends, **{name: of_file[name] for name in TARGETS}})
    return spans


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SETS))
    for name in parser.parse_args().names or list(SETS):
        files = make(name)
        stored = sum(Path(path).stat().st_size for path in files.paths)
        mean = files.pulses / files.events
        print(f"{name}: {len(files.paths)} files, {stored / 1e6:.0f} MB, {files.events} events of {mean:.0f} pulses")


if __name__ == "__main__":
    main()
