"""Transforms, for :meth:`Dataset.map`: what is done with a sample's fields on their way into a batch.

    from headrace import transforms as T

    jets = hr.open("train_*.h5", fields={"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"})
    jets = jets.map(T.SymmetricPairs("adj", sentinel=-999.0), T.Standardize("x", mean, std, clip=5.0))

They run in C++ on the loader's threads, where possible while rows are copied into the batch, in the order given. Files,
order and caches stay as they are: caches keep what is stored. What is random depends on the loader's seed, the epoch
and the sample, never on threads, ranks or a resumption. Each has ``to=``: the name of the field that it makes; without
it, the result takes the place of the field that it was made of.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headrace._checks import invalid

__all__ = [
    "Affine",
    "Cast",
    "Clip",
    "Drop",
    "Keep",
    "Log",
    "Mask",
    "Standardize",
    "SymmetricPairs",
    "Transform",
]


class Transform:
    """One transform: its name, the fields that it reads, and its settings. Use the classes below."""

    def __init__(self, name: str, fields: str | Sequence[str], **settings: Any) -> None:
        names = [fields] if isinstance(fields, str) else list(fields)
        if not all(isinstance(field, str) for field in names):
            raise invalid(f"{name}: names of fields are text, not {fields!r}")
        self.name = name  #: Name.
        self.fields = tuple(names)  #: Fields that it reads.
        self.settings = {key: _setting(name, key, value) for key, value in settings.items() if value is not None}

    def __repr__(self) -> str:
        inside = [*map(repr, self.fields), *(f"{key}={value!r}" for key, value in self.settings.items())]
        return f"{self.name}({', '.join(inside)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


def _setting(name: str, key: str, value: Any) -> Any:
    """What the engine takes: bool, int, float, text, a list of floats or of texts."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(entry, str) for entry in value):
        return list(value)
    try:
        return operator.index(value)
    except TypeError:
        pass
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise invalid(f"{name}: {key} must be a number or a list of them, not {value!r}") from error
    if array.ndim > 1:
        raise invalid(f"{name}: {key} must be a number or a list of them, not of {array.ndim} dimensions")
    return float(array) if array.ndim == 0 else [float(entry) for entry in array]


class SymmetricPairs(Transform):
    """Make dense symmetric matrices of flat upper triangles.

    A field of sample shape (P·(P-1)/2,) becomes (P, P); one of (P·(P-1)/2, E) becomes (P, P, E). Pair (i, j), i < j, is
    stored row by row. The type stays.

    Args:
        field: Name of the field.
        sentinel: Value that stands for pairs with a particle that is not there, for example -999.0. They become
            ``fill``. A sentinel between real pairs is an error (CorruptDataError, at the batch that has the sample).
        fill: What entries of absent particles become.
        diagonal: What entries (i, i) of real particles become. Not used with ``k=0``.
        k: First diagonal that is stored: 1 without the main diagonal, 0 with it; then P·(P+1)/2 pairs.
        layout: ``"max"``: each pair is stored where it is of all P particles. ``"packed"``: the pairs of the n real
            particles come first, as the triangle of n, then the sentinel.
        strict: False: single pairs may be missing; the matrix has ``fill`` there.
        mask: Name of another field to make: bool of shape (P, P), True where both particles are there.
        particles: P, to be checked against the length.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        *,
        sentinel: float | None = None,
        fill: float = 0.0,
        diagonal: float = 0.0,
        k: int = 1,
        layout: str = "max",
        strict: bool = True,
        mask: str | None = None,
        particles: int | None = None,
        to: str | None = None,
    ) -> None:
        super().__init__(
            "SymmetricPairs",
            field,
            sentinel=sentinel,
            fill=fill,
            diagonal=diagonal,
            k=k,
            layout=layout,
            strict=strict,
            mask=mask,
            particles=particles,
            to=to,
        )


class Mask(Transform):
    """Tell real entries of a padded sample from padding: a field of bool, True where an entry is real.

    Of sample shape (P, F) it has shape (P,); of (P,), too.

    Args:
        field: Name of the padded field, which stays as it is.
        to: Name of the field to make.
        feature: Number of the feature (along the last axis) that tells; None: an entry is real if any of its features
            is. Not used where there is one axis.
        pad: Value that padding has.
        count: Name of another field to make: int64, how many entries are real.
    """

    def __init__(
        self, field: str, to: str = "mask", *, feature: int | None = None, pad: float = 0.0, count: str | None = None
    ) -> None:
        super().__init__("Mask", field, to=to, feature=feature, pad=pad, count=count)


class Standardize(Transform):
    """Subtract a mean and divide by a standard deviation: ``(x - mean) / std``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        mean: One number, or one for each of the last axis (:meth:`Dataset.stats` measures them).
        std: The same; above 0.
        clip: Largest size of a result: it is cut to ±clip. NaN stays.
        pad_feature: Number of the feature (along the last axis) that is ``pad`` in padding: such entries stay as they
            are.
        pad: Value of that feature in padding.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        mean: ArrayLike,
        std: ArrayLike,
        *,
        clip: float | None = None,
        pad_feature: int | None = None,
        pad: float | None = None,
        to: str | None = None,
    ) -> None:
        super().__init__(
            "Standardize", field, mean=mean, std=std, clip=clip, pad_feature=pad_feature, pad=pad, to=to
        )


