"""Parquet files of the data packs, and what Headrace should deliver of a column, by pyarrow."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import headrace as hr

PACK = "parquet-testing"
UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def pack_folder() -> Path | None:
    """Return the folder of the data pack, or None where it is absent."""
    named = os.environ.get("HEADRACE_SHARED_DATA")
    above = Path(__file__).resolve().parents
    for folder in [Path(named)] if named else [parent / "shared/data" for parent in above]:
        if (folder / PACK / "data").is_dir():
            return folder / PACK
    return None


def pack_file(name: str) -> Path:
    """Return a file of the pack; the test is skipped, with a reason, where the pack or the file is absent."""
    folder = pack_folder()
    if folder is None:
        pytest.skip(f"the data pack is not here: {PACK}; HEADRACE_SHARED_DATA says where")
    if not (folder / name).is_file():
        pytest.skip(f"the data pack {PACK} has no file {name}")
    return folder / name


def pack_files(under: str, pattern: str) -> list[str]:
    """Names of the pack's files, for parameters of tests; none where the pack is absent."""
    folder = pack_folder()
    return [] if folder is None else sorted(str(f.relative_to(folder)) for f in (folder / under).rglob(pattern))


class Expected(NamedTuple):
    """What Headrace should deliver: values with the fill where there is none, and which rows have one."""

    values: np.ndarray
    valid: np.ndarray
    nullable: bool


def leaf_of(table: pa.Table, path: str) -> pa.Array:
    """Return the column of a dotted path; a row of a struct that is missing has no value."""
    name = next(n for n in table.column_names if path == n or path.startswith(n + "."))
    array = table[name].combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    rest = path[len(name) + 1 :]
    while rest:
        names = [field.name for field in array.type]
        name = next(n for n in names if rest == n or rest.startswith(n + "."))
        array = pc.struct_field(array, [names.index(name)])
        rest = rest[len(name) + 1 :]
    return array


def stored_unit(column: pq.ColumnSchema) -> str | None:
    """Unit of a time as the file stores it: pyarrow may widen or narrow it by its own schema."""
    found = re.search(r"timeUnit=(\w+)", str(column.logical_type))
    return UNITS[found[1]] if found else None


def as_numpy(array: pa.Array, column: pq.ColumnSchema) -> np.ndarray:
    """Values of a pyarrow column by Headrace's rules; those of missing rows are NaN or 0."""
    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.cast(kind.value_type)
        kind = array.type
    rows, filled = len(array), array.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_null(kind):
        return np.zeros(rows, np.int32)
    if pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
        out = np.zeros((rows, kind.byte_width), np.uint8)
        for row in np.flatnonzero(filled):
            out[row] = np.frombuffer(array[row].as_py(), np.uint8)
        return out
    if pa.types.is_decimal(kind):
        return np.array([np.nan if v is None else float(v) for v in array.to_pylist()], np.float64)
    if pa.types.is_date(kind):
        array = array.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_time(kind):
        unit = stored_unit(column)
        array = array.cast(pa.time32("ms") if unit == "ms" else pa.time64(unit))
        array = array.cast(pa.int32() if unit == "ms" else pa.int64())
    elif pa.types.is_timestamp(kind):
        if column.physical_type != "INT96":
            array = array.cast(pa.timestamp(stored_unit(column), kind.tz), safe=False)
        array = array.cast(pa.int64())
    elif pa.types.is_duration(kind):
        array = array.cast(pa.int64())
    if pa.types.is_floating(array.type):
        out = np.zeros(rows, array.type.to_pandas_dtype())
        out[filled], out[~filled] = array.drop_null().to_numpy(zero_copy_only=False), np.nan
        return out
    out = np.zeros(rows, array.type.to_pandas_dtype())
    out[filled] = array.drop_null().to_numpy(zero_copy_only=False)
    wide = column.physical_type == "INT64" and out.dtype.itemsize < 8  # as uint32 is in files of format 1.0
    return out.astype(np.int64) if wide else out


def expected(path: Path, *, file: pq.ParquetFile | None = None, only: list[str] | None = None) -> dict[str, Expected]:
    """What Headrace should deliver of each column that has a value a row and is no text or bytes."""
    file = file or pq.ParquetFile(path)
    columns = [file.schema.column(i) for i in range(len(file.schema))]
    out = {}
    for column in columns:
        if not is_readable(column) or (only is not None and column.path not in only):
            continue
        array = leaf_of(file.read(columns=[column.path]), column.path)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        out[column.path] = Expected(as_numpy(array, column), valid, column.max_definition_level > 0)
    return out


def is_readable(column: pq.ColumnSchema) -> bool:
    """A value a row, of a number or of bytes of one length."""
    text = column.physical_type == "BYTE_ARRAY" and "Decimal" not in str(column.logical_type)
    return column.max_repetition_level == 0 and not text


def check_column(path: Path, name: str, want: Expected) -> None:
    """Read a column with each policy of nulls and compare it with what is expected."""
    full = bool(want.valid.all())
    data = hr.open(path, [name])
    if full:
        same(data[name][:], want.values, name)
    else:
        row = int(np.flatnonzero(~want.valid)[0])
        with pytest.raises(hr.Error) as refused:
            data[name][:]
        names_place(refused.value, path, name)
        assert re.search(rf"\brow {row}\b", str(refused.value)), (row, str(refused.value))
    same(hr.open(path, [name], nulls="fill")[name][:], want.values, name)
    masked = hr.open(path, [name], nulls="mask")
    same(masked[name][:], want.values, name)
    assert name + ".valid" in masked.fields, name
    same(masked[name + ".valid"][:], want.valid, name)


def names_place(error: hr.Error, path: Path, name: str | None = None) -> None:
    """The error tells the file, and the column if one is given, as attributes and in its text."""
    assert str(error.file) == str(path), error
    assert path.name in str(error), error
    if name is not None:
        assert error.field == name or name in str(error), error


def same(got: Any, want: np.ndarray, what: object = "") -> None:
    """Equal values, bit by bit but for the bits of a NaN, of an equal dtype and shape."""
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    if got.tobytes() == want.tobytes():
        return
    np.testing.assert_array_equal(got, want, err_msg=str(what))
    if want.dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got[want == 0]), np.signbit(want[want == 0]), err_msg=str(what))
