"""Custom samplers, for ``Loader(sampler=)``: weights, balanced classes, and any iterable of row numbers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headrace import _headrace
from headrace._support.checks import checksum, engine_text, invalid, whole_number
from headrace._support.logging import logger
from headrace._support.trainers import distributed_rank
from headrace.errors import InvalidArgumentError


class Weighted:
    """Draw rows with weights. Takes 16 bytes a row.

    Args:
        weights: Weight of each row: finite, not negative, not all zero.
        replacement: True draws each row independently. False: each row once at most; heavier ones tend to come earlier.
        num_samples: Samples of an epoch. Default: as many as there are rows (without replacement: rows of positive
            weight).

    Raises:
        InvalidArgumentError: The weights are no list of numbers, or an argument is out of range. What does not fit the
            data (another number of weights than rows, say) is told when a Loader is made.
    """

    def __init__(self, weights: ArrayLike, *, replacement: bool = True, num_samples: int | None = None) -> None:
        self.weights: NDArray[np.float64] = np.ascontiguousarray(weights, dtype=np.float64)
        if self.weights.ndim != 1:
            raise invalid(f"weights must be a list, one for each row, not of {self.weights.ndim} dimensions")
        if not isinstance(replacement, bool):
            raise invalid(f"replacement must be True or False, not {replacement!r}")
        self.replacement = replacement
        self.num_samples = None if num_samples is None else whole_number("num_samples", num_samples, least=1)


class Balanced:
    """Draw every class equally often: each run of as many samples as there are classes holds one of each.

    So does a batch whose size is a multiple of that number. A class's rows come once each before any of them
    comes again. Takes 8 bytes a row.

    Args:
        by: Field with the class: a whole number a sample, or one-hot. It is read whole.
        num_samples: Samples of an epoch. Default: as many as there are rows.

    Raises:
        InvalidArgumentError: ``num_samples`` is below 1. A field that is not there, or holds no classes, is told when a
            Loader is made.
    """

    def __init__(self, by: str, *, num_samples: int | None = None) -> None:
        self.by = engine_text("by", by)
        self.num_samples = None if num_samples is None else whole_number("num_samples", num_samples, least=1)


def _flatten(entries: Iterable[Any]) -> Iterator[int]:
    for entry in entries:
        if isinstance(entry, slice):
            if entry.start is None or entry.stop is None:
                raise invalid(f"a sampler's slices need a start and a stop: {entry}")
            yield from range(entry.start, entry.stop, entry.step or 1)
        else:
            yield entry


def listed_rows(sampler: Iterable[Any], most: int | None = None) -> NDArray[np.uint64]:
    """Row numbers of one pass over a sampler of row numbers and slices.

    Raises:
        InvalidArgumentError: It gives something else, or more than ``most`` rows.
    """
    if isinstance(sampler, np.ndarray):
        rows = sampler
    elif isinstance(sampler, range):
        rows = np.arange(sampler.start, sampler.stop, sampler.step)
    else:
        entries = list(islice(_flatten(sampler), None if most is None else most + 1))
        if most is not None and len(entries) > most:
            raise invalid(
                f"the sampler gave more than {most} rows for one epoch, as if it had no end",
                "Give it a __len__, the rows of an epoch, and an __iter__ that gives as many.",
            )
        if any(hasattr(entry, "__iter__") and getattr(entry, "ndim", 1) > 0 for entry in entries):
            raise invalid(
                "a sampler gives single row numbers; some of its items are lists", "For lists: batch_sampler=."
            )
        rows = np.array(entries)
    if rows.size == 0:
        return np.empty(0, np.uint64)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise invalid(f"a sampler gives row numbers, not {rows.dtype} of {rows.ndim} dimensions")
    if rows.min() < 0:
        raise invalid(f"a sampler gives row numbers from 0, not {rows.min()}")
    return np.ascontiguousarray(rows, dtype=np.uint64)


@dataclass
class LookAhead:
    """A sampler that is asked while the epoch goes on, no more than ``batches`` before its rows are delivered."""

    sampler: Any
    batches: int

    def __post_init__(self) -> None:
        """Check.

        Raises:
            InvalidArgumentError: It is no iterable of known length.
        """
        if not hasattr(self.sampler, "__iter__") or not hasattr(self.sampler, "__len__"):
            raise invalid(
                f"with lookahead= a sampler is an iterable of row numbers with a length, not {self.sampler!r}",
                "Give it a __len__: the number of rows of an epoch.",
            )

    @property
    def own_rank(self) -> bool:
        """Does it divide over ranks by itself?"""
        return divides_by_itself(self.sampler)

    def epoch(self, number: int) -> Iterator[Any]:
        """Row numbers of an epoch, one by one."""
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(number)
        return iter(self.sampler)


class FedEpoch:
    """One epoch of a sampler that is asked while the epoch goes on.

    Attributes:
        number: Number of the epoch.

    Raises (while iterating):
        InvalidArgumentError: The sampler gives more or fewer rows than its ``len()``, or rows that are not there.
        ClosedError: A newer iterator took over, or the loader was closed or sent elsewhere.
    """

    def __init__(self, native: _headrace.Loader, order: LookAhead) -> None:
        """Start the loader's next epoch."""
        self._native = native
        self._ahead = order.batches
        self._total = native.epoch_samples()
        if len(order.sampler) != self._total:
            raise invalid(
                f"the sampler's len() was {self._total} when the loader was made, and is now {len(order.sampler)}",
                "Make a new Loader, or keep the epoch's length.",
            )
        self.number = native.next_epoch()
        self._batches = native.epoch()
        self._rows = order.epoch(self.number)
        self._step, self._fed = 0, 0

    def __iter__(self) -> FedEpoch:
        return self

    def __next__(self) -> Any:
        self._batches.check_current()
        wanted = min(self._total, (self._step + self._ahead) * self._native.global_batch_rows())
        if wanted > self._fed and self._step < self._native.num_batches():
            entries = list(islice(self._rows, wanted - self._fed))
            if any(isinstance(entry, slice) for entry in entries):
                raise invalid("with lookahead= a sampler gives row numbers, not slices")
            rows = listed_rows(entries)
            if len(rows) < wanted - self._fed:
                raise invalid(f"the sampler gave {self._fed + len(rows)} rows, and its len() is {self._total}")
            if wanted == self._total and next(self._rows, None) is not None:
                raise invalid(f"the sampler gave more rows than its len(), {self._total}")
            self._native.feed(rows)
            self._fed = wanted
        self._step += 1
        return next(self._batches)


