"""Files and folders that are laid out unlike a data set: a group for each sample, names with brackets."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr


def _demonstrations(path: Path) -> Path:
    with h5py.File(path, "w") as f:
        for i in range(300):
            f[f"data/demo_{i}/actions"] = np.full((5 + i % 30, 7), i, "f4")
            f[f"data/demo_{i}/obs/eef_pos"] = np.zeros((5 + i % 30, 3), "f4")
        f["mask/train"] = np.zeros(360, "S8")
    return path


def test_a_group_for_each_demonstration_is_refused_on_one_screen(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.open(_demonstrations(tmp_path / "demos.h5"))
    text = str(caught.value)
    assert len(text) < 1500 and text.count("\n") < 20
    assert "data/demo_*/actions: 300 arrays of 5 to 34 rows, the first data/demo_0/actions (5, 7)" in text
    assert "mask/train (360)" in text


def test_the_nearest_path_comes_first(tmp_path: Path) -> None:
    path = _demonstrations(tmp_path / "demos.h5")
    with pytest.raises(hr.FieldMissingError) as caught:
        hr.open(path, fields={"a": "data/demo_7/action"})
    assert caught.value.hint.startswith("It has: data/demo_7/actions, ")
    assert len(str(caught.value)) < 1500
    np.testing.assert_array_equal(hr.open(path, fields={"a": "data/demo_7/actions"})["a"][:], np.full((12, 7), 7))


def test_a_folder_with_brackets_is_taken_literally(tmp_path: Path) -> None:
    folder = tmp_path / "[2023] run"
    folder.mkdir()
    for i in (1, 2, 10):
        with h5py.File(folder / f"part_{i}.h5", "w") as f:
            f["x"] = np.full(10, i)
    np.testing.assert_array_equal(hr.open(str(folder / "part_*.h5"))["x"][::10], [1, 2, 10])
    np.testing.assert_array_equal(hr.open(str(tmp_path / "[2023] run" / "part_[12].h5"))["x"][::10], [1, 2])
    (tmp_path / "2 run").mkdir()  # what the name would match as a pattern
    with h5py.File(tmp_path / "2 run" / "part_3.h5", "w") as f:
        f["x"] = np.full(10, 3)
    np.testing.assert_array_equal(hr.open(str(folder / "part_*.h5"))["x"][::10], [1, 2, 10])
    with pytest.raises(hr.FileMissingError, match="no file matches") as caught:
        hr.open(str(folder / "other_*.h5"))
    assert "part_1.h5" in caught.value.hint
