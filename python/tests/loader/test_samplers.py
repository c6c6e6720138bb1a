"""Samplers of one's own: weights, balanced classes, iterables, torch's."""

from __future__ import annotations

import json
import pickle
import re

import h5py
import numpy as np
import pytest

import headrace as hr


def rows_of(loader: hr.Loader) -> list[int]:
    return [row for batch in loader for row in batch["y"].tolist()]


def test_any_iterable_of_rows_and_slices(jets) -> None:
    data = jets.open()
    for sampler in ([7, 3, 3, 600], np.array([7, 3, 3, 600]), (7, slice(3, 4), slice(3, 4), 600)):
        assert rows_of(hr.Loader(data, 3, sampler=sampler)) == [7, 3, 3, 600]
    assert rows_of(hr.Loader(data, 3, sampler=range(600, 100, -50))) == list(range(600, 100, -50))


def test_batch_samplers(jets) -> None:
    loader = hr.Loader(jets.open(), batch_sampler=[[5, 4], [3, 2], [1]])
    assert [batch["y"].tolist() for batch in loader] == [[5, 4], [3, 2], [1]]
    assert len(loader) == 3
    assert [batch["y"].tolist() for batch in hr.Loader(jets.open(), batch_sampler=UNEVEN)] == UNEVEN


UNEVEN = [[5, 4], [3, 2, 1], [9], [600, 4, 4, 77], [0, 1], list(range(100, 40, -1)), [7]]


def batches_of(loader) -> list[list[int]]:
    return [batch["y"].tolist() for batch in loader]


