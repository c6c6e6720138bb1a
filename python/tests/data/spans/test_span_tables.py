"""hr.Spans(meta=) of tables that are no file of whole numbers: what Dataset.join takes, and floats."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:.*belong to no sample:headrace.HeadraceWarning")]
TABLE = {  # the samples in no order
    "batch": np.array([1, 10, 2, 2, 1]),
    "first": np.array([3, 0, 4, 0, 0]),
    "last": np.array([8, 9, 8, 3, 2]),
    "y": np.array([0.5, 1.5, 2.5, 3.5, 4.5]),
    "v": np.arange(10).reshape(5, 2),
}
ORDER = [4, 0, 3, 2, 1]
WORDS = {"first": "first", "last": "last", "file": "batch", "file_template": "rows_{batch}.npz"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    for number in (1, 2, 10):
        np.savez(tmp_path / f"rows_{number}.npz", x=np.arange(10) + 100 * number)
    return tmp_path


def opened(folder: Path, meta: Any, targets: Any = ("y",), **words: Any) -> hr.Dataset:
    spans = hr.Spans(meta=meta, **{**WORDS, **words})
    return hr.open(f"{folder}/rows_*.npz", ["x"], sample_by=spans, targets=list(targets))


def check(data: hr.Dataset) -> None:
    """Each sample has the rows that the table says, and its target."""
    for row, sample in zip(ORDER, data, strict=True):
        first, last, file = (int(TABLE[name][row]) for name in ("first", "last", "batch"))
        assert sample["x"].tolist() == list(range(100 * file + first, 100 * file + last + 1))
        assert sample["y"] == TABLE["y"][row]


def table_of(folder: Path, kind: str) -> Any:
    numbers = {name: column for name, column in TABLE.items() if name != "v"}
    if kind == "csv":
        lines = [",".join(numbers), *(",".join(map(str, row)) for row in zip(*numbers.values(), strict=True))]
        (folder / "m.CSV").write_text("\n".join(lines))
        return folder / "m.CSV"
    if kind in ("npz", "Dataset", "floats"):
        columns = {name: column * 1.0 for name, column in numbers.items()} if kind == "floats" else numbers
        np.savez(folder / "m.npz", **columns)  # type: ignore[arg-type]
        return hr.open(folder / "m.npz") if kind == "Dataset" else str(folder / "m.npz")
    if kind == "float32 dict":
        return {**numbers, "first": numbers["first"].astype("f4"), "batch": numbers["batch"].astype("f8")}
    if kind == "lists":
        return {name: column.tolist() for name, column in numbers.items()}
    if kind == "Arrow":
        return pytest.importorskip("pyarrow").table(numbers)
    return pytest.importorskip("pandas").DataFrame(numbers) if kind == "pandas" else numbers


@pytest.mark.parametrize(
    "kind", ["npz", "floats", "csv", "Dataset", "dict", "float32 dict", "lists", "Arrow", "pandas"]
)
def test_tables_of_all_kinds(folder: Path, kind: str) -> None:
    data = opened(folder, table_of(folder, kind))
    check(data)
    check(pickle.loads(pickle.dumps(data)))


def test_targets_may_have_several_numbers_and_other_names(folder: Path) -> None:
    data = hr.open(
        f"{folder}/rows_*.npz", ["x"], sample_by=hr.Spans(meta=TABLE, **WORDS), targets={"vector": "v", "z": "y"}
    )
    assert data["vector"][:].tolist() == TABLE["v"][ORDER].tolist()
    assert data["z"][:].tolist() == TABLE["y"][ORDER].tolist()


def test_a_table_for_each_file(folder: Path) -> None:
    """In the natural order of their names, as the files of rows are: m10 comes last."""
    for kind in ("csv", "npz"):
        for number in (1, 2, 10):
            columns = {"first": np.array([0.0, 5]), "last": np.array([3.0, 5 + number // 5]), "y": [number, -number]}
            if kind == "npz":
                np.savez(folder / f"m{number}.npz", **columns)  # type: ignore[arg-type]
            else:
                text = "first,last,y\n" + "\n".join(f"{a},{b},{y}" for a, b, y in zip(*columns.values(), strict=True))
                (folder / f"m{number}.csv").write_text(text)
        data = opened(folder, f"{folder}/m*.{kind}", file=None, file_template=None)
        assert [(int(s["x"][0]), len(s["x"]), int(s["y"])) for s in data] == [
            (n * 100 + first, length, y) for n in (1, 2, 10) for first, length, y in ((0, 4, n), (5, 1 + n // 5, -n))
        ]


def test_a_column_may_be_called_file(folder: Path) -> None:
    table = {**TABLE, "file": TABLE["batch"]}
    check(opened(folder, table, file="file"))


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"first": TABLE["first"] + [0, 0, 0.5, 0, 0]}, hr.InvalidArgumentError, "row 2: 'first' is 4.5 "),
        ({"last": TABLE["last"] * [1, 1, 1, np.nan, 1]}, hr.InvalidArgumentError, "row 3: 'last' is nan "),
        ({"batch": TABLE["batch"] * [1, 1e30, 1, 1, 1]}, hr.InvalidArgumentError, "row 1: 'batch' is 1e\\+31 "),
        ({"first": np.full(5, 2**63, "u8")}, hr.InvalidArgumentError, "row 0: 'first' is 9223372036854775808"),
        ({"first": list("abcde")}, hr.InvalidArgumentError, "'first' is <U1"),
        ({"first": np.ones(5, bool)}, hr.InvalidArgumentError, "'first' is bool"),
        ({"first": np.zeros((5, 2), int)}, hr.InvalidArgumentError, "'first' is int64 of 2 dimensions"),
        ({"y": [1.0]}, hr.InvalidArgumentError, "'y' has 1 rows, and 'first' 5"),
        ({"last": TABLE["last"] + [0, 0, 9, 0, 0]}, hr.CorruptDataError, "^the table › first: row 2: .*rows_2.npz"),
    ],
)
def test_tables_that_are_wrong(folder: Path, changes: dict[str, Any], error: type[hr.Error], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        opened(folder, {**TABLE, **changes})
    assert caught.value.file is None
    assert str(folder / "cache") not in f"{caught.value} {caught.value.message}"


def test_the_row_of_a_file_is_named(folder: Path) -> None:
    (folder / "m.csv").write_text("batch,first,last,y\n1,0,3,1\n2,0,2.5,1\n")
    with pytest.raises(hr.InvalidArgumentError, match=r"m\.csv: row 1: 'last' is 2\.5") as caught:
        opened(folder, folder / "m.csv")
    assert (caught.value.file, caught.value.field) == (str(folder / "m.csv"), "last")
    (folder / "m.csv").write_text("batch,first,last,y\n1,0,3,1\n2,0,12,1\n")
    with pytest.raises(hr.CorruptDataError, match=r"m\.csv › first: row 1") as other:
        opened(folder, folder / "m.csv")
    assert other.value.file == str(folder / "m.csv")


@pytest.mark.parametrize("meta", [3, [1, 2], object(), np.arange(3)], ids=["int", "list", "object", "array"])
def test_what_is_no_table(folder: Path, meta: Any) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="a table is a path, a Dataset, or a mapping"):
        opened(folder, meta)


def test_columns_that_are_missing(folder: Path) -> None:
    with pytest.raises(hr.FieldMissingError, match="the table has no column 'frist'; there are batch, first"):
        opened(folder, TABLE, first="frist")
    with pytest.raises(hr.FileMissingError, match=r"none\*\.csv"):
        opened(folder, f"{folder}/none*.csv")
    with pytest.raises(hr.InvalidArgumentError, match="first row of a sample, and one for the last or the end"):
        opened(folder, TABLE, last=None)


def test_a_table_is_kept_once_and_made_again(folder: Path) -> None:
    """For this user alone; a file that has changed since is not taken."""
    check(opened(folder, TABLE))
    (kept,) = (folder / "cache" / "tables").iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    file = kept / "table" / "0.npz"
    known = file.stat().st_mtime_ns
    check(opened(folder, dict(TABLE)))
    assert file.stat().st_mtime_ns == known
    np.savez(file, first=[0], last=[0], batch=[1], y=[9.0])
    check(opened(folder, TABLE))
    shutil.rmtree(kept)
    check(opened(folder, TABLE))
    assert [path.name for path in (folder / "cache" / "tables").iterdir()] == [kept.name]


def test_inspect_takes_them_too(folder: Path) -> None:
    told = hr.inspect(f"{folder}/rows_*.npz", sample_by=hr.Spans(meta=TABLE, **WORDS))
    assert "5 samples" in str(told)


def bad_tables() -> dict[str, tuple[Any, str]]:
    pa = pytest.importorskip("pyarrow")
    return {
        "nulls of Arrow": (
            pa.table({"first": pa.array([2**53 + 1, None]), "last": [1, 2]}),
            "1 of the values of 'first'",
        ),
        "masks": (
            {"first": np.ma.array([0, 99], mask=[0, 1]), "last": [1, 2]},
            "1 of the values of 'first' are missing",
        ),
        "no type": ({"first": [0, 1], "last": [-1, 2**63]}, "no type holds all whole numbers of 'last'"),
        "names": (pa.table([[0], [0], [3]], names=["first", "first", "last"]), "2 columns that are named 'first'"),
        "nothing": ({"first": [], "last": []}, "the table has no rows"),
    }


@pytest.mark.parametrize("name", ["nulls of Arrow", "masks", "no type", "names", "nothing"])
def test_what_numpy_would_make_other_numbers_of_is_refused(folder: Path, name: str) -> None:
    table, said = bad_tables()[name]
    with pytest.raises(hr.InvalidArgumentError, match=said):
        hr.open(folder / "rows_1.npz", ["x"], sample_by=hr.Spans(meta=table, first="first", last="last"))
