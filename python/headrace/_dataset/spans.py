"""What makes a sample where it is not a row: a key, or offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace._support.checks import engine_text, invalid, whole_number


@dataclass(frozen=True, eq=False)
class Spans:
    """Runs of rows as samples, by where they begin: ``hr.open(paths, sample_by=hr.Spans(offsets="event_offsets"))``.

    Attributes:
        offsets: Path of an array in each file: the row of the file where each sample begins, and at last the end of the
            last one. Or such an array itself, which counts rows through all files. Rows before the first and behind the
            last are left out. A sample lies in one file.
    """

    offsets: str | Sequence[int] | np.ndarray[Any, Any]


def sample_words(sample_by: Any) -> tuple[str, int | None, str, Any] | None:
    """Return ``sample_by`` of ``hr.open`` as the engine takes it: a key and its column, offsets, a list of them."""
    if sample_by is None:
        return None
    if isinstance(sample_by, Spans):
        offsets = sample_by.offsets
        if isinstance(offsets, str):
            engine_text("offsets", offsets)
            return "", None, offsets, None
        return "", None, "", _offset_list(offsets)
    path, column = sample_by if isinstance(sample_by, tuple) and len(sample_by) == 2 else (sample_by, None)
    if not isinstance(path, str) or not path:
        raise invalid(
            f"sample_by is a path, a path and a column, or hr.Spans(...), not {sample_by!r}",
            'Such as sample_by="event_id", or sample_by=("HitData", 0).',
        )
    engine_text("sample_by", path)
    return path, None if column is None else whole_number("the column of sample_by", column, least=0), "", None


def _offset_list(offsets: Any) -> Any:
    """Return offsets from elsewhere as the engine takes them."""
    numbers = np.asarray(offsets)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) < 2 or (numbers < 0).any():
        raise invalid(
            f"offsets are at least two whole numbers from 0 on, not an array of {numbers.dtype} {numbers.shape}",
            "They are the row where each sample begins, and at last the end.",
        )
    return numbers.astype(np.uint64)
