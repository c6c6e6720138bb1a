"""The Zarr stores of the data pack: one photograph, written with several codecs by several programs."""

from __future__ import annotations

import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from real_data import needed
from zarr_stores import Array, agree, check, names_place, rows_of, same, volume_of

import headrace as hr

PACK = "zarr_implementations.tar"
CODECS = ["raw", "gzip", "zlib", "blosc"]
SUM = 0xFDCAA55F  # CRC-32 of the photograph's bytes, row by row


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pack")
    with tarfile.open(needed(PACK)) as tar:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Debian 12's Python has none
        tar.extractall(folder, **safely)
    return folder / "zarr_implementations/examples"


def is_the_photograph(values: Array) -> bool:
    return values.shape == (512, 512, 3) and values.dtype == np.uint8 and zlib.crc32(values.tobytes()) == SUM


@pytest.mark.parametrize("codec", CODECS)
def test_the_photograph(examples: Path, codec: str) -> None:
    """As rows and as patches, from the store and from the folder of the array."""
    store = examples / "zarr.zr"
    rows = rows_of(hr.open(store, {"x": codec}), 100)
    assert is_the_photograph(rows)
    alone = hr.open(store / codec)
    assert list(alone.fields) == [codec]
    assert is_the_photograph(alone[codec][:])
    assert is_the_photograph(volume_of(hr.open_volume(store, {"x": codec}), (130, 99, 2)))
    agree(store / codec, rows)
    check(store / codec, "", rows, (512, 1, 3))


def test_the_store_has_four_arrays(examples: Path) -> None:
    data = hr.open(examples / "zarr.zr")
    assert set(data.fields) == set(CODECS)
    assert len(data) == 512
    batches = [dict(batch) for batch in hr.Loader(data, 64, shuffle=True, seed=5, provenance=True)]
    want = data[:]["raw"]
    for batch in batches:
        for name in CODECS:
            same(batch[name], batch["raw"], name)
    got = np.concatenate([batch["gzip"] for batch in batches])
    assert sorted(row.tobytes() for row in got) == sorted(row.tobytes() for row in want)


def test_patches_of_all_arrays_lie_over_each_other(examples: Path) -> None:
    store = examples / "zarr.zr"
    want = hr.open(store, ["raw"])["raw"][:]
    volume = hr.open_volume(store, CODECS)
    patches = volume.patches((64, 64, 3), samples_per_epoch=64)
    for batch in hr.Loader(patches, 16, shuffle=True, seed=6, threads=2, provenance=True):
        for i, (z, y, _) in enumerate(batch["_start"]):
            for name in CODECS:
                same(batch[name][i], want[z : z + 64, y : y + 64], name)


@pytest.mark.parametrize("face", [hr.open, hr.open_volume], ids=["rows", "volume"])
@pytest.mark.parametrize(
    ("name", "say"), [("zarrita.zr3", "draft|zarr_format"), ("z5py.n5", "N5"), ("z5py.n5/raw", "N5")]
)
def test_other_formats_are_refused_by_name(examples: Path, face, name: str, say: str) -> None:
    with pytest.raises(hr.UnsupportedError, match=say) as caught:
        face(examples / name)
    names_place(caught.value, examples / name)
