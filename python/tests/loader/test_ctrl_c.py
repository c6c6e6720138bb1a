"""Ctrl-C in the program's own functions: the batch that it ends comes again, as it was stored."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest
from device_loaders import fake, torch

import headrace as hr
from headrace.torch import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:collate_fn is called with a list")
FIRSTS = list(range(0, 633, 50))


class Interrupted:
    """A function in which Ctrl-C is pressed once, at the batch that holds row 100, when half of its work is done."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self, batch: Any) -> Any:
        batch["x"] += 1  # the memory of the batch itself
        if 100 in batch["y"] and not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return batch


def collated(function: Interrupted) -> Any:
    def collate(samples: list[Any]) -> Any:
        return function(torch.utils.data.default_collate(samples))

    return collate


def make(jets: Any, kind: str, device: Any, function: Interrupted, **words: Any) -> Any:
    data = jets.open()
    if kind == "map":
        return hr.Loader(data.map(function), 50, framework="torch", device=device, **words)
    named = {"column_fn": function} if kind == "column_fn" else {"collate_fn": collated(function)}
    return DataLoader(data, 50, device=device, **named, **words)


@pytest.mark.parametrize("kind", ["map", "column_fn", "collate_fn"])
@pytest.mark.parametrize("words", [{}, {"sampler": list(range(633))}], ids=["order", "sampler"])
def test_no_batch_is_lost(jets, kind: str, words: dict[str, Any]) -> None:
    with make(jets, kind, "cpu", function := Interrupted(), **words) as loader:
        check(jets, loader, function)


def test_no_batch_is_lost_on_a_device(jets) -> None:
    """Functions before the copy are called on another thread, where Ctrl-C does not come."""
    with make(jets, "column_fn", fake("late"), function := Interrupted()) as loader:
        check(jets, loader, function)


def check(jets: Any, loader: Any, function: Interrupted) -> None:
    batches = iter(loader)
    got = [next(batches), next(batches)]
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert function.pressed and loader.state_dict()["samples"] == 100
    got.append(next(batches))
    assert loader.state_dict()["samples"] == 150
    got += list(batches)
    assert [int(batch["y"][0]) for batch in got] == FIRSTS
    assert torch.cat([batch["x"] for batch in got]).equal(torch.from_numpy(jets.x) + 1), "each once, and changed once"
    assert loader.state_dict() == {**loader.state_dict(), "epoch": 1, "samples": 0}
    assert len(list(loader)) == 13


def test_in_the_middle_of_a_wait_nothing_is_read_again(jets) -> None:
    """Only what was taken goes back: the window stays."""
    calls = []

    def function(batch: Any) -> Any:
        calls.append(int(batch["y"][0]))
        if len(calls) == 4:
            raise KeyboardInterrupt
        return batch

    with hr.Loader(jets.open().map(function), 50) as loader:
        batches = iter(loader)
        for _ in range(3):
            next(batches)
        with pytest.raises(KeyboardInterrupt):
            next(batches)
        assert [int(batch["y"][0]) for batch in batches] == FIRSTS[3:]
    assert calls == [*FIRSTS[:4], *FIRSTS[3:]]


def test_a_function_that_raises_stop_iteration_does_not_end_the_epoch(jets) -> None:
    def stops(_: Any) -> Any:
        raise StopIteration

    data = jets.open()
    for loader in (
        hr.Loader(data.map(stops), 50, framework="torch"),
        hr.Loader(data.map(stops), 50, framework="torch", device="fake"),
        DataLoader(data, 50, column_fn=stops),
        DataLoader(data, 50, column_fn=stops, device="fake"),
        DataLoader(data, 50, collate_fn=stops),
    ):
        with pytest.raises(RuntimeError, match="raised StopIteration"):
            next(iter(loader))
        loader.close()


class AtEvent:
    """Raises KeyboardInterrupt where Python looks for signals: at a call or a return, of C's functions too."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, frame: Any, event: str, _: Any) -> None:
        folder = Path(frame.f_code.co_filename).parent
        if folder.name in ("_device", "_loader", "_dataset") and "fake" not in frame.f_code.co_filename:
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


@pytest.mark.parametrize("kind", ["map", "column_fn", "on a device", "column_fn on a device"])
def test_wherever_it_comes_the_program_goes_on_where_the_loader_is(jets, kind: str) -> None:
    """A batch that the loader counts may be lost between ``next()`` and the program, as ever in Python; no other is."""

    def function(batch: Any) -> Any:
        batch["x"] += 1
        return batch

    device = fake("fast") if "device" in kind else "cpu"
    words = {"column_fn": function} if "column_fn" in kind else {}
    data = jets.open().map(function) if kind == "map" else jets.open()
    interrupted = 0
    with DataLoader(data, 250, device=device, **words) as loader:
        for number in range(1, 150, 1 if device == "cpu" else 2):
            loader.set_epoch(0)
            batches, row = iter(loader), 0
            sys.setprofile(AtEvent(number))
            while True:
                try:
                    batch = next(batches)
                except StopIteration:
                    break
                except KeyboardInterrupt:
                    interrupted += 1
                    state = loader.state_dict()
                    row = 633 if state["epoch"] else state["samples"]
                    continue
                assert int(batch["y"][0]) == row, number
                want = torch.from_numpy(jets.x[row : row + len(batch["y"])])
                assert batch["x"].equal(want if kind == "on a device" else want + 1), number
                row += len(batch["y"])
            sys.setprofile(None)
            assert row == 633, number
    assert interrupted > 30


def test_an_error_does_not_end_what_goes_through_samples_or_a_trainer(jets) -> None:
    def refuses(sample: Any) -> Any:
        if int(sample["y"]) == 7:
            raise ValueError("row 7")
        return int(sample["y"])

    samples = iter(DataLoader(jets.open(), batch_size=None, collate_fn=refuses))
    rows = []
    for _ in range(633):
        with contextlib.suppress(ValueError):
            rows.append(next(samples))
    assert rows == [row for row in range(633) if row != 7]
