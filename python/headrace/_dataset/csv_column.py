"""A column of a CSV file, from text to numbers."""

from __future__ import annotations

import contextlib
import math
import re
from array import array
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace._support.checks import invalid
from headrace.errors import CorruptDataError, InvalidArgumentError

# What int() and float() take beyond it is no number of a table: digits of other scripts, "1_000".
_NUMBER = re.compile(r"\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)\s*", re.ASCII | re.IGNORECASE)
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
        for cell, line in zip(cells, lines, strict=True):
            if _NUMBER.fullmatch(cell) is None:
                raise damaged(self._path, line, f"{cell[:40]!r} in the column '{self.name}' is no number")
        if self._numbers.typecode == "q":
            with contextlib.suppress(ValueError, OverflowError):
                self._numbers.extend(array("q", map(int, cells)))
                return
            if all(map(_is_whole_text, cells)):
                beyond = next(i for i, cell in enumerate(cells) if not -(2**63) <= Decimal(cell) < 2**63)
                raise invalid(f"{self._where(lines[beyond])}: {cells[beyond][:40]} is beyond 64 bits")
            self._become_float()
        values = array("d", map(float, cells))
        self._numbers.extend(values)
        for cell, value, line in zip(cells, values, lines, strict=True):
            if math.isinf(value) and "inf" not in cell.lower():
                raise invalid(f"{self._where(line)}: {cell[:40]} is beyond float64")
            if len(cell) < _ROUNDED_DIGITS or value == 0 or not math.isfinite(value):
                continue  # 0 is never rounded; of exponents beyond its own, Decimal makes an error
            if _is_rounded(exact := Decimal(cell)):
                raise self._rounded(line, int(exact))

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


def _is_rounded(number: Decimal | int) -> bool:
    """Return whether a whole number is none that float64 has."""
    try:
        return int(number) == number and int(float(number)) != number
    except OverflowError:
        return True


def _is_whole_text(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdigit()


def damaged(path: str, line: int, what: str) -> CorruptDataError:
    """Return the error of a line of a CSV file."""
    return CorruptDataError(f"{path}, line {line}: {what}", message=what, file=path)
