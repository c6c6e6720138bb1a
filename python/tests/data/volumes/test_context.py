"""Context: a box of larger voxels about the centre of each patch."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ome_files import numbers, write_image
from zarr_stores import group2, group3

import headrace as hr

pytestmark = pytest.mark.fast
Array = np.ndarray[Any, Any]
PATCH = (8, 6, 8)
SHAPES: dict[str, tuple[int, int, int]] = {"coarse": (6, 8, 10), "flat": (1, 5, 4)}
FILL = 7


def box_about(array: Array, centre: Array, shape: tuple[int, ...]) -> Array:
    """Return the box whose centre is nearest to `centre`, which counts the array's voxels; FILL lies outside."""
    start = np.floor(centre - np.array(shape) / 2 + 0.5).astype(int)
    out = np.full(shape, FILL, array.dtype)
    low, high = np.maximum(start, 0), np.minimum(start + shape, array.shape)
    inner = tuple(slice(a, b) for a, b in zip(low - start, high - start, strict=True))
    out[inner] = array[tuple(slice(a, b) for a, b in zip(low, high, strict=True))]
    return out


@pytest.fixture(params=[2, 3])
def crops(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, list[dict[str, Array]]]:
    """Two images of three levels, and labels inside them. Voxels of 8, 32 and 10 nm."""
    held = []
    for number in range(2):
        root = tmp_path / f"crop_{number}.zarr"
        (group2 if request.param == 2 else group3)(root)
        fine, coarse, flat = numbers((50, 44, 60), number), numbers((12, 11, 15), 10), numbers((40, 36, 48), 20)
        label = numbers((30, 36, 40), 30 + number)
        levels = {"s0": (fine, 8, [0, 0, 0]), "s2": (coarse, 32, [12, 12, 12]), "odd": (flat, 10, [1, 1, 1])}
        write_image(root / "em", request.param, levels)
        write_image(root / "mito", request.param, {"s0": (label, 8, [8 * (6 + number), 0, 96])})
        held.append({"raw": fine, "coarse": coarse, "flat": flat, "mito": label, "at": np.array([6 + number, 0, 12])})
    return tmp_path, held


def opened(folder: Path) -> hr.Volumes:
    arrays = {"raw": "em", "mito": "mito", "coarse": "em@32", "flat": "em@10"}
    return hr.open_volume(folder / "crop_*.zarr", arrays, voxel=8)


def check(batch: Any, held: list[dict[str, Array]]) -> int:
    for i, (number, start) in enumerate(zip(batch["_volume"], batch["_start"].astype(int), strict=True)):
        crop = held[int(number)]
        there = start + crop["at"]
        np.testing.assert_array_equal(batch["mito"][i], crop["mito"][tuple(map(slice, start, start + PATCH))])
        np.testing.assert_array_equal(batch["raw"][i], crop["raw"][tuple(map(slice, there, there + PATCH))])
        centre_nm = 8 * (there + np.array(PATCH) / 2) - 4  # a voxel's place is its centre, its border half one before
        np.testing.assert_array_equal(batch["coarse"][i], box_about(crop["coarse"], (centre_nm + 4) / 32, (6, 8, 10)))
        np.testing.assert_array_equal(batch["flat"][i], box_about(crop["flat"], (centre_nm + 4) / 10, (1, 5, 4)))
    return len(batch["raw"])


@pytest.mark.parametrize(
    "cut",
    [
        {"stride": (5, 8, 11)},
        {"samples_per_epoch": 150},
        {"samples_per_epoch": 60, "draws": "independent"},
        {"samples_per_epoch": 60, "balance": ["mito"]},
    ],
    ids=str,
)
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_place(crops: tuple[Path, list[dict[str, Array]]], cut: dict[str, Any], threads: int) -> None:
    folder, held = crops
    volume = opened(folder)
    assert volume.shapes == ((30, 36, 40), (30, 36, 40))
    assert "voxels of 4 x 4 x 4 of the volume's" in repr(volume)
    patches = volume.patches(PATCH, context=SHAPES, fill=FILL, **cut)
    assert {name: field.shape for name, field in patches.fields.items()} == {"raw": PATCH, "mito": PATCH, **SHAPES}
    loader = hr.Loader(patches, 4, threads=threads, seed=3, provenance=True, shuffle=True)
    for _ in range(2):
        assert sum(check(batch, held) for batch in loader) == len(patches)
    assert check(loader.batch(1, 2), held) == 4


