""".npy and .npz files: what NumPy wrote, delivered row by row; and what is refused, with a word on what to do."""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr

RECORD = np.dtype([("a", "<i2"), ("b", ">f8"), ("v", "<f4", (3,)), ("in", [("k", "u1"), ("s", "S7")])], align=True)
DTYPES = ["?", "i1", "u1", "<i2", ">u2", "<i4", ">i8", "<f2", ">f2", "<f4", ">f8", "<c8", ">c16", "S1", "S9"]


def numbers(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Values of any type that follow from their position."""
    return (np.arange(np.prod(shape)).reshape(shape) % 97).astype(dtype)


def columns(array: np.ndarray, name: str = "x") -> dict[str, np.ndarray]:
    """The fields of an array: itself, or one for each innermost member."""
    if array.dtype.names is None:
        return {name: array.astype(array.dtype.newbyteorder("="))}
    return {k: v for member in array.dtype.names for k, v in columns(array[member], f"{name}.{member}").items()}


def records(rows: int) -> np.ndarray:
    out = np.zeros(rows, RECORD)
    out["a"] = np.arange(rows)
    out["b"] = np.arange(rows) / 4
    out["v"] = np.arange(3 * rows).reshape(rows, 3)
    out["in"]["k"] = np.arange(rows) % 251
    out["in"]["s"] = [b"row %d" % (i % 99) for i in range(rows)]
    return out


def check(dataset: hr.Dataset, want: dict[str, np.ndarray]) -> None:
    """Slices, fancy rows and shuffled epochs are NumPy's."""
    total = len(next(iter(want.values())))
    assert len(dataset) == total
    assert set(dataset.fields) == set(want)

    def same(got: dict[str, np.ndarray], rows: object) -> bool:
        return all(got[name].dtype == a.dtype and got[name].tobytes() == a[rows].tobytes() for name, a in want.items())

    for rows in (slice(None), slice(3, 11), slice(None, None, -4), [5, 0, 5]):
        assert same(dataset[rows], rows)
    for cache in ("none", "ram"):
        with hr.Loader(dataset, 7, shuffle=True, provenance=True, cache=cache) as loader:
            for _ in range(2):
                batches = list(loader)
                rows = np.concatenate([batch["_rows"] for batch in batches])
                first = np.concatenate([[0], np.cumsum([info.rows for info in dataset.files])[:-1]])
                numbers = rows[:, 1] + first[rows[:, 0]]
                assert sorted(numbers) == list(range(total))
                assert same({name: np.concatenate([batch[name] for batch in batches]) for name in want}, numbers)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(23,), (23, 5), (23, 2, 3)])
