"""Transforms of values: arithmetic, types, labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headrace._support.checks import invalid
from headrace.transforms._base import Transform, type_name, whole_numbers


class Standardize(Transform):
    """Subtract a mean and divide by a standard deviation: ``(x - mean) / std``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        mean: One number, or one for each of the last axis (:meth:`Dataset.stats` measures them).
        std: The same; above 0.
        clip: Largest size of a result: it is cut to ±clip. NaN stays.
        pad_feature: Number of the feature (along the last axis) that is ``fill`` in padding: such entries stay as they
            are.
        fill: Value of that feature in padding; None: 0.
        to: Name of the field to make. None: in place of the one that is read.

    Raises:
        InvalidArgumentError: ``fill`` without ``pad_feature``; in :meth:`Dataset.map`: a ``std`` or ``clip`` that is
            not above 0, more or fewer numbers than the last axis has entries, or a feature that there is not.
    """

    def __init__(
        self,
        field: str,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        clip: float | None = None,
        pad_feature: int | None = None,
        fill: float | None = None,
        to: str | None = None,
    ) -> None:
        if fill is not None and pad_feature is None:
            raise invalid(
                "Standardize: fill= does nothing without pad_feature=", "Name the feature that tells padding."
            )
        super().__init__("Standardize", field, mean=mean, std=std, clip=clip, pad_feature=pad_feature, fill=fill, to=to)


class Affine(Transform):
    """Multiply and add: ``x * scale + shift``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        scale: One number, or one for each of the last axis.
        shift: The same.
        missing: A stored value, or several, that stand for no value: they become NaN. None: there are none.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        scale: ArrayLike = 1.0,
        shift: ArrayLike = 0.0,
        *,
        missing: ArrayLike | None = None,
        to: str | None = None,
    ) -> None:
        super().__init__("Affine", field, scale=scale, shift=shift, missing=missing, to=to)


class Log(Transform):
    """Take the logarithm: ``log(x + offset)``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        base: Base; None: natural.
        offset: Added before: 1.0 for log1p.
        to: Name of the field to make.
    """

    def __init__(self, field: str, *, base: float | None = None, offset: float = 0.0, to: str | None = None) -> None:
        super().__init__("Log", field, base=None if base is None else float(base), offset=offset, to=to)


class Clip(Transform):
    """Cut values to a range. The type stays; NaN stays.

    Args:
        field: Name of the field.
        least: Smallest value; None: none. Integers are compared exactly, whatever their size.
        most: Largest value; None: none.
        to: Name of the field to make.
    """

    def __init__(
        self, field: str, least: float | None = None, most: float | None = None, *, to: str | None = None
    ) -> None:
        super().__init__("Clip", field, least=_wide(least), most=_wide(most), to=to)


class Cast(Transform):
    """Turn values into another type.

    Floating point types round to the nearest, integers towards zero. A value that the type does not have (NaN, for
    integers and bool; 300, for uint8) is a CorruptDataError of its batch, with the number of its sample: cut values to
    a range first, with :class:`Clip`, where that is meant. NumPy has bfloat16 with the package ml_dtypes only; torch
    has it.

    Args:
        field: Name of the field.
        dtype: ``"float16"``, ``"bfloat16"``, ``"float32"``, ``"uint8"``, ``"int64"``, …, or a NumPy or torch type.
        exact: For integer types only: a value that is no whole number is an error as well, as a label of 2.7 is.
        to: Name of the field to make.
    """

    def __init__(self, field: str, dtype: Any, *, exact: bool = False, to: str | None = None) -> None:
        super().__init__("Cast", field, dtype=type_name(dtype), exact=exact or None, to=to)


class Relabel(Transform):
    """Give labels other numbers: data set index to model index. Makes int64. NaN is an error of its batch.

    Integers are compared exactly, whatever their size.

    Args:
        field: Name of the field.
        labels: Stored value → new label. Keys are numbers; or names, with ``names``.
        names: Names of the stored values 0, 1, 2, …: a list, a dict name → stored value, or either as JSON text, as
            files keep it in an attribute (``mel.attrs["y"]["labels_json"]``).
        otherwise: New label of all stored values that are not named. None: they are an error of their batch.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        labels: Mapping[Any, int],
        *,
        names: str | Sequence[str] | Mapping[str, int] | None = None,
        otherwise: int | None = None,
        to: str | None = None,
    ) -> None:
        if not labels:
            raise invalid("Relabel: no label is named")
        stored = _stored_values(labels, names)
        super().__init__(
            "Relabel",
            field,
            stored=stored,
            labels=whole_numbers("Relabel", "labels", labels.values()),
            otherwise=otherwise,
            to=to,
        )


class Threshold(Transform):
    """Make classes of numbers: how many of the thresholds a value reaches. Makes int64.

    Integers are compared exactly, whatever their size.

    Args:
        field: Name of the field.
        at: Thresholds, ascending. A value equal to one reaches it.
        to: Name of the field to make.
    """

    def __init__(self, field: str, at: ArrayLike, *, to: str | None = None) -> None:
        super().__init__("Threshold", field, at=_wide(at), to=to)


class OneHot(Transform):
    """Make a one-hot vector of each class number: another axis, of ``classes``, follows.

    Args:
        field: Name of the field with numbers from 0.
        classes: Number of classes.
        dtype: Type of the zeros and ones.
        to: Name of the field to make.
    """

    def __init__(self, field: str, classes: int, *, dtype: Any = "float32", to: str | None = None) -> None:
        super().__init__("OneHot", field, classes=classes, dtype=type_name(dtype), to=to)


def _wide(value: Any) -> Any:
    """Return an integer beyond int64 as a list of one, which keeps it exact; all else as it is."""
    return [value] if isinstance(value, (int, np.integer)) and int(value) >= 2**63 else value


def _stored_values(labels: Mapping[Any, int], names: Any) -> list[float | int]:
    if names is None:
        if any(isinstance(key, str) for key in labels):
            raise invalid("Relabel: labels are named by text, and names= does not say which value has which name")
        return [_number(key) for key in labels]
    if isinstance(names, (str, bytes)):
        try:
            names = json.loads(names)
        except ValueError as error:
            raise invalid(f"Relabel: names is text, but no JSON: {error}") from error
    if not isinstance(names, Mapping):
        names = {name: value for value, name in enumerate(names)}
    elif all(isinstance(value, str) for value in names.values()):  # {"0": "leak", …}
        names = {name: _named_number(value) for value, name in names.items()}
    for name in labels:
        if name not in names:
            raise invalid(f"Relabel: no label is called {name!r}; there are {', '.join(map(str, names))}")
    return [_number(names[name]) for name in labels]


def _named_number(text: Any) -> float | int:
    """Return the number of a key of JSON."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _number(value: Any) -> float | int:
    """Return a stored value as a number: a whole one as it is."""
    return int(value) if isinstance(value, (int, np.integer)) else float(value)
