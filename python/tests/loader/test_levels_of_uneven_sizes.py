"""GroupReducer of sizes that the caller gives, a number for each group of the next coarser level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace._groups.levels import Levels

LONG = [3, 0, 2, 1]  # of four files, one of which has none
SHORT = [1, 4, 2, 3, 1, 2]  # of the six long ones
SIZES = {"file": 4, "long": LONG, "short": SHORT}
NESTED = ["short", "long", "file"]


def all_ids() -> np.ndarray:
    """Return (file, long, short) of every group, in order, from loops."""
    found, of_all = [], iter(SHORT)
    for file, longs in enumerate(LONG):
        for long in range(longs):
            found += [(file, long, short) for short in range(next(of_all))]
    return np.array(found)


@pytest.mark.parametrize("given", [np.int64, np.uint8, list, "field"])
def test_ids_are_numbered_through_uneven_sizes(given: Any) -> None:
    ids = np.repeat(all_ids(), 2, axis=0)
    scores = np.random.default_rng(5).integers(0, 5, (len(ids), 3)).astype(np.float64)
    order = np.random.default_rng(6).permutation(len(ids))
    sizes = {"file": 4, "long": np.array(LONG, np.uint16), "short": SHORT}
    reducer = hr.GroupReducer(reduce=["vote", "max"], nested=NESTED, sizes=sizes, ids="ids")
    for part in np.array_split(order, 4):
        rows: Any = ids[part]
        rows = {"ids": rows} if given == "field" else rows.tolist() if given is list else rows.astype(given)
        reducer.add(rows, scores[part])
    votes: dict[tuple[int, ...], list[int]] = {}
    for place, row in zip(ids.tolist(), scores, strict=True):
        votes.setdefault(tuple(place), []).append(int(row.argmax()))
    got = reducer.result()
    for depth, level in ((3, "short"), (2, "long"), (1, "file")):
        won = {place: int(np.bincount(cast).argmax()) for place, cast in sorted(votes.items())}
        held = got[level]["count"] > 0
        assert got[level]["vote"][held].tolist() == list(won.values()), level
        assert got[level]["count"][held].tolist() == [len(cast) for _, cast in sorted(votes.items())]
        votes = {}
        for place, vote in won.items():
            votes.setdefault(place[: depth - 1], []).append(vote)
    assert got["file"]["vote"][1] == -1
    assert got["file"]["count"].tolist() == LONG
    assert np.isnan(got["file"]["max"][1]).all()
    assert reducer.parents("long").tolist() == [0, 0, 0, 2, 2, 3]
    assert reducer.parents("short").tolist() == [0, 1, 1, 1, 1, 2, 2, 3, 3, 3, 4, 5, 5]


def test_ids_and_sizes_need_no_groups_of_the_loader(tmp_path: Path) -> None:
    ids = all_ids()
    np.savez(tmp_path / "a.npz", ids=ids, x=np.arange(len(ids)))
    loader = hr.Loader(hr.open(tmp_path / "a.npz"), 4, shuffle=True)
    with pytest.raises(hr.InvalidArgumentError, match=r"not of whole groups.*Give sizes= and ids="):
        hr.GroupReducer(loader, nested=NESTED)
    by_file = hr.Loader(loader.dataset, group_by="file", provenance=True)  # of one axis: nothing says the levels
    with pytest.raises(hr.InvalidArgumentError, match="size of level 'short' is missing"):
        hr.GroupReducer(by_file, nested=NESTED)
    reducer = hr.GroupReducer(loader, reduce="max", nested=NESTED, sizes=SIZES, ids="ids")
    for batch in loader:
        reducer.add(batch, batch["x"].astype(np.float64))
    assert reducer.result()["short"]["max"].tolist() == list(range(13))
    assert reducer.result()["long"]["max"].tolist() == [0, 4, 6, 9, 10, 12]


def test_groups_that_are_not_there_change_nothing() -> None:
    reducer = hr.GroupReducer(reduce="vote", nested=NESTED, sizes=SIZES, num_classes=2)
    for ids, text in (
        ([0, 3, 0], "long 3 is not there; file 0 has 3, counted from 0"),
        ([1, 0, 0], "long 0 is not there; file 1 has 0"),
        ([2, 1, 1], "short 1 is not there; long 4 has 1"),
        ([2, 0, -1], "short -1 is not there; long 3 has 3"),
        ([4, 0, 0], "file 4 is not there; there are 0 to 3"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            reducer.add([[0, 0, 0], ids], np.array([1, 1]))
    with pytest.raises(hr.InvalidArgumentError, match="nothing was added"):
        reducer.result()


def test_a_device_numbers_groups_and_marks_those_that_are_not_there() -> None:
    """The operations that run on a device, run here on the CPU."""
    torch = pytest.importorskip("torch")
    levels = Levels(NESTED, SIZES, None)
    assert levels.numbers(torch.from_numpy(all_ids())).tolist() == list(range(13))
    ids = torch.tensor([[0, 3, 0], [1, 0, 0], [2, 1, 1], [2, 0, -1], [4, 0, 0], [-1, 0, 0], [3, 0, 1]])
    assert levels.numbers(ids).tolist() == [-2] * 6 + [12]
    assert levels.numbers(ids.to("meta")).shape == (7,)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ({"file": 4, "long": [3, 0, 2]}, r"sizes\['long'\] has 3 numbers; there are 4 groups of level 'file'"),
        ({"file": 4, "long": [3, 0, 2, -1]}, "whole numbers of at least 0"),
        ({"file": 4, "long": [3, 0.5, 2, 1]}, "whole numbers of at least 0"),
        ({"file": 4, "long": [[3, 0], [2, 1]]}, "whole numbers of at least 0"),
        ({"file": 4, "long": [[3], [2, 1]]}, "whole numbers of at least 0"),
        ({"file": 4, "long": [0, 0, 0, 0]}, "no groups of level 'long'"),
        ({"file": 2, "long": [2**39, 2**39 + 1]}, "2\\^40"),
        ({"file": [2, 2], "long": 3}, r"sizes\['file'\]"),
        ({"file": 4, "long": 0}, r"sizes\['long'\]"),
    ],
)
def test_sizes_that_contradict_are_refused(sizes: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.GroupReducer(nested=["long", "file"], sizes=sizes)


def test_equal_sizes_are_one_number() -> None:
    reducer = hr.GroupReducer(reduce="vote", nested=["long", "file"], sizes={"file": 3, "long": [2, 2, 2]})
    assert reducer.sizes == {"long": 2, "file": 3}
    assert reducer.parents("long").tolist() == [0, 0, 1, 1, 2, 2]
    assert repr(reducer) == "<headrace.GroupReducer: vote of 3 file, 2 long>"
    with pytest.raises(hr.InvalidArgumentError, match="'file' is the coarsest"):
        reducer.parents("file")
    with pytest.raises(hr.InvalidArgumentError, match="level"):
        reducer.parents("short")
