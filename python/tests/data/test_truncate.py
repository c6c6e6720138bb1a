"""T.Truncate: long samples get their first rows, or drawn ones, against slices of what is stored."""

from __future__ import annotations

import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
MOST = 20
LENGTHS = np.minimum(np.random.default_rng(5).pareto(1.0, 300) * 8, 900).astype(int)  # some are empty


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Row i of all files has the value i; a sample's number is its target."""
    at = tmp_path_factory.mktemp("truncate")
    for part, lengths in enumerate(np.split(LENGTHS, [130])):
        first = LENGTHS[:130].sum() * part
        with h5py.File(at / f"part_{part}.h5", "w") as file:
            row = np.arange(first, first + lengths.sum())
            file.create_dataset("row", data=row, chunks=(64,), compression="gzip")
            file.create_dataset("pair", data=np.stack([row, -row], -1).astype("f4"), chunks=(50, 2))
            file["begin"] = np.concatenate(([0], np.cumsum(lengths)))
            file["number"] = np.arange(len(lengths)) + 130 * part
    return hr.open(at / "part_*.h5", ["row", "pair"], sample_by=hr.Spans(offsets="begin"), targets=["number"])


STARTS = np.concatenate(([0], np.cumsum(LENGTHS)))


def samples(batch: dict[str, Any]) -> dict[int, list[int]]:
    """The rows of each sample of a batch, by its number; both fields have the same."""
    out = {}
    for i, number in enumerate(batch["number"].tolist()):
        if "lengths" in batch:
            rows, pair = batch["row"][i][: batch["lengths"][i]], batch["pair"][i][: batch["lengths"][i]]
        else:
            cut = slice(*batch["row.offsets"][i : i + 2])
            rows, pair = batch["row"][cut], batch["pair"][cut]
        np.testing.assert_array_equal(pair, np.stack([rows, -rows], -1).astype("f4"))
        out[number] = rows.tolist()
    return out


def epoch(data: hr.Dataset, **options: Any) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for batch in hr.Loader(data, 17, **options):
        assert not found.keys() & samples(batch).keys()
        found |= samples(batch)
    return found


def check(found: dict[int, list[int]], method: str) -> None:
    assert sorted(found) == list(range(300))
    for number, rows in found.items():
        own = range(STARTS[number], STARTS[number + 1])
        assert len(rows) == min(len(own), MOST)
        assert all(a < b for a, b in pairwise(rows))
        assert set(rows) <= set(own)
        if method == "first" or len(own) <= MOST:
            assert rows == list(own[:MOST])


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("method", ["first", "random"])
def test_rows_are_those_of_the_sample(events: hr.Dataset, method: str, shuffle: bool, layout: str) -> None:
    data = events.map(T.Truncate(MOST, method=method))
    assert data.lengths().tolist() == np.minimum(LENGTHS, MOST).tolist()
    for threads in (1, 3):
        check(epoch(data, shuffle=shuffle, threads=threads, layout=layout), method)
    assert len(data[int(LENGTHS.argmax())]["row"]) == MOST


def test_drawn_rows_are_those_of_seed_epoch_and_sample(events: hr.Dataset) -> None:
    data = pickle.loads(pickle.dumps(events.map(T.Truncate(MOST, method="random"))))
    loader = hr.Loader(data, 17, shuffle=True, seed=4)
    first, second = ({k: v for batch in loader for k, v in samples(batch).items()} for _ in range(2))
    long = [number for number in range(300) if LENGTHS[number] > 3 * MOST]
    assert all(first[number] != second[number] for number in long)
    assert epoch(data, shuffle=False, seed=4) == first  # of the same epoch and seed, in whatever order
    assert epoch(data, shuffle=True, seed=5) != first
    some = data.select(np.arange(0, 300, 3))
    assert epoch(some, seed=4) == {number: first[number] for number in range(0, 300, 3)}
    assert samples(loader.batch(1, 3)) == {k: second[k] for k in loader.batch(1, 3)["number"].tolist()}


def test_each_row_is_equally_likely(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", x=np.arange(30), at=np.array([0, 30]))
    data = hr.open(tmp_path / "one.npz", ["x"], sample_by=hr.Spans(offsets="at")).map(T.Truncate(12, method="random"))
    loader, times, together = hr.Loader(data, 1), np.zeros(30), 0
    epochs = 4000
    for _ in range(epochs):
        (batch,) = loader
        times[batch["x"]] += 1
        together += 3 in batch["x"] and 4 in batch["x"]
    expected = epochs * 12 / 30
    assert ((times - expected) ** 2 / expected).sum() < 50  # chi² of 29 degrees of freedom; p = 0.01
    assert abs(together / epochs - 12 * 11 / (30 * 29)) < 0.025


def test_ranks_and_resuming(events: hr.Dataset) -> None:
    data = events.map(T.Truncate(MOST, method="random"))
    whole = epoch(data, shuffle=True)
    parts = [epoch(data, shuffle=True, rank=rank, world_size=3) for rank in range(3)]
    assert {number: rows for part in parts for number, rows in part.items()} == whole
    for step in range(0, 18, 5):
        loader = hr.Loader(data, 17, shuffle=True)
        stream = iter(loader)
        for _ in range(step):
            next(stream)
        again = hr.Loader(data, 17, shuffle=True)
        again.load_state_dict(loader.state_dict())
        rest: dict[int, list[int]] = {}
        for batch in again:
            rest |= samples(batch)
        assert rest == {number: whole[number] for number in rest} and len(rest) == 300 - 17 * step


def test_a_budget_of_rows_counts_what_is_left(events: hr.Dataset) -> None:
    loader = hr.Loader(events.map(T.Truncate(MOST)), batch=hr.ByTokens(100), shuffle=True)
    assert max(len(batch["row"]) for batch in loader) <= 100


@pytest.mark.parametrize(
    ("data", "transform", "text"),
    [
        ("rows", T.Truncate(5), "rows have one length"),
        ("windows", T.Truncate(5), "windows have one length"),
        ("events", T.Truncate(0), "from 1 to"),
        ("events", T.Truncate(5, method="last"), "'first' or 'random'"),
        ("truncated", T.Truncate(5), "already"),
    ],
)
def test_refused(events: hr.Dataset, data: str, transform: T.Transform, text: str) -> None:
    rows = hr.open([file.path for file in events.files], ["row"])
    kinds = {"rows": rows, "windows": rows.windows(8), "events": events, "truncated": events.map(T.Truncate(9))}
    with pytest.raises(hr.Error, match=text):
        kinds[data].map(transform)
