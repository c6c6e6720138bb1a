"""Every element type arrives as stored, in native byte order, in NumPy and (where it exists there) in torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

pytestmark = pytest.mark.fast

NUMBERS = [
    f"{order}{kind}" for order in "<>" for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
]
DTYPES = ["i1", "u1", "?", "S6", "S1", *NUMBERS]


def values(dtype: str) -> np.ndarray:
    random = np.random.default_rng(3)
    numbers = random.integers(0, 100, size=(70, 3))
    if dtype.startswith("S"):
        return np.array([[b"%d" % n for n in row] for row in numbers]).astype(dtype)
    return (numbers % 2 if dtype == "?" else numbers).astype(dtype)


@pytest.fixture(params=DTYPES)
def stored(request, tmp_path: Path) -> tuple[Path, np.ndarray]:
    array = values(request.param)
    return write_h5(tmp_path / "d.h5", v=(array, {"chunks": (32, 3), "compression": "gzip"}), s=array[:, 0]), array


def test_numpy(stored) -> None:
    path, array = stored
    dataset = hr.open(path)
    assert dataset.fields["v"].dtype == array.dtype.newbyteorder("=")
    for batch in (dataset[:], next(iter(hr.Loader(dataset, 70)))):
        assert batch["v"].dtype == array.dtype.newbyteorder("=")
        assert batch["v"].dtype.isnative
        assert batch["v"].flags.writeable
        assert np.array_equal(batch["v"], array)
        assert np.array_equal(batch["s"], array[:, 0])
    one = dataset[5]["s"]
    assert one == array[5, 0]
    assert isinstance(one, np.generic)


def test_torch(stored) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    path, array = stored
    if array.dtype.kind == "S":
        with pytest.raises(hr.UnsupportedError, match="fixed strings") as caught:
            hr.Loader(path, 70, framework="torch")
        assert caught.value.field in ("s", "v")  # whichever comes first in the file
        return
    name = array.dtype.newbyteorder("=").name
    if not hasattr(torch, name):
        pytest.skip(f"torch {torch.__version__} has no {name}")
    batch = next(iter(hr.Loader(path, 70, framework="torch")))
    assert batch["v"].dtype == getattr(torch, name)
    assert tuple(batch["v"].shape) == array.shape
    assert np.array_equal(batch["v"].numpy(), array)
    batch["v"].zero_()


def test_enum_is_its_integer(tmp_path: Path) -> None:
    import h5py

    dtype = h5py.enum_dtype({"quark": 0, "gluon": 1}, basetype="u1")
    with h5py.File(tmp_path / "e.h5", "w") as file:
        file.create_dataset("kind", data=np.array([1, 0, 1], "u1"), dtype=dtype)
    assert hr.open(tmp_path / "e.h5").fields["kind"].dtype == np.uint8
    assert np.array_equal(hr.open(tmp_path / "e.h5")[:]["kind"], [1, 0, 1])
