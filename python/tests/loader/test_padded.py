"""layout="padded": ragged samples as one dense array with a mask, against a loop over the ragged ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

LENGTHS = np.array([3, 0, 1, 17, 2, 2, 5, 1, 40, 9, 4, 1, 6])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("padded")
    rows, random = int(LENGTHS.sum()), np.random.default_rng(3)
    np.savez(
        folder / "events.npz",
        time=random.random(rows).astype(np.float32) + 1,
        hit=random.integers(1, 200, (rows, 3)).astype(np.uint8),
        seen=np.ones(rows, bool),
        label=np.arange(len(LENGTHS)),
        offsets=np.concatenate(([0], np.cumsum(LENGTHS))),
    )
    return str(folder / "events.npz")


def opened(files: str, *fields: str) -> hr.Dataset:
    return hr.open(
        files, list(fields or ("time", "hit", "seen")), sample_by=hr.Spans(offsets="offsets"), targets=["label"]
    )


@pytest.mark.parametrize("fill", [0, -1, 7.5, float("nan")])
@pytest.mark.parametrize("threads", [1, 3])
def test_samples_are_filled_up_to_the_longest(files: str, threads: int, fill: float) -> None:
    data = opened(files, "time")
    events = {int(event["label"]): event["time"] for event in data}
    with hr.Loader(data, 4, shuffle=True, seed=5, threads=threads, layout="padded", fill=fill) as loader:
        for _ in range(2):
            seen: list[int] = []
            for batch in loader:
                labels = batch["label"].tolist()
                lengths = LENGTHS[labels]
                assert list(batch) == ["time", "label", "mask", "lengths"]
                assert batch["lengths"].dtype == np.int64
                assert batch["lengths"].tolist() == lengths.tolist()
                want = np.full((len(labels), lengths.max()), fill, np.float32)
                for row, label in enumerate(labels):
                    want[row, : lengths[row]] = events[label]
                assert batch["time"].dtype == np.float32
                assert np.array_equal(batch["time"], want, equal_nan=True)
                assert batch["mask"].dtype == bool
                assert np.array_equal(batch["mask"], np.arange(lengths.max()) < lengths[:, None])
                seen += labels
            assert sorted(seen) == list(range(len(LENGTHS)))


def test_rows_of_several_values_and_other_types(files: str) -> None:
    data = opened(files)
    events = list(data)
    with hr.Loader(data, 5, layout="padded", fill=0, batch_format="tuple", provenance=True) as loader:
        for time, hit, seen, label, mask, lengths, _ in loader:
            assert time.shape == mask.shape == seen.shape == (len(label), lengths.max())
            assert hit.shape == (*mask.shape, 3)
            for row, number in enumerate(label):
                n = int(lengths[row])
                assert np.array_equal(hit[row, :n], events[number]["hit"])
                assert not hit[row, n:].any()
                assert seen[row].tolist() == mask[row].tolist()


def test_the_same_for_any_batch_again_and_after_resuming(files: str) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 4, "layout": "padded", "fill": -2}
    loader = hr.Loader(opened(files, "time"), 3, **options)
    whole, states = [], []
    for batch in loader:
        whole.append(batch)
        states.append(loader.state_dict())
    for step, state in enumerate(states[:-1]):
        again = loader.batch(0, step)
        rest = hr.Loader(opened(files, "time"), 3, **options)
        rest.load_state_dict(state)
        following = next(iter(rest))
        for name in whole[step]:
            assert np.array_equal(again[name], whole[step][name]), name
            assert np.array_equal(following[name], whole[step + 1][name]), name


def test_torch_gets_it_too(files: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = next(iter(hr.Loader(opened(files), 4, layout="padded", framework="torch")))
    assert batch["time"].shape == (4, 17)
    assert batch["mask"].dtype == torch.bool
    assert batch["hit"].shape == (4, 17, 3)


def test_batches_of_empty_samples(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", x=np.arange(3.0), offsets=np.array([0, 0, 0, 3, 3]))
    data = hr.open(tmp_path / "e.npz", ["x"], sample_by=hr.Spans(offsets="offsets"))
    batches = list(hr.Loader(data, 2, layout="padded"))
    assert [batch["x"].shape for batch in batches] == [(2, 0), (2, 3)]
    assert [batch["mask"].shape for batch in batches] == [(2, 0), (2, 3)]
    assert batches[1]["lengths"].tolist() == [3, 0]


def long_tailed(folder: Path, number: int = 400) -> hr.Dataset:
    """Return events of 0 to some hundred rows; ``number`` says which event it is."""
    lengths = np.random.default_rng(5).geometric(0.03, number) - 1
    numbers = np.repeat(np.arange(number), lengths)
    np.savez(folder / "tail.npz", x=numbers.astype(np.int32), at=np.concatenate(([0], np.cumsum(lengths))))
    return hr.open(folder / "tail.npz", ["x"], sample_by=hr.Spans(offsets="at"))


@pytest.mark.parametrize("options", [{"shuffle": True, "seed": 3}, {}], ids=["shuffled", "in order"])
def test_a_budget_of_rows_counts_padding(tmp_path: Path, options: dict[str, Any]) -> None:
    data = long_tailed(tmp_path)
    lengths = data.lengths()
    budget = int(lengths.max()) * 3
    with hr.Loader(data, batch=hr.ByTokens(budget), layout="padded", fill=-1, **options) as loader:
        for _ in range(2):
            steps = len(loader)  # of the next epoch
            batches = list(loader)
            assert len(batches) == steps
            assert all(batch["x"].size <= budget for batch in batches)
            delivered = np.concatenate([batch["lengths"] for batch in batches])
            assert sorted(delivered.tolist()) == sorted(lengths.tolist())
            for batch in batches:
                x, mask = batch["x"], batch["mask"]
                assert x.shape == mask.shape == (len(batch["lengths"]), int(batch["lengths"].max()))
                assert (x[~mask] == -1).all()
                assert all(len(set(row[real])) <= 1 for row, real in zip(x, mask, strict=True))
            real = sum(int(batch["mask"].sum()) for batch in batches)
            padded = sum(batch["x"].size for batch in batches)
            assert not options or real / padded > 0.85  # like lengths come together
    with hr.Loader(data, batch=hr.ByTokens(budget), **options) as ragged:  # the budget is full without padding
        assert len(ragged) < len(batches)


def test_a_padded_budget_on_ranks_after_resuming_and_in_the_least_memory(tmp_path: Path) -> None:
    data = long_tailed(tmp_path)
    options: dict[str, Any] = {"batch": hr.ByTokens(600, lanes=2), "layout": "padded", "shuffle": True, "seed": 1}
    ranks = [list(hr.Loader(data, rank=rank, world_size=2, **options)) for rank in range(2)]
    assert len(ranks[0]) == len(ranks[1])
    assert all(batch["x"].size <= 600 for batches in ranks for batch in batches)
    rows = sum(int(batch["lengths"].sum()) for batches in ranks for batch in batches)
    assert rows == data.lengths().sum()

    whole = hr.Loader(data, **options)  # both lanes
    states, batches = [], []
    for batch in whole:
        batches.append(batch)
        states.append(whole.state_dict())
    rest = hr.Loader(data, **options)
    rest.load_state_dict(states[4])
    for mine, its in zip(batches[5:], rest, strict=True):
        assert np.array_equal(mine["x"], its["x"])

    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(data, memory=1, **options)
    with hr.Loader(data, memory=caught.value.needed_bytes, **options) as least:
        for mine, its in zip(batches, least, strict=True):
            assert np.array_equal(mine["x"], its["x"])


def partners(batches: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """Return the pairs of events that are in one batch; those without rows do not say which they are."""
    pairs = set()
    for batch in batches:
        events = sorted(int(row[real][0]) for row, real in zip(batch["x"], batch["mask"], strict=True) if real.any())
        pairs |= {(a, b) for k, a in enumerate(events) for b in events[k + 1 :]}
    return pairs


def test_events_meet_others_of_their_length_in_each_epoch(tmp_path: Path) -> None:
    """Also where one window of steps holds all of them."""
    lengths = np.arange(50, 450)  # each another
    numbers = np.repeat(np.arange(len(lengths)), lengths).astype(np.int32)
    np.savez(tmp_path / "apart.npz", x=numbers, at=np.concatenate(([0], np.cumsum(lengths))))
    data = hr.open(tmp_path / "apart.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    with hr.Loader(data, batch=hr.ByTokens(3000), layout="padded", shuffle=True, fill=-1) as loader:
        first, second = (partners(list(loader)) for _ in range(2))
    assert len(first & second) / len(first) < 0.5


def test_a_padded_budget_is_planned_by_what_batches_have(tmp_path: Path) -> None:
    lengths = np.full(400, 20)
    lengths[7] = 200_000  # alone in its batch
    np.savez(tmp_path / "one.npz", x=np.ones((int(lengths.sum()), 4)), at=np.concatenate(([0], np.cumsum(lengths))))
    data = hr.open(tmp_path / "one.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    budget = hr.ByTokens(2048, too_long="alone")
    with hr.Loader(data, batch=budget, layout="padded", shuffle=True, memory="1GiB") as loader:
        planned = loader.report().memory.planned_bytes
        delivered = [batch["x"].shape for batch in loader]
        report = loader.report()
    assert (1, 200_000, 4) in delivered
    assert planned < 10 * 200_000 * 32  # some of the largest, not one for each batch
    assert report.tokens == sum(samples * width for samples, width, _ in delivered)
    rest = data.select(data.lengths() < 100)
    with hr.Loader(rest, batch=hr.ByTokens(2**31 - 1), layout="padded", memory="1GiB") as loader:
        assert len(next(iter(loader))["lengths"]) == 399  # a budget that the data cannot fill


def test_batches_of_like_lengths_are_planned_smaller_than_those_in_file_order(tmp_path: Path) -> None:
    """In file order most batches of 8 have a long event, so that all are padded to it."""
    lengths = np.tile([10, 10, 10, 10, 1000], 200)
    np.savez(tmp_path / "mixed.npz", x=np.ones((int(lengths.sum()), 4)), at=np.concatenate(([0], np.cumsum(lengths))))
    data = hr.open(tmp_path / "mixed.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    planned = []
    for shuffle in (True, False):
        with hr.Loader(data, batch=hr.ByTokens(100_000, max_samples=8), layout="padded", shuffle=shuffle) as loader:
            planned.append(loader.report().memory.slot_bytes)
    assert planned[0] < planned[1] / 2, planned


def test_order_says_that_like_lengths_are_taken_out_of_a_shuffle_alone(files: str) -> None:
    options: dict[str, Any] = {"batch": hr.ByTokens(2000), "layout": "padded"}
    shuffled, listed = (str(hr.tools.order(opened(files), shuffle=shuffle, **options)) for shuffle in (True, False))
    assert "samples of like lengths" in shuffled.replace("\n", " ")
    assert "like lengths" not in listed


def test_replay_sees_all_of_a_padded_batch(tmp_path: Path) -> None:
    values = np.arange(10, dtype=np.float32)
    values[9] = np.nan  # the last of the longest
    np.savez(tmp_path / "nan.npz", x=values, at=np.array([0, 3, 4, 10]))
    data = hr.open(tmp_path / "nan.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    with hr.Loader(data, 3, layout="padded") as loader:
        field = hr.replay(loader, epoch=0, step=0).to_dict()["fields"]["x"]
    assert (field["shape"], field["nan"], field["farthest_from_0"]["sample"]) == ([3, 6], 1, 2)


def test_what_is_refused(files: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="no field is ragged"):
        hr.Loader(hr.open(files, ["time"]), 4, layout="padded")
    with pytest.raises(hr.InvalidArgumentError, match=r"fill= .* layout='padded'"):
        hr.Loader(opened(files), 4, fill=1)
    with pytest.raises(hr.InvalidArgumentError, match="layout"):
        hr.Loader(opened(files), 4, layout="square")
    for fill, field in ((300, "hit"), (0.5, "hit"), (float("nan"), "hit"), (2, "seen")):
        with pytest.raises(hr.InvalidArgumentError, match=f"fill=.*{field}"):
            hr.Loader(opened(files, field), 4, layout="padded", fill=fill)
    clash = hr.open(files, {"mask": "time"}, sample_by=hr.Spans(offsets="offsets"))
    with pytest.raises(hr.InvalidArgumentError, match="the data has a field named mask"):
        hr.Loader(clash, 4, layout="padded")


def test_a_sample_too_long_for_the_budget(tmp_path: Path) -> None:
    lengths = np.ones(200, int)
    lengths[123] = 50_000
    np.savez(tmp_path / "long.npz", x=np.ones((int(lengths.sum()), 4)), at=np.concatenate(([0], np.cumsum(lengths))))
    data = hr.open(tmp_path / "long.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    with pytest.raises(hr.OutOfBudgetError, match=r"sample 123 has 50,000 rows") as caught:
        hr.Loader(data, 64, layout="padded", memory="64MiB")
    least = caught.value.needed_bytes or 0
    with hr.Loader(data, 64, layout="padded", memory=least) as loader:
        assert sum(int(batch["lengths"].sum()) for batch in loader) == lengths.sum()
