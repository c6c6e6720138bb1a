#!/usr/bin/env python3
"""Measure ten million jets: open, plan, first batch, and the rate, from which an epoch follows. Prints one JSON object.

Usage: ten_million.py [--jets 10000000] [--batches 4000] FILE...

A repeated set: hard links to the files given, until there are so many jets. All that grows with the number of jets,
files and chunks is there; what is not is their size on the disk, since the same files stay in the page cache.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from pathlib import Path
from typing import Any

import common
from headrace_epochs import add_options, drain, make_loader, open_data, resident_bytes


def linked(files: list[str], jets: int, jets_of_all: int) -> list[str]:
    """Links to the files, again and again, until they hold so many jets."""
    folder = common.data_dir() / "ten_million"
    folder.mkdir(parents=True, exist_ok=True)
    links = []
    for number in range(-(-jets // jets_of_all)):
        for nth, file in enumerate(files):
            link = folder / f"train_{number:04}_{nth:02}.h5"
            if link.exists() and not link.samefile(file):
                link.unlink()
            if not link.exists():
                os.link(file, link)
            links.append(str(link))
    return links


def measure(args: argparse.Namespace) -> dict[str, Any]:
    with open_data(args) as data:
        jets_of_all = len(data)
    args.files = linked([str(Path(file).resolve()) for file in args.files], args.jets, jets_of_all)
    before = resident_bytes("RssAnon")
    started = time.perf_counter()
    data = open_data(args)
    opened = time.perf_counter()
    catalog = resident_bytes("RssAnon") - before
    loader = make_loader(args, data)
    planned = time.perf_counter()
    iterator = iter(loader)
    next(iterator)
    first = time.perf_counter()
    if len(loader) < 2 * args.batches:
        raise SystemExit(f"an epoch has {len(loader)} batches: too few to take {args.batches} from its steady state")
    warm_up = args.batches // 10  # the window's memory is touched for the first time
    drain(itertools.islice(iterator, warm_up))
    steady = time.perf_counter()
    drain(itertools.islice(iterator, args.batches))
    rate = args.batches * args.batch_size / (time.perf_counter() - steady)
    report = loader.report().to_dict()
    return {
        "jets": len(data),
        "files": len(args.files),
        "open_seconds": opened - started,
        "catalog_bytes": catalog,
        "plan_seconds": planned - opened,
        "first_batch_seconds": first - planned,
        "from_open_to_first_batch_seconds": first - started,
        "batches": args.batches,
        "rows_per_s": rate,
        "epoch_minutes": len(data) / rate / 60,
        "report": report,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--jets", type=int, default=10_000_000)
    parser.add_argument("--batches", type=int, default=4000, help="of the rate, after a tenth of them")
    args = parser.parse_args()
    os.environ.setdefault("HEADRACE_CACHE", "off")
    print(json.dumps(measure(args)))


if __name__ == "__main__":
    main()
