#!/usr/bin/env python3
"""Peak memory of random configurations, a fresh process each: against the budget, and against what was predicted.

memory_sweep.py [--count 100] [--seed 2026] [--kinds rows,events] [--tools rewrite] [--only 17,203] [--show]

Prints one JSON object. Draws from all kinds of samples (sweep_kinds.py) and all tools (sweep_tools.py), over data that
are made once in a temporary folder (sweep_data.py). The peak counts from before the data are opened. Configuration n is
drawn from the seed, the kinds and n alone, so that `--only n` makes it again.

A budget that is refused by OutOfBudgetError is a right ending and counted, with what was used until then; where the
refusal names the smallest budget, that is tried too. The sweep ends with status 1 if something failed otherwise, if a
smallest budget was refused again, or if a peak was more than 64 MiB above its budget.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import common
import sweep_data
import sweep_files
import sweep_kinds
import sweep_tools

MIB, GIB = 1 << 20, 1 << 30
REACH_MIB = 64
LARGE = 2 * GIB  # budgets from here on are held to 5 %
MOST_SECONDS = 180  # of a configuration
TOOL_SHARE = 0.3
Drawn = dict[str, Any]


def draw(number: int, args: argparse.Namespace) -> Drawn:
    chance = random.Random(f"{args.seed}/{number}")
    is_tool = bool(args.tools) and (not args.kinds or chance.random() < TOOL_SHARE)
    one: Drawn = {"number": number, "kind": chance.choice(args.tools if is_tool else args.kinds)}
    one["budget"] = int(sweep_files.log_uniform(chance, *args.memory))
    one["threads"] = chance.randint(1, 2)
    if is_tool:
        return {**one, **sweep_tools.TOOLS[one["kind"]][0](chance)}
    kind = sweep_kinds.KINDS[one["kind"]]
    one |= {"shuffle": chance.choice(kind.shuffles), "cache": chance.choice(kind.caches), "seconds": args.seconds}
    batch_bytes = sweep_files.log_uniform(chance, 64 << 10, 16 * MIB)
    drawn = kind.draw(chance)
    return {**one, **drawn, "batch_size": min(max(round(batch_bytes / drawn["bytes"]), 1), 8192)}


def run(folder: Path, one: Drawn) -> Drawn:
    command = [sys.executable, str(common.BENCH / "sweep_run.py"), str(folder)]
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix="shape_") as own:
            if "shape_seed" in one:
                chance = random.Random(one["shape_seed"])
                one = {**one, "files": sweep_files.write(Path(own), sweep_files.draw(chance), chance)}
            return common.run_json([*command, json.dumps(one)], {"HEADRACE_CACHE": "off"}, timeout=MOST_SECONDS)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return {"failed": str(error).strip().splitlines()[-1][-600:]}


def run_all(folder: Path, one: Drawn) -> list[tuple[Drawn, Drawn]]:
    """The configuration; and, where its budget was refused, the same with the smallest that the refusal named."""
    result = run(folder, one)
    if not 0 < result.get("least", 0) < 2 * GIB:
        return [(one, result)]
    least = {**one, "number": f"{one['number']} at least", "budget": result["least"]}
    return [(one, result), (least, run(folder, least))]


def over_mib(result: Drawn) -> float:
    return float(result["above_bytes"] - result["budget_bytes"]) / MIB


def name_of(one: Drawn) -> str:
    left_out = ("number", "kind", "budget", "seconds", "bytes", "shape_seed", "files", "fields")
    words = ", ".join(f"{key} {value}" for key, value in one.items() if key not in left_out)
    return f"{one['number']}: {one['kind']}, {one['budget'] / MIB:.0f} MiB, {words}"


def line(one: Drawn, result: Drawn) -> str:
    if "failed" in result:
        return f"{name_of(one)}: FAILED: {result['failed']}"
    told = f"peak {result['above_bytes'] / MIB:.0f} MiB, {over_mib(result):+.0f}"
    told += f" (sampled {result['sampled_bytes'] / MIB:.0f})"
    if "refused" in result:
        return f"{name_of(one)}: REFUSED, {told}: {result['refused'][-300:]}"
    if "predicted_bytes" in result:
        told += f", charged {result['charged_bytes'] / MIB:.0f}, predicted {result['predicted_bytes'] / MIB:.0f}"
        told += f" by {result['predicted_by']}{'' if result['settled'] else ', not settled'}, keeps {result['cache']}"
    return f"{name_of(one)}: {told}"


def summary(runs: list[tuple[Drawn, Drawn]]) -> Drawn:
    """Over the configurations that ran; predictions only where the cache was full after an epoch or more."""
    measured = [(over_mib(result), name_of(one), result) for one, result in runs if "above_bytes" in result]
    ran = [(over, name) for over, name, result in measured if "refused" not in result]
    refused = [(over, name) for over, name, result in measured if "refused" in result]
    uncharged = [
        ((result["above_bytes"] - result["charged_bytes"]) / MIB, name)
        for _, name, result in measured
        if "charged_bytes" in result
    ]
    large = [
        (100 * (result["above_bytes"] / result["budget_bytes"] - 1), name)
        for _, name, result in measured
        if result["budget_bytes"] >= LARGE and "refused" not in result
    ]
    told = [(r["above_bytes"] / r["predicted_bytes"] - 1, name) for _, name, r in measured if r.get("settled")]
    off = [abs(value) for value, _ in told]
    stated = [
        abs(r["above_bytes"] - r["predicted_bytes"]) <= r.get("uncertainty_bytes", 0)
        for _, _, r in measured
        if r.get("settled")
    ]
    nothing = (math.nan, "")
    worst = max(told, key=lambda item: abs(item[0]), default=nothing)
    return {
        "ran": len(ran),
        "refused": len(refused),
        "failed": [name_of(one) for one, result in runs if "failed" in result],
        "worst_overshoot_mib": max(ran, default=nothing)[0],
        "worst_overshoot_of": max(ran, default=nothing)[1],
        "least_refused": [name for _, name, r in measured if "refused" in r and "at least" in name],
        "worst_refused_mib": max(refused, default=nothing)[0],
        "worst_refused_of": max(refused, default=nothing)[1],
        "worst_uncharged_mib": max(uncharged, default=nothing)[0],
        "worst_uncharged_of": max(uncharged, default=nothing)[1],
        "over_reach": [name for over, name in ran + refused if over > REACH_MIB],
        "large_budgets": len(large),
        "worst_large_percent": max(large, default=nothing)[0],
        "worst_large_of": max(large, default=nothing)[1],
        "settled": len(told),
        "predicted_median_percent": 100 * statistics.median(off) if off else math.nan,
        "predicted_worst_percent": 100 * max(off, default=math.nan),
        "predicted_within_15": sum(value <= 0.15 for value in off),
        "predicted_within_stated": sum(stated),
        "predicted_worst_sign": "above" if worst[0] > 0 else "below",
        "predicted_worst_of": worst[1],
    }


def names(known: list[str]) -> Any:
    def parse(text: str) -> list[str]:
        given = [name for name in text.split(",") if name]
        if unknown := set(given) - set(known):
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: there are {', '.join(known)}")
        return given

    return parse


def budgets(text: str) -> tuple[int, int]:
    low, high = text.split("-")
    return int(low) * MIB, int(high) * MIB


def main() -> int:
    kinds, tools = list(sweep_kinds.KINDS), list(sweep_tools.TOOLS)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--kinds", type=names(kinds), help=f"of samples: {', '.join(kinds)}; without --tools, no tool")
    parser.add_argument("--tools", type=names(tools), help=f"{', '.join(tools)}; without --kinds, no loader")
    parser.add_argument("--only", default="", help="numbers of configurations, with commas")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a loader, or longer while its memory grows")
    parser.add_argument("--memory", type=budgets, default=(32 * MIB, 1024 * MIB), help="budgets, in MiB: 32-1024")
    parser.add_argument("--jobs", type=int, default=2, help="configurations at a time")
    parser.add_argument("--data", type=Path, help="a folder for the data, to be used again; default: a temporary one")
    parser.add_argument("--show", action="store_true", help="a line for each configuration, on stderr")
    parser.add_argument("--always-0", action="store_true", help="status 0 also then: bench/run.py judges by itself")
    args = parser.parse_args()
    if args.kinds is None and args.tools is None:
        left_out = (*sweep_kinds.BY_NAME_ALONE, *(() if importlib.util.find_spec("torch") else ("cellmap",)))
        args.kinds, args.tools = [kind for kind in kinds if kind not in left_out], tools
    numbers = [int(number) for number in args.only.split(",") if number] or list(range(args.count))
    started = time.perf_counter()
    runs: list[tuple[Drawn, Drawn]] = []
    with tempfile.TemporaryDirectory(prefix="memory_sweep_") as temporary, ThreadPoolExecutor(args.jobs) as pool:
        folder = args.data or Path(temporary)
        if set((args.kinds or []) + (args.tools or [])) - set(sweep_kinds.OWN_DATA):
            sweep_data.make(folder)
        for some in pool.map(lambda number: run_all(folder, draw(number, args)), numbers):
            runs += some
            for one, result in some:
                if args.show or "failed" in result:
                    print(line(one, result), file=sys.stderr, flush=True)
    told = summary(runs)
    seconds = round(time.perf_counter() - started)
    print(json.dumps({"configurations": len(runs), "seed": args.seed, "seconds": seconds, **told}))
    return int(any(told[key] for key in ("failed", "least_refused", "over_reach")) and not args.always_0)


if __name__ == "__main__":
    sys.exit(main())