class Affine(Transform):
    """Multiply and add: ``x * scale + shift``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        scale: One number, or one for each of the last axis.
        shift: The same.
        to: Name of the field to make.
    """

    def __init__(self, field: str, scale: ArrayLike = 1.0, shift: ArrayLike = 0.0, *, to: str | None = None) -> None:
        super().__init__("Affine", field, scale=scale, shift=shift, to=to)


class Log(Transform):
    """Take the logarithm: ``log(x + offset)``, in float32 (float64 stays).

    Args:
        field: Name of the field.
        base: Base; None: natural.
        offset: Added before: 1.0 for log1p.
        to: Name of the field to make.
    """

    def __init__(
        self, field: str, *, base: float | None = None, offset: float = 0.0, to: str | None = None
    ) -> None:
        super().__init__("Log", field, base=None if base is None else float(base), offset=offset, to=to)


class Clip(Transform):
    """Cut values to a range. The type stays; NaN stays.

    Args:
        field: Name of the field.
        least: Smallest value; None: none.
        most: Largest value; None: none.
        to: Name of the field to make.
    """

    def __init__(
        self, field: str, least: float | None = None, most: float | None = None, *, to: str | None = None
    ) -> None:
        super().__init__("Clip", field, least=least, most=most, to=to)


class Cast(Transform):
    """Turn values into another type.

    Floating point types round to the nearest. Integers: towards zero, and the nearest limit for what lies outside; NaN
    becomes 0. NumPy has bfloat16 with the package ml_dtypes only; torch has it.

    Args:
        field: Name of the field.
        dtype: ``"float16"``, ``"bfloat16"``, ``"float32"``, ``"uint8"``, ``"int64"``, …, or a NumPy or torch type.
        to: Name of the field to make.
    """

    def __init__(self, field: str, dtype: Any, *, to: str | None = None) -> None:
        super().__init__("Cast", field, dtype=_type_name(dtype), to=to)


class Keep(Transform):
    """Keep these fields alone, in this order. Columns that nothing needs any more are not read.

    Args:
        *fields: Names of fields.
    """

    def __init__(self, *fields: str) -> None:
        super().__init__("Keep", fields)


class Drop(Transform):
    """Leave these fields out. Columns that nothing needs any more are not read.

    Args:
        *fields: Names of fields.
    """

    def __init__(self, *fields: str) -> None:
        super().__init__("Drop", fields)


def _type_name(dtype: Any) -> str:
    text = dtype if isinstance(dtype, str) else str(dtype).removeprefix("torch.")
    try:
        return text if text == "bfloat16" else np.dtype(text if "class" not in text else dtype).name
    except TypeError as error:
        raise invalid(f"Cast: {dtype!r} is no type of numbers") from error
