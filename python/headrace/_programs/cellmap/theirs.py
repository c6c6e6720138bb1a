"""What a program of cellmap-data gives a loader: its data sets and samplers, also those of cellmap-data itself."""

from __future__ import annotations

from typing import Any

from headrace._programs.cellmap.dataset import CellMapDataset, CellMapMultiDataset
from headrace._programs.cellmap.patches import CellMapCrops
from headrace._support.checks import invalid, unsupported


class ClassBalancedSampler:
    """Say that each class gets as many patches: ``CellMapDataLoader(dataset, sampler=ClassBalancedSampler(dataset))``.

    Args:
        dataset: Whose classes are meant.
        samples_per_epoch: Patches of an epoch. Default: as many as there are places.
        seed: Seed of what is drawn.
    """

    def __init__(self, dataset: Any, samples_per_epoch: int | None = None, seed: int = 42) -> None:
        self.dataset = dataset
        self.samples_per_epoch = samples_per_epoch or len(dataset)
        self.seed = seed

    def __len__(self) -> int:
        return int(self.samples_per_epoch)


def crops_of(dataset: Any) -> CellMapCrops:
    """Return a data set of crops, also of a list, and of cellmap-data's objects by their attributes.

    Raises:
        InvalidArgumentError: It is none of these.
    """
    if isinstance(dataset, CellMapCrops):
        return dataset
    several = dataset if isinstance(dataset, (list, tuple)) else getattr(dataset, "datasets", None)
    if several is not None:
        return CellMapMultiDataset([crops_of(one) for one in several])
    if hasattr(dataset, "raw_path") and hasattr(dataset, "target_path"):
        same = ("raw_path", "target_path", "classes", "input_arrays", "target_arrays", "pad", "raw_value_transforms")
        words = {name: getattr(dataset, name) for name in (*same, "target_value_transforms", "force_has_data")}
        return CellMapDataset(**words, spatial_transforms=dataset.spatial_transforms_config)
    if hasattr(dataset, "indices"):
        raise unsupported(
            f"a {type(dataset).__name__} chooses patches by number, which does not exist yet",
            "For validation give the data set itself, and is_train=False: tiles cover each crop.",
        )
    raise invalid(f"dataset must be a CellMapDataset or a list of them, not a {type(dataset).__name__}")


def balanced_sampler(sampler: Any) -> Any:
    """Return a sampler that draws classes alike, also cellmap-data's own; other samplers are an UnsupportedError."""
    if any(cls.__name__ == "ClassBalancedSampler" for cls in type(sampler).__mro__):
        return sampler
    raise unsupported(
        f"sampler: a {type(sampler).__name__} chooses patches by number, which does not exist yet",
        "Use weighted_sampler=True or sampler=ClassBalancedSampler(dataset, samples_per_epoch).",
    )
