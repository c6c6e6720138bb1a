"""Errors name the place and the cure, and derive from what a caller would catch."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from jet_files import write_h5
from privileges import without_privileges

import headrace as hr
from headrace import errors

pytestmark = pytest.mark.fast

BUILTINS = {
    hr.FileMissingError: FileNotFoundError,
    hr.PermissionDeniedError: PermissionError,
    hr.FieldMissingError: KeyError,
    hr.InvalidArgumentError: ValueError,
    hr.IndexOutOfRangeError: IndexError,
    hr.UnknownArgumentError: TypeError,
    hr.CorruptDataError: ValueError,
    hr.UnsupportedError: NotImplementedError,
    hr.ReadFailedError: OSError,
    hr.WriteFailedError: OSError,
    hr.FileChangedError: OSError,
    hr.OutOfBudgetError: MemoryError,
    hr.ClosedError: RuntimeError,
    hr.ForkedError: RuntimeError,
    hr.LoaderTimeoutError: TimeoutError,
    hr.InternalError: RuntimeError,
}


@pytest.mark.parametrize(("cls", "builtin"), BUILTINS.items())
def test_classes(cls: type[hr.Error], builtin: type[Exception]) -> None:
    error = cls("the text", field="x", byte_range=(5, 7), hint="do")
    assert isinstance(error, hr.Error)
    assert isinstance(error, builtin)
    assert str(error) == "the text"
    assert error.code == cls.default_code
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert str(copy) == "the text"
    assert (copy.field, copy.byte_range, copy.hint, copy.file) == ("x", (5, 7), "do", None)


def test_every_class_is_public() -> None:
    assert {cls.__name__ for cls in BUILTINS} | {"Error", "HeadraceWarning"} == set(errors.__all__)
    assert set(errors.__all__) <= set(hr.__all__)


def test_missing_file_names_the_nearest(tmp_path: Path) -> None:
    write_h5(tmp_path / "train_1.h5", v=np.arange(3))
    with pytest.raises(FileNotFoundError) as caught:
        hr.open(tmp_path / "train_l.h5")
    error = caught.value
    assert isinstance(error, hr.FileMissingError)
    assert error.code == "not_found"
    assert error.file == str(tmp_path / "train_l.h5") == error.filename
    assert "train_1.h5" in str(error)


def test_glob_without_a_match(tmp_path: Path) -> None:
    with pytest.raises(hr.FileMissingError):
        hr.open(str(tmp_path / "*.h5"))


def test_missing_field_lists_what_there_is_nearest_first(jets) -> None:
    with pytest.raises(KeyError) as caught:
        hr.open(jets.glob, fields=["feature_matrices"])
    error = caught.value
    assert isinstance(error, hr.FieldMissingError)
    assert error.file == str(jets.paths[0])
    text = str(error)
    assert text.index("feature_matrix") < text.index("adjacency_matrix")
    assert text.index("feature_matrix") < text.index("labels")


def test_missing_column(jets) -> None:
    with pytest.raises(hr.FieldMissingError, match="adj"):
        jets.open()["a"]


def test_unequal_rows(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "u.h5", a=np.arange(3), b=np.arange(4))
    with pytest.raises(hr.InvalidArgumentError, match=r"(?s)3 rows.*4 rows") as caught:
        hr.open(path, fields=["a", "b"])
    assert caught.value.file == str(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"CDF\x01" + b"\0" * 100, b"\0" * 4096])
def test_not_hdf5(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "n.h5"
    path.write_bytes(content)
    with pytest.raises(hr.Error) as caught:
        hr.open(path)
    assert isinstance(caught.value, (hr.CorruptDataError, hr.UnsupportedError))
    assert caught.value.file == str(path)
    assert str(path) in str(caught.value)
    assert ("netCDF" in str(caught.value)) == content.startswith(b"CDF")


def test_permission() -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = write_h5(Path(folder) / "p.h5", v=np.arange(3))
        path.chmod(0)
        with without_privileges(), pytest.raises(PermissionError) as caught:
            hr.open(path)
        assert isinstance(caught.value, hr.PermissionDeniedError)
        assert caught.value.file == str(path)


@pytest.fixture(params=[16, 512])
def damaged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    """A file whose second chunk (rows 64 to 127) has its deflate data flipped; and where that chunk lies.

    Chunks of 8 KiB, several of which are decoded as one block, and of 256 KiB, each of which is a block.
    """
    import h5py

    random = np.random.default_rng(5)
    path = tmp_path / "damaged.h5"
    write_h5(
        path,
        x=(random.normal(size=(256, request.param)), {"chunks": (64, request.param), "compression": "gzip"}),
        y=np.arange(256),
    )
    with h5py.File(path) as file:
        chunk = file["x"].id.get_chunk_info(1)
    data = bytearray(path.read_bytes())
    middle = chunk.byte_offset + chunk.size // 2
    data[middle : middle + 64] = bytes(b ^ 0xFF for b in data[middle : middle + 64])
    path.write_bytes(data)
    return path, chunk.byte_offset


def test_corrupt_chunk_is_located(damaged) -> None:
    path, offset = damaged
    dataset = hr.open(path)
    assert len(dataset[:64]["y"]) == 64
    with pytest.raises(ValueError, match=r"damaged\.h5") as caught:
        dataset[100]
    error = caught.value
    assert isinstance(error, hr.CorruptDataError)
    assert error.file == str(path)
    assert error.field == "x"
    assert error.chunk is not None
    assert "1" in error.chunk
    assert error.byte_range is not None
    assert error.byte_range[0] == offset
    assert error.stage
    assert error.message in str(error)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_corrupt_chunk_ends_the_epoch_at_its_batch(damaged, threads: int) -> None:
    path, _ = damaged
    loader = hr.Loader(path, 32, threads=threads)
    good = []
    with pytest.raises(hr.CorruptDataError):
        for batch in loader:
            good.append(batch["y"].copy())
    assert np.array_equal(np.concatenate(good), np.arange(64))


def test_errors_of_indexing_do_not_hold_the_file(damaged) -> None:
    path, _ = damaged
    dataset = hr.open(path)
    for _ in range(3):
        with pytest.raises(hr.CorruptDataError):
            dataset[100]
    assert dataset[200]["y"] == 200


@pytest.mark.parametrize(
    ("name", "hint"),
    [("names", "fixed-size text"), ("lists", "padded to one length"), ("references", "name the arrays")],
)
def test_arrays_without_rows_of_one_size_say_what_to_do(tmp_path: Path, name: str, hint: str) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.zeros((10, 2))
        file.create_dataset("names", data=["a"] * 10, dtype=h5py.string_dtype())
        file.create_dataset("lists", (10,), dtype=h5py.vlen_dtype(np.int32))
        file.create_dataset("references", (10,), dtype=h5py.ref_dtype)
    with pytest.raises(hr.UnsupportedError) as caught:
        hr.open(tmp_path / "a.h5", fields=["x", name])
    assert caught.value.hint.startswith("Leave it out of fields=")
    assert hint in caught.value.hint


@pytest.mark.parametrize(("rank", "size", "hint"), [(5, 2, "Ranks count from 0"), (0, 0, "number of processes")])
def test_a_rank_that_cannot_be_says_what_to_do(jets, rank: int, size: int, hint: str) -> None:
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.Loader(jets.open(), batch_size=8, rank=rank, world_size=size)
    assert hint in caught.value.hint


def test_a_demo_of_no_kind_is_a_wrong_argument(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="kind must be one of 'jets', not 'x'"):
        hr.demo(tmp_path, kind="x")
