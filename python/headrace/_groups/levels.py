"""Groups of several levels: how many of each lie in one of the next coarser level, and in which one each lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace._groups.lookup import Lookup
from headrace._groups.sizes import given_sizes
from headrace._support.checks import invalid

#: As many groups as a level may have, and one more.
_TOO_MANY = 2**40


class Levels:
    """Number the groups of several levels, each level through all groups of the coarser ones.

    Args:
        names: Names of the levels, the finest first.
        sizes: By level, how many of it one group of the next coarser level has: a whole number of at least 1, or, where
            they differ, whole numbers of at least 0, of shape (groups of the next coarser level,). Of the coarsest
            level, a whole number: how many there are.
        groups: How many there are of the coarsest level, if ``sizes`` need not say it.

    Attributes:
        names: As given.
        sizes: By level, the finest first: a whole number where all groups of the next coarser level have as many, else
            an int64 array of shape (groups of the next coarser level,), read-only.
        counts: By level, how many groups it has in all.

    Raises:
        InvalidArgumentError: A size is missing, is not what is described above, or names no level; or a level has no
            group at all, or 2^40 or more.
    """

    def __init__(self, names: Sequence[str], sizes: Mapping[str, Any] | None, groups: Any) -> None:
        self.names = tuple(names)
        given = given_sizes(self.names, sizes, groups)
        self.sizes: dict[str, Any] = {}
        self.counts: dict[str, int] = {}
        self._first: dict[str, Lookup] = {}
        self._each: dict[str, Lookup] = {}
        self._ends: dict[str, Any] = {}
        outer, count = "", 1
        for name in self.names[::-1]:
            size = given[name]
            if isinstance(size, np.ndarray):
                if len(size) != count:
                    raise invalid(
                        f"sizes[{name!r}] has {len(size)} numbers; there are {count} groups of level {outer!r}",
                        "Give one for each of them, in their order, or one whole number for all.",
                    )
                total = float(size.sum(dtype=np.float64))
                size = int(size[0]) if (size == size[0]).all() else size
            else:
                total = float(count) * size
            if total >= _TOO_MANY:
                raise invalid("there are more than 2^40 groups", "Leave the finest level out.")
            if total == 0:
                raise invalid(f"there are no groups of level {name!r}")
            if isinstance(size, np.ndarray):
                ends = np.cumsum(size)
                self._first[name], self._each[name], self._ends[name] = Lookup(ends - size), Lookup(size), ends
            outer, count = name, int(total)
            self.sizes[name], self.counts[name] = size, count
        self.sizes, self.counts = ({name: of[name] for name in self.names} for of in (self.sizes, self.counts))

    def parents(self, name: str, groups: Any = None) -> Any:
        """Return in which group of the next coarser level each group of level ``name`` lies.

        Args:
            name: A level that is not the coarsest.
            groups: Numbers of groups of that level, an int64 array of shape (n,). None: all of them, in order.

        Returns:
            Numbers of groups of the next coarser level, an int64 array of shape (n,).
        """
        if groups is None:
            groups = np.arange(self.counts[name], dtype=np.int64)
        if name in self._ends:
            return np.searchsorted(self._ends[name], groups, side="right").astype(np.int64)
        return groups // self.sizes[name]

    def numbers(self, ids: Any) -> Any:
        """Return the number of each row's finest group, through all coarser ones.

        Args:
            ids: int64 of shape (rows, levels), the coarsest level first, each counted from 0 within its group of the
                next coarser level: an array of NumPy, or a tensor.

        Returns:
            int64 of shape (rows,): an array, or a tensor on the same device; nothing waits for the device, and -2 is
            the number of groups that are not there.

        Raises:
            InvalidArgumentError: A group of an array is not there.
        """
        flat = ids[:, 0]
        for axis, name in enumerate(self.names[::-1]):
            column, outer = ids[:, axis], flat
            size: Any = self.sizes[name]
            if axis == 0:
                flat = column
            elif name not in self._first:
                flat = outer * size + column
            else:
                # For -2, not there, something is looked up (tables of sizes that differ have two numbers or more) that
                # is dropped again below.
                size, flat = self._each[name][outer], self._first[name][outer] + column
            there = (column >= 0) & (column < size)
            if not isinstance(column, np.ndarray):
                flat = flat.where(there & (outer >= 0), -2)
            elif not there.all():
                raise self._not_there(axis, column, outer, there)
        return flat

    def _not_there(self, axis: int, column: Any, outer: Any, there: Any) -> Exception:
        name = self.names[::-1][axis]
        hint = "Give sizes= as the data has them."
        if name not in self._first:
            size = self.sizes[name]
            wrong = int(column.max() if column.max() >= size else column.min())
            return invalid(f"{name} {wrong} is not there; there are 0 to {size - 1}", hint)
        row = int(np.flatnonzero(~there)[0])
        group = int(outer[row])
        return invalid(
            f"{name} {int(column[row])} is not there; {self.names[::-1][axis - 1]} {group} has "
            f"{int(self.sizes[name][group])}, counted from 0",
            hint,
        )

    def __str__(self) -> str:
        """Name each level with its size, the coarsest first."""
        return ", ".join(
            f"{f'{size.min()} to {size.max()}' if isinstance(size, np.ndarray) else size} {name}"
            for name, size in reversed(self.sizes.items())
        )
