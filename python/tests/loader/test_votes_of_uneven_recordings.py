"""Votes of votes where recordings differ in how many segments they have, against a plain loop over the raw files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

#: (recordings, long, short) of four files; the third and fourth disagree with their neighbours in other axes.
SHAPES = ((3, 4, 3), (2, 7, 3), (1, 2, 5), (4, 4, 1))
CLASSES = 4
NESTED = ["short", "long", "file"]


def write(folder: Path, shapes: tuple[tuple[int, ...], ...] = SHAPES) -> str:
    """Write files whose samples hold scores of classes, with ties; return their pattern."""
    rng = np.random.default_rng(7)
    for number, shape in enumerate(shapes):
        with h5py.File(folder / f"mel_{number}.h5", "w") as file:
            x = rng.integers(0, 9, (*shape, CLASSES)).astype(np.float32)
            file.create_dataset("mel", data=x, chunks=(1, *shape[1:], CLASSES), compression="gzip")
    return str(folder / "mel_*.h5")


@pytest.fixture(scope="module")
def mel(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("uneven"))


def raw(pattern: str) -> list[np.ndarray]:
    folder, arrays = Path(pattern).parent, []
    for path in sorted(folder.glob("mel_*.h5")):
        with h5py.File(path) as file:
            arrays.append(file["mel"][:])
    return arrays


def most(votes: list[int]) -> int:
    return int(np.bincount(votes, minlength=CLASSES).argmax()) if votes else -1


def reduced(recordings: list[np.ndarray]) -> dict[str, dict[str, list[Any]]]:
    """Reduce recordings of shape (long, short, classes) level by level, in loops."""
    out: dict[str, dict[str, list[Any]]] = {name: {"vote": [], "mean": [], "count": []} for name in NESTED}

    def put(level: str, votes: list[int], means: list[np.ndarray]) -> tuple[int, np.ndarray]:
        one = (most(votes), np.mean(means, axis=0))
        for name, value in zip(("vote", "mean", "count"), (*one, len(votes)), strict=True):
            out[level][name].append(value)
        return one

    for recording in recordings:
        longs = []
        for long in recording:
            shorts = [put("short", [int(row.argmax())], [row.astype(np.float64)]) for row in long]
            longs.append(put("long", [vote for vote, _ in shorts], [mean for _, mean in shorts]))
        put("file", [vote for vote, _ in longs], [mean for _, mean in longs])
    return out


def assert_results(got: dict[str, dict[str, Any]], want: dict[str, dict[str, list[Any]]]) -> None:
    assert list(got) == list(want)
    for level, expected in want.items():
        assert np.asarray(got[level]["vote"]).tolist() == expected["vote"], level
        assert np.asarray(got[level]["count"]).tolist() == expected["count"], level
        np.testing.assert_allclose(np.asarray(got[level]["mean"]), np.stack(expected["mean"]), rtol=0, atol=1e-12)
        assert np.asarray(got[level]["mean"]).dtype == np.float64
        assert np.asarray(got[level]["vote"]).dtype == np.asarray(got[level]["count"]).dtype == np.int64


def added(reducer: hr.GroupReducer, loader: Any) -> dict[str, dict[str, Any]]:
    for batch in loader:
        reducer.add(batch, batch["mel"])
    return reducer.result()


WORDS = [
    {"group_by": 0, "max_groups": 2, "provenance": True},
    {"group_by": 0, "shuffle": True, "seed": 3, "max_groups": 3, "provenance": True},
    {"group_by": 1, "shuffle": True, "max_items": 4, "provenance": True},
    {"group_by": 2, "max_items": 7},  # the finest level: _group says it all
    {"batch_size": 10, "shuffle": True, "provenance": True},
    {"batch_size": 10, "provenance": True, "tail": "pad"},
]


@pytest.mark.parametrize("framework", ["numpy", "torch"])
@pytest.mark.parametrize("words", WORDS, ids=str)
def test_files_may_differ_in_every_axis(mel: str, words: dict[str, Any], framework: str) -> None:
    if framework == "torch":
        pytest.importorskip("torch")
    data = hr.open(mel, fields={"mel": "mel"}, sample_axes=3)
    loader = hr.Loader(data, framework=framework, **words)
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean"], nested=NESTED)
    recordings = [recording for array in raw(mel) for recording in array]
    longs = [len(recording) for recording in recordings]
    shorts = [len(long) for recording in recordings for long in recording]
    assert list(reducer.sizes) == NESTED
    assert reducer.sizes["file"] == len(recordings) == 10
    assert reducer.sizes["long"].tolist() == longs == [4, 4, 4, 7, 7, 2, 4, 4, 4, 4]
    assert reducer.sizes["short"].tolist() == shorts
    assert reducer.sizes["short"].dtype == reducer.sizes["long"].dtype == np.int64
    assert reducer.num_groups == sum(shorts) == 104
    assert reducer.parents("long").tolist() == [i for i, n in enumerate(longs) for _ in range(n)]
    assert reducer.parents("short").tolist() == [i for i, n in enumerate(shorts) for _ in range(n)]
    assert reducer.parents("long").dtype == np.int64
    assert repr(reducer) == "<headrace.GroupReducer: vote, mean of 10 file, 2 to 7 long, 1 to 5 short>"
    want = reduced(recordings)
    got = added(reducer, loader)
    assert_results(got, want)
    assert framework == "numpy" or hasattr(got["long"]["vote"], "numpy")
    of_one = np.asarray(got["long"]["vote"])[reducer.parents("long") == 3]
    assert most(of_one.tolist()) == want["file"]["vote"][3]
    again = pickle.loads(pickle.dumps(reducer)).result()
    assert np.asarray(again["file"]["mean"]).tobytes() == np.asarray(got["file"]["mean"]).tobytes()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("chosen", [False, True])
def test_groups_along_an_axis_are_counted_through_uneven_files(mel: str, axis: int, chosen: bool) -> None:
    data, rows = hr.open(mel, fields={"mel": "mel"}, sample_axes=3), np.arange(104)
    if chosen:
        rows = np.flatnonzero(np.random.default_rng(1).random(104) < 0.5)
    places = [(f, *place) for f, shape in enumerate(SHAPES) for place in np.ndindex(*shape)]
    number: dict[tuple[int, ...], int] = {}
    want = [number.setdefault(place[: axis + 2], len(number)) for place in places]
    loader = hr.Loader(data.select(rows) if chosen else data, group_by=axis, max_items=17)
    assert loader.num_groups == len(number)
    assert np.concatenate([batch["_group"] for batch in loader]).tolist() == np.array(want)[rows].tolist()
    counts = np.bincount(np.array(want)[rows], minlength=len(number)).tolist()
    alone = added(hr.GroupReducer(loader, reduce="vote"), loader)[f"axis {axis}"]
    assert alone["count"].tolist() == counts
    placed = hr.Loader(loader.dataset, group_by=axis, provenance=True)  # the level is that axis, not the first
    assert added(hr.GroupReducer(placed, reduce="vote"), placed)[f"axis {axis}"]["count"].tolist() == counts


def test_levels_in_which_files_agree_have_one_number(tmp_path: Path) -> None:
    pattern = write(tmp_path, ((5, 7, 3), (2, 4, 3)))
    data = hr.open(pattern, fields={"mel": "mel"}, sample_axes=3)
    loader = hr.Loader(data, 11, shuffle=True, provenance=True)
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean"], nested=NESTED)
    assert (reducer.sizes["file"], reducer.sizes["short"]) == (7, 3)
    assert reducer.sizes["long"].tolist() == [7] * 5 + [4] * 2
    with pytest.raises(ValueError, match="read-only"):
        reducer.sizes["long"][0] = 3
    assert_results(added(reducer, loader), reduced([recording for array in raw(pattern) for recording in array]))
    two = hr.GroupReducer(loader, reduce="vote", nested=["long", "file"])  # the short ones vote directly
    rows = [[int(v) for v in recording.argmax(-1).ravel()] for array in raw(pattern) for recording in array]
    long_votes = [[most(votes[i : i + 3]) for i in range(0, len(votes), 3)] for votes in rows]
    got = added(two, loader)
    assert got["long"]["vote"].tolist() == [vote for votes in long_votes for vote in votes]
    assert got["file"]["vote"].tolist() == [most(votes) for votes in long_votes]


def test_recordings_of_which_nothing_was_chosen_have_no_vote(mel: str) -> None:
    data = hr.open(mel, fields={"mel": "mel"}, sample_axes=3)
    place = data.sample_index()
    held = (place[:, 0] != 3) & (place[:, 1] != 1)
    loader = hr.Loader(data.select(held), 9, shuffle=True, provenance=True)
    got = added(hr.GroupReducer(loader, reduce="vote", nested=NESTED), loader)
    recordings = [recording for array in raw(mel) for recording in array]
    want = [most([most(long.argmax(-1).tolist()) for i, long in enumerate(r) if i != 1]) for r in recordings]
    want[3] = -1
    assert got["file"]["vote"].tolist() == want
    assert got["file"]["count"].tolist() == [0 if i == 3 else len(r) - 1 for i, r in enumerate(recordings)]
    assert len(got["short"]["vote"]) == 104  # all, selected or not


@pytest.mark.filterwarnings("ignore:group_by=.file. makes a group of each file")
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("even", [False, True])
def test_files_are_recordings_of_segments(tmp_path: Path, shuffle: bool, even: bool) -> None:
    """Each file is one recording: its axes are the levels below it."""
    shapes = ((4, 3), (4, 3), (4, 3)) if even else ((4, 3), (7, 3), (2, 5))
    pattern = write(tmp_path, shapes)
    data = hr.open(pattern, fields={"mel": "mel"}, sample_axes=2)
    loader = hr.Loader(data, group_by="file", shuffle=shuffle, provenance=True, max_items=8)
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean"], nested=NESTED)
    if even:
        assert reducer.sizes == {"short": 3, "long": 4, "file": 3}
    else:
        assert reducer.sizes["long"].tolist() == [4, 7, 2]
        assert reducer.sizes["short"].tolist() == [3] * 11 + [5] * 2
    assert_results(added(reducer, loader), reduced(raw(pattern)))
    alone = hr.GroupReducer(loader, reduce="vote")  # one level: all rows of a file vote
    rows = [array.argmax(-1).ravel().tolist() for array in raw(pattern)]
    assert added(alone, loader)["file"]["vote"].tolist() == [most(votes) for votes in rows]
    with pytest.raises(hr.InvalidArgumentError, match=r"4 levels.*2 axes in their files.*sizes= and ids="):
        hr.GroupReducer(loader, nested=["parts", *NESTED])
    plain = hr.Loader(data, group_by="file")
    with pytest.raises(hr.InvalidArgumentError, match=r"groups are files.*file, long, short.*provenance=True"):
        hr.GroupReducer(plain, nested=NESTED)
    with pytest.raises(hr.InvalidArgumentError, match=r"no field _rows.*provenance=True"):
        reducer.add(next(iter(plain)), np.zeros((12, CLASSES)))


def test_a_file_without_recordings_has_no_say_in_sizes(tmp_path: Path) -> None:
    pattern = write(tmp_path, ((2, 4, 3), (1, 4, 3)))
    with h5py.File(tmp_path / "mel_1_none.h5", "w") as file:
        file["mel"] = np.zeros((0, 9, 2, CLASSES), np.float32)
    data = hr.open(pattern, fields={"mel": "mel"}, sample_axes=3)
    loader = hr.Loader(data, 5, provenance=True)
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean"], nested=NESTED)
    assert reducer.sizes == {"short": 3, "long": 4, "file": 3}
    assert_results(added(reducer, loader), reduced([recording for array in raw(pattern) for recording in array]))


def test_a_plain_loader_is_told_what_its_batches_lack(mel: str) -> None:
    data = hr.open(mel, fields={"mel": "mel"}, sample_axes=3)
    plain = hr.Loader(data, 5)
    with pytest.raises(hr.InvalidArgumentError, match=r"file, long, short. Make.*provenance=True, or .*group_by=2"):
        hr.GroupReducer(plain, nested=NESTED)
    with pytest.raises(hr.InvalidArgumentError, match=r"provenance=True, or with group_by=0"):
        hr.GroupReducer(plain)
    reducer = hr.GroupReducer(hr.Loader(data, group_by=0, provenance=True), nested=NESTED)
    for batch in (next(iter(plain)), next(iter(hr.Loader(data, group_by=0)))):  # its _group is of whole recordings
        with pytest.raises(hr.InvalidArgumentError, match=r"no field _rows.*file, long, short.*provenance=True"):
            reducer.add(batch, batch["mel"])
