#!/usr/bin/env python3
"""What a shuffle is worth to a training: many ways to shuffle, among them Headrace's, and accuracy after one epoch.

660 files of 10,000 rows, all rows of a file of one class; softmax regression by SGD, batches of 256, constant learning
rate. Writes bench/results/shuffling.json and docs/images/shuffling.svg. About 15 minutes on one core;
--quick (60 files of 1,000 rows, less than a minute) writes nothing unless told where.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import measures
import numpy as np
import picture

sys.path.insert(1, str(Path(__file__).resolve().parents[1]))

import common
from experiment import LEARNING_RATE, World, accuracy_after_epoch
from strategies import FULL, QUICK, Made, Sizes, Strategy, strategies

ROOT = Path(__file__).resolve().parents[2]
BATCHES = (256, 512, 4096)
END_BATCHES = 100  # at each end of the epoch, looked at on their own


def worlds(size: Sizes) -> dict[str, World]:
    """Classes one after the other along the files, and the same files in no order."""
    return {
        "sorted": size.world,
        "scattered": World(size.world.files, size.world.rows_per_file, size.world.classes, scattered=True),
    }


def figures(size: Sizes, made: Made) -> dict[str, Any]:
    """How well one order mixes, counted from the rows delivered."""
    files = size.world.file_of(made.order)
    batches = [batch for batch in sorted({size.batch, *BATCHES}) if len(files) >= 20 * batch]
    out: dict[str, Any] = {
        "rows_in_memory": made.rows_in_memory,
        "files_a_batch": measures.group_deff(files, size.batch)[1],
        "same_file_neighbours": measures.same_neighbours(files),
        "same_file_pairs": measures.same_pairs(files, size.batch),
        "deff_file": {batch: measures.group_deff(files, batch)[0] for batch in batches},
    }
    end = END_BATCHES * size.batch
    for name, part in (("first", files[:end]), ("last", files[len(files) - end :])):
        out[f"deff_file_{name}_batches"] = measures.group_deff(part, size.batch, size.world.files)[0]
    for name, world in worlds(size).items():
        labels = world.class_of_file()[files].astype(np.int32)
        out[f"deff_{name}"] = {batch: measures.label_deff(labels, batch) for batch in batches}
    for block in (size.large, size.small):
        groups = (made.order // block).astype(np.int32)
        out[f"deff_blocks_of_{block}"] = measures.group_deff(groups, size.batch)[0]
    return out


def compared(size: Sizes, made: Made) -> dict[str, Any]:
    """What Headrace reports of one order, from its plan, beside what is counted from the rows delivered."""
    if "order_report" not in made.facts:
        return {}
    report = made.facts["order_report"]
    blocks = measures.group_deff((made.order // made.facts["block"]).astype(np.int32), size.batch)[0]
    files = measures.group_deff(size.world.file_of(made.order), size.batch)[0]
    return {
        "mix": made.facts["mix"],
        "read_amplification": made.facts["read_amplification"],
        "batches_reported_on": report["batches"],
        "deff_of_blocks": {"reported": report["block_effect"], "delivered": blocks},
        "deff_of_files": {"reported": report["file_effect"], "delivered": files},
    }


def mean(values: list[Any]) -> Any:
    """Of numbers, or of dicts of numbers."""
    if isinstance(values[0], dict):
        return {key: mean([value[key] for value in values]) for key in values[0]}
    return round(float(np.mean(values)), 4)


def judge(size: Sizes, strategy: Strategy, seeds: int, rate: float) -> dict[str, Any]:
    counted, made = [], None
    accuracies: dict[str, list[float]] = {name: [] for name in worlds(size)}
    for seed in range(seeds):
        made = strategy.make(seed)
        if not np.array_equal(np.bincount(made.order, minlength=size.world.rows), np.ones(size.world.rows)):
            raise RuntimeError(f"{strategy.key}: not every row once")
        counted.append(figures(size, made))
        for name, world in worlds(size).items():
            accuracies[name].append(round(accuracy_after_epoch(world, made.order, seed, size.batch, rate), 3))
    assert made is not None
    return {
        "key": strategy.key,
        "name": strategy.name,
        "source": strategy.source,
        "code": made.code,
        "label": strategy.label,
        **mean(counted),
        "accuracy": accuracies,
        **compared(size, made),
    }


def add_gaps(results: list[dict[str, Any]]) -> None:
    """Points lost against a global shuffle with the same seed, that is, the same features and test set."""
    best = next(result for result in results if result["key"] == "global")["accuracy"]
    for result in results:
        result["lost_points"] = {}
        for world, values in result["accuracy"].items():
            lost = np.array(best[world]) - np.array(values)
            spread = float(lost.std(ddof=1)) if len(lost) > 1 else 0.0
            result["lost_points"][world] = {"mean": round(float(lost.mean()), 3), "spread": round(spread, 3)}


def table(report: dict[str, Any]) -> str:
    """As in docs/shuffling.md."""
    rows = report["rows"]
    small, large = (pick(report["results"][0]["deff_sorted"], key=int) for pick in (min, max))
    columns = ["shuffle", "of", "rows in memory", "files a batch", "pairs from one file"]
    columns += [f"Deff, B = {small}", f"Deff, B = {large}", "points lost, files ordered by class"]
    columns += ["points lost, files in random order"]
    lines = ["| " + " | ".join(columns) + " |", "| --- | --- |" + " ---: |" * (len(columns) - 2)]
    for result in report["results"]:
        deff = [result["deff_sorted"][batch] for batch in (small, large)]
        lost = [result["lost_points"][world] for world in ("sorted", "scattered")]
        of = f"**{result['source']}**" if result["source"] == "Headrace" else result["source"]
        cells = [result["name"], of, f"{100 * result['rows_in_memory'] / rows:.2f} %"]
        cells += [f"{result['files_a_batch']:.0f}", f"{100 * result['same_file_pairs']:.1f} %"]
        cells += [f"{value:.0f}" if value >= 99.5 else f"{value:.2g}" for value in deff]
        cells += [*(f"{v['mean']:.2f} ± {v['spread']:.2f}" for v in lost)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="60 files of 1,000 rows")
    parser.add_argument("--seeds", type=int, help="default: 3, with --quick 1")
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE)
    parser.add_argument("--only", help="comma-separated keys, besides global; writes nothing unless told where")
    parser.add_argument("--out", type=Path, help="JSON instead of bench/results/shuffling.json")
    parser.add_argument("--plot", type=Path, help="SVG instead of docs/images/shuffling.svg")
    parser.add_argument("--from-json", action="store_true", help="run nothing: picture and table of the last results")
    args = parser.parse_args()
    usual = not (args.quick or args.only)
    out = args.out or (ROOT / "bench/results/shuffling.json" if usual else None)
    plot = args.plot or (ROOT / "docs/images/shuffling.svg" if usual else None)
    if args.from_json:
        report = json.loads((out or ROOT / "bench/results/shuffling.json").read_text())
    else:
        report = measure(QUICK if args.quick else FULL, args)
        report["version"] = common.version_and_date()
    print(table(report))
    if out and not args.from_json:
        out.write_text(json.dumps(report, indent=1) + "\n")
    if plot:
        plot.parent.mkdir(parents=True, exist_ok=True)
        plot.write_text(picture.draw(report))


def measure(size: Sizes, args: argparse.Namespace) -> dict[str, Any]:
    seeds = args.seeds or (1 if args.quick else 3)
    wanted = set(args.only.split(",")) | {"global"} if args.only else None
    results = []
    with tempfile.TemporaryDirectory(prefix="headrace-shuffling-") as folder:
        for strategy in strategies(size, Path(folder)):
            if wanted is None or strategy.key in wanted:
                results.append(judge(size, strategy, seeds, args.learning_rate))
                print(f"{strategy.key}: {results[-1]['accuracy']}", file=sys.stderr, flush=True)
    add_gaps(results)
    report = {
        "command": "python bench/shuffle_quality/run.py" + (" --quick" if args.quick else ""),
        "files": size.world.files,
        "rows": size.world.rows,
        "classes": size.world.classes,
        "batch": size.batch,
        "share": size.share,
        "seeds": seeds,
        "learning_rate": args.learning_rate,
        "results": results,
    }
    return json.loads(json.dumps(report))  # keys as they are in the file: text


if __name__ == "__main__":
    main()
