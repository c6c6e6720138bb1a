"""``headrace.torch.DataLoader``: torch's arguments, with the meaning that users rely on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import headrace as hr

torch = pytest.importorskip("torch", reason="torch is not installed")
from headrace.torch import DataLoader, MapStyleDataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("error::headrace.HeadraceWarning")


def all_rows(loader) -> np.ndarray:
    return torch.cat([batch["labels"] for batch in loader]).numpy()


def test_delivers_each_row_once_as_tensors(jets) -> None:
    with DataLoader(jets.glob, batch_size=64, shuffle=True, num_workers=2, persistent_workers=True) as loader:
        first, second = all_rows(loader), all_rows(loader)
        assert sorted(first) == sorted(second) == sorted(jets.y)
        assert not np.array_equal(first, second)
        batch = next(iter(loader))
        assert batch["feature_matrix"].shape == (64, 8, 4) and batch["feature_matrix"].dtype == torch.float32
        assert np.array_equal(batch["feature_matrix"].numpy(), jets.x[batch["labels"].numpy()])
        assert (loader.batch_size, loader.num_workers, loader.drop_last) == (64, 0, False)  # no worker processes
        assert len(loader) == -(-len(jets.y) // 64) and isinstance(loader.dataset, hr.Dataset)


def test_without_arguments_samples_come_in_order_one_a_batch(jets) -> None:
    loader = DataLoader(jets.open())
    assert len(loader) == len(jets.y)
    rows = [int(batch["y"][0]) for _, batch in zip(range(70), loader, strict=False)]
    assert rows == list(range(70)) and loader.batch_size == 1


def test_without_batches_samples_come_without_an_axis(jets) -> None:
    loader = DataLoader(jets.open(), batch_size=None)
    samples = list(loader)
    assert len(samples) == len(loader) == len(jets.y)
    assert samples[3]["x"].shape == (8, 4) and samples[3]["y"].shape == ()
    assert [int(sample["y"]) for sample in samples] == list(jets.y)
    assert loader.batch_size is None and loader.batch_sampler is None
    doubled = DataLoader(jets.open(), batch_size=None, collate_fn=lambda sample: 2 * int(sample["y"]))
    assert [y for _, y in zip(range(5), doubled, strict=False)] == [0, 2, 4, 6, 8]
    assert loader.state_dict is None, "as a class has that cannot be hashed: Lightning does not ask it then"
    with pytest.raises(hr.InvalidArgumentError, match="single samples"):
        type("Mine", (DataLoader,), {})(jets.open(), batch_size=None).state_dict()
    with pytest.raises(hr.InvalidArgumentError, match="column_fn"):
        DataLoader(jets.open(), batch_size=None, column_fn=lambda batch: batch)


def test_single_samples_are_pickled_between_epochs_only(jets) -> None:
    """What unpickling goes on with is known in whole batches of the engine's: samples would be left out."""
    loader = DataLoader(jets.open(), batch_size=None)
    samples = iter(loader)
    assert int(next(samples)["y"]) == 0
    with pytest.raises(hr.InvalidArgumentError, match="single samples"):
        pickle.dumps(loader)
    for _ in samples:
        pass
    again = pickle.loads(pickle.dumps(loader))
    assert int(next(iter(again))["y"]) == 0 and len(list(again)) == len(jets.y)
    next(iter(loader))
    loader.load_state_dict({**loader.loader.state_dict(), "samples": 0})
    assert len(list(pickle.loads(pickle.dumps(loader)))) == len(jets.y)


@pytest.mark.parametrize("size", [1, 3])
def test_single_samples_of_a_rank_have_no_known_length(jets, size: int) -> None:
    loader = DataLoader(jets.open(), batch_size=None, rank=0, world_size=size)
    if size == 1:
        assert len(loader) == len(jets.y)
    else:
        with pytest.raises(TypeError, match="give batch_size"):
            len(loader)


