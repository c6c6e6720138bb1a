"""What fits into memory is decoded once: the first epoch keeps all of it, by default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

ROWS = 1200


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three files of blocks that differ in length, the last one short."""
    folder, random = tmp_path_factory.mktemp("fits"), np.random.default_rng(5)
    for number in range(3):
        rows = ROWS + 37 * number
        with h5py.File(folder / f"f{number}.h5", "w") as file:
            x = random.normal(size=(rows, 6)).astype("f4")
            file.create_dataset("x", data=x, chunks=(50 + number, 6), compression="gzip")
            file.create_dataset("y", data=np.arange(rows) + 10_000 * number, chunks=(64,), compression="gzip")
            file["at"] = np.r_[0, np.sort(random.choice(np.arange(1, rows), 150, replace=False)), rows]
    return folder


def opened(files: Path, kind: str) -> hr.Dataset:
    if kind == "events":
        return hr.open(files / "f*.h5", ["x", "y"], sample_by=hr.Spans(offsets="at"))
    rows = hr.open(files / "f*.h5", ["x", "y"])
    return rows.windows(8) if kind == "windows" else rows.select(range(3, len(rows), 2)) if kind == "selected" else rows


ORDERS: dict[str, dict[str, Any]] = {
    "in order": {"shuffle": False},
    "shuffled": {"shuffle": True, "seed": 2},
    "exact": {"shuffle": "exact", "seed": 3},
}


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["rows", "selected", "windows", "events"])
def test_the_second_epoch_decodes_nothing(files: Path, kind: str, order: str, threads: int) -> None:
    words = {"batch_size": 32, "threads": threads, **ORDERS[order]}
    want = [batch["y"].tolist() for _ in range(2) for batch in hr.Loader(opened(files, kind), cache="none", **words)]
    got: list[list[int]] = []
    decoded = []
    with hr.Loader(opened(files, kind), **words) as loader:
        assert "read when a batch first needs them" in str(loader.explain())
        for _ in range(3):
            got += [batch["y"].tolist() for batch in loader]
            decoded.append(loader.report().chunks_decoded)
        report = loader.report()
    assert got[: len(want) // 2] == want[: len(want) // 2]
    assert decoded[0] == decoded[1] == decoded[2]
    assert report.cache.complete and report.exactly_once


@pytest.mark.parametrize("kind", ["rows", "selected", "events"])
def test_each_block_counts_once(files: Path, kind: str) -> None:
    with hr.Loader(opened(files, kind), 32, shuffle=True, threads=3) as loader:
        for _ in loader:
            pass
        assert loader.report().read_amplification == pytest.approx(1, abs=0.01)


def test_an_order_that_needs_some_blocks_decodes_those(files: Path) -> None:
    few = list(range(200))
    with hr.Loader(opened(files, "rows"), 32, sampler=few, threads=1) as loader:
        assert [n for batch in loader for n in batch["y"].tolist()] == few
        assert loader.report().chunks_decoded <= ROWS // 50 + ROWS // 64 + 1, "those of one file"
