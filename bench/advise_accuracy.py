#!/usr/bin/env python3
"""What `headrace advise` and `check-memory` foretell, against what `headrace bench` then measures.

Usage: advise_accuracy.py [--epochs N] [--quick] [VARIANT…]      data as for `make bench` (HEADRACE_BENCH_DATA)

For each setting: samples a second of later epochs, with the files in the page cache; seconds of the first epoch, with
the files out of it; and peak memory above that of a process that only opens the files. Then the same forecast several
times, to see how far it varies. Prints a table, and one JSON object on the last line. The program is HEADRACE_CLI, or
the installed one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

import common
import workload

BATCH = 512
THREADS = (1, 2)
BUDGETS_MIB = {"gzip": (1024, 512, 256), "lzf": (1024, 256), "uncompressed": (1024, 512)}
KEPT_MIB = {"gzip": (1024, 6144)}  # with the default cache: re-encoded, and all rows in memory
RATE_REACH, MEMORY_REACH = 0.25, 0.15
ASKED_AGAIN = 5  # times, of the same forecast
WITH_CACHE, LAST = 10, 3  # epochs with a cache, which takes some to fill; the last of them are compared


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    if named:
        return named
    from headrace.__main__ import command_line

    return str(command_line())


def measured(*arguments: str) -> tuple[dict[str, Any], int]:
    """The JSON that a verb prints, and the peak resident bytes of its process."""
    with tempfile.NamedTemporaryFile("r") as peak:
        command = [sys.executable, "-S", "-E", str(common.BENCH / "peak.py"), peak.name]
        done = subprocess.run(
            [*command, program(), *arguments, "--json"], stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode not in (0, 1, 10, 11):
            raise RuntimeError(f"headrace {arguments[0]}: status {done.returncode}: {done.stdout[:500]}")
        size, smallest = map(int, peak.read().split())
    if size <= smallest:
        raise RuntimeError(f"headrace {arguments[0]}: its peak of {size} bytes is not above that of what started it")
    return json.loads(done.stdout), size


def forget(files: list[str]) -> None:
    """Take files out of the page cache."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def files_of(variant: str) -> list[str]:
    return sorted(map(str, (common.data_dir() / variant).glob("train_*.h5"))) or workload.make(variant)


def setting(threads: int, budget_mib: int, cache: str) -> list[str]:
    how = ["--batch-size", str(BATCH), "--threads", str(threads), "--memory", f"{budget_mib}MiB"]
    return [*how, "--cache", cache]


def compare(variant: str, threads: int, budget_mib: int, cache: str, epochs: int) -> dict[str, Any]:
    """One setting: foretold and measured."""
    files = files_of(variant)
    how = setting(threads, budget_mib, cache)
    _, opened = measured("inspect", *files)
    with common.quiet_machine():
        advice, _ = measured("advise", *files, *how)
        check, _ = measured("check-memory", *files, *how)
        forget(files)
        many = epochs if cache == "none" else max(epochs, WITH_CACHE)
        run, peak = measured("bench", *files, *how, "--epochs", str(many), "--quiet")
    first, *later = run["epochs"] if cache == "none" else [run["epochs"][0], *run["epochs"][-LAST:]]
    rate = sum(e["samples"] for e in later) / sum(e["seconds"] for e in later)
    advised = advice["advised"]
    foretold = advised["warm_samples_per_second" if cache == "none" else "later_samples_per_second"]
    # Which blocks a cache holds is measured by advise alone; check-memory tells the most that it may come to.
    total = check["total_bytes"] if cache == "none" else advised["peak_bytes"]
    return {
        "variant": variant,
        "threads": threads,
        "memory_mib": budget_mib,
        "cache": cache,
        "decodes_a_block": [advised["decodes_a_block"], run["read_amplification"]],
        "samples_per_second": [foretold, rate],
        "rate_error": foretold / rate - 1,
        "first_epoch_seconds": [advised["first_epoch_seconds"], first["seconds"]],
        "first_epoch_error": advised["first_epoch_seconds"] / first["seconds"] - 1,
        "peak_bytes": [total, peak - opened],
        "peak_error": total / (peak - opened) - 1,
        "advise_seconds": advice["measured"]["seconds"],
        "processor_share": advice["measured"]["one"]["processor_share"],
    }


