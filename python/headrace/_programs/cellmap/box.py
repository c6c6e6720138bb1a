"""What cellmap-data's dictionaries ask for: the box of a sample, and how it is turned at random."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace._support.argument_hints import refuse_unknown
from headrace._support.checks import invalid, real_number, unsupported, whole_number
from headrace.transforms import Mirror, Rotate90, ShuffleAxes, Transform

AXES = "zyx"


@dataclass(frozen=True)
class Box:
    """Voxels along z, y and x, and the size of each."""

    shape: tuple[int, ...]
    scale: tuple[float, ...]

    @property
    def delivered(self) -> tuple[int, ...]:
        """The shape without axes of one voxel, as cellmap-data delivers it."""
        return tuple(extent for extent in self.shape if extent != 1)


@dataclass(frozen=True)
class Boxes:
    """The boxes of a sample: one of the targets and of inputs that lie over them, and inputs of other voxels."""

    box: Box
    raw: str  # the first input of this box
    wider: Mapping[str, Box]


def boxes_of(input_arrays: Mapping[str, Any], target_arrays: Mapping[str, Any]) -> Boxes:
    """Return the boxes that a sample has.

    Raises:
        UnsupportedError: Targets of several boxes, no input that lies over them, or an input of another shape whose
            voxels have their size.
    """
    if not input_arrays:
        raise invalid("input_arrays is empty", "Such as {'raw': {'shape': (64, 64, 64), 'scale': (8, 8, 8)}}.")
    inputs = {name: _box(name, spec) for name, spec in input_arrays.items()}
    targets = {name: _box(name, spec) for name, spec in target_arrays.items()}
    first, box = next(iter((targets or inputs).items()))
    for name, other in targets.items():
        if other != box:
            raise unsupported(
                f"the targets {first!r} and {name!r} differ: {box.shape} at {box.scale} and {other.shape} at "
                f"{other.scale}; all have one shape and one scale",
                "Give targets one shape and one scale, and crop or pool in the model; or make a loader for each.",
            )
    raw = next((name for name, other in inputs.items() if other == box), None)
    if raw is None:
        raise unsupported(
            f"no input has the shape {box.shape} at {box.scale} of {first!r}: one must lie over the targets",
            "Add one to input_arrays, and leave it out in the model.",
        )
    wider = {name: other for name, other in inputs.items() if other != box}
    for name, other in wider.items():
        if other.scale == box.scale:
            raise unsupported(
                f"{name!r} has the shape {other.shape} and {raw!r} {box.shape}, at one scale",
                "Arrays of one scale have one shape: crop in the model, or give the wider one a coarser scale.",
            )
    return Boxes(box, raw, wider)


def _box(name: str, spec: Any) -> Box:
    if not isinstance(spec, Mapping) or not {"shape", "scale"} <= set(spec):
        raise invalid(f"the array {name!r} needs a shape and a scale, not {spec!r}")
    refuse_unknown(f"the array {name!r}", map(str, spec), ("shape", "scale"), {})
    shape = [whole_number(f"an extent of {name!r}", extent, least=1) for extent in spec["shape"]]
    scale = [real_number(f"a scale of {name!r}", size) for size in spec["scale"]]
    if not 2 <= len(shape) <= 3 or not 2 <= len(scale) <= 3 or not all(0 < size < float("inf") for size in scale):
        raise invalid(f"the array {name!r} needs a shape and a scale along z, y and x, not {spec!r}")
    return Box((1,) * (3 - len(shape)) + tuple(shape), (scale[0],) * (3 - len(scale)) + tuple(scale))


def turned_at_random(config: Mapping[str, Any] | None, fields: Sequence[str]) -> list[Transform]:
    """Return the transforms that ``spatial_transforms`` asks for, of fields that lie over each other.

    Raises:
        UnsupportedError: Rotations by any angle.
        UnknownArgumentError: There is no such transform.
    """
    if not config:
        return []
    if not isinstance(config, Mapping):
        raise invalid(f"spatial_transforms must be a dict such as {{'mirror': {{'x': 0.5}}}}, not {config!r}")
    refuse_unknown("spatial_transforms", map(str, config), ("mirror", "transpose", "rotate", "rotate90"), {})
    steps = [*_rotated(config.get("rotate"), config.get("rotate90"), fields), *_mirrored(config.get("mirror"), fields)]
    if transpose := _asked("transpose", config.get("transpose")):
        steps.append(ShuffleAxes(fields, None if transpose is True else _axes("transpose", transpose)))
    return steps


def _asked(name: str, given: Any) -> Any:
    """Return what one of the transforms asks for: True for all axes, False for none, names, or a dict of names.

    Raises:
        UnknownArgumentError: There is something beside ``"axes"``, which would not count.
    """
    if isinstance(given, Mapping) and "axes" in given:
        refuse_unknown(f"spatial_transforms, {name}", map(str, given), ("axes",), {})
        given = True if given["axes"] is None else given["axes"]
    return False if given is None else given


def _axes(name: str, given: Any) -> list[int]:
    """Return the axes of a list of their names."""
    if isinstance(given, Mapping) or not isinstance(given, Collection):
        raise invalid(
            f"spatial_transforms, {name}: axes are a list of names, not {given!r}",
            f"Such as {{{name!r}: {{'axes': ['y', 'x']}}}}, or True for all axes.",
        )
    return [_axis(axis) for axis in dict.fromkeys(given)]


def _mirrored(mirror: Any, fields: Sequence[str]) -> list[Transform]:
    chances = _asked("mirror", mirror)
    if not isinstance(chances, Mapping):
        axes = list(range(-3, 0)) if chances is True else _axes("mirror", chances) if chances else []
        return [Mirror(fields, axes)] if axes else []
    mirrored: list[Transform] = []
    for name, chance in chances.items():
        p = float(chance) if isinstance(chance, bool) else real_number(f"the chance of {name!r}", chance)
        if not 0 <= p <= 1:
            raise invalid(f"mirror: the chance of {name!r} must be from 0 to 1, not {chance!r}")
        axis = _axis(name)
        mirrored += [Mirror(fields, axis, p=p, seed=-axis)] if p else []  # each axis draws by itself
    return mirrored


def _rotated(angles: Any, quarters: Any, fields: Sequence[str]) -> list[Transform]:
    ranges = angles.get("axes", angles) if isinstance(angles, Mapping) else angles
    given = list(ranges.values()) if isinstance(ranges, Mapping) else []  # without angles cellmap-data rotates nothing
    if any(any(angle) if isinstance(angle, (list, tuple)) else angle for angle in given):
        raise unsupported(
            f"spatial_transforms: rotations by any angle do not exist yet (rotate: {angles!r})",
            "Use 'rotate90': {'axes': ['z']}, about which axes, or True for the 24 rotations of a cube; and 'mirror'.",
        )
    axes = _asked("rotate90", quarters)
    if not axes:
        return []
    if axes is True:
        return [Rotate90(fields, "cube")]
    about = _axes("rotate90", axes)
    return [Rotate90(fields, [axis for axis in (-3, -2, -1) if axis != one], seed=-one) for one in about]


def _axis(name: Any) -> int:
    if name not in tuple(AXES):
        raise invalid(f"an axis is one of 'z', 'y' and 'x', not {name!r}")
    return AXES.index(name) - len(AXES)
