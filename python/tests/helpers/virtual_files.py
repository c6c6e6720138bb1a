"""Files with virtual data sets, written with h5py's low-level interface, which takes any selection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

LIBVER = ("earliest", "v110")


class Slab(NamedTuple):
    """A regular hyperslab; ``stride`` and ``block`` may be left out."""

    start: tuple[int, ...]
    count: tuple[int, ...]
    stride: tuple[int, ...] | None = None
    block: tuple[int, ...] | None = None


Selected = Slab | Sequence[Slab] | None  # several: their union; None: all


class Mapping(NamedTuple):
    into: Selected
    file: str
    dataset: str
    source_shape: tuple[int, ...]
    source: Selected = None


def space_of(shape: tuple[int, ...], selected: Selected) -> h5py.h5s.SpaceID:
    space = h5py.h5s.create_simple(shape)
    if selected is None:
        return space
    slabs = [selected] if isinstance(selected, Slab) else list(selected)
    for i, slab in enumerate(slabs):
        how = h5py.h5s.SELECT_OR if i else h5py.h5s.SELECT_SET
        space.select_hyperslab(slab.start, slab.count, slab.stride, slab.block, how)
    return space


def write_source(path: Path, values: np.ndarray[Any, Any], name: str = "y", **how: Any) -> str:
    """Write ``values`` into a file of its own, or add it to one. Returns the file's name."""
    with h5py.File(path, "a", libver=LIBVER) as file:
        file.create_dataset(name, data=values, **how)
    return path.name


def write_virtual(
    path: Path,
    shape: tuple[int, ...],
    dtype: Any,
    mappings: Sequence[Mapping],
    name: str = "x",
    fill: Any = None,
) -> Path:
    """Add a virtual data set to a file."""
    with h5py.File(path, "a", libver=LIBVER) as file:
        creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        if fill is not None:
            creation.set_fill_value(np.array(fill, dtype=dtype))
        for m in mappings:
            creation.set_virtual(
                space_of(shape, m.into),
                m.file.encode(),
                m.dataset.encode(),
                space_of(m.source_shape, m.source),
            )
        type_id = h5py.h5t.py_create(np.dtype(dtype), logical=True)
        h5py.h5d.create(file.id, name.encode(), type_id, h5py.h5s.create_simple(shape), creation)
    return path
