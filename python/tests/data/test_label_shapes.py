"""Labels of every shape and type: a column of one entry is its number, and several entries are one-hot or an error."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr


def _open(path: Path, y: np.ndarray) -> hr.Dataset:
    with h5py.File(path, "w") as f:
        f["x"] = np.arange(len(y))
        f["y"] = y
    return hr.open(path)


def _drawn(ds: hr.Dataset) -> np.ndarray:
    """The labels that an epoch of a balanced loader draws."""
    with hr.Loader(ds, 20, sampler=hr.Balanced("y", num_samples=len(ds)), seed=1) as loader:
        return np.concatenate([b["y"] for b in loader]).reshape(len(ds), -1)


@pytest.mark.parametrize("dtype", ["i8", "u1", "f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(1000,), (1000, 1), (1000, 1, 1)])
@pytest.mark.parametrize("low", [0, 1])
def test_a_column_of_one_entry_is_its_number(tmp_path: Path, dtype: str, shape: tuple[int, ...], low: int) -> None:
    y = np.repeat([low, low + 1], [900, 100]).astype(dtype).reshape(shape)
    ds = _open(tmp_path / "a.h5", y)
    assert 400 < np.count_nonzero(_drawn(ds) == low) < 600
    parts = ds.split({"a": 0.8, "b": 0.2}, stratify="y", seed=3)
    assert [np.count_nonzero(parts[name]["y"][:] == low + 1) for name in "ab"] == [80, 20]
    report = hr.Loader(ds, 20, shuffle=True).order_report(by="y").to_dict()["label"]
    assert report["classes"] == 2


@pytest.mark.parametrize("dtype", ["?", "i4", "f2", "f8"])
def test_one_hot_of_every_type(tmp_path: Path, dtype: str) -> None:
    y = np.eye(3, dtype=dtype)[np.repeat([0, 1, 2], [800, 100, 100])]
    ds = _open(tmp_path / "a.h5", y)
    drawn = np.argmax(_drawn(ds), axis=1)
    assert np.all(np.bincount(drawn, minlength=3) > 250)
    parts = ds.split({"a": 0.8, "b": 0.2}, stratify="y", seed=3)
    assert parts["a"]["y"][:].sum(axis=0, dtype="i8").tolist() == [640, 80, 80]


@pytest.mark.parametrize(
    "row, what",
    [
        ([0, 0, 0], "no entry of it is 1"),
        ([1, 1, 0], "2 of its 3 entries are not 0"),
        ([0, 0.5, 0], "1 of its 3 entries are not 0, the first is 0.5"),
        ([0, 2, 0], "the first is 2"),
        ([1, -1, 0], "2 of its 3"),
        ([0, np.nan, 1], "NaN"),
    ],
)
def test_a_row_that_is_not_one_hot_is_named(tmp_path: Path, row: list[float], what: str) -> None:
    y = np.eye(3, dtype="f4")[np.arange(60) % 3]
    y[41] = row
    ds = _open(tmp_path / "a.h5", y)
    with pytest.raises(hr.CorruptDataError, match=f"label of sample 41 is .*{what}") as caught:
        hr.Loader(ds, 20, sampler=hr.Balanced("y"))
    assert caught.value.field == "y"
    with pytest.raises(hr.CorruptDataError, match="sample 41"):
        ds.split({"a": 0.5, "b": 0.5}, stratify="y")
    with pytest.raises(hr.CorruptDataError, match="sample 41"):
        hr.Loader(ds, 20).order_report(by="y")


def test_a_matrix_of_features_is_no_label(tmp_path: Path) -> None:
    ds = _open(tmp_path / "a.h5", np.random.default_rng(1).normal(size=(60, 5)))
    with pytest.raises(hr.CorruptDataError, match="sample 0 is not one-hot"):
        ds.split({"a": 0.5, "b": 0.5}, stratify="y")


@pytest.mark.parametrize("base, dtype", [(2**53, "i8"), (-(2**53) - 1, "i8"), (2**53, "u8"), (2**64 - 2, "u8")])
def test_classes_beyond_2_to_the_53_stay_different(tmp_path: Path, base: int, dtype: str) -> None:
    y = np.array([base, base + 1], dtype)[np.repeat([0, 1], [900, 100])]
    ds = _open(tmp_path / "a.h5", y)
    assert 400 < np.count_nonzero(_drawn(ds) == y[0]) < 600
    assert hr.Loader(ds, 20).order_report(by="y").to_dict()["label"]["classes"] == 2


def test_infinity_is_no_class(tmp_path: Path) -> None:
    y = (np.arange(60) % 2).astype("f4")
    y[41] = np.inf
    with pytest.raises(hr.InvalidArgumentError, match="not whole"):
        hr.Loader(_open(tmp_path / "a.h5", y), 20, sampler=hr.Balanced("y"))


def test_a_label_of_text_names_its_field(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="must be a number") as caught:
        hr.Loader(_open(tmp_path / "a.h5", np.array([b"a", b"b"] * 30)), 20, sampler=hr.Balanced("y"))
    assert caught.value.field == "y"
