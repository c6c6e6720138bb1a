"""Volumes: arrays of files as volumes, and boxes of them as samples."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headrace import _headrace
from headrace._dataset.space import channel_axes
from headrace._support.argument_hints import OPEN_KNOBS, names_knobs
from headrace._support.checks import field_choices, invalid, path_list, real_number
from headrace._support.logging import logger, warn
from headrace._support.progress import Progress, ProgressLine, chosen_progress
from headrace.dataset import Dataset, Fields, Paths
from headrace.fields import FieldInfo, field_info

#: Names of arrays, or the values of each that are classes.
Balance = str | Sequence[str] | Mapping[str, int | Sequence[int] | None]
#: Names of arrays, or the shape of each one's box; None: that of the patch.
Context = str | Sequence[str] | Mapping[str, int | Sequence[int] | None]

#: The end of a path that names the size of the voxels itself: "@8", "@40x4x4".
_SIZED = re.compile(r"@[0-9.]+(x[0-9.]+)*$")


@names_knobs("hr.open_volume", OPEN_KNOBS)
def open_volume(
    paths: Paths,
    arrays: Fields = None,
    *,
    voxel: float | Sequence[float] | None = None,
    progress: Progress = None,
) -> Volumes:
    """Open files as volumes: ``hr.open_volume("sample_*.h5", arrays={"raw": "volumes/raw", "labels": "volumes/ids"})``.

    Takes HDF5, ``.npy`` and ``.npz`` files and Zarr stores. Each file is a volume, and has the same arrays; those of
    one volume have one shape, so that a box of one lies over the same box of the others; of OME-NGFF images, which say
    where they lie, the part that all of them have is the volume, and levels of larger voxels may be among them, for
    ``context`` of :meth:`Volumes.patches`. Volumes may differ in shape. Reads metadata only (blocks on storage; the GIL
    is released).

    Args:
        paths: A path, a glob or a list of them, as in :func:`headrace.open`. Their order is part of the data's
            identity.
        arrays: Which arrays a volume has: a dict (name in a batch → path in the file), a list of paths, or None for
            every array in the root, or in the only group, if they have one shape. ``"FILES::PATH"`` is an array of
            other files, one for each of ``paths``. ``"GROUP@8"`` is the level of the OME-NGFF image GROUP whose
            voxels have size 8 along each axis, ``"GROUP@40x4x4"`` one whose voxels are no cubes. The first array's
            voxels are those of the volume.
        voxel: Size of the voxels, in the unit of each image: ``arrays`` are images, of which each file gives the level
            of that size, but for those that name one themselves. One number, or one for each axis, in the order that
            the axes have in the file.
        progress: As in :func:`headrace.open`.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        FieldMissingError: A file has no such array; the text lists those there are, nearest name first.
        CorruptDataError: A file is truncated or damaged.
        InvalidArgumentError: Arrays of one volume differ in shape and do not say where they lie, or have no voxel in
            common, or have axes or units that differ; or volumes differ in their axes or types.
        UnsupportedError: Arrays of records or text, or one that cannot be read by this build.
    """
    began = time.perf_counter()
    with ProgressLine("opening", "files") as line:
        call = chosen_progress(line, progress)
        choices = field_choices(arrays)
        if voxel is not None:
            if not choices:
                raise invalid("voxel= chooses a level of an image, and arrays= names no image", "Name the images.")
            size = _voxel_text(voxel)
            choices = [(name, path if _SIZED.search(path) else f"{path}@{size}") for name, path in choices]
        volumes = Volumes(_headrace.open_volumes(path_list(paths), choices, progress=call))
    logger.debug("opened in %.3f s: %s", time.perf_counter() - began, volumes)
    return volumes


class Volumes:
    """Volumes of one or more files. Made by :func:`headrace.open_volume`; :meth:`patches` makes samples of them.

    ``len(volumes)`` is their number. May be used from any thread.
    """

    def __init__(self, native: _headrace.Volumes) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    @property
    def arrays(self) -> Mapping[str, FieldInfo]:
        """Name → description of each array, in the order of a batch. Their ``shape`` is that of a voxel: ``()``."""
        return MappingProxyType({info["name"]: field_info(info) for info in self._native.arrays()})

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shape of each volume, in the order of :attr:`files`."""
        return tuple(self._native.shapes())

    @property
    def files(self) -> tuple[str, ...]:
        """The file of each volume."""
        return tuple(os.fsdecode(path) for path in self._native.files())

    def patches(
        self,
        shape: Sequence[int],
        samples_per_epoch: int | None = None,
        *,
        stride: int | Sequence[int] | None = None,
        edge: str = "shift",
        fill: float = 0,
        small: str = "error",
        draws: str = "visits",
        balance: Balance | None = None,
        context: Context = (),
    ) -> Dataset:
        """Return a data set whose samples are boxes of the volumes: ``volume.patches((64, 64, 64), 10_000)``.

        Every field has the shape ``shape``. A 2-D slice has 1 along its thin axis: ``(1, 512, 512)``. Give one of
        ``samples_per_epoch``, to train on random patches, and ``stride``, to go over each volume. Nothing is decoded.

        Args:
            shape: Voxels along each axis.
            samples_per_epoch: Draw so many patches in each epoch. Every possible start of every volume is equally
                likely, for each patch by itself, drawn anew in each epoch; so large volumes are drawn more often. Equal
                seeds of a Loader draw equal patches, whatever the number of threads or ranks. Such samples have no
                number: indexing, ``select`` and ``split`` are refused, ``loader.batch(epoch, step)`` works.
            stride: Voxels from the start of a patch to the start of the next one along each axis; a number is for all
                axes. With ``stride=shape`` each voxel is in one patch, but for the edge. Sample i is counted volume by
                volume, in C order.
            edge: What becomes of the last patch along an axis that is no multiple: ``"shift"``: it moves inwards, so
                that every voxel is covered; ``"drop"``: it is left out; ``"fill"``: it reaches past the end, where
                ``fill`` is put, and ``batch["NAME.valid"]`` tells the voxels that there are.
            fill: What lies past the end, with ``edge="fill"``, and outside an array of ``context``.
            small: ``"error"``, or ``"skip"``: leave out volumes that are smaller than a patch, and say so.
            draws: With ``samples_per_epoch``: ``"visits"`` draws several patches near each other, which come in
                different batches, so that a chunk is decoded for all of them; ``"independent"`` draws each without
                regard to the others. Either way each patch by itself is as likely to begin anywhere.
            balance: With ``samples_per_epoch``: classes of voxels, of which each gets as many patches. A name is that
                of an array whose voxels are a class where they are neither 0 nor NaN: ``["mito", "er"]``; a dict tells
                the values of an array that are classes each: ``{"labels": [1, 2, 5]}``, whole numbers from -2^63 to
                2^63 - 1. Shares of another size do not exist: weights are refused. A patch is centred in a block
                of at most 16 voxels a side that holds voxels of its class, each block as likely as it has, and moved
                inwards at a volume's border. The labels are read once for that, on every processor, and what was
                counted is remembered. None: patches lie anywhere.
            context: The arrays whose voxels have another size than the first array's: a patch has a box of each, about
                the same centre. ``{"raw_32nm": (64, 64, 64)}`` tells its shape in its own voxels; a name alone gives it
                the shape of the patch. Its centre is the patch's to within half a voxel of the array, and where it
                sticks out of the array it is ``fill``.

        Raises:
            InvalidArgumentError: A patch is larger than a volume, which the text names; neither or both of
                ``samples_per_epoch`` and ``stride``; another number of axes; a ``fill`` that an array cannot hold; a
                class in ``balance`` that has no voxels, is named twice or is no whole number; a ``balance`` without
                classes or with weights; an array of other voxels that ``context`` does not name.
        """
        native = self._native.apply(
            "patches",
            shape=_plain(shape),
            samples_per_epoch=samples_per_epoch,
            stride=_plain(stride),
            edge=edge,
            fill=fill,
            small=small,
            draws=draws,
            balance=_plain(balance),
            context=_plain(context) or None,
        )
        for notice in native.notices():
            warn(notice)
        channels = channel_axes(self.shapes)
        return Dataset(native, boxes={tuple(field["shape"]): channels for field in native.fields()})

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {name: _absolute_path(info.path) for name, info in self.arrays.items()}
        return open_volume, ([str(Path(file).absolute()) for file in self.files], arrays)

    def __repr__(self) -> str:
        text: str = self._native.describe()
        return text.rstrip()


def _absolute_path(path: str) -> str:
    """Return the path of an array, with FILES of a ``FILES::PATH`` from anywhere."""
    files, divider, rest = path.partition("::")
    return f"{Path(files).expanduser().absolute()}{divider}{rest}" if divider and files else path


def _voxel_text(voxel: float | Sequence[float]) -> str:
    """Return a size of voxels as paths have it: "8", "40x4x4"."""
    sizes = [voxel] if isinstance(voxel, (int, float)) else list(voxel)
    numbers = [real_number("voxel", size) for size in sizes]
    if not numbers or not all(0 < size < float("inf") for size in numbers):
        raise invalid(f"voxel is a size along each axis, not {voxel!r}", "Such as voxel=8 or voxel=(40, 4, 4).")
    return "x".join(f"{size:.12g}" for size in numbers)


def _plain(given: Any) -> Any:
    """Return what can be gone through once, or has no order, as a list; in a dict too."""
    if isinstance(given, Mapping):
        return {name: _plain(value) for name, value in given.items()}
    return list(given) if isinstance(given, (Iterator, Set)) else given