def divides_by_itself(sampler: Any) -> bool:
    """Is it like torch's DistributedSampler?"""
    return hasattr(sampler, "num_replicas") and hasattr(sampler, "rank")


#: How many rows more than twice the data a sampler without ``len()`` may give: one without end is told in time.
_MORE_ROWS = 1 << 20
#: Rows of an epoch that are listed at most, 8 bytes each: another length is a mistake.
_MOST_LISTED = 1 << 36
#: Row numbers of an epoch, and the samples of each batch where batches are listed.
ListedEpoch = tuple[NDArray[np.uint64], "NDArray[np.uint64] | None"]


@dataclass
class Listing:
    """An iterable that is asked for its rows at the start of each epoch.

    Attributes:
        sampler: The iterable.
        batches: It gives lists of row numbers, a batch each.
        num_rows: Rows of the data set.
        epoch: The epoch that it was asked for last; -1: none.
        checksum: Of the rows that it gave last, for comparing them with other ranks'.
    """

    sampler: Iterable[Any]
    batches: bool
    num_rows: int = 0
    epoch: int = -1
    checksum: str = ""

    def __post_init__(self) -> None:
        """Check.

        Raises:
            InvalidArgumentError: It can be gone through only once.
        """
        if not hasattr(self.sampler, "__iter__") or getattr(self.sampler, "ndim", 1) == 0:
            raise invalid(
                f"a sampler is Weighted, Balanced or an iterable of row numbers, not {self.sampler!r}",
                "Give a list, an array, or an object whose __iter__ starts anew.",
            )
        if isinstance(self.sampler, Iterator):
            raise invalid(
                "a sampler that can be gone through once only cannot give a second epoch",
                "Give a list, an array, or an object whose __iter__ starts anew.",
            )

    @property
    def own_rank(self) -> bool:
        """Does it give one rank's rows, as torch's DistributedSampler and every batch sampler do?"""
        return self.batches or divides_by_itself(self.sampler)

    @property
    def every_epoch(self) -> bool:
        """Is it plain data, whose rows are those of every epoch? Then the next epoch can be read ahead."""
        return isinstance(self.sampler, (list, tuple, range, np.ndarray))

    def first(self) -> ListedEpoch:
        """Return what a loader is planned with: the rows of epoch 0, or as many numbers as there will be.

        A sampler that can be asked how much it gives is not asked what before an epoch begins, as in torch: what it
        draws, it draws from the random numbers of then.
        """
        size = _length(self.sampler)
        given = getattr(self.sampler, "batch_size", None) if self.batches else None
        batch_size = given if isinstance(given, int) else 0
        if self.every_epoch or not size or (self.batches and not 0 < batch_size * size <= _MOST_LISTED):
            self.epoch = 0
            return self.rows(0)
        if not self.batches:
            return np.zeros(size, np.uint64), None
        sizes = np.full(size, batch_size, np.uint64)
        if not getattr(self.sampler, "drop_last", True) and (rows := _length(getattr(self.sampler, "sampler", None))):
            sizes[-1] = (rows - 1) % batch_size + 1
        return np.zeros(int(sizes.sum()), np.uint64), sizes

    def other_rows(self, epoch: int, message: str) -> InvalidArgumentError:
        """Return the error of a state from the middle of an epoch, for which the sampler gives other rows here."""
        return invalid(
            f"{message}: the {type(self.sampler).__name__} gave other rows for epoch {epoch} than it gave then",
            'Use shuffle="exact", hr.Weighted or a sampler with set_epoch(), which give the rows of an epoch again; or '
            "load a state from the end of an epoch.",
        )

    def rows_again(self, epoch: int) -> ListedEpoch | None:
        """Give the rows of any epoch without a trace in the sampler; None where the engine has to know them."""
        if not hasattr(self.sampler, "set_epoch"):
            return None
        return Listing(copy(self.sampler), self.batches, self.num_rows).rows(epoch)

    def _batch(self, batch: Any) -> Iterable[Any]:
        if hasattr(batch, "__iter__") and getattr(batch, "ndim", 1) > 0:
            return batch  # type: ignore[no-any-return]
        raise invalid(f"a batch_sampler gives lists of row numbers, not {batch!r}", "For single numbers: sampler=.")

    def rows(self, epoch: int) -> ListedEpoch:
        """Return the rows of an epoch, and how many of them each batch of a batch sampler has (None for others).

        Raises:
            InvalidArgumentError: It gives other things, or does not come to an end.
        """
        began = time.perf_counter()
        if hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(epoch)
        rows, sizes = self._asked()
        if distributed_rank() is not None:
            self.checksum = checksum(rows, sizes)
        took = time.perf_counter() - began
        logger.debug("the sampler gave %d rows for epoch %d in %.3f s", len(rows), epoch, took)
        return rows, sizes

    def _asked(self) -> ListedEpoch:
        most = max(2 * self.num_rows, _length(self.sampler) or 0) + _MORE_ROWS
        if not self.batches:
            return listed_rows(self.sampler, None if self.every_epoch else most), None
        parts: list[NDArray[np.uint64]] = []
        for batch in islice(self.sampler, most + 1):
            parts.append(listed_rows(self._batch(batch)))
        if len(parts) > most:
            raise invalid(
                f"the batch_sampler gave more than {most} batches for one epoch, as if it had no end",
                "Give it a __len__, the batches of an epoch, and an __iter__ that gives as many.",
            )
        if not parts:
            return np.empty(0, np.uint64), None
        return np.concatenate(parts), np.array([len(part) for part in parts], np.uint64)


def _length(sampler: Any) -> int | None:
    """Return what its ``len()`` is; None where it has none, or one that no memory holds."""
    try:
        length = len(sampler)
    except (TypeError, NotImplementedError, OverflowError):  # also of torch's Sampler, whose subclasses may define it
        return None
    return length if length <= _MOST_LISTED else None
