"""Tables of spans that are wrong: refused by type, with the file, the row and what is wrong with it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pytest.importorskip("pyarrow")

from meta_files import FIELDS, by_meta, make_rows, write

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:.*belong to no sample:headrace.HeadraceWarning")]
ROWS = {1: 200, 2: 150, 10: 97}
GOOD = {
    "batch_id": [1, 1, 2, 10, 2],
    "first": [0, 100, 0, 0, 75],
    "last": [99, 199, 74, 96, 149],
    "y": [0.0, 1, 2, 3, 4],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    for batch, rows in ROWS.items():
        write(made / f"batch_{batch}.parquet", make_rows(rows, batch))
    return made


def table(path: Path, dtype: Any = np.int64, **changes: Any) -> Path:
    """The good table with another value in a row: first=(3, -1)."""
    columns: dict[str, Any] = {name: np.array(values) for name, values in GOOD.items()}
    for name in ("batch_id", "first", "last"):
        row, value = changes.get(name, (0, columns[name][0]))
        columns[name][row] = value
        columns[name] = columns[name].astype(dtype)
    return write(path, columns)


def refused(folder: Path, spans: hr.Spans, kind: type[hr.Error], *texts: str, **more: Any) -> hr.Error:
    """Open with it: the error, whose text and hint have all of `texts`."""
    words: dict[str, Any] = {"targets": ["y"], **more}
    with pytest.raises(hr.Error) as caught:
        hr.open(f"{folder}/batch_*.parquet", FIELDS, sample_by=spans, **words)
    assert type(caught.value) is kind, repr(caught.value)
    told = f"{caught.value} {caught.value.hint}"
    for text in texts:
        assert text in told, (text, told)
    return caught.value


def test_the_table_is_good(folder: Path, tmp_path: Path) -> None:
    data = hr.open(f"{folder}/batch_*.parquet", FIELDS, sample_by=by_meta(table(tmp_path / "m.parquet")), targets=["y"])
    assert [float(event["y"]) for event in data] == [0, 1, 2, 4, 3]


@pytest.mark.parametrize(
    ("changes", "row", "texts"),
    [
        ({"last": (1, 200)}, 1, ["rows 100 to 200", "batch_1.parquet", "which has 200 rows"]),
        ({"last": (3, 97)}, 3, ["rows 0 to 97", "batch_10.parquet", "which has 97 rows"]),
        ({"last": (3, 2**63 - 1)}, 3, ["batch_10.parquet", "which has 97 rows"]),
        ({"first": (4, 2**63 - 1)}, 4, ["batch_2.parquet", "which has 150 rows"]),
        ({"first": (0, -1)}, 0, ["rows -1 to 99", "batch_1.parquet"]),
        ({"first": (0, -(2**63))}, 0, ["batch_1.parquet"]),
        ({"last": (0, -(2**63))}, 0, ["batch_1.parquet"]),
        ({"last": (0, -2)}, 0, ["rows 0 to -2", "batch_1.parquet"]),
        ({"last": (4, 73)}, 4, ["rows 75 to 73", "batch_2.parquet", "last = first - 1"]),
        ({"last": (0, 100)}, 1, ["rows 100 to 199", "batch_1.parquet", "the sample of row 0 has some too"]),
        ({"first": (4, 74)}, 4, ["rows 74 to 149", "batch_2.parquet", "the sample of row 2 has some too"]),
        ({"first": (1, 0)}, 1, ["rows 0 to 199", "batch_1.parquet", "the sample of row 0 has some too"]),
        ({"batch_id": (2, 1)}, 0, ["rows 0 to 99", "batch_1.parquet", "row 2"]),
        ({"batch_id": (3, 7)}, 3, ["batch_7.parquet", "neither among the opened files nor in their folders"]),
        ({"batch_id": (3, -1)}, 3, ["batch_-1.parquet", "neither among the opened files"]),
    ],
    ids=str,
)
def test_rows_that_are_wrong(folder: Path, tmp_path: Path, changes: dict[str, Any], row: int, texts: list[str]) -> None:
    meta = table(tmp_path / "m.parquet", **changes)
    error = refused(folder, by_meta(meta), hr.CorruptDataError, *texts)
    assert str(error.file) == str(meta)
    assert re.search(rf"\brow {row}: ", str(error)), error


@pytest.mark.parametrize(("value", "dtype"), [(-(2**31), np.int32), (-5, np.int32), (2**32 - 5, np.uint32)])
def test_numbers_that_wrapped(folder: Path, tmp_path: Path, value: int, dtype: Any) -> None:
    """As row numbers beyond 2^31 do where they are kept in 32 bits; graphnet's files have them."""
    meta = table(tmp_path / "m.parquet", dtype, first=(3, value))
    assert f"row 3: its sample has the rows {value} to 96" in str(refused(folder, by_meta(meta), hr.CorruptDataError))


def test_the_row_is_that_of_its_own_file(folder: Path, tmp_path: Path) -> None:
    table(tmp_path / "m_1.parquet", batch_id=(2, 2))
    few = {name: np.array(values)[:2] for name, values in GOOD.items()}
    write(tmp_path / "m_2.parquet", {**few, "batch_id": np.array([10, 10]), "first": np.array([0, 9])})
    error = refused(folder, by_meta(f"{tmp_path}/m_*.parquet"), hr.CorruptDataError)
    assert str(error.file).endswith("m_2.parquet")


