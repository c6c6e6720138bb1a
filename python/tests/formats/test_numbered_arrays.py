"""Files with arrays for each sample, as robomimic and ManiSkill write them, against h5py."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

FIELDS = {"action": "data/demo_*/actions", "state": "data/demo_*/obs/state"}


def write(path: Path, first: int, count: int, **storage: Any) -> None:
    """Write demonstrations first, first + 1, ...; demo_10 comes behind demo_9, and one is empty."""
    with h5py.File(path, "w") as file:
        for number in range(first, first + count):
            random = np.random.default_rng(number)
            rows = number * 7 % 23
            group = file.create_group(f"data/demo_{number}")
            group.create_dataset("actions", data=random.random((rows, 7)).astype(np.float32), **storage)
            group.create_dataset("obs/state", data=random.integers(0, 255, (rows, 4)).astype(np.uint8))
            group.create_dataset("rewards", data=random.random(rows + 1))
        file["success"] = np.arange(first, first + count) % 2 == 0


@pytest.fixture(scope="module", params=["plain", "gzip"])
def demos(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demos")
    storage: dict[str, Any] = {"compression": "gzip", "chunks": (5, 7), "maxshape": (None, 7)}
    for name, first, count in (("a", 0, 12), ("b", 100, 15)):
        write(folder / f"demos_{name}.hdf5", first, count, **(storage if request.param == "gzip" else {}))
    return folder


def numbers() -> list[int]:
    return [*range(12), *range(100, 115)]


def want(folder: Path) -> list[dict[str, np.ndarray]]:
    found = []
    for name in ("a", "b"):
        with h5py.File(folder / f"demos_{name}.hdf5") as file:
            for number in numbers():
                if (group := file.get(f"data/demo_{number}")) is not None:
                    found.append({"action": group["actions"][:], "state": group["obs/state"][:]})
    return found


def same(got: dict[str, Any], one: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(got[name], one[name]) and got[name].dtype == one[name].dtype for name in one)


def test_a_sample_is_a_group(demos: Path) -> None:
    data, groups = hr.open(demos / "demos_*.hdf5", FIELDS), want(demos)
    assert len(data) == len(groups) == 27
    assert data.lengths().tolist() == [number * 7 % 23 for number in numbers()]
    assert [(Path(file.path).name, file.rows) for file in data.files] == [("demos_a.hdf5", 12), ("demos_b.hdf5", 15)]
    assert data.fields["action"].path == "data/demo_*/actions"
    assert data.fields["action"].ragged
    assert all(same(got, one) for got, one in zip(data, groups, strict=True))
    assert same(data[10], groups[10])
    again = pickle.loads(pickle.dumps(data.select([3, 10, 20])))
    assert [same(got, groups[number]) for got, number in zip(again, (3, 10, 20), strict=True)] == [True] * 3


@pytest.mark.parametrize("threads", [1, 4])
def test_an_epoch_has_each_group_once(demos: Path, threads: int) -> None:
    groups = want(demos)
    data = hr.open(demos / "demos_*.hdf5", FIELDS, targets=["success"])
    with hr.Loader(data, 4, shuffle=True, threads=threads, provenance=True, seed=3) as loader:
        seen: list[int] = []
        for batch in loader:
            at = batch["action.offsets"]
            for i, (file, row) in enumerate(batch["_rows"]):
                number = int(row) + 12 * int(file)
                part = slice(at[i], at[i + 1])
                assert same({"action": batch["action"][part], "state": batch["state"][part]}, groups[number])
                assert batch["success"][i] == (numbers()[number] % 2 == 0)
                seen.append(number)
        assert sorted(seen) == list(range(27))
        assert seen != sorted(seen)
        state = loader.state_dict()
    parts = [hr.Loader(data, 4, shuffle=True, seed=3, rank=rank, world_size=2) for rank in range(2)]
    assert sum(len(batch["success"]) for part in parts for batch in part) == 27
    assert state["epoch"] == 1
    shown = str(hr.replay(parts[0], epoch=0, step=0))
    assert "demos_a.hdf5" in shown or "demos_b.hdf5" in shown


def test_a_newcomer_is_told_how(tmp_path: Path) -> None:
    write(path := tmp_path / "demos.hdf5", 1, 12)
    with h5py.File(path, "a") as file:
        del file["success"]
    with pytest.raises(hr.InvalidArgumentError, match=r"a '\*' stands for their names") as caught:
        hr.open(path)
    (told,) = re.findall(r'fields=({"x": "[^"]*\*[^"]*"})', str(caught.value))
    assert len(hr.open(path, json.loads(told))) == 12


def test_a_group_that_is_not_like_the_others(tmp_path: Path) -> None:
    path = tmp_path / "odd.hdf5"
    write(path, 0, 5)
    with pytest.raises(hr.InvalidArgumentError, match=r"different numbers of rows:\n.*demo_0/actions: 0 rows"):
        hr.open(path, {"a": "data/demo_*/actions", "r": "data/demo_*/rewards"})
    with pytest.raises(hr.InvalidArgumentError, match="'success' has no '\\*' in it"):
        hr.open(path, {"a": "data/demo_*/actions", "s": "success"})
    with pytest.raises(hr.InvalidArgumentError, match="has more than one '\\*' in it"):
        hr.open(path, {"a": "data/*/act*"})
    with pytest.raises(hr.FieldMissingError, match=r"no array is 'data/demo_\*/action'"):
        hr.open(path, {"a": "data/demo_*/action"})
    with pytest.raises(hr.InvalidArgumentError, match="sample_axes"):
        hr.open(path, {"a": "data/demo_*/actions"}, sample_axes=2)
    with h5py.File(path, "a") as file:
        del file["data/demo_3/obs/state"]
    with pytest.raises(
        hr.FieldMissingError, match=r"there is 'data/demo_3/actions', and no 'data/demo_3/obs/state'"
    ) as caught:
        hr.open(path, FIELDS)
    assert caught.value.file == str(path)
    with h5py.File(path, "a") as file:
        file["data/demo_3/obs/state"] = np.zeros((21, 5), np.uint8)
    with pytest.raises(hr.InvalidArgumentError, match=r"data/demo_3/obs/state: the field is uint8 \(5\) here"):
        hr.open(path, FIELDS)
