"""What cannot be done with lists of Parquet files is refused by name, and never taken for something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
from parquet_lists import lists_of, write_columns
from twin_files import write_h5

import headrace as hr

pytestmark = pytest.mark.fast


def silently(reason: str) -> pytest.MarkDecorator:
    return pytest.mark.xfail(strict=True, reason=reason, raises=(AssertionError, pytest.fail.Exception, hr.Error))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two events of key 1, of which the second is empty, and one of key 2."""
    return write_columns(tmp_path / "a.parquet", a=lists_of([5, 5], [], [7]), y=[3, 4, 5], key=[1, 1, 2])


# --- lengths ---------------------------------------------------------------------------------------------------------


def test_lists_of_different_lengths(tmp_path: Path) -> None:
    path = write_columns(
        tmp_path / "a.parquet",
        a=lists_of([1, 2], [3], []),
        b=lists_of([1, 2], [], [3]),
        c=lists_of([1], [], [2]),
        y=[1, 2, 3],
    )
    with pytest.raises(hr.InvalidArgumentError, match=r"row 1 has 1 values? in 'a', and 0 in 'b'") as refused:
        hr.open(path, ["a", "b", "y"])
    assert str(refused.value.file) == str(path)
    assert "fields=" in refused.value.hint
    with pytest.raises(hr.InvalidArgumentError, match="the lists have different lengths:") as refused:
        hr.open(path)
    assert all(f"{name}: {count} values" in str(refused.value) for name, count in (("a", 3), ("b", 3), ("c", 2)))
    assert str(refused.value.file) == str(path)
    for name in ("a", "b", "c"):
        assert len(hr.open(path, [name, "y"])) == 3


def test_lengths_that_differ_in_a_later_file(tmp_path: Path) -> None:
    good = write_columns(tmp_path / "good.parquet", a=lists_of([1, 2], [3]), b=lists_of([1, 2], [3]))
    bad = write_columns(tmp_path / "bad.parquet", a=lists_of([1, 2], [3]), b=lists_of([1], [2, 3]))
    with pytest.raises(hr.InvalidArgumentError, match="row 0 has 2 values in 'a', and 1 in 'b'") as refused:
        hr.open([good, bad])
    assert str(refused.value.file) == str(bad)


def test_lists_without_values_and_lists_that_are_empty_are_alike(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "a.parquet", a=lists_of([1], None, []), b=lists_of([1], [], None))
    got = hr.open(path, nulls="fill")[:]
    assert got["a.offsets"].tolist() == got["b.offsets"].tolist() == [0, 1, 1, 1]
    for name, row in (("a", 1), ("b", 2)):
        with pytest.raises(hr.InvalidArgumentError, match=f"row {row} has no list") as refused:
            hr.open(path, [name])
        assert (str(refused.value.file), refused.value.field) == (str(path), name)


# --- files that differ -----------------------------------------------------------------------------------------------

FORMS: dict[str, Any] = {
    "list": lists_of([1], [2, 3], kind=pa.int64()),
    "list of one each": lists_of([1], [2], kind=pa.int64()),
    "scalar": pa.array([1, 2]),
    "int32": lists_of([1], [2, 3]),
    "struct": pa.array([[{"q": 1}], [{"q": 2}]]),
}


@pytest.mark.parametrize("fields", [None, ["a"], ["a", "y"]], ids=str)
@pytest.mark.parametrize(
    ("first", "second"), [("list", "scalar"), ("scalar", "list"), ("list of one each", "scalar"),
                          ("scalar", "list of one each")],
)  # fmt: skip
def test_a_list_in_one_file_and_a_value_in_another(tmp_path: Path, first: str, second: str, fields: Any) -> None:
    paths = [write_columns(tmp_path / f"{i}.parquet", a=FORMS[n], y=[3, 4]) for i, n in enumerate((first, second))]
    with pytest.raises(hr.InvalidArgumentError, match=r"\blist") as refused:
        hr.open(paths, fields)
    assert all(path.name in str(refused.value) for path in paths)


@pytest.mark.parametrize("pair", [("list", "int32"), ("int32", "list")])
def test_elements_of_different_types(tmp_path: Path, pair: tuple[str, str]) -> None:
    paths = [write_columns(tmp_path / f"{n}.parquet", a=FORMS[n], y=[3, 4]) for n in pair]
    for fields in (None, ["a"]):
        with pytest.raises(hr.InvalidArgumentError, match=r"int32.*int64|int64.*int32") as refused:
            hr.open(paths, fields)
        assert all(path.name in str(refused.value) for path in paths)
        assert refused.value.field == "a"


