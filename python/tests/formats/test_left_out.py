"""Arrays that are no fields: told of where something is damaged or unknown, and not where they hold no numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from zarr_stores import array2, array3, edit_json, group2, group3

import headrace as hr

ROWS = np.arange(12, dtype="f4").reshape(6, 2)
TEXTS = np.array(["a", "bc"] * 3)


def zarr_of_an_extension(path: Path) -> Path:
    store = group3(path / "s.zarr")
    array3(store / "x", ROWS, (3, 2))
    array3(store / "y", ROWS, (3, 2))
    edit_json(store / "x" / "zarr.json", lambda meta: meta.update(mystery={"must_understand": True}))
    return store


def zarr_of_another_codec(path: Path) -> Path:
    store = group2(path / "s.zarr")
    array2(store / "x", ROWS, (3, 2))
    array2(store / "y", ROWS, (3, 2))
    edit_json(store / "x" / ".zarray", lambda meta: meta.update(compressor={"id": "delta9"}))
    return store


def zarr_of_another_type(path: Path) -> Path:
    store = group3(path / "s.zarr")
    array3(store / "x", ROWS, (3, 2))
    array3(store / "y", ROWS, (3, 2))
    edit_json(store / "x" / "zarr.json", lambda meta: meta.update(data_type="float33"))
    return store


def hdf5_of_another_filter(path: Path) -> Path:
    with h5py.File(path / "s.h5", "w") as file:
        file["y"] = ROWS
        plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plan.set_chunk((3, 2))
        plan.set_filter(40_123, h5py.h5z.FLAG_OPTIONAL)
        h5py.h5d.create(file.id, b"x", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((6, 2)), plan)
    return path / "s.h5"


def npz_in_another_order(path: Path) -> Path:
    np.savez(path / "s.npz", x=np.asfortranarray(ROWS), y=ROWS)
    return path / "s.npz"


def parquet_of_two_names(path: Path) -> Path:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    one = arrow.array(np.arange(6.0))
    parquet.write_table(arrow.Table.from_arrays([one, one, one], names=["x", "x", "y"]), path / "s.parquet")
    return path / "s.parquet"


@pytest.mark.parametrize(
    "make",
    [
        zarr_of_an_extension,
        zarr_of_another_codec,
        zarr_of_another_type,
        hdf5_of_another_filter,
        npz_in_another_order,
        parquet_of_two_names,
    ],
)
def test_what_is_damaged_or_unknown_is_told(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    with pytest.warns(hr.HeadraceWarning, match="the array 'x' is left out: ") as told:
        data = hr.open(path)
    assert list(data.fields) == ["y"] and len(data) == 6
    (reason,) = set(data.left_out.values())
    assert any(reason in str(one.message) and str(path) in str(one.message) for one in told)
    with pytest.raises((hr.UnsupportedError, hr.CorruptDataError)):
        hr.open(path, ["x", "y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(hr.open(path, ["y"]).fields) == ["y"]


def zarr_of_text(path: Path) -> Path:
    store = group2(path / "s.zarr")
    array2(store / "y", ROWS, (3, 2))
    array2(store / "x", TEXTS, (3,), codec=None, fill="")
    return store


def hdf5_of_text(path: Path) -> Path:
    with h5py.File(path / "s.h5", "w") as file:
        file["y"] = ROWS
        file["x"] = TEXTS.astype(object)
    return path / "s.h5"


def npz_of_text(path: Path) -> Path:
    np.savez(path / "s.npz", x=TEXTS, y=ROWS)
    return path / "s.npz"


def parquet_of_text(path: Path) -> Path:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    parquet.write_table(arrow.table({"x": TEXTS.tolist(), "y": np.arange(6.0)}), path / "s.parquet")
    return path / "s.parquet"


def zarr_of_times(path: Path) -> Path:
    store = group3(path / "s.zarr")
    array3(store / "y", ROWS, (3, 2))
    array3(store / "x", np.arange(6), (3,))
    kind = {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}
    edit_json(store / "x" / "zarr.json", lambda meta: meta.update(data_type=kind))
    return store


def netcdf_dimension(path: Path) -> Path:
    with h5py.File(path / "s.nc", "w") as file:
        file["y"] = ROWS
        file["x"] = np.zeros(6, ">f4")
        file["x"].make_scale("This is a netCDF dimension but not a netCDF variable.         6")
    return path / "s.nc"


@pytest.mark.parametrize(
    "make", [zarr_of_text, zarr_of_times, hdf5_of_text, netcdf_dimension, npz_of_text, parquet_of_text]
)
def test_text_is_left_out_without_a_warning(tmp_path: Path, make: Callable[[Path], Path]) -> None:
    path = make(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = hr.open(path)
    assert list(data.fields) == ["y"] and list(data.left_out) == ["x"]
    with pytest.raises(hr.UnsupportedError):
        hr.open(path, ["x"])


# ------------------------------------------------------------------------------------- chunks that are not there


def test_chunks_that_are_not_there_are_counted_for_each_array(tmp_path: Path) -> None:
    """Nothing tells a chunk that was lost from one that was never written: tools say how many, with a status."""
    store = group3(tmp_path / "s.zarr")
    for name in ("whole", "lost", "more"):
        array3(store / name, np.ones((12, 2), "f4"), (2, 2))
    assert not hr.verify(store).findings and not hr.inspect(store).findings
    for name, count in (("lost", 2), ("more", 5)):
        for path in sorted(p for p in (store / name).rglob("*") if p.is_file() and p.suffix != ".json")[:count]:
            path.unlink()
    verified = hr.verify(store)
    assert verified.findings and not verified.bad_data
    want = {"lost": {"absent": 2, "chunks": 6}, "more": {"absent": 5, "chunks": 6}}
    assert verified.to_dict()["absent"] == want and verified.to_dict()["absent_chunks"] == 7
    assert "never written or lost, and hold the fill value: 2 of 6 of lost, 5 of 6 of more" in " ".join(
        str(verified).split()
    )
    inspected = hr.inspect(store)
    assert inspected.findings
    assert "lost: 2 of its 6 chunk files are not there" in " ".join(str(inspected).split())


@pytest.mark.parametrize("version", [2, 3])
def test_an_array_whose_metadata_are_gone_is_told(tmp_path: Path, version: int) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr writes the store")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=version)
    for name in ("a", "b", "in/c"):
        group.create_array(name, data=np.arange(24).reshape(12, 2), chunks=(5, 1))
    assert set(hr.open(tmp_path / "s.zarr", ["a", "b", "in/c"])[:1]) == {"a", "b", "in/c"}
    for name in ("a", "in/c"):
        (tmp_path / "s.zarr" / name / (".zarray" if version == 2 else "zarr.json")).unlink()
    with pytest.warns(hr.HeadraceWarning, match="files of chunks, and no metadata") as told:
        assert list(hr.open(tmp_path / "s.zarr")[:1]) == ["b"]
    assert sorted(str(one.message).split("'")[1] for one in told) == ["a", "in/c"]
    with pytest.raises(hr.Error, match="files of chunks, and no metadata"):
        hr.open(tmp_path / "s.zarr", ["a"])


@pytest.mark.parametrize("key", ["shape", "data_type", "codecs", "fill_value", "chunk_grid", "zarr_format"])
def test_a_misspelt_key_of_zarr_3_is_damage(tmp_path: Path, key: str) -> None:
    zarr = pytest.importorskip("zarr", reason="zarr writes the store")
    group = zarr.open_group(tmp_path / "s.zarr", mode="w", zarr_format=3)
    for name in ("a", "b"):
        group.create_array(name, data=np.arange(12), chunks=(5,))
    path = tmp_path / "s.zarr" / "a" / "zarr.json"
    wrong = key[:-2] + key[-1] + key[-2]
    path.write_text(path.read_text().replace(f'"{key}"', f'"{wrong}"'))
    with pytest.raises(hr.CorruptDataError, match=f"zarr.json.*has no '{key}'"):
        hr.open(tmp_path / "s.zarr")
    assert list(hr.open(tmp_path / "s.zarr", ["b"])[:1]) == ["b"]
    assert hr.verify(tmp_path / "s.zarr").bad_data
