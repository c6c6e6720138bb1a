"""A pytest plugin: `torchdata.stateful_dataloader.StatefulDataLoader` is `headrace.torch.DataLoader`.

A TensorDataset is written to an HDF5 file and opened by Headrace, so that the tests of peers try Headrace's own path;
likewise the `MockDataset` of their sampler tests, whose batches are bare tensors. Other data sets that they write in
Python go the other way, through torch's loader. Their `StatefulDistributedSampler` is torch's own.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import torch

import headrace as hr
from headrace.torch import DataLoader

_FOLDER = Path(tempfile.mkdtemp(prefix="headrace-peers-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
_KEPT: dict[int, tuple[Any, hr.Dataset]] = {}


def stored(dataset: Any, tensors: tuple[torch.Tensor, ...]) -> hr.Dataset:
    """The rows of a data set in a file, in chunks of 7."""
    if id(dataset) not in _KEPT:
        path = _FOLDER / f"{len(_KEPT)}.h5"
        with h5py.File(path, "w") as file:
            for number, tensor in enumerate(tensors):
                values = tensor.numpy()
                file.create_dataset(str(number), data=values, chunks=(7, *values.shape[1:]), compression="gzip")
        _KEPT[id(dataset)] = dataset, hr.open(path)
    return _KEPT[id(dataset)][1]


class BareBatches:
    """A loader of one field, whose batches are tensors instead of tuples of one."""

    def __init__(self, loader: DataLoader) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield the only field of each batch."""
        return (batch for (batch,) in self.loader)

    def __getattr__(self, name: str) -> Any:
        """Return what the loader has: its states, its length."""
        return getattr(self.loader, name)


class StatefulDataLoader:
    """What the tests import."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __new__(cls, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a loader of Headrace's."""
        warnings.filterwarnings("ignore", category=hr.HeadraceWarning)
        if type(dataset) is torch.utils.data.TensorDataset:
            return DataLoader(stored(dataset, dataset.tensors), *args, batch_format="tuple", **kwargs)
        if type(dataset).__name__ == "MockDataset":
            data = stored(dataset, (dataset.data,))
            return BareBatches(DataLoader(data, *args, batch_format="tuple", **kwargs))
        return DataLoader(dataset, *args, **kwargs)


package, module = types.ModuleType("torchdata"), types.ModuleType("torchdata.stateful_dataloader")
module.StatefulDataLoader = StatefulDataLoader  # type: ignore[attr-defined]
samplers = types.ModuleType("torchdata.stateful_dataloader.sampler")
samplers.RandomSampler = torch.utils.data.RandomSampler  # type: ignore[attr-defined]
samplers.StatefulDistributedSampler = torch.utils.data.DistributedSampler  # type: ignore[attr-defined]
sys.modules |= {made.__name__: made for made in (package, module, samplers)}
