"""The training that judges an order: rows whose label is tied to their file, and softmax regression by plain SGD."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]  # row numbers in the order in which they are delivered

DIMENSIONS = 16
SEPARATION = 0.75  # of the classes' means, in units of the noise: a global shuffle gets to about 85 %
LEARNING_RATE = 0.2
TEST_ROWS = 100_000


@dataclass(frozen=True)
class World:
    """Files of equal length; all rows of a file are of one class, each class has equally many files."""

    files: int
    rows_per_file: int
    classes: int = 10
    scattered: bool = False  # False: classes follow each other, file by file. True: files are of classes in no order

    @property
    def rows(self) -> int:
        return self.files * self.rows_per_file

    def class_of_file(self) -> NDArray[np.int64]:
        classes = np.arange(self.files) * self.classes // self.files
        return np.random.default_rng(5).permutation(classes) if self.scattered else classes

    def file_of(self, order: Rows) -> NDArray[np.int32]:
        return (order // self.rows_per_file).astype(np.int32)


class Features:
    """Of each row: its class's mean plus noise that belongs to the row. Nothing of the size of the data is kept."""

    def __init__(self, classes: int, seed: int) -> None:
        self._means = np.random.default_rng(11).normal(0, SEPARATION, (classes, DIMENSIONS)).astype(np.float32)
        self._noise = np.random.default_rng([13, seed]).standard_normal((1 << 18, DIMENSIONS), dtype=np.float32)
        self._random = np.random.default_rng([17, seed])

    def noise_number(self, order: Rows) -> NDArray[np.int64]:
        return ((order.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(46)).astype(np.int64)

    def rows(self, labels: NDArray[np.int64], noise_numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        x: NDArray[np.float32] = self._means[labels] + self._noise[noise_numbers]
        return x

    def test_set(self) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        labels = self._random.integers(len(self._means), size=TEST_ROWS)
        noise = self._random.standard_normal((TEST_ROWS, DIMENSIONS), dtype=np.float32)
        return self._means[labels] + noise, labels


def accuracy_after_epoch(
    world: World, order: Rows, seed: int, batch: int = 256, learning_rate: float = LEARNING_RATE
) -> float:
    """Percent of unseen rows that are classified right after one epoch in this order, at a constant learning rate."""
    features = Features(world.classes, seed)
    labels = world.class_of_file()[world.file_of(order)]
    noise_numbers = features.noise_number(order)
    weights = np.zeros((world.classes, DIMENSIONS), np.float32)
    bias = np.zeros((world.classes, 1), np.float32)
    for first in range(0, len(order), batch):
        y = labels[first : first + batch]
        x = features.rows(y, noise_numbers[first : first + batch])
        slope = softmax(weights @ x.T + bias)  # classes first: reductions over them are then quick
        slope[y, np.arange(len(y))] -= 1
        slope *= learning_rate / len(y)
        weights -= slope @ x
        bias -= slope.sum(1, keepdims=True)
    x, y = features.test_set()
    return float(100 * np.mean(np.argmax(weights @ x.T + bias, axis=0) == y))


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    scores -= scores.max(0)
    np.exp(scores, out=scores)
    scores /= scores.sum(0)
    return scores
