"""Where samples lie along their first axes: the numbers of the groups that recordings and their parts are."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._support.checks import invalid
from headrace.dataset import Dataset


class Places:
    """Groups of several levels along the first axes of ``open(sample_axes=)``: recordings, their segments, and so on.

    Attributes:
        sizes: How many there are of each level in one of the next coarser level, and of the coarsest in all: the
            coarsest first.
    """

    def __init__(self, dataset: Dataset, levels: int) -> None:
        shapes = dataset.sample_shape
        axes = min((len(shape) for shape in shapes), default=1)
        if axes < levels:
            raise invalid(
                f"{levels} levels are named, and samples lie along {axes} {'axis' if axes == 1 else 'axes'}",
                "Name as many levels, or fewer: the coarsest is the first axis. open(sample_axes=) says how many there "
                "are.",
            )
        inner = shapes[0][1:levels]
        for file, shape in zip(dataset.files, shapes, strict=True):
            if shape[1:levels] != inner:
                raise invalid(
                    f"{file.path} has {shape} samples, {dataset.files[0].path} has {shapes[0]}: parts of recordings "
                    "are numbered alike only where files agree behind the first axis",
                    "Leave the finer levels out, or give sizes= and ids=.",
                )
        self.sizes: tuple[int, ...] = (sum(shape[0] for shape in shapes), *inner)
        recordings = np.cumsum([0, *(shape[0] for shape in shapes[:-1])], dtype=np.int64)
        self._first = recordings * int(np.prod(inner, dtype=np.int64))
        self._samples = np.array([max(int(np.prod(shape[levels:])), 1) for shape in shapes], np.int64)

    def of_rows(self, rows: Any) -> Any:
        """Return the number of each sample's finest group, over all coarser ones.

        Args:
            rows: ``_rows`` of a batch: file and row in it, of shape (n, 2); an array of NumPy or a tensor.
        """
        first: Any = self._first
        samples: Any = self._samples
        if not isinstance(rows, np.ndarray):
            import torch

            first, samples = (torch.as_tensor(of_files, device=rows.device) for of_files in (first, samples))
        return first[rows[:, 0]] + rows[:, 1] // samples[rows[:, 0]]
