"""Axes and units of OME-NGFF images: arrays that lie over each other have the same axes, and sizes compare."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ome_files import Array, axes_of, numbers, write_level
from zarr_stores import group2, group3

import headrace as hr

pytestmark = pytest.mark.fast
PATCH = (8, 8, 8)


def same_places(volume: hr.Volumes, want: dict[str, Array]) -> None:
    """Every patch of a grid is the slice of each array at its place."""
    patches = volume.patches(PATCH, stride=(5, 6, 7), edge="shift")
    for batch in hr.Loader(patches, 4, provenance=True):
        for i, start in enumerate(batch["_start"].astype(int)):
            for name, values in want.items():
                box = tuple(slice(a, a + n) for a, n in zip(start, PATCH, strict=True))
                np.testing.assert_array_equal(batch[name][i], values[box])


@pytest.mark.parametrize("version", [2, 3])
def test_labels_of_another_order_of_axes_are_refused(tmp_path: Path, version: int) -> None:
    """Both are cubes of cubic voxels, so that nothing but the names tells."""
    root = (group2 if version == 2 else group3)(tmp_path / "a.zarr")
    raw = numbers((24, 24, 24), 0)
    write_level(root / "em", raw, axes_of("zyx"), (8, 8, 8), version=version)
    write_level(root / "lab", raw.T.copy(), axes_of("xyz"), (8, 8, 8), version=version)
    with pytest.raises(hr.InvalidArgumentError) as error:
        hr.open_volume(root, {"raw": "em", "lab": "lab"}, voxel=8)
    text = str(error.value)
    for words in (f"{root} › em/s0: axes z, y, x", f"{root} › lab/s0: axes x, y, z", "numpy.transpose"):
        assert words in text
    assert (error.value.file, error.value.field) == (str(root), "lab/s0")
    with pytest.raises(hr.InvalidArgumentError, match="axes"):
        hr.open_volume(root, {"raw": "em/s0", "lab": "lab/s0"})  # by their paths as well


def test_arrays_of_one_order_are_read_as_they_are_stored(tmp_path: Path) -> None:
    """Sizes that are asked for follow the axes of the array: x, y, z here."""
    root = group2(tmp_path / "a.zarr")
    raw, lab = numbers((20, 24, 16), 0), numbers((20, 24, 16), 1)
    write_level(root / "em", raw, axes_of("xyz"), (4, 4, 40))
    write_level(root / "lab", lab, axes_of("XYZ"), (4, 4, 40))
    same_places(hr.open_volume(root, {"raw": "em", "lab": "lab"}, voxel=(4, 4, 40)), {"raw": raw, "lab": lab})
    same_places(hr.open_volume(root, {"raw": "em@4x4x40"}), {"raw": raw})
    with pytest.raises(hr.FieldMissingError, match="4 x 4 x 40 nanometer"):
        hr.open_volume(root, {"raw": "em@40x4x4"})


def test_the_error_names_the_file_beside(tmp_path: Path) -> None:
    raw, lab = group2(tmp_path / "raw_0.zarr"), group2(tmp_path / "lab_0.zarr")
    write_level(raw / "em", numbers((16, 16, 16), 0), axes_of("zyx"), (8, 8, 8))
    write_level(lab / "mito", numbers((16, 16, 16), 0), axes_of("yzx"), (8, 8, 8))
    with pytest.raises(hr.InvalidArgumentError) as error:
        hr.open_volume(tmp_path / "raw_*.zarr", {"raw": "em@8", "mito": f"{tmp_path}/lab_*.zarr::mito@8"})
    assert f"{raw} › em/s0: axes z, y, x" in str(error.value)
    assert f"{lab} › mito/s0: axes y, z, x" in str(error.value)
    assert error.value.file == str(lab)


def test_volumes_of_other_orders_are_not_opened_together(tmp_path: Path) -> None:
    for number, names in enumerate(("zyx", "xyz")):
        root = group2(tmp_path / f"{number}.zarr")
        write_level(root / "em", numbers((16, 16, 16), 0), axes_of(names), (8, 8, 8))
    with pytest.raises(hr.InvalidArgumentError, match="open those that differ apart") as error:
        hr.open_volume(tmp_path / "*.zarr", {"raw": "em"}, voxel=8)
    for number, order in enumerate(("z, y, x", "x, y, z")):
        assert f"{tmp_path / f'{number}.zarr'} › em/s0: axes {order}" in str(error.value)


@pytest.mark.parametrize(
    ("one", "other", "good"),
    [
        (axes_of("zyx"), None, True),  # one that names none lies as it is stored
        (["z", "y", "x"], axes_of("xyz"), False),  # names alone, as version 0.3 has them
        (axes_of("zyx"), [{"type": "space", "unit": "nanometer"}] * 3, True),
        (axes_of("zyx"), axes_of("uvw"), True),
        (axes_of("zyx"), axes_of("XYZ"), False),
        (axes_of("zyx"), axes_of("cyx"), False),  # channels over slices
        (axes_of("zyx"), axes_of("tyx"), False),
        (axes_of("zyx"), axes_of("uyz"), False),
        (axes_of("zyx"), [{"name": name} for name in "xyz"], False),
    ],
    ids=str,
)
def test_which_axes_are_the_same(tmp_path: Path, one: Any, other: Any, good: bool) -> None:
    """The metadata say nothing of sizes that could be read, so that shapes count."""
    root = group2(tmp_path / "a.zarr")
    raw, lab = numbers((12, 12, 12), 0), numbers((12, 12, 12), 1)
    for name, values, axes in (("em", raw, one), ("lab", lab, other)):
        write_level(root / name, values, axes, ())
    names = {"raw": "em/s0", "lab": "lab/s0"}
    if good:
        same_places(hr.open_volume(root, names), {"raw": raw, "lab": lab})
        return
    with pytest.raises(hr.InvalidArgumentError, match="axes of this array"):
        hr.open_volume(root, names)


def test_channels_and_time_beside_labels_of_space_are_refused(tmp_path: Path) -> None:
    root = group2(tmp_path / "a.zarr")
    write_level(root / "em", numbers((2, 16, 16, 16), 0), axes_of("czyx"), (1, 8, 8, 8))
    write_level(root / "lab", numbers((16, 16, 16), 0), axes_of("zyx"), (8, 8, 8))
    write_level(root / "film", numbers((2, 16, 16, 16), 0), axes_of("tzyx"), (1, 8, 8, 8))
    for other in ("lab", "film"):
        with pytest.raises(hr.InvalidArgumentError, match=r"axes c, z, y, x"):
            hr.open_volume(root, {"raw": "em/s0", "lab": f"{other}/s0"})


@pytest.mark.parametrize(
    ("units", "size", "at"),
    [
        ("micrometer", (0.008, 0.008, 0.008), (0.016, 0.032, 0.024)),
        (("micrometer", "nanometer", "nanometer"), (0.008, 8, 8), (0.016, 32, 24)),
        (("nanometer", "nanometer", "angstrom"), (8, 8, 80), (16, 32, 240)),
        ("um", (0.008, 0.008, 0.008), (0.016, 0.032, 0.024)),
    ],
    ids=str,
)
@pytest.mark.parametrize("label_first", [False, True])
def test_units_of_length_are_compared(tmp_path: Path, units: Any, size: Any, at: Any, label_first: bool) -> None:
    root = group2(tmp_path / "a.zarr")
    raw, lab = numbers((24, 24, 24), 0), numbers((16, 16, 16), 1)
    write_level(root / "em", raw, axes_of("zyx"), (8, 8, 8))
    write_level(root / "lab", lab, axes_of("zyx", units), size, at=at)
    names = {"lab": "lab/s0", "raw": "em/s0"} if label_first else {"raw": "em/s0", "lab": "lab/s0"}
    volume = hr.open_volume(root, names)
    assert volume.shapes == ((16, 16, 16),)
    same_places(volume, {"raw": raw[2:18, 4:20, 3:19], "lab": lab})


def test_context_in_another_unit(tmp_path: Path) -> None:
    root = group2(tmp_path / "a.zarr")
    raw, coarse = numbers((32, 32, 32), 0), numbers((16, 16, 16), 1)
    write_level(root / "em", raw, axes_of("zyx"), (8, 8, 8))
    write_level(root / "wide", coarse, axes_of("zyx", "micrometer"), [0.016] * 3, at=[0.004] * 3)
    volume = hr.open_volume(root, {"raw": "em@8", "wide": "wide@0.016"})
    patches = volume.patches(PATCH, stride=PATCH, context={"wide": (4, 4, 4)})
    np.testing.assert_array_equal(patches[0]["wide"], coarse[:4, :4, :4])
    np.testing.assert_array_equal(patches[len(patches) - 1]["wide"], coarse[12:, 12:, 12:])


def test_sizes_of_an_image_with_several_units_are_in_that_of_its_last_axis(tmp_path: Path) -> None:
    root = group2(tmp_path / "a.zarr")
    raw = numbers((16, 16, 16), 0)
    write_level(root / "em", raw, axes_of("zyx", ("micrometer", "nanometer", "nanometer")), (0.04, 4, 4))
    same_places(hr.open_volume(root, {"raw": "em"}, voxel=(40, 4, 4)), {"raw": raw})
    with pytest.raises(hr.FieldMissingError, match="40 x 4 x 4 nanometer"):
        hr.open_volume(root, {"raw": "em@0.04x4x4"})
    (array,) = hr.inspect(root).to_dict()["files"][0]["arrays"]
    assert array["axes"] == ["z", "y", "x"]
    assert array["voxel"] == {"size": [40, 4, 4], "origin": [0, 0, 0], "unit": "nanometer"}
    assert "em/s0: 40 x 4 x 4 nanometer, the first at 0, 0, 0, axes z, y, x" in " ".join(str(hr.inspect(root)).split())


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("nanometer", "pixel", "em/s0 in nanometer and lab/s0 in pixel"),
        ("nanometer", ("pixel", "nanometer", "nanometer"), "lab/s0 in pixel, nanometer, nanometer"),
        ("nanometer", (None, None, None), "em/s0 in nanometer and lab/s0 without a unit"),
        ("furlong", "Furlong", "em/s0 in furlong and lab/s0 in Furlong"),
        ("nanometer", "nanosecond", "em/s0 in nanometer and lab/s0 in nanosecond"),
        ("pixel", "pixel", None),
        (("pixel", "nanometer", "nanometer"), ("pixel", "nanometer", "nanometer"), None),
        ((None, None, None), (None, None, None), None),
    ],
    ids=str,
)
def test_other_units_are_equal_by_their_text_alone(tmp_path: Path, one: Any, other: Any, words: str | None) -> None:
    root = group2(tmp_path / "a.zarr")
    raw, lab = numbers((16, 16, 16), 0), numbers((16, 16, 16), 1)
    write_level(root / "em", raw, axes_of("zyx", one), (8, 8, 8))
    write_level(root / "lab", lab, axes_of("zyx", other), (8, 8, 8))
    names = {"raw": "em", "lab": "lab"}
    if words is None:
        same_places(hr.open_volume(root, names, voxel=8), {"raw": raw, "lab": lab})
        return
    with pytest.raises(hr.InvalidArgumentError, match=f"units that cannot be compared, .*{words}"):
        hr.open_volume(root, names, voxel=8)


def test_a_time_without_a_unit_is_that_of_the_other(tmp_path: Path) -> None:
    root = group2(tmp_path / "a.zarr")
    held = {name: numbers((2, 16, 16, 16), seed) for seed, name in enumerate(("em", "lab"))}
    for name, unit in (("em", "second"), ("lab", None)):
        write_level(root / name, held[name], axes_of("tzyx", (unit, *["nanometer"] * 3)), (1, 8, 8, 8))
    volume = hr.open_volume(root, {"em": "em", "lab": "lab"}, voxel=(1, 8, 8, 8))
    patch = volume.patches((2, *PATCH), stride=(2, *PATCH))[0]
    for name, values in held.items():
        np.testing.assert_array_equal(patch[name], values[:, :8, :8, :8])


def test_volumes_whose_voxels_have_other_sizes_are_told(tmp_path: Path) -> None:
    """Equal sizes in other units are equal; patches of others are of other places in the world."""
    for name, unit, size in (("a", "nanometer", 8), ("b", "micrometer", 8), ("c", "micrometer", 0.008)):
        root = group2(tmp_path / f"{name}.zarr")
        write_level(root / "em", numbers((16, 16, 16), 0), axes_of("zyx", unit), [size] * 3)
    a, b, c = (tmp_path / f"{name}.zarr" for name in "abc")
    with pytest.warns(hr.HeadraceWarning, match=r"b\.zarr › em/s0: its voxels are 8 x 8 x 8 micrometer, .* nanometer"):
        hr.open_volume([a, b], ["em/s0"]).patches(PATCH, stride=PATCH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.open_volume([a, c], ["em/s0"]).patches(PATCH, stride=PATCH)
