"""Windows: runs of consecutive rows as samples, through a loader and other faces, against NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from window_files import (
    SHAPES,
    begins,
    delivered,
    expected,
    sorted_rows,
    windows_of,
)

import headrace as hr

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_windows_are_numpys(corpus: str, shape: dict[str, Any]) -> None:
    data, want = windows_of(corpus, **shape), expected(**shape)
    assert len(data) == len(want)
    assert data.fields["corpus"].shape == want.shape[1:]
    assert data.fields["corpus"].dtype == np.uint16
    np.testing.assert_array_equal(data[:]["corpus"], want)
    np.testing.assert_array_equal(data[-1]["corpus"], want[-1])
    some = [len(want) - 1, 0, len(want) // 2, 0]
    np.testing.assert_array_equal(data[some]["corpus"], want[some])
    np.testing.assert_array_equal(data["corpus"][3:9], want[3:9])
    np.testing.assert_array_equal(np.stack([sample["corpus"] for sample in data]), want)
    assert [file.rows for file in data.files] == [sum(f == n for f, _ in begins(**shape)) for n in range(3)]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_epoch_has_each_window_once(corpus: str, shape: dict[str, Any], shuffle: Any, threads: int) -> None:
    want, places = expected(**shape), np.array(begins(**shape))
    loader = hr.Loader(
        windows_of(corpus, **shape), 13, shuffle=shuffle, threads=threads, seed=3, provenance=True, memory="8MiB"
    )
    epochs = []
    for _ in range(2):
        batches = list(loader)
        got, rows = delivered(batches), np.concatenate([batch["_rows"] for batch in batches])
        order = np.lexsort(rows.T[::-1])
        np.testing.assert_array_equal(rows[order], places)  # where each window begins
        np.testing.assert_array_equal(got[order], want)
        epochs.append(rows)
    assert (shuffle is False) == np.array_equal(epochs[0], epochs[1])
    assert shuffle is not False or np.array_equal(epochs[0], places)


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_ranks_share_the_windows(corpus: str, world_size: int) -> None:
    shape = {"length": 48, "stride": 7}
    loaders = [
        hr.Loader(windows_of(corpus, **shape), 8, shuffle=True, rank=rank, world_size=world_size, threads=1, tail=tail)
        for tail in ("partial",)
        for rank in range(world_size)
    ]
    got = np.concatenate([delivered(loader) for loader in loaders])
    np.testing.assert_array_equal(sorted_rows(got), sorted_rows(expected(**shape)))


@pytest.mark.parametrize(("world_size", "threads"), [(1, 1), (2, 4), (4, 1)])
def test_resumed_at_every_step(corpus: str, world_size: int, threads: int) -> None:
    data = windows_of(corpus, length=30, stride=20, lookahead=1)
    options: dict[str, Any] = {"shuffle": True, "seed": 9, "threads": threads, "world_size": world_size, "rank": 0}
    whole, states = [], []
    with hr.Loader(data, 9, **options) as loader:
        for _ in range(2):
            for batch in loader:
                whole.append(batch["corpus"])
                states.append(loader.state_dict())
        np.testing.assert_array_equal(loader.batch(1, 2)["corpus"], whole[len(whole) // 2 + 2])
    for step, state in enumerate(states):
        with hr.Loader(data, 9, **options) as loader:
            loader.load_state_dict(state)
            rest = [batch["corpus"] for _ in range(2) for batch in loader][: len(whole) - step - 1]
        np.testing.assert_array_equal(np.concatenate([*whole[: step + 1], *rest]), np.concatenate(whole))


def test_a_state_is_of_its_windows(corpus: str) -> None:
    data = hr.open(corpus)
    loader = hr.Loader(data.windows(32, stride=16), 8, shuffle=True)
    next(iter(loader))
    others = ({"length": 32, "stride": 15}, {"length": 31, "stride": 16}, {"length": 30, "stride": 16, "lookahead": 1})
    for other in (data, *(data.windows(**shape) for shape in others)):
        with pytest.raises(hr.Error):
            hr.Loader(other, 8, shuffle=True).load_state_dict(loader.state_dict())
    hr.Loader(data.windows(31, stride=16, lookahead=1), 8, shuffle=True).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_the_smallest_budget_is_enough(corpus: str, shuffle: Any) -> None:
    shape = {"length": 32, "lookahead": 1}
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=1000)
    least = caught.value.needed_bytes or 0
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=least - 1, threads=1)
    for threads in (1, 4):
        with hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=least, threads=threads) as loader:
            for _ in range(2):
                np.testing.assert_array_equal(sorted_rows(delivered(loader)), sorted_rows(expected(**shape)))


def test_several_fields(tmp_path: Path) -> None:
    """A signal: fields of other types and shapes, in chunks of other lengths."""
    rng = np.random.default_rng(1)
    ecg, beat = rng.normal(size=(5000, 2)).astype(np.float32), rng.integers(0, 5, 5000).astype(np.int8)
    with h5py.File(tmp_path / "ecg.h5", "w") as file:
        file.create_dataset("leads", data=ecg, chunks=(700, 2), compression="gzip")
        file.create_dataset("beat", data=beat, chunks=(900,))
    data = hr.open(tmp_path / "ecg.h5", fields=["leads", "beat"]).windows(500, stride=250)
    at = np.arange(0, 4501, 250)[:, None] + np.arange(500)
    batches = list(hr.Loader(data, 4, shuffle=False))
    np.testing.assert_array_equal(np.concatenate([b["leads"] for b in batches]), ecg[at])
    np.testing.assert_array_equal(np.concatenate([b["beat"] for b in batches]), beat[at])
    np.testing.assert_array_equal(data["leads"][:], ecg[at])


def test_tensors_and_batches_of_nothing_but_tokens(one: hr.Dataset) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    parts = one.windows(16, lookahead=1).split({"train": 0.9, "val": 0.1}, seed=0)
    for batch in hr.Loader(parts["train"], 8, shuffle=True, framework="torch"):
        x, y = batch["tokens"][:, :-1], batch["tokens"][:, 1:]
        assert x.shape[1] == 16
        assert torch.equal(x.to(torch.int64) + 1, y.to(torch.int64))


def test_a_run_file_has_windows(corpus: str, tmp_path: Path) -> None:
    for data, shape in (
        ("length: 32, lookahead: 1", {"length": 32, "lookahead": 1}),
        ("length: 48, stride: 7, across_files: true", {"length": 48, "stride": 7, "across_files": True}),
    ):
        (tmp_path / "run.yaml").write_text(
            f"data:\n  files: {corpus}\n  windows: {{{data}}}\nloader:\n  batch_size: 8\n  shuffle: true\n"
        )
        with hr.load_run(tmp_path / "run.yaml") as run, hr.Loader(windows_of(corpus, **shape), 8, shuffle=True) as own:
            for a, b in zip(run, own, strict=True):
                np.testing.assert_array_equal(a["corpus"], b["corpus"])
    (tmp_path / "run.yaml").write_text(
        f"data:\n  files: {corpus}\n  windows: {{length: 100}}\nloader: {{batch_size: 8}}\n"
    )
    with pytest.warns(hr.HeadraceWarning, match="1 of 3 files have fewer rows than a window"):
        hr.load_run(tmp_path / "run.yaml").close()
    for data, message in (
        ("lookahead: 1", "line 3: data.windows.length: missing"),
        ("length: 0", "data.windows.length must be a whole number of at least 1"),
        ("length: 8, stride: 0", "data.windows.stride must be a whole number of at least 1"),
        ("length: 8, lookahed: 1", "data.windows.lookahed: there is no such key.*lookahead"),
        ("length: 100000", "a window of 100,000 rows is longer than the data"),
    ):
        (tmp_path / "run.yaml").write_text(
            f"data:\n  files: {corpus}\n  windows: {{{data}}}\nloader: {{batch_size: 8}}\n"
        )
        with pytest.raises(hr.InvalidArgumentError, match=f"(?s){message}"):
            hr.load_run(tmp_path / "run.yaml")


def test_functions_and_weights_go_with_windows(one: hr.Dataset) -> None:
    data = one.windows(10).map(lambda batch: {"sum": batch["tokens"].astype(np.int64).sum(1)})
    got = np.concatenate([batch["sum"] for batch in hr.Loader(data, 7, shuffle=False)])
    np.testing.assert_array_equal(got, np.arange(1300).reshape(-1, 10).sum(1))
    weights = np.zeros(130)
    weights[[3, 77]] = 1
    drawn = np.concatenate(
        [batch["tokens"] for batch in hr.Loader(one.windows(10), 8, sampler=hr.Weighted(weights, num_samples=64))]
    )
    assert set(drawn[:, 0]) == {30, 770}
    np.testing.assert_array_equal(drawn, drawn[:, :1] + np.arange(10))
    rows = np.array([5, 4, 4, 129])
    listed = np.concatenate([batch["tokens"] for batch in hr.Loader(one.windows(10), 2, sampler=rows)])
    np.testing.assert_array_equal(listed[:, 0], 10 * rows)


def test_windows_are_shown(corpus: str) -> None:
    data = windows_of(corpus, length=32, stride=16, lookahead=1)
    text = repr(data)
    assert "windows of 32 + 1 rows every 16" in text, text
    assert "(33,)" in text
    explained = hr.Loader(data, 8).explain()
    assert "all rows, decoded" in explained
    assert "read when a batch first needs them" in explained
    tight = hr.Loader(data, 8, memory=hr.Loader(data, 8, cache="none").report().memory.planned_bytes).explain()
    assert ("windows are stored as they are delivered" in tight) == ("gzip" not in text), tight
    assert "not simply rows" not in hr.Loader(data, 8).explain() + repr(hr.Loader(data, 8)) + text
