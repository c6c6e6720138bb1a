"""What a loader plans before it reads: batches in file order, pages of Parquet, all rows in memory."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr

SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def bytes_of(text: str) -> float:
    number, unit = text.split()
    return float(number) * SIZES[unit]


def ragged(folder: Path, lengths: np.ndarray) -> hr.Dataset:
    at = np.concatenate([[0], np.cumsum(lengths)])
    np.savez(folder / "r.npz", x=np.arange(at[-1], dtype=np.float64), at=at)
    return hr.open(folder / "r.npz", fields=["x"], sample_by=hr.Spans(offsets="at"))


def largest_batch(data: hr.Dataset, batch_size: int, **words: object) -> float:
    """The bytes of a batch that a refusal names, to three digits."""
    with pytest.raises(hr.OutOfBudgetError) as refused:
        hr.Loader(data, batch_size, memory=1, threads=1, **words)
    return bytes_of(re.findall(r"two batches \(([\d.]+ \w+) each", str(refused.value))[0])


@pytest.mark.parametrize("seed", range(5))
def test_batches_in_file_order_are_counted_by_the_largest_stretch(tmp_path: Path, seed: int) -> None:
    """Short samples first and long ones at the end come in batches that no random order has."""
    chance = np.random.default_rng(seed)
    lengths = np.sort(chance.pareto(1.0, 3000) * 10).astype(np.int64) + 1
    lengths = np.roll(lengths, int(chance.integers(3000)))
    data, batch = ragged(tmp_path, lengths), int(chance.integers(2, 300))
    stretches = np.convolve(lengths, np.ones(batch, np.int64), "valid")
    told = largest_batch(data, batch, shuffle=False)
    beside = told - 8 * stretches.max()  # of the plan, at most some hundred bytes a sample
    assert -0.01 * told <= beside <= 0.01 * told + 400 * batch


def test_a_batch_in_file_order_is_not_larger_than_all_samples(tmp_path: Path) -> None:
    lengths = np.array([5, 1, 7])
    told = largest_batch(ragged(tmp_path, lengths), 100_000, shuffle=False)
    assert told < 8 * lengths.sum() + 400 * 100_000


def test_scratch_of_parquet_is_a_page(tmp_path: Path) -> None:
    """Row groups of a million rows are decoded a page at a time, also in what is planned."""
    rows = 1_000_000
    table = pa.table({"x": np.random.default_rng(0).normal(size=rows), "y": np.arange(rows)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=rows, compression="zstd", use_dictionary=False)
    told = hr.check_memory(hr.open(tmp_path / "t.parquet"), batch_size=256, shuffle=True, threads=1).to_dict()
    parts = {part["name"]: part["bytes"] for part in told["components"]}
    assert 0 < parts["decode scratch"] < 6 << 20  # a page of 1 MiB and its room to decode
    assert 0 < parts["read buffers"] < 4 << 20  # the row group has 16 MB


def test_all_rows_in_memory_name_a_budget_that_is_enough(tmp_path: Path) -> None:
    """Also where not even the batches fit, and with many columns, of which none is rounded up to huge pages."""
    arrays = {f"c{i}": np.full(1000, i, np.float32) for i in range(40)}
    np.savez(tmp_path / "a.npz", **arrays)
    data = hr.open(tmp_path / "a.npz")
    words = {"cache": "ram", "shuffle": True, "threads": 1}
    least = []
    for budget in (1, 250_000):
        with pytest.raises(hr.OutOfBudgetError) as refused:
            hr.Loader(data, 10, memory=budget, **words)
        least.append(refused.value.needed_bytes or 0)
    assert least[0] == pytest.approx(least[1], rel=0.1)
    assert max(least) < 4 << 20
    assert sum(float(batch["c7"].sum()) for batch in hr.Loader(data, 10, memory=max(least), **words)) == 7000


def test_columns_that_the_plan_makes_are_counted(tmp_path: Path) -> None:
    """Where rows come from, and their groups: whole numbers for each row, beside one byte of data."""
    np.savez(tmp_path / "a.npz", x=np.zeros(100_000, np.uint8), k=np.arange(100_000) // 1000)

    def bookkeeping(**words: object) -> int:
        told = hr.check_memory(hr.open(tmp_path / "a.npz"), shuffle=False, cache="none", threads=1, **words).to_dict()
        return next(part["bytes"] for part in told["components"] if part["name"] == "bookkeeping")

    plain = bookkeeping(batch_size=8192)
    assert bookkeeping(batch_size=8192, provenance=True) - plain >= 4 * 8192 * 16
    assert bookkeeping(group_by="k", max_items=8192) - plain >= 4 * 8192 * 16