def test_samplers_of_torch_and_of_headrace(jets) -> None:
    data = jets.open()
    order = torch.utils.data.RandomSampler(range(len(data)), generator=torch.Generator().manual_seed(3))
    expected = list(torch.utils.data.RandomSampler(range(len(data)), generator=torch.Generator().manual_seed(3)))
    rows = torch.cat([batch["y"] for batch in DataLoader(data, 50, sampler=order)])
    assert rows.tolist() == expected
    batches = [[5, 6], [1, 0], [9]]
    assert [batch["y"].tolist() for batch in DataLoader(data, batch_sampler=batches)] == batches
    weights = np.zeros(len(data))
    weights[7] = 1
    only = next(iter(DataLoader(data, 20, sampler=hr.Weighted(weights))))
    assert set(only["y"].tolist()) == {7}
    spread = torch.utils.data.DistributedSampler(range(len(data)), num_replicas=2, rank=1, shuffle=False)
    assert torch.cat([b["y"] for b in DataLoader(data, 50, sampler=spread)]).tolist() == list(spread)


def test_the_seed_is_the_generators(jets) -> None:
    def rows(**given) -> list[int]:
        return torch.cat([b["y"] for b in DataLoader(jets.open(), 32, shuffle=True, **given)]).tolist()

    assert rows(generator=torch.Generator().manual_seed(5)) == rows(seed=5) != rows(seed=6)
    assert rows() == rows(seed=0)
    assert rows(generator=torch.Generator().manual_seed(5), seed=6) == rows(seed=6)


def test_collate_fn_gets_samples_and_column_fn_columns(jets) -> None:
    seen = []

    def collate(samples):
        seen.append(samples)
        return torch.stack([sample["x"] for sample in samples])

    with pytest.warns(hr.HeadraceWarning, match="column_fn"):
        loader = DataLoader(jets.open(), 16, collate_fn=collate)
    batch = next(iter(loader))
    assert np.array_equal(batch.numpy(), jets.x[:16])
    assert isinstance(seen[0], list) and len(seen[0]) == 16 and seen[0][2]["y"] == 2
    assert loader.collate_fn is collate
    with pytest.warns(hr.HeadraceWarning, match="column_fn"):
        pairs = DataLoader(jets.open(), 16, batch_format="tuple", collate_fn=lambda samples: samples[1])
    x, _, y = next(iter(pairs))
    assert np.array_equal(x.numpy(), jets.x[1]) and y == 1
    named = DataLoader(jets.open(), 16, column_fn=lambda batch: (batch["x"].sum(), batch["y"]))
    total, labels = next(iter(named))
    assert labels.tolist() == list(range(16)) and total.shape == ()


def test_batches_are_tuples_in_field_order(jets) -> None:
    x, adj, y = next(iter(DataLoader(jets.open(), 8, batch_format="tuple")))
    assert (x.shape, adj.shape, y.tolist()) == ((8, 8, 4), (8, 10), list(range(8)))


def test_a_state_goes_on_at_the_next_batch(jets) -> None:
    def make():
        return DataLoader(jets.open(), 32, shuffle=True, seed=4)

    loader = make()
    whole = [batch["y"].tolist() for batch in make()]
    it = iter(loader)
    head = [next(it)["y"].tolist() for _ in range(5)]
    other = make()
    other.load_state_dict(loader.state_dict())
    assert head + [batch["y"].tolist() for batch in other] == whole
    again = make()
    again.set_epoch(1)
    assert [batch["y"].tolist() for batch in again] == [batch["y"].tolist() for batch in other]


def test_ranks_are_divided(jets) -> None:
    parts = [
        torch.cat([b["y"] for b in DataLoader(jets.open(), 16, shuffle=True, rank=rank, world_size=2)]).tolist()
        for rank in (0, 1)
    ]
    assert sorted(parts[0] + parts[1]) == sorted(jets.y)


def test_what_has_no_effect_is_said_in_the_log(jets, caplog) -> None:
    with caplog.at_level("INFO", logger="headrace"):
        loader = DataLoader(
            jets.open(),
            8,
            worker_init_fn=print,
            multiprocessing_context="spawn",
            prefetch_factor=4,
            pin_memory=True,
            pin_memory_device="cuda",
            in_order=False,
            snapshot_every_n_steps=7,
        )
    text = caplog.text
    assert "worker_init_fn is never called" in text and "multiprocessing_context" in text and "prefetch_factor" in text
    assert ("no accelerator" in text) == (not torch.accelerator.is_available())
    assert next(iter(loader))["y"].tolist() == list(range(8))


