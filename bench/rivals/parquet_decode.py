#!/usr/bin/env python3
"""All columns of Parquet files by another reader, in one thread. Prints one JSON object.

Usage: parquet_decode.py polars|pyarrow|duckdb [--set large] [--epochs 3]

polars   read_parquet(), file by file, POLARS_MAX_THREADS=1
pyarrow  ParquetFile.read_row_group(use_threads=False), a row group at a time
duckdb   SELECT sum(...) of every column of all files, SET threads = 1: it keeps no column

The rate is that of the passes after the first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import parquet_files
from parquet_files import COLUMNS

Pass = Callable[[list[str]], int]  # reads files, returns how many rows they had


def by_polars() -> Pass:
    os.environ["POLARS_MAX_THREADS"] = "1"
    import polars as pl

    return lambda paths: sum(pl.read_parquet(path).height for path in paths)


def by_pyarrow() -> Pass:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)

    def read(paths: list[str]) -> int:
        rows = 0
        for path in paths:
            with pq.ParquetFile(path, pre_buffer=False, memory_map=True) as file:
                for group in range(file.num_row_groups):
                    rows += file.read_row_group(group, use_threads=False).num_rows
        return rows

    return read


def by_duckdb() -> Pass:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    sums = ", ".join(f"sum({name})" for name in COLUMNS)
    query = f"SELECT count(*), {sums} FROM read_parquet($paths)"
    return lambda paths: connection.execute(query, {"paths": paths}).fetchone()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    readers = {"polars": by_polars, "pyarrow": by_pyarrow, "duckdb": by_duckdb}
    parser.add_argument("reader", choices=tuple(readers))
    parser.add_argument("--set", choices=tuple(parquet_files.SETS), default="large")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    files = parquet_files.make(args.set)
    read = readers[args.reader]()
    seconds, cpu = [], []
    for _ in range(args.epochs):
        began, began_cpu = time.perf_counter(), time.process_time()
        rows = read(files.paths)
        seconds.append(time.perf_counter() - began)
        cpu.append(time.process_time() - began_cpu)
        if rows != files.pulses:
            raise SystemExit(f"{rows} rows were read of {files.pulses}")
    steady = statistics.mean(seconds[1:] or seconds)
    told = {"seconds": steady, "cpu_seconds": statistics.mean(cpu[1:] or cpu)}
    print(json.dumps({"rows_per_s": files.events / steady, **told}))


if __name__ == "__main__":
    main()
