#!/usr/bin/env python3
"""One configuration of the memory sweep, in this process: its peak above what was held before the data were opened.

sweep_run.py FOLDER CONFIGURATION      the latter as JSON; prints one JSON object
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sweep_kinds
import sweep_tools
from sweep_peak import Peak

import headrace as hr

EPOCHS = 4
MAPS_FILES = ("cache_build", "open_text", "tokenize")  # what these write or open is mapped
Drawn = dict[str, Any]


def loader_words(one: Drawn, cache: str) -> Drawn:
    """Arguments of Loader, without a sampler."""
    names = ("batch_size", "threads", "layout", "group_by", "max_items")
    words: Drawn = {name: one[name] for name in names if name in one}
    words |= {"shuffle": {"none": False}.get(one["shuffle"], one["shuffle"]), "cache": cache, "memory": one["budget"]}
    if "group_by" in one:
        del words["batch_size"]
        words["shuffle"] = bool(words["shuffle"])
    if "tokens" in one:
        words["batch"] = hr.ByTokens(one["tokens"], too_long="alone")
        del words["batch_size"]
    return words


def made(one: Drawn, data: Any, cache: str) -> Any:
    """The loader of a configuration of one loader."""
    words = loader_words(one, cache)
    verb = one.get("verb")
    if verb == "Weighted":
        return hr.Loader(
            data, **{**words, "shuffle": False}, sampler=hr.Weighted([1.0 + i % 3 for i in range(len(data))])
        )
    if verb == "Balanced":
        return hr.Loader(data, **{**words, "shuffle": False}, sampler=hr.Balanced(by="y"))
    return hr.Loader(data, **words)


def made_for_cellmap(one: Drawn, data: Any, cache: str) -> Any:
    from headrace.cellmap import CellMapDataLoader

    words = {"batch_size": one["batch_size"], "num_workers": one["threads"], "weighted_sampler": one["balance"]}
    return CellMapDataLoader(data, iterations_per_epoch=200, memory=one["budget"], cache=cache, **words)


def batches(one: Drawn, loaders: list[Any]) -> Iterator[Any]:
    """One epoch; of two loaders the second, a validation, runs in the middle of the first's."""
    middle = len(loaders[0]) // 2
    for number, batch in enumerate(loaders[0]):
        yield batch
        if number == middle:
            del batch
            for other in loaders[1:]:
                yield from other


def deliver(folder: Path, one: Drawn, peak: Peak, cache: str) -> Drawn:
    """Epochs until the cache is full and memory has stopped growing, or the time is over; then what was foretold."""
    data = sweep_kinds.KINDS[one["kind"]].open(folder, one)
    if one["kind"] == "train_and_validation":
        parts = data.split({"train": 0.75, "val": 0.25}, seed=1)
        loaders = [made({**one, "verb": ""}, part, cache) for part in parts.values()]
    else:
        loaders = [(made_for_cellmap if one["kind"] == "cellmap" else made)(one, data, cache)]
    started, count, finished = time.perf_counter(), 0, 0
    late = False
    while not late and finished < EPOCHS:
        for _ in batches(one, loaders):
            count += 1
            now = time.perf_counter() - started
            late = now > 3 * one["seconds"] or (now > one["seconds"] and not peak.sampler.grows())
            if late:
                break
        else:
            finished += 1
    measured = peak.stop()
    loader = loaders[0].loader.loader if one["kind"] == "cellmap" else loaders[0]
    report = loader.report()
    settled = len(loaders) == 1 and finished > 0 and report.cache.epochs_left == 0
    numbers = {"batches": count, "epochs_finished": finished, "settled": settled, "cache": report.cache.kind}
    numbers |= {"charged_bytes": report.memory.peak_bytes, "planned_bytes": report.memory.planned_bytes}
    return {**numbers, **measured, **foretold(one, loader, cache)}


def foretold(one: Drawn, loader: Any, cache: str) -> Drawn:
    """The peak that check_memory foretells; of an order that it cannot know, what the loader has planned."""
    memory = loader.report().to_dict()["memory"]
    if one.get("verb") in ("Weighted", "Balanced") or one["kind"] == "cellmap":
        return {"predicted_bytes": memory["planned_bytes"], "predicted_by": "plan"}
    told = hr.check_memory(loader.dataset, **loader_words(one, cache)).to_dict()
    bytes_ = next(told[name] for name in ("forecast_peak_bytes", "total_bytes") if name in told)
    parts = {part["name"]: part["bytes"] for part in told["components"]}
    stated = {"uncertainty_bytes": told["uncertainty_bytes"], "predicted_parts": parts}
    return {"predicted_bytes": bytes_, "predicted_by": "check_memory", **stated}


def main() -> None:
    folder, one = Path(sys.argv[1]), json.loads(sys.argv[2])
    if one["kind"] == "cellmap":
        import headrace.cellmap  # noqa: F401  (torch comes with it, and is no part of the data)
    maps_files = one.get("cache") == "directory" or one["kind"] in MAPS_FILES
    with tempfile.TemporaryDirectory(dir=folder, prefix="out_") as out:
        hr.set_memory(one["budget"])
        peak = Peak(maps_files)
        try:
            if one["kind"] in sweep_tools.TOOLS:
                sweep_tools.TOOLS[one["kind"]][1](folder, Path(out), one)
                result: Drawn = peak.stop()
            else:
                cache = f"{out}/cache/" if one["cache"] == "directory" else one["cache"]
                result = deliver(folder, one, peak, cache)
        except hr.OutOfBudgetError as error:
            least = re.search(r"memory(?:=|\()\"?(\d+)", str(error))
            result = {"refused": str(error), "least": int(least[1]) if least else 0, **peak.stop()}
    print(json.dumps({**result, "budget_bytes": one["budget"]}))


if __name__ == "__main__":
    main()
