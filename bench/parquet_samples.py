#!/usr/bin/env python3
"""Measure events in Parquet files. Prints one JSON object.

Usage: parquet_samples.py decode [--set large] [--threads 1] [--epochs 3]
       parquet_samples.py epochs [--set large] [--threads 1] [--epochs 3] [--shuffle] [--all] [--memory 1GiB]
       parquet_samples.py open   [--set many] [--threads 2] [--store fresh|warm]

decode rows_per_s, cpu_seconds       all five columns of all files by `headrace.tools.verify`: read, decoded, and left
epochs rows_per_s, cold_rows_per_s   events in ragged batches, by a table of spans: three columns and two targets, or
                                     all five columns with --all; the epochs after the first, and the first one
open   seconds, open_s               from before hr.open() to the first shuffled batch; the index store is that of
                                     $HEADRACE_CACHE as it comes, or a process before has opened the same files

Rows are events. The files are those of parquet_files.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from typing import Any

import common
import parquet_files
from parquet_files import COLUMNS, FIELDS, TARGETS, Files


def opened(files: Files, columns: tuple[str, ...]) -> Any:
    import headrace as hr

    spans = hr.Spans(
        meta=files.meta,
        first="first_pulse_index",
        last="last_pulse_index",
        file="batch_id",
        file_template="batch_{batch_id}.parquet",
    )
    targets = list(TARGETS) if columns == FIELDS else None
    return hr.open(files.paths, list(columns), sample_by=spans, targets=targets)


def loader_of(events: Any, args: argparse.Namespace) -> Any:
    import headrace as hr

    settings = {"threads": args.threads, "memory": args.memory, "cache": "none", "framework": args.framework}
    return hr.Loader(events, args.batch_size, shuffle=args.shuffle, seed=7, **settings)


def decode(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    files = parquet_files.make(args.set)
    seconds, cpu = [], []
    for _ in range(args.epochs):
        began, began_cpu = time.perf_counter(), time.process_time()
        result = hr.tools.verify(files.paths, threads=args.threads).to_dict()
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
    if result["bad_pieces"] or result["arrays"] != len(COLUMNS) * len(files.paths):
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
    events = opened(files, COLUMNS if args.all else FIELDS)
    seconds, cpu = [], []
    with loader_of(events, args) as loader:
        for _ in range(args.epochs):
            began, began_cpu = time.perf_counter(), time.process_time()
            pulses = sum(len(batch["time"]) for batch in loader)
            seconds.append(time.perf_counter() - began)
            cpu.append(time.process_time() - began_cpu)
            if pulses != files.pulses:
                raise SystemExit(f"{pulses} pulses were delivered of {files.pulses}")
        report = loader.report().to_dict()
    steady = statistics.mean(seconds[1:] or seconds)
    return {
        "rows_per_s": files.events / steady,
        "cold_rows_per_s": files.events / seconds[0],
        "pulses_per_s": files.pulses / steady,
        "seconds": steady,
        "cpu_seconds": statistics.mean(cpu[1:] or cpu),
        "read_amplification": report["read_amplification"],
        "report": report,
    }


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
    parser.add_argument("what", choices=("decode", "epochs", "open"))
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    for name, number in (("batch-size", 512), ("threads", 1), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--all", action="store_true", help="all five columns, and no targets")
    parser.add_argument("--memory", default="1GiB", help="of the Loader")
    parser.add_argument("--framework", default="numpy")
    parser.add_argument("--store", choices=("fresh", "warm"), default="fresh")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        os.environ.setdefault("HEADRACE_CACHE", store)  # run.py gives one too
        print(json.dumps({"decode": decode, "epochs": epochs, "open": first_batch}[args.what](args)))


if __name__ == "__main__":
    main()
