"""The columns of a batch as JAX takes them: types that it has, and shapes that do not change from batch to batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from headrace._support.checks import invalid, real_number, whole_number
from headrace.dataset import Dataset

Column = np.ndarray[Any, Any]


class Columns:
    """What becomes of the columns of a batch before devices get them.

    Args:
        dataset: The data set whose batches they are of.
        width: Rows that each sample of ragged fields is filled up to.
        fill: What is written there.

    Attributes:
        width: Rows that each sample of ragged fields is filled up to; None: there are none.
        shapes: Shape of a sample by field, where it is known before the first batch.

    Raises:
        InvalidArgumentError: A field is of a type that JAX has not, or ragged without ``width``.
    """

    def __init__(self, dataset: Dataset, width: int | None, fill: float) -> None:
        ragged = [name for name, field in dataset.fields.items() if field.ragged]
        self.width = None if width is None else whole_number("width", width, least=1)
        self._fill = real_number("fill", fill)
        self._ragged = frozenset(ragged)
        # A loader's masks have these names; a dense field that is called like another one's mask is data.
        self._masks = frozenset({"mask", *(f"{name}.mask" for name in ragged)} - set(dataset.fields))
        if ragged and width is None:
            raise invalid(
                f"the field {ragged[0]!r} is ragged, and a jax.Array is not",
                "Give width=: rows that each sample is filled up to; the same for all batches, so that jit compiles "
                "once. T.Truncate(width) shortens longer samples.",
            )
        if width is not None and not ragged:
            raise invalid("width says how wide ragged fields become, and there are none", "Leave it out.")
        self.shapes: dict[str, tuple[int, ...]] = {}
        if dataset._functions:  # which may make other fields
            return
        for name, field in dataset.fields.items():
            check_type(name, field.dtype)
            self.shapes[name] = (self.width, *field.shape) if field.ragged and self.width else field.shape

    def ready(self, columns: Mapping[str, Any]) -> dict[str, Column]:
        """Return the columns with the types that JAX gives them, and ragged ones as wide as ``width``."""
        return {name: as_jax(name, self._widened(name, np.asarray(column))) for name, column in columns.items()}

    def _widened(self, name: str, column: Column) -> Column:
        is_mask = name in self._masks
        if self.width is None or not (is_mask or name in self._ragged) or column.shape[1] == self.width:
            return column
        if column.shape[1] > self.width:
            raise invalid(
                f"a sample of the field {name!r} has {column.shape[1]} rows, and width={self.width}",
                f"Shorten such samples by dataset.map(T.Truncate({self.width})), or give a larger width=.",
            )
        shape = (column.shape[0], self.width, *column.shape[2:])
        wide = np.full(shape, False if is_mask else self._fill, column.dtype)
        wide[:, : column.shape[1]] = column
        return wide


def check_type(name: str, dtype: np.dtype[Any]) -> None:
    """Raise if JAX has no type for a field.

    Raises:
        InvalidArgumentError: It is text, bytes or a time, for example.
    """
    if jax.numpy.issubdtype(dtype, np.number) or jax.numpy.issubdtype(dtype, np.bool_):
        return
    raise invalid(
        f"the field {name!r} is of type {dtype}, which jax.Arrays do not have",
        f"Leave it out by dataset.map(T.Drop({name!r})), or make numbers of it by dataset.map(function).",
    )


def as_jax(name: str, column: Column) -> Column:
    """Return a column in the type that JAX gives it: 64 bits become 32, unless ``jax_enable_x64`` is set.

    Raises:
        InvalidArgumentError: A whole number does not fit, which JAX itself would wrap.
    """
    check_type(name, column.dtype)
    dtype = np.dtype(jax.dtypes.canonicalize_dtype(column.dtype))
    if dtype == column.dtype:
        return column
    made = column.astype(dtype)
    if column.dtype.kind in "iu" and not np.array_equal(made, column):
        value = column[made != column].flat[0]
        raise invalid(
            f"the field {name!r} has {value}, which {dtype} does not hold",
            'Set jax.config.update("jax_enable_x64", True), or leave the field out by dataset.map(T.Drop(...)).',
        )
    return made
