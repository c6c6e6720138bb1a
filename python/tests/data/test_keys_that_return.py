"""Keys of samples and groups: those that come back, go on in the next file, or stand in another order in the truth."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr


def _files(folder: Path, *keys: list[int], dtype: str = "i8") -> str:
    """Write a file for each list of keys, with the number of each row."""
    for number, values in enumerate(keys):
        with h5py.File(folder / f"rows_{number}.h5", "w") as file:
            file["key"] = np.array(values, dtype)
            file["x"] = np.arange(len(values), dtype="f4") + 100 * number
    return str(folder / "rows_*.h5")


def _heard(call: Any) -> tuple[Any, list[str]]:
    """Return what a call gives, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = call()
    return made, [str(one.message) for one in caught if issubclass(one.category, hr.HeadraceWarning)]


def _grouped(files: str) -> tuple[list[list[int]], list[str]]:
    """Return the keys of each group, and the warnings of the loader."""

    def groups() -> list[list[int]]:
        loader = hr.Loader(hr.open(files, ["key", "x"]), shuffle=False, group_by="key", max_items=100)
        return [part["key"][part["_group"] == g].tolist() for part in loader for g in np.unique(part["_group"])]

    return _heard(groups)


@pytest.mark.parametrize("dtype", ["i8", "u2", "i4"])
def test_a_group_that_comes_back_is_told(tmp_path: Path, dtype: str) -> None:
    groups, heard = _grouped(_files(tmp_path, [4, 4, 7, 4, 4, 9, 7], [1, 2, 1], dtype=dtype))
    assert groups == [[4, 4], [7], [4, 4], [9], [7], [1], [2], [1]]
    (text,) = heard
    assert "rows_0.h5 › key: the key 4 stands at rows 0 to 1 and comes back at rows 3 to 4" in text
    assert "(the first of 3 such places): each run is a group of its own" in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*each run is a group", category=hr.HeadraceWarning)
        hr.Loader(hr.open(str(tmp_path / "rows_*.h5")), group_by="key", max_items=9)  # as the page says


def test_a_group_that_goes_on_in_the_next_file_is_told(tmp_path: Path) -> None:
    files = _files(tmp_path, [1, 1, 2], [], [2, 2, 3], [3, 4])
    groups, heard = _grouped(files)
    assert groups == [[1, 1], [2], [2, 2], [3], [3], [4]]
    (text,) = heard
    assert f"the key 2 ends {tmp_path}/rows_0.h5 and begins {tmp_path}/rows_2.h5 (the first of 2 such places)" in text


def test_groups_that_are_whole_are_told_nothing(tmp_path: Path) -> None:
    for keys in ([[1, 1, 2], [1, 2, 2]], [[9, 9, 3], [4, 1]], [[5], [6], []]):
        assert _grouped(_files(tmp_path, *keys))[1] == []


def test_an_event_that_is_cut_by_a_files_end_is_told(tmp_path: Path) -> None:
    files = _files(tmp_path, [128, 130, 130], [130, 131])
    events, heard = _heard(lambda: hr.open(files, ["x"], sample_by="key"))
    assert [event["x"].tolist() for event in events] == [[0], [1, 2], [100], [101]]
    (text,) = heard
    assert "the key 130 ends" in text
    assert "a sample ends with its file" in text
    assert "write the files anew" in text
    assert _heard(lambda: hr.open(_files(tmp_path, [1, 2], [1, 2]), ["x"], sample_by="key"))[1] == []


