#!/usr/bin/env python3
"""Peak memory of random configurations, a fresh process each: against the budget, and against what was predicted.

memory_sweep.py [--count 100] [--seed 2026] [--seconds 4] [--max-memory 4] [--show]

Prints one JSON object. Files of jets; those of other shapes are budget_sweep.py's.

Storage, number of files, threads, budget (log-uniform), batch size, shuffle and cache are drawn by chance. `compressed`
is cache="auto" with a budget of 20-60 % of the decoded data, which is where the compressed tier is worth something. A
budget that is refused by OutOfBudgetError is fine and counted. Every other error ends the sweep.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

import common
import workload

MIB, GIB = 1 << 20, 1 << 30
ROW_BYTES = 40_712  # of a decoded jet
BATCH_SIZES = (32, 64, 128, 256, 512, 1024, 2048, 4096)
CACHES = ("none", "auto", "ram", "directory", "compressed")
LARGE = 2 * GIB  # budgets from here on are held to 5 %


@dataclass(frozen=True)
class Configuration:
    variant: str
    files: int
    threads: int
    budget: int
    batch_size: int
    shuffle: str
    cache: str

    def __str__(self) -> str:
        return (
            f"{self.variant} x{self.files}, {self.threads} threads, {self.budget / MIB:.0f} MiB, "
            f"batches of {self.batch_size}, shuffle {self.shuffle}, cache {self.cache}"
        )


def draw(chance: random.Random, args: argparse.Namespace) -> Configuration:
    variant = chance.choice(list(workload.VARIANTS))
    files = 1 if variant == "gzip_1024_rows" else chance.randint(1, 4)
    rows = workload.JETS if variant == "gzip_1024_rows" else workload.JETS // 4 * files
    cache = chance.choice(args.caches.split(","))
    low, high = 64 * MIB, args.max_memory
    budget = int(math.exp(chance.uniform(math.log(low), math.log(high))))
    if cache == "compressed":
        budget = min(int(rows * ROW_BYTES * chance.uniform(0.2, 0.6)), high)
    return Configuration(
        variant,
        files,
        chance.randint(1, 2),
        budget,
        chance.choice(BATCH_SIZES),
        chance.choice(("none", "block", "exact")),
        cache,
    )


def run(one: Configuration, args: argparse.Namespace) -> dict[str, Any]:
    files = workload.make(one.variant)[: one.files]
    command = [sys.executable, str(common.BENCH / "headrace_memory.py"), "peak", *files, "--epochs", "2"]
    command += ["--memory", str(one.budget), "--threads", str(one.threads), "--batch-size", str(one.batch_size)]
    command += ["--shuffle", one.shuffle, "--seconds", str(args.seconds)]
    with tempfile.TemporaryDirectory(dir=common.data_dir(), prefix="sweep_") as folder:
        cache = {"directory": folder, "compressed": "auto"}.get(one.cache, one.cache)
        return common.run_json([*command, "--cache", cache], timeout=120)


def summary(runs: list[tuple[Configuration, dict[str, Any]]]) -> dict[str, Any]:
    """Over the configurations that ran; predictions only where memory had stopped growing."""
    over = [((run["above_bytes"] - run["budget_bytes"]) / MIB, str(one)) for one, run in runs]
    large = [(100 * (r["above_bytes"] / r["budget_bytes"] - 1), str(o)) for o, r in runs if o.budget >= LARGE]
    settled = [(run["above_bytes"] / run["predicted_bytes"] - 1, str(one)) for one, run in runs if run["settled"]]
    worst = max(settled, key=lambda item: abs(item[0]), default=(math.nan, ""))
    off = [abs(value) for value, _ in settled]
    return {
        "worst_overshoot_mib": max(over)[0],
        "worst_overshoot_of": max(over)[1],
        "large_budgets": len(large),
        "worst_large_percent": max(large)[0] if large else math.nan,
        "worst_large_of": max(large)[1] if large else "",
        "settled": len(settled),
        "predicted_median_percent": 100 * statistics.median(off) if off else math.nan,
        "predicted_worst_percent": 100 * max(off, default=math.nan),
        "predicted_within_15": sum(value <= 0.15 for value in off),
        "predicted_worst_sign": "above" if worst[0] > 0 else "below",
        "predicted_worst_of": worst[1],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--seconds", type=float, default=4.0, help="of a configuration, after its imports")
    parser.add_argument("--max-memory", type=lambda text: int(float(text) * GIB), default=4 * GIB, help="GiB")
    parser.add_argument("--caches", default=",".join(CACHES))
    parser.add_argument("--show", action="store_true", help="a line for each configuration, on stderr")
    args = parser.parse_args()

    chance = random.Random(args.seed)
    runs: list[tuple[Configuration, dict[str, Any]]] = []
    refused = 0
    for number in range(args.count):
        one = draw(chance, args)
        try:
            result = run(one, args)
        except RuntimeError as error:
            raise SystemExit(f"configuration {number} of seed {args.seed} ({one}): {error}") from None
        if "refused" in result:
            refused += 1
        else:
            runs.append((one, result))
        if args.show:
            above = result.get("above_bytes", 0) / MIB
            planned = result.get("predicted_bytes", 0) / MIB
            ran = f"peak {above:.0f} MiB, predicted {planned:.0f}" + ("" if result.get("settled") else ", not settled")
            print(f"{number}: {one}: {'refused' if 'refused' in result else ran}", file=sys.stderr)
    counts = {"configurations": args.count, "refused": refused, "seed": args.seed}
    print(json.dumps({**counts, **summary(runs)}))


if __name__ == "__main__":
    main()
