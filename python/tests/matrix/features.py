"""Each feature of data sets and of orders: a function that uses it on a kind of sample and checks what comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from python.tests.matrix.kinds import BATCH, Batch, Kind

import headrace as hr
from headrace import transforms as T

FEATURES: dict[str, Callable[[Kind, Path], Any]] = {}


def feature(check: Callable[[Kind, Path], Any]) -> Callable[[Kind, Path], Any]:
    """List a function by its name."""
    FEATURES[check.__name__.replace("_", "-")] = check
    return check


def flat(lists: Iterable[Iterable[Any]]) -> list[Any]:
    """The entries of all lists."""
    return list(chain.from_iterable(lists))


def delivered(kind: Kind, loader: Any) -> list[int]:
    """Numbers of the samples of an epoch, in their order."""
    return flat(kind.numbers_of(loader))


def same(got: Iterable[Batch], want: list[Batch]) -> None:
    """Batches are equal: names, types and values."""
    found = list(got)
    assert [list(batch) for batch in found] == [list(batch) for batch in want]
    for one, other in zip(found, want, strict=True):
        for name, values in other.items():
            array = np.asarray(one[name])
            assert (name, array.dtype, array.shape) == (name, values.dtype, values.shape)
            np.testing.assert_array_equal(array, values)


@feature
def select(kind: Kind, _: Path) -> None:
    chosen = [1, 2, 5, 11, 12, 13, 19]
    part = kind.data.select(chosen)
    assert sorted(delivered(kind, kind.loader(part, batch_size=2))) == chosen
    assert flat(kind.numbers_of([part[:]])) == chosen


def parts_of(kind: Kind, **words: Any) -> dict[str, list[int]]:
    """Numbers of the samples of two parts, which share none."""
    parts = kind.data.split({"a": 0.6, "b": 0.4}, seed=1, **words)
    numbers = {name: delivered(kind, kind.loader(part)) for name, part in parts.items()}
    assert max(Counter(flat(numbers.values())).values()) == 1
    assert min(map(len, numbers.values())) > 0
    return numbers


@feature
def split(kind: Kind, _: Path) -> None:
    numbers = flat(parts_of(kind).values())
    names = kind.names
    overlap = names == ["tokens"] and not kind.ragged  # windows that share a token: two at the borders are left out
    assert len(numbers) >= len(kind.samples) - 2 if overlap else sorted(numbers) == list(range(len(kind.samples)))


@feature
def split_by(kind: Kind, _: Path) -> None:
    numbers = parts_of(kind, by=kind.by)
    assert sorted(flat(numbers.values())) == list(range(len(kind.samples)))
    assert not {kind.groups[i] for i in numbers["a"]} & {kind.groups[i] for i in numbers["b"]}


@feature
def stratify(kind: Kind, _: Path) -> None:
    numbers = parts_of(kind, stratify=kind.label)
    classes = Counter(int(one[kind.label]) for one in kind.samples)
    found = Counter(int(kind.samples[i][kind.label]) for i in numbers["a"])
    assert all(abs(found[c] - 0.6 * count) <= 1 for c, count in classes.items())


@feature
def mix(kind: Kind, _: Path) -> None:
    both = hr.mix({"a": (kind.data, 1.0), "b": (kind.data, 1.0)}, num_samples=16)
    assert len(delivered(kind, kind.loader(both))) == 16


@feature
def map_function(kind: Kind, _: Path) -> None:
    twice = kind.data.map(lambda batch: {**batch, "twice": batch[kind.numbers].astype("f8") * 2})
    batches = list(kind.loader(twice))
    assert kind.numbers_of(batches) == kind.numbers_of(kind.epoch)
    for batch in batches:
        np.testing.assert_array_equal(batch["twice"], batch[kind.numbers].astype("f8") * 2)


@feature
def transform(kind: Kind, _: Path) -> None:
    batches = list(kind.loader(kind.data.map(T.Affine(kind.numbers, 2.0, 1.0, to="scaled"))))
    assert kind.numbers_of(batches) == kind.numbers_of(kind.epoch)
    for batch in batches:
        np.testing.assert_array_equal(batch["scaled"], batch[kind.numbers].astype("f4") * 2 + 1)


@feature
def join(kind: Kind, _: Path) -> None:
    table = {"key": np.arange(300), "radius": np.arange(300) / 2}
    batches = list(kind.loader(kind.data.join(table, on=kind.cell, fields=["radius"], key="key")))
    assert kind.numbers_of(batches) == kind.numbers_of(kind.epoch)
    for batch in batches:
        np.testing.assert_array_equal(batch["radius"], batch[kind.cell] / 2)


@feature
def stats(kind: Kind, _: Path) -> None:
    """No two values are equal, so each counts once, however many samples have it."""
    found = kind.data.stats(kind.numbers)
    columns = int(np.prod(found.mean.shape))
    values = np.unique(np.concatenate([one[kind.numbers].reshape(-1, columns) for one in kind.samples]), axis=0)
    values = values.astype("f8")
    np.testing.assert_allclose(found.mean.ravel(), values.mean(0), rtol=1e-12)
    np.testing.assert_allclose(found.std.ravel(), values.std(0), rtol=1e-9)
    np.testing.assert_array_equal([found.min.ravel(), found.max.ravel()], [values.min(0), values.max(0)])
    assert found.count.ravel().tolist() == [len(values)] * columns


@feature
def balanced(kind: Kind, _: Path) -> None:
    numbers = delivered(kind, kind.loader(sampler=hr.Balanced(kind.label, num_samples=18), shuffle=None))
    assert Counter(int(kind.samples[i][kind.label]) for i in numbers) == {0: 6, 1: 6, 2: 6}


@feature
def weighted(kind: Kind, _: Path) -> None:
    weights = np.arange(len(kind.data)) % 2
    numbers = delivered(kind, kind.loader(sampler=hr.Weighted(weights, num_samples=20), shuffle=None))
    assert len(numbers) == 20
    assert all(number % 2 == 1 for number in numbers)


@feature
def sampler(kind: Kind, _: Path) -> None:
    order = [7, 3, 3, 19, 0, 1, 12, 18]
    assert delivered(kind, kind.loader(sampler=order, shuffle=None)) == order


@feature
def batch_sampler(kind: Kind, _: Path) -> None:
    order = [[7, 3, 3], [19], [0, 1, 12, 18]]
    assert kind.numbers_of(kind.loader(batch_sampler=order, shuffle=None, batch_size=None)) == order


@feature
def group_by(kind: Kind, _: Path) -> None:
    loader = kind.loader(group_by=kind.by, max_items=64, max_groups=1, batch_size=None)
    batches = list(loader)
    numbers = kind.numbers_of(batches)
    assert sorted(flat(numbers)) == list(range(len(kind.samples)))
    runs = {(place[0], group) for place, group in zip(kind.places, kind.groups, strict=True)}
    assert len(batches) == loader.num_groups == len(runs)
    for batch, some in zip(batches, numbers, strict=True):
        assert some == sorted(some)
        assert len({kind.groups[i] for i in some}) == 1
        assert len(set(batch["_group"].tolist())) == 1


@feature
def by_tokens(kind: Kind, _: Path) -> None:
    batches = list(kind.loader(batch=hr.ByTokens(16), batch_size=None))
    assert not kind.once or sorted(delivered(kind, batches)) == list(range(len(kind.samples)))
    assert all(batch[f"{kind.numbers}.offsets"][-1] <= 16 for batch in batches)


@feature
def padded(kind: Kind, _: Path) -> None:
    batches = list(kind.loader(layout="padded", fill=9))
    assert kind.numbers_of(batches) == kind.numbers_of(kind.epoch)
    for batch in batches:
        assert batch["mask"].tolist() == (np.arange(batch["lengths"].max()) < batch["lengths"][:, None]).tolist()
        assert (batch[kind.numbers][~batch["mask"]] == 9).all()


@feature
def provenance(kind: Kind, _: Path) -> None:
    batches = list(kind.loader(provenance=True))
    assert kind.numbers_of(batches) == kind.numbers_of(kind.epoch)
    for batch, numbers in zip(batches, kind.numbers_of(batches), strict=True):
        found = batch["_rows"] if "_rows" in batch else np.column_stack([batch["_volume"], batch["_start"]])
        assert [tuple(place) for place in found.tolist()] == [kind.places[i] for i in numbers]


@feature
def exactly_once(kind: Kind, _: Path) -> None:
    with kind.loader() as loader:
        numbers = delivered(kind, loader)
        assert not kind.once or sorted(numbers) == list(range(len(kind.samples)))
        if not loader.report().exactly_once:
            raise hr.Error("report() does not say that each sample came once")  # in place of a refusal


@feature
def resume(kind: Kind, _: Path) -> None:
    with kind.loader() as first, kind.loader() as second:
        batches = iter(first)
        for _step in range(2):
            next(batches)
        second.load_state_dict(first.state_dict())
        same(second, kind.epoch[2:])


@feature
def other_ranks(kind: Kind, _: Path) -> None:
    """Two ranks stop behind two steps; one goes on alone."""
    words = {"batch_size": None, "global_batch_size": BATCH}
    with kind.loader(**words, rank=0, world_size=2) as left, kind.loader(**words, rank=1, world_size=2) as right:
        pairs = list(zip(iter(left), iter(right), strict=True))[:2]
        state = None
        with kind.loader(**words, rank=0, world_size=2) as again:
            steps = iter(again)
            for _step in range(2):
                next(steps)
            state = again.state_dict()
    with kind.loader(**words, rank=0, world_size=1) as alone:
        alone.load_state_dict(state)
        rest = kind.numbers_of(alone)
    want = kind.numbers_of(kind.epoch)
    assert [flat(kind.numbers_of(pair)) for pair in pairs] == want[:2]
    assert rest == want[2:]


@feature
def random_access(kind: Kind, _: Path) -> None:
    with kind.loader() as loader:
        same([loader.batch(0, 2), loader.batch(0, 0)], [kind.epoch[2], kind.epoch[0]])


@feature
def index(kind: Kind, _: Path) -> None:
    assert kind.numbers_of([kind.data[2:5], kind.data[[7, 3, 3]]]) == [[2, 3, 4], [7, 3, 3]]
    one = {name: np.asarray(value)[None] for name, value in kind.data[11].items()}
    assert kind.numbers_of([one]) == [[11]] or kind.ragged
