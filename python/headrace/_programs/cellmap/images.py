"""The metadata of OME-NGFF images, as far as an image of zeros that lies over another one needs them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headrace._programs.cellmap.box import AXES
from headrace._support.checks import invalid, unsupported

_CHUNK = 64  # voxels a side, of chunks that are never written


def multiscales_of(image: str) -> dict[str, Any]:
    """Return what an image of version 2 or 3 says of its levels.

    Raises:
        InvalidArgumentError: The group is no image.
    """
    newer, older = _read(Path(image, "zarr.json")), _read(Path(image, ".zattrs"))
    attributes = newer.get("attributes", {}) if newer else older
    listed = attributes.get("ome", attributes).get("multiscales")
    if not listed or not listed[0].get("datasets"):
        raise invalid(f"{image}: this is no OME-NGFF image: it has no 'multiscales'", "Name the group of the levels.")
    return dict(listed[0])


def check_axes(image: str) -> None:
    """Raise if the axes of an image are not z, y and x in this order, which scales, shapes and turns are named by.

    Images without names are taken to have this order.

    Raises:
        UnsupportedError: The axes lie in another order.
    """
    named = multiscales_of(image).get("axes")
    axes = [one if isinstance(one, str) else _member(one, "name") for one in named] if isinstance(named, list) else []
    space = [axis for axis in map(str.lower, axes) if axis in tuple(AXES)]
    if space != sorted(space, key=AXES.index):
        raise unsupported(
            f"{image}: the axes of the image are {', '.join(axes)}, and a crop needs z, y, x",
            "Arrays are not turned: write the image anew with its axes in this order, and 'axes' and "
            "'coordinateTransformations' too; or read it as it is stored, by hr.open_volume().",
        )


def levels_of(image: str) -> dict[str, Any]:
    """Return the description of an image, and the shape of each level by its path."""
    multiscales = multiscales_of(image)
    shapes = {level["path"]: _array(image, level["path"])["shape"] for level in multiscales["datasets"]}
    return {"multiscales": multiscales, "shapes": shapes}


def level_type(image: str) -> str:
    """Return the type of an image's first level, as version 2 writes it: ``"<u2"``."""
    array = _array(image, multiscales_of(image)["datasets"][0]["path"])
    name: str = np.dtype(array.get("data_type") or array["dtype"]).str
    return name


def write_empty_image(folder: Path, plan: Mapping[str, Any]) -> None:
    """Write an image of zeros, none of whose chunks is written: they are the fill value.

    Args:
        folder: Its group, to be made.
        plan: What :func:`levels_of` says of the image that it lies over, and ``type``.
    """
    folder.mkdir()
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    (folder / ".zattrs").write_text(json.dumps({"multiscales": [plan["multiscales"]]}))
    for path, shape in plan["shapes"].items():
        array = {
            "zarr_format": 2, "shape": shape, "chunks": [min(_CHUNK, extent) for extent in shape],
            "dtype": plan["type"], "compressor": {"id": "zlib", "level": 1}, "fill_value": 0, "order": "C",
            "filters": None,
        }  # fmt: skip
        (folder / path).mkdir(parents=True)
        (folder / path / ".zarray").write_text(json.dumps(array))


def _array(image: str, path: str) -> dict[str, Any]:
    found = _read(Path(image, path, "zarr.json")) or _read(Path(image, path, ".zarray"))
    if "shape" not in found:
        raise invalid(f"{image}: the level {path!r}, which its metadata name, is not there")
    return found


def _member(described: Any, key: str) -> str:
    return str(described.get(key, "")) if isinstance(described, dict) else ""


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise invalid(f"{path}: this is no JSON ({error})") from None
    return found if isinstance(found, dict) else {}
