"""Types, encodings, codecs, page versions, nulls and structs of Parquet files of many small pages, against pyarrow."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import Expected, expected, leaf_of, names_place, same  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = pytest.mark.fast

GROUP = 97  # rows of a row group
ROWS = 3 * GROUP + 20
CODECS = ["none", "snappy", "gzip", "zstd", "lz4"]
PRESENCE = ["required", "full", "some", "all_missing", "later"]
INTEGERS = {f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)}
TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    **INTEGERS,
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "date": pa.date32(),
    "time_ms": pa.time32("ms"),
    "time_us": pa.time64("us"),
    "time_ns": pa.time64("ns"),
    "timestamp_ms": pa.timestamp("ms"),
    "timestamp_us": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "int96": pa.timestamp("ns"),
    "decimal_int32": pa.decimal128(9, 2),
    "decimal_int64": pa.decimal128(18, 4),
    "decimal_4": pa.decimal128(9, 2),
    "decimal_16": pa.decimal128(38, 10),
    "bytes_5": pa.binary(5),
}
ENCODINGS = ["PLAIN", "dictionary", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "RLE"]
BYTES_FIXED = ("float16", "decimal_4", "decimal_16", "bytes_5")


def can_be_written(name: str, encoding: str) -> bool:
    if encoding in ("RLE", "dictionary"):
        return (name == "bool") == (encoding == "RLE")
    if encoding == "DELTA_BINARY_PACKED":
        return name not in ("bool", "float32", "float64", "int96", *BYTES_FIXED)
    return encoding == "PLAIN" or name not in ("bool", "int96")


CASES = [(name, encoding) for name in TYPES for encoding in ENCODINGS if can_be_written(name, encoding)]


def some_values(name: str, random: np.random.Generator) -> list[Any]:
    """Values of the type's whole range, with its bounds, in runs and out of order."""
    kind, pool = TYPES[name], 90
    if pa.types.is_boolean(kind):
        values: list[Any] = [False, True]
    elif pa.types.is_floating(kind):
        dtype = kind.to_pandas_dtype()
        limits = np.finfo(dtype)
        values = [limits.min, limits.max, limits.tiny, np.inf, -np.inf, np.nan, -0.0, 0.0]
        values = [dtype(v) for v in [*values, *random.normal(size=pool)]]
    elif pa.types.is_decimal(kind):
        digits = [random.integers(0, 10, random.integers(1, kind.precision + 1)) for _ in range(pool)]
        whole = [int("".join(map(str, d))) * sign for d, sign in zip(digits, [1, -1] * pool)]  # noqa: B905
        values = [Decimal(v).scaleb(-kind.scale) for v in [*whole, 10**kind.precision - 1, 1 - 10**kind.precision, 0]]
    elif pa.types.is_fixed_size_binary(kind):
        values = [random.bytes(5) for _ in range(pool)]
    elif pa.types.is_time(kind):
        day = 86_400 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        values = [0, day - 1, *random.integers(0, day, pool).tolist()]
    else:
        signed = name.startswith("u") is False
        bits = kind.bit_width
        least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        dtype = np.dtype(f"{'i' if signed else 'u'}{bits // 8}")
        least += name == "timestamp_ns" or name == "int96"  # pandas' missing time
        values = [least, most, 0, 1, *random.integers(least, most, pool, dtype, endpoint=True).tolist()]
    order = random.permutation(np.repeat(np.arange(len(values)), 4))
    order = np.concatenate([order, np.repeat(random.integers(0, len(values), ROWS), 3)])[random.integers(0, 9) :]
    return [values[i] for i in np.concatenate([order[: ROWS // 2], order[-(ROWS - ROWS // 2) :]])]


def make_table(name: str) -> pa.Table:
    """A column ``id`` and the type with each kind of presence: flat, in a struct, and in a struct that may be missing."""
    random = np.random.default_rng(sorted(TYPES).index(name))
    kind = TYPES[name]
    fields, arrays = [pa.field("id", pa.int64(), nullable=False)], [pa.array(np.arange(ROWS))]
    inner_fields, inner_arrays = [], []

    def column(presence: str) -> pa.Array:
        missing = {"some": random.random(ROWS) < 0.2, "all_missing": np.ones(ROWS, bool)}
        missing["later"] = (random.random(ROWS) < 0.2) & (np.arange(ROWS) >= 2 * GROUP)
        hidden = missing.get(presence, np.zeros(ROWS, bool))
        values = [None if gone else value for gone, value in zip(hidden, some_values(name, random), strict=True)]
        if pa.types.is_temporal(kind):
            return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
        return pa.array(values, kind)

    for presence in PRESENCE:
        field = pa.field("x", kind, nullable=presence != "required")
        fields.append(field.with_name(presence))
        arrays.append(column(presence))
        inner_fields.append(field.with_name(presence))
        inner_arrays.append(column(presence))
        # A value that is never missing is missing where its struct is.
        absent = random.random(ROWS) < (0.15 if presence in ("required", "some") else 0)
        fields.append(pa.field(f"maybe_{presence}", pa.struct([field])))
        arrays.append(pa.StructArray.from_arrays([column(presence)], fields=[field], mask=pa.array(absent)))
    fields.append(pa.field("struct", pa.struct(inner_fields), nullable=False))
    arrays.append(pa.StructArray.from_arrays(inner_arrays, fields=inner_fields))
    return pa.table(arrays, schema=pa.schema(fields))


def paths_of(table: pa.Table) -> list[str]:
    nested = [f"{f.name}.{g.name}" for f in table.schema if pa.types.is_struct(f.type) for g in f.type]
    return [name for name in table.column_names if not pa.types.is_struct(table.schema.field(name).type)] + nested


def write(table: pa.Table, path: Path, name: str, encoding: str, codec: str, version: str) -> None:
    coded: dict[str, Any] = {"use_dictionary": encoding == "dictionary"}
    if encoding != "dictionary":
        coded["column_encoding"] = {p: encoding for p in paths_of(table) if p != "id"}
    elif version == "2.0":
        coded["dictionary_pagesize_limit"] = 300  # Pages behind it are PLAIN.
    pq.write_table(
        table, path, **coded, compression=codec, data_page_version=version, data_page_size=200, write_batch_size=16,
        row_group_size=GROUP, write_page_checksum=True, use_deprecated_int96_timestamps=name == "int96",
        store_decimal_as_integer=name in ("decimal_int32", "decimal_int64"),
    )  # fmt: skip


def check(path: Path, want: dict[str, Expected], random: np.random.Generator) -> None:
    """All rows, single rows, slices and a shuffled epoch; what is missing is refused by default."""
    data = hr.open(path, nulls="mask")
    have = {name: column.values for name, column in want.items()}
    have |= {name + ".valid": column.valid for name, column in want.items() if column.nullable}
    assert set(data.fields) == set(have)
    assert len(data) == ROWS
    everything = data[:]
    for name, values in have.items():
        same(everything[name], values, (path.name, name))
    for row in random.integers(0, ROWS, 3).tolist():
        one = data[row]
        for name, values in have.items():
            np.testing.assert_array_equal(one[name], values[row], err_msg=f"{path.name} {name} {row}")
    for first in (0, GROUP - 5, int(random.integers(0, ROWS))):
        part = slice(first, first + int(random.integers(1, 2 * GROUP)))
        some = data[part]
        for name, values in have.items():
            same(some[name], values[part], (path.name, name, part))
    batches = [dict(batch) for batch in hr.Loader(data, batch_size=7, shuffle=True, threads=1)]
    ids = np.concatenate([batch["id"] for batch in batches])
    np.testing.assert_array_equal(np.sort(ids), np.arange(ROWS))
    for name, values in have.items():
        same(np.concatenate([batch[name] for batch in batches]), values[ids], (path.name, name, "epoch"))
    refuse = hr.open(path)
    for name, column in want.items():
        if column.valid.all():
            same(refuse[name][:], column.values, (path.name, name))
            continue
        with pytest.raises(hr.Error) as refused:
            refuse[name][:]
        names_place(refused.value, path, name)
        row = int(np.argmin(column.valid))
        assert re.search(rf"\brow {row}\b", str(refused.value)), (name, row, str(refused.value))


@pytest.mark.parametrize(("name", "encoding"), CASES, ids=lambda value: value)
def test_values_are_pyarrows(tmp_path: Path, name: str, encoding: str) -> None:
    random = np.random.default_rng(7)
    table = make_table(name)
    want: dict[str, Expected] = {}
    for version in ("1.0", "2.0"):
        for codec in CODECS:
            path = tmp_path / f"{codec}_{version}.parquet"
            write(table, path, name, encoding, codec, version)
            want = want or expected(path)
            check(path, want, random)
    used = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert (encoding if encoding != "dictionary" else "RLE_DICTIONARY") in used, used
    for column, held in want.items():  # The file is what was meant to be written.
        valid = leaf_of(table, column).is_valid().to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(held.valid, valid)
