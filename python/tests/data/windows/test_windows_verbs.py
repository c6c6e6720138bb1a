"""What is made of windows: selections, splits, pickles, mixtures, fields, transforms; against NumPy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from window_files import (
    ROWS,
    SHAPES,
    begins,
    delivered,
    expected,
    sorted_rows,
    windows_of,
)

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
def test_selected_windows(corpus: str, shape: dict[str, Any]) -> None:
    data, want = windows_of(corpus, **shape), expected(**shape)
    for chosen in (np.arange(len(want)) % 3 == 1, slice(5, 41), [0, 3, 4, len(want) - 1]):
        some = data.select(chosen)
        numbers = np.arange(len(want))[chosen]
        np.testing.assert_array_equal(some.selected_rows, numbers)
        np.testing.assert_array_equal(some[:]["corpus"], want[chosen])
        with hr.Loader(some, 5, shuffle=True, threads=2, provenance=True) as loader:
            batches = list(loader)
        rows = np.concatenate([batch["_rows"] for batch in batches])
        order = np.lexsort(rows.T[::-1])
        np.testing.assert_array_equal(rows[order], np.array(begins(**shape))[numbers])
        np.testing.assert_array_equal(delivered(batches)[order], want[chosen])
        again = some.select(np.arange(len(numbers)) % 2 == 0)
        np.testing.assert_array_equal(again[:]["corpus"], want[numbers[::2]])


@pytest.mark.parametrize("shape", [*SHAPES[:4], SHAPES[5]], ids=str)
def test_parts_of_a_split_share_no_row(corpus: str, shape: dict[str, Any]) -> None:
    data = windows_of(corpus, **shape)
    rows = shape["length"] + shape.get("lookahead", 0)
    overlapping = (shape.get("stride") or shape["length"]) < rows
    starts = set()
    for seed in range(8):
        parts = data.split({"train": 0.5, "val": 0.2, "test": 0.1}, seed=seed, by="run")
        assert list(parts) == ["train", "val", "test"]
        numbers = [part.selected_rows.astype(int) for part in parts.values()]
        starts.add(numbers[1][0])
        places = np.array(begins(**shape))
        firsts = np.cumsum((0, *ROWS[:2]))[places[:, 0]] + places[:, 1]
        taken = [set((firsts[n][:, None] + np.arange(rows)).ravel()) for n in numbers]
        assert not taken[0] & taken[1]
        assert not taken[0] & taken[2]
        assert not taken[1] & taken[2]
        reach = (rows - 1) // (shape.get("stride") or shape["length"])  # windows that reach into the next one's rows
        for share, part in zip((0.5, 0.2, 0.1), numbers, strict=True):
            gaps = np.flatnonzero(np.diff(part) != 1)
            assert len(gaps) <= 1  # one run, or two where the circle closes
            assert share * len(data) + 1 >= len(part) >= share * len(data) - 1 - 2 * reach
        if overlapping:
            assert [p.selected_rows.tolist() for p in data.split({"a": 0.6, "b": 0.4}, seed=seed).values()] == [
                p.selected_rows.tolist() for p in data.split({"a": 0.6, "b": 0.4}, seed=seed, by="run").values()
            ]
    assert len(starts) > 3  # the seed decides
    np.testing.assert_array_equal(parts["val"][:]["corpus"], expected(**shape)[numbers[1]])


def test_parts_that_nothing_is_left_of(corpus: str) -> None:
    data = windows_of(corpus, length=700, stride=5, lookahead=1)  # each reaches into the next 140
    with pytest.raises(hr.InvalidArgumentError, match=r"part 1.* of 163 windows would be empty, without those"):
        data.split({"train": 0.9, "val": 0.1}, seed=1)


def test_windows_apart_are_split_one_by_one(one: hr.Dataset) -> None:
    parts = one.windows(13).split({"a": 0.5, "b": 0.5}, seed=1)
    numbers = [part.selected_rows for part in parts.values()]
    assert [len(n) for n in numbers] == [50, 50]
    assert np.any(np.diff(numbers[0].astype(int)) > 2)
    with pytest.raises(hr.InvalidArgumentError, match=r"windows overlap.*Split by run"):
        one.windows(13, lookahead=1).split({"a": 0.5, "b": 0.5}, by="row")


def test_windows_are_split_by_files(corpus: str) -> None:
    data = windows_of(corpus, length=32, lookahead=1)
    parts = data.split({"a": 0.5, "b": 0.5}, by="file")
    files = np.array(begins(length=32, lookahead=1))[:, 0]
    held = [set(files[part.selected_rows.astype(int)]) for part in parts.values()]
    assert sorted(held, key=len) == [{0}, {1, 2}]
    with pytest.raises(hr.UnsupportedError, match="windows go on from file to file"):
        windows_of(corpus, length=32, across_files=True).split({"a": 0.5, "b": 0.5}, by="file")


def test_rows_are_split_by_runs(one: hr.Dataset) -> None:
    parts = one.split({"a": 0.7, "b": 0.3}, by="run", seed=4)
    held = np.sort(np.concatenate([part[:]["tokens"] for part in parts.values()]))
    np.testing.assert_array_equal(held, np.arange(1300))
    assert [len(part) for part in parts.values()] == [910, 390]
    with pytest.raises(hr.InvalidArgumentError, match="runs of samples are kept whole"):
        one.split({"a": 0.7, "b": 0.3}, by="run", stratify="tokens")


def test_a_pickle_has_the_windows(corpus: str) -> None:
    data = windows_of(corpus, length=30, stride=20, lookahead=1)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again[:]["corpus"], data[:]["corpus"])
    part = data.split({"a": 0.5, "b": 0.4}, seed=2)["b"]
    again = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(again[:]["corpus"], part[:]["corpus"])


def test_a_mixture_of_windows(corpus: str, tmp_path: Path) -> None:
    other = np.arange(60_000, 62_000, dtype=np.uint16)
    np.save(tmp_path / "corpus.npy", other)
    web, books = windows_of(corpus, length=32, lookahead=1), hr.open(tmp_path / "corpus.npy").windows(32, lookahead=1)
    mixed = hr.mix({"web": (web, 0.75), "books": (books.select(np.arange(10, 50)), 0.25)})
    with hr.Loader(mixed, 8, shuffle=True, seed=1, threads=2) as loader:
        got = delivered(loader)
    known = {row.tobytes() for row in expected(length=32, lookahead=1)}
    of_books = {row.tobytes() for row in books[10:50]["corpus"]}
    from_books = np.array([row.tobytes() in of_books for row in got])
    assert all(row.tobytes() in known for row in got[~from_books])
    assert 0.15 < from_books.mean() < 0.35
    with pytest.raises(hr.InvalidArgumentError, match=r"windows of 33 rows every 32.*windows of 32 rows every 32"):
        hr.mix({"a": web, "b": hr.open(tmp_path / "corpus.npy").windows(32)})
    with pytest.raises(hr.InvalidArgumentError, match="transformed"):
        hr.mix({"a": web.map(T.Cast("corpus", dtype="int64")), "b": web})
    cast = mixed.map(T.Cast("corpus", dtype="int64"))
    with hr.Loader(cast, 8, shuffle=True, seed=1, threads=2) as loader:
        np.testing.assert_array_equal(delivered(loader), got.astype(np.int64))
    with pytest.raises(hr.InvalidArgumentError, match=r"windows of 33 rows every 32.*rows"):
        hr.mix({"a": web, "b": hr.open(tmp_path / "corpus.npy")})


def test_one_field_of_windows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"] = np.arange(100.0), np.arange(100)
    data = hr.open(tmp_path / "a.h5").windows(10, stride=5)
    np.testing.assert_array_equal(data["y"][2:4], [np.arange(10, 20), np.arange(15, 25)])
    np.testing.assert_array_equal(data.select([3, 8])["x"][:], [np.arange(15.0, 25), np.arange(40.0, 50)])


# ------------------------------------------------------------------------------------------------------- transforms


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transformed_windows(corpus: str, shape: dict[str, Any]) -> None:
    plain, want = windows_of(corpus, **shape), expected(**shape).astype(np.int64)
    data = plain.map(T.Cast("corpus", dtype="int64"))
    assert data.fields["corpus"].dtype == np.int64
    assert data.sample_bytes == 8 * want.shape[1]
    np.testing.assert_array_equal(data[:]["corpus"], want)
    np.testing.assert_array_equal(data.select([0, 3, 5])["corpus"][:], want[[0, 3, 5]])
    np.testing.assert_array_equal(plain.select([0, 3, 5]).map(T.Cast("corpus", dtype="int64"))[2]["corpus"], want[5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))[:]["corpus"], want)
    for threads in (1, 4):
        with hr.Loader(data, 9, shuffle=True, threads=threads, memory="8MiB") as loader:
            for _ in range(2):
                got = delivered(loader)
                assert got.dtype == np.int64
                np.testing.assert_array_equal(sorted_rows(got), sorted_rows(want))
    again = data.map(T.Affine("corpus", scale=2.0, shift=1.0))
    np.testing.assert_array_equal(again[:]["corpus"], 2.0 * want + 1)


def test_fields_that_are_made_of_windows(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(3, 2, (900, 4)).astype(np.float32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(64, 4), compression="gzip")
        file.create_dataset("time", data=np.arange(900), chunks=(100,))
        file.create_dataset("other", data=np.arange(900), chunks=(70,))
    data = hr.open(tmp_path / "a.h5").windows(40, stride=15)
    at = np.arange(0, 861, 15)[:, None] + np.arange(40)
    scaled = data.map(T.Standardize("x", values.mean(0), values.std(0)))
    batches = list(hr.Loader(scaled, 7, threads=2))
    assert set(batches[0]) == {"x", "time", "other"}
    want = ((values - values.mean(0)) / values.std(0))[at]
    np.testing.assert_allclose(np.concatenate([b["x"] for b in batches]), want, rtol=1e-5, atol=1e-5)
    for name in ("time", "other"):
        np.testing.assert_array_equal(np.concatenate([b[name] for b in batches]), at)
    np.testing.assert_allclose(scaled["x"][:], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(scaled["other"][4], at[4])
    kept = scaled.map(T.Keep("x"))
    assert list(kept.fields) == ["x"]
    batch = next(iter(hr.Loader(kept.select(slice(3, 40)), 5, provenance=True)))
    np.testing.assert_allclose(batch["x"], want[3:8], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(batch["_rows"][:, 1], 15 * np.arange(3, 8))


def test_random_transforms_know_the_window(tmp_path: Path) -> None:
    """Whatever was selected, however many threads: an epoch draws the same for a window."""
    with h5py.File(tmp_path / "mel.h5", "w") as file:
        file.create_dataset("mel", data=np.ones((600, 8), np.float32), chunks=(50, 8), compression="gzip")
    masked = hr.open(tmp_path / "mel.h5").windows(30, stride=10).map(T.SpecAugment("mel", time=3, freq=9, seed=1))
    settings: dict[str, Any] = {"shuffle": True, "seed": 4, "provenance": True}

    def by_row(data: hr.Dataset, threads: int) -> dict[int, bytes]:
        with hr.Loader(data, 6, threads=threads, **settings) as loader:
            return {int(r): x.tobytes() for b in loader for r, x in zip(b["_rows"][:, 1], b["mel"], strict=True)}

    whole = by_row(masked, 1)
    assert len(set(whole.values())) > 30
    assert by_row(masked, 4) == whole
    some = by_row(masked.select([2, 3, 7, 50]), 2)
    assert some == {row: whole[row] for row in (20, 30, 70, 500)}


def test_a_state_is_of_its_transforms(corpus: str) -> None:
    data = hr.open(corpus).windows(16)
    loader = hr.Loader(data.map(T.Cast("corpus", dtype="int64")), 8, shuffle=True)
    next(iter(loader))
    hr.Loader(data.map(T.Cast("corpus", dtype="int64")), 8, shuffle=True).load_state_dict(loader.state_dict())
    for other in (data, data.map(T.Cast("corpus", dtype="int32"))):
        with pytest.raises(hr.Error):
            hr.Loader(other, 8, shuffle=True).load_state_dict(loader.state_dict())
