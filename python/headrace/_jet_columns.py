"""The columns of a JetClass batch: pairs as a symmetric matrix, particles counted from the padding."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from headrace._checks import invalid


class JetColumns:
    """Make a batch of JetClass scripts of one of stored columns.

    Args:
        dense: True: ``edge_features`` become symmetric matrices (particles, particles[, features]); False: as stored.
        sentinel: Value of pairs that are absent.
        then: Called with the batch, if given; what it returns is delivered.
    """

    def __init__(self, dense: bool, sentinel: float, then: Callable[[Any], Any] | None) -> None:
        self._dense = dense
        self._sentinel = sentinel
        self._then = then

    def __call__(self, batch: dict[str, Any]) -> Any:
        """Return the batch with ``n_particles`` counted and ``edge_features`` expanded; labels are int64."""
        nodes = batch["node_features"]
        pairs = batch.get("edge_features")
        if self._dense and pairs is not None and is_flat(tuple(pairs.shape[1:])):
            batch["edge_features"] = expand_pairs(pairs, nodes.shape[1], self._sentinel)
        if "labels" in batch:
            batch["labels"] = batch["labels"].long()
        batch["n_particles"] = (nodes != 0).any(-1).sum(-1)
        return batch if self._then is None else self._then(batch)


def is_flat(shape: tuple[int, ...]) -> bool:
    """True if pairs of this shape a jet are a flat triangle, (pairs,) or (pairs, features); False for a matrix."""
    return len(shape) == 1 or (len(shape) == 2 and shape[0] != shape[1])


def check_pairs(pairs: int, particles: int) -> None:
    """Raise unless so many pairs are the triangle above the diagonal of so many particles.

    Raises:
        InvalidArgumentError: They are not.
    """
    if pairs != particles * (particles - 1) // 2:
        raise invalid(
            f"edge_features has {pairs} pairs a jet, but {particles} particles have {particles * (particles - 1) // 2}",
            "Give fields= with the arrays that belong together, or reconstruct_full_adjacency=False.",
        )


def expand_pairs(pairs: torch.Tensor, particles: int, sentinel: float) -> torch.Tensor:
    """Make symmetric matrices of flat triangles: (jets, pairs[, features]) → (jets, particles, particles[, features]).

    A jet's pairs lie where they are in the triangle of all ``particles``, with the sentinel where one is absent; or, if
    all values come before all sentinels, in the triangle of the particles that are there. The diagonal and pairs that
    are absent are 0.

    Raises:
        InvalidArgumentError: The number of pairs is no triangle.
    """
    check_pairs(pairs.shape[1], particles)
    flat = pairs.numpy()
    there = (flat if flat.ndim == 2 else flat[..., 0]) != sentinel
    values = np.where(there if flat.ndim == 2 else there[..., None], flat, 0)
    count = there.sum(1)
    packed = there[:, ::-1].argmax(1) == flat.shape[1] - count  # the last value is at the end of the first `count`
    present = np.full(len(flat), particles)
    present[packed] = _particles_of(count[packed])
    padded = np.concatenate([values, np.zeros_like(values[:, :1])], axis=1)  # the last pair is the one of no particles
    dense = np.empty((len(flat), particles * particles, *flat.shape[2:]), flat.dtype)
    for number in np.unique(present):
        rows = present == number
        dense[rows] = padded[rows][:, _places(int(number), particles, flat.shape[1])]
    return torch.from_numpy(dense.reshape(len(flat), particles, particles, *flat.shape[2:]))


def _particles_of(pairs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return how many particles have so many pairs.

    Raises:
        InvalidArgumentError: None have.
    """
    number: np.ndarray[Any, Any] = ((1 + np.sqrt(1 + 8 * pairs)) / 2).round().astype(np.int64)
    wrong = pairs[number * (number - 1) // 2 != pairs]
    if len(wrong):
        raise invalid(
            f"a jet has {wrong[0]} pairs before the first sentinel, which no number of particles has",
            "Is the sentinel among the real values? Give sentinel=, or reconstruct_full_adjacency=False.",
        )
    return number


@functools.lru_cache(maxsize=512)
def _places(present: int, particles: int, absent: int) -> np.ndarray[Any, Any]:
    """Return the place of each pair of a matrix in the triangle of the particles present; ``absent`` for the others."""
    first, second = np.triu_indices(present, k=1)
    places = np.full((particles, particles), absent, np.int64)
    places[first, second] = places[second, first] = np.arange(len(first))
    return places.reshape(-1)
