"""CellMapCrops: crops as volumes, and patches of them in the form of cellmap-data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch

from headrace._programs.cellmap.batch import BatchForm
from headrace._programs.cellmap.box import Box, boxes_of, turned_at_random
from headrace._programs.cellmap.crops import Crop, link_crops, link_name
from headrace._support.checks import invalid, unsupported
from headrace.dataset import Dataset
from headrace.transforms import Cast, Concat, Reshape, Transform
from headrace.volumes import Volumes, open_volume

Arrays = Mapping[str, Mapping[str, Any]]


class CellMapCrops:
    """What one crop and several have in common. Made by :class:`CellMapDataset` and :class:`CellMapMultiDataset`.

    Attributes:
        crops: The images of each crop.
        classes: Names of the classes, in the order of the targets' second axis.
        input_arrays: Name → shape and scale, as they were given.
        target_arrays: The same for the targets.
        pad: As it was given.
        spatial_transforms_config: How patches are turned.
        raw_value_transforms: What is done with grey values.
        target_value_transforms: What is done with targets.
        dtype: Type of the tensors; None: as stored.
        seed: Seed of what is drawn; None: the loader's.
        box: Voxels of a patch, and the size of each.
    """

    def __init__(self, crops: Sequence[Crop], classes: Sequence[str], settings: Mapping[str, Any]) -> None:
        self.crops = tuple(crops)
        self.classes = [str(name) for name in classes]
        self.input_arrays: dict[str, Any] = dict(settings["input_arrays"])
        self.target_arrays: dict[str, Any] = dict(settings["target_arrays"] or {})
        self.pad = bool(settings["pad"])
        self.spatial_transforms_config = settings["spatial_transforms"]
        self.raw_value_transforms = settings["raw_value_transforms"]
        self.target_value_transforms = settings["target_value_transforms"]
        self.dtype = settings["dtype"]
        self.seed = settings["seed"]
        boxes = boxes_of(self.input_arrays, self.target_arrays)
        self.box: Box = boxes.box
        self._raw, self._wider = boxes.raw, dict(boxes.wider)
        if not self.classes or not self.target_arrays:
            raise invalid("a data set needs classes and target_arrays", "For grey values alone use hr.open_volume().")
        names = [link_name(name) for name in self._fields]
        if len(set(names)) < len(names):
            raise invalid(f"the input array and the classes need different names, not {', '.join(names)}")
        _check_transforms(self)

    @property
    def settings(self) -> dict[str, Any]:
        """All but the crops and classes: what data sets must share to be put together."""
        return {
            "input_arrays": self.input_arrays,
            "target_arrays": self.target_arrays,
            "pad": self.pad,
            "spatial_transforms": self.spatial_transforms_config,
            "raw_value_transforms": self.raw_value_transforms,
            "target_value_transforms": self.target_value_transforms,
            "dtype": self.dtype,
            "seed": self.seed,
        }

    @cached_property
    def volume(self) -> Volumes:
        """The crops as volumes, one each, with an array for the grey values, of each scale, and one for each class."""
        names = {name: link_name(name) for name in (self._raw, *self.classes)}
        for name, box in self._wider.items():
            names[name] = f"{link_name(self._raw)}@{'x'.join(f'{size:.12g}' for size in box.scale)}"
        return open_volume(link_crops(self.crops, self._raw), names, voxel=self.box.scale)

    @property
    def _fields(self) -> list[str]:
        return [self._raw, *self._wider, *self.classes]

    @property
    def starts(self) -> list[tuple[int, ...]]:
        """In each crop, the number of places along each axis where a patch may begin."""
        pairs = [zip(shape, self.box.shape, strict=True) for shape in self.volume.shapes]
        return [tuple(max(0, extent - patch + 1) for extent, patch in pair) for pair in pairs]

    def __len__(self) -> int:
        """Return the number of places where a patch may begin, over all crops."""
        return sum(math.prod(starts) for starts in self.starts)

    def __getitem__(self, idx: int) -> dict[str, torch.Tensor]:
        """Return the patch that begins at a place, counted crop by crop in C order; it is not turned."""
        number = range(len(self))[idx]
        grid = self._mapped(self._cut(stride=1), turned=False)
        rows = {name: torch.as_tensor(np.asarray(array)) for name, array in grid[[number]].items()}
        crop = int(np.searchsorted(self.form.first_of_crops, number, side="right")) - 1
        start = np.unravel_index(number - self.form.first_of_crops[crop], self.starts[crop])
        place = {"_volume": torch.tensor([crop]), "_start": torch.tensor([list(map(int, start))])}
        return {name: column[0] for name, column in self.form({**rows, **place}).items()}

    def patches(self, samples_per_epoch: int, balance: Sequence[str] = ()) -> Dataset:
        """Return random patches, drawn anew in each epoch, as a data set for a loader.

        Args:
            samples_per_epoch: How many an epoch has.
            balance: Names of classes: each gets as many patches, about one of its voxels. Empty: patches lie anywhere.

        Returns:
            A field for each scale of the input arrays, of shape (1, z, y, x), and one of shape (classes, z, y, x) with
            all classes, by the name of the first. Axes of one voxel are left out. Types are ``dtype``, or as stored.

        Raises:
            InvalidArgumentError: A number below 1, no such class, or one without a voxel that could be drawn.
            UnsupportedError: With ``pad=True``, a crop that is smaller than a patch.
        """
        return self._mapped(self._cut(samples_per_epoch=samples_per_epoch, balance=list(balance) or None), turned=True)

    def tiles(self) -> Dataset:
        """Return the patches that cover each crop, one after the other, not turned: what validation goes over.

        Returns:
            A data set with the fields of :meth:`patches`, whose number of samples is that of the tiles.

        Raises:
            UnsupportedError: With ``pad=True``, a crop that is smaller than a patch.
        """
        return self._mapped(self._cut(stride=self.box.shape), turned=False)

    def _cut(self, **how: Any) -> Dataset:
        small = [crop for crop, starts in zip(self.crops, self.starts, strict=True) if not all(starts)]
        if self.pad and small:
            raise unsupported(
                f"pad=True: {len(small)} of {len(self.crops)} crops are smaller than a patch of {self.box.shape}, the "
                f"first of them that of {small[0].raw}: patches that reach past a crop do not exist yet",
                "Say pad=False, which leaves such crops out, or choose smaller patches.",
            )
        how["context"] = {name: box.shape for name, box in self._wider.items()}
        cut = self.volume.patches(self.box.shape, small="skip" if len(self.crops) > 1 else "error", **how)
        return Dataset(cut._native, boxes=dict.fromkeys(cut._boxes, frozenset()))  # all three axes are those of space

    def _mapped(self, patches: Dataset, *, turned: bool) -> Dataset:
        fields = self._fields
        steps = turned_at_random(self.spatial_transforms_config, fields) if turned else []
        if self.dtype is not None:
            steps += [Cast(name, self.dtype) for name in fields]
        steps += _engine_steps(self.raw_value_transforms) + _engine_steps(self.target_value_transforms)
        steps += [Reshape(name, (1, *self._wider.get(name, self.box).delivered)) for name in fields]
        return patches.map(*steps, *([Concat(self.classes, axis=0)] if len(self.classes) > 1 else []))

    @cached_property
    def form(self) -> BatchForm:
        """What makes a batch of cellmap-data of a batch of :meth:`patches`."""
        return BatchForm(
            inputs={name: name if name in self._wider else self._raw for name in self.input_arrays},
            targets=tuple(self.target_arrays),
            classes=tuple(self.classes),
            known=self.get_crop_class_matrix(),
            starts=np.array(self.starts),
            change_raw=_function(self.raw_value_transforms),
            change_targets=_functions(self.target_value_transforms),
        )

    def get_crop_class_matrix(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return whether each crop (row) was annotated for each class (column)."""
        return np.array([[crop.labels[name] is not None for name in self.classes] for crop in self.crops], dtype=bool)

    def verify(self) -> bool:
        """Return True if there is a patch."""
        return len(self) > 0

    def set_spatial_transforms(self, transforms: Mapping[str, Any] | None) -> None:
        """Turn patches in another way, in loaders that are made from now on."""
        self.spatial_transforms_config = transforms
        _check_transforms(self)

    def set_raw_value_transforms(self, transforms: Any) -> None:
        """Change grey values in another way, in loaders that are made from now on."""
        self.raw_value_transforms = transforms
        self.__dict__.pop("form", None)
        _check_transforms(self)

    def set_target_value_transforms(self, transforms: Any) -> None:
        """Change targets in another way, in loaders that are made from now on."""
        self.target_value_transforms = transforms
        self.__dict__.pop("form", None)
        _check_transforms(self)

    def to(self, device: str | torch.device, non_blocking: bool = True) -> CellMapCrops:
        """Do nothing, as in cellmap-data: :meth:`CellMapDataLoader.to` says where batches are delivered.

        Args:
            device: Accepted, without effect.
            non_blocking: Accepted, without effect.

        Returns:
            This data set.
        """
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.crops)} crops, classes {self.classes}, {len(self)} places>"


def _engine_steps(given: Any) -> list[Transform]:
    """Return the engine's transforms among value transforms: all of a list, or one."""
    several = given if isinstance(given, (list, tuple)) else [given]
    return list(several) if all(isinstance(one, Transform) for one in several) else []


def _function(given: Any) -> Callable[[Any], Any] | None:
    """Return the function that value transforms are; None if they are the engine's, or none."""
    if given is None or _engine_steps(given) or given in ([], ()):
        return None
    if not callable(given):
        raise invalid(f"value transforms are a function or transforms of headrace.transforms, not {given!r}")
    function: Callable[[Any], Any] = given
    return function


def _functions(given: Any) -> Callable[[Any], Any] | Mapping[str, Callable[[Any], Any]] | None:
    """Return the function of the targets, or that of each class that has one."""
    if isinstance(given, Mapping):
        return {str(name): function for name, one in given.items() if (function := _function(one)) is not None}
    return _function(given)


def _check_transforms(crops: CellMapCrops) -> None:
    """Raise what is wrong with the transforms now, and not when a loader is made."""
    turned_at_random(crops.spatial_transforms_config, crops.classes)
    _function(crops.raw_value_transforms)
    _functions(crops.target_value_transforms)
