"""Whether a contestant delivers what it should: each window of the corpus once an epoch, each equal to the corpus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np

from headrace._programs.text_bench.loaders import Batch
from headrace._programs.text_bench.store import Store

Ids = np.ndarray[Any, Any]


class WrongBatchError(Exception):
    """A batch is not what the corpus has; the text says how."""


def _digest(window: Ids) -> bytes:
    return blake2b(window.astype(np.int32, order="C").tobytes(), digest_size=12).digest()


def expected_windows(store: Store) -> Counter[bytes]:
    """Return the windows of an epoch."""
    tokens, length = store.mapped(), store.seq_len
    return Counter(_digest(tokens[at * length : at * length + length + 1]) for at in range(store.windows))


def expected_texts(store: Store) -> Counter[bytes]:
    """Return the documents of an epoch, cut and padded."""
    tokens, ends, whole = store.mapped(), store.ends().tolist(), store.seq_len + 1
    has_end = 1 if store.ends_with_pad else 0
    found: Counter[bytes] = Counter()
    for begin, end in zip([0, *ends], ends, strict=False):
        row = np.full(whole, store.pad, np.int32)
        ids = tokens[begin : end - has_end][:whole]
        row[: len(ids)] = ids
        found[_digest(row)] += 1
    return found


def check(batches: Iterable[Batch], expected: Counter[bytes], store: Store, seconds: float) -> dict[str, Any]:
    """Go through an epoch, or as much of it as the time allows, and return what was compared.

    Raises:
        WrongBatchError: A window that the corpus has not, or not so often; another shape or type; an epoch that ends
            too early.
    """
    left = Counter(expected)
    shape, until, rows, batch_bytes = (store.batch_size, store.seq_len), time.perf_counter() + seconds, 0, 0
    whole = expected.total() // store.batch_size
    count = 0
    for number, batch in enumerate(batches):
        inputs, targets = np.asarray(batch["input"]), np.asarray(batch["target"])
        for name, array in (("input", inputs), ("target", targets)):
            if array.shape != shape or array.dtype != np.int32:
                raise WrongBatchError(
                    f"batch {number}: {name} is {array.dtype} of shape {array.shape}, not int32 {shape}"
                )
        if not np.array_equal(inputs[:, 1:], targets[:, :-1]):
            raise WrongBatchError(f"batch {number}: target is not input a token later")
        for row in range(store.batch_size):
            digest = _digest(np.append(inputs[row], targets[row, -1]))
            if not left[digest]:
                what = "twice in an epoch" if digest in expected else "not what the corpus has anywhere"
                raise WrongBatchError(f"batch {number}, window {row} is {what}")
            left[digest] -= 1
        count, rows, batch_bytes = count + 1, rows + len(inputs), inputs.nbytes + targets.nbytes
        if time.perf_counter() > until and count < whole:
            return {"windows": rows, "whole_epoch": False, "batch_bytes": batch_bytes}
    if count != whole:
        raise WrongBatchError(f"an epoch has {count:,} batches, not {whole:,}")
    return {"windows": rows, "whole_epoch": True, "batch_bytes": batch_bytes}
