#!/usr/bin/env python3
"""Measures every figure and writes bench/results/*.json and docs/benchmarks.md.

Contestants of a figure take turns within one run, first this one, then that one first; what counts is the median of
the ratios of neighbours. A lock keeps other timed runs off the machine meanwhile. Every figure carries the commit, the
date and the machine it was measured on; a page that would mix versions is not written unless --allow-mixture says so.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import subprocess
import sys
import tempfile
from datetime import datetime, timezone
from typing import Any

import common
import provenance
import table
import workload
from figure import Contestant, Figure, Runs
from table import SECTIONS

ENGINE = {"headrace": "headrace_epochs.py", "memory": "headrace_memory.py"}
PROGRAMS = {
    "order": "bench_order",
    "gather": "bench_gather_alone",
    "maps": "bench_maps",
    "encode": "bench_encode",
    "pairs": "bench_expand_pairs",
}
SHOWN = ("rows_per_s", "cold_rows_per_s", "seconds", "cpu_seconds", "median_us", "mean_us", "cold_median_us")
SHOWN += ("above_bytes", "before_bytes")
MIXTURE = 3  # exit status


def command_of(contestant: Contestant, args: argparse.Namespace) -> list[str]:
    options = list(contestant.options) + (list(contestant.trial) if args.trial else [])
    files = workload.make(contestant.variant)[: contestant.files] if contestant.variant else []
    if args.trial:
        files = files[:2]
    if contestant.program == "limit":
        limit = str(common.program("bench_decode_alone"))
        passes = [] if "--passes" in options else ["--passes", str(args.epochs)]
        return [limit, "--threads", str(args.threads), *passes, *options, *files]
    if contestant.program in PROGRAMS:
        return [str(common.program(PROGRAMS[contestant.program])), *options, *files]
    if (program := contestant.program.split())[0] in ENGINE:
        settings = ["--threads", str(args.threads), "--epochs", str(args.epochs)]
        return [sys.executable, str(common.BENCH / ENGINE[program[0]]), program[1], *files, *settings, *options]
    scripts = (folder / f"{contestant.program}.py" for folder in (common.BENCH, common.BENCH / "rivals"))
    return [sys.executable, str(next(script for script in scripts if script.exists())), *files, *options]


class SkippedError(Exception):
    """This machine lacks what a contestant needs."""


def run_once(command: list[str], timeout: float) -> dict[str, Any]:
    """With an empty index store, so that every run opens the files itself."""
    with tempfile.TemporaryDirectory() as cache:
        result = common.run_json(command, {"HEADRACE_CACHE": cache}, timeout)
    if "skipped" in result:
        raise SkippedError(result["skipped"])
    return result


def measure(figure: Figure, args: argparse.Namespace) -> Runs:
    commands = {name: command_of(contestant, args) for name, contestant in figure.contestants.items()}
    runs: Runs = {name: [] for name in commands}
    warms_up = len(commands) > 1 and figure.warm_up and not args.trial
    for command in commands.values() if warms_up else ():
        run_once(command, figure.timeout)  # page cache warm, code paged in
    for repetition in range(args.repetitions if args.trial else figure.times(args.repetitions)):
        names = list(commands) if repetition % 2 == 0 else list(commands)[::-1]
        with common.quiet_machine():
            for name in names:
                if touched := figure.contestants[name].touch_bytes:
                    common.make_memory_present(touched)
                runs[name].append(run_once(commands[name], figure.timeout))
        print(".", end="", file=sys.stderr, flush=True)
    return runs


def summary(figure: Figure, runs: Runs) -> dict[str, Any]:
    """What the results say of a figure, less where and when it was measured."""
    values = figure.value(runs)
    median = statistics.median(values)
    contestants = {
        name: {key: statistics.median(run[key] for run in all_runs) for key in SHOWN if key in all_runs[0]}
        for name, all_runs in runs.items()
    }
    beside = {name: [statistics.median(value(runs)), unit] for name, (value, unit) in figure.beside.items()}
    entry: dict[str, Any] = {
        "what": figure.what,
        "reach": figure.reach,
        "at_least": figure.at_least,
        "unit": figure.unit,
        "rows": figure.rows,
        "detail": figure.detail(runs) if figure.detail else "",
        "median": median,
        "values": values,
        "met": figure.met(median),
        "beside": beside,
        "contestants": contestants,
        "command": f"python bench/run.py --only {figure.key}",
    }
    if figure.never_below is not None:
        entry |= {"never_below": figure.never_below, "never_met": figure.never_met(values)}
    return entry


def where_and_when(
    version: provenance.Version, results: dict[str, Any], card: dict[str, Any], args: argparse.Namespace
) -> dict[str, Any]:
    """What every figure carries: version, date, settings, and its machine, whose card is kept once for all."""
    return {
        **dataclasses.asdict(version),
        "measured_at": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "machine": common.keep_card(results, card),
        "load_before": card["load_before"],
        "settings": {"threads": args.threads, "epochs": args.epochs},
    }


def measure_section(
    section: table.Section,
    figures: list[Figure],
    known: dict[str, Runs],
    version: provenance.Version,
    args: argparse.Namespace,
) -> list[str]:
    """Measure figures that stand in one file of results; runs of the same contestants serve all of them.

    Returns:
        Keys of the figures that could not be measured.
    """
    results = table.read(section.path)
    results["settings"] = {"threads": args.threads, "epochs": args.epochs}
    failed = []
    for figure in figures:
        print(f"{figure.key} ", end="", file=sys.stderr, flush=True)
        same = repr((figure.contestants, figure.times(args.repetitions), figure.warm_up))
        card = common.machine_card()
        try:
            if same not in known:
                known[same] = measure(figure, args)
            entry = summary(figure, known[same]) | where_and_when(version, results, card, args)
        except SkippedError as why:
            print(f" skipped: {why}", file=sys.stderr)
            continue
        except (RuntimeError, KeyError, SystemExit, subprocess.TimeoutExpired) as error:  # does not cost the others
            print(f" failed: {error}", file=sys.stderr)
            failed.append(figure.key)
            continue
        results["figures"][figure.key] = entry
        print(f" {table.one_line(entry)}", file=sys.stderr)
        if not args.trial:
            table.save(section.path, results)
    return failed


def refuse_mixture(left: dict[str, dict[str, Any]], version: provenance.Version, why: str) -> None:
    print(
        f"make bench: {why} this version ({version.commit}, engine {version.engine_commit}):\n"
        f"{provenance.by_commit(left)}\n"
        "docs/benchmarks.md is not written, since it would mix versions. Measure all figures (make bench), or say\n"
        "--allow-mixture: the page then says at its top that it is a mixture.",
        file=sys.stderr,
    )


def left_over(chosen: list[str], version: provenance.Version) -> dict[str, dict[str, Any]]:
    """Figures on disk that describe another version and are not about to be measured."""
    return {
        key: entry
        for key, entry in provenance.stale(table.all_entries(SECTIONS), version.code).items()
        if key not in chosen
    }


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = ", ".join(f"`{section.name}`" for section in SECTIONS)
    keys = ", ".join(figure.key for section in SECTIONS for figure in section.figures)
    parser.add_argument("--only", default="", help=f"figures to measure, with commas; groups {groups}; {keys}")
    parser.add_argument(
        "--repetitions", type=int, default=5, help="some figures have fewer, headline ones at least seven"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--allow-mixture", action="store_true", help="write a page of figures of several versions")
    parser.add_argument(
        "--trial", action="store_true", help="see that figures run: two files, one repetition, nothing is written"
    )
    return parser


def chosen_keys(parser: argparse.ArgumentParser, only: str) -> list[str]:
    keys = [figure.key for section in SECTIONS for figure in section.figures]
    groups = {section.name: [figure.key for figure in section.figures] for section in SECTIONS}
    chosen = [key for word in only.split(",") if word for key in groups.get(word, [word])] or keys
    for unknown in set(chosen) - set(keys):
        parser.error(
            f"no figure is called {unknown!r}; there are the groups {', '.join(groups)}, and {', '.join(keys)}"
        )
    return chosen


def main() -> int:
    parser = options()
    args = parser.parse_args()
    if args.trial:
        args.repetitions, args.epochs = 1, 1
    chosen = chosen_keys(parser, args.only)
    version = provenance.version(common.ROOT)
    if not (args.trial or args.allow_mixture) and (left := left_over(chosen, version)):
        refuse_mixture(left, version, "nothing was measured: other figures do not describe")
        return MIXTURE
    failed: list[str] = []
    known: dict[str, Runs] = {}
    for section in SECTIONS:
        wanted = [figure for figure in section.figures if figure.key in chosen]
        if wanted:
            failed += measure_section(section, wanted, known, version, args)
    if args.trial:
        return 1 if failed else 0
    if failed:
        print(f"make bench: could not be measured: {', '.join(failed)}", file=sys.stderr)
    if provenance.version(common.ROOT).code != version.code:
        print("make bench: the code was changed while it was measured; the page is not written", file=sys.stderr)
        return MIXTURE
    if not args.allow_mixture and (left := left_over([], version)):
        refuse_mixture(left, version, "figures do not describe")
        return MIXTURE
    table.write()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
