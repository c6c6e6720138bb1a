"""Loaders of whole groups: files, and runs of rows with an equal number."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

#: Rows of the files; the fourth has none.
ROWS = (40, 7, 1, 0, 130, 33, 64, 2)
EVENTS = np.random.default_rng(5).integers(1, 14, 90)  # rows of each event


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Files whose rows have numbers, an event each, and the file's number."""
    folder, first, paths = tmp_path_factory.mktemp("recordings"), 0, []
    events = np.repeat(np.arange(len(EVENTS)) * 3 % 50, EVENTS)[: sum(ROWS)].astype(np.int32)
    assert len(events) == sum(ROWS)
    for number, rows in enumerate(ROWS):
        path = folder / f"r{number:02}.h5"
        with h5py.File(path, "w") as file:
            part = slice(first, first + rows)
            x = np.arange(first, first + rows, dtype=np.float32)[:, None].repeat(3, 1)
            file.create_dataset("x", data=x, chunks=(16, 3), maxshape=(None, 3), compression="gzip")
            file.create_dataset("event", data=events[part], chunks=(10,), maxshape=(None,))
            file["y"] = np.full(rows, number)
        paths.append(path)
        first += rows
    return paths


def runs_of(values: np.ndarray) -> list[int]:
    """Number of the run of equal values that each is in."""
    return np.concatenate([[0], np.cumsum(values[1:] != values[:-1])]).tolist()


def packed(sizes: list[int], most: int) -> list[int]:
    """Rows of each batch, one group after the other: the rule as a loop over rows of groups."""
    batches, now = [], 0
    for size in sizes:
        if now + size > most and now:
            batches.append(now)
            now = 0
        now += size
        while now > most:
            batches.append(most)
            now -= most
    return [*batches, now] if now else batches


def rows_of(batches: Any) -> list[int]:
    """Those that count: a rank that would have none gets a sample once more, with weight 0."""
    return [
        int(row)
        for batch in batches
        for row, counts in zip(batch["x"][:, 0], batch.get("_weight", np.ones(len(batch["x"]))), strict=True)
        if counts
    ]


@pytest.mark.parametrize("most", [1, 5, 64, 65, 100, 65536])
@pytest.mark.parametrize("by", ["file", "event"])
def test_batches_are_whole_groups_in_order(recordings, by: str, most: int) -> None:
    data = hr.open(recordings)
    loader = hr.Loader(data, group_by=by, max_items=most)
    numbers = data[:]["y"] if by == "file" else None
    event = data[:]["event"].astype(np.int64) + 1000 * data[:]["y"]  # a group ends with its file
    want = numbers if by == "file" else np.array(runs_of(event))
    sizes = [int((want == n).sum()) for n in sorted(set(want.tolist()))]
    batches = list(loader)
    assert [len(batch["x"]) for batch in batches] == packed(sizes, most)
    assert len(loader) == len(batches)
    assert rows_of(batches) == list(range(sum(ROWS)))
    assert np.concatenate([batch["_group"] for batch in batches]).tolist() == want.tolist()
    assert loader.num_groups == (len(ROWS) if by == "file" else want.max() + 1)
    for batch in batches:
        offsets, group = batch["_group.offsets"], batch["_group"]
        assert offsets.dtype == group.dtype == np.int64
        assert offsets[0] == 0
        assert offsets[-1] == len(group)
        assert offsets[1:-1].tolist() == (np.flatnonzero(group[1:] != group[:-1]) + 1).tolist()


