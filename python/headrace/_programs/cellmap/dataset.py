"""CellMapDataset and CellMapMultiDataset: crops by the arguments of cellmap-data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace._programs.cellmap.crops import Crop
from headrace._programs.cellmap.patches import Arrays, CellMapCrops
from headrace._support.argument_hints import CELLMAP_KNOBS, names_knobs
from headrace._support.checks import invalid


class CellMapDataset(CellMapCrops):
    """One crop, by the arguments of cellmap-data's class of this name; ``dataset[idx]`` is a patch.

    Args:
        raw_path: Group of the OME-NGFF image of grey values, of Zarr v2 or v3.
        target_path: Groups of the classes: ``"crop.zarr/labels/[mito,er]"``.
        classes: Classes to deliver. One that is not in the brackets, or has no image, is NaN: unknown.
        input_arrays: Name → ``{"shape": (64, 64, 64), "scale": (8, 8, 8)}``, along z, y and x. The level of that scale
            must be there. Inputs of other scales have a box about the same centre; 0 lies outside the image.
        target_arrays: The same for the targets, each of which has all classes.
        pad: Accepted: patches lie within a crop. A crop that is smaller than a patch is an error then.
        spatial_transforms: ``{"mirror": {"axes": {"x": 0.5}}, "transpose": {"axes": ["y", "x"]}}``, and ``"rotate90":
            {"axes": ["z"]}`` or True; rotations by any angle are refused.
        raw_value_transforms: A function, called once a batch with the tensor of the grey values. Or a list of
            :mod:`headrace.transforms`, by the name of the input array, which run on the decode threads.
        target_value_transforms: The same for the targets; or a dict, class → function.
        class_relation_dict: Accepted, without effect, as in cellmap-data.
        force_has_data: True: a crop that has none of the classes is no error.
        device: Accepted, without effect, as in cellmap-data.
        seed: Seed of what is drawn, unless the loader has one.
        dtype: Type of the tensors. None: as stored, which is a quarter of the bytes for uint8.

    Raises:
        FileMissingError: There is no such image.
        UnsupportedError: Something that cellmap-data has and Headrace has not; the text says what to do.
    """

    @names_knobs("CellMapDataset", CELLMAP_KNOBS)
    def __init__(
        self,
        raw_path: Any,
        target_path: Any,
        classes: Sequence[str],
        input_arrays: Arrays,
        target_arrays: Arrays,
        pad: bool = False,
        spatial_transforms: Mapping[str, Any] | None = None,
        raw_value_transforms: Any = None,
        target_value_transforms: Any = None,
        class_relation_dict: Mapping[str, Sequence[str]] | None = None,
        force_has_data: bool = False,
        device: Any = None,
        seed: int | None = None,
        *,
        dtype: Any = "float32",
    ) -> None:
        self.raw_path, self.target_path = raw_path, target_path
        self.class_relation_dict, self.force_has_data = class_relation_dict, force_has_data
        crop = Crop.found(raw_path, target_path, classes, may_be_empty=force_has_data)
        settings = {
            "input_arrays": input_arrays,
            "target_arrays": target_arrays,
            "pad": pad,
            "spatial_transforms": spatial_transforms,
            "raw_value_transforms": raw_value_transforms,
            "target_value_transforms": target_value_transforms,
            "dtype": dtype,
            "seed": seed,
        }
        super().__init__([crop], classes, settings)


class CellMapMultiDataset(CellMapCrops):
    """Several crops as one data set, by the arguments of cellmap-data's class of this name.

    All have the same classes, arrays and transforms. Crops that are smaller than a patch are left out, with a warning.

    Args:
        datasets: :class:`CellMapDataset` of each crop.
        classes: Default: those of the first.
        input_arrays: Accepted: those of the first hold.
        target_arrays: Accepted: those of the first hold.
    """

    @names_knobs("CellMapMultiDataset", CELLMAP_KNOBS)
    def __init__(
        self,
        datasets: Sequence[CellMapCrops],
        classes: Sequence[str] | None = None,
        input_arrays: Arrays | None = None,
        target_arrays: Arrays | None = None,
    ) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise invalid("a data set of several crops needs one at least, and there is none")
        first = self.datasets[0]
        for other in self.datasets:
            ours, others = ({**one.settings, "seed": None} for one in (first, other))  # the first's seed holds
            differ = [name for name, value in ours.items() if others[name] != value]
            differ += ["classes"] if other.classes != first.classes else []
            if differ:
                raise invalid(f"the crops differ in {' and '.join(differ)}", "Make a loader for each kind of crop.")
        if classes is not None and list(classes) != first.classes:
            raise invalid(f"classes must be those of the crops, {first.classes}, not {list(classes)}")
        super().__init__([crop for one in self.datasets for crop in one.crops], first.classes, first.settings)
