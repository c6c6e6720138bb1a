#!/usr/bin/env python3
"""Peak memory less the budget, of random configurations over files of random shape; a fresh process each.

budget_sweep.py [--count 500] [--seed 2026] [--jobs 2] [--only 17,203] [--show]

Prints one JSON object. Files are of sweep_files.py: rows of 8 bytes to 1 MB in 1 to 5,000 files, side arrays in tiny
chunks, chunks that were never written, chunks of another array between those that are loaded, virtual data sets.
Configuration n is drawn from the seed and n alone, so that `--only n` makes it again. A budget that is refused by
OutOfBudgetError is a right ending and counted; any other error is listed, and the sweep ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import sweep_files
from sweep_files import MIB, Shape

REACH_MIB = 64
CACHES = ("none", "none", "auto", "auto", "ram", "directory")


@dataclass(frozen=True)
class Configuration:
    number: int
    shape: Shape
    threads: int
    budget: int
    batch_size: int
    shuffle: str
    cache: str

    def __str__(self) -> str:
        return (
            f"{self.number}: {self.shape}; {self.threads} threads, {self.budget / MIB:.0f} MiB, "
            f"batches of {self.batch_size}, shuffle {self.shuffle}, cache {self.cache}"
        )


def draw(seed: int, number: int) -> tuple[Configuration, random.Random]:
    """The configuration, and the chance that is left for its files."""
    chance = random.Random(f"{seed}/{number}")
    one = Configuration(
        number,
        sweep_files.draw(chance),
        chance.choice((1, 2, 2, 4, 8)),
        int(sweep_files.log_uniform(chance, 16 * MIB, 512 * MIB)),
        round(sweep_files.log_uniform(chance, 1, 4096)),
        chance.choice(("none", "block", "block", "exact")),
        chance.choice(CACHES),
    )
    return one, chance


def run(seed: int, number: int, seconds: float) -> tuple[Configuration, dict[str, Any]]:
    """Make the files, measure, and delete the files."""
    one, chance = draw(seed, number)
    with tempfile.TemporaryDirectory(prefix="budget_sweep_") as folder:
        files = sweep_files.write(Path(folder), one.shape, chance)
        cache = str(Path(folder) / "cache") + "/" if one.cache == "directory" else one.cache
        command = [sys.executable, str(common.BENCH / "headrace_memory.py"), "peak", files, "--epochs", "2"]
        command += ["--memory", str(one.budget), "--threads", str(one.threads), "--batch-size", str(one.batch_size)]
        command += ["--shuffle", one.shuffle, "--seconds", str(seconds), "--fields", one.shape.fields]
        try:
            return one, common.run_json([*command, "--cache", cache], {"HEADRACE_CACHE": "off"}, timeout=120)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return one, {"failed": str(error)[-500:]}


def overshoot_mib(result: dict[str, Any]) -> float:
    return float(result["above_bytes"] - result["budget_bytes"]) / MIB


def uncharged_mib(result: dict[str, Any]) -> float:
    """What was held beyond what the loader knew of, whether the budget was used up or not."""
    return float(result["above_bytes"] - result["charged_bytes"]) / MIB


def line(one: Configuration, result: dict[str, Any]) -> str:
    if "failed" in result:
        return f"{one}: FAILED: {result['failed']}"
    if "refused" in result:
        return f"{one}: refused"
    return (
        f"{one}: {overshoot_mib(result):+.0f} MiB (peak {result['above_bytes'] / MIB:.0f}, "
        f"not charged {uncharged_mib(result):+.0f})"
    )


def summary(runs: list[tuple[Configuration, dict[str, Any]]]) -> dict[str, Any]:
    ran = [(overshoot_mib(result), str(one)) for one, result in runs if "above_bytes" in result]
    uncharged = [(uncharged_mib(result), str(one)) for one, result in runs if "above_bytes" in result]
    nothing = (float("nan"), "")
    worst, worst_uncharged = max(ran, default=nothing), max(uncharged, default=nothing)
    return {
        "ran": len(ran),
        "refused": sum("refused" in result for _, result in runs),
        "failed": [str(one) for one, result in runs if "failed" in result],
        "worst_overshoot_mib": worst[0],
        "worst_overshoot_of": worst[1],
        "worst_uncharged_mib": worst_uncharged[0],
        "worst_uncharged_of": worst_uncharged[1],
        "over_reach": [name for over, name in ran if over > REACH_MIB],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--seconds", type=float, default=1.5, help="of a configuration, after its imports")
    parser.add_argument("--jobs", type=int, default=2, help="configurations at a time")
    parser.add_argument("--only", default="", help="numbers of configurations, with commas")
    parser.add_argument("--show", action="store_true", help="a line for each configuration, on stderr")
    args = parser.parse_args()
    numbers = [int(number) for number in args.only.split(",") if number] or list(range(args.count))
    started = time.perf_counter()
    runs = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for one, result in pool.map(lambda number: run(args.seed, number, args.seconds), numbers):
            runs.append((one, result))
            if args.show or "failed" in result:
                print(line(one, result), file=sys.stderr, flush=True)
    told = summary(runs)
    seconds = round(time.perf_counter() - started)
    print(json.dumps({"configurations": len(runs), "seed": args.seed, "seconds": seconds, **told}))
    return 1 if told["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
