"""How well batches are mixed, counted from the row numbers that were delivered."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def whole_batches(values: NDArray[np.int32], batch: int) -> NDArray[np.int32]:
    """(batches, batch): without the last batch if it is not full."""
    return values[: len(values) // batch * batch].reshape(-1, batch)


def label_deff(labels: NDArray[np.int32], batch: int) -> float:
    """Deff of the classes' shares: their variance over the batches, divided by that of independent draws."""
    batches = whole_batches(labels, batch)
    classes = int(labels.max()) + 1
    shares = np.bincount(labels, minlength=classes) / len(labels)
    numbers = np.arange(len(batches))[:, None] * classes + batches
    counts = np.bincount(numbers.ravel(), minlength=len(batches) * classes).reshape(-1, classes)
    variance = np.mean((counts / batch - shares) ** 2, axis=0).sum()
    return float(variance * batch / (shares * (1 - shares)).sum())


def group_deff(groups: NDArray[np.int32], batch: int, total: int | None = None) -> tuple[float, float]:
    """Deff of what is constant in a group (a file, a block) and otherwise independent; and groups a batch.

    D = mean over batches of B * sum over groups of (share - 1/N)^2, times N / (N - 1). Groups are of equal length.
    `total` is N where not all groups occur.
    """
    total = total or int(groups.max()) + 1
    batches = np.sort(whole_batches(groups, batch), axis=1)
    starts = np.ones(batches.shape, dtype=bool)
    starts[:, 1:] = batches[:, 1:] != batches[:, :-1]
    at = np.flatnonzero(starts)  # no run goes on into the next batch: each batch starts one
    counts = np.diff(np.append(at, batches.size))
    squares = float(np.sum(counts.astype(np.float64) ** 2)) / len(batches) / batch**2
    return batch * (squares - 1 / total) * total / (total - 1), len(at) / len(batches)


def same_neighbours(groups: NDArray[np.int32]) -> float:
    """Share of neighbours in the order that are of one group."""
    return float(np.mean(groups[1:] == groups[:-1]))


def same_pairs(groups: NDArray[np.int32], batch: int) -> float:
    """Chance that two samples of one batch are of one group: what neighbours say, whatever the order inside a batch."""
    total = int(groups.max()) + 1
    squares = group_deff(groups, batch)[0] * (total - 1) / total / batch + 1 / total
    return (squares * batch - 1) / (batch - 1)
