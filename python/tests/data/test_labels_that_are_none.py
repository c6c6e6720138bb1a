"""Labels that are NaN, no whole number, or too large for a type are errors that name the sample, never a class."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T


def _labels(path: Path, values: np.ndarray) -> hr.Dataset:
    with h5py.File(path, "w") as f:
        f.create_dataset("y", data=values, chunks=(min(16, len(values)),))
    return hr.open(path)


def _with(value: float, dtype: str = "f4") -> np.ndarray:
    values = (np.arange(64) % 2).astype(dtype)
    values[41] = value
    return values


CASES = {
    "Relabel": (np.nan, [T.Relabel("y", {0: 5, 1: 6})]),
    "Relabel, with a default": (np.nan, [T.Relabel("y", {7: 3}, otherwise=0)]),
    "Cast to int64": (np.nan, [T.Cast("y", "int64")]),
    "Cast to bool": (np.nan, [T.Cast("y", "bool")]),
    "Cast of infinity": (np.inf, [T.Cast("y", "int32")]),
    "Cast out of range": (256.0, [T.Cast("y", "uint8")]),
    "Cast below the range": (-1.0, [T.Cast("y", "uint16")]),
    "Cast after arithmetic": (200.0, [T.Affine("y", scale=2.0), T.Cast("y", "uint8")]),
    "Cast, exact": (0.5, [T.Cast("y", "int64", exact=True)]),
    "OneHot": (np.nan, [T.OneHot("y", 2)]),
    "Threshold": (np.nan, [T.Threshold("y", [0.5])]),
}


@pytest.mark.parametrize("case", CASES)
def test_the_sample_is_named(tmp_path: Path, case: str) -> None:
    value, transforms = CASES[case]
    ds = _labels(tmp_path / "a.h5", _with(value)).map(*transforms)
    with hr.Loader(ds, 16) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        with pytest.raises(hr.CorruptDataError, match="41"):
            next(batches)
    with pytest.raises(hr.CorruptDataError, match="41"):
        ds["y"][40:44]
    assert len(ds["y"][:41]) == 41


@pytest.mark.parametrize(
    "stored, value, dtype, made",
    [
        ("f4", 255.9, "uint8", 255),
        ("f4", -0.9, "uint8", 0),
        ("f8", -128.9, "int8", -128),
        ("f8", 2.0**31 - 0.5, "int32", 2**31 - 1),
        ("f8", -(2.0**63), "int64", -(2**63)),
        ("i8", 2**62 + 1, "uint64", 2**62 + 1),
        ("u8", 2**63 - 1, "int64", 2**63 - 1),
        ("i8", 3, "bool", True),
    ],
)
def test_values_that_a_type_has_are_exact(tmp_path: Path, stored: str, value: float, dtype: str, made: int) -> None:
    values = np.zeros(64, stored)
    values[41] = value
    assert _labels(tmp_path / "a.h5", values).map(T.Cast("y", dtype))["y"][41:42][0] == made


@pytest.mark.parametrize(
    "stored, value, dtype",
    [
        ("i8", 2**63 - 1, "int32"),
        ("i8", -1, "uint64"),
        ("u8", 2**63, "int64"),
        ("f8", 2.0**63, "int64"),
        ("f4", 2.0**31, "int32"),
    ],
)
def test_values_that_a_type_does_not_have(tmp_path: Path, stored: str, value: float, dtype: str) -> None:
    values = np.zeros(64, stored)
    values[41] = value
    with pytest.raises(hr.CorruptDataError, match=f"is no {dtype}"):
        _labels(tmp_path / "a.h5", values).map(T.Cast("y", dtype))["y"][:]


def test_a_label_that_double_does_not_have_is_no_other_one(tmp_path: Path) -> None:
    ds = _labels(tmp_path / "a.h5", np.array([2**53, 2**53 + 1])).map(T.Relabel("y", {2**53: 1}, otherwise=0))
    assert ds["y"][:].tolist() == [1, 0]


def test_the_jetclass_module_delivers_no_class_for_nan(tmp_path: Path) -> None:
    pytest.importorskip("lightning.pytorch")
    from headrace.lightning import JetClassLightningDataModule

    for value in (np.nan, 2.5):
        with h5py.File(tmp_path / "a.h5", "w") as f:
            f["feature_matrix"] = np.ones((64, 8, 4), "f4")
            f["adjacency_matrix"] = np.ones((64, 28, 3), "f4")
            f["labels"] = _with(value)
        module = JetClassLightningDataModule(train_files=[str(tmp_path / "a.h5")], batch_size=16)
        module.setup("fit")
        with pytest.raises(hr.CorruptDataError, match="41"):
            for _ in module.train_dataloader():
                pass


def test_an_order_is_measured_without_the_labels_that_are_none(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(64) % 4, 32).astype("f4")  # constant in each block
    want = hr.Loader(_labels(tmp_path / "a.h5", labels), 64, shuffle=False).order_report(by="y").to_dict()["label"]
    labels[777] = np.nan
    found = hr.Loader(_labels(tmp_path / "b.h5", labels), 64, shuffle=False).order_report(by="y")
    data = found.to_dict()["label"]
    assert data["not_finite"] == 1 and data["classes"] == 4
    assert data["effect"] == pytest.approx(want["effect"], rel=0.05) and data["effect"] > 5
    assert data["correlation"] == pytest.approx(want["correlation"], abs=0.02)
    assert "of 1 of 2,048 samples the label is NaN" in " ".join(str(found).split())
    quantity = np.repeat(np.random.default_rng(1).normal(size=64), 32)
    want = hr.Loader(_labels(tmp_path / "c.h5", quantity), 64, shuffle=False).order_report(by="y").to_dict()["label"]
    quantity[777] = np.nan
    data = hr.Loader(_labels(tmp_path / "d.h5", quantity), 64, shuffle=False).order_report(by="y").to_dict()["label"]
    assert data["effect"] == pytest.approx(want["effect"], rel=0.05)
    assert data["correlation"] == pytest.approx(want["correlation"], abs=0.02)


def test_what_needs_a_class_of_each_sample_refuses_nan(tmp_path: Path) -> None:
    ds = _labels(tmp_path / "a.h5", _with(np.nan))
    with pytest.raises(hr.CorruptDataError, match="sample 41 is NaN"):
        ds.split({"a": 0.5, "b": 0.5}, stratify="y")
    with pytest.raises(hr.CorruptDataError, match="sample 41 is NaN"):
        hr.Loader(ds, 16, sampler=hr.Balanced("y"))
    one_hot = np.eye(2, dtype="f4")[np.arange(64) % 2]
    for row in ([np.nan, 1], [0, 0]):
        one_hot[41] = row
        with h5py.File(tmp_path / "b.h5", "w") as f:
            f["y"] = one_hot
        with pytest.raises(hr.CorruptDataError, match="sample 41"):
            hr.Loader(hr.open(tmp_path / "b.h5"), 16, sampler=hr.Balanced("y"))
