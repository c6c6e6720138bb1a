"""Every sound file of parquet-testing: each column has pyarrow's values, or is refused with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import check_column, expected, leaves, names_place, pack_file, pack_files  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")]

# Each column that is not read: files, a word of the reason, and the columns.
REFUSED_TEXT = """
alltypes_dictionary alltypes_plain alltypes_plain.snappy | bytes: date_string_col, string_col
alltypes_tiny_pages alltypes_tiny_pages_plain | text: date_string_col, string_col
binary | bytes: foo
binary_truncated_min_max | text: utf8_full_truncation, utf8_partial_truncation, utf8_no_truncation
binary_truncated_min_max | bytes: binary_full_truncation, binary_partial_truncation, binary_no_truncation
data_index_bloom_encoding_stats data_index_bloom_encoding_with_length | text: String
datapage_v2.snappy hadoop_lz4_compressed_larger lz4_raw_compressed_larger | text: a
delta_byte_array | text: c_customer_id, c_salutation, c_first_name, c_last_name, c_preferred_cust_flag
delta_byte_array | text: c_birth_country, c_login, c_email_address, c_last_review_date
delta_encoding_optional_column | text: c_customer_id, c_salutation, c_first_name, c_last_name, c_preferred_cust_flag
delta_encoding_optional_column | text: c_birth_country, c_email_address, c_last_review_date
delta_encoding_required_column | text: c_customer_id:, c_salutation:, c_first_name:, c_last_name:
delta_encoding_required_column | text: c_preferred_cust_flag:, c_birth_country:, c_email_address:, c_last_review_date:
delta_length_byte_array | text: FRUIT
geospatial/crs-arbitrary-value geospatial/crs-default geospatial/crs-geography | text: wkt
geospatial/crs-arbitrary-value geospatial/crs-default geospatial/crs-projjson | bytes: geometry
geospatial/crs-geography | bytes: geography
geospatial/crs-projjson geospatial/crs-srid | text: wkt
geospatial/crs-srid geospatial/geography-lines geospatial/geography-points | bytes: geometry
geospatial/geography-polygons geospatial/geospatial-with-nan geospatial/geospatial | bytes: geometry
geospatial/geospatial-with-nan geospatial/geospatial | text: group, wkt
hadoop_lz4_compressed lz4_raw_compressed non_hadoop_lz4_compressed | bytes: c1
incorrect_map_schema | map: my_map.key_value.key, my_map.key_value.value
large_string_map.brotli | map: arr.key_value.key, arr.key_value.value
list_columns | text: utf8_list
map_no_value | map: my_map.key_value.key, my_map.key_value.value, my_map_no_v.key_value.key
nation.dict-malformed | bytes: name, comment_col
nested_lists.snappy old_list_structure | list: a
nested_maps.snappy | map: a.key_value.key, a.key_value.value.key_value.key, a.key_value.value.key_value.value
nonnullable.impala | list: int_array_array, nested_Struct.c.D.e, nested_Struct.c.D.f
nonnullable.impala | map: Int_Map.map.key, Int_Map.map.value, int_map_array.map.key, int_map_array.map.value
nonnullable.impala | map: nested_Struct.G.map.key, nested_Struct.G.map.value.h.i
nullable.impala | list: int_array_Array, nested_struct.C.d.E, nested_struct.C.d.F
nullable.impala | map: int_map.map.key, int_map.map.value, int_Map_Array.map.key, int_Map_Array.map.value
nullable.impala | map: nested_struct.g.map.key, nested_struct.g.map.value.H.i
plain-dict-uncompressed-checksum rle-dict-snappy-checksum rle-dict-uncompressed-corrupt-checksum | bytes: binary_field
repeated_primitive_no_list | text: String_list, group_of_lists.String_list_in_group
sort_columns | text: b
unknown-logical-type | text: column with known type
unknown-logical-type | bytes: column with unknown type
"""
REASONS = {  # a column is refused with these words
    "text": "text of any length; only columns of numbers are read",
    "bytes": "bytes of any length; only columns of numbers are read",
    "list": "a list of lists; only lists of values are read",
    "map": "a map; only values and lists of values are read",
}
REFUSED: dict[str, dict[str, str]] = {}
for line in REFUSED_TEXT.strip().splitlines():
    of_files, word, names = re.fullmatch(r"(.+) \| (\w+): (.+)", line).groups()  # type: ignore[union-attr]
    for of_file in of_files.split():
        REFUSED.setdefault(of_file + ".parquet", {}).update(dict.fromkeys(names.split(", "), REASONS[word]))

WRONG_CHECKSUM = ["datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"]
LISTS_DIFFER = ["nullable.impala.parquet"]  # Those of a row have different lengths.
NO_ROWS = ["column_chunk_key_value_metadata.parquet"]
CONTRADICTORY = ["repeated_no_annotation.parquet"]  # Its footer counts no rows, and its row groups 6.
BEYOND_64_BITS = ["int96_from_spark.parquet"]  # Some of its times: they have a test of their own.
NOT_FOR_PYARROW = ["incorrect_map_schema.parquet"]  # Its map's key may be missing.
FILES = [name.removeprefix("data/") for name in pack_files("data", "*.parquet")]
SOME = FILES or [pytest.param("", marks=pytest.mark.skip(reason="the data pack is not here: parquet-testing"))]
NOT_AS_PYARROW = WRONG_CHECKSUM + NO_ROWS + CONTRADICTORY + BEYOND_64_BITS + NOT_FOR_PYARROW


@pytest.mark.parametrize("name", [name for name in SOME if name not in NOT_AS_PYARROW])
def test_each_column_is_pyarrows(name: str) -> None:
    path = pack_file("data/" + name)
    for column, want in expected(path).items():
        check_column(path, column, want)


@pytest.mark.parametrize("name", [name for name in SOME if name not in CONTRADICTORY])
def test_what_is_not_read_is_refused_with_a_reason(name: str) -> None:
    path = pack_file("data/" + name)
    told = REFUSED.get(name, {})
    columns: set[str] = set()
    if name not in NOT_FOR_PYARROW:
        found = leaves(pq.ParquetFile(path))
        columns = {leaf.name for leaf in found}
        assert {leaf.name for leaf in found if not leaf.is_readable} == set(told)
    for column, reason in told.items():
        with pytest.raises(hr.UnsupportedError, match=re.escape(reason)) as refused:
            hr.open(path, [column])
        names_place(refused.value, path, column)
        assert refused.value.field == column
    if name in NO_ROWS:
        with pytest.raises(hr.InvalidArgumentError, match="0 rows"):
            hr.open(path)
    elif name in LISTS_DIFFER:
        with pytest.raises(hr.InvalidArgumentError, match="the lists have different lengths:"):
            hr.open(path, nulls="fill")
    elif name in NOT_FOR_PYARROW or set(told) == columns:
        with pytest.raises(hr.Error) as nothing:
            hr.open(path)
        names_place(nothing.value, path)
    else:  # Those that cannot be read are left out.
        assert set(hr.open(path, nulls="fill").fields) == columns - set(told)


@pytest.mark.parametrize(
    ("name", "column", "row"),
    [("datapage_v2.snappy", "e", 1), ("nullable.impala", "int_array", 3), ("nullable.impala", "nested_struct.b", 2)],
)
def test_rows_without_a_list(name: str, column: str, row: int) -> None:
    path = pack_file(f"data/{name}.parquet")
    with pytest.raises(hr.InvalidArgumentError, match=f"row {row} has no list") as refused:
        hr.open(path, [column])
    names_place(refused.value, path, column)
    for nulls in ("fill", "mask"):
        assert len(hr.open(path, [column], nulls=nulls)[row][column]) == 0


def test_the_table_has_no_other_files() -> None:
    pack_file("data/alltypes_plain.parquet")
    assert set(REFUSED) <= set(FILES)
    assert set(NOT_AS_PYARROW) <= set(FILES)


@pytest.mark.parametrize("name", CONTRADICTORY)
def test_counts_that_differ_are_refused(name: str) -> None:
    path = pack_file("data/" + name)
    with pytest.raises(hr.CorruptDataError, match=r"0 rows.* 6") as refused:
        hr.open(path, ["id"])
    names_place(refused.value, path)


def test_times_that_64_bits_cannot_hold_are_refused() -> None:
    """Two of int96_from_spark.md are in the years 9999 and 290000: pyarrow gives wrong ones for them."""
    path = pack_file("data/int96_from_spark.parquet")
    with pytest.raises(hr.UnsupportedError, match="too far from 1970") as refused:
        hr.open(path, ["a"], nulls="mask")[:]
    names_place(refused.value, path, "a")


def test_maps_are_refused_as_maps(tmp_path: Path) -> None:
    kind = pa.map_(pa.string(), pa.int32())
    pq.write_table(pa.table({"m": pa.array([[("a", 1)], []], kind), "x": [1, 2]}), tmp_path / "m.parquet")
    for column in ("m.key_value.key", "m.key_value.value"):
        with pytest.raises(hr.UnsupportedError, match=r"\bmap\b"):
            hr.open(tmp_path / "m.parquet", [column])
