#!/usr/bin/env python3
"""Measure events in Parquet files. Prints one JSON object.

Usage: parquet_samples.py decode   [--set large] [--threads 1] [--epochs 3] [--joined]
       parquet_samples.py epochs   [--set large] [--threads 1] [--epochs 3] [--shuffle] [--memory 1GiB]
                                   [--all | --joined [--padded N] [--sums]]
       parquet_samples.py features [--set large] [--epochs 3]
       parquet_samples.py open     [--set many] [--threads 2] [--store fresh|warm]

decode   rows_per_s, cpu_seconds     all five columns of all files by `headrace.tools.verify`: read, decoded, and left;
                                     with --joined those four that joined epochs read, in files that have no other
epochs   rows_per_s, cold_rows_per_s events in ragged batches, by a table of spans: three columns and two targets, or
                                     all five columns with --all; the epochs after the first, and the first one.
                                     With --joined six float32 features a pulse and two targets: the place of its
                                     sensor, joined, its time, the logarithm of its charge, and auxiliary. With --padded
                                     the first N pulses of each event, padded to the longest of the batch
features rows_per_s                  the same features by vectorised NumPy, one thread, of columns that lie in memory, a
                                     batch of neighbouring events at a time: no file, no gather of events
open     seconds, open_s             from before hr.open() to the first shuffled batch; the index store is that of
                                     $HEADRACE_CACHE as it comes, or a process before has opened the same files

Before joined epochs are timed, a few events are compared with NumPy. --sums adds an epoch that is not timed.

Rows are events. The files are those of parquet_files.py.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from typing import Any

import common
import parquet_features
import parquet_files
from parquet_features import FEATURES, SCALE, SHIFT
from parquet_files import COLUMNS, FIELDS, JOINED, TARGETS, Files


def opened(files: Files, columns: tuple[str, ...]) -> Any:
    import headrace as hr

    spans = hr.Spans(
        meta=files.meta,
        first="first_pulse_index",
        last="last_pulse_index",
        file="batch_id",
        file_template="batch_{batch_id}.parquet",
    )
    targets = None if columns == COLUMNS else list(TARGETS)
    return hr.open(files.paths, list(columns), sample_by=spans, targets=targets)


def with_features(events: Any, most: int) -> Any:
    """Return events whose pulses are one field of (pulses, 6), `most` of them at most; 0: all."""
    from headrace import transforms as T

    events = events.join(parquet_files.geometry(), on="sensor_id", fields=["x", "y", "z"])
    events = events.map(
        T.Affine("time", SCALE, SHIFT),
        T.Cast("charge", "float32"),
        T.Log("charge", base=10),
        T.Cast("auxiliary", "float32"),
        T.Concat(FEATURES, to="pulses"),
        T.Drop("sensor_id"),
    )
    return events.map(T.Truncate(most)) if most else events


def loader_of(events: Any, args: argparse.Namespace, chosen: list[int] | None = None) -> Any:
    """Return the Loader of the epochs, or one whose first batch has the chosen events."""
    import headrace as hr

    settings = {"threads": args.threads, "memory": args.memory, "cache": "none", "framework": args.framework}
    settings["layout"] = "padded" if args.padded else "ragged"
    if chosen is not None:
        return hr.Loader(events, len(chosen), sampler=chosen, **settings)
    return hr.Loader(events, args.batch_size, shuffle=args.shuffle, seed=7, **settings)


def decode(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    files = parquet_files.make(args.set)
    columns, paths = (JOINED, parquet_files.four_columns(files)) if args.joined else (COLUMNS, files.paths)
    seconds, cpu = [], []
    for _ in range(args.epochs):
        began, began_cpu = time.perf_counter(), time.process_time()
        result = hr.tools.verify(paths, threads=args.threads).to_dict()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    if result["bad_pieces"] or result["arrays"] != len(columns) * len(paths):
        raise SystemExit(f"not all was decoded: {result}")
    steady = statistics.mean(seconds[1:] or seconds)
    return {
        "rows_per_s": files.events / steady,
        "seconds": steady,
        "cpu_seconds": statistics.mean(cpu[1:] or cpu),
        "decoded_bytes": result["decoded_bytes"],
    }


def epochs(args: argparse.Namespace) -> dict[str, Any]:
    files = parquet_files.make(args.set)
    events = opened(files, COLUMNS if args.all else JOINED if args.joined else FIELDS)
    if args.joined:
        events = with_features(events, args.padded)
        few = parquet_features.some_events(files)
        with loader_of(events, args, few) as loader:
            parquet_features.check(next(iter(loader)), files, few, args.padded)
    right = parquet_features.pulses_left(files.meta, args.padded)
    seconds, cpu = [], []
    with loader_of(events, args) as loader:
        for _ in range(args.epochs):
            began, began_cpu = time.perf_counter(), time.process_time()
            pulses = sum(map(parquet_features.delivered, loader))
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
            if pulses != right:
                raise SystemExit(f"{pulses} pulses were delivered of {right}")
        report = loader.report().to_dict()
        sums = {"sums": parquet_features.sums_of(loader)} if args.sums else {}
    steady = statistics.mean(seconds[1:] or seconds)
    return {
        "rows_per_s": files.events / steady,
        "cold_rows_per_s": files.events / seconds[0],
        "pulses_per_s": right / steady,
        "seconds": steady,
        "cpu_seconds": statistics.mean(cpu[1:] or cpu),
        "read_amplification": report["read_amplification"],
        "report": report,
        **sums,
    }


def features(args: argparse.Namespace) -> dict[str, Any]:
    """Join and arithmetic alone, of the first file's columns, by what the rivals use."""
    import pyarrow.parquet as pq

    files = parquet_files.make(args.set)
    read = pq.read_table(files.paths[0], columns=list(JOINED))
    columns = {name: read[name].to_numpy() for name in JOINED}
    ends = parquet_files.spans_of(files.meta)[0]["end"]
    cuts = [0, *ends[args.batch_size - 1 : -1 : args.batch_size].tolist(), int(ends[-1])]
    parts = [{k: v[a:b] for k, v in columns.items()} for a, b in itertools.pairwise(cuts)]
    sensors, seconds = parquet_features.table_of_sensors(), []
    for _ in range(args.epochs):
        began = time.perf_counter()
        for part in parts:
            parquet_features.features_of(part, sensors)
        seconds.append(time.perf_counter() - began)
    return {"rows_per_s": len(ends) / statistics.mean(seconds[1:] or seconds)}


