#!/usr/bin/env python3
"""Digests of whole epochs: what must stay the same to the bit while the engine behind it changes.

    python tests/golden/make_golden_batches.py --write      (needs numpy, h5py and hdf5plugin)

A *case* says what is delivered (data, order, tail, ranks, where it is resumed) and has one digest a rank, over every
batch's fields, in order: name, type, shape and bytes, chained over two epochs. A *setting* says how (threads, memory,
cache); whatever it is, the digests are the same. Rewrite golden_batches.json only for a change that is meant to change
batches, and say so in CHANGELOG.md: runs that resume would go on with others.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from golden_files import Files, noise, write_hostile, write_jets, write_mel

import headrace as hr

GOLDEN = Path(__file__).with_name("golden_batches.json")
EPOCHS = 2
Open = Callable[[], hr.Dataset]


def everything(folder: Path) -> dict[str, Open]:
    """Write all files; name → a function that opens a data set of them."""

    def opener(files: Files) -> Open:
        return lambda: hr.open(files.paths, fields=files.fields)

    jets = opener(write_jets(folder / "jets"))
    tops = opener(write_jets(folder / "tops", salt=50, rows=(300, 129)))

    def selected() -> hr.Dataset:
        data = jets()
        return data.select(noise(0, (len(data),), 70) % np.uint64(3) != 0)

    def mixed() -> hr.Dataset:
        return hr.mix({"qcd": (selected(), 0.7), "top": (tops(), 0.3)}, stop="first")

    def mixed_all() -> hr.Dataset:
        return hr.mix({"qcd": jets(), "top": tops()}, temperature=2, stop="all")

    return {
        "jets": jets,
        "jets selected": selected,
        "jets mixed": mixed,
        "jets mixed, all": mixed_all,
        "mel": opener(write_mel(folder / "mel")),
        "hostile": opener(write_hostile(folder / "hostile")),
    }


def order_options(name: str, rows: int) -> dict[str, Any]:
    """Keyword arguments of the loader for an order."""
    if name == "blocks":
        return {"shuffle": True, "shuffle_buffer": hr.ShuffleShape(12, 1)}
    if name == "blocks 5x2":
        return {"shuffle": True, "shuffle_buffer": hr.ShuffleShape(5, 2)}
    if name == "exact":
        return {"shuffle": "exact"}
    if name.startswith("weighted"):
        weights = (noise(0, (rows,), 71) % np.uint64(8)).astype(np.float64)
        return {"sampler": hr.Weighted(weights, replacement=name == "weighted")}
    if name == "balanced":
        return {"sampler": hr.Balanced("y")}
    if name == "listed":
        return {"sampler": (noise(0, (rows // 2,), 72) % np.uint64(rows)).astype(np.int64)}
    return {}


@dataclass(frozen=True)
class Case:
    """What is delivered."""

    data: str
    order: str
    tail: str = "partial"
    world: int = 1
    batch: int = 96  # over all ranks
    resumed_at: int = 0  # step of the first epoch that another loader goes on from
    resumed_world: int = 0  # its ranks, if others

    def __str__(self) -> str:
        at = f", resumed at {self.resumed_at} by {self.resumed_world or self.world}" if self.resumed_at else ""
        return f"{self.data} | {self.order} | {self.tail} | {self.world} x {self.batch // self.world}{at}"


def cases() -> Iterator[Case]:
    """Every order with every tail and number of ranks for the jets; a choice for the other data."""
    for order in ("file", "blocks", "exact", "weighted"):
        for tail in ("partial", "drop", "pad"):
            for world in (1, 2, 3):
                yield Case("jets", order, tail, world)
    for order in ("blocks 5x2", "weighted once", "balanced", "listed"):
        yield Case("jets", order)
        yield Case("jets", order, "pad", 2)
    for order in ("file", "blocks", "exact", "balanced"):
        yield Case("jets selected", order, "partial", 2)
    for data in ("jets mixed", "jets mixed, all"):
        for order in ("file", "blocks", "exact"):
            yield Case(data, order, "partial", 1)
            yield Case(data, order, "pad", 3)
    for order in ("file", "blocks", "exact", "weighted"):
        yield Case("mel", order, "partial", 1, 350)
        yield Case("mel", order, "pad", 3, 351)
        yield Case("hostile", order, "partial", 1, 70)
        yield Case("hostile", order, "drop", 2, 74)
    for data, batch in (("jets", 96), ("jets mixed", 96), ("hostile", 72)):
        for order in ("file", "blocks", "exact", "weighted"):
            if data != "jets mixed" or order != "weighted":
                yield Case(data, order, "pad", 1, batch, resumed_at=5)
                yield Case(data, order, "partial", 2, batch, resumed_at=3, resumed_world=3)


@dataclass(frozen=True)
class Setting:
    """How it is delivered."""

    name: str
    threads: int
    options: dict[str, Any] = field(default_factory=dict)

    def loader_options(self, folder: Path) -> dict[str, Any]:
        """Keyword arguments of the loader; a cache directory lies under ``folder``."""
        more = {"cache": folder / "cache"} if self.options.get("cache") == "directory" else {}
        return {"threads": self.threads, **self.options, **more}


SETTINGS = (
    Setting("no cache, 1 thread", 1, {"cache": "none"}),
    Setting("no cache, 2 threads", 2, {"cache": "none"}),
    Setting("auto, 2 threads", 2),
    Setting("auto, 4 MiB", 2, {"memory": "4MiB"}),  # some blocks are kept, encoded where that pays
    Setting("smallest memory", 2, {"memory": "smallest"}),
    Setting("all rows in memory", 2, {"cache": "ram"}),
    Setting("cache directory, 1 thread", 1, {"cache": "directory"}),
    Setting("cache directory, 2 threads", 2, {"cache": "directory"}),
)


def add_batches(digest: Any, batches: Iterable[dict[str, np.ndarray]], most: int | None = None) -> None:
    """Add batches, ``most`` of them or all, to a digest."""
    for step, batch in enumerate(batches, 1):
        for name, array in batch.items():
            digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        if step == most:
            break


def smallest_memory(dataset: hr.Dataset, options: dict[str, Any]) -> int:
    """The smallest budget, in bytes, that the error names."""
    try:
        hr.Loader(dataset, **{**options, "memory": 1}).close()
    except hr.OutOfBudgetError as error:
        return error.needed_bytes
    raise AssertionError("a budget of one byte was enough")


def deliver(case: Case, dataset: hr.Dataset, options: dict[str, Any]) -> list[str]:
    """Deliver a case; one digest for each rank (of those that resume, where others do)."""
    options = {
        "shuffle": False,
        "tail": case.tail,
        "seed": 11,
        "global_batch_size": case.batch,
        "provenance": not case.data.startswith("jets mixed"),
        **order_options(case.order, len(dataset)),
        **options,
    }

    def loader(rank: int, world: int) -> hr.Loader:
        return hr.Loader(dataset, rank=rank, world_size=world, **options)

    if options.get("memory") == "smallest":
        options["memory"] = smallest_memory(dataset, {**options, "rank": case.world - 1, "world_size": case.world})
    before, state = [], None
    for rank in range(case.world if case.resumed_at else 0):
        before.append(hashlib.sha256())
        with loader(rank, case.world) as first:
            add_batches(before[-1], first, case.resumed_at)
            state = first.state_dict()
    world = case.resumed_world or case.world
    digests = before if world == case.world and before else [hashlib.sha256() for _ in range(world)]
    for rank, digest in enumerate(digests):
        with loader(rank, world) as second:
            if state is not None:
                second.load_state_dict(state)
            for _ in range(EPOCHS):
                add_batches(digest, second)
    return [digest.hexdigest()[:32] for digest in digests]


def main() -> None:
    parser = argparse.ArgumentParser(description="Digests of whole epochs, compared with golden_batches.json.")
    parser.add_argument("--write", action="store_true", help="rewrite golden_batches.json")
    write = parser.parse_args().write
    with tempfile.TemporaryDirectory() as folder:
        datasets = everything(Path(folder))
        found = {str(case): deliver(case, datasets[case.data](), {"threads": 2, "cache": "none"}) for case in cases()}
    if write:
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(digests)}" for name, digests in found.items())
        GOLDEN.write_text(f"{{\n{lines}\n}}\n")
        print(f"{len(found)} cases, {GOLDEN.stat().st_size} bytes")
        return
    golden = json.loads(GOLDEN.read_text())
    wrong = [name for name in {**golden, **found} if golden.get(name) != found.get(name)]
    print(*wrong, f"{len(wrong)} of {len(found)} cases differ", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
