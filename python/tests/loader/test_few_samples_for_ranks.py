"""Every rank has a sample in every step: the mean loss of none is NaN, and an all-reduce spreads it."""

from __future__ import annotations

import warnings
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr


def _write(path: Path, rows: int) -> Path:
    with h5py.File(path, "w") as f:
        f["x"], f["id"], f["run"] = np.random.default_rng(rows).random((rows, 3)), np.arange(rows), np.arange(rows) // 4
    return path


def _epoch(path: Path, world: int, **words) -> list[list[dict[str, np.ndarray]]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        return [
            [{k: np.array(v) for k, v in b.items()} for b in hr.Loader(path, rank=r, world_size=world, **words)]
            for r in range(world)
        ]


@pytest.mark.parametrize("rows, batch, world", [(5, 2, 2), (5, 1, 4), (21, 3, 8), (9, 4, 2), (17, 4, 4)])
def test_a_rank_without_a_sample_gets_one_again_with_weight_0(
    tmp_path: Path, rows: int, batch: int, world: int
) -> None:
    ranks = _epoch(_write(tmp_path / "a.h5", rows), world, batch_size=batch, shuffle=True)
    assert len({len(r) for r in ranks}) == 1
    batches = [b for r in ranks for b in r]
    assert all(len(b["id"]) > 0 for b in batches)
    short = 0 < rows % (batch * world) < world
    assert all(("_weight" in b) == short for b in batches)
    counted = np.concatenate([b["id"][b["_weight"] > 0] if short else b["id"] for b in batches])
    assert sorted(counted) == list(range(rows))


def test_it_is_said_once(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.h5", 5)
    match = "fewer samples than there are ranks"
    with pytest.warns(hr.HeadraceWarning, match=match) as caught, hr.Loader(path, 2, rank=0, world_size=2) as loader:
        for _ in range(3):
            list(loader)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with hr.Loader(path, 2, rank=0, world_size=2, tail="drop") as loader:
            assert all("_weight" not in b for b in loader)


def test_an_epoch_that_goes_on_with_other_ranks_has_weights_where_it_needs_them(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.h5", 21)
    with hr.Loader(path, 1, rank=0, world_size=3) as loader:  # 21 = 7 steps of 3
        iterator = iter(loader)
        next(iterator), next(iterator)
        state = loader.state_dict()
    seen = list(range(6))
    for rank in range(2):  # 15 samples in steps of 2: the last has one
        with hr.Loader(path, 1, rank=rank, world_size=2) as loader:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hr.HeadraceWarning)
                loader.load_state_dict(state)
            batches = [{k: np.array(v) for k, v in b.items()} for b in loader]
            assert len(batches) == 8 and all(len(b["id"]) == 1 for b in batches)
            seen += [int(i) for b in batches for i in b["id"][b["_weight"] > 0]]
    assert sorted(seen) == list(range(21))


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("world, batch", [(3, 1), (3, 7), (5, 2), (4, 2)])
def test_only_the_rest_of_an_epoch_may_need_weights(
    tmp_path: Path, world: int, batch: int, framework: str, live: bool
) -> None:
    """A whole epoch of 30 rows can be divided, or cannot; what is left after 8 of them is another thing."""
    if framework == "torch":
        pytest.importorskip("torch", reason="torch is not installed")
    path = _write(tmp_path / "a.h5", 30)
    words = {"shuffle": True, "seed": 1}
    with hr.Loader(path, 8, **words) as loader:
        seen = next(iter(loader))["id"].tolist()
        state = loader.state_dict()
    weights = 0 < 22 % (world * batch) < world
    for rank in range(world):
        with hr.Loader(path, batch, rank=rank, world_size=world, framework=framework, **words) as loader:
            if live:
                next(iter(loader))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", hr.HeadraceWarning)
                loader.load_state_dict(state)
                batches = [{k: np.array(v) for k, v in b.items()} for b in loader]
            assert all(list(b) == ["id", "run", "x", *["_weight"] * weights] for b in batches)
            for b in batches:
                seen += b["id"][b["_weight"] > 0].tolist() if weights else b["id"].tolist()
    assert sorted(seen) == list(range(30))


def test_groups_likewise(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.h5", 20)
    ranks = _epoch(path, 2, group_by="run", max_items=4)  # five batches for two ranks
    last = ranks[1][-1]
    assert [len(b["id"]) for r in ranks for b in r] == [4, 4, 4, 4, 4, 1]
    assert last["_weight"].tolist() == [0] and last["_group"].tolist() == [-1]
    assert last["_group.offsets"].tolist() == [0, 1]
    assert sorted(i for r in ranks for b in r for i in b["id"][b["_weight"] > 0]) == list(range(20))


def test_a_group_reducer_passes_over_them(tmp_path: Path) -> None:
    path = _write(tmp_path / "a.h5", 20)
    votes = hr.GroupReducer(5)
    for rank in _epoch(path, 2, group_by="run", max_items=4):
        for batch in rank:
            votes.add(batch["_group"], np.stack([batch["id"] % 2 == 0, batch["id"] % 2 == 1], 1).astype("f4"))
    found = votes.result()
    assert next(iter(found.values()))["count"].tolist() == [4] * 5
