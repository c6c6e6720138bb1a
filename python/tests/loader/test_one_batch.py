"""Any batch of any epoch once more: equal to the iterated one, and beside it."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr


def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(
        a[name].dtype == b[name].dtype and a[name].shape == b[name].shape and a[name].tobytes() == b[name].tobytes()
        for name in a
    )


class PerEpoch:
    """Other rows in each epoch, as a sampler of torch gives them."""

    def __init__(self, total: int) -> None:
        self.total, self.epoch = total, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        return iter(np.random.default_rng(self.epoch).permutation(self.total).tolist())


@pytest.mark.parametrize("world", [1, 3])
@pytest.mark.parametrize("tail", ["partial", "drop", "pad"])
@pytest.mark.parametrize(
    "order", [False, True, "exact", "weighted", "balanced", "list", "per epoch", "selection", "mixture"]
)
def test_it_is_the_iterated_batch(jets, order, tail, world) -> None:
    data = jets.open()
    words: dict[str, Any] = {"shuffle": order}
    if order == "weighted":
        words = {"sampler": hr.Weighted(np.arange(len(data)) % 7)}
    elif order == "balanced":
        words = {"sampler": hr.Balanced("k")}
        data = hr.open(jets.paths, {"y": "labels", "k": "labels"}).select(slice(0, 12))
    elif order == "list":
        words = {"sampler": np.arange(len(data))[::-3]}
    elif order == "per epoch":
        words = {"sampler": PerEpoch(len(data))}
    elif order == "selection":
        words, data = {"shuffle": True}, data.select(slice(5, None, 3))
    elif order == "mixture":
        words = {"shuffle": True}
        data = hr.mix({"a": (data.select(slice(0, 200)), 1), "b": (data.select(slice(200, None)), 2)})
    size = 5 if order == "balanced" else 40
    if tail == "drop" and order == "balanced" and world == 3:
        size = 3

    def make(rank: int) -> hr.Loader:
        return hr.Loader(data, size, tail=tail, seed=4, provenance=True, rank=rank, world_size=world, **words)

    for rank in range(world):
        want = [list(make(rank))]
        loader = make(rank)
        want = [list(loader), list(loader)]
        other = make(rank)
        for epoch in (1, 0):
            for step in range(len(loader)):
                assert same(other.batch(epoch, step), want[epoch][step])
                assert same(loader.batch(epoch, step), want[epoch][step])
        with pytest.raises(hr.InvalidArgumentError, match=f"epoch 7 has {len(loader)} batch"):
            loader.batch(7, len(loader))


def test_it_disturbs_nothing(jets) -> None:
    sampler = PerEpoch(len(jets))
    loader = hr.Loader(jets.open(), 50, sampler=sampler)
    want = [list(loader) for _ in range(3)]
    loader.set_epoch(0)
    for epoch in range(3):
        for step, batch in enumerate(loader):
            state, report = loader.state_dict(), loader.report().to_dict()
            assert same(loader.batch(2 - epoch, step), want[2 - epoch][step])
            assert loader.state_dict() == state
            assert loader.report().to_dict()["batches"] == report["batches"]
            assert same(batch, want[epoch][step])
            assert sampler.epoch == epoch


def test_other_forms_of_a_batch(jets) -> None:
    torch = pytest.importorskip("torch")
    loader = hr.Loader(jets.open(), 50, shuffle=True, framework="torch", batch_format="tuple")
    again, want = loader.batch(0, 1), list(loader)[1]
    assert all(torch.equal(a, b) for a, b in zip(again, want, strict=True))


def test_what_cannot_be_made_again(jets) -> None:
    class Random:
        def __iter__(self):
            return iter(np.random.default_rng().permutation(100).tolist())

    loader = hr.Loader(jets.open(), 10, sampler=Random())
    assert same(loader.batch(0, 3), list(loader)[3])  # the epoch at hand is known
    with pytest.raises(hr.InvalidArgumentError, match="rows of epoch 5 are not known"):
        loader.batch(5, 3)

    class Sized(list):
        """A sampler that is asked while the epoch goes on."""

    ahead = hr.Loader(jets.open(), 10, sampler=Sized(range(100)), lookahead=2)
    with pytest.raises(hr.InvalidArgumentError, match="gives rows during the epoch"):
        ahead.batch(0, 0)
    for wrong in ((-1, 0), (0, -1), (0.5, 0), (0, None)):
        with pytest.raises(hr.InvalidArgumentError):
            loader.batch(*wrong)
    loader.close()
    with pytest.raises(hr.ClosedError):
        loader.batch(0, 0)


@pytest.mark.parametrize("beyond", [0, 1, 10**12])
def test_a_batch_beyond_the_epoch_names_those_there_are(jets, beyond: int) -> None:
    loader = hr.Loader(jets.open(), 10)
    n = len(loader)
    words = f"epoch 4 has {n} batches, numbered 0 to {n - 1}; batch {n + beyond} was asked for"
    with pytest.raises(hr.InvalidArgumentError, match=words) as caught:
        loader.batch(4, n + beyond)
    assert "batch_size" in caught.value.hint


def test_replay_tells_values_by_field(tmp_path, run_python) -> None:
    x = np.random.default_rng(1).normal(size=(120, 5)).astype(np.float32)
    x[77, 2], x[30, 1] = np.nan, -np.inf
    half = x.astype(np.float16)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(10, 5))
        file.create_dataset("half", data=half, chunks=(10, 5))
        file.create_dataset("name", data=np.array([b"abc"] * 120))
    loader = hr.Loader(tmp_path / "a.h5", 60, shuffle=True, seed=5)
    for step in range(2):
        result = hr.replay(loader, epoch=3, step=step)
        told = result.to_dict()
        rows = [sample["row"] for sample in told["samples"]]
        for name, values in (("x", x), ("half", half)):
            want = values[rows].astype(np.float64)
            assert np.array_equal(loader.batch(3, step)[name], values[rows], equal_nan=True)
            finite = want[np.isfinite(want)]
            field = told["fields"][name]
            assert field["nan"] == np.isnan(want).sum()
            assert field["infinite"] == np.isinf(want).sum()
            assert field["least"] == finite.min()
            assert field["most"] == finite.max()
            assert field["mean"] == pytest.approx(finite.mean())
            odd = ~np.isfinite(want).all(axis=1)
            place = field["farthest_from_0"]["sample"]
            assert place == (np.argmax(odd) if odd.any() else np.abs(want).max(axis=1).argmax())
        assert told["fields"]["name"] == {"dtype": "S3", "shape": [60]}
        assert result.findings == (not np.isfinite(x[rows]).all())
    again = hr.replay(tmp_path / "a.h5", epoch=3, step=1, batch_size=60, shuffle=True, seed=5)
    assert again.to_dict() == told
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: {tmp_path / 'a.h5'}}}\nloader: {{batch_size: 60, shuffle: true, seed: 5}}\n"
    )
    assert hr.replay(tmp_path / "run.yaml", epoch=3, step=1).to_dict() == told
    with pytest.raises(TypeError):
        hr.replay(loader, epoch=0, step=0, batch_size=3)
