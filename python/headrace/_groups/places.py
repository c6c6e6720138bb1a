"""Where samples lie along their first axes: the numbers of the groups that recordings and their parts are."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._groups.lookup import Lookup
from headrace._support.checks import invalid
from headrace.dataset import Dataset


class Places:
    """Groups of several levels along the first axes of ``open(sample_axes=)``: recordings, their segments, and so on.

    Files need not agree: the recordings of one may have other numbers of segments than those of the next.

    Args:
        dataset: The samples; all of them have groups, selected or not.
        levels: How many levels.
        by_file: True makes the files the coarsest level, and the first axis of each file the next one.

    Attributes:
        sizes: How many there are of each level in one of the next coarser level, and of the coarsest in all: the
            coarsest first. A whole number where files agree, else an int64 array with a number for each group of the
            next coarser level, through all files.

    Raises:
        InvalidArgumentError: There are more levels than axes (and files).
    """

    def __init__(self, dataset: Dataset, levels: int, *, by_file: bool = False) -> None:
        shapes = dataset.sample_shape
        axes = min((len(shape) for shape in shapes), default=1)
        if axes + by_file < levels:
            raise invalid(
                f"{levels} levels are named, and samples lie along {axes} {'axis' if axes == 1 else 'axes'}"
                + (" in their files" if by_file else ""),
                f"Name as many levels, or fewer: the coarsest is {'the file' if by_file else 'the first axis'}. "
                "open(sample_axes=) says how many axes there are. Levels that are no axes need sizes= and ids=.",
            )
        if by_file:
            shapes = tuple((1, *shape) for shape in shapes)
        held = np.array([shape[0] for shape in shapes], np.int64)  # groups of each file
        self.sizes: tuple[Any, ...] = (int(held.sum()),)
        for axis in range(1, levels):
            extents = np.array([shape[axis] for shape in shapes], np.int64)
            self.sizes += (int(extents[0]) if (extents == extents[0]).all() else np.repeat(extents, held),)
            held = held * extents
        self._first = Lookup(np.cumsum(held) - held)
        self._samples = Lookup([max(int(np.prod(shape[levels:])), 1) for shape in shapes])

    def of_rows(self, rows: Any) -> Any:
        """Return the number of each sample's finest group, over all coarser ones: int64 of shape (n,).

        Args:
            rows: ``_rows`` of a batch: file and row in it, of shape (n, 2); an array of NumPy or a tensor.
        """
        files = rows[:, 0]
        return self._first[files] + rows[:, 1] // self._samples[files]
