"""The shuffle of random layouts of files, against NumPy: what comes, and how well it is mixed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

LEAST_BLOCK_BYTES, RUN_BYTES = 256 << 10, 256 << 10  # of smaller chunks blocks are several; of chunks of one row
LAYOUTS, EACH = 20, 10

pytestmark = pytest.mark.filterwarnings("ignore:the largest block has", "ignore:shuffle_buffer=.* is a size in bytes")


class Layout:
    """Random files of a payload that was never written, some of whose rows may be chosen, and options of a loader."""

    def __init__(self, random: np.random.Generator, folder: Path) -> None:
        self.row_bytes = int(random.choice([4096, 16384, 40000]))
        self.files = [int(random.integers(1, 260)) for _ in range(random.integers(1, 7))]
        self.chunks = [min(int(random.choice([1, 8, 16, 50])), rows) for rows in self.files]
        for number, (rows, chunk) in enumerate(zip(self.files, self.chunks, strict=True)):
            with h5py.File(folder / f"part_{number}.h5", "w") as file:
                shape = (rows, self.row_bytes)
                file.create_dataset("x", shape, np.uint8, chunks=(chunk, self.row_bytes), compression="gzip")
        self.data = hr.open(str(folder / "part_*.h5"))
        rows = np.array([(f, r) for f, count in enumerate(self.files) for r in range(count)])
        if random.random() < 0.4:
            chosen = random.random(len(rows)) < random.choice([0.1, 0.5, 0.9])
            chosen[random.integers(len(rows))] = True
            self.data, rows = self.data.select(chosen), rows[chosen]
        self.rows = {tuple(row) for row in rows.tolist()}
        self.batch = int(random.integers(1, min(200, len(rows)) + 1))
        self.options: dict[str, Any] = {"shuffle": True, "seed": int(random.integers(1000)), "cache": "none"}
        kind = random.integers(4)
        if kind == 1:
            self.options["shuffle_buffer"] = int(random.integers(1, 8 << 20))
        elif kind >= 2:
            self.options["shuffle_buffer"] = hr.ShuffleShape(int(random.integers(1, 70)), int(random.integers(1, 4)))

    def loader(self, **more: Any) -> hr.Loader:
        """Return a loader of batches with the file and the row of each sample."""
        if "global_batch_size" not in more:
            more["batch_size"] = self.batch
        return hr.Loader(self.data, provenance=True, **{"threads": 1, **self.options, **more})

    def smallest_memory(self, **more: Any) -> int:
        """Return the least budget that the refusal of one byte names."""
        with pytest.raises(hr.OutOfBudgetError) as refused:
            self.loader(memory=1, **more)
        return refused.value.needed_bytes or 0

    def blocks_of(self, rows: np.ndarray) -> np.ndarray:
        """Return a number for the block of each row."""
        chunks = np.array(self.chunks)
        least = np.where(chunks == 1, RUN_BYTES, LEAST_BLOCK_BYTES)
        block_rows = chunks * -(-least // (chunks * self.row_bytes))
        return rows[:, 0] * 1000 + rows[:, 1] // block_rows[rows[:, 0]]


def epoch_of(loader: Any) -> list[np.ndarray]:
    return [np.array(batch["_rows"]) for batch in loader]


def effect(batches: list[np.ndarray], every: np.ndarray) -> float:
    """Deff of a label that is constant in a group; 1 where there is one group."""
    groups, sizes = np.unique(every, return_counts=True)
    weights = sizes / sizes.sum()
    if len(groups) == 1:
        return 1.0
    spread = [
        ((np.bincount(np.searchsorted(groups, batch), minlength=len(groups)) / len(batch) - weights) ** 2).sum()
        for batch in batches
    ]
    return float(np.mean(spread)) * len(batches[0]) / (1 - float((weights**2).sum()))


@pytest.fixture(params=range(LAYOUTS))
def layouts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Iterator[tuple[Layout, np.random.Generator]]]:
    """Some of the random layouts, and the numbers that go on from each."""

    def some() -> Iterator[tuple[Layout, np.random.Generator]]:
        for number in range(EACH):
            random = np.random.default_rng([request.param, number])
            folder = tmp_path / str(number)
            folder.mkdir()
            yield Layout(random, folder), random

    yield some()


def test_random_layouts_are_shuffled_alike_whatever_delivers_them(layouts) -> None:
    for layout, random in layouts:
        with layout.loader() as loader:
            want, second = epoch_of(loader), epoch_of(loader)
        for epoch in (want, second):
            every = [tuple(row) for row in np.concatenate(epoch).tolist()]
            assert len(every) == len(layout.rows)
            assert set(every) == layout.rows

        if "shuffle_buffer" not in layout.options:  # so little data is permuted
            with layout.loader(shuffle="exact") as loader:
                assert all(map(np.array_equal, epoch_of(loader), want))

        least = layout.smallest_memory(threads=3)
        for memory in (least, least * 2):
            with layout.loader(threads=3, memory=memory) as loader:
                assert all(map(np.array_equal, epoch_of(loader), want)), "another budget, other batches"

        step = int(random.integers(len(want) + 1))
        with layout.loader() as first, layout.loader(threads=2) as other:
            delivered = iter(first)
            for _ in range(step):
                next(delivered)
            other.load_state_dict(first.state_dict())
            rest = epoch_of(other)
        assert all(map(np.array_equal, rest, want[step:] or second)), f"resumed at step {step}"

        whole = len(want) - (len(layout.rows) % layout.batch != 0)
        with layout.loader() as loader:
            planned = loader.order_report().to_dict()["global"]
        rows = np.concatenate(want)
        assert planned["file_effect"] == pytest.approx(effect([b[:, 0] for b in want[:whole]], rows[:, 0]), abs=1e-6)
        blocks = [layout.blocks_of(batch) for batch in want[:whole]]
        assert planned["block_effect"] == pytest.approx(effect(blocks, layout.blocks_of(rows)), abs=1e-6)


def test_ranks_of_random_layouts_share_every_batch(layouts) -> None:
    for layout, random in layouts:
        world = int(random.integers(2, 6))
        if len(layout.rows) < 2 * world:
            continue
        size = max(layout.batch // world, 1) * world
        with layout.loader(global_batch_size=size) as loader:
            want = epoch_of(loader)
        parts = []
        for rank in range(world):
            with layout.loader(global_batch_size=size, rank=rank, world_size=world) as loader:
                parts.append(epoch_of(loader))
        for step in range(len(layout.rows) // size):
            assert len({len(part[step]) for part in parts}) == 1, "ranks get as many"
            assert np.array_equal(np.concatenate([part[step] for part in parts]), want[step])


def test_a_class_a_file_is_in_every_batch(tmp_path: Path) -> None:
    for number in range(2):
        with h5py.File(tmp_path / f"class_{number}.h5", "w") as file:
            file["x"] = np.zeros((1000, 64), np.float32)
            file["y"] = np.full(1000, number)
    with hr.open(str(tmp_path / "class_*.h5")) as data, hr.Loader(data, 64, shuffle=True) as loader:
        counts = [np.bincount(np.array(batch["y"]), minlength=2) for batch in loader]
        assert min(c.min() for c in counts[:-1]) >= 12  # of 64: 32 +- 4, five times
        assert "Deff 1.00" in loader.explain()
        assert loader.report().mixing.deff_blocks == 1.0
        assert not loader.report().notices


def test_what_cannot_be_mixed_is_said_before_a_byte_is_read(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "large_blocks.h5", "w") as file:  # 8 GiB that were never written, 64 MiB a chunk
        file.create_dataset("x", (8192, 1 << 20), np.uint8, chunks=(64, 1 << 20), compression="gzip")
    with hr.open(str(tmp_path / "large_blocks.h5")) as data:
        with pytest.warns(hr.HeadraceWarning, match=r"16 of them are mixed at any time, and Deff is about 14 "):
            loader = hr.Loader(data, 256, shuffle=True)
        with loader:
            assert re.search(r"no order that holds 1\.00 GiB gets below 5\.11", "".join(loader.report().notices))
            mixing = loader.report().mixing
            assert mixing.mixed_bytes == 1 << 30
            assert 13 < mixing.deff_blocks < 20
            assert f"Deff {mixing.deff_blocks:.0f} for a label that is constant in each block" in loader.explain()
            assert loader.report().to_dict()["mixing"]["deff_blocks"] == pytest.approx(mixing.deff_blocks)
