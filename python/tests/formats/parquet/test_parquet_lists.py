"""Lists in columns of Parquet: types, encodings, codecs, page versions, nulls and nesting, against pyarrow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import check_column, expected, same_lists  # noqa: E402
from parquet_lists import (  # noqa: E402
    FIXED,
    LONG,
    PRESENCE,
    check_everywhere,
    check_rows,
    lists_of,
    make_list_table,
    slices,
    write_columns,
)
from parquet_tables import CASES, ROWS, write  # noqa: E402

import headrace as hr  # noqa: E402

CODECS = ["none", "snappy", "gzip", "zstd", "lz4"]
ALL_CODECS = ("int32", "float64", "bool")  # the other types take turns


@pytest.mark.parametrize(("name", "encoding"), CASES, ids=lambda value: value)
def test_lists_are_pyarrows(tmp_path: Path, name: str, encoding: str) -> None:
    random = np.random.default_rng(7)
    turn = CASES.index((name, encoding))
    for number, presence in enumerate(PRESENCE):
        table, want = make_list_table(name, presence), {}
        for version in ("1.0", "2.0"):
            own = CODECS if name in ALL_CODECS else [CODECS[(turn + number + 2 * (version == "2.0")) % len(CODECS)]]
            for codec in own:
                path = tmp_path / f"{presence}_{codec}_{version}.parquet"
                write(table, path, name, encoding, codec, version)
                want = want or expected(path)
                fixed = {"id": want["id"], "fixed": want["fixed"]}
                others = {key: column for key, column in want.items() if key != "fixed"}
                assert list(others) == ["id", "flat", "large", "hits.t", "hits.q", "in.v", "in.n"]
                check_everywhere(hr.open(path, list(others), nulls="mask"), others, random, path.name)
                check_rows(hr.open(path, list(fixed), nulls="fill")[:], fixed, range(ROWS), path.name)
                if presence in ("required", "full"):
                    check_rows(hr.open(path, list(others))[:], others, range(ROWS), path.name)
        for column in ("hits.q", "in.v", "fixed"):
            check_column(path, column, want[column])
        used = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
        assert (encoding if encoding != "dictionary" else "RLE_DICTIONARY") in used, used


@pytest.mark.parametrize("presence", PRESENCE)
def test_the_tables_are_what_they_are_meant_to_be(tmp_path: Path, presence: str) -> None:
    """Lists that are empty, missing, and longer than a page; elements that are missing."""
    write(make_list_table("int32", presence), tmp_path / "t.parquet", "int32", "PLAIN", "none", "1.0")
    want = expected(tmp_path / "t.parquet")
    for name in ("flat", "large", "hits.t", "in.v"):
        lengths, valid = want[name].lengths, want[name].valid
        assert lengths is not None
        assert lengths.max() == LONG
        assert (lengths == 0).any()
        assert (lengths < 0).any() == (presence in ("null_lists", "everything"))
        assert valid.all() == (presence not in ("null_elements", "everything"))
    lengths = want["fixed"].lengths
    assert lengths is not None
    assert set(lengths) <= {-1, FIXED}
    assert (lengths < 0).any() == (presence in ("null_lists", "everything"))


# --- shapes of files -------------------------------------------------------------------------------------------------


def test_every_column_by_default(tmp_path: Path) -> None:
    """Without `fields`, lists come first, and what is no list or number of them is left out with a reason."""
    path = write_columns(
        tmp_path / "a.parquet",
        y=[0.5, 1.5, 2.5],
        a=lists_of([1, 2], [], [3]),
        deep=pa.array([[[1]], [], [[2], [3]]]),
        words=pa.array([["a"], [], ["b", "c"]]),
        hits=pa.array([[{"t": 1.5, "q": 1}, {"t": 2.5, "q": 2}], [], [{"t": 3.5, "q": 3}]]),
        map=pa.array([[("a", 1)], [], []], pa.map_(pa.string(), pa.int32())),
        one=pa.array([{"u": 7}, {"u": 8}, {"u": 9}]),
    )
    data = hr.open(path)
    assert list(data.fields) == ["a", "hits.q", "hits.t", "one.u", "y"]
    assert [name for name, field in data.fields.items() if not field.ragged] == list(data.fields)[3:]
    assert data.left_out["deep"] == "a list of lists; only lists of values are read"
    assert data.left_out["words"] == "text of any length; only columns of numbers are read"
    assert data.left_out["map.key_value.value"] == "a map; only values and lists of values are read"
    assert list(data.left_out) == ["deep", "map.key_value.key", "map.key_value.value", "words"]
    got = data[:]
    for name, values in {"a": [1, 2, 3], "hits.t": [1.5, 2.5, 3.5], "hits.q": [1, 2, 3]}.items():
        assert got[name].tolist() == values
        assert got[name + ".offsets"].tolist() == [0, 2, 2, 3]
    assert (got["one.u"].tolist(), got["y"].tolist()) == ([7, 8, 9], [0.5, 1.5, 2.5])


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("codec", CODECS)
def test_one_long_list(tmp_path: Path, codec: str, version: str) -> None:
    """It is longer than a page, and than a step in which levels are read."""
    lengths = np.array([2, 200_000, 0, 5])
    values = np.random.default_rng(1).integers(0, 2**31, lengths.sum()).astype(np.int32)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))), pa.int32())
    table = pa.table({"id": range(4), "a": pa.ListArray.from_arrays(offsets, pa.array(values))})
    pq.write_table(table, tmp_path / "a.parquet", compression=codec, data_page_version=version, data_page_size=10_000)
    data = hr.open(tmp_path / "a.parquet")
    same_lists(data[:], "a", values, lengths)
    np.testing.assert_array_equal(data[1]["a"], values[2:200_002])
    for batch in hr.Loader(data, 2, shuffle=True, threads=3):
        rows = batch["id"].tolist()
        same_lists(batch, "a", values[slices(lengths, rows)], lengths[rows])
    (last,) = hr.Loader(data, 4, layout="padded")
    assert last["a"].shape == (4, 200_000)
    assert last["lengths"].tolist() == lengths.tolist()


@pytest.mark.parametrize("where", [0, 1, 2])
@pytest.mark.parametrize("how", ["no_rows", "no_group", "only_empty_lists"])
def test_a_file_without_elements_among_others(tmp_path: Path, where: int, how: str) -> None:
    for number in range(2):
        lists = lists_of([10 * number, 1], [], [2])
        write_columns(tmp_path / f"{2 * number + 1}.parquet", a=lists, y=[3 * number + i for i in range(3)])
    path, rows = tmp_path / f"{2 * where}.parquet", 4 if how == "only_empty_lists" else 0
    empty = {"a": lists_of(*[[]] * rows), "y": pa.array([100] * rows, pa.int64())}
    write_columns(path, **empty)
    if how == "no_group":
        with pq.ParquetWriter(path, pa.table(empty).schema):
            pass
    data = hr.open(f"{tmp_path}/?.parquet")
    assert sorted(file.rows for file in data.files) == sorted([rows, 3, 3])
    want = {0: [0, 1], 1: [], 2: [2], 3: [10, 1], 4: [], 5: [2], 100: []}
    assert [sample["a"].tolist() for sample in data] == [want[int(sample["y"])] for sample in data]
    for shuffle in (False, True):
        seen = []
        for batch in hr.Loader(data, 4, shuffle=shuffle):
            lists = np.split(batch["a"], batch["a.offsets"][1:-1])
            assert [one.tolist() for one in lists] == [want[y] for y in batch["y"].tolist()]
            seen += batch["y"].tolist()
        assert sorted(seen) == [0, 1, 2, 3, 4, 5] + [100] * rows


def test_a_column_whose_lists_are_all_empty(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "a.parquet", a=lists_of(*[[]] * 40, kind=pa.float32()), y=range(40))
    for options in ({"nulls": "error"}, {"nulls": "mask"}):
        data = hr.open(path, ["a", "y"], **options)
        got = data[:]
        same_lists(got, "a", np.zeros(0, np.float32), np.zeros(40, int))
        assert got["y"].tolist() == list(range(40))
    null = write_columns(tmp_path / "b.parquet", a=lists_of(*[None] * 40), y=range(40))
    same_lists(hr.open(null, nulls="fill")[:], "a", np.zeros(0, np.int32), np.zeros(40, int))


def test_no_rows(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "a.parquet", a=lists_of(), y=pa.array([], pa.int64()))
    with pytest.raises(hr.InvalidArgumentError, match=r"a\.parquet.*0 rows"):
        hr.open(path)


def test_columns_of_many_kinds(tmp_path: Path) -> None:
    """What datasets of other libraries got wrong: a fixed size, a first row that is missing, missing elements."""
    random, rows = np.random.default_rng(32), 600
    flat = [random.integers(0, 99, k).tolist() for k in random.integers(0, 6, rows)]
    pulses = [[{"t": float(random.random()), "q": int(v)} for v in row] for row in flat]
    struct = pa.struct([("t", pa.float64()), ("q", pa.int16())])
    where = [{"x": float(i), "name": f"s{i % 7}", "tags": row} for i, row in enumerate(flat)]
    columns = {
        "flat": lists_of(*flat),
        "large": pa.array(flat, pa.large_list(pa.int32())),
        "pulses": pa.array(pulses, pa.list_(struct)),
        "first_missing": lists_of(None, *flat[1:], kind=pa.int64()),
        "element_missing": lists_of(*[[None if v % 17 == 0 else v for v in row] for row in flat]),
        "fixed": pa.array(random.random((rows, 4)).astype("f4").tolist(), pa.list_(pa.float32(), 4)),
        "where": pa.array(where),
        "y": pa.array(np.arange(rows) % 2, pa.int8()),
    }
    for name, options in {
        "many": {"row_group_size": 77, "data_page_size": 512},
        "one": {"compression": "gzip"},
    }.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table(columns), path, **options)
        want = expected(path)
        assert set(want) == {"flat", "large", "pulses.t", "pulses.q", "first_missing", "element_missing", "fixed",
                             "where.x", "where.tags", "y"}  # fmt: skip
        for column, values in want.items():
            check_column(path, column, values)
        alike = ["flat", "large", "pulses.t", "pulses.q", "where.tags", "where.x", "y"]
        check_rows(hr.open(path, alike)[:], {key: want[key] for key in alike}, range(rows))
        assert list(hr.open(path, ["flat"]).left_out) == []
        with pytest.raises(hr.InvalidArgumentError, match="the lists have different lengths:"):
            hr.open(path, nulls="fill")


def test_names_of_lists(tmp_path: Path) -> None:
    """What the schema needs to say that there is a list has no part in them, whatever it and the columns are called."""
    table = pa.table({
        "list": pa.array([{"element": [1]}, {"element": [2, 3]}]),
        "a.b": lists_of([1], [2, 3]),
        "e": pa.array([[{"list": 1, "array": 1}], [{"list": 2, "array": 2}, {"list": 3, "array": 3}]]),
    })  # fmt: skip
    for compliant in (True, False):
        pq.write_table(table, tmp_path / "a.parquet", use_compliant_nested_type=compliant)
        got = hr.open(tmp_path / "a.parquet")[:]
        assert set(got) == {n + s for n in ("a.b", "e.array", "e.list", "list.element") for s in ("", ".offsets")}
        for name in got:
            assert got[name].tolist() == ([0, 1, 3] if name.endswith("offsets") else [1, 2, 3])
        for name in ("a.b", "e.list", "list.element"):
            assert list(hr.open(tmp_path / "a.parquet", [name]).fields) == [name]


@pytest.mark.parametrize("writer", ["polars", "duckdb"])
def test_lists_of_other_writers(tmp_path: Path, writer: str) -> None:
    path, module = tmp_path / "a.parquet", pytest.importorskip(writer)
    hits = [None if i % 9 == 4 else [{"t": i / 2, "q": None if i % 4 == 1 else i}] * (i % 5) for i in range(500)]
    table = pa.table({
        "id": range(500), "a": lists_of(*[[j - i for j in range(i % 7)] for i in range(500)]), "hits": pa.array(hits),
    })  # fmt: skip
    if writer == "polars":
        module.from_arrow(table).write_parquet(path, row_group_size=100, data_page_size=300)
    else:
        module.from_arrow(table).write_parquet(str(path))
    want = expected(path)
    assert list(want) == ["id", "a", "hits.t", "hits.q"]
    for column, values in want.items():
        check_column(path, column, values)
    for names in (["id", "a"], ["id", "hits.t", "hits.q"]):
        some = {name: want[name] for name in names}
        check_everywhere(hr.open(path, names, nulls="fill"), some, np.random.default_rng(1), writer)
