"""Files of parquet-testing that are damaged, encrypted, or have wrong checksums: refused by name, and never a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import check_column, expected, leaves, names_place, pack_file, pack_files, same  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")]
WRONG_CHECKSUM = ["datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"]
# An index of 0 bits into a dictionary of one value is no damage: pyarrow, duckdb and polars read zeros.
SOUND = ["ARROW-GH-43605.parquet"]
ENCRYPTED = pack_files("data", "*.encrypted") or ["data/encrypt_columns_and_footer.parquet.encrypted"]
BAD = pack_files("bad_data", "*.parquet") or ["bad_data/PARQUET-1481.parquet"]


def read_in_full(path: Path, fields: Any = None, **options: Any) -> dict[str, np.ndarray]:
    data = hr.open(path, fields, **options)
    return {name: data[name][:] for name in data.fields}


@pytest.mark.parametrize("name", WRONG_CHECKSUM)
def test_a_wrong_checksum_is_named(name: str) -> None:
    path = pack_file("data/" + name)
    for column in list(hr.open(path).fields):
        with pytest.raises(hr.CorruptDataError, match="CRC") as damaged:
            read_in_full(path, [column])
        names_place(damaged.value, path, column)


@pytest.mark.parametrize("nulls", ["error", "fill", "mask"])
@pytest.mark.parametrize("name", [name for name in BAD if name.split("/")[1] not in SOUND])
def test_bad_data_is_refused(name: str, nulls: str) -> None:
    path = pack_file(name)
    with pytest.raises(hr.Error) as refused:
        read_in_full(path, nulls=nulls)
    names_place(refused.value, path)
    assert type(refused.value) is not hr.InternalError
    if nulls != "error" and "list" not in str(refused.value):
        assert isinstance(refused.value, hr.CorruptDataError)


@pytest.mark.parametrize("name", SOUND)
def test_bad_data_that_is_sound(name: str) -> None:
    path = pack_file("bad_data/" + name)
    want = expected(path)
    got = read_in_full(path)
    assert set(got) == set(want)
    for column in want:
        same(got[column], want[column].values, column)


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_files_are_refused(name: str) -> None:
    """Where only some columns are encrypted, those are refused, and the others are read."""
    path = pack_file(name)
    try:
        file = pq.ParquetFile(path)
    except OSError:
        file = None
    if file is None:  # The footer is encrypted too.
        with pytest.raises(hr.UnsupportedError, match="encrypted") as refused:
            hr.open(path)
        names_place(refused.value, path)
        return
    for leaf in leaves(file):
        if not leaf.is_readable or leaf.column.physical_type == "INT96":  # its times are beyond 64 bits
            continue
        try:
            want = expected(path, file=file, only=[leaf.name])
        except OSError:
            with pytest.raises(hr.UnsupportedError, match="encrypted") as refused:
                hr.open(path, [leaf.name])[:]
            names_place(refused.value, path, leaf.name)
        else:
            check_column(path, leaf.name, want[leaf.name])
