"""Random operations on a loader, on the same one with a device, and on a model of a few lines: all three agree.

In every other walk the memory is enough for one of them, and they take turns. HEADRACE_WALK_ROUNDS says how many walks
there are, over all kinds of loaders together.
"""

from __future__ import annotations

import os
import pickle
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_loaders import HABITS, fake, tensors
from jet_files import write_h5

import headrace as hr

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
ROUNDS = int(os.environ.get("HEADRACE_WALK_ROUNDS", "240"))
AMPLE = "1GiB"
SAMPLES, EVENTS = 60, 200
Place = tuple[int, int]  # an epoch, and its samples that all ranks were handed out


class EachEpoch:
    """A sampler whose rows are others in each epoch."""

    epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return 45

    def __iter__(self) -> Iterator[int]:
        return iter(np.random.default_rng(self.epoch).permutation(SAMPLES)[:45].tolist())


class EachEpochBatches(EachEpoch):
    """A batch sampler whose batches are others in each epoch; other numbers of them would end a live iterator."""

    def __len__(self) -> int:
        return 6

    def __iter__(self) -> Iterator[Any]:
        yield from ([row, row + 1 + self.epoch % 3] for row in range(6))


def doubled(columns: dict[str, Any]) -> dict[str, Any]:
    return {**columns, "z": columns["y"] * 2}


def fails_at_times(columns: dict[str, Any]) -> dict[str, Any]:
    if 7 in columns["y"] or 31 in columns["y"]:
        raise KeyError("in place of a batch")
    return columns


LOADERS: dict[str, Callable[[], dict[str, Any]]] = {
    "in order": lambda: {"batch_size": 8},
    "shuffled": lambda: {"batch_size": 8, "shuffle": True},
    "exact, padded tail": lambda: {"batch_size": 8, "shuffle": "exact", "tail": "pad"},
    "dropped tail": lambda: {"batch_size": 8, "drop_last": True, "shuffle": True},
    "one batch": lambda: {"batch_size": 60},
    "rank": lambda: {"batch_size": 5, "shuffle": True, "rank": 1, "world_size": 3},
    "tokens": lambda: {"batch": hr.ByTokens(100), "shuffle": True},
    "tokens, rank": lambda: {"batch": hr.ByTokens(40, lanes=4), "shuffle": True, "rank": 1, "world_size": 2},
    "padded": lambda: {"batch_size": 20, "layout": "padded"},
    "groups": lambda: {"group_by": "file", "max_items": 9},
    "groups, rank": lambda: {"group_by": "file", "max_items": 20, "shuffle": True, "rank": 1, "world_size": 2},
    "list": lambda: {"batch_size": 8, "sampler": list(range(58, 0, -2))},
    "sampler": lambda: {"batch_size": 8, "sampler": EachEpoch()},
    "batch_sampler": lambda: {"batch_sampler": [[1, 2, 3], [4], list(range(5, 60)), [7, 7]]},
    "batch_sampler of each epoch": lambda: {"batch_sampler": EachEpochBatches()},
    "weighted": lambda: {"batch_size": 8, "sampler": hr.Weighted(np.arange(60) + 1.0, num_samples=45)},
    "mapped": lambda: {"batch_size": 8, "shuffle": True, "batch_format": "tuple"},
    "failing": lambda: {"batch_size": 8, "shuffle": True},
}


