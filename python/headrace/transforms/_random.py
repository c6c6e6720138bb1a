"""Transforms by chance: what they draw follows from the loader's seed, the epoch and the sample."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from headrace.transforms._base import Transform, whole_numbers


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
        extents = whole_numbers("Crop", "size", size)
        super().__init__("Crop", fields, size=extents, random=random, channels_last=channels_last, seed=seed)


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
