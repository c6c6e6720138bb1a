"""Batches on a device: the same ones in the same order as on the CPU, at any habit of the device."""

from __future__ import annotations

import pickle
import threading
import time
from typing import Any

import numpy as np
import pytest
import ragged_files
from device_loaders import HABITS, check_like_the_cpu, epochs, fake, same, torch

import headrace as hr
from headrace.torch import DataLoader

FORMS: dict[str, dict[str, Any]] = {
    "in order": {"batch_size": 50},
    "shuffled": {"batch_size": 50, "shuffle": True, "seed": 3},
    "exact": {"batch_size": 64, "shuffle": "exact"},
    "tuple": {"batch_size": 50, "batch_format": "tuple", "shuffle": True},
    "padded tail": {"batch_size": 50, "tail": "pad", "shuffle": True},
    "dropped tail": {"batch_size": 50, "tail": "drop"},
    "small": {"batch_size": 3, "shuffle": True},
    "one": {"batch_size": 633},
    "groups": {"group_by": "file", "max_items": 120},
    "rank": {"batch_size": 20, "rank": 1, "world_size": 3, "shuffle": True},
    "provenance": {"batch_size": 50, "provenance": True},
    "sampler": {"batch_size": 50, "sampler": list(range(632, -1, -3))},
    "batches": {"batch_sampler": [[5], [3, 4, 600], list(range(100))]},
    "weighted": {"batch_size": 50, "sampler": hr.Weighted(np.arange(633) + 1.0)},
}


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_the_cpu(jets, form: str, habit: str) -> None:
    words = FORMS[form]
    make = lambda device: hr.Loader(jets.open(), framework="torch", device=device, **words)  # noqa: E731
    check_like_the_cpu(make, fake(habit))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    made = ragged_files.make_events()
    data = ragged_files.opened(tmp_path_factory.mktemp("events"), "h5", made)
    fields = {name: name for name in data.fields if name != "big"}  # torch's older versions have no uint64
    del fields
    return data


@pytest.mark.parametrize("habit", ["late", "reorders"])
@pytest.mark.parametrize(
    "words",
    [
        {"batch_size": 4},
        {"batch_size": 4, "shuffle": True, "layout": "padded"},
        {"batch_size": 1, "shuffle": True},
        {"batch": hr.ByTokens(400, too_long="alone"), "shuffle": True},
    ],
    ids=str,
)
def test_ragged_and_padded_batches(events: hr.Dataset, words: dict[str, Any], habit: str) -> None:
    """One event is longer than all others together: its batch is larger than any buffer."""
    make = lambda device: hr.Loader(events, framework="torch", device=device, **words)  # noqa: E731
    check_like_the_cpu(make, fake(habit))


def test_a_batch_that_no_buffer_holds_is_copied_all_the_same(events: hr.Dataset) -> None:
    with hr.Loader(events, 1, framework="torch", device="fake") as loader:
        for _ in loader:
            pass
        copies = loader.report().to_device
        assert copies is not None and copies.larger_batches == 2 and copies.batches == len(loader)


def test_functions_run_before_the_copy(jets) -> None:
    def double(columns: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return {"x": columns["x"][:, ::2] * 2, "y": columns["y"], "note": torch.ones(len(columns["y"])).bool()}

    threads: list[threading.Thread] = []
    data = jets.open().map(double)
    make = lambda device: hr.Loader(data, 50, shuffle=True, framework="torch", device=device)  # noqa: E731
    check_like_the_cpu(make, fake("late"))
    assert {thread.name for thread in threads[-5:]} == {"headrace to device"}


@pytest.mark.parametrize("words", [{"batch_size": 50}, {"batch_size": None}], ids=["batches", "samples"])
@pytest.mark.parametrize("collate", [None, "collate_fn", "column_fn"])
def test_the_dataloader_of_torch(jets, words: dict[str, Any], collate: str | None) -> None:
    def of_samples(samples: Any) -> Any:
        if isinstance(samples, dict):
            return [samples["x"].t(), samples["y"]]
        return {"x": torch.stack([sample["x"] for sample in samples]), "names": ["a"] * len(samples)}

    def of_columns(batch: dict[str, Any]) -> Any:
        return batch["x"].sum(), (batch["y"], None)

    if collate == "column_fn" and words["batch_size"] is None:
        pytest.skip("there are no batches for it")
    if collate is not None:
        words = {**words, collate: of_samples if collate == "collate_fn" else of_columns}
    make = lambda device: DataLoader(jets.open(), shuffle=True, device=device, **words)  # noqa: E731
    with pytest.warns(hr.HeadraceWarning) if "collate_fn" in words and words["batch_size"] else _silence():
        ours, theirs = (list(make(device)) for device in (fake("late"), "cpu"))
    assert len(ours) == len(theirs) and all(map(same, ours, theirs))


class _silence:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_samplers_that_learn_get_no_batch_ahead(jets) -> None:
    """With lookahead=1 rows are asked for when their batch is, and not before."""

    class Learning:
        def __init__(self) -> None:
            self.asked = 0

        def __len__(self) -> int:
            return 100

        def __iter__(self) -> Any:
            for row in range(100):
                self.asked += 1
                yield row * 3

    sampler = Learning()
    with hr.Loader(jets.open(), 10, sampler=sampler, lookahead=1, framework="torch", device=fake("late")) as loader:
        for number, batch in enumerate(loader, 1):
            assert batch["y"].tolist() == list(range(30 * number - 30, 30 * number, 3))
            assert sampler.asked <= 10 * number + (number == 10)
    assert number == 10


@pytest.mark.parametrize("stop", [0, 1, 5, 12, 13])
def test_resumed_equals_uninterrupted(jets, stop: int) -> None:
    make = lambda: hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=fake("late"))  # noqa: E731
    with make() as loader:
        whole, states = epochs(loader, 2)
    with make() as first:
        iterator = iter(first)
        for _ in range(stop):
            next(iterator)
        time.sleep(0.02)  # the next batches are copied meanwhile, and do not count
        state = first.state_dict()
        copy = pickle.loads(pickle.dumps(first))
    assert state == states[stop]
    with make() as second:
        second.load_state_dict(state)
        rest = list(second)
    assert len(rest) == (13 - stop or 13) and all(map(same, rest, whole[stop:]))
    with copy:
        assert all(map(same, list(copy), whole[stop:]))


def test_a_live_iterator_goes_on_where_a_state_says(jets) -> None:
    with hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=fake("late")) as loader:
        whole, states = epochs(loader, 1)
        iterator = iter(loader)
        next(iterator)
        loader.load_state_dict(states[4])
        assert loader.state_dict() == states[4]
        assert same(next(iterator), whole[4])
        loader.load_state_dict(states[11])
        assert all(map(same, iterator, whole[11:]))
        assert next(iterator, None) is None
        loader.load_state_dict(states[2])
        assert next(iterator, None) is None, "it was over"
        assert len(list(loader)) == 11


def test_an_epoch_that_is_named_and_its_length(jets) -> None:
    data = jets.open()
    with (
        hr.Loader(data, 50, shuffle=True, framework="torch", device=fake("fast")) as loader,
        hr.Loader(data, 50, shuffle=True, framework="torch") as plain,
    ):
        iterator = iter(loader)
        next(iterator)
        loader.set_epoch(7)
        plain.set_epoch(7)
        assert loader.state_dict()["epoch"] == 0 and len(loader) == 13
        assert all(map(same, loader, plain))
        assert same(loader.batch(7, 3), plain.batch(7, 3))
        assert loader.state_dict() == plain.state_dict()