class Model:
    """Where a loader is, and what it gives, said by nothing but the batches of each epoch and where each ends."""

    def __init__(self, epoch: Callable[[int], list[tuple[Any, int]]]) -> None:
        self.epoch = epoch
        self.live: Place | None = None  # in the epoch that was begun; None: it is over
        self.following: Place = (0, 0)  # where iter() begins
        self.rewound = False  # a state was loaded in mid-epoch, and nothing given since
        self.iterates = False  # there is an iterator that has not told of its end

    def iter(self) -> None:
        self.live, self.following = self.following, (self.following[0] + 1, 0)
        self.rewound, self.iterates = False, True

    def next(self) -> Any:
        if not self.iterates:
            return None
        assert self.live is not None
        number, samples = self.live
        batch, end = next(((batch, end) for batch, end in self.epoch(number) if end > samples), (None, None))
        if end is None:
            self.live, self.iterates = None, False
            return None
        self.live = number, end
        if self.rewound:
            self.following, self.rewound = (number + 1, 0), False
        return batch

    def state(self) -> Place:
        number, samples = self.live or self.following
        return (number, samples) if samples < self.epoch(number)[-1][1] else (number + 1, 0)

    def load(self, place: Place) -> None:
        self.following = place
        if self.live is not None:
            self.live, self.rewound = place, True

    def set_epoch(self, number: int) -> None:
        if self.following[0] != number:
            self.following, self.rewound = (number, 0), False

    def len(self) -> int:
        return len(self.epoch((self.live or self.following)[0]))

    def anew(self) -> None:
        """Go on as a copy, which knows the state and nothing else."""
        self.following, self.live, self.iterates = self.state(), None, False


def bits(batch: Any) -> Any:
    return tuple((tensor.dtype, tuple(tensor.shape), tensor.numpy().tobytes()) for tensor in tensors(batch))


def next_of(batches: Iterator[Any]) -> Any:
    """The next batch's bits, the error in its place, or None at the end."""
    try:
        return bits(next(batches))
    except StopIteration:
        return None
    except (KeyError, hr.ClosedError) as error:
        return type(error)


class Walk:
    """A loader on the CPU, one with a device, and the model."""

    def __init__(self, make: Callable[[Any], hr.Loader], model: Model, seed: int, least: int) -> None:
        self.random = random.Random(seed)
        self.model = model
        self.make = make
        self.least = least
        self.memory: int | str = least if seed % 2 else AMPLE
        self.device = fake(self.random.choice(list(HABITS)), seed=seed)
        hr.set_memory(self.memory)
        self.loaders = [make("cpu"), make(self.device)]
        self.iterators: list[Iterator[Any]] | None = None
        self.states = [self.loaders[0].state_dict()]
        self.log: list[Any] = []

    def agree(self, want: Any, got: list[Any]) -> None:
        names = [name for name, one in zip(("the CPU", "the device"), got, strict=True) if one != want]
        assert not names, f"not as the model: {' and '.join(names)}, after {self.log}"

    def next(self) -> None:
        if self.iterators is None:
            self.iter()
        assert self.iterators is not None
        self.agree(self.model.next(), [next_of(batches) for batches in self.iterators])

    def iter(self) -> None:
        before, iterated = self.iterators, self.model.iterates
        self.model.iter()
        self.iterators = [iter(loader) for loader in self.loaders]
        if before is not None and self.random.random() < 0.5:
            self.agree(hr.ClosedError if iterated else None, [next_of(batches) for batches in before])

    def leave(self) -> None:
        self.iterators, self.model.iterates = None, False

    def rest(self) -> None:
        while self.model.iterates:
            self.next()

    def state(self) -> None:
        states = [loader.state_dict() for loader in self.loaders]
        assert states[0] == states[1], self.log
        self.agree(self.model.state(), [(state["epoch"], state["samples"]) for state in states])
        self.states.append(states[0])

    def load(self) -> None:
        state = self.random.choice(self.states)
        self.log.append((state["epoch"], state["samples"]))
        self.model.load((state["epoch"], state["samples"]))
        for loader in self.loaders:
            loader.load_state_dict(state)

    def set_epoch(self) -> None:
        number = self.random.randrange(4)
        self.log.append(number)
        self.model.set_epoch(number)
        for loader in self.loaders:
            loader.set_epoch(number)

    def len(self) -> None:
        self.agree(self.model.len(), [len(loader) for loader in self.loaders])

    def copy(self) -> None:
        before, iterated, iterators = self.loaders, self.model.iterates, self.iterators
        self.loaders = [pickle.loads(pickle.dumps(loader)) for loader in before]
        self.iterators = None
        self.model.anew()
        for loader in before:
            loader.close()
        if iterators is not None:
            self.agree(hr.ClosedError if iterated else None, [next_of(batches) for batches in iterators])

    def second_loader(self) -> None:
        """Iterate another loader, as a validation does."""
        want = [batch for batch, _ in self.model.epoch(0)][: self.random.choice([1, 2, None])]
        with self.make(self.random.choice(["cpu", self.device])) as other:
            batches = iter(other)
            assert [next_of(batches) for _ in want] == want, self.log

    def reclaim(self) -> None:
        """Take all memory but what is enough for one: a thread that copies ahead may just need it."""
        hr.set_memory(self.least)
        hr.set_memory(self.memory)

    def close(self) -> None:
        for loader in self.loaders:
            loader.close()


