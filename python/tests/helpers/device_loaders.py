"""Loaders on a fake device beside the same loaders on the CPU, and fake devices with bad habits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from headrace.torch import FakeDevice  # noqa: E402

#: The habits that a loader has to bear.
HABITS: dict[str, dict[str, Any]] = {
    "fast": {"bytes_per_second": 1e12},
    "slow": {"bytes_per_second": 2e7},
    "late": {"bytes_per_second": 1e9, "delay_seconds": 0.004},
    "reorders": {"bytes_per_second": 1e9, "delay_seconds": 0.004, "reorders": True},
}


def fake(habit: str, **words: Any) -> FakeDevice:
    return FakeDevice(**{**HABITS[habit], **words})


def tensors(batch: Any) -> list[Any]:
    """The tensors of a batch of any form, in order."""
    if isinstance(batch, torch.Tensor):
        return [batch]
    parts = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return [tensor for part in parts for tensor in tensors(part)]


def same(ours: Any, theirs: Any) -> bool:
    """True if two batches are equal: keys, order, types, shapes and bits."""
    if isinstance(ours, dict) and list(ours) != list(theirs):
        return False
    pairs = list(zip(tensors(ours), tensors(theirs), strict=True))
    return all(a.dtype == b.dtype and a.shape == b.shape and a.equal(b) for a, b in pairs) and bool(pairs)


def epochs(loader: Any, number: int, pause: float = 0) -> tuple[list[Any], list[Any]]:
    """Batches and states of some epochs; the state before each batch is that after the one before it."""
    batches, states = [], [loader.state_dict()]
    for _ in range(number):
        for batch in loader:
            batches.append(batch)  # held to the end: none may change any more
            states.append(loader.state_dict())
            time.sleep(pause)
    return batches, states


def check_like_the_cpu(make: Callable[[Any], Any], device: FakeDevice, number: int = 2, pause: float = 0) -> None:
    """Compare what `make("cpu")` and `make(device)` deliver: batches, their order, and states."""
    with make("cpu") as on_cpu, make(device) as on_device:
        theirs, states = epochs(on_cpu, number)
        ours, our_states = epochs(on_device, number, pause)
        assert our_states == states
        assert len(ours) == len(theirs) > 0
        assert all(map(same, ours, theirs))


def copying_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "headrace to device"]


def wait_for(condition: Callable[[], bool], seconds: float = 20) -> bool:
    """Wait until a condition holds. False: it does not."""
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.005)
    return condition()