@pytest.mark.parametrize(
    "given",
    [
        {"num_workers": -1},
        {"timeout": -1},
        {"prefetch_factor": -1},
        {"sampler": [1, 2], "shuffle": True},
        {"batch_sampler": [[1]], "batch_size": 2},
        {"batch_sampler": [[1]], "shuffle": True},
        {"batch_sampler": [[1]], "drop_last": True},
        {"batch_sampler": [[1]], "sampler": [1]},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"batch_size": -3},
        {"drop_last": 2},
    ],
    ids=str,
)
def test_refuses_what_torch_refuses(jets, given) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(9))
    try:
        torch.utils.data.DataLoader(data, **{"num_workers": 1 if "prefetch_factor" in given else 0, **given})
        words = None  # torch lets it pass
    except ValueError as error:
        words = str(error)
    with pytest.raises(ValueError) as caught:
        DataLoader(jets.open(), **given)
    if words is not None and words.isascii() and "batch_size should be a positive" not in words:
        assert str(caught.value).startswith(words.split(";")[0].rstrip("."))


def test_unknown_arguments_name_their_replacement(jets) -> None:
    with pytest.raises(hr.UnknownArgumentError, match="Did you mean 'num_workers'"):
        DataLoader(jets.open(), numworkers=2)
    with pytest.raises(hr.InvalidArgumentError, match="must be a function"):
        DataLoader(jets.open(), column_fn=3)


def test_the_device_of_the_tensors(jets) -> None:
    batch = next(iter(DataLoader(jets.open(), 8, device="meta")))
    assert batch["x"].device.type == "meta" and batch["x"].shape == (8, 8, 4)
    x, _, _ = next(iter(DataLoader(jets.open(), 8, device="meta", batch_format="tuple")))
    assert x.device.type == "meta"


def test_other_data_sets_are_loaded_by_torch_with_a_warning() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(10))
    with pytest.warns(hr.HeadraceWarning, match="a call of Python for each sample"):
        loader = DataLoader(data, batch_size=4, drop_last=True, snapshot_every_n_steps=3)
    assert isinstance(loader, MapStyleDataLoader) and isinstance(loader, torch.utils.data.DataLoader)
    assert [batch[0].tolist() for batch in loader] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    with pytest.warns(hr.HeadraceWarning):
        assert len(DataLoader(data, 5, None, None, None, None)) == 2  # num_workers=None
    for given in ({"memory": "1GiB"}, {"column_fn": print}, {"seed": None}):
        with pytest.raises(hr.InvalidArgumentError, match="needs a data set of headrace's"):
            DataLoader(data, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"num_workers": "8"},
        {"num_workers": 1.5},
        {"prefetch_factor": "2"},
        {"timeout": None},
        {"timeout": "5"},
        {"timeout": float("nan")},
        {"generator": 7},
        {"seed": "x"},
        {"seed": 1.7},
        {"seed": [1]},
        {"device": "cupboard"},
        {"device": 1.5},
        {"batch_sampler": [1, 2]},
        {"batch_sampler": np.arange(4)},
        {"sampler": torch.tensor(3)},
    ],
    ids=str,
)
def test_values_of_a_wrong_kind_name_their_argument(jets, given) -> None:
    [name] = given
    with pytest.raises(hr.InvalidArgumentError, match=name):
        DataLoader(jets.open(), **given)


def test_pickles_with_its_place(jets) -> None:
    loader = DataLoader(jets.open(), 8, shuffle=True, seed=5, timeout=60)
    batches = iter(loader)
    next(batches)
    again = pickle.loads(pickle.dumps(loader))
    assert again.batch_size == 8 and again.loader._options["timeout"] == 60
    torch.testing.assert_close(next(iter(again)), next(batches))
    loader.close()
    next(iter(again))


def test_a_part_of_a_data_set_that_torch_made_is_told_how_to_stay_fast(jets) -> None:
    with pytest.warns(hr.HeadraceWarning, match=r"a Subset is loaded by torch's own.*dataset\.select\(rows\)"):
        DataLoader(torch.utils.data.Subset(jets.open(), range(10)), 5)
    with DataLoader(jets.open().select(range(10)), 5) as loader:
        assert len(list(loader)) == 2
        assert loader.report().samples == 10 and "threads" in loader.explain()
