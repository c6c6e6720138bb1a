"""Transforms of a sample's parts: pairs, masks, shapes, and which fields there are."""

from __future__ import annotations

from collections.abc import Sequence

from headrace._support.checks import invalid, one_of
from headrace.transforms._base import Transform, whole_numbers

#: Where the pairs of a sample lie in its triangle.
LAYOUTS = ("triu_max", "triu_n")


class SymmetricPairs(Transform):
    """Make dense symmetric matrices of flat upper triangles.

    A field of sample shape (P·(P-1)/2,) becomes (P, P); one of (P·(P-1)/2, E) becomes (P, P, E). Pair (i, j), i < j, is
    stored row by row. The type stays.

    Args:
        field: Name of the field.
        layout: ``"triu_max"``: the triangle of all P particles, in which each pair has its place. ``"triu_n"``: the
            triangle of the particles that are there comes first, then the sentinel. Both are of one length, and give
            different matrices.
        n: P, to be checked against the length.
        sentinel: Value that stands for pairs with a particle that is not there, for example -999.0. They become
            ``fill``. A sentinel between real pairs is an error (CorruptDataError, at the batch that has the sample).
        fill: What entries of absent particles become: a number that the field's type has.
        diagonal: What entries (i, i) of real particles become. Not used with ``k=0``.
        k: First diagonal that is stored: 1 without the main diagonal, 0 with it; then P·(P+1)/2 pairs.
        strict: False: single pairs may be missing; the matrix has ``fill`` there.
        mask: Name of another field to make: bool of shape (P, P), True where both particles are there.
        to: Name of the field to make.
    """

    def __init__(
        self,
        field: str,
        layout: str = "triu_max",
        n: int | None = None,
        sentinel: float | None = None,
        fill: float = 0.0,
        *,
        diagonal: float = 0.0,
        k: int = 1,
        strict: bool = True,
        mask: str | None = None,
        to: str | None = None,
    ) -> None:
        name = "SymmetricPairs"
        one_of(f"{name}: layout", layout, LAYOUTS)
        if sentinel is None and (layout == "triu_n" or mask is not None):
            raise invalid(
                f"{name}: {'layout=' + repr(layout) if layout == 'triu_n' else 'mask='} needs sentinel=",
                "The sentinel tells which particles are absent.",
            )
        super().__init__(
            name,
            field,
            layout=layout,
            n=n,
            sentinel=sentinel,
            fill=fill,
            diagonal=diagonal,
            k=k,
            strict=strict,
            mask=mask,
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
        fill: Value that samples are filled up with.
        count: Name of another field to make: int64, how many entries are real.
    """

    def __init__(
        self,
        field: str,
        to: str = "mask",
        *,
        feature: int | None = None,
        fill: float = 0.0,
        count: str | None = None,
    ) -> None:
        super().__init__("Mask", field, to=to, feature=feature, fill=fill, count=count)


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
            vectors=whole_numbers("PairFeatures", "vectors", vectors),
            stored_features_first=stored_features_first,
            features_first=features_first,
            fill=float(fill),
        )


class Select(Transform):
    """Take some entries along an axis, in the order given.

    Args:
        field: Name of the field.
        indices: Which entries; negative ones count from the end.
        axis: Axis of a sample (that of samples is not counted); negative ones count from the end. It gets the extent
            ``len(indices)``; the others, and the type, stay.
        to: Name of the field to make. None: in place of the one that is read.

    Raises:
        InvalidArgumentError: Indices that are no whole numbers; in :meth:`Dataset.map`: none at all, or an index or an
            axis that there is not.
    """

    def __init__(self, field: str, indices: Sequence[int], *, axis: int = -1, to: str | None = None) -> None:
        super().__init__("Select", field, indices=whole_numbers("Select", "indices", indices), axis=axis, to=to)


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
        shape: Shape of a sample; one extent may be -1: what is left for it. The axis of samples is not counted.
        to: Name of the field to make. None: in place of the one that is read.

    Raises:
        InvalidArgumentError: Extents that are no whole numbers; in :meth:`Dataset.map`: a shape of another number of
            values than samples have.
    """

    def __init__(self, field: str, shape: Sequence[int], *, to: str | None = None) -> None:
        super().__init__("Reshape", field, shape=whole_numbers("Reshape", "shape", shape), to=to)


class Transpose(Transform):
    """Put a sample's axes into another order, as ``numpy.transpose``.

    Args:
        field: Name of the field.
        axes: The axes of a sample in their new order (that of samples is not counted); None: reversed.
        to: Name of the field to make. None: in place of the one that is read.

    Raises:
        InvalidArgumentError: Axes that are no whole numbers; in :meth:`Dataset.map`: axes that do not name each axis of
            a sample once.
    """

    def __init__(self, field: str, axes: Sequence[int] | None = None, *, to: str | None = None) -> None:
        order = None if axes is None else whole_numbers("Transpose", "axes", axes)
        super().__init__("Transpose", field, axes=order, to=to)


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


class Truncate(Transform):
    """Leave rows out of long samples (``hr.open(sample_by=)``): all fields of a sample are shortened alike.

    Rows that are left out are neither copied nor counted: lengths, masks, padded batches and budgets of rows are those
    of what is left. Name it before other transforms.

    Args:
        rows: Most rows of a sample.
        method: ``"first"``: the first rows of a longer sample. ``"random"``: any of its rows, in their order, drawn
            anew in each epoch from the loader's seed and the sample's number.
    """

    def __init__(self, rows: int, *, method: str = "first") -> None:
        super().__init__("Truncate", (), rows=rows, method=method)
