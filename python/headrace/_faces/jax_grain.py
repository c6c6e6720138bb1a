"""GrainSource: a data set as a source of Grain's."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from headrace._support.checks import invalid
from headrace.dataset import Dataset


class GrainSource:
    """Give a data set to Grain: ``grain.MapDataset.source(GrainSource(windows)).shuffle(seed=0).batch(32)``.

    For pipelines that stay Grain's. Grain then asks row by row, in Python; :class:`headrace.jax.Loader` is fast.
    Several rows that are asked for together are read together. Pickles as the recipe of the data set, so worker
    processes open the files by themselves.

    Args:
        dataset: The data set; a row is a dict of NumPy arrays.
    """

    def __init__(self, dataset: Dataset) -> None:
        if not isinstance(dataset, Dataset):
            raise invalid(f"a source is made of a data set of headrace's, not of a {type(dataset).__name__}")
        self._dataset = dataset

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self._dataset)

    def __getitem__(self, index: Any) -> dict[str, Any]:
        """Return one sample."""
        row: dict[str, Any] = self._dataset[operator.index(index)]
        return row

    def __getitems__(self, indices: Sequence[int]) -> Sequence[dict[str, Any]]:
        """Return several samples, each block of rows decoded once."""
        return self._dataset.__getitems__([operator.index(index) for index in indices])

    def _getitems(self, indices: Sequence[int]) -> Sequence[dict[str, Any]]:
        """Return several samples, by the name that Grain's batches call."""
        return self.__getitems__(indices)

    def __repr__(self) -> str:
        return f"GrainSource({self._dataset!r})"
