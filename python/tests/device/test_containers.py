"""What a program's functions make of a batch, on its way to a device: containers of any kind, objects that move."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, UserDict, namedtuple
from typing import Any

import pytest
from device_loaders import torch

from headrace._device.containers import changed, tensors_in
from headrace.torch import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:collate_fn is called with a list")


@dataclasses.dataclass(frozen=True)
class Graph:
    """A dataclass whose values are checked when it is made."""

    x: Any
    edges: int = 3

    def __post_init__(self) -> None:
        assert isinstance(self.x, torch.Tensor)


class Positive(list):  # type: ignore[type-arg]
    """A list that is made of an argument of its own."""

    def __init__(self, tensor: Any) -> None:
        assert tensor.dim() == 3
        super().__init__([tensor, "kept"])


class Moves:
    """A batch like PyG's: it goes by itself, and some of it stays."""

    def __init__(self, x: Any, lengths: Any) -> None:
        self.x, self.lengths = x, lengths

    def to(self, device: Any) -> Moves:
        return Moves(self.x.to(device), self.lengths)


class MovesInPlace(UserDict):  # type: ignore[type-arg]
    """A dict like transformers' BatchEncoding, that moves what it has."""

    def to(self, device: Any) -> None:
        self.data = {name: value.to(device) for name, value in self.data.items()}


Pair = namedtuple("Pair", "x names")
FORMS = {
    "dataclass": Graph,
    "list": Positive,
    "namedtuple": lambda x: Pair(x, ["a", "b"]),
    "ordered": lambda x: OrderedDict(x=x, more=[x[:1], ("text", b"bytes", None, range(3))]),
    "user dict": lambda x: UserDict(x=x),
    "packed": lambda x: torch.nn.utils.rnn.pack_sequence(list(x)),
    "moves": lambda x: Moves(x, torch.arange(len(x))),
    "moves in place": lambda x: MovesInPlace(x=x),
}


def leaves(value: Any) -> list[Any]:
    """All tensors of a form, those in objects that move too."""
    if isinstance(value, Moves):
        return [value.x]
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return [value.data]
    if isinstance(value, MovesInPlace):
        return list(value.values())
    return list(tensors_in(value))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("device", ["fake", "meta"])
def test_each_kind_arrives_as_it_was_made(jets, form: str, device: str) -> None:
    def collate(samples: list[Any]) -> Any:
        return FORMS[form](torch.stack([sample["x"] for sample in samples]))

    with DataLoader(jets.open(), 50, collate_fn=collate, device="cpu") as loader:
        theirs = next(iter(loader))
    with DataLoader(jets.open(), 50, collate_fn=collate, device=device) as loader:
        ours = next(iter(loader))
    assert type(ours) is type(theirs)
    assert len(leaves(ours)) == len(leaves(theirs)) > 0
    for mine, other in zip(leaves(ours), leaves(theirs), strict=True):
        assert mine.device.type == ("meta" if device == "meta" else "cpu")
        assert mine.shape == other.shape and (device == "meta" or mine.equal(other))
    if form == "packed":
        assert ours.batch_sizes.device.type == "cpu", "torch wants it there"
    if form == "ordered":
        assert ours["more"][1] == ("text", b"bytes", None, range(3))


def test_what_is_not_changed_stays_the_same_object() -> None:
    batch = {"a": ["text", (1, 2)], "b": range(4)}
    assert changed(batch, lambda tensor: tensor) is batch
    tensor = torch.ones(3)
    assert changed([tensor], lambda one: one) == [tensor]
    assert changed(Graph(tensor), lambda one: one + 1).x.equal(torch.full((3,), 2.0))


@pytest.mark.parametrize("device", ["cpu", "fake", "meta"])
@pytest.mark.parametrize("words", [{}, {"sampler": range(633), "lookahead": 1}], ids=["ahead", "when asked for"])
def test_a_function_may_make_nothing_of_a_batch(jets, device: str, words: dict[str, Any]) -> None:
    """As programs do that leave damaged samples out; it is not the epoch's end."""

    def collate(samples: list[Any]) -> Any:
        return None if int(samples[0]["y"]) == 100 else samples[0]["y"]

    with DataLoader(jets.open(), 50, collate_fn=collate, device=device, **words) as loader:
        made = list(loader)
    assert len(made) == 13 and [number for number, batch in enumerate(made) if batch is None] == [2]


class Image(torch.Tensor):
    """A tensor with more to it, like torchvision's."""


@pytest.mark.parametrize("device", ["fake", "meta"])
def test_tensors_that_are_more_than_numbers_stay_what_they_are(jets, device: str) -> None:
    """They go by their own ``to()``, as objects do."""

    def collate(samples: list[Any]) -> Any:
        x = torch.stack([sample["x"] for sample in samples])
        return [x.as_subclass(Image), x.clone().requires_grad_(), x[0].to_sparse(), x]

    with DataLoader(jets.open(), 50, collate_fn=collate, device=device) as loader:
        image, leaf, sparse, plain = next(iter(loader))
    assert type(image) is Image and leaf.requires_grad and sparse.layout is torch.sparse_coo
    kind = "meta" if device == "meta" else "cpu"
    assert {one.device.type for one in (image, leaf, sparse, plain)} == {kind}
