#!/usr/bin/env python3
"""docs/benchmarks.md from bench/results/first_light.json; run.py calls it, `python bench/table.py` does it alone."""

from __future__ import annotations

import json
from typing import Any

import common
from figures import FIGURES

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


def line(entry: dict[str, Any]) -> str:
    unit = entry["unit"]
    low, high = min(entry["values"]), max(entry["values"])
    sign = ">=" if entry["at_least"] else "<="
    reach = f"{sign} {entry['reach']:g}{'x' if unit == 'x' else (' ' + unit if unit else '')}"
    rates = [
        f"{name} {figures['rows_per_s']:,.0f} jets/s"
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
    return f"| {entry['what']} | {reach} | {measured} | {'met' if entry['met'] else 'missed'} | `{entry['command']}` |"


def write(results: dict[str, Any]) -> None:
    fewest = min(len(entry["values"]) for entry in results["figures"].values())
    text = HEAD.format(machine=machine_line(results["machine"]), **results["settings"] | {"repetitions": fewest})
    common.TABLE.parent.mkdir(exist_ok=True)
    measured = [results["figures"][figure.key] for figure in FIGURES if figure.key in results["figures"]]
    common.TABLE.write_text(text + "\n".join(map(line, measured)) + "\n")


if __name__ == "__main__":
    write(json.loads(common.RESULTS.read_text()))
