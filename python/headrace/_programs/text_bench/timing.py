"""What is timed of a contestant: passes over a text, and how long each batch is waited for."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from headrace._programs.text_bench.loaders import Epochs

_LEAST_BATCHES = 2  # the first is start-up
_LEAST_PASSES = 2  # the first finds its caches empty
_LEAST_SECONDS = 0.5


def time_passes(encode: Callable[[Sequence[str]], Any], texts: Sequence[str], seconds: float) -> dict[str, Any]:
    """Encode the texts several times, for half a second at least, and return the seconds of the first and of later."""
    taken: list[float] = []
    until = time.perf_counter() + min(seconds, _LEAST_SECONDS)
    end = time.perf_counter() + seconds
    while len(taken) < _LEAST_PASSES or time.perf_counter() < until:
        began = time.perf_counter()
        made = encode(texts)
        taken.append(time.perf_counter() - began)
        del made
        if time.perf_counter() > end:
            break
    return {"first_seconds": taken[0], "later_seconds": median(taken[1:] or taken), "passes": len(taken)}


def time_batches(make: Callable[[], Epochs], count: int, seconds: float, counts_first: bool = False) -> dict[str, Any]:
    """Take so many batches, from epoch to epoch, and return how long each was waited for.

    The first batch is that from nothing: data set, loader and workers are made in its time. Rates are those of the
    batches behind it; with ``counts_first`` those of all, for a loader that fills its memory during the first wait.
    """
    began = before = time.perf_counter()
    until = began + seconds
    waits: list[float] = []
    epochs = make()
    epoch = 0
    while len(waits) < count:
        taken = len(waits)
        for batch in epochs(epoch):
            now = time.perf_counter()
            del batch
            waits.append(now - before)
            before = now
            if len(waits) == count or (now > until and len(waits) >= _LEAST_BATCHES):
                break
        if before > until or len(waits) == taken:
            break
        epoch += 1
    if not waits:
        raise RuntimeError("it delivered no batch")
    made = summary(waits) | {"complete": len(waits) == count}
    if counts_first:
        made["batches_per_second"] = len(waits) / sum(waits)
    return made


def summary(waits: Sequence[float]) -> dict[str, Any]:
    """Return the figures of waits, the first of which is start-up."""
    later = sorted(waits[1:] or waits)
    rank = max(math.ceil(0.95 * len(later)), 1) - 1
    total = sum(later)
    return {
        "batches": len(waits),
        "first_batch_seconds": waits[0],
        "batch_ms_p50": median(later) * 1e3,
        "batch_ms_p95": later[rank] * 1e3,
        "batches_per_second": len(later) / total if total > 0 else 0.0,
        "seconds": sum(waits),
    }
