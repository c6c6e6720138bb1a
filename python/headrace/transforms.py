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

import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headrace._checks import invalid

__all__ = [
    "Affine",
    "Cast",
    "Clip",
    "Concat",
    "Crop",
    "Drop",
    "Flip",
    "Keep",
    "Log",
    "Mask",
    "MixUp",
    "Noise",
    "OneHot",
    "PairFeatures",
    "Relabel",
    "Reshape",
    "Select",
    "SpecAugment",
    "Standardize",
    "SymmetricPairs",
    "Threshold",
    "Transform",
    "Transpose",
]


class Transform:
    """One transform: its name, the fields that it reads, and its settings. Use the classes below.

    Attributes:
        name: Name, for example ``"Clip"``.
        fields: Names of the fields that it reads.
        settings: Settings by name; those that are left out have their defaults.
    """

    def __init__(self, name: str, fields: str | Sequence[str], **settings: Any) -> None:
        names = [fields] if isinstance(fields, str) else list(fields)
        if not all(isinstance(field, str) for field in names):
            raise invalid(f"{name}: names of fields are text, not {fields!r}")
        self.name = name
        self.fields = tuple(names)
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
        super().__init__("Standardize", field, mean=mean, std=std, clip=clip, pad_feature=pad_feature, pad=pad, to=to)


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

    def __init__(self, field: str, *, base: float | None = None, offset: float = 0.0, to: str | None = None) -> None:
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


class Relabel(Transform):
    """Give labels other numbers: data set index to model index. Makes int64.

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
            stored=list(map(float, stored)),
            labels=[float(operator.index(label)) for label in labels.values()],
            otherwise=otherwise,
            to=to,
        )


def _stored_values(labels: Mapping[Any, int], names: Any) -> list[float]:
    if names is None:
        if any(isinstance(key, str) for key in labels):
            raise invalid("Relabel: labels are named by text, and names= does not say which value has which name")
        return [float(key) for key in labels]
    if isinstance(names, (str, bytes)):
        try:
            names = json.loads(names)
        except ValueError as error:
            raise invalid(f"Relabel: names is text, but no JSON: {error}") from error
    if not isinstance(names, Mapping):
        names = {name: value for value, name in enumerate(names)}
    elif all(isinstance(value, str) for value in names.values()):  # {"0": "leak", …}
        names = {name: float(value) for value, name in names.items()}
    for name in labels:
        if name not in names:
            raise invalid(f"Relabel: no label is called {name!r}; there are {', '.join(map(str, names))}")
    return [float(names[name]) for name in labels]


class Threshold(Transform):
    """Make classes of numbers: how many of the thresholds a value reaches. Makes int64.

    Args:
        field: Name of the field.
        at: Thresholds, ascending. A value equal to one reaches it.
        to: Name of the field to make.
    """

    def __init__(self, field: str, at: ArrayLike, *, to: str | None = None) -> None:
        super().__init__("Threshold", field, at=at, to=to)


class OneHot(Transform):
    """Make a one-hot vector of each class number: another axis, of ``classes``, follows.

    Args:
        field: Name of the field with numbers from 0.
        classes: Number of classes.
        dtype: Type of the zeros and ones.
        to: Name of the field to make.
    """

    def __init__(self, field: str, classes: int, *, dtype: Any = "float32", to: str | None = None) -> None:
        super().__init__("OneHot", field, classes=classes, dtype=_type_name(dtype), to=to)


class Select(Transform):
    """Take some entries along an axis, in the order given.

    Args:
        field: Name of the field.
        indices: Which entries; negative ones count from the end.
        axis: Axis of a sample (that of samples is not counted); negative ones count from the end.
        to: Name of the field to make.
    """

    def __init__(self, field: str, indices: Sequence[int], *, axis: int = -1, to: str | None = None) -> None:
        super().__init__("Select", field, indices=[float(operator.index(i)) for i in indices], axis=axis, to=to)


class Concat(Transform):
    """Put fields of one type together along an axis. Numbers become a list. The fields themselves are left out then.

    Args:
        fields: Names of the fields.
        to: Name of the field to make; None: that of the first.
        axis: Axis of a sample; negative ones count from the end.
    """

    def __init__(self, fields: Sequence[str], to: str | None = None, *, axis: int = -1) -> None:
        super().__init__("Concat", fields, to=to, axis=axis)


class Reshape(Transform):
    """Give samples another shape; the values stay in their order.

    Args:
        field: Name of the field.
        shape: Shape of a sample; one extent may be -1.
        to: Name of the field to make.
    """

    def __init__(self, field: str, shape: Sequence[int], *, to: str | None = None) -> None:
        super().__init__("Reshape", field, shape=[float(operator.index(n)) for n in shape], to=to)


class Transpose(Transform):
    """Put a sample's axes into another order, as ``numpy.transpose``.

    Args:
        field: Name of the field.
        axes: The axes of a sample in their new order; None: reversed.
        to: Name of the field to make.
    """

    def __init__(self, field: str, axes: Sequence[int] | None = None, *, to: str | None = None) -> None:
        order = None if axes is None else [float(operator.index(axis)) for axis in axes]
        super().__init__("Transpose", field, axes=order, to=to)


class PairFeatures(Transform):
    """Make the pair features of Particle Transformer from four-vectors: ln kT, ln z, ln ΔR, ln m².

    As defined in Qu, Li, Qian, "Particle Transformer for Jet Tagging" (ICML 2022): with rapidities, and 1e-8 in place
    of anything smaller. Makes float32 of shape (P, P, 4). Particles whose four components are 0 are padding.

    Args:
        field: Name of the field with the four-vectors, of sample shape (P, F); it stays as it is.
        to: Name of the field to make.
        vectors: Numbers of the features px, py, pz and E.
        stored_features_first: True: the field's sample shape is (F, P).
        features_first: True: the shape made is (4, P, P).
        fill: Value of pairs with padding.
    """

    def __init__(
        self,
        field: str,
        to: str = "pairs",
        *,
        vectors: Sequence[int] = (0, 1, 2, 3),
        stored_features_first: bool = False,
        features_first: bool = False,
        fill: float = 0.0,
    ) -> None:
        super().__init__(
            "PairFeatures",
            field,
            to=to,
            vectors=[float(operator.index(i)) for i in vectors],
            stored_features_first=stored_features_first,
            features_first=features_first,
            fill=float(fill),
        )


class SpecAugment(Transform):
    """Blank random stripes of a spectrogram, of sample shape (…, frequencies, frames). The type stays.

    Each stripe is 0 to ``time`` frames (``freq`` frequencies) wide, but never all of them.

    Args:
        field: Name of the field.
        time: Widest stripe in frames; 0: none.
        freq: Widest stripe in frequencies; 0: none.
        num_time: Stripes of frames.
        num_freq: Stripes of frequencies.
        fill: Value of what is blanked.
        p: Chance that a sample is changed at all.
        seed: Another seed draws other stripes.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        *,
        time: int = 0,
        freq: int = 0,
        num_time: int = 1,
        num_freq: int = 1,
        fill: float = 0.0,
        p: float = 1.0,
        seed: int = 0,
        to: str | None = None,
    ) -> None:
        super().__init__(
            "SpecAugment",
            field,
            time=time,
            freq=freq,
            num_time=num_time,
            num_freq=num_freq,
            fill=float(fill),
            p=float(p),
            seed=seed,
            to=to,
        )


