"""Tables that are joined to rows by a number: :meth:`Dataset.join`."""

from __future__ import annotations

import contextlib
import csv
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from headrace import _headrace
from headrace._support.checks import engine_text, invalid, path_list, real_number
from headrace.errors import CorruptDataError, FieldMissingError, FileMissingError, InvalidArgumentError, ReadFailedError
from headrace.transforms._base import Transform

if TYPE_CHECKING:
    from headrace.dataset import Dataset

#: What :meth:`Dataset.join` takes as a table. A data frame is a mapping in what it can do.
Table: TypeAlias = "str | os.PathLike[str] | Dataset | Mapping[str, Any]"


def join_of(table: Any, on: str, fields: Sequence[str], key: str | None, otherwise: float | None) -> Transform:
    """Return the transform that looks up each ``on`` in a table, as :meth:`Dataset.join` says."""
    on = engine_text("on", on)
    if isinstance(fields, str) or len(fields) == 0:
        raise invalid(f"fields must be a list of columns of the table, not {fields!r}")
    names = [engine_text("fields", name) for name in fields]
    key = on if key is None else engine_text("key", key)
    columns, source = _columns_of(table, [key, *names])
    keys, *values = (_numbers(columns[name], name, source) for name in (key, *names))
    for name, column in zip(names, values, strict=True):
        if len(column) != len(keys):
            raise invalid(f"{source}: '{name}' has {len(column)} rows, and '{key}' {len(keys)}")
    if len(keys) == 0:
        raise invalid(f"{source} has no rows")
    return Transform(
        "Join",
        on,
        keys=[keys],
        names=names,
        values=values,
        otherwise=None if otherwise is None else real_number("otherwise", otherwise),
    )


def _columns_of(table: Any, names: list[str]) -> tuple[Mapping[str, Any], str]:
    """Return what has the named columns, and what the table is called in messages."""
    if isinstance(table, (str, os.PathLike)):
        path = os.fspath(table)
        return (_read_csv(path, names) if path.lower().endswith(".csv") else _read_file(path, names)), path
    if hasattr(table, "sample_bytes"):  # a Dataset, whose module imports this one
        for name in names:
            if name in table.fields and table.fields[name].ragged:
                raise _no_value_a_row("the table", name)
        return {name: table[name][:] for name in names}, "the table"
    if not hasattr(table, "keys") or not hasattr(table, "__getitem__"):
        raise invalid(f"a table is a path, a Dataset, or a mapping of names to columns, not {table!r}")
    _need(names, [str(name) for name in table.keys()], "the table")  # noqa: SIM118 (a data frame's rows are no keys)
    return {name: table[name] for name in names}, "the table"


def _read_file(path: str, names: list[str]) -> Mapping[str, Any]:
    rows = _headrace.open(path_list(path), [(name, name) for name in dict.fromkeys(names)])
    columns: Mapping[str, Any] = rows.rows(0, len(rows))
    for name in names:
        if f"{name}.offsets" in columns:
            raise _no_value_a_row(path, name)
    return columns


def _no_value_a_row(source: str, name: str) -> InvalidArgumentError:
    return invalid(f"{source}: '{name}' has a list in each row; a column that is joined has one number")


def _read_csv(path: str, names: list[str]) -> Mapping[str, Any]:
    """Read columns of a text file by the standard library's csv module: whole numbers as int64, others as float64."""
    try:
        with Path(path).expanduser().open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            header = [name.strip() for name in next(lines, [])]
            _need(names, header, path)
            places = [header.index(name) for name in names]
            rows = []
            for line in lines:
                if len(line) not in (0, len(header)):
                    raise _damaged(path, lines.line_num, f"{len(line)} values, where the first line has {len(header)}")
                if line:
                    rows.append(([line[place] for place in places], lines.line_num))
    except FileNotFoundError:
        raise FileMissingError(f"{path}: there is no such file", file=path) from None
    except OSError as error:
        raise ReadFailedError(f"{path}: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptDataError(f"{path}: it is no table of text: {error}", file=path) from error
    return {name: _parsed(path, name, [(row[i], number) for row, number in rows]) for i, name in enumerate(names)}


def _parsed(path: str, name: str, cells: list[tuple[str, int]]) -> NDArray[Any]:
    with contextlib.suppress(ValueError):
        whole = [int(cell) for cell, _ in cells]
        if any(not -(2**63) <= number < 2**63 for number in whole):
            raise invalid(f"{path}: '{name}' has whole numbers beyond 2^53")
        return np.array(whole, dtype=np.int64)
    values = np.empty(len(cells))
    for i, (cell, line) in enumerate(cells):
        try:
            values[i] = float(cell)
        except ValueError:
            raise _damaged(path, line, f"{cell!r} in the column '{name}' is no number") from None
    return values


def _damaged(path: str, line: int, what: str) -> CorruptDataError:
    return CorruptDataError(f"{path}, line {line}: {what}", message=what, file=path)


def _need(names: list[str], have: list[str], source: str) -> None:
    for name in names:
        if name not in have:
            what = f"{source} has no column '{name}'; there are {', '.join(have[:20]) or 'none'}"
            raise FieldMissingError(what, message=what, field=name)


def _numbers(values: Any, name: str, source: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise invalid(f"{source}: '{name}' is {array.dtype} of {array.ndim} dimensions; a number a row is expected")
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))  # which the engine copies
