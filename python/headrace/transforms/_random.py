"""Transforms by chance: what they draw follows from the loader's seed, the epoch and the sample."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from headrace._support.argument_hints import SPEC_AUGMENT_KNOBS, names_knobs
from headrace._support.checks import invalid
from headrace.transforms._base import Transform, whole_numbers


class SpecAugment(Transform):
    """Blank random stripes of a spectrogram, of sample shape (…, frequencies, frames). The type stays.

    Each stripe is 0 to ``time`` frames (``freq`` frequencies) wide. What would blank nothing, or could blank all, is
    refused: by its arguments at once, by the field's shape in :meth:`Dataset.map`.

    Args:
        field: Name of the field.
        time: Widest stripe in frames, fewer than there are; 0: none.
        freq: Widest stripe in frequencies, fewer than there are; 0: none.
        num_time: Stripes of frames.
        num_freq: Stripes of frequencies.
        fill: Value of what is blanked.
        p: Chance that a sample is changed at all.
        seed: Another seed draws other stripes.
        to: Name of the field to make.

    Raises:
        InvalidArgumentError: Nothing would be blanked.
        UnknownArgumentError: There is no such argument; of those of torchaudio, the text says what replaces each.
    """

    @names_knobs("SpecAugment", SPEC_AUGMENT_KNOBS)
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
        if not (time or freq):
            raise invalid(
                "SpecAugment: neither time= nor freq= is given, so that nothing is blanked",
                "Give the widest stripe in frames (time=), in frequencies (freq=), or both.",
            )
        for key, widest, stripes in (("time", time, num_time), ("freq", freq, num_freq)):
            if widest and not stripes:
                raise invalid(f"SpecAugment: {key}={widest} does nothing with num_{key}=0", f"Leave {key}= out.")
            if not widest and stripes not in (0, 1):
                raise invalid(f"SpecAugment: num_{key}={stripes} does nothing without {key}=", f"Give {key}= too.")
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

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise InvalidArgumentError where stripes are as wide as samples of this shape, or wider."""
        for key, extent, unit in (("time", shape[-1], "frame"), ("freq", shape[-2], "frequency")):
            widest = self.settings.get(key, 0)
            if widest == 0 or widest < extent:
                continue
            units = "frequencies" if unit == "frequency" else "frames"
            raise invalid(
                f"SpecAugment: {key} is {widest}, and a sample of {self.fields[0]!r} has "
                + (f"one {unit}, which is never blanked" if extent == 1 else f"{extent} {units}"),
                f"Leave {key}= out." if extent == 1 else f"Give less than {extent}: a stripe leaves some of them.",
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
        size: Extents of the box, of the last axes of a sample: (height, width) for images.
        random: False: the box in the middle.
        channels_last: Axes behind those that are cropped: 1 for (height, width, channels).
        seed: Another seed draws other boxes.

    Raises:
        InvalidArgumentError: Extents that are no whole numbers; in :meth:`Dataset.map`: an extent below 1 or above the
            sample's, more extents than a sample has axes, or fields of different extents.
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
        extents = whole_numbers("Crop", "size", size)
        super().__init__("Crop", fields, size=extents, random=random, channels_last=channels_last, seed=seed)


class Flip(Transform):
    """Mirror samples along an axis, with a chance; several fields together or not at all.

    Args:
        fields: Name of the field, or names.
        axis: Axis of a sample; negative ones count from the end. None: the last, unless it may be one of channels, as
            :class:`Mirror` has it.
        p: Chance.
        seed: Another seed draws others.
    """

    def __init__(self, fields: str | Sequence[str], axis: int | None = None, *, p: float = 0.5, seed: int = 0) -> None:
        self._by_default = (-1,) if axis is None else ()
        super().__init__("Flip", fields, axis=-1 if axis is None else axis, p=float(p), seed=seed)

    def _turned_by_default(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._by_default if shape else ()


class Mirror(Transform):
    """Reverse each of some axes with a chance, each by itself; several fields alike.

    Args:
        fields: Name of the field, or names. None: all fields of two axes or more that have these axes, in the data set
            as it is at this place among the transforms; one of other extents along them than the first's is an error,
            and fields of fewer axes (labels, targets) or of different length stay as they are.
        axes: Axes of a sample; negative ones count from the end. None: the last three, or all if there are fewer (of
            the field with the fewest). Channels must not be turned, so without ``axes`` an axis that may be one of
            channels is an error in :meth:`Dataset.map`: among three axes or more, one of 2 to 16 entries, at most half
            as many as another of the last three has. Of patches it is the volumes that are looked at.
        p: Chance of each axis.
        seed: Another seed draws others.
    """

    def __init__(
        self,
        fields: str | Sequence[str] | None = None,
        axes: int | Sequence[int] | None = None,
        *,
        p: float = 0.5,
        seed: int = 0,
    ) -> None:
        super().__init__("Mirror", _turned("Mirror", fields), axes=_axes("Mirror", axes), p=float(p), seed=seed)

    def _turned_by_default(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return () if "axes" in self.settings else tuple(range(-min(len(shape), 3), 0))


class Rotate90(Transform):
    """Rotate by 0, 90, 180 or 270 degrees in a plane, each equally likely; several fields alike.

    Args:
        fields: Name of the field, or names. None: as :class:`Mirror` has it.
        axes: The two axes of the plane, of equal extents; negative ones count from the end. None: the last two, unless
            one may be of channels, as :class:`Mirror` has it. ``"cube"``: one of the 24 rotations of a cube, of the
            last three axes.
        p: Chance that a sample is rotated at all, then by 0 degrees too.
        seed: Another seed draws others.

    Raises:
        InvalidArgumentError: Axes that are neither whole numbers nor ``"cube"``; in :meth:`Dataset.map`: not two axes,
            one of them twice, axes that a sample does not have, or of unequal extents.
    """

    def __init__(
        self,
        fields: str | Sequence[str] | None = None,
        axes: str | Sequence[int] | None = None,
        *,
        p: float = 1.0,
        seed: int = 0,
    ) -> None:
        if isinstance(axes, str) and axes != "cube":
            raise invalid(f"Rotate90: axes are two whole numbers or 'cube', not {axes!r}")
        self._by_default = (-2, -1) if axes is None else ()
        cube = isinstance(axes, str) or None
        numbers = None if isinstance(axes, str) else _axes("Rotate90", (-2, -1) if axes is None else axes)
        super().__init__("Rotate90", _turned("Rotate90", fields), axes=numbers, cube=cube, p=float(p), seed=seed)

    def _turned_by_default(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return self._by_default if len(shape) > 1 else ()


class ShuffleAxes(Transform):
    """Put axes of equal extents into a random order, each order equally likely; several fields alike.

    With :class:`Mirror` of the same axes, that makes all 48 ways in which a cube may lie.

    Args:
        fields: Name of the field, or names. None: as :class:`Mirror` has it.
        axes: Axes of a sample, of equal extents; negative ones count from the end. None: those of the last three that
            have equal extents: y and x of thin patches; not if one may be of channels, as :class:`Mirror` has it.
        p: Chance that they are put into another order at all.
        seed: Another seed draws others.
    """

    def __init__(
        self,
        fields: str | Sequence[str] | None = None,
        axes: Sequence[int] | None = None,
        *,
        p: float = 1.0,
        seed: int = 0,
    ) -> None:
        name = "ShuffleAxes"
        super().__init__(name, _turned(name, fields), axes=_axes(name, axes), p=float(p), seed=seed)

    def _turned_by_default(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        last = shape[-3:]
        alike = tuple(a for a in range(-len(last), 0) if last.count(last[a]) > 1)
        return () if "axes" in self.settings else alike


class Contrast(Transform):
    """Stretch values about their mean: ``(x - mean) * factor + mean``, in float32 (float64 stays).

    The mean is that of the sample, of the values that are no NaN; NaN stays.

    Args:
        field: Name of the field.
        least: Least factor. Each sample draws its own, uniformly.
        most: Factors are below it.
        seed: Another seed draws others.
        to: Name of the field to make.
    """

    def __init__(self, field: str, least: float, most: float, *, seed: int = 0, to: str | None = None) -> None:
        super().__init__("Contrast", field, least=float(least), most=float(most), seed=seed, to=to)


class Gamma(Transform):
    """Raise values from 0 to 1 to a power: ``x ** gamma``, in float32 (float64 stays).

    Values below 0 become 0; those above 1 are raised as they are; NaN stays. Whole numbers are refused: bring them to 0
    to 1 first, with :class:`Affine`.

    Args:
        field: Name of the field.
        least: Least exponent, above 0. Each sample draws its own, uniformly on a logarithmic scale.
        most: Exponents are below it.
        seed: Another seed draws others.
        to: Name of the field to make.
    """

    def __init__(self, field: str, least: float, most: float, *, seed: int = 0, to: str | None = None) -> None:
        super().__init__("Gamma", field, least=float(least), most=float(most), seed=seed, to=to)


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


def _turned(name: str, fields: str | Sequence[str] | None) -> str | Sequence[str]:
    """Return the fields as the engine takes them, which has none for all."""
    if fields is None:
        return ()
    if not isinstance(fields, str) and not len(fields):
        raise invalid(f"{name}: names no field", "None stands for all that lie over each other.")
    return fields


def _axes(name: str, axes: int | Sequence[int] | None) -> list[int] | None:
    if axes is None:
        return None
    numbers = whole_numbers(name, "axes", [axes] if isinstance(axes, int) else axes)
    if not numbers:
        raise invalid(f"{name}: axes are none")
    return numbers
