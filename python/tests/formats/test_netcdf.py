"""netCDF-4 files: attributes wherever they are stored, packed values, dimensions without values."""

from __future__ import annotations

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

ROWS = 60
TEXT = {
    "units": "K",
    "long_name": "2 metre temperature",
    "standard_name": "air_temperature",
    "coordinates": "lon lat",
    "cell_methods": "time: mean",
    "grid_mapping": "crs",
    "comment": "packed",
    "source": "made here",
}


def _counts() -> np.ndarray:
    random = np.random.default_rng(4)
    counts = random.integers(-30000, 30000, (ROWS, 5, 6)).astype("i2")
    counts[random.random(counts.shape) < 0.1] = -32767
    return counts


def _write(path: Path, *, dense: bool = True, scale: float = 0.001, units: str = "K", history: str = "monday") -> Path:
    with h5py.File(path, "w", track_order=dense) as f:
        keys = {"track_order": True} if dense else {}
        d = f.create_dataset("t2m", data=_counts(), chunks=(20, 5, 6), compression="gzip", **keys)
        for key, value in {**TEXT, "units": units}.items():
            d.attrs[key] = np.bytes_(value)
        d.attrs["_FillValue"], d.attrs["missing_value"] = np.array([-32767], "i2"), np.array([-32767], "i2")
        d.attrs["scale_factor"], d.attrs["add_offset"] = np.array([scale]), np.array([273.15])
        d.attrs["valid_range"], d.attrs["flag"], d.attrs["names"] = np.array([-30000, 30000], "i2"), True, ["a", "ß"]
        d.attrs["table"], d.attrs["single"] = np.zeros((2, 2)), np.float32(0.1)
        f["label"] = (np.arange(ROWS) % 7).astype("i4")
        f["time"] = f.create_dataset("t", (ROWS,), ">f4")
        del f["t"]
        f["time"].make_scale(f"This is a netCDF dimension but not a netCDF variable.{ROWS:10d}")
        d.dims[0].attach_scale(f["time"])
        f.attrs["title"], f.attrs["history"] = "a title", history
        for i in range(10):
            f.attrs[f"note_{i}"] = i
    return path


@pytest.mark.parametrize("dense", [False, True])
def test_all_attributes_are_shown_with_their_types(tmp_path: Path, dense: bool) -> None:
    path = _write(tmp_path / "a.nc", dense=dense)
    assert (b"FRHP" in path.read_bytes()) == dense
    for _ in range(2):  # the second time from the index
        ds = hr.open(path, fields={"x": "t2m"})
        attrs = ds.attrs["x"]
        assert {key: attrs[key] for key in TEXT} == TEXT
        assert attrs["scale_factor"] == 0.001 and attrs["add_offset"] == 273.15
        assert attrs["_FillValue"] == -32767 and isinstance(attrs["_FillValue"], int)
        assert attrs["valid_range"] == [-30000, 30000] and attrs["flag"] is True and attrs["names"] == ["a", "ß"]
        assert attrs["single"] == float(np.float32(0.1))
        assert dict(attrs.left_out) == {"table": "a table of 2 axes"}
        with pytest.raises(KeyError, match="table: a table of 2 axes"):
            attrs["table"]
        with pytest.raises(KeyError, match="nothing"):
            attrs["nothing"]
        assert ds.file_attrs["title"] == "a title" and ds.file_attrs["note_7"] == 7
        assert dict(pickle.loads(pickle.dumps(attrs))) == dict(attrs)
        assert ds.select([1, 2, 3]).file_attrs["title"] == "a title"


def test_packed_values_are_named_and_undone_by_what_is_printed(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.nc")
    ds = hr.open(path, fields={"x": "t2m"})
    np.testing.assert_array_equal(ds["x"][:], _counts())
    want = np.where(_counts() == -32767, np.nan, _counts() * 0.001 + 273.15)
    command = "T.Affine('x', scale=0.001, shift=273.15, missing=-32767)"
    assert command in str(ds)
    np.testing.assert_allclose(ds.map(eval(command, {"T": T}))["x"][:], want, rtol=1e-6)
    assert command not in str(ds.map(eval(command, {"T": T})))
    screen = hr.inspect(path)
    assert command.replace("'x'", "'t2m'") in " ".join(str(screen).split())
    arrays = {array["path"]: array for array in screen.to_dict()["files"][0]["arrays"]}
    assert arrays["t2m"]["unpack"] == command.replace("'x'", "'t2m'")
    assert "unpack" not in arrays["label"]
    assert arrays["t2m"]["attributes"]["scale_factor"] == 0.001


def test_a_dimension_without_values_is_no_field(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.nc")
    ds = hr.open(path)
    assert set(ds.fields) == {"t2m", "label"}
    assert ds.left_out["time"] == "a netCDF dimension without values"
    with pytest.raises(hr.UnsupportedError, match="a netCDF dimension without values"):
        hr.open(path, fields=["time"])


def test_files_that_differ_say_so(tmp_path: Path) -> None:
    a = _write(tmp_path / "a.nc")
    same = hr.open([a, _write(tmp_path / "b.nc", history="tuesday")], fields={"x": "t2m"})
    assert same.attrs["x"]["scale_factor"] == 0.001
    assert same.file_attrs["title"] == "a title"
    assert "history" not in same.file_attrs
    with pytest.raises(KeyError, match=r"history: .*a\.nc has monday, .*b\.nc has tuesday"):
        same.file_attrs["history"]
    with pytest.warns(hr.HeadraceWarning, match=r"scale_factor: .*a\.nc has 0\.001, .*c\.nc has 0\.002"):
        other = hr.open([a, _write(tmp_path / "c.nc", scale=0.002)], fields={"x": "t2m"})
    with pytest.raises(KeyError, match=r"0\.002"):
        other.attrs["x"]["scale_factor"]
    assert "Affine" not in str(other).replace("shift", "") or "scale=0.001" not in str(other)
    assert "files differ in what its values mean" in str(other)