class Truth:
    """Events in two files, and a table of them in any order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.files = _files(folder, [3, 3, 5, 8], [1, 1, 1, 6])

    def write(self, keys: list[Any], name: str = "key") -> dict[str, str]:
        table = {name: keys, "zenith": [float(i) for i in range(len(keys))]}
        pq.write_table(pa.table(table), self.folder / "truth.parquet")
        return {"zenith": f"{self.folder}/truth.parquet::zenith"}

    def open(self, targets: Any) -> hr.Dataset:
        return hr.open(self.files, ["x"], sample_by="key", targets=targets)


def test_targets_in_another_order_are_refused(tmp_path: Path) -> None:
    truth = Truth(tmp_path)
    assert [event["zenith"] for event in truth.open(truth.write([3, 5, 8, 1, 6]))] == [0, 1, 2, 3, 4]
    with pytest.raises(
        hr.InvalidArgumentError, match=r"truth\.parquet.*sample 1 has the key 5 in .*, and row 1 of the targets has 8"
    ) as refused:
        truth.open(truth.write([3, 8, 5, 1, 6]))
    assert '.join(table, on="key"' in str(refused.value.hint)
    joined = truth.open(["key"]).join(str(tmp_path / "truth.parquet"), on="key", fields=["zenith"])
    assert [event["zenith"] for event in joined] == [0, 2, 1, 3, 4]
    with pytest.raises(hr.InvalidArgumentError, match="row 4 of the targets has none"):
        truth.open(truth.write([3.0, 5.0, 8.0, 1.0, float("nan")]))
    assert len(truth.open(truth.write([3.0, 5.0, 8.0, 1.0, 6.0]))) == 5


def test_keys_beside_every_target_are_compared(tmp_path: Path) -> None:
    """Targets of several tables have a key each, in groups too, and as a column of one value a row."""
    truth = Truth(tmp_path)
    _files(tmp_path, [3, 3, 5, 8])
    truth.files = str(tmp_path / "rows_0.h5")
    with h5py.File(tmp_path / "rows_0.h5", "a") as file:
        file["other"] = [1.0, 2.0, 3.0]
    for order, fine in (([3, 5, 8], True), ([8, 5, 3], False)):
        for name, at in (("grouped", "truth/"), ("plain", "")):
            with h5py.File(tmp_path / f"{name}.h5", "w") as file:
                file[f"{at}key"] = np.array(order).reshape(3, 1) if name == "plain" else order
                file[f"{at}zenith"] = np.array(order) * 10.0
        for targets in (
            {"zenith": f"{tmp_path}/grouped.h5::truth/zenith"},
            {"zenith": f"{tmp_path}/plain.h5::zenith"},
            {"other": "other", "zenith": f"{tmp_path}/grouped.h5::truth/zenith"},
        ):
            if fine:
                assert [event["zenith"] for event in truth.open(targets)] == [30, 50, 80]
            else:
                with pytest.raises(hr.InvalidArgumentError, match="row 0 of the targets has 8"):
                    truth.open(targets)


def test_a_cut_event_is_told_with_the_targets(tmp_path: Path) -> None:
    truth = Truth(tmp_path)
    truth.files = _files(tmp_path, [3, 3, 5, 8], [8, 1, 6])
    with pytest.raises(
        hr.InvalidArgumentError, match=r"sample 3 has the key 8 .*; before that, the key 8 ends .*two samples"
    ):
        truth.open(truth.write([3, 5, 8, 1, 6, 9]))


def test_targets_without_the_key_are_taken_as_they_stand(tmp_path: Path) -> None:
    truth = Truth(tmp_path)
    assert len(truth.open(truth.write([9, 9, 9, 9, 9], name="other"))) == 5
    assert len(truth.open(truth.write(["a", "b", "c", "d", "e"]))) == 5
    with pytest.raises(hr.InvalidArgumentError, match="zenith has 4 rows for 5 samples"):
        truth.open(truth.write([3, 5, 8, 1]))


def test_targets_in_a_group_of_the_same_files_are_compared(tmp_path: Path) -> None:
    path = _files(tmp_path, [3, 3, 5])
    for keys, fine in (([3, 5], True), ([5, 3], False)):
        with h5py.File(tmp_path / "rows_0.h5", "a") as file:
            for name in ("truth/key", "truth/zenith"):
                if name in file:
                    del file[name]
            file["truth/key"], file["truth/zenith"] = keys, [0.0, 1.0]
        if fine:
            assert len(hr.open(path, ["x"], sample_by="key", targets={"zenith": "truth/zenith"})) == 2
        else:
            with pytest.raises(hr.InvalidArgumentError, match="sample 0 has the key 3"):
                hr.open(path, ["x"], sample_by="key", targets={"zenith": "truth/zenith"})


def test_many_targets_are_compared_to_the_last(tmp_path: Path) -> None:
    """The table is read in parts; the last row of the last part counts."""
    count = 150_000
    with h5py.File(tmp_path / "rows_0.h5", "w") as file:
        file["key"] = np.repeat(np.arange(count), 2)
        file["x"] = np.zeros(2 * count, "i1")
    truth = Truth.__new__(Truth)
    truth.folder, truth.files = tmp_path, str(tmp_path / "rows_0.h5")
    assert len(truth.open(truth.write(list(range(count))))) == count
    with pytest.raises(hr.InvalidArgumentError, match="sample 149,999 has the key 149999"):
        truth.open(truth.write([*range(count - 1), 7]))
