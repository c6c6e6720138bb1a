"""Images of OME-NGFF as volumes: levels by the size of their voxels, and arrays that lie at different places."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ome_files import Array, numbers, write_image
from zarr_stores import array2, group2, group3, write_json

import headrace as hr

pytestmark = pytest.mark.fast
PATCH = (8, 8, 8)


@pytest.fixture(params=[2, 3])
def crops(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[dict[str, Array]]]:
    """Two crops: large grey values, and smaller labels inside them, whose finest level is another in each."""
    version, held = request.param, []
    for number in range(2):
        root = tmp_path / f"crop_{number}.zarr"
        (group2 if version == 2 else group3)(root)
        raw, coarse = numbers((50, 44, 60), number), numbers((25, 22, 30), 10 + number)
        label = numbers((20, 24, 30), 20 + number)
        write_image(root / "em", version, {"s0": (raw, 8, [0, 0, 0]), "s1": (coarse, 16, [4, 4, 4])})
        # At voxel (6 + number, 10, 12) of the grey values, and the other way round: sticking out at the end.
        at = [8 * (6 + number), 80, 96.4]
        levels = {"s0": (label, 8, at), "s1": (numbers((10, 12, 15), 5), 16, [a + 4 for a in at])}
        if number == 1:
            levels = {"s0": (numbers((40, 48, 60), 6), 4, [a - 2 for a in at]), "s1": (label, 8, at)}
        write_image(root / "labels" / "mito", version, levels)
        held.append({"raw": raw, "mito": label, "begin": np.array([6 + number, 10, 12])})
    return tmp_path, held


def opened(folder: Path, **more: Any) -> hr.Volumes:
    return hr.open_volume(folder / "crop_*.zarr", {"raw": "em", "mito": "labels/mito"}, voxel=8, **more)


@pytest.mark.parametrize("cut", [{"stride": (5, 8, 11)}, {"samples_per_epoch": 120}], ids=str)
@pytest.mark.parametrize("threads", [1, 3])
def test_patches_lie_over_each_other(
    crops: tuple[Path, list[dict[str, Array]]], cut: dict[str, Any], threads: int
) -> None:
    folder, held = crops
    volume = opened(folder)
    assert volume.shapes == ((20, 24, 30), (20, 24, 30))
    seen = 0
    for batch in hr.Loader(volume.patches(PATCH, **cut), 4, threads=threads, seed=1, provenance=True):
        for i, (number, start) in enumerate(zip(batch["_volume"], batch["_start"].astype(int), strict=True)):
            crop = held[int(number)]
            box = tuple(slice(a, a + 8) for a in start)
            there = tuple(slice(a, a + 8) for a in start + crop["begin"])
            np.testing.assert_array_equal(batch["mito"][i], crop["mito"][box])
            np.testing.assert_array_equal(batch["raw"][i], crop["raw"][there])
            seen += 1
    assert seen > 60


def test_grids_are_read_by_number_split_and_pickled(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, held = crops
    grid = opened(folder).patches(PATCH, stride=PATCH)
    want = held[0]["raw"][6:14, 10:18, 12:20]
    np.testing.assert_array_equal(grid[0]["raw"], want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(grid))[0]["raw"], want)
    parts = grid.split({"a": 0.5, "b": 0.5}, by="file")
    np.testing.assert_array_equal(parts["b"][0]["mito"], held[1]["mito"][:8, :8, :8])
    alone = grid.choose(["raw"]) if hasattr(grid, "choose") else grid
    np.testing.assert_array_equal(alone[0]["raw"], want)


def test_classes_are_counted_where_the_volume_is(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, _ = crops
    for number in range(2):
        values = np.zeros((50, 44, 60), np.uint8)
        values[6 + number + 10, 10 + 12, 12 + 5] = 1  # (10, 12, 5) of the volume
        values[0, 0, 0] = 1  # outside
        root = folder / f"crop_{number}.zarr" / "seen"
        version = 2 if (folder / "crop_0.zarr" / ".zgroup").exists() else 3
        write_image(root, version, {"s0": (values, 8, [0, 0, 0])})
    arrays = {"mito": "labels/mito", "seen": "seen"}
    volume = hr.open_volume(folder / "crop_*.zarr", arrays, voxel=8)
    patches = volume.patches(PATCH, samples_per_epoch=64, balance=["seen"])
    for batch in hr.Loader(patches, 8):
        assert (batch["seen"].sum(axis=(1, 2, 3)) == 1).all()


def test_names_with_sizes(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, held = crops
    one = folder / "crop_0.zarr"
    assert hr.open_volume(one, {"raw": "em@16"}).shapes == ((25, 22, 30),)
    assert hr.open_volume(one, {"raw": "em@16x16x16"}).shapes == ((25, 22, 30),)
    assert hr.open_volume(one, {"raw": "em/s1@16"}).shapes == ((25, 22, 30),)
    np.testing.assert_array_equal(hr.open(one, fields={"raw": "em@8"})[7]["raw"], held[0]["raw"][7])
    for name, words in (
        ("em@10", r"no voxels of 'em@10' have this size. There are: em/s0 \(8 x 8 x 8 nanometer\)"),
        ("em/s0@16", "have this size"),
        ("em@16x16", "have this size"),
        ("em@-8", "no array 'em@-8'"),
        ("nothing@8", "no array 'nothing@8'"),
    ):
        with pytest.raises(hr.FieldMissingError, match=words):
            hr.open_volume(one, {"raw": name})
    for voxel in (0, -1, (), float("nan")):
        with pytest.raises(hr.InvalidArgumentError):
            hr.open_volume(one, {"raw": "em"}, voxel=voxel)
    with pytest.raises(hr.InvalidArgumentError, match="voxel"):
        hr.open_volume(one, voxel=8)


def test_what_is_refused(crops: tuple[Path, list[dict[str, Array]]], tmp_path: Path) -> None:
    folder, _ = crops
    other = hr.open_volume(folder / "crop_0.zarr", {"raw": "em@8", "coarse": "em@16"})
    with pytest.raises(hr.InvalidArgumentError, match="another size"):
        other.patches(PATCH, stride=PATCH)
    with pytest.raises(hr.InvalidArgumentError, match="fill"):
        opened(folder).patches(PATCH, stride=PATCH, edge="fill")
    root = group3(tmp_path / "apart.zarr")
    write_image(root / "a", 3, {"s0": (numbers((9, 9, 9), 0), 8, [0, 0, 0])})
    write_image(root / "b", 3, {"s0": (numbers((9, 9, 9), 0), 8, [72, 0, 0])})
    with pytest.raises(hr.InvalidArgumentError, match="do not overlap"):
        hr.open_volume(root, {"a": "a@8", "b": "b@8"})


def test_transformations_of_the_whole_image_come_after_those_of_levels(tmp_path: Path) -> None:
    root = group3(tmp_path / "x.zarr")
    whole = [{"type": "scale", "scale": [2, 2, 2]}, {"type": "translation", "translation": [100, 0, 0]}]
    write_image(root / "a", 3, {"s0": (numbers((9, 9, 9), 0), 4, [8, 0, 0])}, coordinateTransformations=whole)
    info = hr.inspect(root).to_dict()["files"][0]["arrays"][0]
    assert info["voxel"] == {"size": [8, 8, 8], "origin": [116, 0, 0], "unit": "nanometer"}
    assert "8 x 8 x 8 nanometer, the first at 116, 0, 0" in str(hr.inspect(root))


@pytest.mark.parametrize(
    "described",
    [
        "no list",
        [],
        [1],
        [{"datasets": 5}],
        [{"datasets": [{"path": 5}]}],
        [{"datasets": [{"path": "../../s0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1]}]}]}],
        [{"datasets": [{"path": "s0", "coordinateTransformations": [{"type": "affine", "affine": [[1]]}]}]}],
        [{"datasets": [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [0, 1, 1]}]}]}],
        [{"datasets": [{"path": "s0", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}]}],
    ],
    ids=str,
)
def test_metadata_that_says_nothing_of_use(tmp_path: Path, described: Any) -> None:
    """The arrays open by their paths all the same."""
    root = group2(tmp_path / "x.zarr")
    group2(root / "a")
    write_json(root / "a" / ".zattrs", {"multiscales": described})
    values = numbers((9, 9, 9), 0)
    array2(root / "a" / "s0", values, (4, 4, 4))
    np.testing.assert_array_equal(hr.open(root, fields=["a/s0"])[:]["a/s0"], values)
    with pytest.raises(hr.FieldMissingError):
        hr.open(root, fields=["a@1"])
