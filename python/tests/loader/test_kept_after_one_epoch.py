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


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of which one chunk is damaged, in a block of several."""
    path = tmp_path_factory.mktemp("damaged") / "m.h5"
    with h5py.File(path, "w") as file:
        values = np.random.default_rng(0).integers(0, 50, (4000, 64)).astype("f4")
        data = file.create_dataset("x", data=values, chunks=(50, 64), compression="gzip")
        file.create_dataset("y", data=np.arange(4000), chunks=(50,), compression="gzip")
        place = data.id.get_chunk_info(41).byte_offset
    with path.open("r+b") as file:
        file.seek(place + 2)
        file.write(b"\xff" * 8)
    return path


@pytest.mark.parametrize("kind", ["rows", "windows"])
def test_a_damaged_chunk_is_not_decoded_for_each_batch(damaged: Path, kind: str) -> None:
    rows = hr.open(damaged, ["x", "y"])
    sound = np.r_[0:2050, 2100:4000] if kind == "rows" else np.r_[0:205, 210:400]
    data = (rows if kind == "rows" else rows.windows(10)).select(sound)
    got = []
    for cache in ("none", "auto"):
        with hr.Loader(data, 8, shuffle=True, threads=2, cache=cache) as loader:
            got.append([batch["y"].tolist() for _ in range(2) for batch in loader])
            decoded = loader.report().chunks_decoded
    assert got[0] == got[1]
    assert decoded <= 2 * 80 + 2


@pytest.mark.parametrize("cache", ["auto", "ram"])
@pytest.mark.parametrize("kind", ["rows", "windows"])
def test_damage_is_told_at_its_batch_in_every_epoch(damaged: Path, kind: str, cache: str) -> None:
    def told(cache: str) -> list[tuple[int, str]]:
        rows, found = hr.open(damaged, ["x", "y"]), []
        with hr.Loader(rows if kind == "rows" else rows.windows(10), 8, shuffle=True, threads=3, cache=cache) as loader:
            for epoch in range(3):
                loader.set_epoch(epoch)
                batches = 0
                with pytest.raises(hr.CorruptDataError) as error:
                    for _ in loader:
                        batches += 1
                found.append((batches, str(error.value)))
        return found

    assert told(cache) == told("none")
