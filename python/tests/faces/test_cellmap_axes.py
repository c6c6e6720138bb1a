"""``headrace.cellmap`` over images whose axes lie in another order than z, y, x, or whose units differ."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ome_files import Array, axes_of, numbers, write_level
from zarr_stores import group2

import headrace as hr

torch = pytest.importorskip("torch", reason="torch is not installed")
from headrace.cellmap import CellMapDataLoader, CellMapDataset  # noqa: E402

pytestmark = pytest.mark.fast
BOX = {"shape": (8, 8, 8), "scale": (8, 8, 8)}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))


def crop(folder: Path, raw_axes: Any, label_axes: Any, raw_size: Sequence[float] = (8, 8, 8)) -> tuple[Array, Array]:
    """Write grey values and a label that lie at one place, and return them."""
    raw, label = numbers((24, 24, 24), 0), numbers((24, 24, 24), 1) % 2
    write_level(group2(folder / "a.zarr") / "em", raw, raw_axes, raw_size)
    write_level(folder / "a.zarr" / "mito", label, label_axes, (8, 8, 8))
    return raw, label


def dataset(folder: Path) -> CellMapDataset:
    root = folder / "a.zarr"
    return CellMapDataset(root / "em", f"{root}/[mito]", ["mito"], {"raw": BOX}, {"gt": BOX})


@pytest.mark.parametrize("names", ["xyz", "XYZ", "zxy"])
def test_grey_values_of_another_order_are_refused_where_a_crop_is_made(tmp_path: Path, names: str) -> None:
    """Labels agree with them, but scales, shapes and turns are told by the names z, y and x."""
    crop(tmp_path, axes_of(names), axes_of(names))
    with pytest.raises(hr.UnsupportedError, match=f"axes of the image are {', '.join(names)}") as error:
        dataset(tmp_path)
    assert str(tmp_path / "a.zarr" / "em") in str(error.value)
    assert "hr.open_volume()" in str(error.value)


def test_labels_of_another_order_are_refused(tmp_path: Path) -> None:
    crop(tmp_path, axes_of("zyx"), axes_of("xyz"))
    with pytest.raises(hr.InvalidArgumentError, match=r"(?s)axes z, y, x.*axes x, y, z"):
        CellMapDataLoader(dataset(tmp_path), iterations_per_epoch=4)


@pytest.mark.parametrize("axes", [axes_of("zyx"), axes_of("ZYX"), None, ["z", "y", "x"]], ids=str)
def test_images_in_order_or_without_names_are_read(tmp_path: Path, axes: Any) -> None:
    raw, label = crop(tmp_path, axes, axes)
    made = dataset(tmp_path)
    last = made[len(made) - 1]
    np.testing.assert_array_equal(last["raw"].numpy()[0], raw[16:, 16:, 16:])
    np.testing.assert_array_equal(last["gt"].numpy()[0], label[16:, 16:, 16:])


def test_axes_of_several_units_are_those_of_the_last_one(tmp_path: Path) -> None:
    """A depth in micrometers beside nanometers has the scale that is asked for."""
    units = ("micrometer", "nanometer", "nanometer")
    raw, label = crop(tmp_path, axes_of("zyx", units), axes_of("zyx"), (0.008, 8, 8))
    sample = dataset(tmp_path)[0]
    np.testing.assert_array_equal(sample["raw"].numpy()[0], raw[:8, :8, :8])
    np.testing.assert_array_equal(sample["gt"].numpy()[0], label[:8, :8, :8])