def test_little_memory_resume_pickle_and_numbers(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, held = crops
    grid = opened(folder).patches(PATCH, stride=PATCH, context=SHAPES, fill=FILL)
    again = pickle.loads(pickle.dumps(grid))
    for number in (0, 3, len(grid) - 1):
        for name in SHAPES:
            np.testing.assert_array_equal(grid[number][name], again[number][name])
    whole = [batch["coarse"].copy() for batch in hr.Loader(grid, 4, seed=1)]
    loader = hr.Loader(again, 4, seed=1, memory="1200KiB", threads=2, provenance=True)
    batches = iter(loader)
    for want in whole[:3]:
        batch = next(batches)
        check(batch, held)
        np.testing.assert_array_equal(batch["coarse"], want)
    state = loader.state_dict()
    rest = hr.Loader(grid, 4, seed=1)
    rest.load_state_dict(state)
    for want, batch in zip(whole[3:], rest, strict=True):
        np.testing.assert_array_equal(batch["coarse"], want)
    parts = grid.split({"train": 0.5, "val": 0.5})
    assert len(parts["train"]) > 0 and parts["val"][0]["coarse"].shape == SHAPES["coarse"]


def test_a_name_alone_has_the_shape_of_the_patch(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, _ = crops
    volume = hr.open_volume(folder / "crop_0.zarr", {"raw": "em@8", "coarse": "em@32"})
    for context in ("coarse", ["coarse"], {"coarse": None}, {"coarse": PATCH}):
        patches = volume.patches(PATCH, samples_per_epoch=8, context=context)
        assert patches.fields["coarse"].shape == PATCH
    assert volume.patches((8, 8, 8), samples_per_epoch=8, context={"coarse": 5}).fields["coarse"].shape == (5, 5, 5)
    explained = hr.Loader(volume.patches(PATCH, 8, context="coarse"), 2).explain()
    assert "decoded bytes for each delivered one" in explained


def test_one_file_may_have_the_same_voxels(tmp_path: Path) -> None:
    for number, side in enumerate((16, 8)):
        root = group3(tmp_path / f"crop_{number}.zarr")
        raw = numbers((24, 24, 24), number)
        write_image(root / "em", 3, {"s0": (raw, 8, [0, 0, 0])})
        write_image(root / "more", 3, {"s0": (numbers((30, 30, 30), 9), side, [8, 8, 8])})
    volume = hr.open_volume(tmp_path / "crop_*.zarr", {"raw": "em/s0", "more": "more/s0"})
    patches = volume.patches((8, 8, 8), stride=8, context={"more": (4, 4, 4)}, fill=FILL)
    more = numbers((30, 30, 30), 9)
    for batch in hr.Loader(patches, 2, provenance=True):
        for i, (number, start) in enumerate(zip(batch["_volume"], batch["_start"].astype(int), strict=True)):
            side = (16, 8)[int(number)]
            centre_nm = 8 * (start + int(number) + 4) - 4  # the second volume begins at voxel 1 of its first array
            want = box_about(more, (centre_nm - (8 - side / 2)) / side, (4, 4, 4))
            np.testing.assert_array_equal(batch["more"][i], want)


def test_what_is_refused(crops: tuple[Path, list[dict[str, Array]]]) -> None:
    folder, _ = crops
    volume = opened(folder)
    for context, words in (
        ((), r"'coarse' has voxels of another size than 'raw'.*\n?.*context=\{\"coarse\": \(8, 6, 8\)\}"),
        ({"coarse": PATCH}, "'flat' has voxels of another size"),
        ({**SHAPES, "mito": PATCH}, "'mito', whose voxels have the size"),
        ({**SHAPES, "raw_32": PATCH}, "no array 'raw_32'"),
        ({**SHAPES, "flat": (1, 2)}, "2 numbers for volumes of 3 axes"),
        ({**SHAPES, "flat": (1, 0, 2)}, "context"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=words):
            volume.patches(PATCH, samples_per_epoch=4, context=context)
    for more, words in (
        ({"fill": 300}, "fill=300"),
        ({"fill": 1, "balance": ["coarse"]}, "'coarse', whose voxels are not those of the volume"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=words):
            volume.patches(PATCH, samples_per_epoch=4, context=SHAPES, **more)
    with pytest.raises(hr.InvalidArgumentError, match='edge="fill"'):
        volume.patches(PATCH, stride=4, edge="fill", context=SHAPES)