class Noise(Transform):
    """Add normal random numbers, in float32 (float64 stays).

    Args:
        field: Name of the field.
        std: Their standard deviation: one number, or one for each of the last axis.
        seed: Another seed draws others.
        to: Name of the field to make.
    """

    def __init__(self, field: str, std: ArrayLike, *, seed: int = 0, to: str | None = None) -> None:
        super().__init__("Noise", field, std=std, seed=seed, to=to)


class Crop(Transform):
    """Cut a random box out of images or volumes; out of several fields the same box.

    Args:
        fields: Name of the field, or names.
        size: Extents of the box, of the last axes of a sample.
        random: False: the box in the middle.
        channels_last: Axes behind those that are cropped: 1 for (height, width, channels).
        seed: Another seed draws other boxes.
    """

    def __init__(
        self,
        fields: str | Sequence[str],
        size: Sequence[int],
        *,
        random: bool = True,
        channels_last: int = 0,
        seed: int = 0,
    ) -> None:
        extents = [float(operator.index(n)) for n in size]
        super().__init__("Crop", fields, size=extents, random=random, channels_last=int(channels_last), seed=seed)


class Flip(Transform):
    """Mirror samples along an axis, with a chance; several fields together or not at all.

    Args:
        fields: Name of the field, or names.
        axis: Axis of a sample; negative ones count from the end.
        p: Chance.
        seed: Another seed draws others.
    """

    def __init__(self, fields: str | Sequence[str], axis: int = -1, *, p: float = 0.5, seed: int = 0) -> None:
        super().__init__("Flip", fields, axis=axis, p=float(p), seed=seed)


class MixUp(Transform):
    """Mix pairs of samples of a batch: each becomes a weighted mean of both, in all fields named.

    As in Zhang et al., "mixup" (ICLR 2018). Which samples meet, and their weight, from Beta(alpha, alpha), depends on
    the seeds, the epoch and the samples of the batch; with another batch size or number of ranks, others meet. Comes
    after all transforms of single samples. Of an odd number of samples one stays as it is.

    Args:
        fields: Names of fields of floating point numbers; labels too, as :class:`OneHot`.
        alpha: Shape of the weights' distribution.
        seed: Another seed draws others.
    """

    def __init__(self, fields: Sequence[str], alpha: float = 0.2, *, seed: int = 0) -> None:
        super().__init__("MixUp", fields, alpha=float(alpha), seed=seed)


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
