#!/usr/bin/env python3
"""Measure a consumer that takes its time for each batch, as an accelerator does. Prints one JSON object.

Usage: paced_consumer.py (--pace-ms 10 | --times-loader 1.5) [--epochs 4] [--cache auto] [--memory 1GiB] FILE...

--times-loader N: so many times as long as the loader takes for a batch with cache="none", which is measured before.
The consumer sleeps, and each sleep is measured: what it oversleeps is its own time, never the loader's. By epoch:

kept_share       blocks that the cache holds at its end
over_consumer    its seconds from the first batch on, over the seconds that the consumer slept in them
utilisation      share of the time in which the consumer had a batch: its sleeps as asked for, over the seconds less
                 what was overslept; of all epochs after the first together
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from first_epochs import touch
from headrace_epochs import add_options, drain, kept_share, make_loader, open_data


def seconds_a_batch(args: argparse.Namespace, data: Any) -> float:
    """What the loader takes for a batch when nothing is kept and nobody else works."""
    with make_loader(args, data, cache="none") as loader:
        drain(loader)  # memory is touched for the first time
        started = time.perf_counter()
        drain(loader)
        return (time.perf_counter() - started) / len(loader)


class Consumer:
    """Sleeps for each batch and remembers how long."""

    def __init__(self, pace_seconds: float) -> None:
        self.pace_seconds = pace_seconds
        self.slept = 0.0
        self.batches = 0

    def take(self) -> None:
        started = time.perf_counter()
        time.sleep(self.pace_seconds)
        self.slept += time.perf_counter() - started
        self.batches += 1

    @property
    def asked(self) -> float:
        return self.batches * self.pace_seconds


def utilisation(asked: float, slept: float, elapsed: float) -> float:
    """The share of the elapsed time in which the consumer was at work, overslept time taken off both."""
    return asked / (elapsed - (slept - asked))


def measure(args: argparse.Namespace) -> dict[str, Any]:
    data = open_data(args)
    alone = seconds_a_batch(args, data) if args.times_loader else None
    pace = args.times_loader * alone if alone else args.pace_ms / 1000
    present = touch(args.touch_gib)
    kept, over, first_waits = [], [], []
    later = Consumer(pace)
    loader = make_loader(args, data)
    later_started = 0.0
    for epoch in range(args.epochs):
        consumer = Consumer(pace)
        started = time.perf_counter()
        if epoch == 1:
            later_started = started
        first = None
        for _batch in loader:
            first = first or time.perf_counter()
            consumer.take()
        ended = time.perf_counter()
        first_waits.append(first - started)
        over.append((ended - first) / consumer.slept)
        kept.append(kept_share(loader.report().to_dict()))
        if epoch > 0:
            later.slept += consumer.slept
            later.batches += consumer.batches
    report = loader.report().to_dict()
    return {
        "pace_seconds": pace,
        "loader_alone_seconds": alone,
        "kept_share": kept,
        "first_kept_share": kept[0],
        "over_consumer": over,
        "first_over_consumer": over[0],
        "first_batch_seconds": first_waits,
        "utilisation": utilisation(later.asked, later.slept, ended - later_started) if args.epochs > 1 else None,
        "overslept_share": later.slept / later.asked - 1 if later.batches else None,
        "tier": report["cache"]["kind"],
        "present": present,
        "report": report,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.set_defaults(epochs=4, cache="auto")
    pace = parser.add_mutually_exclusive_group(required=True)
    pace.add_argument("--pace-ms", type=float)
    pace.add_argument("--times-loader", type=float)
    parser.add_argument("--touch-gib", type=float, default=0.0)
    print(json.dumps(measure(parser.parse_args())))


if __name__ == "__main__":
    main()
