"""Dataset.stats(): against NumPy, and what it refuses."""

import os
import time
import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast


def _jets(path: Path, dtype: str = "f8", rows: int = 3000, chunks: tuple[int, ...] | None = (128, 16, 5)) -> np.ndarray:
    random = np.random.default_rng(3)
    x = (random.normal(50, 20, (rows, 16, 5)) * [1, 10, 0.1, 1, 3]).astype(dtype)
    x[np.arange(16) >= random.integers(1, 17, rows)[:, None]] = 0
    with h5py.File(path, "w") as file:
        if chunks:
            chunks = (min(chunks[0], rows), *chunks[1:])
        file.create_dataset("x", data=x, chunks=chunks, compression="gzip" if chunks else None)
        file["y"] = np.arange(rows) % 7
    return x


def _check(found: hr.Stats, chosen: list[np.ndarray], rtol: float = 1e-12) -> None:
    wide = [values.astype("f8") for values in chosen]
    np.testing.assert_array_equal(found.count, [len(values) for values in wide])
    np.testing.assert_allclose(found.mean, [values.mean() for values in wide], rtol=rtol)
    np.testing.assert_allclose(found.std, [values.std() for values in wide], rtol=rtol)
    np.testing.assert_array_equal(found.min, [values.min() for values in wide])
    np.testing.assert_array_equal(found.max, [values.max() for values in wide])


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", ">f4", "i1", "u1", "i2", "u4", "i8", "u8"])
@pytest.mark.parametrize("chunks", [None, (128, 16, 5), (100, 7, 2)])
def test_they_are_what_numpy_computes(tmp_path: Path, dtype: str, chunks: tuple[int, ...] | None) -> None:
    x = _jets(tmp_path / "a.h5", dtype, chunks=chunks)
    data = hr.open(tmp_path / "a.h5")
    flat = x.reshape(-1, 5)
    mean, std = data.stats("x")
    np.testing.assert_allclose(mean, flat.mean(axis=0, dtype="f8"), rtol=1e-12)
    np.testing.assert_allclose(std, flat.std(axis=0, dtype="f8"), rtol=1e-12)
    real = flat[flat[:, 0] != 0]
    _check(data.stats("x", where="x[..., 0] != 0"), list(real.T))
    _check(data.stats("x", where="x > 3"), [column[column > 3] for column in flat.T])
    both = (flat[:, 0] != 0) & ((flat[:, -1] < 50) | (flat[:, 1] >= 60))
    _check(data.stats("x", where="x[...,0]!=0 and (x[..., -1] < 50 or 60 <= x[..., 1])"), list(flat[both].T))


def test_numbers_are_rounded_as_numpy_does(tmp_path: Path) -> None:
    for dtype in ("f4", "f2"):
        values = np.array([[0.1], [0.2], [0.3]], dtype)
        with h5py.File(tmp_path / f"{dtype}.h5", "w") as file:
            file["x"] = values
        for text in ("x != 0.1", "x[..., 0] <= 0.2", "0.3 > x"):
            with np.errstate(all="ignore"):
                chosen = {"x != 0.1": values != 0.1, "x[..., 0] <= 0.2": values <= 0.2, "0.3 > x": values < 0.3}[text]
            assert hr.open(tmp_path / f"{dtype}.h5").stats("x", where=text).count[0] == chosen.sum(), (dtype, text)


def test_scalars_selections_and_axes(tmp_path: Path) -> None:
    x = _jets(tmp_path / "a.h5")
    data = hr.open(tmp_path / "a.h5")
    y = data.stats("y", where="y >= 3")
    assert y.mean.shape == ()
    assert (y.count, y.min, y.max) == (1713, 3, 6)
    wanted = np.arange(3000) % 7
    np.testing.assert_allclose(y.mean, wanted[wanted >= 3].mean(), rtol=1e-12)
    rows = np.arange(5, 3000, 3)
    _check(data.select(rows).stats("x"), list(x[rows].reshape(-1, 5).T))
    axes = hr.open(tmp_path / "a.h5", fields=["x"], sample_axes=2, broadcast={"y": "y"})
    _check(axes.stats("x"), list(x.reshape(-1, 5).T))
    np.testing.assert_array_equal(axes.stats("y").count, 3000 * 16)
    flat = hr.open(tmp_path / "a.h5", fields=["x"], sample_axes=3)
    np.testing.assert_allclose(flat.stats("x").mean, x.mean(), rtol=1e-12)


