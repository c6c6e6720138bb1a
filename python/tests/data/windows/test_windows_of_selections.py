"""Windows of selected rows, of documents and of events: none reaches out of them, so no part of a split leaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from window_files import KINDS, ROWS, SHAPES, TOKENS, write_corpus

import headrace as hr
from headrace import transforms as T

ALL = np.concatenate(TOKENS)
FILES = np.cumsum([0, *ROWS])
SHAPE_OF = [shape for shape in SHAPES if not shape.get("across_files")]


def runs_of(rows: np.ndarray[Any, Any], cuts: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """First row and end of each run of consecutive rows, cut at ``cuts``."""
    breaks = np.flatnonzero((np.diff(rows) != 1) | np.isin(rows[1:], cuts)) + 1
    return [(int(run[0]), int(run[-1]) + 1) for run in np.split(rows, breaks) if len(run)]


def windows_in(runs: list[tuple[int, int]], shape: dict[str, Any]) -> np.ndarray[Any, Any]:
    rows, stride = shape["length"] + shape.get("lookahead", 0), shape.get("stride", shape["length"])
    return np.array([ALL[b : b + rows] for first, end in runs for b in range(first, end - rows + 1, stride)])


def delivered(data: hr.Dataset, **options: Any) -> np.ndarray[Any, Any]:
    with hr.Loader(data, 8, **options) as loader:
        return np.concatenate([np.array(batch["corpus"]) for batch in loader])


def in_one_order(windows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return windows[np.lexsort(windows.T[::-1])]


SELECTIONS: dict[str, np.ndarray[Any, Any]] = {
    "one run": np.arange(100, 1250),
    "over files": np.arange(500, 2000),
    "gaps": np.r_[3:90, 91:700, 1290:1345, 1500:2248],
    "random": np.flatnonzero(np.random.default_rng(2).random(len(ALL)) < 0.98),
}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_windows_of_selected_rows(tmp_path: Path, kind: str, selection: str) -> None:
    rows = SELECTIONS[selection]
    data = hr.open(write_corpus(tmp_path, kind)).select(rows)
    for shape in SHAPE_OF:
        want = windows_in(runs_of(rows, FILES), shape)
        if len(want) == 0:
            with pytest.raises(hr.InvalidArgumentError, match=r"longer than all runs of selected rows; the longest"):
                data.windows(**shape)
            continue
        made = data.windows(**shape)
        assert len(made) == len(want)
        np.testing.assert_array_equal(made[:]["corpus"], want)
        for options in ({"shuffle": False}, {"shuffle": True}, {"shuffle": "exact", "cache": "ram"}):
            got = delivered(made, seed=1, **options)
            np.testing.assert_array_equal(in_one_order(got), in_one_order(want))


def test_runs_go_on_across_files(tmp_path: Path) -> None:
    rows = SELECTIONS["gaps"]
    data = hr.open(write_corpus(tmp_path, "gzip")).select(rows).windows(40, stride=3, across_files=True)
    np.testing.assert_array_equal(
        data[:]["corpus"], windows_in(runs_of(rows, np.array([], int)), {"length": 40, "stride": 3})
    )


def test_parts_of_a_split_share_no_row(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(5000))
    data = hr.open(tmp_path / "t.npy")
    parts = data.split({"train": 0.7, "val": 0.3}, by="run", seed=3)
    rows = [set(np.unique(part.windows(16, stride=5)[:]["t"])) for part in parts.values()]
    assert not rows[0] & rows[1]
    assert len(rows[0] | rows[1]) > 4000


def test_where_windows_come_from(tmp_path: Path) -> None:
    rows = SELECTIONS["gaps"]
    data = hr.open(write_corpus(tmp_path, "gzip")).select(rows).windows(32)
    with hr.Loader(data, 8, shuffle=True, provenance=True) as loader:
        for batch in loader:
            for window, (file, row) in zip(batch["corpus"], batch["_rows"], strict=True):
                np.testing.assert_array_equal(window, TOKENS[file][row : row + 32])


@pytest.fixture
def documents(tmp_path: Path) -> tuple[hr.Dataset, list[np.ndarray[Any, Any]]]:
    """Write events of different length, of two files, by offsets."""
    random = np.random.default_rng(8)
    held = []
    for number in range(2):
        lengths = random.integers(0, 90, 50)
        offsets = np.r_[0, np.cumsum(lengths)]
        values = random.integers(0, 9999, offsets[-1])
        np.savez(tmp_path / f"e_{number}.npz", corpus=values, offsets=offsets)
        held += np.split(values, offsets[1:-1])
    data = hr.open(tmp_path / "e_*.npz", ["corpus"], sample_by=hr.Spans(offsets="offsets"))
    return data, held


def test_windows_of_events(documents: tuple[hr.Dataset, list[np.ndarray[Any, Any]]]) -> None:
    data, held = documents
    for part, numbers in ((data, range(100)), (data.select(range(1, 100, 2)), range(1, 100, 2))):
        want = np.array([held[n][b : b + 20] for n in numbers for b in range(0, len(held[n]) - 19, 7)])
        with pytest.warns(UserWarning, match="have fewer rows than a window"):
            made = part.windows(20, stride=7)
        np.testing.assert_array_equal(made[:]["corpus"], want)
        got = delivered(made, shuffle=True, seed=2)
        np.testing.assert_array_equal(in_one_order(got), in_one_order(want))


def test_split_by_event_then_windows_do_not_leak(documents: tuple[hr.Dataset, list[np.ndarray[Any, Any]]]) -> None:
    data, held = documents
    parts = data.split({"train": 0.5, "val": 0.5}, seed=4)
    with pytest.warns(UserWarning, match="fewer rows"):
        made = [part.windows(20, stride=1) for part in parts.values()]
    windows = [{tuple(w) for w in part[:]["corpus"]} for part in made]
    assert not windows[0] & windows[1]
    assert len(windows[0] | windows[1]) == sum(max(len(event) - 19, 0) for event in held)


def test_selections_are_mixed(tmp_path: Path) -> None:
    data = hr.open(write_corpus(tmp_path, "gzip"))
    a, b = data.select(range(100, 900)).windows(16), data.windows(16)
    mixed = hr.mix({"a": a, "b": b})
    want = {tuple(w) for w in np.concatenate([a[:]["corpus"], b[:]["corpus"]])}
    with hr.Loader(mixed, 8, seed=1) as loader:
        for batch in loader:
            assert {tuple(w) for w in batch["corpus"]} <= want


def test_what_windows_are_not_made_of(documents: tuple[hr.Dataset, list[np.ndarray[Any, Any]]]) -> None:
    data, _ = documents
    with pytest.raises(hr.InvalidArgumentError, match="one of them alone"):
        data.windows(8, across_files=True)
    with pytest.raises(hr.UnsupportedError, match=r"windows\(\) of windows"):
        data.windows(8, stride=2).windows(4)
    with pytest.raises(hr.UnsupportedError, match="shortened"):
        data.map(T.Truncate(10)).windows(4)


def test_a_state_is_of_windows_of_the_same_selection(tmp_path: Path) -> None:
    rows = hr.open(write_corpus(tmp_path, "hdf5"))
    one, same, other = (rows.select(np.arange(a, a + 1000)).windows(16) for a in (100, 100, 101))
    with hr.Loader(one, 8) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with hr.Loader(same, 8) as loader:
        loader.load_state_dict(state)
    with hr.Loader(other, 8) as loader, pytest.raises(hr.InvalidArgumentError, match="does not fit"):
        loader.load_state_dict(state)
