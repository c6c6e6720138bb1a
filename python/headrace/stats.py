"""Stats: what :meth:`Dataset.stats` found of a field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Stats:
    """Mean, spread and range of a field: one number for each entry of its last axis, an array of that length.

    A field without axes has arrays of shape ``()``. Unpacks to the first two: ``mean, std = jets.stats("x")``.

    Attributes:
        mean: Arithmetic mean, float64.
        std: Standard deviation as ``np.std`` has it (divided by the number of values, not by one less), float64.
        min: Least value, float64.
        max: Largest value, float64.
        count: Number of values that were taken, int64.
        nan_count: Number of NaNs where a value would have been taken, int64. They count for nothing else.
        inf_count: Number of infinities, likewise.
        remembered: True if an earlier call had found it, and nothing was read.
    """

    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    count: NDArray[np.int64]
    nan_count: NDArray[np.int64]
    inf_count: NDArray[np.int64]
    remembered: bool

    def __iter__(self) -> Iterator[Any]:
        """Yield the mean and the standard deviation."""
        return iter((self.mean, self.std))
