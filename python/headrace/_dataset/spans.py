"""What makes a sample where it is not a row: a key, offsets, or a table of first and last rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace._dataset.table import Table, is_path
from headrace._support.checks import brief, engine_text, invalid, path_bytes, whole_number

SampleWords = tuple[str, "int | None", str, Any, tuple[str, ...]]
_NO_TABLE = ("",) * 6


@dataclass(frozen=True, eq=False)
class Spans:
    """Runs of rows as samples, by where they begin and end.

    Either ``hr.Spans(offsets="event_offsets")``, or a table with a row for each sample:
    ``hr.Spans(meta="train_meta.parquet", first="first_pulse_index", last="last_pulse_index", file="batch_id",
    file_template="batch_{batch_id}.parquet")``.

    Attributes:
        offsets: Path of an array in each file: the row of the file where each sample begins, and at last the end of the
            last one. Or such an array itself, which counts rows through all files. Rows before the first and behind the
            last are left out. A sample lies in one file.
        meta: A table with a row for each sample, in any order; samples come in the order of their rows. It is what
            :meth:`Dataset.join` takes: a path or glob (``.csv`` too), a data set, or a mapping of names to columns,
            such as a dict of arrays or a data frame. Whole numbers may be stored as floats. Rows that no sample has are
            left out, and said (``warnings.warn``). ``hr.open`` looks for its ``targets`` in this table first. What is
            no file that :func:`open` takes is kept in the user's cache directory (``HEADRACE_CACHE``), where a pickle
            of the data set looks for it.
        first: Its field that has the first row of a sample, counted from 0 in the sample's file.
        last: Its field that has the last row, which belongs to the sample; ``first - 1`` where a sample has no rows.
        end: Instead of ``last``: the row behind the last.
        file: Its field that has the number of the sample's file. Without it there is one file, or a table for each.
        file_template: The name of a file, with ``{...}`` for that number: ``"batch_{batch_id}.parquet"``. Rows of the
            table that name a file which is there, but was not opened, are left out.
    """

    offsets: str | Sequence[int] | np.ndarray[Any, Any] | None = None
    meta: Table | None = None
    first: str | None = None
    last: str | None = None
    end: str | None = None
    file: str | None = None
    file_template: str | None = None


def sample_words(sample_by: Any) -> SampleWords | None:
    """Return ``sample_by`` of ``hr.open`` as the engine takes it: a key and its column, offsets, a list, a table."""
    if sample_by is None:
        return None
    if isinstance(sample_by, Spans):
        return _span_words(sample_by)
    path, column = sample_by if isinstance(sample_by, tuple) and len(sample_by) == 2 else (sample_by, None)
    if not isinstance(path, str) or not path:
        raise invalid(
            f"sample_by is a path, a path and a column, or hr.Spans(...), not {brief(sample_by)}",
            'Such as sample_by="event_id", or sample_by=("HitData", 0).',
        )
    engine_text("sample_by", path)
    number = None if column is None else whole_number("the column of sample_by", column, least=0)
    return path, number, "", None, _NO_TABLE


def _span_words(spans: Spans) -> SampleWords:
    """Return what ``hr.Spans`` says."""
    if (spans.offsets is None) == (spans.meta is None):
        raise invalid("hr.Spans takes offsets= or meta=", 'Such as hr.Spans(offsets="event_offsets").')
    table = {name: getattr(spans, name) for name in ("first", "last", "end", "file", "file_template")}
    if spans.meta is None:
        given = [name for name, value in table.items() if value is not None]
        if given:
            raise invalid(f"{given[0]} names a field of a table of spans, but offsets= are given", "Give meta=.")
        if isinstance(spans.offsets, str):
            engine_text("offsets", spans.offsets)
            return "", None, spans.offsets, None, _NO_TABLE
        return "", None, "", _offset_list(spans.offsets), _NO_TABLE
    for name, value in table.items():
        if value is not None and not isinstance(value, str):
            raise invalid(f"{name} of hr.Spans is a text, not {brief(value)}", "Name a field of the table.")
        engine_text(name, value or "")
    path = os.fsdecode(path_bytes(spans.meta, "meta of hr.Spans")) if is_path(spans.meta) else ""
    return "", None, "", None, (path, *(value or "" for value in table.values()))


def _offset_list(offsets: Any) -> Any:
    """Return offsets from elsewhere as the engine takes them."""
    numbers = np.asarray(offsets)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) < 2 or (numbers < 0).any():
        raise invalid(
            f"offsets are at least two whole numbers from 0 on, not an array of {numbers.dtype} {numbers.shape}",
            "They are the row where each sample begins, and at last the end.",
        )
    return numbers.astype(np.uint64)
