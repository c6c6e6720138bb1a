"""Mixtures of samples that are not rows: events, documents, patches on a grid."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

FILES = {"a": (30, 35, 41), "b": (52,)}  # events of each file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write events numbered through all files: of a number and 64ths. The first and last two rows belong to none."""
    folder, random, number = tmp_path_factory.mktemp("events"), np.random.default_rng(3), 0
    for name, counts in FILES.items():
        for f, count in enumerate(counts):
            lengths, numbers = random.integers(0, 12, count), np.arange(number, number + count)
            rows = np.concatenate(
                [first + np.arange(length) / 64 for first, length in zip(numbers, lengths, strict=True)]
            )
            rows = np.r_[-1, -1, rows, -1, -1].astype("f4")
            with h5py.File(folder / f"{name}{f}.h5", "w") as file:
                file.create_dataset("t", data=rows, chunks=(16,), compression="gzip")
                file["u"] = file["t"][:] * 2
                file["number"], file["length"] = numbers, lengths
                file["at"] = 2 + np.r_[0, np.cumsum(lengths)]
            number += count
    return folder


def opened(folder: Path, name: str, fields: tuple[str, ...] = ("t", "u"), **words: Any) -> hr.Dataset:
    words = {"targets": ["number", "length"], **words}
    return hr.open(folder / f"{name}*.h5", list(fields), sample_by=hr.Spans(offsets="at"), **words)


def numbers_of(loader: hr.Loader) -> list[list[int]]:
    """Numbers of the events of each batch; every row is compared."""
    batches = []
    for batch in loader:
        ends = batch["t.offsets"]
        assert np.diff(ends).tolist() == batch["length"].tolist()
        want = (
            np.repeat(batch["number"], batch["length"])
            + (np.arange(ends[-1]) - np.repeat(ends[:-1], np.diff(ends))) / 64
        )
        np.testing.assert_array_equal(batch["t"], want.astype("f4"))
        np.testing.assert_array_equal(batch["u"], batch["t"] * 2)
        batches.append(batch["number"].tolist())
    return batches


