#!/usr/bin/env python3
"""What `headrace advise` and `check-memory` foretell, against what `headrace bench` then measures.

Usage: advise_accuracy.py [--epochs N] [--json FILE] [VARIANT…]      data as for `make bench` (HEADRACE_BENCH_DATA)

One line for each setting: samples a second with the files in the page cache (later epochs; the first one warms up), and
peak memory above that of a process that only opens the files. The program is HEADRACE_CLI, or the installed one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common
import workload

BATCH = 512
THREADS = (1, 2)
BUDGETS_MIB = {"gzip": (1024, 512, 256), "lzf": (1024, 256), "uncompressed": (1024, 512)}
RATE_REACH, MEMORY_REACH = 0.25, 0.15


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    if named:
        return named
    from headrace.__main__ import command_line

    return str(command_line())


def measured(*arguments: str) -> tuple[dict[str, Any], int]:
    """The JSON that a verb prints, and the peak resident bytes of its process."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([program(), *arguments, "--json"], stdout=out)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read().decode()
    if process.returncode not in (0, 1, 10, 11):
        raise RuntimeError(f"headrace {arguments[0]}: status {process.returncode}: {text[:500]}")
    return json.loads(text), usage.ru_maxrss * 1024


def compare(variant: str, threads: int, budget_mib: int, epochs: int) -> dict[str, Any]:
    """One setting: foretold and measured."""
    files = sorted(map(str, (common.data_dir() / variant).glob("train_*.h5"))) or workload.make(variant)
    setting = ["--batch-size", str(BATCH), "--threads", str(threads), "--memory", f"{budget_mib}MiB", "--cache", "none"]
    _, opened = measured("inspect", *files)
    with common.quiet_machine():
        advice, _ = measured("advise", *files, *setting)
        check, _ = measured("check-memory", *files, *setting)
        run, peak = measured("bench", *files, *setting, "--epochs", str(epochs), "--quiet")
    later = run["epochs"][1:]
    rate = sum(e["samples"] for e in later) / sum(e["seconds"] for e in later)
    return {
        "variant": variant,
        "threads": threads,
        "memory_mib": budget_mib,
        "decodes_a_block": [advice["advised"]["decodes_a_block"], run["read_amplification"]],
        "samples_per_second": [advice["advised"]["warm_samples_per_second"], rate],
        "rate_error": advice["advised"]["warm_samples_per_second"] / rate - 1,
        "peak_bytes": [check["total_bytes"], peak - opened],
        "peak_error": check["total_bytes"] / (peak - opened) - 1,
        "advise_seconds": advice["measured"]["seconds"],
        "processor_share": advice["measured"]["one"]["processor_share"],
    }


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'variant':<16} {'threads':>7} {'memory':>8} {'decodes':>12} {'foretold/s':>11} {'measured/s':>11} "
        f"{'error':>7} {'peak MiB':>15} {'error':>7} {'had':>6}"
    ]
    for r in results:
        peak = "{:.0f} / {:.0f}".format(*(b / 2**20 for b in r["peak_bytes"]))
        decodes = "{:.2f} / {:.2f}".format(*r["decodes_a_block"])
        lines.append(
            f"{r['variant']:<16} {r['threads']:>7} {r['memory_mib']:>5}MiB {decodes:>12} "
            f"{r['samples_per_second'][0]:>11,.0f} {r['samples_per_second'][1]:>11,.0f} {r['rate_error']:>+6.0%} "
            f"{peak:>15} {r['peak_error']:>+6.0%} {r['processor_share']:>6.0%}"
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
    parser.add_argument("--epochs", type=int, default=4, help="of each measurement, the first of which is left out")
    parser.add_argument("--json", type=Path, help="also write the results there")
    arguments = parser.parse_args()
    results = []
    for variant in arguments.variants or workload.VARIANTS:
        for threads, budget in itertools.product(THREADS, BUDGETS_MIB.get(variant, (1024,))):
            results.append(compare(variant, threads, budget, max(arguments.epochs, 2)))
            print(f"{variant} {threads} {budget} MiB: {results[-1]['rate_error']:+.0%}", file=sys.stderr, flush=True)
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps({"load_after": os.getloadavg()[0], "settings": results}, indent=2) + "\n")


if __name__ == "__main__":
    main()
