#!/usr/bin/env python3
"""Measure events of different length. Prints one JSON object.

Usage: event_samples.py rate  [--rows 40000000] [--batch-size 512] [--threads 1] [--epochs 3] [--layout ragged]
       event_samples.py limit [--rows 40000000] [--threads 1] [--epochs 3]
       event_samples.py many  [--events 100000000]

rate   rows_per_s, cold_rows_per_s   pulses of heavy-tailed events (165 on average) in three gzip columns, shuffled by
                                      event: the epochs after the first, and the first one
limit  rows_per_s                     the same chunks read and decoded by as many threads, and nothing else
many   open_ms, resume_ms, bytes_an_event
                                      so many events of one row, by offsets of a file: hr.open(), a Loader and
                                      load_state_dict(), and the memory that the index takes
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from pathlib import Path
from typing import Any

import common
import h5py
import numpy as np
from headrace_epochs import resident_bytes

ROWS = 40_000_000
FILES = 4
CHUNK = 32768
FIELDS = ("time", "charge", "sensor_id")


def lengths_of(rows: int, seed: int) -> np.ndarray:
    """Log-normal, median 65, mean 165, the longest some tens of thousands: as the pulses of IceCube's events."""
    random = np.random.default_rng(seed)
    lengths = np.maximum(np.exp(np.log(65) + 1.365 * random.standard_normal(rows // 120)), 1).astype(np.int64)
    ends = np.cumsum(lengths)
    kept = int(np.searchsorted(ends, rows))
    lengths = lengths[: kept + 1].copy()
    lengths[-1] -= int(lengths.sum()) - rows
    return lengths


def make(rows: int) -> list[str]:
    """HDF5 files of so many pulses together, made once and left in the page cache."""
    paths = [common.data_dir() / f"pulses_{rows}_{number}.h5" for number in range(FILES)]
    for number, path in enumerate(paths):
        if not path.exists():
            write(path, rows // FILES, number)
        path.read_bytes()
    return [str(path) for path in paths]


def write(path: Path, rows: int, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    random, lengths = np.random.default_rng(seed), lengths_of(rows, seed)
    storage: dict[str, Any] = {"chunks": (CHUNK,), "compression": "gzip", "shuffle": True}
    part = path.with_suffix(".part")
    with h5py.File(part, "w") as file:
        file.create_dataset("event_id", data=np.repeat(np.arange(len(lengths)), lengths), **storage)
        file.create_dataset("time", data=random.integers(0, 1 << 14, rows).astype(np.float32), **storage)
        file.create_dataset("charge", data=(random.integers(1, 4096, rows) / 40).astype(np.float32), **storage)
        file.create_dataset("sensor_id", data=random.integers(0, 5160, rows).astype(np.int32), **storage)
        file["event_offsets"] = np.concatenate(([0], np.cumsum(lengths)))
    part.rename(path)


def rate(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    files = make(args.rows)
    started = time.perf_counter()
    events = hr.open(files, list(FIELDS), sample_by="event_id")
    opened = time.perf_counter()
    seconds = []
    with hr.Loader(
        events, args.batch_size, shuffle=True, seed=7, threads=args.threads, memory="2GiB", layout=args.layout
    ) as loader:
        for _ in range(args.epochs):
            began = time.perf_counter()
            count = sum(len(batch["time"]) if args.layout == "ragged" else batch["lengths"].sum() for batch in loader)
            seconds.append(time.perf_counter() - began)
            if count != args.rows:
                raise SystemExit(f"{count} rows were delivered of {args.rows}")
        report = loader.report().to_dict()
    steady = statistics.mean(seconds[1:] or seconds)
    return {
        "rows_per_s": args.rows / steady,
        "cold_rows_per_s": args.rows / seconds[0],
        "events_per_s": len(events) / steady,
        "read_amplification": report["read_amplification"],
        "open_s": opened - started,
        "seconds": steady,
    }


def limit(args: argparse.Namespace) -> dict[str, Any]:
    options = ["--threads", str(args.threads), "--passes", str(args.epochs), "--fields", ",".join(FIELDS)]
    return common.run_json([str(common.program("bench_decode_alone")), *make(args.rows), *options])


def many(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    folder = common.data_dir() / "many_events"
    folder.mkdir(parents=True, exist_ok=True)
    values, offsets = folder / "values.npy", folder / "offsets.npy"
    np.lib.format.open_memmap(values, mode="w+", dtype=np.uint8, shape=(args.events,)).flush()
    np.save(offsets, np.arange(args.events + 1))
    hr.open(values).close()
    gc.collect()
    memory = resident_bytes("RssAnon")
    started = time.perf_counter()
    events = hr.open(values, sample_by=hr.Spans(offsets=f"{offsets}::"))
    opened = time.perf_counter()
    if len(events) != args.events:
        raise SystemExit(f"{len(events)} events, not {args.events}")
    gc.collect()
    above = resident_bytes("RssAnon") - memory
    settings: dict[str, Any] = {"batch_size": 512, "shuffle": True, "memory": "2GiB", "threads": 1}
    with hr.Loader(events, **settings) as loader:
        state = {**loader.state_dict(), "samples": args.events // 2 // 512 * 512}
    started_resuming = time.perf_counter()
    with hr.Loader(events, **settings) as loader:
        loader.load_state_dict(state)
        resumed = time.perf_counter()
    values.unlink()
    offsets.unlink()
    return {
        "open_ms": 1e3 * (opened - started),
        "resume_ms": 1e3 * (resumed - started_resuming),
        "bytes_an_event": above / args.events,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rate", "limit", "many"))
    for name, number in (("rows", ROWS), ("batch-size", 512), ("threads", 1), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--events", type=int, default=100_000_000)
    parser.add_argument("--layout", default="ragged")
    args = parser.parse_args()
    print(json.dumps({"rate": rate, "limit": limit, "many": many}[args.what](args)))


if __name__ == "__main__":
    main()
