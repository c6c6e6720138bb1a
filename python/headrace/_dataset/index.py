"""Row numbers: what may stand in ``dataset[...]``, as numbers from 0 to len - 1."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace.errors import IndexOutOfRangeError


def is_row_number(key: Any) -> bool:
    """Is ``key`` one whole number (of any integer type, but not a bool)?"""
    return hasattr(key, "__index__") and not isinstance(key, (bool, np.bool_)) and np.ndim(key) == 0


def row_number(key: Any, total: int) -> int:
    """``key`` counted from the start. Raises IndexOutOfRangeError outside [-total, total)."""
    number = operator.index(key)
    if not -total <= number < total:
        raise _out_of_range(number, total)
    return number + total if number < 0 else number


def row_numbers(key: Any, total: int) -> NDArray[np.uint64]:
    """Return a slice, a list or an array of row numbers, or a mask of all rows, as contiguous uint64 of shape (rows,).

    The numbers lie in memory of their own, and are copied before they are checked: what is read without the GIL later
    is what was checked, whatever other threads write into the caller's array.

    Raises:
        TypeError: It is none of these.
        IndexOutOfRangeError: A row does not exist, or the mask has another length.
    """
    if isinstance(key, (tuple, set, dict)) or key is None:
        raise TypeError(f"rows are chosen by a number, a slice, a list or a mask, not by {type(key).__name__}")
    if isinstance(key, slice):
        return np.arange(*key.indices(total), dtype=np.int64).view(np.uint64)
    wanted = np.asarray(key)
    if wanted.ndim != 1:
        raise TypeError(f"rows are chosen by a list of one dimension, not {wanted.ndim}")
    if wanted.dtype == np.bool_:
        if len(wanted) != total:
            raise IndexOutOfRangeError(f"a mask must have one value a row: {total}, not {len(wanted)}")
        return np.flatnonzero(wanted).astype(np.int64, copy=False).view(np.uint64)
    if wanted.size == 0:
        return np.empty(0, np.uint64)
    if wanted.dtype.kind not in "iu":
        raise TypeError(f"row numbers must be integers, not {wanted.dtype}")
    signed = wanted.dtype.kind == "i"
    fresh = type(key) in (list, range)  # asarray() has made it just now
    wanted = wanted.astype(np.int64 if signed else np.uint64, order="C", copy=not fresh)
    for extreme in (int(wanted.min()), int(wanted.max())):
        if not -total <= extreme < total:
            raise _out_of_range(extreme, total)
    if signed:
        wanted[wanted < 0] += total
    return wanted.view(np.uint64)


def _out_of_range(number: int, total: int) -> IndexOutOfRangeError:
    there = f"the data set has rows 0 to {total - 1}" if total else "the data set has no rows"
    return IndexOutOfRangeError(f"row {number} does not exist: {there}")
