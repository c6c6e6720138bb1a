"""Mixtures of data sets."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import h5py
import numpy as np
import pytest

import headrace as hr

SIZES = {"a": 1000, "b": 300, "c": 50}


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> dict[str, hr.Dataset]:
    folder = tmp_path_factory.mktemp("mix")
    made = {}
    for i, (name, rows) in enumerate(SIZES.items()):
        for f in range(2):
            with h5py.File(folder / f"{name}{f}.h5", "w") as file:
                numbers = np.arange(rows // 2 * f, rows // 2 * (f + 1)) + 10_000 * i
                file.create_dataset("y", data=numbers, chunks=(16,))
                file.create_dataset("x", data=np.repeat(numbers[:, None], 7, 1).astype("f4"), chunks=(16, 7))
        made[name] = hr.open(str(folder / f"{name}?.h5"), fields=["x", "y"])
    return made


def epoch(loader: hr.Loader) -> list[int]:
    rows = []
    for batch in loader:
        assert (batch["x"] == batch["y"][:, None]).all()
        rows += batch["y"].tolist()
    return rows


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_every_stretch_has_its_shares(parts, shuffle) -> None:
    data = hr.mix({"a": (parts["a"], 5), "b": (parts["b"], 3), "c": (parts["c"], 2)})
    loader = hr.Loader(data, 20, shuffle=shuffle, seed=4)
    assert len(data) == 1350
    rows = epoch(loader)
    assert len(rows) == 250  # c, 50 rows, is a fifth
    for first in range(0, 250, 50):
        counts = Counter(row // 10_000 for row in rows[first : first + 50])
        assert abs(counts[0] - 25) <= 3 and abs(counts[1] - 15) <= 3 and abs(counts[2] - 10) <= 3


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_over_the_epochs_rows_come_equally_often(parts, shuffle) -> None:
    data = hr.mix({"a": (parts["a"], 0.7), "c": (parts["c"], 0.3)}, num_samples=400)
    loader = hr.Loader(data, 32, shuffle=shuffle, seed=1, memory="1MiB")
    seen: Counter[int] = Counter()
    for _ in range(10):
        seen.update(epoch(loader))
    counts = [seen[row] for row in range(1000)] + [seen[20_000 + row] for row in range(50)]
    assert set(counts[:1000]) <= {2, 3} and set(counts[1000:]) <= {23, 24, 25}
    assert sum(counts) == 4000


def test_when_an_epoch_ends(parts) -> None:
    both = {"a": parts["a"], "b": parts["b"]}
    even = {name: (data, 1) for name, data in both.items()}
    assert len(hr.Loader(hr.mix(both), 1)) == 1300
    assert len(hr.Loader(hr.mix(even), 1)) == 600
    assert len(hr.Loader(hr.mix(even, stop="all"), 1)) == 2000
    assert len(hr.Loader(hr.mix(even, num_samples=77), 1)) == 77
    warm = epoch(hr.Loader(hr.mix(both, temperature=2, num_samples=1000), 50))
    share = np.sqrt(300) / (np.sqrt(1000) + np.sqrt(300))
    assert abs(sum(row >= 10_000 for row in warm) / 1000 - share) < 0.01


def test_ranks_and_resume(parts) -> None:
    def make(**words) -> hr.Loader:
        data = hr.mix({"a": (parts["a"], 1), "b": (parts["b"], 2)}, stop="all")
        return hr.Loader(data, shuffle=True, seed=5, global_batch_size=40, **words)

    loader = make()
    want = [[batch["y"].tolist() for batch in loader] for _ in range(2)]
    for world in (2, 4):
        ranks = [make(rank=r, world_size=world, threads=1) for r in range(world)]
        for epoch_number in range(2):
            got = zip(*([batch["y"].tolist() for batch in rank] for rank in ranks), strict=True)
            assert [[row for part in step for row in part] for step in got] == want[epoch_number]
    for step in (0, 1, 7, 30, 49):
        first = make()
        first.set_epoch(1)
        batches = iter(first)
        for _ in range(step):
            next(batches)
        state = json.loads(json.dumps(first.state_dict()))
        assert len(json.dumps(state)) < 200
        again = make(memory="1MiB", threads=1)
        again.load_state_dict(state)
        assert [batch["y"].tolist() for batch in again] == want[1][step:]
    other = hr.Loader(hr.mix({"a": (parts["a"], 1), "b": (parts["b"], 3)}, stop="all"), 40, shuffle=True, seed=5)
    with pytest.raises(hr.InvalidArgumentError, match="does not fit"):
        other.load_state_dict(state)


def test_blocks_are_decoded_once_a_pass(parts) -> None:
    data = hr.mix({"a": (parts["a"], 1), "b": (parts["b"], 1), "c": (parts["c"], 1)}, num_samples=3000)
    loader = hr.Loader(data, 30, shuffle=True, seed=3)
    epoch(loader)
    report = loader.report().to_dict()
    passes = {"a": 1.0, "b": 1000 / 300, "c": 1000 / 50}
    chunks = {name: 2 * -(-rows // 2 // 16) for name, rows in SIZES.items()}  # of a field; there are two
    ideal = 2 * sum(passes[name] * chunks[name] for name in passes)
    assert report["chunks_decoded"] < 1.5 * ideal
    assert "33.3 %" in loader.explain() and "once per pass over its part of the mixture" in loader.explain()


def test_a_small_part_is_not_decoded_for_every_batch(parts) -> None:
    few = parts["c"].select(range(10))
    data = hr.mix({"a": (parts["a"], 0.1), "few": (few, 0.9)}, num_samples=4000)
    loader = hr.Loader(data, 40, shuffle=True, seed=2)
    rows = Counter(epoch(loader))
    assert {rows[20_000 + i] for i in range(10)} <= {359, 360, 361}
    passes, batches = 360, len(loader)
    others = 2 * 2 * 32  # chunks of the large part, of two fields
    assert loader.report().to_dict()["chunks_decoded"] < others + 2 * 2 * batches < others + 2 * passes


def test_a_batch_larger_than_the_data(parts) -> None:
    rows = epoch(hr.Loader(hr.mix({"c": parts["c"]}, num_samples=400), 200))
    assert len(rows) == 400
    weights = np.ones(50)
    assert len(epoch(hr.Loader(parts["c"], 200, sampler=hr.Weighted(weights, num_samples=400)))) == 400


def test_a_mixture_of_selections(parts) -> None:
    odd = parts["a"].select(np.arange(1, 1000, 2))
    data = hr.mix({"odd": odd, "b": parts["b"]})
    rows = epoch(hr.Loader(data, 64, shuffle=True))
    assert len(rows) == 800
    assert all(row % 2 for row in rows if row < 1000)
    assert len(set(rows)) > 790
    assert data[0]["y"] == 1 and data[500]["y"] == 10_000
    copy = pickle.loads(pickle.dumps(data))
    assert epoch(hr.Loader(copy, 64, shuffle=True)) == rows
    assert pickle.loads(pickle.dumps(data["y"]))[500] == 10_000


def test_mixtures_that_cannot_be(parts, jets, tmp_path) -> None:
    a, b = parts["a"], parts["b"]
    with pytest.raises(hr.InvalidArgumentError, match="2 fields"):
        hr.mix({"a": a, "jets": jets.open()})
    for name, dtype, shape in (("z", "f4", (5, 7)), ("x", "f8", (5, 7)), ("x", "f4", (5, 8))):
        path = tmp_path / f"{name}{dtype}{shape[1]}.h5"
        with h5py.File(path, "w") as file:
            file[name] = np.zeros(shape, dtype)
            file["y"] = np.zeros(5, int)
        with pytest.raises(hr.InvalidArgumentError, match="'x'"):
            hr.mix({"a": a, "other": hr.open(path, fields=[name, "y"])})
    for weights in ((-1, 1), (0, 1), (float("nan"), 1), ("1", 1)):
        with pytest.raises(hr.InvalidArgumentError, match="weight"):
            hr.mix({"a": (a, weights[0]), "b": (b, weights[1])})
    with pytest.raises(hr.InvalidArgumentError, match="positive weight, or no weights"):
        hr.mix({"a": (a, 1.0), "b": b})
    with pytest.raises(hr.InvalidArgumentError, match="at once"):
        hr.mix({"ab": hr.mix({"a": a}), "b": b})
    with pytest.raises(hr.InvalidArgumentError, match="Select from its parts"):
        hr.mix({"a": a}).select([1])
    with pytest.raises(hr.InvalidArgumentError, match="sampler"):
        hr.Loader(hr.mix({"a": a}), 5, sampler=[1, 2])
    with pytest.raises(hr.InvalidArgumentError, match="nothing"):
        hr.mix({})
    with pytest.raises(hr.InvalidArgumentError, match="temperature"):
        hr.mix({"a": a}, temperature=0)
    with pytest.raises(hr.InvalidArgumentError, match="stop"):
        hr.mix({"a": a}, stop="never")