def first_batch(args: argparse.Namespace) -> dict[str, Any]:
    files = parquet_files.make(args.set)
    if args.store == "warm":
        common.run_json([sys.executable, *sys.argv, "--store", "fresh"])
    import headrace  # noqa: F401  # what importing takes is not counted

    args.shuffle = True
    began = time.perf_counter()
    events = opened(files, FIELDS)
    has_opened = time.perf_counter()
    with loader_of(events, args) as loader:
        batch = next(iter(loader))
        ended = time.perf_counter()
    if len(batch["zenith"]) != args.batch_size:
        raise SystemExit(f"the first batch has {len(batch['zenith'])} events")
    return {"seconds": ended - began, "open_s": has_opened - began}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("decode", "epochs", "features", "open"))
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    for name, number in (("batch-size", 512), ("threads", 1), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--all", action="store_true", help="all five columns, and no targets")
    parser.add_argument("--memory", default="1GiB", help="of the Loader")
    parser.add_argument("--framework", default="numpy")
    parser.add_argument("--store", choices=("fresh", "warm"), default="fresh")
    parquet_features.add_options(parser)
    args = parquet_features.parsed(parser)
    if args.all and args.joined:
        parser.error("--all and --joined exclude each other")
    with tempfile.TemporaryDirectory() as store:
        os.environ.setdefault("HEADRACE_CACHE", store)  # run.py gives one too
        measures = {"decode": decode, "epochs": epochs, "features": features, "open": first_batch}
        print(json.dumps(measures[args.what](args)))


if __name__ == "__main__":
    main()
