"""A column of a CSV file, from text to numbers."""

from __future__ import annotations

import contextlib
from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace._support.checks import invalid
from headrace.errors import CorruptDataError, InvalidArgumentError

_EXACT = 2**53  # whole numbers up to it are the same in float64
_ROUNDED_DIGITS = 16  # of the least that is not


class CsvColumn:
    """The numbers of a column so far: whole ones, until the first that is not."""

    def __init__(self, path: str, name: str, place: int) -> None:
        self.name = name
        self._path = path
        self._place = place
        self._numbers: array[Any] = array("q")

    def add(self, rows: list[list[str]], lines: list[int]) -> None:
        """Add the cells of some rows, which begin at these lines."""
        cells = [row[self._place] for row in rows]
        if self._numbers.typecode == "q":
            with contextlib.suppress(ValueError, OverflowError):
                self._numbers.extend(array("q", map(int, cells)))
                return
            if all(_whole(cell) is not None for cell in cells):
                beyond = next(i for i, cell in enumerate(cells) if not -(2**63) <= int(cell) < 2**63)
                raise invalid(f"{self._where(lines[beyond])}: {cells[beyond]} is beyond 64 bits")
            self._become_float()
        try:
            self._numbers.extend(array("d", map(float, cells)))
        except (ValueError, OverflowError):
            wrong = next(i for i, cell in enumerate(cells) if _real(cell) is None)
            what = f"{cells[wrong]!r} in the column '{self.name}' is no number"
            raise damaged(self._path, lines[wrong], what) from None
        for cell, line in zip(cells, lines, strict=True):
            if len(cell) >= _ROUNDED_DIGITS and (whole := _whole(cell)) is not None and _is_rounded(whole):
                raise self._rounded(line, whole)

    def values(self) -> NDArray[Any]:
        return np.frombuffer(self._numbers, np.int64 if self._numbers.typecode == "q" else np.float64)

    def _become_float(self) -> None:
        for number in np.frombuffer(self._numbers, np.int64)[np.abs(np.frombuffer(self._numbers, np.int64)) > _EXACT]:
            if _is_rounded(int(number)):
                raise self._rounded(None, int(number))
        self._numbers = array("d", self._numbers)

    def _where(self, line: int | None) -> str:
        return f"{self._path}{'' if line is None else f', line {line}'}: column '{self.name}'"

    def _rounded(self, line: int | None, number: int) -> InvalidArgumentError:
        return invalid(
            f"{self._where(line)}: {number} would be rounded, as numbers there that are not whole make it float64",
            "Write the column in whole numbers, or as two columns.",
        )


def _is_rounded(number: int) -> bool:
    """Return whether float64 does not have a whole number."""
    try:
        return int(float(number)) != number
    except OverflowError:
        return True


def _whole(cell: str) -> int | None:
    with contextlib.suppress(ValueError):
        return int(cell)
    return None


def _real(cell: str) -> float | None:
    with contextlib.suppress(ValueError, OverflowError):
        return float(cell)
    return None


def damaged(path: str, line: int, what: str) -> CorruptDataError:
    """Return the error of a line of a CSV file."""
    return CorruptDataError(f"{path}, line {line}: {what}", message=what, file=path)
