"""Batches by a budget of rows, against plain loops over h5py: each event once, under the budget, alike on all ranks."""

from __future__ import annotations

import pickle
from contextlib import nullcontext
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:a last step can have:headrace.HeadraceWarning")]

FILES, EVENTS, BUDGET = 2, 75, 400


def lengths_of(file: int) -> np.ndarray:
    """Heavy-tailed; some are empty, the longest has 300 rows."""
    random = np.random.default_rng(file)
    lengths = np.minimum(random.pareto(1.1, EVENTS) * 4, 250).astype(int)
    lengths[5], lengths[::9] = 300 - file, 0
    return lengths


@pytest.fixture(scope="module")
def hits(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hits")
    for number in range(FILES):
        lengths = lengths_of(number)
        with h5py.File(folder / f"hits_{number}.h5", "w") as file:
            rows = np.arange(lengths.sum(), dtype=np.float32) + 10_000 * number
            file.create_dataset("time", data=rows, chunks=(64,), compression="gzip")
            file.create_dataset("xyz", data=np.stack([rows, -rows], 1), chunks=(50, 2), compression="gzip")
            file.create_dataset("label", data=EVENTS * number + np.arange(EVENTS), chunks=(20,))
            file.create_dataset("offsets", data=np.concatenate(([0], np.cumsum(lengths))))
    return str(folder / "hits_*.h5")


def opened(hits: str) -> hr.Dataset:
    return hr.open(hits, ["time", "xyz"], sample_by=hr.Spans(offsets="offsets"), targets={"label": "label"})


def events_of(hits: str) -> dict[int, np.ndarray]:
    """The times of each event, by a loop."""
    events = {}
    for number in range(FILES):
        with h5py.File(hits.replace("*", str(number))) as file:
            offsets = file["offsets"][:]
            for i in range(EVENTS):
                events[int(file["label"][i])] = file["time"][offsets[i] : offsets[i + 1]]
    return events


def checked(batch: dict[str, Any], events: dict[int, np.ndarray], budget: int) -> list[int]:
    """Which events a batch holds, those that only fill it up left out; its rows are compared with the loop's."""
    offsets = batch["time.offsets"]
    assert len(offsets) == len(batch["label"]) + 1
    assert offsets[-1] <= budget or len(batch["label"]) == 1
    for i, label in enumerate(batch["label"]):
        time = batch["time"][offsets[i] : offsets[i + 1]]
        np.testing.assert_array_equal(time, events[int(label)])
        np.testing.assert_array_equal(batch["xyz"][offsets[i] : offsets[i + 1], 1], -time)
    real = batch.get("_weight", np.ones(len(batch["label"]))) > 0
    return [int(label) for label in batch["label"][real]]


def epoch_of(loader: hr.Loader, events: dict[int, np.ndarray], budget: int = BUDGET) -> list[list[int]]:
    return [checked(batch, events, budget) for batch in loader]


@pytest.mark.parametrize("world_size", [1, 2, 4])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_each_event_once_and_equal_steps_on_all_ranks(hits: str, shuffle: Any, world_size: int) -> None:
    data, events = opened(hits), events_of(hits)
    seen: list[list[int]] = [[], []]
    steps = []
    for rank in range(world_size):
        ranks = {"rank": rank, "world_size": world_size}
        with hr.Loader(data, batch=hr.ByTokens(BUDGET), shuffle=shuffle, seed=4, threads=2, **ranks) as loader:
            for epoch in range(2):
                expected = len(loader)
                batches = epoch_of(loader, events)
                assert len(batches) == expected
                assert max(map(len, batches)) <= loader.batch_size
                seen[epoch] += [event for batch in batches for event in batch]
                steps.append((epoch, expected))
    assert len(set(steps)) == 2
    assert [sorted(epoch) for epoch in seen] == [sorted(events)] * 2
    assert (seen[0] == seen[1]) == (shuffle is False)
    if world_size == 1:
        assert (seen[0] == sorted(events)) == (shuffle is False)


def test_in_order_no_step_could_take_one_more(hits: str) -> None:
    """In order the number of steps is that of the greedy loop."""
    lengths = np.concatenate([lengths_of(number) for number in range(FILES)])
    greedy, rows = 1, 0
    for length in lengths:
        greedy, rows = (greedy, rows + length) if rows + length <= BUDGET else (greedy + 1, length)
    assert len(hr.Loader(opened(hits), batch=hr.ByTokens(BUDGET))) == greedy


def test_dealt_steps_are_full_and_alike(hits: str) -> None:
    events, total = events_of(hits), sum(lengths_of(number).sum() for number in range(FILES))
    with hr.Loader(opened(hits), batch=hr.ByTokens(BUDGET), shuffle=True) as loader:
        batches = epoch_of(loader, events)
        assert len(batches) == -(-total // BUDGET)  # not one step more than must be
        empty = [sum(len(events[event]) == 0 for event in batch) for batch in batches]
        assert max(empty) - min(empty) <= max(2, max(map(len, batches)) // 2)
        report, text = loader.report(), loader.explain()
    assert (report.token_budget, report.tokens, report.samples) == (BUDGET, total, len(events))
    assert f"of the budget of {BUDGET} a batch; {len(events) / len(batches):.1f} samples a batch" in str(report)
    assert f"{len(batches)} in epoch 1" in text or f"{len(batches)} in epoch 0" in text
    assert f"up to {BUDGET} rows" in text
    assert f"{len(events) / len(batches):.1f} samples on average" in text


def test_fewer_ranks_get_the_same_steps(hits: str) -> None:
    data, events = opened(hits), events_of(hits)
    batch = hr.ByTokens(BUDGET, lanes=4)
    whole = epoch_of(hr.Loader(data, batch=batch, shuffle=True, seed=1), events, 4 * BUDGET)
    for world_size in (2, 4):
        ranks = [
            epoch_of(
                hr.Loader(data, batch=batch, shuffle=True, seed=1, rank=rank, world_size=world_size),
                events,
                4 * BUDGET // world_size,
            )
            for rank in range(world_size)
        ]
        assert [[event for part in parts for event in part] for parts in zip(*ranks, strict=True)] == whole


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_state_goes_on_at_every_step(hits: str, shuffle: bool) -> None:
    data, events = opened(hits), events_of(hits)

    def made(**words: Any) -> hr.Loader:
        return hr.Loader(data, batch=hr.ByTokens(BUDGET, max_samples=12), shuffle=shuffle, **words)

    whole, batches, states = made(), [], []
    for epoch in range(2):
        states.append(whole.state_dict())
        for number, batch in enumerate(whole):
            batches.append(checked(batch, events, BUDGET))
            assert checked(whole.batch(epoch, number), events, BUDGET) == batches[-1]
            states.append(whole.state_dict())
        states.pop()
    first = len(whole.batch_sampler) if not shuffle else None
    assert first is None or len(batches) == 2 * first
    for step, state in enumerate(states):
        rest = made()
        rest.load_state_dict(state)
        got = epoch_of(rest, events) + (epoch_of(rest, events) if state["epoch"] == 0 else [])
        assert got == batches[step:]
    with pytest.raises(hr.InvalidArgumentError, match="how samples are cut"):
        hr.Loader(data, batch=hr.ByTokens(BUDGET + 1), shuffle=shuffle).load_state_dict(states[3])


def test_other_ranks_go_on_with_the_lanes_of_the_state(hits: str) -> None:
    data, events = opened(hits), events_of(hits)

    def made(**words: Any) -> hr.Loader:
        return hr.Loader(data, batch=hr.ByTokens(BUDGET), shuffle=True, **words)

    first = made(rank=0, world_size=4)
    iterator = iter(first)
    seen = [event for _ in range(2) for event in checked(next(iterator), events, BUDGET)]
    state = first.state_dict()
    for rank in range(1, 4):
        batches = iter(made(rank=rank, world_size=4))
        seen += [event for _ in range(2) for event in checked(next(batches), events, BUDGET)]
    alone = made()
    alone.load_state_dict(state)
    seen += [event for batch in epoch_of(alone, events, 4 * BUDGET) for event in batch]
    assert sorted(seen) == sorted(events)
    with pytest.raises(hr.InvalidArgumentError, match="planned for 4 ranks, and there are 8"):
        made(rank=0, world_size=8).load_state_dict(state)


def test_tails(hits: str) -> None:
    data, events = opened(hits), events_of(hits)
    for tail, total in (("drop", FILES * EVENTS // 4 * 4), ("pad", FILES * EVENTS), ("partial", FILES * EVENTS)):
        sizes = []
        for rank in range(4):
            loader = hr.Loader(data, batch=hr.ByTokens(BUDGET), shuffle=True, rank=rank, world_size=4, tail=tail)
            sizes.append([len(batch) for batch in epoch_of(loader, events)])
            assert ("_weight" in loader.batch(0, 0)) == (tail != "drop")
        assert sum(map(sum, sizes)) == total
        if tail == "drop":
            assert len({tuple(rank) for rank in sizes}) == 1


def test_a_last_step_for_some_ranks_only(tmp_path: Path) -> None:
    """Five events, none of which go together: the last step has one for four ranks."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["x"] = np.arange(50)
    data = hr.open(tmp_path / "x.h5", ["x"], sample_by=hr.Spans(offsets=range(0, 51, 10)))
    seen, weights = [], []
    for rank in range(4):
        with pytest.warns(hr.HeadraceWarning, match="_weight") if rank == 0 else nullcontext():
            loader = hr.Loader(data, batch=hr.ByTokens(15), shuffle=True, rank=rank, world_size=4)
        assert len(loader) == 2
        for batch in loader:
            assert len(batch["x"]) == 10
            seen += list(batch["x"][batch["_weight"].repeat(10) > 0])
            weights += list(batch["_weight"])
    assert sorted(seen) == list(range(50))
    assert sorted(weights) == [0] * 3 + [1] * 5


def test_long_events(hits: str) -> None:
    data, events = opened(hits), events_of(hits)
    long = sorted(event for event, time in events.items() if len(time) > 200)
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.Loader(data, batch=hr.ByTokens(200))
    assert f"{len(long)} of {len(events)} samples are longer than the budget of 200 rows" in str(caught.value)
    first = int(lengths_of(0)[:5].sum())
    assert f"the longest is sample 5, with 300 rows, rows {first} to {first + 299}" in str(caught.value)
    assert str(caught.value.file).endswith("hits_0.h5")
    assert "300" in caught.value.hint
    for shuffle in (False, True):
        loader = hr.Loader(data, batch=hr.ByTokens(200, too_long="alone"), shuffle=shuffle)
        batches = epoch_of(loader, events, 200)
        assert sorted(event for batch in batches for event in batch) == sorted(events)
        assert all([event] in batches for event in long)


def test_odd_data_sets(tmp_path: Path) -> None:
    """One event, all of one length, all empty, fewer than lanes."""
    for name, lengths in {"one": [7], "equal": [5] * 12, "empty": [0] * 6, "few": [3, 0, 9]}.items():
        with h5py.File(tmp_path / f"{name}.h5", "w") as file:
            file["x"] = np.arange(max(sum(lengths), 1), dtype=np.int32)
            offsets = np.concatenate(([0], np.cumsum(lengths)))
        data = hr.open(tmp_path / f"{name}.h5", ["x"], sample_by=hr.Spans(offsets=offsets))
        for shuffle in (False, True):
            for lanes in (1, 2, 8):
                loader = hr.Loader(data, batch=hr.ByTokens(10, lanes=lanes), shuffle=shuffle)
                expected, batches = len(loader), list(loader)
                assert len(batches) == expected
                assert sum(len(batch["x.offsets"]) - 1 for batch in batches) == len(lengths)
                assert sum(len(batch["x"]) for batch in batches) == sum(lengths)
        if name == "equal":
            loader = hr.Loader(data, batch=hr.ByTokens(10))
            assert [len(batch["x"]) for batch in loader] == [10] * 6
    with pytest.raises(hr.InvalidArgumentError, match="3 samples are too few"):
        hr.Loader(data, batch=hr.ByTokens(10), rank=0, world_size=4)


def test_memory_is_planned_by_the_budget(hits: str) -> None:
    data, events = opened(hits), events_of(hits)
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(data, batch=hr.ByTokens(100_000), shuffle=True, memory=10_000)
    assert "a smaller budget of tokens needs less" in caught.value.hint
    loader = hr.Loader(data, batch=hr.ByTokens(BUDGET), shuffle=True, memory="2MiB")
    assert sorted(event for batch in epoch_of(loader, events) for event in batch) == sorted(events)
    assert loader.report().memory.peak_bytes <= 2 << 20


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"batch_size": 8}, "a token budget sets the number of samples"),
        ({"global_batch_size": 8}, "a token budget sets the number of samples"),
        ({"group_by": "label"}, "a token budget sets the number of samples"),
        ({"batch_sampler": [[1, 2], [3]]}, "a token budget sets the number of samples"),
        ({"sampler": [3, 1, 2]}, "a sampler that lists rows is not there yet"),
        ({"sampler": [3, 1, 2], "lookahead": 2}, "gives rows during the epoch"),
        ({"batch": 32768}, r"a budget such as ByTokens\(32768\), .*, not 32768"),
        ({"batch": hr.ByTokens(2**31)}, "tokens must be a whole number from 1 to 2147483647"),
        ({"batch": hr.ByTokens(9, lanes=2**16 + 1)}, "lanes must be a whole number from 1 to 65536"),
    ],
)
def test_contradictions(hits: str, words: dict[str, Any], text: str) -> None:
    with pytest.raises((hr.InvalidArgumentError, hr.UnsupportedError), match=text):
        hr.Loader(opened(hits), **{"batch": hr.ByTokens(BUDGET), **words})


def test_samples_of_one_length_need_no_budget(hits: str) -> None:
    for data in (hr.open(hits, ["label"]), hr.open(hits, ["label"]).windows(4)):
        with pytest.raises(hr.InvalidArgumentError, match="no field is ragged") as caught:
            hr.Loader(data, batch=hr.ByTokens(BUDGET))
        assert "batch_size" in (caught.value.hint or "")


def test_weights_and_selections(hits: str) -> None:
    data, events = opened(hits), events_of(hits)
    weights = np.ones(len(data))
    weights[10:] = 0
    drawn = hr.Loader(data, batch=hr.ByTokens(BUDGET), sampler=hr.Weighted(weights, num_samples=60))
    got = [event for batch in epoch_of(drawn, events) for event in batch]
    assert len(got) == 60
    assert set(got) <= set(range(10))
    part = data.select(range(3, 140, 2))
    chosen = hr.Loader(part, batch=hr.ByTokens(BUDGET), shuffle=True)
    assert sorted(e for batch in epoch_of(chosen, events) for e in batch) == list(range(3, 140, 2))


def test_the_word_itself(hits: str) -> None:
    batch = hr.ByTokens(np.int64(64), max_samples=3, too_long="alone", lanes=2, lookahead=8)
    said = hr.Loader(opened(hits), batch=batch)._options["batch"]
    assert said == "tokens=64,max_samples=3,too_long=alone,lanes=2,lookahead=8"
    assert hr.Loader(opened(hits), batch=said)._options["batch"] == said
    with pytest.raises(hr.InvalidArgumentError, match="longer than the budget"):
        hr.Loader(opened(hits), batch=hr.ByTokens(64))
    for words in ({"tokens": 0}, {"tokens": 1, "max_samples": 0}, {"tokens": 1, "lanes": 0}, {"tokens": True}):
        with pytest.raises(hr.InvalidArgumentError):
            hr.ByTokens(**words)
    with pytest.raises(hr.InvalidArgumentError, match="too_long"):
        hr.ByTokens(1, too_long="drop")
    with pytest.raises(FrozenInstanceError):
        batch.tokens = 3  # type: ignore[misc]
    loader = hr.Loader(opened(hits), batch=hr.ByTokens(BUDGET, lanes=2), shuffle=True)
    next(iter(loader))
    again = pickle.loads(pickle.dumps(loader))
    assert again.state_dict() == loader.state_dict()
    assert len(again) == len(loader)