def spread(variant: str, times: int) -> float:
    """The same forecast of the first epoch asked for several times: the longest over the shortest."""
    forecasts = []
    for _ in range(times):
        with common.quiet_machine():
            advice, _ = measured("advise", *files_of(variant), *setting(2, 1024, "auto"))
        forecasts.append(advice["advised"]["first_epoch_seconds"])
    return max(forecasts) / min(forecasts)


def summary(results: list[dict[str, Any]], variation: float) -> dict[str, Any]:
    """What the figures of docs/benchmarks.md take: shares and errors in percent, factors as they are."""
    off = {name: [abs(r[f"{name}_error"]) for r in results] for name in ("rate", "first_epoch", "peak")}
    factors = [max(a / b, b / a) for a, b in (r["first_epoch_seconds"] for r in results)]
    within = {"rate": RATE_REACH, "peak": MEMORY_REACH}
    return {
        **{f"{n}_within_percent": 100 * statistics.fmean(e <= reach for e in off[n]) for n, reach in within.items()},
        **{f"{name}_median_percent": 100 * statistics.median(errors) for name, errors in off.items()},
        **{f"{name}_worst_percent": 100 * max(errors) for name, errors in off.items()},
        "first_epoch_worst_factor": max(factors),
        "first_epoch_spread": variation,
        "load_after": os.getloadavg()[0],
        "settings": results,
    }


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'variant':<16} {'threads':>7} {'memory':>8} {'cache':>5} {'decodes':>12} {'foretold/s':>11} "
        f"{'measured/s':>11} {'error':>7} {'first epoch s':>14} {'error':>7} {'peak MiB':>15} {'error':>7} {'had':>6}"
    ]
    for r in results:
        peak = "{:.0f} / {:.0f}".format(*(b / 2**20 for b in r["peak_bytes"]))
        decodes = "{:.2f} / {:.2f}".format(*r["decodes_a_block"])
        first = "{:.1f} / {:.1f}".format(*r["first_epoch_seconds"])
        lines.append(
            f"{r['variant']:<16} {r['threads']:>7} {r['memory_mib']:>5}MiB {r['cache']:>5} {decodes:>12} "
            f"{r['samples_per_second'][0]:>11,.0f} {r['samples_per_second'][1]:>11,.0f} {r['rate_error']:>+6.0%} "
            f"{first:>14} {r['first_epoch_error']:>+6.0%} {peak:>15} {r['peak_error']:>+6.0%} "
            f"{r['processor_share']:>6.0%}"
        )
    busy = sum(r["processor_share"] < 0.85 for r in results)
    if busy:
        lines.append(
            f"others had the processors in {busy} of {len(results)} (see the last column): rates say little there"
        )
    for name, reach in (("rate", RATE_REACH), ("peak", MEMORY_REACH)):
        good = sum(abs(r[f"{name}_error"]) <= reach for r in results)
        lines.append(f"{name}: {good} of {len(results)} within {reach:.0%}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(workload.VARIANTS))
    parser.add_argument("--epochs", type=int, default=4, help="of each measurement, the first of which is told apart")
    parser.add_argument("--quick", action="store_true", help="one setting, to see that it runs")
    arguments = parser.parse_args()
    variants = arguments.variants or list(workload.VARIANTS)
    settings = [
        (variant, threads, budget, cache)
        for variant in variants
        for cache, budgets in (("none", BUDGETS_MIB.get(variant, (1024,))), ("auto", KEPT_MIB.get(variant, ())))
        for threads, budget in itertools.product(THREADS, budgets)
    ]
    results = []
    for one in settings[::100] if arguments.quick else settings:
        results.append(compare(*one, max(arguments.epochs, 2)))
        print(f"{' '.join(map(str, one))}: {results[-1]['rate_error']:+.0%}", file=sys.stderr, flush=True)
    variation = spread(variants[0], 2 if arguments.quick else ASKED_AGAIN)
    print(table(results))
    print(json.dumps(summary(results, variation)))


if __name__ == "__main__":
    main()