def test_spans_that_end_before_they_begin(folder: Path, tmp_path: Path) -> None:
    end = np.array(GOOD["last"]) + 1
    end[4] = 74
    meta = write(tmp_path / "m.parquet", {**GOOD, "end": end})
    error = refused(
        folder, by_meta(meta, last=None, end="end"), hr.CorruptDataError, "batch_2.parquet", "from first on"
    )
    assert "row 4: " in str(error)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array([0, 100, np.nan, 0, 75]), r"row 2: 'first' is nan \(float64\)"),
        (np.array([0, 100, 0, 2.5, 75]), r"row 3: 'first' is 2\.5 \(float64\)"),
        (np.array([True, False, True, True, False]), "bool"),
        ([0, 100, None, 0, 75], "row 2 has no value"),
        (["0", "100", "0", "0", "75"], "first"),
    ],
    ids=["nan", "fraction", "bools", "nulls", "texts"],
)
def test_columns_that_are_no_whole_numbers(folder: Path, tmp_path: Path, column: Any, words: str) -> None:
    meta = write(tmp_path / "m.parquet", {**GOOD, "first": column})
    with pytest.raises((hr.InvalidArgumentError, hr.UnsupportedError), match=words) as caught:
        hr.open(f"{folder}/batch_*.parquet", FIELDS, sample_by=by_meta(meta), targets=["y"])
    assert str(caught.value.file) == str(meta)
    assert "first" in f"{caught.value.field} {caught.value}"


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"last": None}, ["first row of a sample, and one for the last or the end", "one of last= and end="]),
        ({"end": "last"}, ["one of last= and end="]),
        ({"first": None}, ["a field for the first row of a sample", "Give first="]),
        ({"file_template": None}, ["file names a field", "Give both"]),
        ({"file": None}, ["file_template", "Give both"]),
        ({"file_template": "batch_2.parquet"}, ["batch_2.parquet", "one {…}"]),
        ({"file_template": "batch_{a}_{b}.parquet"}, ["batch_{a}_{b}.parquet", "one {…}"]),
        ({"file_template": "batch_}{.parquet"}, ["one {…}"]),
        ({"file_template": "batch_{a.parquet"}, ["one {…}"]),
        (
            {"file": None, "file_template": None},
            ["does not say which of the 3 files has the rows of a sample", "file="],
        ),
        ({"offsets": "sensor_id"}, ["offsets= or meta="]),
        ({"first": 3}, ["first of hr.Spans is a text, not 3"]),
    ],
    ids=str,
)
def test_words_that_are_wrong(folder: Path, tmp_path: Path, changes: dict[str, Any], texts: list[str]) -> None:
    refused(folder, by_meta(table(tmp_path / "m.parquet"), **changes), hr.InvalidArgumentError, *texts)


def test_what_is_not_there(folder: Path, tmp_path: Path) -> None:
    meta = table(tmp_path / "m.parquet")
    error = refused(folder, by_meta(tmp_path / "mata.parquet"), hr.FileMissingError, "mata.parquet", "m.parquet")
    assert os.fspath(error.file) == str(tmp_path / "mata.parquet")
    refused(folder, by_meta(f"{tmp_path}/x_*.parquet"), hr.FileMissingError, "x_*.parquet")
    for word, names in (("first", "frist"), ("last", "lost"), ("file", "bach_id")):
        error = refused(folder, by_meta(meta, **{word: names}), hr.FieldMissingError, f"'{names}'", "batch_id", "first")
        assert str(error.file) == str(meta)
    error = refused(folder, by_meta(meta), hr.FieldMissingError, "'z'", targets=["z"])
    (tmp_path / "empty.parquet").write_bytes(b"")
    error = refused(folder, by_meta(tmp_path / "empty.parquet"), hr.CorruptDataError, "empty.parquet")


def test_targets_of_another_length(folder: Path, tmp_path: Path) -> None:
    """In other files, and in those of the rows, which are HDF5 here: all columns of Parquet have as many rows."""
    np.savez(tmp_path / "y.npz", y=np.arange(4))
    meta = table(tmp_path / "m.parquet")
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["z"] = np.arange(200), np.arange(4)
    spans = hr.Spans(meta=write(tmp_path / "one.parquet", {"a": [0, 90], "b": [89, 199]}), first="a", last="b")
    with pytest.raises(hr.InvalidArgumentError, match="z has 4 rows for 2 samples"):
        hr.open(tmp_path / "rows.h5", ["x"], sample_by=spans, targets=["z"])
    targets = {"y": f"{tmp_path}/y.npz::y"}
    refused(folder, by_meta(meta), hr.InvalidArgumentError, "y has 4 rows for 5 samples", targets=targets)


def test_names_that_two_files_have(tmp_path: Path) -> None:
    """Which of them a row of the table means is not known."""
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        write(tmp_path / part / "batch_1.parquet", make_rows(200, ord(part)))
    meta = write(tmp_path / "m.parquet", {name: values[:2] for name, values in GOOD.items()})
    with pytest.raises(hr.InvalidArgumentError, match=r"batch_1\.parquet"):
        hr.open(f"{tmp_path}/?/batch_*.parquet", FIELDS, sample_by=by_meta(meta), targets=["y"])


def test_no_event_of_the_files_that_were_opened(folder: Path, tmp_path: Path) -> None:
    meta = write(tmp_path / "m.parquet", {name: values[:2] for name, values in GOOD.items()})
    with pytest.raises(hr.InvalidArgumentError, match=r"m\.parquet"):  # the table has none: it is not the files' fault
        hr.open(folder / "batch_2.parquet", FIELDS, sample_by=by_meta(meta), targets=["y"])
