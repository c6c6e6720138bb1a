"""Images of OME-NGFF: of several levels whose axes are z, y and x, and of one level with any axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from zarr_stores import array2, array3, group2, write_json

Array = np.ndarray[Any, Any]
KINDS = {"c": "channel", "t": "time"}


def multiscales(levels: list[tuple[str, list[float], list[float]]], **more: Any) -> dict[str, Any]:
    """Return the metadata of an image; each level has a path, a size and a translation."""
    return {
        "axes": [{"name": a, "type": "space", "unit": "nanometer"} for a in "zyx"],
        "datasets": [
            {
                "path": path,
                "coordinateTransformations": [
                    {"type": "scale", "scale": size},
                    {"type": "translation", "translation": at},
                ],
            }
            for path, size, at in levels
        ],
        **more,
    }


def write_image(path: Path, version: int, levels: dict[str, tuple[Array, float, list[float]]], **more: Any) -> None:
    """Write a group with an array for each level: its values, the side of a voxel and the translation."""
    described = multiscales([(name, [side] * 3, at) for name, (_, side, at) in levels.items()], **more)
    if version == 2:
        group2(path)
        write_json(path / ".zattrs", {"multiscales": [described]})
    else:
        attributes = {"ome": {"version": "0.5", "multiscales": [described]}}
        write_json(path / "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    for name, (values, _, _) in levels.items():
        (array2 if version == 2 else array3)(path / name, values, (16, 16, 16))


def numbers(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).integers(1, 255, shape, np.uint8)


def axes_of(names: Sequence[str], units: str | Sequence[str | None] = "nanometer") -> list[dict[str, str]]:
    """Return axes as metadata have them: names of one letter, and a unit, one for all or one each (None: not said)."""
    several = [None if KINDS.get(n) else units for n in names] if isinstance(units, str) else units
    return [
        {"name": name, "type": KINDS.get(name.lower(), "space"), **({} if unit is None else {"unit": unit})}
        for name, unit in zip(names, several, strict=True)
    ]


def write_level(path: Path, values: Array, axes: Any, size: Sequence[float], *, version: int = 2, **more: Any) -> None:
    """Write an image of one level whose first voxel lies at 0, or where ``at`` says."""
    place = [{"type": "scale", "scale": list(size)}]
    place += [{"type": "translation", "translation": list(more.pop("at"))}] if "at" in more else []
    image = {"datasets": [{"path": "s0", "coordinateTransformations": place}], **more}
    if axes is not None:
        image["axes"] = axes
    if version == 2:
        write_json(group2(path) / ".zattrs", {"multiscales": [image]})
    else:
        attributes = {"ome": {"version": "0.5", "multiscales": [image]}}
        write_json(path / "zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": attributes})
    (array2 if version == 2 else array3)(path / "s0", values, [min(8, n) for n in values.shape])
