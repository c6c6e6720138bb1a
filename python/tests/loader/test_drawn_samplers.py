"""When samplers are asked for their rows, and for how many."""

from __future__ import annotations

import pickle
import random

import pytest

import headrace as hr


def rows_of(loader: hr.Loader) -> list[int]:
    return [row for batch in loader for row in batch["y"].tolist()]


class Drawn:
    """A sampler that draws its rows, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __len__(self) -> int:
        return 100

    def __iter__(self):
        self.asked += 1
        return iter(random.sample(range(633), 100))


@pytest.mark.parametrize("face", ["Loader", "DataLoader"])
def test_a_sampler_draws_when_an_epoch_begins(jets, face: str) -> None:
    """As in torch: making a loader draws nothing, and what is drawn follows from the random numbers of ``iter()``."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from headrace.torch import DataLoader

    sampler = Drawn()
    random.seed(1)
    loader = (
        hr.Loader(jets.open(), 10, sampler=sampler)
        if face == "Loader"
        else DataLoader(jets.open(), 10, sampler=sampler)
    )
    assert (len(loader), loader.batch_size, sampler.asked) == (10, 10, 0)
    again = pickle.loads(pickle.dumps(loader))
    assert again.sampler.asked == 0
    random.seed(7)
    want = random.sample(range(633), 100)
    random.seed(7)
    assert rows_of(loader) == want and sampler.asked == 1
    if face == "DataLoader":

        def of(make) -> tuple[list[int], float]:
            torch.manual_seed(0)
            made = make(sampler=torch.utils.data.RandomSampler(range(633)))
            before = torch.rand(1).item()
            torch.manual_seed(9)
            return [int(y) for batch in made for y in (batch["y"] if isinstance(batch, dict) else batch)], before

        ours = of(lambda **words: DataLoader(jets.open(), 64, **words))
        theirs = of(lambda **words: torch.utils.data.DataLoader(list(range(633)), 64, **words))
        assert ours == theirs


def test_a_drawn_epoch_goes_on_with_the_same_random_numbers(jets) -> None:
    """As with torchdata's loader: the program that resumes seeds torch as the one that saved did."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    from headrace.torch import DataLoader

    def make() -> DataLoader:
        torch.manual_seed(5)
        return DataLoader(jets.open(), 10, sampler=torch.utils.data.RandomSampler(range(633)))

    want = rows_of(make())
    batches = iter(loader := make())
    given = [row for _ in range(7) for row in next(batches)["y"].tolist()]
    state = loader.state_dict()
    other = make()
    other.load_state_dict(state)
    other.load_state_dict(state)
    assert other.state_dict() == state
    drawn = torch.get_rng_state()
    assert given + rows_of(other) == want
    assert torch.equal(torch.get_rng_state(), drawn)  # what comes after finds them as after the first run's iter()
    torch.manual_seed(6)
    stranger = DataLoader(jets.open(), 10, sampler=torch.utils.data.RandomSampler(range(633)))
    with pytest.raises(hr.InvalidArgumentError, match="gave other rows for epoch 0"):
        stranger.load_state_dict(state)


def test_a_batch_of_an_epoch_that_has_not_begun(jets) -> None:
    """Making a batch again asks the sampler, if it was asked for nothing so far; the epoch has these rows then."""
    loader = hr.Loader(jets.open(), 10, sampler=(sampler := Drawn()))
    first = loader.batch(0, 0)["y"].tolist()
    assert rows_of(loader)[:10] == first and sampler.asked == 1


def test_a_sampler_whose_length_is_another(jets) -> None:
    """``len()`` is what a loader is planned with, and what the sampler gives is what is delivered."""
    given = [[3, 1, 2], [5, 4], [9]]
    sampler = type("S", (), {"__len__": lambda _: 2, "__iter__": lambda _: iter([slice(0, 7), 600, slice(3, 9)])})()
    loader = hr.Loader(jets.open(), 5, sampler=sampler)
    assert rows_of(loader) == [*range(7), 600, *range(3, 9)] and len(loader) == 3
    batches = type("B", (), {"batch_size": 3, "__len__": lambda _: 3, "__iter__": lambda _: iter(given)})()
    loader = hr.Loader(jets.open(), batch_sampler=batches)
    assert len(loader) == 3 and [batch["y"].tolist() for batch in loader] == given


@pytest.mark.parametrize("words", [{"sampler": 0}, {"batch_sampler": 0}])
def test_a_sampler_without_end_is_refused(jets, words: dict[str, int]) -> None:
    class Endless:
        def __iter__(self):
            while True:
                yield [1, 2] if "batch_sampler" in words else 1

    with pytest.raises(hr.InvalidArgumentError, match="as if it had no end"):
        hr.Loader(jets.open(), **({"batch_size": 5} if "sampler" in words else {}), **{next(iter(words)): Endless()})


def test_a_sampler_without_length_is_asked_when_the_loader_is_made(jets) -> None:
    class Some:
        def __iter__(self):
            return iter([5, 6, 7])

    assert rows_of(hr.Loader(jets.open(), 2, sampler=Some())) == [5, 6, 7]


class Slices:
    """A sampler whose ``len()`` is not the number of its rows."""

    def __len__(self) -> int:
        return 2

    def __iter__(self):
        return iter([slice(0, 40), slice(100, 140)])


def test_a_state_of_what_was_not_asked_yet(jets) -> None:
    """The number of rows in a state from the start of an epoch may be what ``len()`` said."""
    rows = [*range(40), *range(100, 140)]
    fresh = hr.Loader(jets.open(), 10, sampler=Slices()).state_dict()
    for asked in (False, True):
        loader = hr.Loader(jets.open(), 10, sampler=Slices())
        if asked:
            assert rows_of(loader) == rows
        loader.load_state_dict(fresh)
        assert rows_of(loader) == rows
        loader.load_state_dict(loader.state_dict())
        assert rows_of(loader) == rows


@pytest.mark.parametrize("sampler", [Drawn, Slices])
def test_batches_are_skipped_with_any_sampler(jets, sampler: type) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    loader = hr.Loader(jets.open(), 10, sampler=sampler(), framework="torch")
    loader._list_rows(0)
    whole = [loader.batch(0, step)["y"].tolist() for step in range(len(loader))]
    assert [batch["y"].tolist() for batch in accelerate.skip_first_batches(loader, 3)] == whole[3:]


def test_lengths_that_no_memory_holds(jets) -> None:
    class Lies(Drawn):
        def __len__(self) -> int:
            return 2**62

    loader = hr.Loader(jets.open(), 10, sampler=(sampler := Lies()))
    assert len(rows_of(loader)) == 100 and sampler.asked == 1


def test_a_state_whose_rows_are_not_drawn_again_says_what_to_use(jets) -> None:
    loader = hr.Loader(jets.open(), 10, sampler=Drawn())
    batches = iter(loader)
    next(batches)
    with pytest.raises(hr.InvalidArgumentError, match=r"the Drawn gave other rows for epoch 0.*hr\.Weighted"):
        hr.Loader(jets.open(), 10, sampler=Drawn()).load_state_dict(loader.state_dict())
    with pytest.raises(hr.InvalidArgumentError, match=r"Make the loader with the same .* sampler="):
        hr.Loader(jets.open(), 10, sampler=range(100)).load_state_dict(loader.state_dict())
