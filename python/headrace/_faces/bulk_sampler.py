"""torch's way of reading in bulk: ``batch_size=None`` and a sampler whose every item is a list of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import BatchSampler


class LookedInto:
    """A sampler that was gone through once to see what it gives: its first pass is the one that was seen.

    Going through a sampler may draw from its generator, so that a pass that is thrown away would change all others.
    """

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler
        self._seen: list[Any] | None = list(sampler)

    @property
    def gives_lists(self) -> bool:
        """True if the first item is a list of rows."""
        return bool(self._seen and _is_list(self._seen[0]))

    def __iter__(self) -> Iterator[Any]:
        seen, self._seen = self._seen, None
        return iter(self._sampler if seen is None else seen)

    def __getattr__(self, name: str) -> Any:
        if name == "_sampler":  # while it is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._sampler, name)


class LookedIntoByEpoch(LookedInto):
    """The same of a sampler whose passes follow from the number of the epoch."""

    def set_epoch(self, epoch: int) -> None:
        """Forget the pass that was seen: it was of another epoch, perhaps."""
        self._seen = None
        self._sampler.set_epoch(epoch)


def _is_list(item: Any) -> bool:
    return hasattr(item, "__iter__") and getattr(item, "ndim", 1) > 0


def in_bulk(sampler: Any) -> tuple[Any, bool]:
    """Return the sampler, and True if each of its items is a list of rows. It gives what it would have given."""
    if isinstance(sampler, BatchSampler):
        return sampler, True
    if isinstance(sampler, (Sequence, np.ndarray)):
        return sampler, len(sampler) > 0 and _is_list(sampler[0])
    if not hasattr(sampler, "__iter__") or isinstance(sampler, Iterator) or getattr(sampler, "ndim", 1) == 0:
        return sampler, False  # refused later, by name
    seen = LookedIntoByEpoch(sampler) if hasattr(sampler, "set_epoch") else LookedInto(sampler)
    return seen, seen.gives_lists
