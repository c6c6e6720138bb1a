#!/usr/bin/env python3
"""Measure a budget of a tenth of the data with the shuffle_buffer= that Headrace names for it. Prints one JSON object.

Usage: small_budget.py [--share 0.1] [--epochs 2] FILE...

Asks a loader with that budget which shuffle_buffer= fits: its report after some batches (decode_once, or its advice),
or explain(). Where none of them names one (`named_by` is "search" then), the largest is searched with which explain()
says that every block is decoded once. Then epochs with it, as `headrace_epochs.py epochs`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
from typing import Any

import headrace_epochs
from headrace_epochs import add_options, data_bytes, drain, make_loader, open_data

NAMED = re.compile(r"shuffle_buffer\s*=\s*['\"]?([\d.]+ ?[KMGT]?i?B|\d+)['\"]?")
ONCE = "every block once"
BATCHES = 20  # of the loader that is asked


def named_in(texts: list[str]) -> str | None:
    """The first shuffle_buffer= that any of the texts names."""
    found = (NAMED.search(text) for text in texts)
    return next((match.group(1).replace(" ", "") for match in found if match), None)


def words_of(loader: Any) -> tuple[list[str], list[str]]:
    """What the report says after some batches, and what explain() says."""
    drain(itertools.islice(loader, BATCHES))
    report = loader.report().to_dict()
    if once := (report.get("decode_once") or {}).get("shuffle_buffer_bytes"):
        return [f"shuffle_buffer={once}"], []
    notices = [json.dumps(notice) if not isinstance(notice, str) else notice for notice in report.get("notices", [])]
    return [*report["advice"], *notices], loader.explain().splitlines()


def searched(args: argparse.Namespace, data: Any, budget: int) -> str:
    """The largest buffer, in MiB, whose order the budget holds. Reads nothing."""

    def fits(mib: int) -> bool:
        with make_loader(args, data, memory=budget, shuffle_buffer=f"{mib}MiB") as loader:
            return ONCE in loader.explain()

    low, high = 1, max(budget >> 20, 2)
    if not fits(low):
        raise SystemExit(f"not even shuffle_buffer=1MiB fits {budget} bytes")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return f"{low}MiB"


def measure(args: argparse.Namespace) -> dict[str, Any]:
    data = open_data(args)
    budget = int(data_bytes(data) * args.share)
    with make_loader(args, data, memory=budget) as loader:
        report, explained = words_of(loader)
    if named := named_in(report):
        by = "report"
    elif named := named_in(explained):
        by = "explain"
    else:
        named, by = searched(args, data, budget), "search"
    args.memory, args.shuffle_buffer = budget, named
    return {**headrace_epochs.epochs(args), "budget_bytes": budget, "shuffle_buffer": named, "named_by": by}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(epochs=2)
    parser.add_argument("--share", type=float, default=0.1, help="budget, as a share of the decoded data")
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
