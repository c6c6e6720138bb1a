"""Whole recordings of samples that lie along several axes: groups along the first ones, and their votes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

SHAPES = ((5, 4, 3), (2, 4, 3))  # (recordings, long, short) of two files


@pytest.fixture(scope="module")
def mel(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder, first = tmp_path_factory.mktemp("mel"), 0
    for number, shape in enumerate(SHAPES):
        samples = int(np.prod(shape))
        with h5py.File(folder / f"mel_{number}.h5", "w") as file:
            x = np.arange(first, first + samples, dtype=np.float32).reshape(*shape, 1)
            file.create_dataset("mel", data=x, chunks=(2, 3, 2, 1), compression="gzip")
        first += samples
    return str(folder / "mel_*.h5")


def opened(mel: str) -> hr.Dataset:
    return hr.open(mel, fields={"mel": "mel"}, sample_axes=3)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("chosen", [False, True])
def test_groups_are_places_along_the_first_axes(mel: str, axis: int, chosen: bool) -> None:
    data = opened(mel)
    if chosen:  # of one recording nothing is left
        data = data.select(np.flatnonzero(np.arange(84) // 12 != 3)[::2])
    places = data.sample_index()
    sizes = (7, 4, 3)[: axis + 1]
    want = np.ravel_multi_index(tuple(places[:, : axis + 1].T), sizes)
    loader = hr.Loader(data, group_by=axis, max_items=17)
    assert loader.group_by == axis
    assert loader.num_groups == np.prod(sizes)
    batches = list(loader)
    assert np.concatenate([batch["_group"] for batch in batches]).tolist() == want.tolist()
    for batch in batches:
        starts = batch["_group.offsets"][:-1]
        assert len(np.unique(batch["_group"])) == len(starts)
        assert batch["_group"][starts].tolist() == np.unique(batch["_group"]).tolist()
    if axis == 0 and not chosen:  # whole recordings, of 12 samples
        assert [len(batch["mel"]) for batch in batches] == [12] * 7


def expected(scores: np.ndarray, places: np.ndarray) -> dict[str, np.ndarray]:
    """Votes of short segments, of those for long ones, of those for recordings; a loop."""
    votes: dict[tuple[int, ...], int] = {
        tuple(place): int(row.argmax()) for place, row in zip(places, scores, strict=True)
    }
    out = {}
    for level, axes in (("short", 3), ("long", 2), ("file", 1)):
        outer: dict[tuple[int, ...], list[int]] = {}
        for place, vote in votes.items():
            outer.setdefault(place[:axes], []).append(vote)
        votes = {place: int(np.bincount(v, minlength=scores.shape[1]).argmax()) for place, v in sorted(outer.items())}
        out[level] = np.array(list(votes.values()))
    return out


@pytest.mark.parametrize(
    "words",
    [
        {"group_by": 0, "provenance": True},
        {"group_by": 2},
        {"group_by": 0, "max_groups": 2, "provenance": True, "shuffle": True},
        {"batch_size": 10, "provenance": True, "tail": "pad"},
    ],
    ids=str,
)
def test_sizes_and_places_come_from_the_loader(mel: str, words: dict[str, Any]) -> None:
    data = opened(mel)
    scores = np.random.default_rng(2).random((84, 4))
    want = expected(scores, data.sample_index())
    loader = hr.Loader(data, **words)
    reducer = hr.GroupReducer(loader, reduce="vote", nested=["short", "long", "file"])
    assert reducer.sizes == {"file": 7, "long": 4, "short": 3}
    for batch in loader:
        reducer.add(batch, scores[batch["mel"][:, 0].astype(int)])
    for level, found in reducer.result().items():
        assert found["vote"].tolist() == want[level].tolist(), level
        assert set(found["count"]) == ({1} if level == "short" else {3} if level == "long" else {4})


def test_rows_that_vote_directly_need_no_places(mel: str) -> None:
    data = opened(mel)
    reducer = hr.GroupReducer(hr.Loader(data, group_by=0), reduce="mean")
    for batch in hr.Loader(data, group_by=0, max_groups=3):
        reducer.add(batch, batch["mel"][:, 0].astype(np.float64))
    assert reducer.result()["axis 0"]["mean"].tolist() == np.arange(84).reshape(7, 12).mean(1).tolist()


def test_ranks_share_the_recordings(mel: str) -> None:
    data = opened(mel)
    reducer = hr.GroupReducer(hr.Loader(data, group_by=0, provenance=True), reduce="mean", nested=["long", "file"])
    for rank in range(3):  # 7 batches: two of the ranks repeat a sample at the end
        for batch in hr.Loader(data, group_by=0, max_groups=1, rank=rank, world_size=3, provenance=True):
            reducer.add(batch, batch["mel"][:, 0].astype(np.float64))
    assert reducer.result()["long"]["count"].tolist() == [3] * 28


def test_what_the_batches_do_not_say_is_asked_for(mel: str) -> None:
    data = opened(mel)
    with pytest.raises(hr.InvalidArgumentError, match="provenance=True"):
        hr.GroupReducer(hr.Loader(data, group_by=0), nested=["long", "file"])
    with pytest.raises(hr.InvalidArgumentError, match="4 levels are named, and samples lie along 3 axes"):
        hr.GroupReducer(hr.Loader(data, group_by=0, provenance=True), nested=["a", "b", "c", "d"])
    with pytest.raises(hr.InvalidArgumentError, match=r"group_by=3: samples lie along 3 axes.*0 to 2"):
        hr.Loader(data, group_by=3)
    with pytest.raises(hr.InvalidArgumentError, match="not of whole groups"):
        hr.GroupReducer(hr.Loader(data, 5), nested=["long", "file"])


def test_a_file_of_many_recordings_is_one_group_and_says_so(mel: str) -> None:
    with pytest.warns(hr.HeadraceWarning, match="group_by=0"):
        assert hr.Loader(opened(mel), group_by="file").num_groups == 2


def test_a_run_file_groups_by_an_axis(mel: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: '{mel}', fields: {{mel: mel}}, sample_axes: 3}}\nloader: {{group_by: 0, max_groups: 2}}\n"
    )
    loader = hr.load_run(tmp_path / "run.yaml")
    assert loader.group_by == 0
    assert [len(batch["mel"]) for batch in loader] == [24, 24, 24, 12]


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("chosen", [False, True])
def test_a_split_keeps_recordings_whole(mel: str, axis: int, chosen: bool) -> None:
    data = opened(mel)
    if chosen:
        data = data.select(np.flatnonzero(np.arange(84) // 12 != 3)[::2])
    places = data.sample_index()
    group = np.ravel_multi_index(tuple(places[:, : axis + 1].T), (7, 4, 3)[: axis + 1])
    whole = set()
    for seed in range(4):
        parts = data.split({"train": 0.6, "val": 0.4}, by=axis, seed=seed)
        of_part = {name: set(group[np.isin(data.selected_rows, part.selected_rows)]) for name, part in parts.items()}
        assert not of_part["train"] & of_part["val"]
        assert sum(map(len, parts.values())) == len(data)
        whole.add(tuple(sorted(of_part["val"])))
        again = pickle.loads(pickle.dumps(parts["val"]))
        assert again.selected_rows.tolist() == parts["val"].selected_rows.tolist()
    assert len(whole) > 1  # another seed, another split


def test_a_split_keeps_equal_values_together(tmp_path: Path) -> None:
    """Wherever they lie: in other files, and not side by side; numbers and text."""
    rng, people = np.random.default_rng(3), 40
    for number in range(3):
        with h5py.File(tmp_path / f"f{number}.h5", "w") as file:
            who = rng.integers(0, people, 500)
            file["x"] = rng.normal(size=500)
            file["patient"] = who.astype(np.int32)
            file["name"] = np.array([f"p{w}" for w in who], "S4")
    data = hr.open(tmp_path / "f*.h5")
    patients = data[:]["patient"]
    for by in ("patient", "name"):
        parts = data.split({"a": 0.5, "b": 0.3, "c": 0.1}, by=by, seed=1)
        seen = [set(patients[part.selected_rows].tolist()) for part in parts.values()]
        assert not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]
        assert [round(len(part) / len(data), 1) for part in parts.values()] == [0.5, 0.3, 0.1]
    with pytest.raises(hr.FieldMissingError, match="'row', 'file', 'run', the number of an axis"):
        data.split({"a": 0.5}, by="nothing")
    with h5py.File(tmp_path / "runs.h5", "w") as file:
        file["x"], file["run"] = np.arange(40.0), np.arange(40) % 4
    with pytest.raises(hr.InvalidArgumentError, match="a way to split, and there is a field 'run'"):
        hr.open(tmp_path / "runs.h5").split({"a": 0.5, "b": 0.5}, by="run")
    runs = hr.open(tmp_path / "runs.h5", {"x": "x", "run_number": "run"})
    parts = runs.split({"a": 0.5, "b": 0.5}, by="run_number")
    assert not set(parts["a"][:]["run_number"].tolist()) & set(parts["b"][:]["run_number"].tolist())
    for words, error in (
        ({"by": 1}, hr.InvalidArgumentError),
        ({"by": "patient", "stratify": "patient"}, hr.InvalidArgumentError),
        ({"by": -1}, hr.InvalidArgumentError),
    ):
        with pytest.raises(error):
            data.split({"a": 0.5, "b": 0.5}, **words)
    with pytest.raises(hr.InvalidArgumentError, match="overlap"):
        hr.open(tmp_path / "f*.h5", ["x"]).windows(8, stride=4).split({"a": 0.5}, by="x")


def test_a_split_in_a_run_file_keeps_recordings_whole(mel: str, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: '{mel}', fields: [mel], sample_axes: 3, "
        "split: {parts: {train: 0.6, val: 0.4}, take: val, by: 0, seed: 2}}\nloader: {batch_size: 5}\n"
    )
    want = opened(mel).split({"train": 0.6, "val": 0.4}, by=0, seed=2)["val"]
    with hr.load_run(tmp_path / "run.yaml") as loader:
        assert loader.dataset.selected_rows.tolist() == want.selected_rows.tolist()
