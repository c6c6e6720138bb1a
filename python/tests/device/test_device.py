"""Batches on a device: the same ones in the same order as on the CPU, at any habit of the device."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest
import ragged_files
from device_loaders import HABITS, check_like_the_cpu, fake, same, torch

import headrace as hr
from headrace._dataset.functions import MappedEpoch
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


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_the_cpu(jets, form: str) -> None:
    words = FORMS[form]
    habit = list(HABITS)[list(FORMS).index(form) % len(HABITS)]  # each with each: test_random_walk
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


def test_an_epoch_that_is_named(jets) -> None:
    """The next one is another, whatever the device was ahead with; the one under way goes on."""
    data = jets.open()
    loaders = [hr.Loader(data, 50, shuffle=True, framework="torch", device=device) for device in ("cpu", fake("late"))]
    for loader in loaders:
        first = [loader.state_dict() for _ in loader]
        assert loader.state_dict() == {**first[0], "epoch": 1, "samples": 0}
        loader.set_epoch(5)
        assert loader.state_dict() == {**first[0], "epoch": 5, "samples": 0}
        iterator = iter(loader)
        next(iterator)
        loader.load_state_dict({**first[3], "epoch": 2})
        loader.set_epoch(7)
        assert loader.state_dict() == {**first[3], "epoch": 2}
        assert same(next(iterator), loader.batch(2, 4)), "an iterator that is live goes on where the state says"
        assert same(next(iter(loader)), loader.batch(7, 0)), "and leaves the number as it was set"
        loader.set_epoch(5)
        loader.load_state_dict(first[3])
        assert loader._next_samples()[:2] == (0, 200)
        loader.set_epoch(0)
        assert loader._next_samples()[:2] == (0, 200), "it is the state's epoch"
        loader.close()


def unchanged(columns: dict[str, Any]) -> dict[str, Any]:
    return columns


def epochs_alive(data: hr.Dataset) -> int:
    """Number of epochs that go through the functions of a data set."""
    return sum(type(one) is MappedEpoch and one._functions is data._functions for one in gc.get_objects())


def test_an_epoch_ends_with_its_last_batch(jets) -> None:
    """Nothing keeps the engine's epoch behind it, so that the memory can be another loader's."""
    data = jets.open().map(unchanged)
    with hr.Loader(data, 50, framework="torch", device=fake("late")) as loader:
        for _ in range(2):
            iterator = iter(loader)
            state = [loader.state_dict() for _ in zip(range(13), iterator, strict=False)][3]
            assert epochs_alive(data) == 0, "after the last batch"
            loader.load_state_dict(state)
            assert same(next(iterator), loader.batch(state["epoch"], 4)), "it is not over before StopIteration"
            assert len(list(iterator)) == 8
            assert epochs_alive(data) == 0, "after StopIteration"
        iterator = iter(loader)
        next(iterator)
    assert epochs_alive(data) == 0, "after close()"
    with pytest.raises(hr.ClosedError, match="the loader was closed"):
        next(iterator)


def test_steps_end_with_their_last(jets) -> None:
    data = jets.open().map(unchanged)
    with hr.Loader(data, 50, framework="torch") as loader:
        for number, step in enumerate(loader.batch_sampler):
            assert epochs_alive(data) == (number > 0)
            loader._walk.deliver(step)
        assert number == 12
        assert epochs_alive(data) == 0