def test_threads_change_nothing_to_the_last_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "off")
    _jets(tmp_path / "a.h5", "f4", rows=20_000)
    data = hr.open(tmp_path / "a.h5")
    first = data.stats("x", where="x[..., 0] != 0", threads=1)
    for threads in (2, 3, 7):
        again = data.stats("x", where="x[..., 0] != 0", threads=threads)
        assert not again.remembered
        assert again.mean.tobytes() == first.mean.tobytes()
        assert again.std.tobytes() == first.std.tobytes()


def test_far_from_zero_no_digit_is_lost(tmp_path: Path) -> None:
    values = np.random.default_rng(1).normal(size=(50_000, 1)) + 1e8
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = values
    found = hr.open(tmp_path / "a.h5").stats("x")
    np.testing.assert_allclose(found.std, values.std(), rtol=1e-12)


def test_what_is_not_finite_is_counted_and_told(tmp_path: Path) -> None:
    x = _jets(tmp_path / "a.h5", "f4").copy()
    x[3, 0, 1] = x[700, 2, 1] = np.nan
    x[5, 0, 4], x[6, 0, 4] = np.inf, -np.inf
    x[9, 15, 0] = np.nan  # padding: not taken below
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(64, 16, 5))
    with pytest.warns(hr.HeadraceWarning, match="leave out 5 values"):
        found = hr.open(tmp_path / "b.h5").stats("x")
    np.testing.assert_array_equal(found.nan_count, [1, 2, 0, 0, 0])
    np.testing.assert_array_equal(found.inf_count, [0, 0, 0, 0, 2])
    _check(found, [column[np.isfinite(column)] for column in x.reshape(-1, 5).T])
    with warnings.catch_warnings(action="ignore"):
        found = hr.open(tmp_path / "b.h5").stats("x", where="x[..., 0] > 0 or x[..., 0] <= 0")
    assert found.nan_count[0] == 0


def test_the_second_call_reads_nothing_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "a.h5"
    _jets(path)
    os.utime(path, (time.time() - 100,) * 2)
    first = hr.open(path).stats("x", where="x[..., 0] != 0")
    assert not first.remembered
    for text in ("x[..., 0] != 0", " (x[...,0]!=0.0)"):
        second = hr.open(path).stats("x", where=text)
        assert second.remembered
        assert second.mean.tobytes() == first.mean.tobytes()
        assert second.std.tobytes() == first.std.tobytes()
        np.testing.assert_array_equal(second.max, first.max)
    assert not hr.open(path).stats("x").remembered
    assert hr.open(path).stats("x").remembered
    assert not hr.open(path).select(range(100)).stats("x").remembered
    assert not hr.open(path, fields={"x": "y"}).stats("x").remembered
    (kept,) = (tmp_path / "cache" / "stats").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1])
    assert not hr.open(path).stats("x").remembered
    with h5py.File(path, "r+") as file:  # of the same shape and in the same chunks
        x = file["x"][:] + 1
        file["x"][:] = x
    os.utime(path, (time.time() - 50,) * 2)
    again = hr.open(path).stats("x")
    assert not again.remembered
    _check(again, list(x.reshape(-1, 5).T))
    opened = hr.open(path)
    _jets(path, rows=900)
    with pytest.raises(hr.FileChangedError):
        opened.stats("x")


