#!/usr/bin/env python3
"""Orders side by side: time until the first index and until a resumed one, memory, state, cost of a sample, and Deff.

Peers are measured by order_contestants.py, a process for each figure, with the interpreter that has them
($HEADRACE_PEERS_PYTHON, or this one); Headrace by its own program bench_order, if it is built. What would take longer
or more memory than allowed is not run; its figures are extrapolated in proportion to the rows, and marked as such.
Writes bench/results/order_peers.json and prints the table. A few minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from typing import Any

import common
from order_contestants import BATCH, BLOCK_ROWS, CONTESTANTS

RESULTS = common.BENCH / "results" / "order_peers.json"
SIZES = (10**6, 10**8, 10**9)
MEASURED = ("seconds", "peak_bytes")  # both grow with the rows where they grow at all
SMALL = {"seconds": 0.05, "peak_bytes": 64 << 20}  # below, they say nothing about larger sizes


def run(name: str, measure: str, rows: int, timeout: float) -> dict[str, Any]:
    """What the process printed, or why there is nothing."""
    python = os.environ.get("HEADRACE_PEERS_PYTHON") or sys.executable
    command = [python, "-W", "ignore", str(common.BENCH / "order_contestants.py"), name, measure, str(rows)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"not_run": f"stopped after {timeout:.0f} s"}
    if done.returncode == 3:
        return {"not_run": f"not installed: {done.stderr.strip().splitlines()[-1]}"}
    if done.returncode != 0:
        return {"not_run": f"status {done.returncode}: {done.stderr.strip()[-300:]}"}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def extrapolated(smaller: dict[str, Any], factor: float) -> dict[str, float]:
    """In proportion to the rows, of what is large enough to tell."""
    return {key: smaller[key] * factor for key in MEASURED if smaller.get(key, 0) > SMALL[key]}


def timed(name: str, measure: str, rows: int, args: argparse.Namespace, smaller: dict[str, Any]) -> dict[str, Any]:
    """Median of three runs, of one where a run is long; or an extrapolation from the next smaller size."""
    known = smaller.get("extrapolated", smaller)
    expected = extrapolated(known, rows / smaller["rows"]) if "seconds" in known else {}
    reason = smaller.get("not_run", "") if not expected else ""
    if expected.get("seconds", 0) > args.seconds:
        reason = f"would take about {expected['seconds']:.0f} s"
    if expected.get("peak_bytes", 0) > args.gigabytes * 1e9:
        reason = f"would take about {expected['peak_bytes'] / 1e9:.0f} GB"
    if reason:
        return {"rows": rows, "not_run": reason} | ({"extrapolated": {**expected, "rows": rows}} if expected else {})
    runs: list[dict[str, Any]] = []
    while len(runs) < 3 and (not runs or runs[0].get("seconds", 1e9) < 5):
        with common.quiet_machine():
            runs.append(run(name, measure, rows, 3 * args.seconds))
        if "not_run" in runs[-1]:
            return {"rows": rows, **runs[-1], **({"extrapolated": {**expected, "rows": rows}} if expected else {})}
    middle = {key: statistics.median(one[key] for one in runs) for key in (*MEASURED, "ns_a_further_sample")}
    return {**runs[0], **middle, "rows": rows, "runs": len(runs)}


def peer(name: str, args: argparse.Namespace) -> dict[str, Any]:
    out: dict[str, Any] = {"about": (CONTESTANTS[name].__doc__ or "").strip().splitlines()[0], "sizes": {}}
    last: dict[str, dict[str, Any]] = {"start": {}, "resume": {}}
    for rows in args.rows:
        at: dict[str, Any] = {}
        for measure in ("start", "resume"):
            at[measure] = last[measure] = timed(name, measure, rows, args, last[measure])
        if "seconds" not in at["start"]:
            at["quality"] = {"not_run": "the order is not there"}
        elif at["start"]["seconds"] > args.seconds / 2:
            at["quality"] = {"not_run": "making the order again takes too long"}
        else:
            at["quality"] = run(name, "quality", rows, 3 * args.seconds)
        out["sizes"][rows] = at
        print(f"{name} {rows}: {json.dumps(at)}", file=sys.stderr, flush=True)
    return out


def headrace(args: argparse.Namespace) -> dict[str, Any]:
    """Headrace's own orders, from its program bench_order, in the form of the peers' figures."""
    program = common.build_dir() / "bench" / "bench_order"
    if not program.exists():
        return {}
    names = {"block": "**Headrace** `shuffle=True`", "exact": '**Headrace** `shuffle="exact"`'}
    out: dict[str, Any] = {name: {"about": "bench/order.cpp", "sizes": {}} for name in names.values()}
    for rows in args.rows:
        command = [str(program), "--rows", str(rows), "--blocks", str(rows // BLOCK_ROWS), "--batch-size", str(BATCH)]
        runs = []
        for _ in range(3):
            with common.quiet_machine():
                runs.append(common.run_json(command))
        for order in (order for order in runs[0]["orders"] if order["order"] in names):
            found = [one for run in runs for one in run["orders"] if one["order"] == order["order"]]
            median = {key: statistics.median(one[key] for one in found) for key in order if key.endswith("seconds")}
            # As the peers' memory: that of the order and of the table of blocks that it needs.
            tables = [run["table_kib"] for run in runs]
            memory = 1024 * statistics.median(
                one["above_kib"] + table for one, table in zip(found, tables, strict=True)
            )
            cost = statistics.median(one["ns_a_sample"] for one in found)
            out[names[order["order"]]]["sizes"][rows] = {
                "start": {"seconds": median["ready_seconds"], "peak_bytes": memory, "ns_a_further_sample": cost},
                "resume": {"seconds": median["resume_seconds"], **with_state(order)},
                "quality": {"deff": order["deff_block"], "mixed_rows": runs[0]["mixed_rows"]},
            }
    return out


def with_state(order: dict[str, Any]) -> dict[str, int]:
    return {"state_bytes": order["state_bytes"]} if "state_bytes" in order else {}


def seconds_text(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 0.1 else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def bytes_text(size: float) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"


def cell(measured: dict[str, Any], key: str, show: Any) -> str:
    if key in measured:
        return str(show(measured[key]))
    if key in measured.get("extrapolated", {}):
        return f"not run (≈ {show(measured['extrapolated'][key])})"
    return "not run"


def table(report: dict[str, Any]) -> str:
    """As in docs/shuffling.md. What stands after ≈ is extrapolated."""
    lines = [
        "| order | rows | first index | first after the middle | peak memory | state | ns a further sample "
        f"| Deff, B = {BATCH} |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, result in (report["peers"] | report["headrace"]).items():
        state: Any = ""
        for rows, at in result["sizes"].items():
            start, resume = at["start"], at["resume"]
            state = resume.get("state_bytes", state if "not_run" in resume else "")  # of any size much the same
            cells = [name, f"10^{len(str(rows)) - 1}"]
            cells += [cell(start, "seconds", seconds_text), cell(resume, "seconds", seconds_text)]
            peak = max(
                (start, resume), key=lambda m: m.get("peak_bytes", m.get("extrapolated", {}).get("peak_bytes", 0))
            )
            cells += [cell(peak, "peak_bytes", bytes_text), "none" if state is None else f"{state} B" if state else ""]
            cells += [cell(start, "ns_a_further_sample", lambda ns: f"{ns:.0f}" if ns >= 10 else f"{ns:.1f}")]
            cells += [cell(at["quality"], "deff", lambda d: f"{d:.2f}" if d < 10 else f"{d:.0f}")]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: [int(n) for n in text.split(",")], default=list(SIZES))
    parser.add_argument("--seconds", type=float, default=60, help="most that a run is expected to take")
    parser.add_argument("--gigabytes", type=float, default=12, help="most memory that a run is expected to take")
    parser.add_argument("--only", help="comma-separated names of contestants; writes nothing")
    parser.add_argument("--headrace-only", action="store_true", help="measure Headrace again, keep the peers' figures")
    parser.add_argument("--from-json", action="store_true", help="run nothing: the table of the last results")
    args = parser.parse_args()
    if args.from_json:
        print(table(json.loads(RESULTS.read_text())))
        return
    if args.headrace_only:
        report = json.loads(RESULTS.read_text()) | {"headrace": headrace(args), "version": common.version_and_date()}
        report = json.loads(json.dumps(report))
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
        print(table(report))
        return
    names = [name for name in CONTESTANTS if not args.only or name in args.only.split(",")]
    report: dict[str, Any] = {
        "command": "python bench/order_peers.py",
        "batch": BATCH,
        "block_rows": BLOCK_ROWS,
        "machine": common.machine_card(),
        "version": common.version_and_date(),
        "peers": {name: peer(name, args) for name in names},
        "headrace": headrace(args),
    }
    report = json.loads(json.dumps(report))  # keys as they are in the file: text
    if not args.only:
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
    print(table(report))


if __name__ == "__main__":
    main()
