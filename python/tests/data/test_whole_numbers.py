"""Whole numbers are exact in labels and thresholds of every integer type: none passes through float64."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

EDGES = {
    "i8": [-(2**63), -(2**53) - 1, -(2**53), 0, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1],
    "u8": [0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1],
}


def _open(path: Path, y: np.ndarray) -> hr.Dataset:
    with h5py.File(path, "w") as f:
        f["y"] = y
    return hr.open(path)


@pytest.mark.parametrize("dtype", EDGES)
def test_a_threshold_is_exact(tmp_path: Path, dtype: str) -> None:
    values = EDGES[dtype]
    ds = _open(tmp_path / "a.h5", np.array(values, dtype))
    for at in EDGES["i8"] + EDGES["u8"]:
        made = ds.map(T.Threshold("y", at))["y"][:]
        assert made.tolist() == [int(v >= at) for v in values], at
    made = ds.map(T.Threshold("y", np.array([1, 2**53 + 1, 2**63 + 5], "u8")))["y"][:]
    assert made.tolist() == [sum(v >= t for t in (1, 2**53 + 1, 2**63 + 5)) for v in values]


@pytest.mark.parametrize("at", [-1e300, -0.5, 0.5, 2.0**53, 2.0**63, 2.0**64, 1e300, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", EDGES)
def test_a_threshold_that_is_a_float_is_exact(tmp_path: Path, dtype: str, at: float) -> None:
    ds = _open(tmp_path / "a.h5", np.array(EDGES[dtype], dtype))
    assert ds.map(T.Threshold("y", [at]))["y"][:].tolist() == [int(v >= at) for v in EDGES[dtype]]


@pytest.mark.parametrize("at", [2**53 + 1, -(2**53) - 1, 2**63 + 5, 2**64 - 1])
def test_a_threshold_of_floats_is_exact(tmp_path: Path, at: int) -> None:
    values = [-(2.0**53) - 2, -(2.0**53), 2.0**53, 2.0**53 + 2, 2.0**63, 2.0**64]
    made = _open(tmp_path / "a.h5", np.array(values)).map(T.Threshold("y", [at]))["y"][:]
    assert made.tolist() == [int(int(v) >= at) for v in values]


@pytest.mark.parametrize("at", [[2, 1], [np.nan], [2**53 + 1, 2**53], [0.5, 2**53 + 1], [2**64], -(2**63) - 1, []])
def test_other_thresholds_are_refused(tmp_path: Path, at: object) -> None:
    with pytest.raises(hr.InvalidArgumentError):
        _open(tmp_path / "a.h5", np.arange(3)).map(T.Threshold("y", at))


@pytest.mark.parametrize("dtype", EDGES)
def test_relabel_is_exact(tmp_path: Path, dtype: str) -> None:
    values = EDGES[dtype]
    ds = _open(tmp_path / "a.h5", np.array(values, dtype))
    labels = {value: number for number, value in enumerate(values)}
    mapped = ds.map(T.Relabel("y", labels))
    assert mapped["y"][:].tolist() == list(range(len(values)))
    assert pickle.loads(pickle.dumps(mapped))["y"][:].tolist() == list(range(len(values)))
    assert ds.map(T.Relabel("y", {2**53 + 1: 7}, otherwise=-1))["y"][:].tolist() == [
        7 if v == 2**53 + 1 else -1 for v in values
    ]
    with pytest.raises(hr.CorruptDataError, match="9007199254740993 has no new one"):
        ds.map(T.Relabel("y", {v: 0 for v in values if v != 2**53 + 1}))["y"][:]
    with pytest.raises(hr.InvalidArgumentError, match=r"2\*\*64 - 1"):
        T.Relabel("y", {2**64: 1, 3: 2})


def test_new_labels_are_exact(tmp_path: Path) -> None:
    ds = _open(tmp_path / "a.h5", np.arange(2))
    assert ds.map(T.Relabel("y", {0: 2**53 + 1, 1: 2**63 - 1}))["y"][:].tolist() == [2**53 + 1, 2**63 - 1]
    with pytest.raises(hr.InvalidArgumentError, match="9223372036854775808 is no label"):
        ds.map(T.Relabel("y", {0: 2**63, 1: 1}))


def test_a_fraction_is_no_integer(tmp_path: Path) -> None:
    ds = _open(tmp_path / "a.h5", np.arange(3))
    assert ds.map(T.Relabel("y", {0.5: 1, 1e300: 2, 1: 3}, otherwise=0))["y"][:].tolist() == [0, 3, 0]


@pytest.mark.parametrize("dtype", ["i8", "u8", "f2", "f4", "f8", "u2"])
def test_patches_of_a_class_have_its_very_number(tmp_path: Path, dtype: str) -> None:
    ids = {"i8": [2**53, 2**53 + 1, -5], "u8": [2**53, 2**53 + 1, 2**63 + 5]}.get(dtype, [2, 3, 500])
    labels = np.zeros((16, 16, 16), dtype)
    labels[2:6, 2:6, 2:6], labels[9:15, 9:15, 9:15], labels[14, 2, 14] = ids
    np.save(tmp_path / "l.npy", labels)
    volume = hr.open_volume(tmp_path / "l.npy", {"l": "l"})
    for one in ids:
        for given in (one, np.array([one], dtype)[0] if np.dtype(dtype).kind in "iu" else float(one)):
            patches = volume.patches((4, 4, 4), 20, balance={"l": [given]})
            again = pickle.loads(pickle.dumps(patches))
            for data in (patches, again):
                for batch in hr.Loader(data, 10, seed=2):
                    assert (batch["l"] == np.array(one, dtype)).any(axis=(1, 2, 3)).all(), one
    with pytest.raises(hr.Error, match="9007199254740994"):
        volume.patches((4, 4, 4), 20, balance={"l": [2**53 + 2]})
    for wrong in (2**64, -(2**63) - 1, 1.5, "mito", np.nan):
        with pytest.raises(hr.InvalidArgumentError, match="balance"):
            volume.patches((4, 4, 4), 20, balance={"l": [wrong]})


@pytest.mark.parametrize("dtype", EDGES)
def test_clip_is_exact(tmp_path: Path, dtype: str) -> None:
    """Values inside of the range stay what they are, and bounds are themselves."""
    values = EDGES[dtype]
    ds = _open(tmp_path / "a.h5", np.array(values, dtype))
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    bounds: list[int | float | None] = [None, *values, -1.5, 0.5, 2.0**53]
    for low in bounds:
        for high in bounds:
            wanted = [max(v, least if low is None else int(low)) for v in values]
            wanted = [min(v, most if high is None else int(high)) for v in wanted]
            if low is not None and high is not None and float(low) > float(high):
                with pytest.raises(hr.InvalidArgumentError):
                    ds.map(T.Clip("y", low, high))
            elif low is not None and high is not None and low > high:
                continue  # equal as float64
            elif high is not None and high < least:
                with pytest.raises(hr.InvalidArgumentError, match="lies from"):
                    ds.map(T.Clip("y", low, high))
            else:
                assert ds.map(T.Clip("y", low, high))["y"][:].tolist() == wanted, (low, high)
    with pytest.raises(hr.InvalidArgumentError, match="lies from"):
        ds.map(T.Clip("y", 2.0**64))


@pytest.mark.parametrize("dtype", EDGES)
def test_a_cast_to_the_same_type_changes_nothing(tmp_path: Path, dtype: str) -> None:
    ds = _open(tmp_path / "a.h5", np.array(EDGES[dtype], dtype))
    for exact in (False, True):
        assert ds.map(T.Cast("y", np.dtype(dtype).name, exact=exact))["y"][:].tolist() == EDGES[dtype]
    if dtype == "i8":
        with pytest.raises(hr.InvalidArgumentError, match="lies from"):
            ds.map(T.Clip("y", 2**53 + 1, 2**53))  # equal as float64


def test_an_exact_cast_is_for_integers(tmp_path: Path) -> None:
    ds = _open(tmp_path / "a.h5", np.array(EDGES["i8"]))
    with pytest.raises(hr.InvalidArgumentError, match="exact=True is for integers, and float32"):
        ds.map(T.Cast("y", "float32", exact=True))