@pytest.mark.parametrize(("by", "most"), [("file", 50), ("file", 65536), ("event", 30)])
def test_groups_are_shuffled_whole(recordings, by: str, most: int) -> None:
    data = hr.open(recordings)
    loader = hr.Loader(data, group_by=by, max_items=most, shuffle=True, seed=4)
    epochs = [list(loader) for _ in range(3)]
    orders = []
    for epoch in epochs:
        rows = rows_of(epoch)
        assert sorted(rows) == list(range(sum(ROWS)))
        group = np.concatenate([batch["_group"] for batch in epoch])
        order = group[np.concatenate([[True], group[1:] != group[:-1]])]
        assert len(order) == len(set(order.tolist()))  # each in one piece
        assert all(np.diff(np.array(rows)[group == g]).tolist() == [1] * (sum(group == g) - 1) for g in order)
        sizes = [int((group == g).sum()) for g in order]
        assert [len(batch["x"]) for batch in epoch] == packed(sizes, most)
        orders.append(order.tolist())
    assert orders[0] != orders[1] != orders[2]
    again = hr.Loader(data, group_by=by, max_items=most, shuffle=True, seed=4, threads=1, memory="64MiB", cache="none")
    assert [rows_of(again) for _ in range(3)] == [rows_of(epoch) for epoch in epochs]
    assert rows_of(hr.Loader(data, group_by=by, max_items=most, shuffle=True, seed=5)) != rows_of(epochs[0])


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_part_the_groups(recordings, world: int, shuffle: bool) -> None:
    data = hr.open(recordings)
    words = {"group_by": "file", "max_items": 70, "shuffle": shuffle, "seed": 1}
    whole = [rows_of([batch]) for batch in hr.Loader(data, **words)]
    ranks = [[rows_of([b]) for b in hr.Loader(data, rank=r, world_size=world, **words)] for r in range(world)]
    assert len({len(rank) for rank in ranks}) == 1
    dealt = [batch for step in zip(*ranks, strict=True) for batch in step]
    assert dealt[: len(whole)] == whole
    assert not any(dealt[len(whole) :])  # nothing that counts
    last = list(hr.Loader(data, rank=world - 1, world_size=world, **words))[-1]
    assert len(last["_group.offsets"]) == len(set(last["_group"].tolist())) + 1
    assert len(last["x"]) > 0


@pytest.mark.parametrize("shuffle", [False, True])
def test_resuming_anywhere_is_going_on(recordings, shuffle: bool) -> None:
    data = hr.open(recordings)
    words: dict[str, Any] = {"group_by": "event", "max_items": 40, "shuffle": shuffle}
    whole = hr.Loader(data, **words)
    epochs = [list(whole), list(whole)]
    for stop in range(len(epochs[1])):
        loader = hr.Loader(data, **words)
        loader.set_epoch(1)
        live = iter(loader)
        for _ in range(stop):
            next(live)
        state = loader.state_dict()
        assert len(json.dumps(state)) < 200
        rest = rows_of(epochs[1][stop:])
        other = hr.Loader(data, threads=1, **words)
        other.load_state_dict(state)
        assert rows_of(other) == rest
        assert rows_of(pickle.loads(pickle.dumps(loader))) == rest
        ranks = [hr.Loader(data, rank=rank, world_size=2, **words) for rank in range(2)]
        for rank in ranks:
            rank.load_state_dict(state)
        assert sorted(row for rank in ranks for row in rows_of(rank)) == sorted(rest)
        other = hr.Loader(data, **{**words, "max_items": 57})
        other.load_state_dict(state)
        assert rows_of(other) == rest
        again = whole.batch(1, stop)
        assert again.keys() == epochs[1][stop].keys()
        assert all(np.array_equal(again[name], epochs[1][stop][name]) for name in again)


