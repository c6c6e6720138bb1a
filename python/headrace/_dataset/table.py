"""Tables of numbers that a user may give in several forms: what :meth:`Dataset.join` and :class:`Spans` read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headrace import _headrace
from headrace._dataset.csv_table import csv_paths, need_columns, read_csv
from headrace._support.checks import brief, invalid, path_bytes
from headrace.column import Column
from headrace.errors import FieldMissingError, FileMissingError, InvalidArgumentError
from headrace.fields import FieldInfo


class FieldTable(Protocol):
    """What is used of a :class:`Dataset` that is given as a table."""

    @property
    def fields(self) -> Mapping[str, FieldInfo]: ...
    @property
    def sample_bytes(self) -> int: ...
    def __getitem__(self, name: str, /) -> Column: ...


#: A path, a data set, or a mapping of names to columns. A data frame is a mapping in what it can do.
Table: TypeAlias = str | os.PathLike[str] | FieldTable | Mapping[str, Any]

#: What a table that is no file is called in messages.
IN_MEMORY = "the table"


class TablePart(NamedTuple):
    """Columns of a table, or of one of its files, and what it is called in messages."""

    columns: dict[str, NDArray[Any]]
    source: str


def is_path(table: Any) -> bool:
    """Return whether a table is a path or glob."""
    return isinstance(table, (str, bytes, os.PathLike))


def is_csv(table: Any) -> bool:
    """Return whether a table is a path or glob of CSV files."""
    return is_path(table) and path_bytes(table).lower().endswith(b".csv")


def read_table(table: Any, names: Sequence[str], optional: Sequence[str] = ()) -> list[TablePart]:
    """Return the named columns as arrays of numbers, and of ``optional`` those that there are; a part for each file.

    Raises:
        FieldMissingError: The table does not have one of ``names``; the text lists those there are.
        FileMissingError: There is no such file.
        CorruptDataError: A file is damaged, or is no file of text.
        InvalidArgumentError: It is no table, or a column has other than a number a row.
    """
    names = list(dict.fromkeys(names))
    if is_csv(table):
        path = os.fsdecode(path_bytes(table))
        parts = [TablePart(dict(read_csv(file, names, optional)), file) for file in csv_paths(path)]
        if not parts:
            raise FileMissingError(f"{path}: no file matches", message="no file matches", file=path)
    elif is_path(table):
        parts = _read_files(path_bytes(table), names, optional)
    elif hasattr(table, "sample_bytes"):  # a Dataset: no mapping has that
        have = list(table.fields)
        need_columns(names, have, IN_MEMORY)
        wanted = _wanted(names, optional, have)
        for name in wanted:
            if table.fields[name].ragged:
                raise _no_value_a_row(IN_MEMORY, name)
        parts = [TablePart({name: table[name][:] for name in wanted}, IN_MEMORY)]
    else:
        have = _column_names(table)
        need_columns(names, have, IN_MEMORY)
        wanted = _wanted(names, optional, have)
        for name in wanted:
            if have.count(name) > 1:
                raise invalid(f"{IN_MEMORY} has {have.count(name)} columns that are named '{name}'")
        parts = [TablePart({name: table[name] for name in wanted}, IN_MEMORY)]
    return [
        TablePart({n: _numbers(c, n, part.source, n not in names) for n, c in part.columns.items()}, part.source)
        for part in parts
    ]


def _wanted(names: Sequence[str], optional: Sequence[str], have: Sequence[str]) -> list[str]:
    return list(dict.fromkeys([*names, *(name for name in optional if name in have)]))


def _column_names(table: Any) -> list[str]:
    """Return the columns of a mapping, of a data frame of pandas or polars, or of a table of Arrow."""
    if hasattr(table, "__getitem__"):
        if callable(getattr(table, "keys", None)):
            return [str(name) for name in table.keys()]  # noqa: SIM118 (a data frame's rows are no keys)
        for words in ("column_names", "columns"):
            if isinstance(names := getattr(table, words, None), (list, tuple)):
                return [str(name) for name in names]
    raise invalid(f"a table is a path, a Dataset, or a mapping of names to columns, not {brief(table)}")


def _read_files(path: bytes, names: Sequence[str], optional: Sequence[str]) -> list[TablePart]:
    rows = _headrace.open([path], [(name, name) for name in names])
    if more := [name for name in optional if name not in names and _has(path, name)]:
        rows = _headrace.open([path], [(name, name) for name in (*names, *more)])
    source = os.fsdecode(path)
    for field in rows.fields():
        if field["ragged"]:
            raise _no_value_a_row(source, field["name"])
    columns, files = rows.rows(0, len(rows)), rows.files()
    parts, at = [], 0
    for file, count in files:
        cut = {name: column[at : at + count] for name, column in columns.items()}
        parts.append(TablePart(cut, os.fsdecode(file) if len(files) > 1 else source))
        at += count
    return parts


def _has(path: bytes, name: str) -> bool:
    try:
        _headrace.open([path], [(name, name)])
    except FieldMissingError:
        return False
    return True


def _no_value_a_row(source: str, name: str) -> InvalidArgumentError:
    return invalid(f"{source}: '{name}' has a list in each row; a column that is joined has one number")


def _numbers(values: Any, name: str, source: str, is_optional: bool) -> NDArray[Any]:
    """Return a column as an array; an optional one may have more than a number a row, or fixed-length text."""
    if missing := _num_missing(values):
        raise invalid(
            f"{source}: {missing} of the values of '{name}' are missing", "Fill them, or leave those rows out."
        )
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise invalid(f"{source}: '{name}' is no array: {error}") from None
    if (
        array.dtype.kind == "f"
        and isinstance(values, Sequence)
        and values
        and all(isinstance(one, int) for one in values)
    ):
        raise invalid(f"{source}: no type holds all whole numbers of '{name}'", "Leave out those beyond 64 bits.")
    is_number = array.dtype.kind in "biuf" and array.dtype.itemsize <= 8
    fits = array.ndim > 0 and (is_number or array.dtype.kind == "S") if is_optional else array.ndim == 1 and is_number
    if not fits:
        raise invalid(f"{source}: '{name}' is {array.dtype} of {array.ndim} dimensions; a number a row is expected")
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))


def _num_missing(values: Any) -> int:
    """Return how many values of a masked array, or of a column of Arrow, are none: NumPy would make numbers of them."""
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    count = getattr(values, "null_count", 0)
    return int(count() if callable(count) else count)