def test_every_type_and_rank(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    array = numbers(dtype, shape)
    np.save(tmp_path / "x.npy", array)
    with hr.open(tmp_path / "x.npy") as dataset:
        check(dataset, columns(array))


def test_records_are_columns(tmp_path: Path) -> None:
    array = records(40)
    np.save(tmp_path / "x.npy", array)
    check(hr.open(tmp_path / "x.npy"), columns(array))
    chosen = hr.open(tmp_path / "x.npy", fields={"energy": "x.b", "name": "x.in.s"})
    assert np.array_equal(chosen[:]["energy"], array["b"])
    assert np.array_equal(chosen[:]["name"], array["in"]["s"])


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_versions_of_the_format(version: tuple[int, int], tmp_path: Path) -> None:
    array = numbers("<f4", (23, 3))
    with (tmp_path / "x.npy").open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says that newer versions are for newer readers
        np.lib.format.write_array(file, array, version=version)
    check(hr.open(tmp_path / "x.npy"), {"x": array})


def test_names_in_other_scripts(tmp_path: Path) -> None:
    array = np.zeros(9, [("größe", "<f4"), ("θ", "<i2")])
    array["θ"] = np.arange(9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.save(tmp_path / "x.npy", array)
    check(hr.open(tmp_path / "x.npy"), columns(array))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_archives(save, tmp_path: Path) -> None:
    arrays = {"x": numbers(">f4", (61, 4, 2)), "y": numbers("<i8", (61,)), "r": records(61)}
    save(tmp_path / "a.npz", **arrays, scalar=3.5)
    want = {**columns(arrays["x"]), **columns(arrays["y"], "y"), **columns(arrays["r"], "r")}
    dataset = hr.open(tmp_path / "a.npz")
    check(dataset, want)
    assert dataset.fields["x"].codec == ("none" if save is np.savez else "gzip")
    with pytest.raises(hr.FieldMissingError, match="It has: y"):
        hr.open(tmp_path / "a.npz", fields=["yy"])


def test_several_files_of_any_format(tmp_path: Path) -> None:
    """What the files are called inside them differs; their rows and types do not."""
    x, y = numbers("<f4", (90, 3)), numbers("<i8", (90,))
    np.savez(tmp_path / "part_0.npz", x=x[:30], y=y[:30])
    np.savez_compressed(tmp_path / "part_1.npz", x=x[30:50], y=y[30:50])
    with h5py.File(tmp_path / "part_2.h5", "w") as file:
        file["x"], file["y"] = x[50:], y[50:]
    check(hr.open(tmp_path / "part_*"), {"x": x, "y": y})
    for i, part in enumerate(np.split(x, [20, 55])):
        np.save(tmp_path / f"train_{i}.npy", part)
    check(hr.open(tmp_path / "train_*.npy"), {"train": x})
    check(hr.open(tmp_path / "train_*.npy", fields=["features"]), {"features": x})


def test_an_archive_of_another_zip_program(tmp_path: Path) -> None:
    import zipfile

    x = numbers("<f4", (40, 3))
    np.save(tmp_path / "x.npy", x)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
            archive.comment = b"with a comment"
            archive.writestr("notes.txt", "not an array")
            archive.write(tmp_path / "x.npy", "deep/x.npy")
        check(hr.open(tmp_path / "a.npz", fields={"x": "deep/x"}), {"x": x})
    with zipfile.ZipFile(tmp_path / "b.npz", "w", zipfile.ZIP_BZIP2) as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(hr.UnsupportedError, match=r"zip's method 12.*np\.savez"):
        hr.open(tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([{}, 1], object), "never loads pickles"),
        (np.array(["text"]), r"np\.char\.encode"),
        (np.array(["2020-01-01"], "M8[D]"), "view"),
        (np.asfortranarray(np.zeros((4, 5))), "np.ascontiguousarray"),
        (np.zeros(3, np.longdouble), "floats of 16 bytes"),
        (np.zeros(3, "V5"), "raw bytes"),
        (np.zeros(3, [("b", "U3")]), "member 'b'"),
        (np.float64(1), "np.atleast_1d"),
    ],
)
def test_refusals_say_what_to_do(array: np.ndarray, words: str, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(hr.UnsupportedError, match=words) as caught:
        hr.open(tmp_path / "x.npy")
    assert caught.value.file == str(tmp_path / "x.npy")
    assert caught.value.hint


def test_damage_is_located(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, numbers("<f4", (50, 3)))
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(hr.CorruptDataError, match="590 bytes of values follow the header"):
        hr.open(path)
    archive = tmp_path / "x.npz"
    np.savez_compressed(archive, x=numbers("<f4", (500, 3)))
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    with pytest.raises(hr.CorruptDataError) as caught:
        list(hr.Loader(archive, 100))
    assert (caught.value.file, caught.value.field) == (str(archive), "x")
    data = data[:-30]
    archive.write_bytes(data)
    with pytest.raises(hr.CorruptDataError, match="directory"):
        hr.open(archive)


def test_a_deflated_member_has_a_limit(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "x.npz", x=np.zeros((257, 1 << 20), np.uint8))
    with pytest.raises(hr.UnsupportedError, match=r"np\.savez, which does not compress"):
        hr.open(tmp_path / "x.npz")


def test_a_cache_is_a_data_set(tmp_path: Path) -> None:
    x, y = numbers(">f4", (400, 3, 2)), numbers("<i8", (400,))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("group/x", data=x, chunks=(50, 3, 2), compression="gzip")
        file.create_dataset("group/y", data=y)
    with hr.Loader(
        hr.open(tmp_path / "a.h5", fields={"image": "group/x", "y": "group/y"}), 50, cache=tmp_path / "c"
    ) as a:
        list(a)
    (folder,) = (path.parent for path in (tmp_path / "c").glob("*/manifest.json"))
    want = {"image": x.astype("<f4"), "y": y}
    with hr.open(folder) as dataset:
        check(dataset, want)
        assert dataset.files[0].path == str(folder)
    check(hr.open(f"{folder}/", fields={"z": "image"}), {"z": want["image"]})
    with pytest.raises(hr.InvalidArgumentError, match=f"Name what lies inside: {folder}"):
        hr.open(tmp_path / "c")
    (folder / "y.npy").write_bytes((folder / "y.npy").read_bytes()[:-8])
    with pytest.raises(hr.CorruptDataError, match="truncated copy") as caught:
        hr.open(folder)
    assert (caught.value.file, caught.value.field) == (str(folder / "y.npy"), "y")


def test_members_are_opened_by_the_names_that_are_listed(tmp_path: Path) -> None:
    """Also with slashes: zipfile, unlike numpy.savez, takes what it is given."""
    path = tmp_path / "a.npz"
    np.savez(path, **{"/abs": np.arange(4), "in/b": np.arange(4) * 2.0, "abs2": np.zeros(4)})
    with np.load(path) as stored:
        want = {name: stored[name] for name in stored.files}
    assert list(hr.open(path).fields) == ["abs", "abs2"]
    for name, values in want.items():
        data = hr.open(path, {"x": name})
        assert data["x"][:].tolist() == values.tolist(), name