@pytest.mark.parametrize("batches", [UNEVEN, [[5], [3, 2, 1]], [[k] * (k % 7 + 1) for k in range(300)]], ids=len)
def test_batches_of_different_sizes_resume_anywhere(jets, batches) -> None:
    data = jets.open()
    loader = hr.Loader(data, batch_sampler=batches, threads=3)
    assert len(loader) == len(batches)
    assert loader.batch_size == max(map(len, batches))
    assert batches_of(loader) == batches_of(loader) == batches  # a second epoch too
    assert [list(step) for step in loader.batch_sampler] == batches
    for step in range(0, len(batches), max(1, len(batches) // 9)):
        assert loader.batch(1, step)["y"].tolist() == batches[step]
        taken = hr.Loader(data, batch_sampler=batches)
        live = iter(taken)
        for _ in range(step):
            next(live)
        state = taken.state_dict()
        assert len(json.dumps(state)) < 200
        assert state["samples"] == sum(map(len, batches[:step]))
        other = hr.Loader(data, batch_sampler=batches, threads=1)
        other.load_state_dict(state)
        assert [list(rows) for rows in other.batch_sampler] == batches[step:]
        assert batches_of(other) == batches[step:]
        assert batches_of(pickle.loads(pickle.dumps(taken))) == batches[step:]


class OtherBatches:
    """Other batches in each epoch: of other sizes, and more of them."""

    def __init__(self) -> None:
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __iter__(self):
        sizes = [[2, 3, 1], [1, 1, 4], [3, 3], [6], [1, 9, 2], [1, 2, 3]][self.epoch % 6]
        return iter([list(range(10 * k, 10 * k + size)) for k, size in enumerate(sizes)])


def test_epochs_of_a_batch_sampler_may_have_other_batches(jets) -> None:
    data, sampler = jets.open(), OtherBatches()
    want = []
    for epoch in range(6):
        sampler.set_epoch(epoch)
        want.append(list(iter(sampler)))
    loader = hr.Loader(data, batch_sampler=OtherBatches())
    for epoch in range(6):
        loader.set_epoch(epoch)
        live = iter(loader)
        assert len(loader) == len(want[epoch])
        assert batches_of(live) == want[epoch]
        assert loader.batch(3, 0)["y"].tolist() == want[3][0]
    for epoch in (1, 4):
        loader.set_epoch(epoch)
        next(iter(loader))
        state = loader.state_dict()
        other = hr.Loader(data, batch_sampler=OtherBatches())
        other.load_state_dict(state)
        assert batches_of(other) == want[epoch][1:]
        assert batches_of(other) == want[epoch + 1]


def test_states_are_of_the_same_batches(jets) -> None:
    data = jets.open()
    loader = hr.Loader(data, batch_sampler=[[1, 2], [3]])
    next(iter(loader))
    state = loader.state_dict()
    for other in (
        hr.Loader(data, batch_sampler=[[1], [2, 3]]),
        hr.Loader(data, batch_sampler=[[1, 2], [4]]),
        hr.Loader(data, 2, sampler=[1, 2, 3]),
    ):
        with pytest.raises(hr.InvalidArgumentError, match="does not fit"):
            other.load_state_dict(state)


def test_a_batch_sampler_is_the_ranks_own(jets, monkeypatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert batches_of(hr.Loader(jets.open(), batch_sampler=UNEVEN)) == UNEVEN
    for words in ({"rank": 0, "world_size": 1}, {}):
        assert batches_of(hr.Loader(jets.open(), batch_sampler=UNEVEN, **words)) == UNEVEN


def test_wrong_batches_are_refused_by_name(jets) -> None:
    data = jets.open()
    for batches, words in (([[1], [], [2]], "batch 1 .* empty"), ([[1], [10**6]], "row 1000000"), ([[1], 2], "lists")):
        with pytest.raises(hr.InvalidArgumentError, match=words):
            hr.Loader(data, batch_sampler=batches)


def test_samplers_of_torch(jets) -> None:
    torch = pytest.importorskip("torch")
    data = jets.open()
    total = len(data)
    loader = hr.Loader(data, 50, sampler=torch.utils.data.RandomSampler(range(total)))
    first, second = rows_of(loader), rows_of(loader)
    assert sorted(first) == sorted(second) == list(range(total))
    assert first != second
    distributed = torch.utils.data.DistributedSampler(range(total), num_replicas=2, rank=1, seed=3)
    loader = hr.Loader(data, 50, sampler=distributed)
    assert rows_of(loader) == list(distributed)
    loader.set_epoch(5)
    got = rows_of(loader)
    distributed.set_epoch(5)
    assert got == list(distributed)


class PerEpoch:
    """Other rows in each epoch, as a sampler of torch gives them."""

    def __init__(self, total: int) -> None:
        self.total, self.epoch = total, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        return iter(np.roll(np.arange(self.total), -16 * self.epoch).tolist())


def test_reports_add_up_over_epochs_of_a_sampler(tmp_path) -> None:
    rows = 8192
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(rows), chunks=(16,), compression="gzip")
    loader = hr.Loader(tmp_path / "a.h5", 64, sampler=PerEpoch(rows), cache="none")
    for epoch in range(3):
        got = np.concatenate([batch["x"] for batch in loader])
        assert np.array_equal(got, np.roll(np.arange(rows), -16 * epoch))
        assert loader.report().to_dict()["chunks_decoded"] == 512 * (epoch + 1)
    assert "replanned" not in loader.explain()


def test_resume_between_epochs_of_a_sampler(jets) -> None:
    data = jets.open()
    loader = hr.Loader(data, 50, sampler=PerEpoch(len(data)))
    rows_of(loader)
    again = hr.Loader(data, 50, sampler=PerEpoch(len(data)))
    again.load_state_dict(loader.state_dict())
    assert rows_of(again) == np.roll(np.arange(len(data)), -16).tolist()


def test_resume_in_a_list(jets) -> None:
    data = jets.open()
    rows = np.random.default_rng(1).integers(0, len(data), 500)
    loader = hr.Loader(data, 32, sampler=rows)
    batches = iter(loader)
    seen = [row for _ in range(5) for row in next(batches)["y"].tolist()]
    state = json.loads(json.dumps(loader.state_dict()))
    again = hr.Loader(data, 32, sampler=rows)
    again.load_state_dict(state)
    assert seen + rows_of(again) == rows.tolist()
    assert rows_of(pickle.loads(pickle.dumps(loader))) == rows.tolist()[160:]
    with pytest.raises(hr.InvalidArgumentError, match="order"):
        hr.Loader(data, 32, sampler=rows[::-1]).load_state_dict(state)


def test_weights(jets) -> None:
    data = jets.open()
    weights = np.zeros(len(data))
    weights[10], weights[20] = 1, 3
    rows = rows_of(hr.Loader(data, 100, sampler=hr.Weighted(weights, num_samples=4000), seed=2))
    assert set(rows) == {10, 20}
    assert abs(rows.count(20) - 3000) < 200
    assert sorted(rows_of(hr.Loader(data, 100, sampler=hr.Weighted(weights, replacement=False)))) == [10, 20]


def test_balanced_classes(tmp_path) -> None:
    random = np.random.default_rng(0)
    classes = random.choice(5, 2000, p=[0.8, 0.1, 0.05, 0.03, 0.02])
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("y", data=classes.astype(np.int32), chunks=(100,))
        file.create_dataset("onehot", data=np.eye(5, dtype=np.float32)[classes], chunks=(100, 5))
    for by in ("y", "onehot"):
        loader = hr.Loader(tmp_path / "a.h5", 50, sampler=hr.Balanced(by))
        counts = [np.bincount(batch["y"], minlength=5).tolist() for batch in loader]
        assert counts == [[10] * 5] * 40


def test_ranks_divide_a_sampler(jets) -> None:
    data = jets.open()
    rows = list(range(0, 600, 3))
    parts = [rows_of(hr.Loader(data, 10, sampler=rows, rank=r, world_size=2)) for r in range(2)]
    assert sorted(parts[0] + parts[1]) == rows


def test_a_block_longer_than_a_stream_is_named(jets) -> None:
    with pytest.warns(hr.HeadraceWarning, match=r"largest block has \d+ rows and a stream only"):
        loader = hr.Loader(jets.open(), 20, shuffle=True, shuffle_buffer=hr.ShuffleShape(streams=64, pool_blocks=1))
    assert "WARNING" in loader.explain()
    assert sorted(rows_of(loader)) == list(range(len(jets)))


@pytest.fixture(scope="module")
def ten_blocks(tmp_path_factory: pytest.TempPathFactory) -> tuple[hr.Dataset, list[int]]:
    """Rows that know their number, and where their blocks end."""
    path = tmp_path_factory.mktemp("blocks") / "a.h5"
    with h5py.File(path, "w") as file:
        rows = np.repeat(np.arange(640, dtype=np.float32), 1024).reshape(640, 1024)
        file.create_dataset("x", data=rows, chunks=(10, 1024), compression="gzip")
    data, ends = hr.open(path), [0]
    while ends[-1] < len(data):
        ends.append(data._native.block_end(ends[-1]))
    assert len(ends) == 11
    return data, ends[1:]


@pytest.mark.parametrize("world", [2, 3, 4])
@pytest.mark.parametrize("streams", [1, 2, 3, 4, 6, 8])
def test_decodes_over_ranks_are_told(ten_blocks, world: int, streams: int) -> None:
    """A block is decoded by each rank that gets a row of it; streams of an even division share borders only."""
    data, ends = ten_blocks
    shape = hr.ShuffleShape(streams=streams, pool_blocks=1)
    decodes = 0
    for rank in range(world):
        loader = hr.Loader(data, 12 // world, shuffle=True, rank=rank, world_size=world, shuffle_buffer=shape)
        rows = np.concatenate([batch["x"][:, 0] for batch in loader])
        decodes += len(np.unique(np.searchsorted(ends, rows, side="right")))
    told = re.search(r"over ranks +a block is decoded by ([\d.]+) of the (\d) ranks", loader.explain())
    assert told is not None
    # Where streams are divided, the last step of an epoch may take a row of one that the rank else has none of.
    off = 5e-4 if streams % world == 0 else 1.0005 / len(ends)
    assert (float(told[1]), int(told[2])) == (pytest.approx(decodes / len(ends), abs=off), world)
    if streams % world == 0:
        assert decodes <= len(ends) + streams


class Learner:
    """Gives rows whose number depends on what was delivered before."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.given: list[int] = []
        self.delivered: list[int] = []

    def __len__(self) -> int:
        return self.rows

    def __iter__(self):
        for i in range(self.rows):
            row = (7 * i + sum(self.delivered)) % 633
            self.given.append(row)
            yield row


@pytest.mark.parametrize("lookahead", [1, 3])
def test_a_sampler_that_learns(jets, lookahead) -> None:
    sampler = Learner(95)
    loader = hr.Loader(jets.open(), 10, sampler=sampler, lookahead=lookahead)
    assert len(loader) == 10
    for _ in range(2):
        sampler.given, sampler.delivered = [], []
        for step, batch in enumerate(loader):
            assert len(sampler.given) == min(95, 10 * (step + lookahead))
            assert batch["y"].tolist() == sampler.given[10 * step : 10 * step + 10]
            assert jets.equals(batch, batch["y"])
            sampler.delivered += batch["y"].tolist()
        assert sampler.delivered == sampler.given


def test_a_sampler_that_learns_is_divided_over_ranks(jets) -> None:
    ranks = [hr.Loader(jets.open(), 5, sampler=Learner(35), lookahead=2, rank=r, world_size=2) for r in range(2)]
    got = [[batch["y"].tolist() for batch in rank] for rank in ranks]
    assert [row for pair in zip(*got, strict=True) for part in pair for row in part] == [7 * i % 633 for i in range(35)]


def test_limits_of_samplers_that_learn(jets) -> None:
    data = jets.open()
    for words in (
        {"sampler": iter([1, 2])},
        {"sampler": hr.Weighted([1.0] * 633)},
        {},
        {"sampler": [1], "lookahead": 0},
    ):
        with pytest.raises(hr.InvalidArgumentError, match=r"lookahead|once only"):
            hr.Loader(data, 5, **{"lookahead": 1, **words})

    class Short(Learner):
        def __len__(self) -> int:
            return self.rows + 1

    with pytest.raises(hr.InvalidArgumentError, match=r"gave 20 rows, and its len\(\) is 21"):
        list(hr.Loader(data, 10, sampler=Short(20), lookahead=1))
    with pytest.raises(hr.InvalidArgumentError, match="row 633"):
        list(hr.Loader(data, 10, sampler=[5, 633], lookahead=1))
    loader = hr.Loader(data, 10, sampler=Learner(40), lookahead=1)
    batches = iter(loader)
    next(batches)
    with pytest.warns(hr.HeadraceWarning, match="cannot be loaded"):
        state = loader.state_dict()
    with pytest.raises(hr.InvalidArgumentError, match="cannot be resumed in its middle"):
        loader.load_state_dict(state)
    copy = hr.Loader(data, 10, sampler=Learner(40), lookahead=1)
    copy.load_state_dict({**state, "epoch": 3, "samples": 0})
    assert len(list(copy)) == 4


def test_an_epoch_number_that_is_started_again_asks_again(jets) -> None:
    class Changing(Learner):
        def __iter__(self):
            self.shift = getattr(self, "shift", 0) + 1
            return (i + 100 * self.shift for i in range(self.rows))

    sampler = Changing(40)
    loader = hr.Loader(jets.open(), 10, sampler=sampler, lookahead=3, threads=3)
    for round_ in range(1, 6):
        loader.set_epoch(0)
        batches = iter(loader)
        got = [next(batches)["y"].tolist() for _ in range(1 + round_ % 4)]
        assert sum(got, []) == [100 * round_ + i for i in range(10 * len(got))]  # noqa: RUF017


def test_a_second_iterator_ends_the_first_and_loses_nothing(jets) -> None:
    loader = hr.Loader(jets.open(), 4, sampler=Learner(20), lookahead=2)
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(hr.ClosedError):
        next(first)
    assert [row for batch in second for row in batch["y"].tolist()] == [7 * i % 633 for i in range(20)]


def test_what_a_sampler_that_learns_may_not_do(jets) -> None:
    data = jets.open()
    sampler = Learner(40)
    loader = hr.Loader(data, 10, sampler=sampler, lookahead=1)
    with pytest.raises(hr.InvalidArgumentError, match="the order is not known beforehand"):
        loader.order_report()
    sampler.rows = 20
    with pytest.raises(hr.InvalidArgumentError, match=r"was 40 .* now 20"):
        iter(loader)
    with pytest.raises(hr.InvalidArgumentError, match="not slices"):
        list(hr.Loader(data, 10, sampler=[slice(0, 20), slice(100, 120)], lookahead=1))

    class Long(Learner):
        def __len__(self) -> int:
            return self.rows - 1

    with pytest.raises(hr.InvalidArgumentError, match=r"more rows than its len\(\), 19"):
        list(hr.Loader(data, 10, sampler=Long(20), lookahead=1))
    loader = hr.Loader(data, 10, sampler=Learner(40), lookahead=1)
    state = loader.state_dict()
    batches = iter(loader)
    next(batches)
    with pytest.warns(hr.HeadraceWarning, match="cannot be loaded"):
        loader.state_dict()
    loader.load_state_dict(state)
    with pytest.raises(hr.ClosedError):
        next(batches)
    assert len(list(loader)) == 4


def test_a_report_may_be_asked_while_the_loader_is_remade(run_python) -> None:
    run_python("""
        import threading

        class Rows:
            def __iter__(self):
                self.n = getattr(self, "n", 0) + 1
                return iter([self.n % 50, 1, 2, 3])

        loader = hr.Loader(hr.open(PATHS), 2, sampler=Rows(), memory="8MiB")
        done = threading.Event()
        def watch():
            while not done.is_set():
                str(loader.report()), loader.explain()
        threads = [threading.Thread(target=watch) for _ in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            for batch in loader:
                pass
        done.set()
        for thread in threads:
            thread.join()
    """)


@pytest.mark.parametrize("arguments", [{"batch_size": 10, "sampler": []}, {"batch_sampler": []}])
def test_a_sampler_without_rows_is_told_what_is_expected(jets, arguments) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="gave no rows; at least one number") as caught:
        next(iter(hr.Loader(jets.open(), **arguments)))
    assert "iterated" in caught.value.hint
