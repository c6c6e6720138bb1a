#!/usr/bin/env python3
"""docs/benchmarks.md from bench/results/*.json; run.py calls it, `python bench/table.py` does it alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import common
from figures import FIGURES, Figure
from memory_figures import MEMORY_FIGURES

HEAD = """# Benchmarks

Written by `make bench`; do not edit. Ratios are medians over {repetitions} or more repetitions in which the
contestants took turns ({threads} threads, page cache warm); in brackets the lowest and the highest. The workload:
65,536 JetClass-like jets in 4 files, `feature_matrix` (N, 128, 16) f4, `adjacency_matrix` (N, 8128) f4 and
`labels`, 40,712 bytes a jet, in chunks of 128 rows, gzip-4 unless the line says otherwise; batches of 512, {epochs}
epochs back to back, after one more that is told apart (cold): in it the window's memory is touched for the first
time, which takes seconds on a virtual machine whose host takes free memory back. The limit, *decode threads alone*,
is `bench/decode_alone.cpp`: pread, libdeflate (or the variant's decoder), nothing else. The rivals are in
`bench/rivals/`.

{machine}

| figure | reach | measured | | command |
| --- | --- | --- | --- | --- |
"""

MEMORY_HEAD = """
## Memory

The same workload and rules; a line that was measured fewer times than {repetitions} says so. Budgets count all that
Headrace holds. Peaks are VmHWM above what the process held after `open`; with a cache directory, whose mapped pages are
page cache, RssAnon + RssShmem sampled every 4 ms. Random configurations: `bench/memory_sweep.py` draws storage, files,
threads, budget (64 MiB to 4 GiB, log-uniform), batch size, shuffle and cache. Block caches are simulated by
`bench/cache_simulation.py`; the gather alone is `bench/gather_alone.cpp`. Cold: the first epoch of the process, which
fills the cache.

{machine}

| figure | reach | measured | | command |
| --- | --- | --- | --- | --- |
"""


def number(value: float, unit: str) -> str:
    """Two decimals for ratios, three significant digits for the rest."""
    text = f"{value:.3f}" if unit == "x" and value < 10 else f"{value:.3g}"
    return text + ("" if unit in ("", "x") else f" {unit}")


def machine_line(card: dict[str, Any]) -> str:
    simd = ", ".join(card["simd"]) or "no AVX2"
    kind = "virtual machine" if card["virtual"] else "machine"
    versions = ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    return (
        f"Machine: {card['cpu']}, {card['cores']} cores ({kind}; {simd}), {card['memory_gib']} GiB, "
        f"Linux {card['kernel']}, Python {card['python']}; load before the run {card['load_before']}. "
        f"Versions: {versions}."
    )


def line(entry: dict[str, Any], usual: int) -> str:
    unit = entry["unit"]
    low, high = min(entry["values"]), max(entry["values"])
    sign = ">=" if entry["at_least"] else "<="
    reach = f"{sign} {entry['reach']:g}{'x' if unit == 'x' else (' ' + unit if unit else '')}"
    rows = entry.get("rows", "jets")
    rates = [
        f"{name} {figures['rows_per_s']:,.0f} {rows}/s"
        + (f" (cold {figures['cold_rows_per_s']:,.0f})" if "cold_rows_per_s" in figures else "")
        for name, figures in entry["contestants"].items()
        if "rows_per_s" in figures
    ]
    rates += [
        f"{name} {figures['median_us']:.1f} us (cold {figures['cold_median_us']:.0f} us)"
        for name, figures in entry["contestants"].items()
        if "cold_median_us" in figures
    ]
    measured = f"**{number(entry['median'], unit)}** ({number(low, unit)} to {number(high, unit)})"
    if len(rates) > 1:
        measured += "; " + ", ".join(rates)
    if entry.get("detail"):
        measured += "; " + entry["detail"]
    if (times := len(entry["values"])) < usual:
        measured += f"; measured {'once' if times == 1 else f'{times} times'}"
    return f"| {entry['what']} | {reach} | {measured} | {'met' if entry['met'] else 'missed'} | `{entry['command']}` |"


def section(path: Path, head: str, all_figures: list[Figure]) -> str:
    """A head and a table, or nothing where nothing was measured. Repetitions: of most figures."""
    if not path.exists():
        return ""
    results = json.loads(path.read_text())
    measured = [results["figures"][figure.key] for figure in all_figures if figure.key in results["figures"]]
    if not measured:
        return ""
    fewest = min(
        (
            len(results["figures"][f.key]["values"])
            for f in all_figures
            if f.key in results["figures"] and not f.repetitions
        ),
        default=results["settings"]["repetitions"],
    )
    text = head.format(machine=machine_line(results["machine"]), **results["settings"] | {"repetitions": fewest})
    return text + "\n".join(line(entry, fewest) for entry in measured) + "\n"


def write() -> None:
    """All sections, from what is on disk."""
    common.TABLE.parent.mkdir(exist_ok=True)
    first = section(common.RESULTS, HEAD, FIGURES)
    common.TABLE.write_text(first + section(common.MEMORY_RESULTS, MEMORY_HEAD, MEMORY_FIGURES))


if __name__ == "__main__":
    write()
