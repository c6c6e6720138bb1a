"""Crops of cellmap-data: where the images of each lie, and one folder of links for each, which opens as a volume."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace._programs.cellmap.images import check_axes, level_type, levels_of, write_empty_image
from headrace._support.cache_home import cache_home
from headrace._support.checks import invalid, unsupported
from headrace.errors import FileMissingError


@dataclass(frozen=True)
class Crop:
    """The images of one crop, as absolute paths of their groups. None: the class was not annotated here."""

    raw: str
    labels: Mapping[str, str | None]

    @classmethod
    def found(cls, raw_path: Any, target_path: Any, classes: Sequence[str], *, may_be_empty: bool) -> Crop:
        """Find the images of a crop as cellmap-data does.

        Raises:
            FileMissingError: There is no such raw image; or no image of any class, unless ``may_be_empty``.
            InvalidArgumentError: The raw image is none.
            UnsupportedError: Its axes are not z, y and x in this order.
        """
        raw = _local(raw_path)
        if not Path(raw).is_dir():
            message = f"{raw}: there is no such image"
            raise FileMissingError(message, message=message)
        check_axes(raw)
        template, annotated = split_target_path(_local(target_path)) if target_path else ("", [])
        labels: dict[str, str | None] = {}
        for name in classes:
            path = template.replace("{label}", name)
            labels[name] = path if name in annotated and Path(path).is_dir() else None
        if classes and not may_be_empty and not any(labels.values()):
            message = f"{target_path}: there is no image of any of the classes {', '.join(classes)}"
            hint = "Write target_path='…/[mito,er]', or say force_has_data=True: all of them are unknown here."
            raise FileMissingError(f"{message}. {hint}", message=message, hint=hint)
        return cls(raw, labels)


def split_target_path(path: str) -> tuple[str, list[str]]:
    """Return a template with ``{label}``, and the classes that stood in brackets; without any, the last part's name."""
    match = re.fullmatch(r"([^\[\]]*)\[([^\[\]]*)\]([^\[\]]*)", path)
    if match is None:
        return path, [Path(path).name]
    return f"{match[1]}{{label}}{match[3]}", [name.strip() for name in match[2].split(",")]


def link_name(name: str) -> str:
    """Return the name of an array in a folder of links."""
    return re.sub(r"[^\w.-]", "_", name)


def link_crops(crops: Sequence[Crop], raw_name: str) -> list[str]:
    """Return a folder for each crop, a Zarr group with a link for each image: all have the same names then.

    They lie in the user's cache directory, named by what they link to, so that they stay for pickles and later runs;
    in a folder of this process if that is switched off. Nothing is written beside the data. A class that a crop lacks
    is an image of zeros there, of a few hundred bytes.
    """
    plans = [_plan(crop, crops, raw_name) for crop in crops]
    key = hashlib.sha256(json.dumps(plans, sort_keys=True).encode()).hexdigest()[:16]
    home = cache_home("crops")
    folder = home / key
    if not folder.is_dir():
        draft = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=home))
        for number, plan in enumerate(plans):
            _write(draft / _folder_name(number, crops[number]), plan)
        try:
            draft.rename(folder)
        except OSError:  # another process was first, with the same links
            shutil.rmtree(draft, ignore_errors=True)
    return [str(folder / _folder_name(number, crop)) for number, crop in enumerate(crops)]


def _plan(crop: Crop, crops: Sequence[Crop], raw_name: str) -> dict[str, Any]:
    """Return name → path to link to, or the levels and the type of an image of zeros."""
    plan: dict[str, Any] = {link_name(raw_name): crop.raw}
    for name, path in crop.labels.items():
        if path is None:
            annotated = next((other for c in crops if (other := c.labels[name]) is not None), None)
            kind = "|u1" if annotated is None else level_type(annotated)
            plan[link_name(name)] = {"type": kind, **levels_of(crop.raw)}
        else:
            plan[link_name(name)] = path
    return plan


def _write(folder: Path, plan: Mapping[str, Any]) -> None:
    folder.mkdir()
    (folder / ".zgroup").write_text('{"zarr_format": 2}')
    for name, what in plan.items():
        if isinstance(what, str):
            (folder / name).symlink_to(what)
        else:
            write_empty_image(folder / name, what)


def _folder_name(number: int, crop: Crop) -> str:
    """Return a number, and a name that tells people which crop it is."""
    path = next((label for label in crop.labels.values() if label is not None), crop.raw)
    return f"{number:04}-{link_name('-'.join(Path(path).parts[-3:-1]))}.zarr"


def _local(path: Any) -> str:
    try:
        text: str = os.fsdecode(path)
    except TypeError:
        raise invalid(f"a path must be a str or a Path, not {path!r}") from None
    if "://" in text:
        raise unsupported(f"{text}: reading from other machines does not exist yet", "Copy the crops to a local disk.")
    return str(Path(text).expanduser().absolute())
