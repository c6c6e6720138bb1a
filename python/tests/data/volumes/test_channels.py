"""Transforms that turn samples and were told no axes: channels, such as colours, are never turned."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from turns import cube, epoch, mirrors, orders, quarters

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
TURNS = (T.Mirror("rgb"), T.Mirror(), T.Flip("rgb"))


def coloured(folder: Path, shape: tuple[int, ...], kind: str) -> hr.Dataset:
    """Random patches, a grid of them, or samples, which have colours along one axis."""
    values = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
    if kind == "samples":
        np.savez(folder / "rows.npz", rgb=np.stack([values] * 40))
        return hr.open(folder / "rows.npz")
    np.savez(folder / "volume.npz", rgb=values)
    patch = tuple(min(n, 16) for n in shape)
    how: dict[str, Any] = {"samples_per_epoch": 40} if kind == "drawn" else {"stride": 4}
    return hr.open_volume(folder / "volume.npz", {"rgb": "rgb"}).patches(patch, **how)


@pytest.mark.parametrize("kind", ["drawn", "grid", "samples"])
@pytest.mark.parametrize("transform", TURNS, ids=repr)
@pytest.mark.parametrize("channels", [2, 3, 4, 10])
def test_channels_are_not_turned_unasked(tmp_path: Path, kind: str, transform: T.Transform, channels: int) -> None:
    data = coloured(tmp_path, (40, 44, channels), kind)
    named = r"axis=1; or axis=-1" if transform.name == "Flip" else r"axes=\(0, 1\); or axes=\(-3, -2, -1\)"
    ways: list[hr.Dataset] = [data, data.map(T.Cast("rgb", "f4")), pickle.loads(pickle.dumps(data))]
    if kind == "grid":
        ways += [data.select([0, 1]), data.split({"a": 0.5}, by="run")["a"]]
    for way in ways:
        with pytest.raises(hr.InvalidArgumentError, match=rf"axis -1 of 'rgb', .*Name the axes of space: {named}"):
            way.map(transform)
    with pytest.raises(hr.InvalidArgumentError, match="axis -1 of 'rgb'"):
        data.map(T.Cast("rgb", "f4"), transform)


@pytest.mark.parametrize(
    ("shape", "transform", "hint"),
    [
        ((3, 8, 64, 64), T.Mirror(), r"Name the axes of space: axes=\(-2, -1\); or axes=\(-3, -2, -1\) if -3 is"),
        ((2, 2, 128), T.ShuffleAxes(), r"Write axes=.* if -\d is an axis of space"),
        ((64, 2, 2), T.Rotate90(), r"Write axes=.* if -\d is an axis of space"),
    ],
)
def test_only_axes_that_were_judged_are_called_space(
    tmp_path: Path, shape: tuple[int, ...], transform: T.Transform, hint: str
) -> None:
    data = coloured(tmp_path, shape, "samples")
    with pytest.raises(hr.InvalidArgumentError, match=hint):
        data.map(transform)


@pytest.mark.parametrize("kind", ["drawn", "samples"])
def test_channels_that_come_first(tmp_path: Path, kind: str) -> None:
    data = coloured(tmp_path, (3, 40, 44), kind)
    with pytest.raises(hr.InvalidArgumentError, match=r"axis -3 of 'rgb'.*axes=\(-2, -1\); or axes=\(-3, -2, -1\)"):
        data.map(T.Mirror())
    plain, got = epoch(data, provenance=False)["rgb"], epoch(data.map(T.Flip("rgb")), provenance=False)["rgb"]
    ways = Counter(np.array_equal(a, b) for a, b in zip(plain, got, strict=True))
    assert len(ways) == 2 and all(np.array_equal(np.sort(a), np.sort(b)) for a, b in zip(plain, got, strict=True))
    (tmp_path / "deeper").mkdir()
    deeper = coloured(tmp_path / "deeper", (3, 20, 40, 44), kind)
    turned = epoch(deeper.map(T.Mirror()), provenance=False)["rgb"]
    assert np.array_equal(turned.sum(axis=(2, 3, 4)), epoch(deeper, provenance=False)["rgb"].sum(axis=(2, 3, 4)))


def test_axes_that_are_named_are_turned(tmp_path: Path) -> None:
    data = coloured(tmp_path, (40, 44, 3), "drawn")
    plain = epoch(data)["rgb"]
    for axes in ((0, 1), (0, 1, 2), (-1,)):
        got = epoch(data.map(T.Mirror(axes=axes)))["rgb"]
        for before, after in zip(plain, got, strict=True):
            assert sum(np.array_equal(way(before), after) for way in mirrors(axes)) == 1
    assert not np.array_equal(epoch(data.map(T.Flip("rgb", -1)))["rgb"], plain)


@pytest.mark.parametrize("depth", [17, 40])
def test_thin_patches_of_deep_volumes_have_no_channels(tmp_path: Path, depth: int) -> None:
    np.savez(tmp_path / "v.npz", raw=np.zeros((depth, 64, 64), "u1"))
    volume = hr.open_volume(tmp_path / "v.npz", {"raw": "raw"})
    data = volume.patches((3, 32, 32), samples_per_epoch=4).map(
        T.Mirror(), T.Flip("raw"), T.Rotate90(), T.ShuffleAxes()
    )
    pickle.loads(pickle.dumps(data)).map(T.Mirror(seed=3))
    with pytest.raises(hr.InvalidArgumentError, match="axis -1 of 'raw'"):  # its axes are others now
        data.map(T.Transpose("raw", (1, 2, 0)), T.Mirror())


def test_volumes_of_several_depths_have_no_channels(tmp_path: Path) -> None:
    for number, depth in enumerate((8, 9)):
        np.savez(tmp_path / f"v_{number}.npz", raw=np.zeros((depth, 64, 64), "u1"))
    hr.open_volume(tmp_path / "v_*.npz", {"raw": "raw"}).patches((8, 32, 32), 4).map(T.Mirror())
    alike = hr.open_volume(tmp_path / "v_0.npz", {"raw": "raw"}).patches((8, 32, 32), 4)
    with pytest.raises(hr.InvalidArgumentError, match=r"axis -3 of 'raw'.*or axes=\(-3, -2, -1\)"):
        alike.map(T.Mirror())
    alike.map(T.Mirror(axes=(-3, -2, -1)))


def test_channels_do_not_change_places_with_space(tmp_path: Path) -> None:
    data = coloured(tmp_path, (60, 64, 16), "drawn")  # patches of 16 x 16 x 16
    for transform, text in (
        (T.Rotate90(), r"Rotate90 names no axes.*axes=\(0, 1\); or axes=\(-2, -1\)"),
        (T.ShuffleAxes(), r"ShuffleAxes names no axes.*axes=\(0, 1\); or axes=\(-3, -2, -1\)"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            data.map(transform)
    plain = epoch(data)["rgb"]
    for transform, ways in (
        (T.Rotate90(axes=(0, 1)), quarters((0, 1))),
        (T.ShuffleAxes(axes=(0, 1)), orders((0, 1))),
        (T.Rotate90(axes="cube"), cube()),
    ):
        for before, after in zip(plain, epoch(data.map(transform))["rgb"], strict=True):
            assert any(np.array_equal(way(before), after) for way in ways)


def test_a_mask_beside_colours_is_turned_with_them(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    mask = random.integers(0, 255, (40, 32, 32), np.uint8)
    np.savez(tmp_path / "rows.npz", rgb=np.stack([mask] * 3, axis=-1), mask=mask)
    data = hr.open(tmp_path / "rows.npz", {"rgb": "rgb", "mask": "mask"})
    for transform in (T.Mirror(), T.Mirror(["rgb", "mask"]), T.Flip(["rgb", "mask"])):
        with pytest.raises(hr.InvalidArgumentError):
            data.map(transform)
    got = data.map(T.Mirror(axes=(0, 1)))[:]
    assert np.array_equal(got["rgb"], np.stack([got["mask"]] * 3, axis=-1)) and not np.array_equal(got["mask"], mask)
