"""Data sets of several Parquet files: that agree in all but how they are written, and that do not; names of columns."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import expected, names_place, same  # noqa: E402
from parquet_tables import small_table  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")]
NAMES = ["id", "x", "small"]


def test_a_column_that_another_file_lacks(tmp_path: Path) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    pq.write_table(small_table(), paths[0])
    pq.write_table(small_table().drop_columns(["x"]), paths[1])
    with pytest.raises(hr.Error) as refused:
        hr.open(paths, NAMES, nulls="fill")
    names_place(refused.value, paths[1], "x")


@pytest.mark.parametrize("name", ["id", "x", "small"])
def test_a_column_of_another_type_in_another_file(tmp_path: Path, name: str) -> None:
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    table = small_table()
    number = table.column_names.index(name)
    pq.write_table(table, paths[0])
    pq.write_table(table.set_column(number, name, pa.array(np.arange(60), pa.uint16())), paths[1])
    with pytest.raises(hr.Error) as refused:
        hr.open(paths, NAMES, nulls="fill")
    names_place(refused.value, paths[1], name)
    assert "uint16" in str(refused.value)
    assert {"id": "int64", "x": "float64", "small": "int8"}[name] in str(refused.value)


def test_files_of_other_row_groups_codecs_and_nullability(tmp_path: Path) -> None:
    tables = [small_table(rows, rows) for rows in (1, 200, 33)]
    options: list[dict[str, Any]] = [
        {},
        {"row_group_size": 7, "compression": "zstd"},
        {"data_page_version": "2.0", "use_dictionary": False},
    ]
    tables[2] = tables[2].cast(pa.schema([field.with_nullable(True) for field in tables[2].schema]))
    paths = [tmp_path / f"{i}.parquet" for i in range(3)]
    for path, table, words in zip(paths, tables, options, strict=True):
        pq.write_table(table, path, **words)
    for nulls in ("fill", "mask"):
        data = hr.open(paths, nulls=nulls)
        held = [expected(path) for path in paths]
        have = {name: np.concatenate([file[name].values for file in held]) for name in NAMES}
        if nulls == "mask":
            have |= {name + ".valid": np.concatenate([file[name].valid for file in held]) for name in NAMES}
        got = data[:]
        assert set(NAMES) <= set(got) <= set(have)
        for name in got:
            same(got[name], have[name], name)
        batches = [dict(batch) for batch in hr.Loader(data, batch_size=7, shuffle=True, threads=1)]
        order = np.lexsort((have["small"], have["id"]))
        read = {name: np.concatenate([batch[name] for batch in batches]) for name in got}
        now = np.lexsort((read["small"], read["id"]))
        for name in ("id", "small"):
            same(read[name][now], have[name][order], name)
        same(np.sort(read["x"]), np.sort(have["x"]), "x")


@pytest.mark.parametrize("nullable_first", [False, True])
@pytest.mark.parametrize("nulls", ["fill", "mask"])
def test_a_column_that_one_file_declares_nullable(tmp_path: Path, nulls: str, nullable_first: bool) -> None:
    """It is nullable in the data set: the rows of the other file have their values."""
    required = pa.table({"x": [1, 2, 3]}, pa.schema([pa.field("x", pa.int64(), nullable=False)]))
    pq.write_table(required, tmp_path / f"{int(nullable_first)}.parquet")
    pq.write_table(pa.table({"x": [4, None]}), tmp_path / f"{int(not nullable_first)}.parquet")
    data = hr.open([tmp_path / "0.parquet", tmp_path / "1.parquet"], nulls=nulls)
    same(data["x"][:], np.array([4, 0, 1, 2, 3] if nullable_first else [1, 2, 3, 4, 0]))
    if nulls == "mask":
        same(data["x.valid"][:], np.array([1, 0, 1, 1, 1] if nullable_first else [1, 1, 1, 1, 0], bool))


@pytest.mark.parametrize("name", ["x/y", "/x", "a.b", "x[0]", "\u00fcn\u00ef", "a b", ".valid"])
def test_names_of_columns_are_not_paths(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({name: [1, 2], "z": [3, 4]}), tmp_path / "n.parquet")
    assert set(hr.open(tmp_path / "n.parquet").fields) == {name, "z"}
    same(hr.open(tmp_path / "n.parquet", {"y": name})["y"][:], np.array([1, 2]))


def test_units_are_told_by_attributes(tmp_path: Path) -> None:
    """Nothing is warned of: a date is what it says. Files of different units are."""
    times = np.array([0, 1, 2], "datetime64[us]")
    columns = {"day": pa.array([0, 1, 2], pa.date32()), "at": times, "price": pa.array([1, 2, 3], pa.decimal128(9, 2))}
    pq.write_table(pa.table(columns), tmp_path / "0.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = hr.open(tmp_path / "0.parquet")
    assert data["day"].attrs["units"] == "days since 1970-01-01"
    assert data["at"].attrs["units"] == "microseconds since 1970"
    assert data["price"].attrs["stored as"] == "decimals of 2 digits behind the point"
    same(data["at"][:], np.array([0, 1, 2]))
    columns["at"] = times.astype("datetime64[ms]")
    pq.write_table(pa.table(columns), tmp_path / "1.parquet")
    with pytest.warns(hr.HeadraceWarning, match="at: files differ in what its values mean: units"):
        hr.open(tmp_path / "*.parquet")
