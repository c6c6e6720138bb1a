"""A pytest plugin: `torchdata.stateful_dataloader.StatefulDataLoader` is `headrace.torch.DataLoader`.

A TensorDataset is written to an HDF5 file and opened by Headrace, so that the tests of peers try Headrace's own path;
data sets that they write in Python go the other way, through torch's loader.
"""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
import types
import warnings
from pathlib import Path
from typing import Any

import h5py
import torch

import headrace as hr
from headrace.torch import DataLoader

_FOLDER = Path(tempfile.mkdtemp(prefix="headrace-peers-"))
atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)
_KEPT: dict[int, tuple[Any, hr.Dataset]] = {}


def stored(dataset: torch.utils.data.TensorDataset) -> hr.Dataset:
    """The same rows in a file, in chunks of 7."""
    if id(dataset) not in _KEPT:
        path = _FOLDER / f"{len(_KEPT)}.h5"
        with h5py.File(path, "w") as file:
            for number, tensor in enumerate(dataset.tensors):
                values = tensor.numpy()
                file.create_dataset(str(number), data=values, chunks=(7, *values.shape[1:]), compression="gzip")
        _KEPT[id(dataset)] = dataset, hr.open(path)
    return _KEPT[id(dataset)][1]


class StatefulDataLoader:
    """What the tests import."""

    __class_getitem__ = classmethod(types.GenericAlias)

    def __new__(cls, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a loader of Headrace's."""
        warnings.filterwarnings("ignore", category=hr.HeadraceWarning)
        if type(dataset) is torch.utils.data.TensorDataset:
            return DataLoader(stored(dataset), *args, batch_format="tuple", **kwargs)
        return DataLoader(dataset, *args, **kwargs)


package, module = types.ModuleType("torchdata"), types.ModuleType("torchdata.stateful_dataloader")
module.StatefulDataLoader = StatefulDataLoader  # type: ignore[attr-defined]
sys.modules |= {package.__name__: package, module.__name__: module}
