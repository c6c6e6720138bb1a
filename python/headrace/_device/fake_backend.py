"""FakeBackend: what a fake device can do, in the host's memory."""

from __future__ import annotations

import contextlib
import ctypes
import random
import threading
import weakref
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch

from headrace._device.fake_streams import FakeEvent, FakeStream, HostStream

if TYPE_CHECKING:
    from headrace._device.fake import FakeDevice

#: What memory of the fake device holds before a copy into it has ended, and after it was given back too early.
_POISON = 0xA5


class FakeBackend:
    """A backend (see headrace._device.backend) with the habits of a :class:`FakeDevice`."""

    name = "fake"

    def __init__(self, device: FakeDevice) -> None:
        """Begin: no copy was made yet."""
        self._device = device
        self.host = HostStream(device.runs_ahead)
        self._random = random.Random(device.seed)
        self._current = threading.local()
        self._batches = 0
        self._used_bytes = 0
        self._unlent: set[int] = set()  # ids of tensors that no stream may use after they are freed
        self._lock = threading.RLock()  # a tensor may be freed by a thread that has it

    def entered(self) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    def stream(self) -> FakeStream:
        return FakeStream(self)

    @contextlib.contextmanager
    def on(self, stream: FakeStream) -> Any:
        before = getattr(self._current, "stream", None)
        self._current.stream = stream
        try:
            yield
        finally:
            self._current.stream = before

    def event(self) -> FakeEvent:
        return FakeEvent()

    def current_stream(self) -> Any:
        return getattr(self._current, "stream", None) or self.host

    def host_memory(self, num_bytes: int) -> torch.Tensor:
        return torch.full((num_bytes,), _POISON, dtype=torch.uint8)

    def empty_like(self, host: torch.Tensor) -> torch.Tensor:
        num_bytes = host.nbytes
        with self._lock:
            if self._device.memory_bytes is not None and self._used_bytes + num_bytes > self._device.memory_bytes:
                raise torch.OutOfMemoryError(
                    f"the fake device is out of memory: {num_bytes} bytes for a batch, "
                    f"{self._used_bytes} of {self._device.memory_bytes} are in use"
                )
            self._used_bytes += num_bytes
        made = torch.empty_like(host, memory_format=torch.contiguous_format)
        ctypes.memset(made.data_ptr(), _POISON, num_bytes)
        self._unlent.add(id(made))
        weakref.finalize(made, self._freed, id(made), made.untyped_storage(), num_bytes).atexit = False
        return made

    def copy(self, to: torch.Tensor, host: torch.Tensor) -> None:
        self.current_stream().add(to, host)

    def lend(self, tensor: torch.Tensor, stream: Any) -> None:
        self._unlent.discard(id(tensor))

    def rates(self, host: torch.Tensor) -> tuple[float, float]:
        return self._device.bytes_per_second, self._device.bytes_per_second / 3

    def range(self, name: str) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    # --- inside ---

    def _freed(self, tensor: int, storage: torch.UntypedStorage, num_bytes: int) -> None:
        """Count memory as free; as an allocator it gives away what was not lent to a stream that may still use it."""
        with self._lock:
            self._used_bytes -= num_bytes
        if tensor in self._unlent:
            self._unlent.discard(tensor)
            ctypes.memset(storage.data_ptr(), _POISON, num_bytes)

    def next_batch(self, num_bytes: int) -> tuple[bool, float]:
        """Return whether the next batch's copy fails, and the seconds that it takes."""
        with self._lock:
            number, self._batches = self._batches, self._batches + 1
            delay = self._random.uniform(0, self._device.delay_seconds)
            return number == self._device.fails_at, num_bytes / self._device.bytes_per_second + delay

    def choose(self, waiting: int) -> int:
        """Return which of so many batches is copied next."""
        with self._lock:
            return self._random.randrange(waiting) if self._device.reorders else 0
