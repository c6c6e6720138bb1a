"""Samples of columns of which some are ragged: values of all samples, and beside them where each sample's begin."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

SUFFIX = ".offsets"
#: Where each group of a batch begins, with ``group_by=``: a row for each group, and no column of samples.
GROUPS = "_group" + SUFFIX


def offsets_of(columns: Mapping[str, Any], name: str) -> Any:
    """Return where the rows of each sample begin in a ragged column, and at last how many there are; None: it is dense.

    What the plan adds (``_group.offsets``) is no column's, nor is a dense one that only has such a name.
    """
    offsets = None if name.startswith("_") else columns.get(name + SUFFIX)
    if offsets is None or len(offsets) == 0 or int(offsets[-1]) != len(columns[name]):
        return None
    return offsets


def num_samples(columns: Mapping[str, Any]) -> int:
    """Return the number of samples of a batch."""
    name, values = next(iter(columns.items()))
    offsets = offsets_of(columns, name)
    return int(values.shape[0]) if offsets is None else int(offsets.shape[0]) - 1


def sample(columns: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return one sample of several: of a ragged column its own rows, without offsets."""
    made = {}
    for name, values in columns.items():
        if name == GROUPS or (name.endswith(SUFFIX) and offsets_of(columns, name.removesuffix(SUFFIX)) is not None):
            continue
        offsets = offsets_of(columns, name)
        made[name] = values[number] if offsets is None else values[int(offsets[number]) : int(offsets[number + 1])]
    return made


def stack(samples: Sequence[Mapping[str, Any]], ragged: Container[str]) -> dict[str, Any]:
    """Return the columns of a batch of these samples. Those named in ``ragged`` get their offsets beside them."""
    columns: dict[str, Any] = {}
    for name in samples[0]:
        values = [one[name] for one in samples]
        columns[name] = np.concatenate(values) if name in ragged else np.stack(values)
        if name in ragged:
            columns[name + SUFFIX] = np.cumsum([0, *map(len, values)], dtype=np.int64)
    return columns
