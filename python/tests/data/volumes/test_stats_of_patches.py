"""stats() of patches: every voxel that some patch has counts once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ome_files import write_image
from volume_files import GRIDS, KINDS, PATCH, Volume, write_damaged, write_volumes
from zarr_stores import group2

import headrace as hr


def voxels_of(data: hr.Dataset, held: list[Volume], name: str) -> np.ndarray[Any, Any]:
    """Return the voxels that patches have, each once, by marking the place of every patch in NumPy."""
    marked = [np.zeros(volume[name].shape, bool) for volume in held]
    with hr.Loader(data, 16, provenance=True, cache="none") as loader:
        for batch in loader:
            for volume, (z, y, x) in zip(batch["_volume"], batch["_start"], strict=True):
                marked[volume][z : z + PATCH[0], y : y + PATCH[1], x : x + PATCH[2]] = True
    return np.concatenate([volume[name][mark] for volume, mark in zip(held, marked, strict=True)])


def assert_stats(found: hr.Stats, voxels: np.ndarray[Any, Any]) -> None:
    assert found.count.ravel().tolist() == [voxels.size]
    np.testing.assert_allclose(found.mean.ravel(), voxels.mean(dtype="f8"), rtol=1e-12)
    np.testing.assert_allclose(found.std.ravel(), voxels.std(dtype="f8"), rtol=1e-12)
    assert (found.min.ravel()[0], found.max.ravel()[0]) == (voxels.min(), voxels.max())


@pytest.mark.parametrize("kind", KINDS)
def test_every_voxel_counts_once(tmp_path: Path, kind: str) -> None:
    volumes, held = write_volumes(tmp_path, kind)
    for cut in GRIDS:
        data = volumes.patches(PATCH, **cut)
        for part in (data, data.select(range(0, len(data), 3)), data.split({"a": 0.4, "b": 0.6}, seed=1)["a"]):
            for name in ("raw", "ids"):
                assert_stats(part.stats(name), voxels_of(part, held, name))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", "off")
    volumes, held = write_volumes(tmp_path, "gzip")
    data = volumes.patches(PATCH, stride=(4, 9, 20))
    found = data.stats("raw", "raw > 100", threads=threads)
    voxels = voxels_of(data, held, "raw")
    assert_stats(found, voxels[voxels > 100])
    assert found.mean.tolist() == data.stats("raw", "raw > 100").mean.tolist()


def test_drawn_patches_are_of_all_voxels(tmp_path: Path) -> None:
    volumes, held = write_volumes(tmp_path, "zarr")
    data = volumes.patches(PATCH, samples_per_epoch=20)
    assert_stats(data.stats("raw"), np.concatenate([volume["raw"].ravel() for volume in held]))


def test_drawn_patches_of_arrays_in_different_places_are_refused(tmp_path: Path) -> None:
    """Which voxels they can have is another question than which there are; a grid has an answer."""
    raw = np.full((24, 24, 24), 200, np.uint8)
    raw[8:20, 8:20, 8:20] = 10
    group2(tmp_path / "v.zarr")
    write_image(tmp_path / "v.zarr" / "raw", 2, {"s0": (raw, 8, [0, 0, 0])})
    write_image(tmp_path / "v.zarr" / "mito", 2, {"s0": (np.ones((12, 12, 12), np.uint8), 8, [64, 64, 64])})
    volumes = hr.open_volume(tmp_path / "v.zarr", {"raw": "raw@8", "mito": "mito@8"})
    with pytest.raises(hr.UnsupportedError, match="do not lie in the same place"):
        volumes.patches((4, 4, 4), samples_per_epoch=20).stats("raw")
    found = volumes.patches((4, 4, 4), stride=(4, 4, 4)).stats("raw")
    assert (found.count.sum(), found.mean.item(), found.max.item()) == (12**3, 10, 10)


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    data = write_damaged(tmp_path).patches((8, 8, 8), stride=(8, 8, 8))
    with pytest.raises(hr.CorruptDataError, match=r"\(1,0,1\)"):
        data.stats("x")
    sound = data.select(range(32))  # above the damaged chunk
    assert sound.stats("x").count.sum() == 32 * 8**3
