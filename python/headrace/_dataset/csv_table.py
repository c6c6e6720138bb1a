"""Columns of numbers out of CSV files, read line by line into arrays of their type."""

from __future__ import annotations

import csv
import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from numpy.typing import NDArray

from headrace._dataset.csv_column import CsvColumn, damaged
from headrace._support.checks import path_bytes
from headrace.errors import (
    CorruptDataError,
    Error,
    FieldMissingError,
    FileMissingError,
    InvalidArgumentError,
    OutOfBudgetError,
    PermissionDeniedError,
    ReadFailedError,
)

_LONGEST_LINE = 1 << 24  # characters
_PIECE = 4096  # rows that are text at a time


def csv_paths(path: str) -> list[str]:
    """Return the files that a path or glob of CSV means, ordered naturally: ``t2.csv`` before ``t10.csv``."""
    given = str(Path(path).expanduser())
    if os.path.lexists(given) or not glob.has_magic(given):
        return [given]
    found = glob.glob(given, recursive=True)  # noqa: PTH207 (a Path has none of an absolute one)
    return sorted(found, key=lambda name: [(len(t), t) if t.isdigit() else (0, t) for t in re.split(r"(\d+)", name)])


def read_csv(path: str, names: Sequence[str], optional: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """Read columns by name: whole numbers as int64, others as float64; of ``optional`` those that the file has.

    Holds little more than the result.

    Raises:
        FieldMissingError: The first line does not have one of ``names``.
        CorruptDataError: It is no text, or a cell is no number; the text names the line.
        InvalidArgumentError: It is no regular file, or has numbers that neither type holds as they are.
        OutOfBudgetError: The process gets no memory for the columns.
    """
    limit = csv.field_size_limit(_LONGEST_LINE)  # one for the process; a cell is as long as a line may be
    try:
        with _opened(path) as file:
            return _columns(path, file, names, optional)
    except Error:
        raise
    except FileNotFoundError:
        raise FileMissingError(f"{path}: there is no such file", file=path) from None
    except PermissionError as error:
        raise PermissionDeniedError(f"{path}: {error.strerror}", message=error.strerror, file=path) from None
    except OSError as error:
        raise ReadFailedError(f"{path}: {error.strerror}", file=path) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorruptDataError(f"{path}: it is no table of text: {error}", file=path) from error
    except MemoryError:
        what = f"the process gets no memory for the columns {', '.join(names)}"
        hint = "Write the table as Parquet, in the smallest types that hold it."
        raise OutOfBudgetError(f"{path}: {what}. {hint}", message=what, file=path, hint=hint) from None
    finally:
        csv.field_size_limit(limit)


def _opened(path: str) -> TextIO:
    """Open a regular file; a pipe would be waited for, and a device may have no end."""
    number = os.open(path_bytes(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        what, hint = "it is not a regular file", "Name a file on a disk."
        raise InvalidArgumentError(f"{path}: {what}. {hint}", message=what, file=path, hint=hint)
    return open(number, newline="", encoding="utf-8-sig")  # noqa: PTH123 (a Path cannot take a descriptor)


def _columns(path: str, file: TextIO, names: Sequence[str], optional: Sequence[str]) -> dict[str, NDArray[Any]]:
    rows = csv.reader(_lines(path, file), strict=True)
    header = [name.strip() for name in next((row for row in rows if row), [])]
    need_columns(names, header, path)
    wanted = dict.fromkeys([*names, *(name for name in optional if name in header)])
    for name in wanted:
        if header.count(name) > 1:
            raise damaged(path, rows.line_num, f"{header.count(name)} columns are named '{name}'")
    columns = [CsvColumn(path, name, header.index(name)) for name in wanted]
    piece: list[list[str]] = []
    lines: list[int] = []
    for row in rows:
        if len(row) not in (0, len(header)):
            raise damaged(path, rows.line_num, f"{len(row)} values, where the first line has {len(header)}")
        if row:
            piece.append(row)
            lines.append(rows.line_num)
        if len(piece) == _PIECE:
            for column in columns:
                column.add(piece, lines)
            piece, lines = [], []
    for column in columns:
        column.add(piece, lines)
    return {column.name: column.values() for column in columns}


def _lines(path: str, file: TextIO) -> Iterator[str]:
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise damaged(path, number, f"a line of {_LONGEST_LINE:,} characters or more is no row of a table")
        yield line


def need_columns(names: Sequence[str], have: Sequence[str], source: str) -> None:
    """Raise FieldMissingError unless a table has these columns."""
    for name in names:
        if name not in have:
            what = f"{source} has no column '{name}'; there are {', '.join(have[:20]) or 'none'}"
            raise FieldMissingError(what, message=what, field=name)