def test_a_list_that_another_file_lacks(tmp_path: Path) -> None:
    paths = [write_columns(tmp_path / "1.parquet", a=FORMS["list"], y=[3, 4])]
    paths += [write_columns(tmp_path / "2.parquet", a=FORMS["struct"], y=[3, 4])]
    with pytest.raises(hr.FieldMissingError, match=r"no column 'a'.*a\.q") as refused:
        hr.open(paths)
    assert str(refused.value.file) == str(paths[1])


@pytest.mark.parametrize("first", ["parquet", "h5"])
def test_an_array_of_another_format_is_no_list(path: Path, first: str) -> None:
    other = write_h5(path.with_suffix(".h5"), {"a": np.arange(4, dtype="i4"), "y": np.arange(4), "key": np.arange(4)})
    with pytest.raises(hr.InvalidArgumentError, match=r"\blist"):
        hr.open([path, other] if first == "parquet" else [other, path])


# --- lists beside other things ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parquet", "h5"])
def test_lists_of_other_files(path: Path, kind: str) -> None:
    own = write_h5(path.with_name("own.h5"), {"x": np.arange(3)})
    own = own if kind == "h5" else write_columns(path.with_name("own.parquet"), x=range(3))
    with pytest.raises(hr.UnsupportedError, match="lists of files beside the own ones") as refused:
        hr.open(own, {"x": "x", "a": f"{path}::a"})
    assert refused.value.field == "a"
    assert hr.open(own, {"x": "x", "y": f"{path}::y"})[:]["y"].tolist() == [3, 4, 5]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (["a"], {"sample_by": "key"}),
        (None, {"sample_by": "key"}),
        (["a"], {"sample_by": hr.Spans(offsets=[0, 2, 3])}),
        (["y"], {"sample_by": "key", "targets": ["a"]}),
        (["y"], {"sample_by": hr.Spans(meta="{meta}", first="first", end="end"), "targets": ["a"]}),
        (["y"], {"sample_by": "key", "targets": {"t": "{meta}::a"}}),
    ],
    ids=["a key", "default fields", "offsets", "a target", "a target of the table", "a target of others"],
)
def test_samples_of_rows_that_have_lists(path: Path, fields: Any, words: dict[str, Any]) -> None:
    meta = write_columns(path.with_name("meta.parquet"), a=lists_of([1], [2]), first=[0, 2], end=[2, 3])
    if isinstance(words["sample_by"], hr.Spans) and "targets" in words:
        words = {**words, "sample_by": hr.Spans(meta=meta, first="first", end="end")}
    if isinstance(words.get("targets"), dict):
        words = {**words, "targets": {"t": f"{meta}::a"}}
    with pytest.raises(hr.Error, match=r"\b[Ll]ists?\b"):
        hr.open(path, fields, **words)


def test_a_list_is_no_key(path: Path) -> None:
    with pytest.raises(hr.Error, match=r"\blist"):
        hr.open(path, ["y"], sample_by="a")


def test_a_list_is_no_column_of_a_table_of_spans(path: Path) -> None:
    meta = write_columns(path.with_name("meta.parquet"), first=lists_of([0, 2], []), end=[2, 3])
    with pytest.raises(hr.Error, match=r"\blist"):
        hr.open(path, ["y"], sample_by=hr.Spans(meta=meta, first="first", end="end"))


def test_a_list_is_no_column_of_a_table_that_is_joined(path: Path) -> None:
    table = write_columns(path.with_name("table.parquet"), key=[1, 2], l=lists_of([1, 2], []))
    with pytest.raises(hr.Error, match=r"\blist"):
        hr.open(path, ["a", "key"]).join(table, "key", ["l"])


@pytest.mark.parametrize("words", [{"sample_axes": 2, "fields": ["a"]}, {"broadcast": {"y": "y"}, "fields": ["a"]}])
def test_cells_of_axes(path: Path, words: dict[str, Any]) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="a row of lists is a sample"):
        hr.open(path, **words)


def test_the_names_of_parquets_own_groups(path: Path) -> None:
    """The path that is written in the schema is none of ours; the message lists those there are."""
    with pytest.raises(hr.FieldMissingError, match=r"no column 'a\.list\.element'. It has: ") as refused:
        hr.open(path, ["a.list.element"])
    assert (str(refused.value.file), refused.value.field) == (str(path), "a.list.element")


def test_the_name_of_the_offsets_is_taken(path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=r"a field is named a\.offsets.* another name"):
        hr.open(path, {"a": "a", "a.offsets": "y"})