#: How often each operation comes, beside the others.
OPERATIONS: dict[Callable[[Walk], None], int] = {
    Walk.next: 12,
    Walk.rest: 1,
    Walk.leave: 1,
    Walk.iter: 1,
    Walk.state: 4,
    Walk.load: 2,
    Walk.set_epoch: 2,
    Walk.len: 3,
    Walk.copy: 1,
    Walk.second_loader: 1,
    Walk.reclaim: 1,
}


def least_memory(make: Callable[[Any], hr.Loader]) -> int:
    """Return what is enough for one loader with a device, just so."""
    bytes_ = 4096
    while True:
        hr.set_memory(bytes_)
        try:
            with make(fake(next(iter(HABITS)), seed=0)) as loader:
                next_of(iter(loader))
                return bytes_
        except hr.OutOfBudgetError:
            bytes_ += bytes_ // 4


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    hr.set_memory(AMPLE)
    yield
    hr.set_memory("4GiB")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, hr.Dataset]:
    folder: Path = tmp_path_factory.mktemp("walk")
    y = np.arange(SAMPLES)
    parts = np.split(y, [20, 33])
    rows = hr.open([write_h5(folder / f"{i}.h5", y=part, x=part * 0.5) for i, part in enumerate(parts)])
    lengths = np.random.default_rng(1).integers(0, 9, EVENTS)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    path = write_h5(folder / "events.h5", v=np.arange(offsets[-1], dtype=np.float32), offsets=offsets)
    events = hr.open(path, {"v": "v"}, sample_by=hr.Spans(offsets="offsets"))
    tokens = {name: events for name in LOADERS if name.startswith(("tokens", "padded"))}
    return {"mapped": rows.map(doubled), "failing": rows.map(fails_at_times), **tokens, "": rows}


@pytest.mark.parametrize("name", LOADERS)
def test_all_agree(data: dict[str, hr.Dataset], name: str) -> None:
    def make(device: Any) -> hr.Loader:
        return hr.Loader(data.get(name, data[""]), framework="torch", device=device, **LOADERS[name]())

    @cache
    def epoch(number: int) -> list[tuple[Any, int]]:
        made: list[tuple[Any, int]] = []
        with make("cpu") as loader:
            loader.set_epoch(number)
            batches = iter(loader)
            while (batch := next_of(batches)) is not None:
                state = loader.state_dict()
                made.append((batch, state["samples"] if state["epoch"] == number else 2**62))
        return made

    for number in range(4):
        epoch(number)  # with ample memory
    least = least_memory(make)
    for seed in range(-(-ROUNDS // len(LOADERS))):
        walk = Walk(make, Model(epoch), seed, least)
        for _ in range(walk.random.randrange(5, 40)):
            (operation,) = walk.random.choices(list(OPERATIONS), list(OPERATIONS.values()))
            walk.log.append(operation.__name__)
            operation(walk)
        walk.close()


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_the_length_is_that_of_the_epoch_until_its_end_was_told(data: dict[str, hr.Dataset], device: str) -> None:
    words = LOADERS["tokens, rank"]()
    with hr.Loader(data["tokens, rank"], framework="torch", device=device, **words) as loader:
        numbers = [loader._native.batches_after(epoch, 0) for epoch in range(9)]
        assert len(set(numbers)) > 1, "or else this shows nothing"
        for epoch in range(8):
            assert [len(loader) for _ in loader] == [numbers[epoch]] * numbers[epoch]
            assert len(loader) == numbers[epoch + 1]
