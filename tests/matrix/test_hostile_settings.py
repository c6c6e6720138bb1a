"""The loader with no room to spare: one thread, the smallest memory it names, batches of 1, 7 and too many."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from matrix_compare import check_epoch, reference

import headrace as hr

ROWS = (230, 64, 1, 301)
FIELDS = ["row", "x", "adj", "across", "y"]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files whose fields are chunked differently, as the guide warns against."""
    folder = tmp_path_factory.mktemp("hostile")
    random = np.random.default_rng(5)
    out, first = [], 0
    for i, rows in enumerate(ROWS):
        path = folder / f"part_{i}.h5"
        with h5py.File(path, "w") as file:
            file["row"] = np.arange(first, first + rows)
            x, adj = random.normal(size=(rows, 12, 3)).astype("f4"), random.normal(size=(rows, 50)).astype("f4")
            file.create_dataset("x", data=x, chunks=(min(rows, 32), 12, 3), compression="gzip")
            file.create_dataset("adj", data=adj, chunks=(min(rows, 25), 50), compression="lzf", shuffle=True)
            file.create_dataset("across", data=adj, chunks=(min(rows, 100), 7), compression="gzip", fletcher32=True)
            file.create_dataset("y", data=random.integers(0, 9, rows), chunks=(rows,), compression="gzip")
        out.append(path)
        first += rows
    return out


@pytest.fixture(scope="module")
def want(paths: list[Path]) -> dict[str, np.ndarray]:
    parts = [reference(path, FIELDS) for path in paths]
    return {name: np.concatenate([part[name] for part in parts]) for name in FIELDS}


def smallest_memory(dataset: hr.Dataset, **options: Any) -> int:
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(dataset, memory=1, **options)
    assert isinstance(caught.value, MemoryError)
    assert caught.value.needed_bytes, str(caught.value)
    return caught.value.needed_bytes


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("batch_size", [1, 7, 64, 100_000])
@pytest.mark.parametrize("threads", [1, 3])
def test_smallest_memory(paths, want, batch_size: int, shuffle: bool, threads: int) -> None:
    dataset = hr.open(paths, fields=FIELDS)
    options = {"batch_size": batch_size, "shuffle": shuffle, "threads": threads, "timeout": 60}
    least = smallest_memory(dataset, **options)
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(dataset, memory=least - 1, **options)
    for memory in (least, least + 1, least * 3 // 2):
        with hr.Loader(dataset, memory=memory, **options) as loader:
            for _ in range(2):
                assert not check_epoch(loader, want, "row", shuffle)


@pytest.mark.parametrize("batch_size", [1, 7, 100_000])
def test_order_does_not_depend_on_threads_or_memory(paths, batch_size: int) -> None:
    dataset = hr.open(paths, fields=FIELDS)
    least = smallest_memory(dataset, batch_size=batch_size, shuffle=True)
    orders = set()
    for threads, memory in ((1, least), (3, least * 2), (2, "1GiB")):
        with hr.Loader(dataset, batch_size, shuffle=True, seed=3, threads=threads, memory=memory, timeout=60) as loader:
            orders.add(tuple(np.concatenate([batch["row"] for batch in loader]).tolist()))
    assert len(orders) == 1


def test_all_batches_held_at_the_smallest_memory(paths, want) -> None:
    dataset = hr.open(paths, fields=FIELDS)
    least = smallest_memory(dataset, batch_size=7, shuffle=True)
    with hr.Loader(dataset, 7, shuffle=True, threads=1, memory=least, timeout=60) as loader:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hr.HeadraceWarning)
            held = list(loader)
        for batch in held:
            assert all(np.array_equal(batch[name], want[name][batch["row"]]) for name in FIELDS)


def test_breaking_off_again_and_again(paths) -> None:
    dataset = hr.open(paths, fields=FIELDS)
    with hr.Loader(dataset, 7, shuffle=True, threads=3, timeout=60) as loader:
        for epoch in range(30):
            for number, _ in enumerate(loader):
                if number == epoch % 4:
                    break
        assert sum(len(batch["row"]) for batch in loader) == sum(ROWS)
