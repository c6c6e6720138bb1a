"""The form of cellmap-data's batches: their keys, the numbers of places, and NaN where a class is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch

from headrace._support.checks import invalid

Change = Callable[[Any], Any]


class Tables(NamedTuple):
    """What is looked up by the crops of a batch, as tensors of the device that the batch is on."""

    starts: torch.Tensor  # int64, of shape (crops, 3)
    first: torch.Tensor  # int64, of shape (crops,)
    unknown: torch.Tensor  # bool, of shape (crops, classes)


@dataclass(frozen=True)
class BatchForm:
    """Makes a batch of cellmap-data of a batch of patches, which is a dict of tensors with its provenance."""

    inputs: Mapping[str, str]  # name → the array of a patch that it is
    targets: tuple[str, ...]
    classes: tuple[str, ...]
    known: np.ndarray[Any, np.dtype[np.bool_]]  # of each crop, of each class
    starts: np.ndarray[Any, Any]  # of each crop, along each axis: where patches may begin
    change_raw: Change | None
    change_targets: Change | Mapping[str, Change] | None
    #: Copied to each device once: a copy from pageable memory waits for all that the device was given to do before.
    _tables: dict[torch.device, Tables] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lies on devices, which the process that unpickles may not have."""
        return {**self.__dict__, "_tables": {}}

    @property
    def first_of_crops(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The number of the first place of each crop, if places are counted crop by crop."""
        places = self.starts.prod(axis=1)
        first: np.ndarray[Any, np.dtype[np.int64]] = np.cumsum(places) - places
        return first

    def __call__(self, batch: dict[str, torch.Tensor]) -> dict[str, Any]:
        """Return the batch with cellmap-data's keys, and ``_weight`` where there is one. Tensors are changed whole."""
        crops, at = batch.pop("_volume").long(), batch.pop("_start").long()
        raw = {array: batch[array] for array in self.inputs.values()}
        if self.change_raw is not None:
            raw = {array: self.change_raw(grey) for array, grey in raw.items()}
        tables = self._tables_on(crops.device)
        labels = self._unknown(self._changed(batch[self.classes[0]]), tables.unknown[crops])
        named: dict[str, Any] = {"idx": self._numbers(tables, crops, at)}
        named |= {name: raw[array] for name, array in self.inputs.items()}
        named |= dict.fromkeys(self.targets, labels)
        if "_weight" in batch:  # some samples are repeats, on ranks that a last step leaves without
            named["_weight"] = batch["_weight"]
        return named

    def _tables_on(self, device: torch.device) -> Tables:
        if device not in self._tables:
            arrays = (self.starts, self.first_of_crops, ~self.known)
            self._tables[device] = Tables(*(torch.from_numpy(array).to(device) for array in arrays))
        return self._tables[device]

    @staticmethod
    def _numbers(tables: Tables, crops: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """Return the number of each place, counted crop by crop and in C order."""
        _, ys, xs = tables.starts[crops].unbind(1)
        return tables.first[crops] + (at[:, 0] * ys + at[:, 1]) * xs + at[:, 2]

    def _changed(self, labels: torch.Tensor) -> torch.Tensor:
        change = self.change_targets
        if not change:
            return labels
        if not isinstance(change, Mapping):
            changed: torch.Tensor = change(labels)
            return changed
        columns = [change.get(name, lambda column: column)(labels[:, i]) for i, name in enumerate(self.classes)]
        return torch.stack(columns, dim=1)

    def _unknown(self, labels: torch.Tensor, unknown: torch.Tensor) -> torch.Tensor:
        """Put NaN where a crop was not annotated for a class: unknown, which is not the same as absent.

        Args:
            labels: Of shape (patches, classes, ...), which are changed.
            unknown: Where they are, bool of shape (patches, classes), on the same device.
        """
        if self.known.all():
            return labels
        if not labels.is_floating_point():
            raise invalid(
                f"a class that a crop lacks is NaN, which {labels.dtype} does not have",
                "Leave out dtype=, or let target_value_transforms return floating-point numbers.",
            )
        labels[unknown] = torch.nan
        return labels
