#!/usr/bin/env python3
"""Measure what opening thousands of small files leaves in memory and in descriptors. Prints one JSON object.

Usage: many_files.py [--files 5000]

The files are those of open_many.py, made once. Two processes open them: the first reads every file, the second finds
them all in the index store, so that no library has touched a file. What the catalog needs is its size in that store.

above_catalog_kb   anonymous memory a file after hr.open, less what the catalog needs
descriptors        after hr.open and an epoch over all files, the most of both, less what the process had before
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import open_many
from headrace_epochs import resident_bytes


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def opened(pattern: str, epoch: bool) -> dict[str, Any]:
    """What this process holds after hr.open; then an epoch, whose memory is the loader's and is not counted."""
    import headrace as hr

    gc.collect()
    memory, before = resident_bytes("RssAnon"), descriptors()
    started = time.perf_counter()
    data = hr.open(pattern)
    seconds = time.perf_counter() - started
    gc.collect()
    result = {"seconds": seconds, "bytes": resident_bytes("RssAnon") - memory, "descriptors": descriptors() - before}
    result["rows"] = len(data)
    if epoch:
        with hr.Loader(data, 512, shuffle=True, seed=7, memory="256MiB", threads=2, cache="none") as loader:
            rows = sum(len(next(iter(batch.values()))) for batch in loader)
            result["descriptors_after_epoch"] = descriptors() - before
        if rows != len(data):
            raise SystemExit(f"{rows} rows were delivered of {len(data)}")
    return result


def measure(files: int) -> dict[str, Any]:
    folder = common.data_dir() / f"many_{files}"
    open_many.make_files(folder, files)
    this = [sys.executable, str(Path(__file__)), "--opened", str(folder / "part_*.h5")]
    with tempfile.TemporaryDirectory() as store:
        env = {"HEADRACE_CACHE": store}
        first = common.run_json([*this, "--epoch"], env)
        second = common.run_json(this, env)
        catalog = sum(path.stat().st_size for path in Path(store).rglob("*") if path.is_file())
    if not first["rows"] == second["rows"]:
        raise SystemExit("the index store gives another number of rows")
    return {
        "files": files,
        "seconds": first["seconds"],
        "above_catalog_kb": (first["bytes"] - catalog) / files / 1000,
        "catalog_kb": catalog / files / 1000,
        "from_store_kb": second["bytes"] / files / 1000,
        "descriptors": max(first["descriptors"], first["descriptors_after_epoch"]),
        "first": first,
        "second": second,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--opened", metavar="PATTERN", help=argparse.SUPPRESS)
    parser.add_argument("--epoch", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ.setdefault("HEADRACE_CACHE", "off")
    print(json.dumps(opened(args.opened, args.epoch) if args.opened else measure(args.files)))


if __name__ == "__main__":
    main()
