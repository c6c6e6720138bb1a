"""Parquet files of the data packs, and what Headrace should deliver of a column, by pyarrow."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from real_data import found

import headrace as hr

PACK = "parquet-testing"
UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
FLIPS = [0xFF, 0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80]


def pack_folder() -> Path | None:
    """Return the folder of the data pack, or None where it is absent."""
    data = found(f"{PACK}/data")
    return None if data is None else data.parent


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
    """What Headrace should deliver: values with the fill where there is none, and which rows have one.

    Those of a list are its elements, and its lengths are -1 where a row has no list.
    """

    values: np.ndarray
    valid: np.ndarray
    nullable: bool
    lengths: np.ndarray | None = None


class Leaf(NamedTuple):
    """A column of numbers, under the name that Headrace gives it."""

    name: str
    column: pq.ColumnSchema
    lists: int
    in_map: bool

    @property
    def is_text(self) -> bool:
        """Text or bytes of any length."""
        return self.column.physical_type == "BYTE_ARRAY" and "Decimal" not in str(self.column.logical_type)

    @property
    def is_readable(self) -> bool:
        """A value or a list of values a row, of numbers or of bytes of one length."""
        return self.lists < 2 and not self.in_map and not self.is_text


def is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def leaves(file: pq.ParquetFile) -> list[Leaf]:
    """The columns of a file, by its schema as Arrow sees it: what makes lists has no name there."""
    found: list[tuple[str, int, bool]] = []

    def below(kind: pa.DataType, name: str, lists: int, in_map: bool) -> None:
        if pa.types.is_map(kind):
            below(kind.key_type, name + ".key", lists, True)
            below(kind.item_type, name + ".value", lists, True)
        elif is_list(kind):
            below(kind.value_type, name, lists + 1, in_map)
        elif pa.types.is_struct(kind):
            for field in kind:
                below(field.type, f"{name}.{field.name}", lists, in_map)
        else:
            found.append((name, lists, in_map))

    for field in file.schema_arrow:
        below(field.type, field.name, 0, False)
    columns = [file.schema.column(i) for i in range(len(file.schema))]
    out = []
    for (name, lists, in_map), column in zip(found, columns, strict=True):
        in_map = in_map or ".key_value." in column.path  # Arrow takes a map without values for a list.
        out.append(Leaf(column.path.replace(".list.element", "") if in_map else name, column, lists, in_map))
    return out


def list_lengths(array: pa.Array) -> np.ndarray:
    """Elements of each row; -1 where it has no list."""
    return pc.fill_null(pc.list_value_length(array), -1).to_numpy(zero_copy_only=False).astype(np.int64)


def leaf_of(table: pa.Table, path: str) -> tuple[pa.Array, np.ndarray | None]:
    """Return the column of a dotted path, and the lengths of its lists; a missing struct has no value."""
    name = next(n for n in table.column_names if path == n or path.startswith(n + "."))
    array = table[name].combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    rest, lengths = path[len(name) + 1 :], None
    while rest or is_list(array.type):
        if is_list(array.type):
            assert lengths is None, "a list of lists"
            array, lengths = array.flatten(), list_lengths(array)
            continue
        names = [field.name for field in array.type]
        name = next(n for n in names if rest == n or rest.startswith(n + "."))
        array = pc.struct_field(array, [names.index(name)])
        rest = rest[len(name) + 1 :]
    return array, lengths


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
    """What Headrace should deliver of each column that is read."""
    file = file or pq.ParquetFile(path)
    out = {}
    for leaf in leaves(file):
        if not leaf.is_readable or (only is not None and leaf.name not in only):
            continue
        array, lengths = leaf_of(file.read(columns=[leaf.column.path]), leaf.name)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        out[leaf.name] = Expected(as_numpy(array, leaf.column), valid, leaf.column.max_definition_level > 0, lengths)
    return out


def check_column(path: Path, name: str, want: Expected) -> None:
    """Read a column with each policy of nulls and compare it with what is expected."""
    if want.lengths is not None:
        check_list(path, name, want)
        return
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


def same_lists(got: Any, name: str, values: np.ndarray, lengths: np.ndarray) -> None:
    """A batch has these elements, and offsets by these lengths, where -1 is an empty list."""
    same(got[name], values, name)
    ends = np.cumsum(np.maximum(lengths, 0))
    np.testing.assert_array_equal(got[name + ".offsets"], np.concatenate(([0], ends)), err_msg=name)


def check_list(path: Path, name: str, want: Expected) -> None:
    """Read a column of lists with each policy of nulls: rows without a list, and elements without a value."""
    assert want.lengths is not None
    if (want.lengths < 0).any():
        with pytest.raises(hr.InvalidArgumentError, match=rf"row {want.lengths.argmin()} has no list") as refused:
            hr.open(path, [name])
        names_place(refused.value, path, name)
    elif not want.valid.all():
        with pytest.raises(hr.InvalidArgumentError, match=rf"element {want.valid.argmin()} has no value") as refused:
            hr.open(path, [name])[:]
        names_place(refused.value, path, name)
    else:
        same_lists(hr.open(path, [name])[:], name, want.values, want.lengths)
    same_lists(hr.open(path, [name], nulls="fill")[:], name, want.values, want.lengths)
    masked = hr.open(path, [name], nulls="mask")
    assert list(masked.fields) == [name, name + ".valid"]
    assert all(field.ragged for field in masked.fields.values())
    assert masked.lengths().tolist() == np.maximum(want.lengths, 0).tolist()
    same_lists(masked[:], name, want.values, want.lengths)
    same_lists(masked[:], name + ".valid", want.valid, want.lengths)


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


def flipped(whole: bytes, at: int, flip: int) -> bytes:
    return whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :]


def footer_start(whole: bytes) -> int:
    return len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
