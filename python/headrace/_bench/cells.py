"""Arrays of h5py whose first axes count samples (``hr.open(sample_axes=)``), as rivals would have them: rows."""

from __future__ import annotations

from typing import Any

import numpy as np


class Cells:
    """The places along an array's first axes as rows; an array of fewer of these axes has one value for several.

    Attributes:
        shape: Number of samples, then the shape of one.
        dtype: Type of the values.
    """

    def __init__(self, dataset: Any, extents: tuple[int, ...], axes: int) -> None:
        """Take the extents of the axes that count samples in the file, and how many of them the array has."""
        self._dataset, self._outer = dataset, extents[:axes]
        self._recording = int(np.prod(extents[1:], dtype=np.int64))  # samples under one entry of the first axis
        self._each = int(np.prod(extents[axes:], dtype=np.int64))
        self.shape: tuple[int, ...] = (int(np.prod(extents, dtype=np.int64)), *dataset.shape[axes:])
        self.dtype = dataset.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, row: int) -> Any:
        return self._dataset[np.unravel_index(row // self._each, self._outer)]

    def read_direct(self, values: Any, rows: slice) -> None:
        """Read rows that follow each other: whole entries of the first axis, as h5py reads them at once."""
        first = rows.start // self._recording
        begin, end = rows.start - first * self._recording, rows.stop - first * self._recording
        read = self._dataset[first : first + -(-end // self._recording)].reshape(-1, *self.shape[1:])
        values[:] = read[begin:end] if self._each == 1 else read[np.arange(begin, end) // self._each]


def as_rows(dataset: Any, extents: tuple[int, ...], sample_axes: int) -> Any:
    """Return an array whose entries are samples: itself, where its first axis alone counts them.

    Args:
        dataset: An array of h5py.
        extents: Those of the axes that count samples in this file; of one axis, or none where nothing is known.
        sample_axes: How many axes a sample has.
    """
    axes = dataset.ndim - sample_axes
    if len(extents) < 2 or not 1 <= axes <= len(extents) or dataset.shape[:axes] != extents[:axes]:
        return dataset
    return Cells(dataset, extents, axes)