@pytest.mark.parametrize(
    ("where", "match"),
    [
        ("__import__('os').system('true')", "a number is wanted at '__import__"),
        ("x[..., 0]", "one of ==, !=, <, <=, >, >= is wanted at 'the end'"),
        ("x[..., 5] > 0", "entry 5 was asked for; the last axis of 'x' has 5"),
        ("x[..., -6] > 0", "entry -6"),
        ("x[0] > 0", r"'\[..., k\]' with a whole number k is wanted"),
        ("x[..., 0] > 0 and", "a number is wanted at 'the end'"),
        ("x[..., 0] > y", "a number is wanted at 'y'"),
        ("y > 0", "a number is wanted at 'y > 0'"),
        ("xx > 0", "a number is wanted at 'xx > 0'"),
        ("0 < x[..., 0] < 5", "write 'and' between them"),
        ("(x > 0", r"a '\)' is missing"),
        ("x > 0)", "comes after the end"),
        ("x > 0 & x < 5", "'& x < 5' comes after the end"),
        ("not x > 0", "a number is wanted at 'not"),
        ("x > nan", "a number is wanted at 'nan'"),
        ("x = 0", "is wanted at '= 0'"),
        ("x > 1e", "a number is wanted"),
        ("x > 0 orx < 5", "comes after the end"),
        ("(" * 100 + "x > 0" + ")" * 100, "too many parentheses"),
        ("x > 0" + " and x > 0" * 2000, "letters"),
        ("x > 1e9", "takes no finite value"),
        ("x[..., 0] > 3 and x[..., 0] < 2", "takes no finite value"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, where: str, match: str) -> None:
    _jets(tmp_path / "a.h5", rows=50)
    with pytest.raises(hr.InvalidArgumentError, match=match):
        hr.open(tmp_path / "a.h5").stats("x", where=where)


def test_what_has_no_stats_is_refused(tmp_path: Path) -> None:
    x = _jets(tmp_path / "a.h5", rows=50)
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["text"] = np.array([b"ab", b"c"])
        file["complex"] = np.array([1j, 2])
        file["none"] = np.full((2, 3), np.nan)
        file["some"] = np.array([[1, np.nan], [2, np.inf]])
        file["flag"] = np.array([True, False])
    data = hr.open(tmp_path / "b.h5")
    assert data.stats("flag").mean == 0.5
    for name in ("text", "complex"):
        with pytest.raises(hr.UnsupportedError, match="stats of"):
            data.stats(name)
    with pytest.raises(hr.InvalidArgumentError, match="no value is finite, but 6 NaNs"):
        data.stats("none")
    with pytest.raises(hr.InvalidArgumentError, match="no value is finite of feature 1, but 2"):
        data.stats("some")
    with pytest.raises(hr.FieldMissingError):
        data.stats("z")
    for bad in (3, "", "  "):
        with pytest.raises(hr.InvalidArgumentError, match="where must be"):
            data.stats("flag", where=bad)
    with pytest.raises(hr.InvalidArgumentError, match="field must be"):
        data.stats(3)
    with pytest.raises(hr.InvalidArgumentError, match="has no axis"):
        data.stats("flag", where="flag[..., 0] > 0")
    mixed = hr.mix({"a": hr.open(tmp_path / "a.h5"), "b": hr.open(tmp_path / "a.h5")})
    with pytest.raises(hr.UnsupportedError, match="mixture"):
        mixed.stats("x")
    assert len(x) == 50
    data.close()
    with pytest.raises(hr.ClosedError):
        data.stats("flag")


def test_fields_that_are_transformed_are_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(12, dtype=np.float32).reshape(4, 3)
    data = hr.open(tmp_path / "a.h5")
    for mapped in (data.map(T.Affine("x", 2, 5)), data.map(T.Cast("x", "float64")), data.map(T.MixUp("x"))):
        with pytest.raises(hr.UnsupportedError, match=r"before map\(\)"):
            mapped.stats("x")
    assert data.stats("x").mean.tolist() == [4.5, 5.5, 6.5]
