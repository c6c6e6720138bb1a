"""What a caller says of how many groups there are of each level."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headrace._support.checks import invalid, whole_number


def given_sizes(names: tuple[str, ...], sizes: Mapping[str, Any] | None, groups: Any) -> dict[str, Any]:
    """Return the size of each level as it was given: an int, or a read-only int64 array of one axis.

    Args:
        names: Names of the levels, the finest first.
        sizes: By level, a whole number of at least 1; or, but for the coarsest, whole numbers of at least 0.
        groups: How many there are of the coarsest level, or None: ``sizes`` says it.

    Raises:
        InvalidArgumentError: A size is missing, is something else, contradicts ``groups``, or names no level.
    """
    given = dict(sizes or {})
    for name in given:
        if name not in names:
            raise invalid(f"sizes has {name!r}, which is no level; there are {', '.join(names)}")
    coarsest = names[-1]
    if groups is not None:
        number = whole_number("groups", groups, least=1)
        if given.setdefault(coarsest, number) != number:
            raise invalid(f"there are {number} groups, and sizes says {given[coarsest]} of {coarsest!r}", "Give one.")
    for name in names:
        if name not in given:
            what = "how many there are" if name == coarsest else "how many of it the next coarser level has"
            raise invalid(f"the size of level {name!r} is missing: {what}", "Give it in sizes=.")
        size = given[name]
        several = isinstance(size, (list, tuple)) or getattr(size, "ndim", 0) > 0
        given[name] = (
            _several(name, size)
            if several and name != coarsest
            else int(whole_number(f"sizes[{name!r}]", size, least=1))
        )
    return given


def _several(name: str, sizes: Any) -> Any:
    """Return sizes that differ as a read-only int64 array."""
    try:
        found = np.array(sizes)
    except ValueError:  # lists of different lengths
        found = np.empty(0)
    if found.ndim != 1 or found.dtype.kind not in "iu" or (found < 0).any():
        raise invalid(
            f"sizes[{name!r}] must be a whole number, or whole numbers of at least 0",
            "Give one for each group of the next coarser level, in their order.",
        )
    found = found.astype(np.int64)
    found.flags.writeable = False
    return found
