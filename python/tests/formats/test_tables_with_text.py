"""Tables in which some members have no fixed size: the others are fields."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import tools

ROWS = 500


def _write(path: Path) -> dict[str, np.ndarray]:
    random = np.random.default_rng(6)
    kind = np.dtype(
        [("id", h5py.string_dtype()), ("energy", "<f4"), ("hits", ">i4"), ("pos", "<f8", (3,)), ("run", "<u2")]
    )
    rows = np.zeros(ROWS, kind)
    rows["id"] = [f"evt-{i:04d}" + "x" * (i % 5) for i in range(ROWS)]
    rows["energy"], rows["hits"] = random.random(ROWS), random.integers(0, 9999, ROWS)
    rows["pos"], rows["run"] = random.random((ROWS, 3)), np.arange(ROWS)
    with h5py.File(path, "w") as f:
        f.create_dataset("events", data=rows, chunks=(64,), compression="gzip", shuffle=True)
        f.create_dataset("flat", data=rows)
        refs = np.zeros(ROWS, np.dtype([("where", h5py.ref_dtype), ("w", "<f4")]))
        refs["where"], refs["w"] = [f["flat"].ref] * ROWS, random.random(ROWS)
        f.create_dataset("linked", data=refs, chunks=(64,))
        f["y"] = np.arange(ROWS) % 3
    with h5py.File(path) as f:
        members = ["energy", "hits", "pos", "run"]
        want = {f"events.{m}": f["events"].fields([m])[:][m] for m in members}
        want |= {f"flat.{m}": f["flat"].fields([m])[:][m] for m in members}
        return want | {"linked.w": f["linked"].fields("w")[:]}


def test_members_of_fixed_size_are_fields(tmp_path: Path) -> None:
    want = _write(tmp_path / "a.h5")
    for _ in range(2):  # the second time from the index
        ds = hr.open(tmp_path / "a.h5")
        assert set(ds.fields) == {*want, "y"}
        assert set(ds.left_out) == {"events.id", "flat.id", "linked.where"}
        assert "variable-length strings" in ds.left_out["events.id"]
        for name, values in want.items():
            np.testing.assert_array_equal(ds[name][:], values)
            np.testing.assert_array_equal(hr.open(tmp_path / "a.h5", fields={"v": name})["v"][::7], values[::7])
    with hr.Loader(hr.open(tmp_path / "a.h5"), 50, shuffle=True, provenance=True) as loader:
        for batch in loader:
            rows = batch["_rows"][:, 1]
            for name, values in want.items():
                np.testing.assert_array_equal(batch[name], values[rows])


def test_a_member_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    _write(tmp_path / "a.h5")
    with pytest.raises(hr.UnsupportedError, match=r"events\.id.*variable-length") as caught:
        hr.open(tmp_path / "a.h5", fields={"v": "events.id"})
    assert "S16" in caught.value.hint
    with pytest.raises(hr.FieldMissingError, match=r"no member 'energi'.*\n?.*energy, "):
        hr.open(tmp_path / "a.h5", fields={"v": "events.energi"})


def test_a_rewritten_file_keeps_the_text(tmp_path: Path) -> None:
    want = _write(tmp_path / "a.h5")
    tools.rewrite(tmp_path / "a.h5", to=tmp_path / "fast", codec="gzip")
    new = tmp_path / "fast" / "a.h5"
    with h5py.File(new) as made, h5py.File(tmp_path / "a.h5") as old:
        assert list(made["events"]["id"]) == list(old["events"]["id"])
    for name, values in want.items():
        np.testing.assert_array_equal(hr.open(new, fields={"v": name})["v"][:], values)


def test_tables_of_numpy_files(tmp_path: Path) -> None:
    rows = np.zeros(20, [("a", "<i4"), ("t", "U5"), ("b", ">f8"), ("when", "M8[s]")])
    rows["a"], rows["t"], rows["b"] = np.arange(20), "text", np.arange(20) / 3
    np.save(tmp_path / "x.npy", rows)
    ds = hr.open(tmp_path / "x.npy")
    assert set(ds.fields) == {"x.a", "x.b"} or set(ds.fields) == {"a", "b"}
    assert len(ds.left_out) == 2
    for name in ds.fields:
        np.testing.assert_array_equal(ds[name][:], rows[name.removeprefix("x.")])


def test_bytes_behind_a_numpy_array_are_noticed(tmp_path: Path) -> None:
    x = np.arange(30, dtype="<f4").reshape(10, 3)
    np.save(tmp_path / "x.npy", x)
    with (tmp_path / "x.npy").open("ab") as f:
        f.write(b"more")
    with pytest.warns(hr.HeadraceWarning, match=r"x\.npy: 4 bytes follow the array's 248, and are not read"):
        ds = hr.open(tmp_path / "x.npy")
    np.testing.assert_array_equal(ds["x"][:], x)
    with (tmp_path / "two.npy").open("wb") as f:
        np.save(f, x)
        np.save(f, x)
    with pytest.raises(hr.UnsupportedError, match="another array follows at byte 248"):
        hr.open(tmp_path / "two.npy")


def test_bfloat16_as_numpy_saves_it_is_named(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((10, 3), "V2"))
    with pytest.raises(hr.UnsupportedError, match="bfloat16") as caught:
        hr.open(tmp_path / "x.npy")
    assert "ml_dtypes" in caught.value.hint