OF_A, OF_B = sum(FILES["a"]), sum(FILES["b"])


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
@pytest.mark.parametrize("cache", ["none", "auto", "ram"])
def test_events_of_two_sets(folder: Path, shuffle: Any, cache: str) -> None:
    both = hr.mix({"a": (opened(folder, "a"), 3), "b": (opened(folder, "b"), 1)}, num_samples=OF_A * 4 // 3)
    loader = hr.Loader(both, 8, shuffle=shuffle, seed=5, cache=cache)
    seen: Counter[int] = Counter()
    for _ in range(3):
        batches = numbers_of(loader)
        assert all(abs(sum(n < OF_A for n in batch) - 0.75 * len(batch)) <= 1 for batch in batches)
        seen.update(number for batch in batches for number in batch)
    assert {seen[number] for number in range(OF_A)} <= {2, 3, 4}
    assert {seen[number] for number in range(OF_A, OF_A + OF_B)} <= {1, 2, 3}
    again = hr.Loader(pickle.loads(pickle.dumps(both)), 8, shuffle=shuffle, seed=5, threads=1)
    assert numbers_of(again) == numbers_of(hr.Loader(both, 8, shuffle=shuffle, seed=5))


def test_selected_events(folder: Path) -> None:
    """A part of one set, and a split of another; and numbers are those of the first set, then of the second."""
    a, b = opened(folder, "a"), opened(folder, "b")
    some, held = a.select(range(5, 60, 5)), b.split({"train": 0.5, "val": 0.5}, by="row", seed=1)["val"]
    both = hr.mix({"a": some, "b": held})
    assert sorted({n for batch in numbers_of(hr.Loader(both, 4, shuffle=True)) for n in batch}) <= sorted(
        [*range(5, 60, 5), *(OF_A + held.selected_rows)]
    )
    assert both.selected_rows.tolist() == [*range(5, 60, 5), *(OF_A + held.selected_rows).tolist()]
    assert [int(both[i]["number"]) for i in range(len(both))] == both.selected_rows.tolist()


def test_transforms_of_a_mixture(folder: Path) -> None:
    whole = hr.mix({"a": opened(folder, "a"), "b": opened(folder, "b")})
    for batch in hr.Loader(whole.map(T.Affine("t", 2.0, 0.0, to="twice"), T.Truncate(3)), 16, shuffle=True):
        np.testing.assert_array_equal(batch["twice"], batch["u"])
        assert np.diff(batch["t.offsets"]).tolist() == np.minimum(batch["length"], 3).tolist()
    short = hr.mix({name: opened(folder, name).map(T.Truncate(3)) for name in "ab"})
    for batch in hr.Loader(short, 16, shuffle=True):
        assert np.diff(batch["t.offsets"]).tolist() == np.minimum(batch["length"], 3).tolist()


def test_a_run_file_resume_and_padding(folder: Path, tmp_path: Path) -> None:
    how = "fields: [t, u], sample_by: {offsets: at}, targets: [number, length]"
    parts = ", ".join(f"{name}: {{weight: 1, data: {{files: '{folder}/{name}*.h5', {how}}}}}" for name in "ab")
    (tmp_path / "run.yaml").write_text(f"data: {{mix: {{{parts}}}}}\nloader: {{batch_size: 8, shuffle: true}}\n")
    both = hr.mix({name: (opened(folder, name), 1) for name in "ab"})
    want = numbers_of(hr.Loader(both, 8, shuffle=True))
    with hr.load_run(tmp_path / "run.yaml") as loader:
        assert numbers_of(loader) == want
    loader = hr.Loader(both, 8, shuffle=True)
    rows = iter(loader)
    for _ in range(3):
        next(rows)
    state = loader.state_dict()
    other = hr.Loader(both, 8, shuffle=True)
    other.load_state_dict(state)
    assert numbers_of(other) == want[3:]
    for batch in hr.Loader(both, 8, shuffle=True, layout="padded"):
        assert batch["t"].shape[1] == max(batch["length"].max(), 1)


def test_parts_that_are_not_alike(folder: Path) -> None:
    a, b = opened(folder, "a"), opened(folder, "b")
    rows = hr.open(folder / "b*.h5", ["t", "u"])
    for other, text in (
        (opened(folder, "b", targets=None), "spans, with targets of each sample.*spans"),
        (opened(folder, "b", targets=["number"]), "2 fields"),
        (opened(folder, "b", fields=("t",)), "2 fields"),
        (rows, "spans.*rows"),
        (rows.windows(3), "spans.*windows"),
        (b.map(T.Truncate(3)), "the first 3 rows"),
        (b.map(T.Affine("t", 2.0, 0.0)), "Mix first, then transform"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            hr.mix({"a": (a, 1), "b": (other, 1)})


def test_grids_of_two_sets(tmp_path: Path) -> None:
    """One has a volume that is smaller than a patch, and left out."""
    first = 0
    for name, shape in (("a0", (8, 8, 8)), ("a1", (2, 8, 8)), ("a2", (8, 12, 8)), ("b0", (12, 8, 8))):
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            values = np.arange(first, first + np.prod(shape)).reshape(shape)
            file.create_dataset("raw", data=values, chunks=(2, 5, 4), compression="gzip")
            file["twice"] = values * 2
        first += 10_000
    sets = {
        name: hr.open_volume(tmp_path / f"{name}*.h5", {"raw": "raw", "twice": "twice"}).patches(
            (4, 4, 4), stride=(4, 4, 4), small="skip"
        )
        for name in "ab"
    }
    corners = {name: [int(one["raw"][0, 0, 0]) for one in data] for name, data in sets.items()}
    both = hr.mix({name: (data, 1) for name, data in sets.items()}, num_samples=2 * len(sets["a"]))
    for cache in ("none", "auto", "ram"):
        got = []
        for batch in hr.Loader(both, 4, shuffle=True, seed=2, cache=cache):
            np.testing.assert_array_equal(batch["raw"] * 2, batch["twice"])
            np.testing.assert_array_equal(np.ptp(batch["raw"].reshape(len(batch["raw"]), -1), axis=1) > 0, True)
            got += batch["raw"][:, 0, 0, 0].tolist()
        assert sorted(n for n in got if n < 30_000) == sorted(corners["a"])
        assert {n for n in got if n >= 30_000} == set(corners["b"])
    other = hr.open_volume(tmp_path / "b*.h5", {"raw": "raw", "twice": "twice"}).patches((4, 4, 4), stride=(2, 4, 4))
    with pytest.raises(hr.InvalidArgumentError, match=r"every 4 x 4 x 4.*every 2 x 4 x 4"):
        hr.mix({"a": sets["a"], "b": other})
