"""A device whose calls cost nothing: what is left of a batch's way to it is Headrace's own."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from headrace.torch import FakeDevice


class _Event:
    def record(self, stream: Any) -> None: ...
    def synchronize(self) -> None: ...
    def query(self) -> bool:
        return True

    def elapsed_time(self, later: _Event) -> float:
        return 0.0


class _Stream:
    def wait_event(self, event: _Event) -> None: ...


_EVENT, _STREAM, _NOTHING = _Event(), _Stream(), contextlib.nullcontext()


class _NoBackend:
    """A backend (see headrace._device.backend) that gives the same memory for each batch, and copies nothing to it."""

    name = "none"

    def __init__(self) -> None:
        self._memory: dict[Any, torch.Tensor] = {}

    def entered(self) -> Any:
        return _NOTHING

    def stream(self) -> _Stream:
        return _STREAM

    def on(self, stream: Any) -> Any:
        return _NOTHING

    def event(self) -> _Event:
        return _EVENT

    def current_stream(self) -> _Stream:
        return _STREAM

    def host_memory(self, num_bytes: int) -> torch.Tensor:
        return torch.zeros(num_bytes, dtype=torch.uint8)

    def empty_like(self, host: torch.Tensor) -> torch.Tensor:
        kind = host.dtype, host.shape
        if kind not in self._memory:
            self._memory[kind] = torch.empty_like(host)
        return self._memory[kind]

    def copy(self, to: torch.Tensor, host: torch.Tensor) -> None: ...
    def moved(self, value: Any) -> Any:
        return value

    def lend(self, tensor: torch.Tensor, stream: Any) -> None: ...
    def rates(self, host: torch.Tensor, stream: Any) -> tuple[float, float]:
        return 0, 0

    def range(self, name: str) -> Any:
        return _NOTHING


def no_device() -> FakeDevice:
    """Make such a device."""
    device = FakeDevice()
    device._backend = _NoBackend()  # type: ignore[assignment]
    return device
