"""Ways to turn an array, as NumPy does it, and epochs as whole arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import headrace as hr

Array = np.ndarray[Any, Any]


def epoch(data: hr.Dataset, number: int = 0, **options: Any) -> dict[str, Array]:
    """Return an epoch as whole arrays, with provenance."""
    loader = hr.Loader(data, **{"batch_size": 32, "provenance": True, "seed": 5, **options})
    loader.set_epoch(number)
    batches = [dict(batch) for batch in loader]
    return {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}


def mirrors(axes: Sequence[int]) -> list[Callable[[Array], Array]]:
    chosen = [
        [a for a, on in zip(axes, bits, strict=True) if on] for bits in itertools.product([0, 1], repeat=len(axes))
    ]
    return [lambda x, c=tuple(some): np.flip(x, c) for some in chosen]


def quarters(axes: tuple[int, int]) -> list[Callable[[Array], Array]]:
    return [lambda x, k=k: np.rot90(x, k, axes) for k in range(4)]


def orders(axes: Sequence[int]) -> list[Callable[[Array], Array]]:
    made: list[Callable[[Array], Array]] = []
    for order in itertools.permutations(axes):
        whole = [0, 1, 2]
        for to, source in zip(axes, order, strict=True):
            whole[to] = source
        made.append(lambda x, o=tuple(whole): x.transpose(o))
    return made


def cube() -> list[Callable[[Array], Array]]:
    """The group that quarters about two axes make, element by element of a small cube."""
    small = np.arange(27).reshape(3, 3, 3)
    seen: dict[bytes, tuple[tuple[tuple[int, int], int], ...]] = {small.tobytes(): ()}
    while True:
        more = {}
        for turns in seen.values():
            for plane in ((0, 1), (1, 2)):
                longer = (*turns, (plane, 1))
                more[turned(small, longer).tobytes()] = longer
        more = {key: turns for key, turns in more.items() if key not in seen}
        if not more:
            return [lambda x, t=turns: turned(x, t) for turns in seen.values()]
        seen.update(more)


def turned(x: Array, turns: tuple[tuple[tuple[int, int], int], ...]) -> Array:
    for plane, k in turns:
        x = np.rot90(x, k, plane)
    return x
