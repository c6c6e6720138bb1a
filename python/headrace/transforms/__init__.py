"""Transforms, for :meth:`Dataset.map`: what is done with a sample's fields on their way into a batch.

    from headrace import transforms as T

    jets = hr.open("train_*.h5", fields={"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"})
    jets = jets.map(T.SymmetricPairs("adj", sentinel=-999.0), T.Standardize("x", mean, std, clip=5.0))

They run in C++ on the loader's threads, where possible while rows are copied into the batch, in the order given. Files,
order and caches stay as they are: caches keep what is stored. What is random depends on the loader's seed, the epoch
and the sample, never on threads, ranks or a resumption. Those that make a field of one have ``to=``, its
name; without it, the result takes the place of the field that it was made of (Mask and PairFeatures name theirs).
"""

from headrace.transforms._base import Transform
from headrace.transforms._random import (
    Contrast,
    Crop,
    Flip,
    Gamma,
    Mirror,
    MixUp,
    Noise,
    Rotate90,
    ShuffleAxes,
    SpecAugment,
)
from headrace.transforms._shapes import (
    Concat,
    Drop,
    Keep,
    Mask,
    PairFeatures,
    Reshape,
    Select,
    SymmetricPairs,
    Transpose,
    Truncate,
)
from headrace.transforms._values import Affine, Cast, Clip, Log, OneHot, Relabel, Standardize, Threshold

__all__ = [
    "Affine",
    "Cast",
    "Clip",
    "Concat",
    "Contrast",
    "Crop",
    "Drop",
    "Flip",
    "Gamma",
    "Keep",
    "Log",
    "Mask",
    "Mirror",
    "MixUp",
    "Noise",
    "OneHot",
    "PairFeatures",
    "Relabel",
    "Reshape",
    "Rotate90",
    "Select",
    "ShuffleAxes",
    "SpecAugment",
    "Standardize",
    "SymmetricPairs",
    "Threshold",
    "Transform",
    "Transpose",
    "Truncate",
]
