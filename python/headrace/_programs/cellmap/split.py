"""CellMapDataSplit: crops for training and for validation, out of a table."""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from headrace._programs.cellmap.dataset import CellMapDataset, CellMapMultiDataset
from headrace._programs.cellmap.patches import Arrays, CellMapCrops
from headrace._support.argument_hints import CELLMAP_KNOBS, names_knobs
from headrace._support.checks import invalid


def binarized(labels: torch.Tensor) -> torch.Tensor:
    """Return 1 where labels are above 0, else 0; NaN stays."""
    ones = (labels > 0).to(labels.dtype)
    return torch.where(labels.isnan(), labels, ones) if labels.is_floating_point() else ones


class CellMapDataSplit:
    """Crops for training and for validation, by the arguments of cellmap-data's class of this name.

    Give one of ``datasets``, ``dataset_dict`` and ``csv_path``.

    Args:
        input_arrays: As :class:`CellMapDataset` has it.
        target_arrays: As :class:`CellMapDataset` has it.
        classes: Classes to deliver.
        pad: As :class:`CellMapDataset` has it; or the name of a split, ``"train"`` or ``"validate"``.
        datasets: ``{"train": [CellMapDataset, …], "validate": […]}``.
        dataset_dict: ``{"train": [{"raw": path, "gt": "…/[mito,er]"}, …], "validate": […]}``.
        csv_path: Rows of split, raw path and target path; or of split, store, raw group, store and target group.
        spatial_transforms: Of the crops for training.
        train_raw_value_transforms: Of the crops for training, as :class:`CellMapDataset` has it.
        val_raw_value_transforms: Of the crops for validation.
        target_value_transforms: Default: 1 where a label is above 0, else 0.
        class_relation_dict: Accepted, without effect, as in cellmap-data.
        force_has_data: True: a crop that has none of the classes is no error.
        context: Accepted, without effect, as in cellmap-data.
        device: Accepted, without effect, as in cellmap-data.
        dtype: As :class:`CellMapDataset` has it.

    Attributes:
        train_datasets: The crops for training.
        validation_datasets: The crops for validation.
    """

    @names_knobs("CellMapDataSplit", CELLMAP_KNOBS)
    def __init__(
        self,
        input_arrays: Arrays,
        target_arrays: Arrays | None = None,
        classes: Sequence[str] | None = None,
        pad: bool | str = False,
        datasets: Mapping[str, Sequence[CellMapDataset]] | None = None,
        dataset_dict: Mapping[str, Sequence[Mapping[str, str]]] | None = None,
        csv_path: str | os.PathLike[str] | None = None,
        spatial_transforms: Mapping[str, Any] | None = None,
        train_raw_value_transforms: Any = None,
        val_raw_value_transforms: Any = None,
        target_value_transforms: Any = binarized,
        class_relation_dict: Mapping[str, Sequence[str]] | None = None,
        force_has_data: bool = False,
        context: Any = None,
        device: Any = None,
        *,
        dtype: Any = "float32",
    ) -> None:
        if sum(given is not None for given in (datasets, dataset_dict, csv_path)) != 1:
            raise invalid("a split needs one of datasets=, dataset_dict= and csv_path=", "Give one.")
        self.input_arrays, self.target_arrays = dict(input_arrays), dict(target_arrays or {})
        self.classes = list(classes or [])
        self.train_datasets: list[CellMapDataset] = []
        self.validation_datasets: list[CellMapDataset] = []
        if csv_path is not None:
            dataset_dict = crops_of_table(csv_path)
        for split, entries in ({} if dataset_dict is None else dataset_dict).items():
            training = split.lower().startswith("train")
            for entry in entries:
                one = CellMapDataset(
                    entry["raw"],
                    entry["gt"],
                    self.classes,
                    self.input_arrays,
                    self.target_arrays,
                    pad=pad if isinstance(pad, bool) else split.lower() in pad.lower(),
                    spatial_transforms=spatial_transforms if training else None,
                    raw_value_transforms=train_raw_value_transforms if training else val_raw_value_transforms,
                    target_value_transforms=target_value_transforms,
                    class_relation_dict=class_relation_dict,
                    force_has_data=force_has_data,
                    dtype=dtype,
                )
                (self.train_datasets if training else self.validation_datasets).append(one)
        if datasets is not None:
            self.train_datasets = list(datasets.get("train", []))
            self.validation_datasets = list(datasets.get("validate", []))

    @cached_property
    def _train(self) -> CellMapMultiDataset:
        return CellMapMultiDataset(self.train_datasets)

    @cached_property
    def _validate(self) -> CellMapMultiDataset:
        return CellMapMultiDataset(self.validation_datasets)

    @property
    def train_datasets_combined(self) -> CellMapMultiDataset:
        """The crops for training as one data set."""
        return self._train

    @property
    def validation_datasets_combined(self) -> CellMapMultiDataset:
        """The crops for validation as one data set."""
        return self._validate

    @property
    def validation_blocks(self) -> CellMapCrops:
        """The crops for validation: a loader with ``is_train=False`` goes over them in tiles."""
        return self.validation_datasets_combined

    def to(self, device: str | torch.device, non_blocking: bool = True) -> CellMapDataSplit:
        """Do nothing, as in cellmap-data: :meth:`CellMapDataLoader.to` says where batches are delivered."""
        return self

    def __repr__(self) -> str:
        train, val = len(self.train_datasets), len(self.validation_datasets)
        return f"<CellMapDataSplit: {train} crops to train, {val} to validate, classes {self.classes}>"


def crops_of_table(path: str | os.PathLike[str]) -> dict[str, list[dict[str, str]]]:
    """Read a table of crops: split → paths of each.

    Raises:
        InvalidArgumentError: A row has another number of columns than three or five.
    """
    found: dict[str, list[dict[str, str]]] = {}
    with Path(path).open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.reader(file), start=1):
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if len(cells) not in (3, 5):
                raise invalid(
                    f"{os.fspath(path)}, line {number}: a row has 3 or 5 columns, not {len(cells)}",
                    "A path with a comma, such as '…/[mito,er]', stands in double quotes.",
                )
            raw, target = (cells[1], cells[2]) if len(cells) == 3 else map(os.path.join, cells[1:4:2], cells[2:5:2])
            found.setdefault(cells[0], []).append({"raw": raw, "gt": target})
    return found
