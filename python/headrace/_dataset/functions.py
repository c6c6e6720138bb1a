"""Python functions of :meth:`Dataset.map`: columns of a batch in, columns out, one batch after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headrace._dataset.ragged import num_samples
from headrace._support.checks import invalid

ColumnFunction = Callable[[dict[str, Any]], Mapping[str, Any]]


def name_of(function: ColumnFunction) -> str:
    """Name a function as its author knows it."""
    return getattr(function, "__qualname__", None) or repr(function)


def apply(functions: tuple[ColumnFunction, ...], columns: dict[str, Any], rows: int, where: str) -> dict[str, Any]:
    """Return what the functions make of the columns of ``rows`` samples.

    Raises:
        InvalidArgumentError: What a function returns is no dict of columns with a value a sample.
    """
    lengths = {name: len(values) for name, values in columns.items()}  # "_group.offsets" has one of its own
    ragged = {lengths[name] for name in lengths if f"{name}.offsets" in lengths}
    for function in functions:
        try:
            made = function(columns)
        except StopIteration as error:  # which would end the epoch without a word
            raise RuntimeError(f"map({name_of(function)}), {where}: the function raised StopIteration") from error
        except Exception as error:
            if hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"in map({name_of(function)}), {where}")
            raise
        columns = _checked(made, rows, lengths, ragged, f"map({name_of(function)}), {where}")
    return columns


def _checked(made: Any, rows: int, lengths: dict[str, int], ragged: set[int], where: str) -> dict[str, Any]:
    """``ragged``: how many rows the ragged fields have: what is made of one, row by row, has as many."""
    if not isinstance(made, Mapping):
        raise invalid(
            f"{where}: the function returned {type(made).__name__}, not a dict of columns",
            "It gets a dict, name → array of all samples of the batch, and returns one.",
        )
    for name, values in made.items():
        shape = getattr(values, "shape", None)
        length = shape[0] if shape else len(values) if hasattr(values, "__len__") and shape is None else None
        is_offsets = bool(ragged) and name.endswith(".offsets") and length == rows + 1
        if length is None or not (length in (rows, lengths.get(name), *ragged) or is_offsets):
            found = "no list of values" if length is None else f"{length} values"
            raise invalid(
                f"{where}: the field {name!r} that the function returned has {found}, for {rows} samples",
                "The first axis of every column is that of the samples"
                + (", or that of the rows of a ragged field." if ragged else "."),
            )
    return dict(made)


class MappedEpoch:
    """The batches of an epoch, through functions. Their time is told to ``spent(nanoseconds)``."""

    def __init__(
        self,
        batches: Iterator[dict[str, Any]],
        functions: tuple[ColumnFunction, ...],
        as_tuple: bool,
        epoch: int,
        spent: Callable[[int], None],
    ) -> None:
        self._batches = batches
        self._functions = functions
        self._as_tuple = as_tuple
        self._epoch = epoch
        self._spent = spent
        self._count = 0

    def __iter__(self) -> MappedEpoch:
        return self

    def __next__(self) -> Any:
        columns = next(self._batches)
        began = time.perf_counter_ns()
        where = f"batch {self._count} of this pass through epoch {self._epoch}"
        columns = apply(self._functions, columns, rows_of(columns), where)
        self._count += 1
        self._spent(time.perf_counter_ns() - began)
        return tuple(columns.values()) if self._as_tuple else columns

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batches, name)  # what else an epoch can do


def rows_of(columns: dict[str, Any]) -> int:
    """Return the number of samples of a batch."""
    return num_samples(columns)
