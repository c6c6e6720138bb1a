"""Tables of every type of Parquet's columns of numbers, with and without nulls, and files of many small pages."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP = 97  # rows of a row group
ROWS = 2 * GROUP + 20
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
    "bytes_1": pa.binary(1),
    "bytes_5": pa.binary(5),
}
ENCODINGS = ["PLAIN", "dictionary", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "RLE"]
BYTES_FIXED = ("float16", "decimal_4", "decimal_16", "bytes_1", "bytes_5")


def can_be_written(name: str, encoding: str) -> bool:
    if encoding in ("RLE", "dictionary"):
        return (name == "bool") == (encoding == "RLE")
    if encoding == "DELTA_BINARY_PACKED":
        return name not in ("bool", "float32", "float64", "int96", *BYTES_FIXED)
    return encoding == "PLAIN" or name not in ("bool", "int96")


CASES = [(name, encoding) for name in TYPES for encoding in ENCODINGS if can_be_written(name, encoding)]


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    """No context rounds it."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


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
        most = min(10**kind.precision, 2**53) - 1  # Larger ones have a test of their own.
        values = [most, -most, 0, 1, -1, *random.integers(-most, most, pool).tolist()]
        values = [exact_decimal(value, kind.scale) for value in values]
    elif pa.types.is_fixed_size_binary(kind):
        values = [random.bytes(kind.byte_width) for _ in range(pool)]
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
    order = np.concatenate(
        [
            random.permutation(len(values)),
            np.repeat(random.integers(0, len(values), ROWS), random.integers(1, 30, ROWS)),
        ]
    )
    return [values[i] for i in np.roll(order[:ROWS], random.integers(ROWS))]


def make_table(name: str) -> pa.Table:
    """An id, and the type with each kind of presence: flat, in a struct, and in a struct that may be missing."""
    random = np.random.default_rng(sorted(TYPES).index(name))
    kind = TYPES[name]
    fields, arrays = [pa.field("id", pa.int64(), nullable=False)], [pa.array(np.arange(ROWS))]
    inner_fields, inner_arrays = [], []

    def column(presence: str) -> pa.Array:
        missing = {"some": random.random(ROWS) < 0.2, "all_missing": np.ones(ROWS, bool)}
        missing["later"] = (random.random(ROWS) < 0.2) & (np.arange(ROWS) >= GROUP)
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
    """Paths of the columns as Parquet has them, where lists and their elements are groups of their own."""

    def below(kind: pa.DataType, path: str) -> list[str]:
        if pa.types.is_struct(kind):
            return [name for field in kind for name in below(field.type, f"{path}.{field.name}")]
        return below(kind.value_type, path + ".list.element") if hasattr(kind, "value_field") else [path]

    return [path for field in table.schema for path in below(field.type, field.name)]


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


def small_table(rows: int = 60, seed: int = 0) -> pa.Table:
    """Required integers, floats of which some are missing, and integers of a byte in a dictionary."""
    random = np.random.default_rng(seed)
    gone = random.random(rows) < 0.2
    floats = [None if missing else value for missing, value in zip(gone, random.normal(size=rows), strict=True)]
    schema = pa.schema([
        pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.float64()), pa.field("small", pa.int8()),
    ])  # fmt: skip
    columns = [np.arange(rows) * 10**15 + 12345, floats, random.integers(-9, 9, rows)]
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