def test_selections_tensors_and_tuples(recordings) -> None:
    data = hr.open(recordings)
    some = data.select(np.arange(sum(ROWS)) % 3 == 0)
    batches = list(hr.Loader(some, group_by="file", max_items=50))
    assert np.concatenate([b["_group"] for b in batches]).tolist() == some[:]["y"].tolist()
    assert rows_of(batches) == list(range(0, sum(ROWS), 3))
    torch = pytest.importorskip("torch")
    x, event, y, group, offsets = next(
        iter(hr.Loader(data, group_by="file", max_items=50, framework="torch", batch_format="tuple", provenance=False))
    )
    assert group.dtype == offsets.dtype == torch.int64
    assert offsets.tolist() == [0, 40, 47, 48]
    assert len(x) == len(event) == len(y) == len(group) == 48


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"group_by": "file", "batch_size": 5}, "batch_size"),
        ({"group_by": "file", "global_batch_size": 5}, "batch_size"),
        ({"group_by": "file", "sampler": [1]}, "sampler"),
        ({"group_by": "file", "batch_sampler": [[1]]}, "sampler"),
        ({"group_by": "file", "shuffle": "exact"}, "whole groups"),
        ({"group_by": "file", "shuffle": True, "shuffle_buffer": "1MiB"}, "shuffle_buffer"),
        ({"group_by": "file", "drop_last": True}, "tail"),
        ({"group_by": "file", "tail": "pad"}, "tail"),
        ({"group_by": "file", "lookahead": 2}, "lookahead"),
        ({"group_by": "file", "max_items": 0}, "max_items"),
        ({"group_by": "file", "max_items": 2**32}, "max_items"),
        ({"group_by": "", "max_items": 5}, "group_by"),
        ({"group_by": 3}, "one axis, that of the rows"),
        ({"group_by": -1}, "group_by"),
        ({"group_by": True}, "group_by"),
        ({"group_by": "file", "max_groups": 0}, "max_groups"),
        ({"max_items": 5}, "group_by is missing"),
        ({"max_items": 5, "batch_size": 5}, "group_by is missing"),
        ({"group_by": "x"}, "whole number"),
        ({"group_by": "file", "rank": 0, "world_size": 9}, "too few for 9 ranks"),
    ],
)
def test_contradictions_are_refused(recordings, words: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.Loader(hr.open(recordings), **words)


def test_a_field_that_is_not_there_is_named(recordings) -> None:
    with pytest.raises(KeyError, match="evnt"):
        hr.Loader(hr.open(recordings), group_by="evnt")
    with pytest.raises(hr.InvalidArgumentError, match="mixture"):
        hr.Loader(hr.mix({"a": (hr.open(recordings[:2]), 1), "b": (hr.open(recordings[4:]), 1)}), group_by="file")


def test_a_run_file_says_it_too(recordings, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        f"data: {{files: '{recordings[0].parent}/r*.h5'}}\n"
        "loader: {group_by: event, max_items: 40, shuffle: true, seed: 2}\n"
    )
    want = hr.Loader(hr.open(recordings), group_by="event", max_items=40, shuffle=True, seed=2)
    assert rows_of(hr.load_run(run)) == rows_of(want)
    assert "by event, shuffled" in want.explain()


def test_no_batch_has_more_groups_than_it_may(recordings) -> None:
    loader = hr.Loader(hr.open(recordings), group_by="event", max_groups=4)
    batches = list(loader)
    whole = [len(batch["_group.offsets"]) - 1 for batch in batches]
    assert whole[:-1] == [4] * (len(whole) - 1)
    assert rows_of(batches) == list(range(sum(ROWS)))
    assert "and 4 groups" in loader.explain()
    both = list(hr.Loader(hr.open(recordings), group_by="event", max_groups=4, max_items=20))
    assert all(len(batch["x"]) <= 20 and len(batch["_group.offsets"]) <= 5 for batch in both)
    assert rows_of(both) == list(range(sum(ROWS)))
    state = loader.state_dict()
    with pytest.raises(hr.InvalidArgumentError, match="group_by is missing"):
        hr.Loader(hr.open(recordings), max_groups=4)
    other = hr.Loader(hr.open(recordings), group_by="event", max_groups=7)  # limits are no part of the order
    other.load_state_dict(state)


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of events: their hits, a number for each event, and where each begins."""
    folder, rng = tmp_path_factory.mktemp("spans"), np.random.default_rng(2)
    for number in range(3):
        lengths = rng.integers(0, 30, 40 + 7 * number)
        with h5py.File(folder / f"e{number}.h5", "w") as file:
            rows = int(lengths.sum())
            file.create_dataset(
                "t", data=np.arange(rows, dtype="f4") + 10_000 * number, chunks=(64,), compression="gzip"
            )
            file["at"] = np.concatenate([[0], np.cumsum(lengths)])
            file["run"] = np.arange(len(lengths)) // 9 + 100 * number
            file["number"] = np.arange(len(lengths)) + STEP * number
    return str(folder / "e*.h5")


STEP = 100_000  # between the numbers of two files


def samples_of(kind: str, spans: str, tmp_path: Path) -> tuple[hr.Dataset, str]:
    """Samples that are not rows, and a field whose first element numbers the sample, from file * STEP on."""
    if kind == "events":
        return hr.open(spans, ["t"], sample_by=hr.Spans(offsets="at"), targets=["run", "number"]), "number"
    if kind == "windows":
        for number in range(3):
            np.save(tmp_path / f"w{number}.npy", np.arange(500 + 90 * number) + STEP * number)
        data = hr.open(tmp_path / "w*.npy").windows(32, stride=16)
        return data, next(iter(data.fields))
    for number in range(3):
        shape = (16, 16, 8 + 8 * number)
        np.save(tmp_path / f"v{number}.npy", np.arange(np.prod(shape), dtype="i8").reshape(shape) + STEP * number)
    return hr.open_volume(tmp_path / "v*.npy", {"raw": ""}).patches((8, 8, 8), stride=(8, 8, 8)), "raw"


def first_elements(column: np.ndarray) -> list[int]:
    return column.reshape(len(column), -1)[:, 0].tolist()


@pytest.mark.parametrize("options", [{}, {"shuffle": True, "seed": 3}, {"cache": "none"}], ids=str)
@pytest.mark.parametrize("kind", ["events", "windows", "patches"])
def test_groups_of_samples_that_are_no_rows(kind: str, spans: str, tmp_path: Path, options: dict[str, Any]) -> None:
    data, field = samples_of(kind, spans, tmp_path)
    plain = list(hr.Loader(data, 1))
    of_number = {first_elements(batch[field])[0]: batch for batch in plain}
    loader = hr.Loader(data, group_by="file", max_items=9, max_groups=1, **options)
    assert loader.num_groups == 3
    for _ in range(2):
        batches = list(loader)
        numbers = [number for batch in batches for number in first_elements(batch[field])]
        assert sorted(numbers) == sorted(of_number)
        for batch in batches:
            of_batch = first_elements(batch[field])
            assert batch["_group"].tolist() == [number // STEP for number in of_batch]
            assert len(set(batch["_group"].tolist())) == 1 and len(of_batch) <= 9
            for name in data.fields:
                want = np.concatenate([np.asarray(of_number[number][name]) for number in of_batch])
                np.testing.assert_array_equal(batch[name], want)


def test_groups_of_events_by_a_target(spans: str, tmp_path: Path) -> None:
    data, _ = samples_of("events", spans, tmp_path)
    plain = list(hr.Loader(data, 64))
    runs = np.concatenate([batch["run"] for batch in plain])
    loader = hr.Loader(data, group_by="run", max_items=64, shuffle=True, seed=1)
    assert loader.num_groups == len(set(runs.tolist())) == 17
    batches = list(loader)
    numbers = np.concatenate([batch["number"] for batch in batches])
    assert sorted(numbers.tolist()) == sorted(np.concatenate([batch["number"] for batch in plain]).tolist())
    found = {(group, run) for b in batches for group, run in zip(b["_group"].tolist(), b["run"].tolist(), strict=True)}
    assert len(found) == 17


def test_groups_need_numbered_samples(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((16, 16, 16), "u1"))
    drawn = hr.open_volume(tmp_path / "v.npy", {"raw": ""}).patches((4, 4, 4), samples_per_epoch=9)
    with pytest.raises(hr.InvalidArgumentError, match="patches are drawn anew in each epoch"):
        hr.Loader(drawn, group_by="file")
