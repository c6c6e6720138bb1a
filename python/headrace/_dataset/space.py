"""Axes of space and axes of channels: what a transform turns that was told no axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace._support.checks import invalid
from headrace.transforms import Flip, Mirror, Rotate90, ShuffleAxes, Transform

#: Shape of a box of volumes → its axes that may be channels, counted from the end.
Boxes = Mapping[tuple[int, ...], frozenset[int]]

#: Transforms that turn samples.
TURNS = (Flip, Mirror, Rotate90, ShuffleAxes)
_MOST_CHANNELS = 16
_TURNED = 3  # the last so many axes are turned by default


def channel_axes(shapes: Sequence[tuple[int, ...]]) -> frozenset[int]:
    """Return which of the last three axes may be channels, counted from the end: (y, x, 3) has -1.

    Such an axis has 2 to 16 entries, as many in all shapes, and at most half as many as another one. Shapes of fewer
    than three axes have no channels.
    """
    if not shapes or len(shapes[0]) < _TURNED:
        return frozenset()
    longest = max(max(shape[-_TURNED:]) for shape in shapes)
    found = set()
    for axis in range(-_TURNED, 0):
        extents = {shape[axis] for shape in shapes}
        if len(extents) == 1 and 2 <= min(extents) <= min(_MOST_CHANNELS, longest // 2):
            found.add(axis)
    return frozenset(found)


def check_turned(transform: Transform, fields: Sequence[Mapping[str, Any]], boxes: Boxes) -> None:
    """Raise if a transform that was told no axes would turn channels.

    Args:
        transform: The transform.
        fields: The fields before it, as the engine describes them.
        boxes: Axes that may be channels, by the shape of samples; of others their own shape tells.

    Raises:
        InvalidArgumentError: An axis may be one of channels; the text says which axes to name.
    """
    shapes = {
        field["name"]: tuple(field["shape"])
        for field in fields
        if (field["name"] in transform.fields if transform.fields else not field["ragged"] and len(field["shape"]) > 1)
    }
    if not shapes:
        return
    first = next(iter(shapes.values()))
    fewest = min(map(len, shapes.values())) if transform.fields else len(first)
    turned = transform._turned_by_default(first[len(first) - fewest :])
    for name, shape in shapes.items():
        if len(shape) < len(turned):
            continue  # stays as it is
        doubtful = boxes[shape] if shape in boxes else channel_axes([shape])
        axis = next((axis for axis in turned if axis in doubtful), None)
        if axis is None:
            continue
        counted = range(len(shape)) if axis == -1 else range(-len(shape), 0)
        judged = [place for place in range(-_TURNED, 0) if place not in doubtful]
        space = [a for a, from_end in zip(counted, range(-len(shape), 0), strict=True) if from_end in judged]
        argument, of_space, of_all, needed = "axes", f"{tuple(space)}", f"{turned}", 1
        if isinstance(transform, Flip):
            argument, of_space, of_all = "axis", f"{space[-1:]}".strip("[]"), "-1"
        elif isinstance(transform, (Rotate90, ShuffleAxes)):
            of_space, needed = f"{tuple(space if isinstance(transform, ShuffleAxes) else space[-2:])}", 2
        hint = f"Name the axes of space: {argument}={of_space}; or {argument}={of_all} if {axis} is one of them."
        if len(space) < needed:
            hint = f"Write {argument}={of_all} if {axis} is an axis of space."
        raise invalid(
            f"{transform.name} names no axes, and one that it would turn may be of channels, such as colours: axis "
            f"{axis} of {name!r}, of sample shape {shape}",
            hint,
        )
