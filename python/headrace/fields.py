"""Descriptions of fields and files, as ``Dataset.fields`` and ``Dataset.files`` give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class FieldInfo:
    """One named part of every sample, and how it is stored (in the first file).

    Attributes:
        name: Key in a batch.
        path: Where it lies in the file.
        dtype: NumPy dtype of the values, as stored, in native byte order.
        shape: Shape of one sample, or of one of its rows where the field is ragged. A batch of n has shape
            ``(n, *shape)``.
        chunks: Chunk shape in the file, rows first, or None if contiguous.
        codec: Filters, for example ``"gzip-4 + shuffle"`` or ``"none"``.
        read_path: ``"native"`` (fast, parallel), ``"converted"`` (as native, but libhdf5 converts the numbers, one
            thread at a time), ``"libhdf5"`` (one chunk at a time) or ``"made"`` (by transforms).
        reason: Why the read path is not native; empty otherwise.
        uniform: True if all files store it the same way.
        ragged: True if samples differ in length: a batch has the rows of all its samples, shape ``(rows, *shape)``, and
            in ``"x.offsets"`` where those of each begin.
    """

    name: str
    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    chunks: tuple[int, ...] | None
    codec: str
    read_path: str
    reason: str
    uniform: bool
    ragged: bool = False

    @property
    def row_bytes(self) -> int:
        """Number of bytes of a sample; of a row of it where the field is ragged."""
        return int(np.prod(self.shape, dtype=object)) * self.dtype.itemsize


def numpy_dtype(typestr: str) -> np.dtype[Any]:
    """NumPy's type of a type string; bfloat16, "<V2", is that of ml_dtypes where that is installed."""
    if typestr == "<V2":
        try:
            import ml_dtypes
        except ImportError:
            return np.dtype("V2")
        found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return found
    return np.dtype(typestr)


def field_info(entry: Mapping[str, Any]) -> FieldInfo:
    """Return the description that the engine gives of a field."""
    rest = dict(entry)
    return FieldInfo(dtype=numpy_dtype(rest.pop("typestr")), **rest)


class FileInfo(NamedTuple):
    """One file of a data set.

    Attributes:
        path: Path of the file.
        rows: Rows of the file, or samples made of it, that belong to the data set; 0 where samples are drawn.
    """

    path: str
    rows: int
