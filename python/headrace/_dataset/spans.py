"""What makes a sample where it is not a row: a key, or offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._support.checks import engine_text, field_choices, invalid, whole_number

#: Opens some arrays of the files.
Opener = Callable[[list[tuple[str, str]]], _headrace.Dataset]


@dataclass(frozen=True, eq=False)
class Spans:
    """Runs of rows as samples, by where they begin: ``hr.open(paths, sample_by=hr.Spans(offsets="event_offsets"))``.

    Attributes:
        offsets: Path of an array in each file: the row of the file where each sample begins, and at last the end of the
            last one. Or such an array itself, which counts rows through all files. Rows before the first and behind the
            last are left out. A sample lies in one file.
    """

    offsets: str | Sequence[int] | np.ndarray[Any, Any]


def by_spans(rows: _headrace.Dataset, opened: Opener, sample_by: Any, targets: Any) -> _headrace.Dataset:
    """Return the rows' data set with the samples that ``sample_by`` says.

    Args:
        rows: The fields, row by row.
        opened: Opens arrays of the same files.
        sample_by: As ``hr.open`` takes it.
        targets: Fields with a row for each sample, as ``hr.open`` takes fields; None: there are none.
    """
    aside = None if targets is None else opened(field_choices(targets))
    if isinstance(sample_by, Spans):
        offsets = sample_by.offsets
        if isinstance(offsets, str):
            engine_text("offsets", offsets)
            return rows.spans(None, None, opened([("offsets", offsets)]), None, aside)
        return rows.spans(None, None, None, _offset_list(offsets), aside)
    path, column = sample_by if isinstance(sample_by, tuple) and len(sample_by) == 2 else (sample_by, None)
    if not isinstance(path, str):
        raise invalid(
            f"sample_by is a path, a path and a column, or hr.Spans(...), not {sample_by!r}",
            'Such as sample_by="event_id", or sample_by=("HitData", 0).',
        )
    number = None if column is None else whole_number("the column of sample_by", column, least=0)
    return rows.spans(opened([("key", engine_text("sample_by", path) or path)]), number, None, None, aside)


def _offset_list(offsets: Any) -> Any:
    """Return offsets from elsewhere as the engine takes them."""
    numbers = np.asarray(offsets)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) < 2 or (numbers < 0).any():
        raise invalid(
            f"offsets are at least two whole numbers from 0 on, not an array of {numbers.dtype} {numbers.shape}",
            "They are the row where each sample begins, and at last the end.",
        )
    return numbers.astype(np.uint64)
