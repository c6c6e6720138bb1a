"""Every sound file of parquet-testing: each column has pyarrow's values, or is refused with a reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import check_column, expected, is_readable, names_place, pack_file, pack_files  # noqa: E402

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
datapage_v2.snappy | list: e.list.element
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
list_columns | list: int64_list.list.item, utf8_list.list.item
map_no_value | list: my_list.list.element
map_no_value | map: my_map.key_value.key, my_map.key_value.value, my_map_no_v.key_value.key
nation.dict-malformed | bytes: name, comment_col
nested_lists.snappy | list: a.list.element.list.element.list.element
nested_maps.snappy | map: a.key_value.key, a.key_value.value.key_value.key, a.key_value.value.key_value.value
nonnullable.impala | list: Int_Array.list.element, int_array_array.list.element.list.element
nonnullable.impala | map: Int_Map.map.key
nonnullable.impala | map: Int_Map.map.value, int_map_array.list.element.map.key, int_map_array.list.element.map.value
nonnullable.impala | list: nested_Struct.B.list.element, nested_Struct.c.D.list.element.list.element.e
nonnullable.impala | list: nested_Struct.c.D.list.element.list.element.f
nonnullable.impala | map: nested_Struct.G.map.key
nonnullable.impala | map: nested_Struct.G.map.value.h.i.list.element
null_list | list: emptylist.list.item
nullable.impala | list: int_array.list.element, int_array_Array.list.element.list.element
nullable.impala | map: int_map.map.key
nullable.impala | map: int_map.map.value, int_Map_Array.list.element.map.key, int_Map_Array.list.element.map.value
nullable.impala | list: nested_struct.b.list.element, nested_struct.C.d.list.element.list.element.E
nullable.impala | list: nested_struct.C.d.list.element.list.element.F
nullable.impala | map: nested_struct.g.map.key
nullable.impala | map: nested_struct.g.map.value.H.i.list.element
old_list_structure | list: a.array.array
plain-dict-uncompressed-checksum rle-dict-snappy-checksum rle-dict-uncompressed-corrupt-checksum | bytes: binary_field
repeated_primitive_no_list | list: Int32_list, String_list, group_of_lists.Int32_list_in_group
repeated_primitive_no_list | list: group_of_lists.String_list_in_group
sort_columns | text: b
unknown-logical-type | text: column with known type
unknown-logical-type | bytes: column with unknown type
"""
REFUSED: dict[str, dict[str, str]] = {}
for line in REFUSED_TEXT.strip().splitlines():
    of_files, word, names = re.fullmatch(r"(.+) \| (\w+): (.+)", line).groups()  # type: ignore[union-attr]
    for of_file in of_files.split():
        REFUSED.setdefault(of_file + ".parquet", {}).update(dict.fromkeys(names.split(", "), word))

WRONG_CHECKSUM = ["datapage_v1-corrupt-checksum.parquet", "rle-dict-uncompressed-corrupt-checksum.parquet"]
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
    if name not in NOT_FOR_PYARROW:
        schema = pq.ParquetFile(path).schema
        columns = [schema.column(i) for i in range(len(schema))]
        assert {column.path for column in columns if not is_readable(column)} == set(told)
    for column, reason in told.items():
        with pytest.raises(hr.UnsupportedError, match=rf"\b{reason}\b") as refused:
            hr.open(path, [column])
        names_place(refused.value, path, column)
        assert refused.value.field == column
    if name in NO_ROWS:
        with pytest.raises(hr.InvalidArgumentError, match="0 rows"):
            hr.open(path)
    elif name in NOT_FOR_PYARROW or set(told) == {column.path for column in columns}:
        with pytest.raises(hr.Error) as nothing:
            hr.open(path)
        names_place(nothing.value, path)
    else:  # Those that cannot be read are left out.
        assert set(hr.open(path).fields) == {column.path for column in columns} - set(told)


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
