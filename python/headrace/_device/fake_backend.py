"""FakeBackend: what a fake device can do, in the host's memory."""

from __future__ import annotations

import contextlib
import os
import random
import threading
import weakref
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

import torch

from headrace._device.fake_memory import Memory
from headrace._device.fake_program import HostStream
from headrace._device.fake_streams import Copy, FakeEvent, FakeStream


class Settings(Protocol):
    """What is used of a :class:`FakeDevice`, whose docstring says what each is."""

    bytes_per_second: float
    delay_seconds: float
    reorders: bool
    fails_at: int | None
    runs_ahead: bool
    memory_bytes: int | None
    seed: int


class FakeBackend:
    """A backend (see headrace._device.backend) with the habits of a :class:`FakeDevice`."""

    name = "fake"

    def __init__(self, device: Settings) -> None:
        """Begin: no copy was made yet."""
        self._device = device
        self.lock = threading.RLock()  # a tensor may be freed by a thread that has it
        self.host = HostStream(device.runs_ahead, self.lock)
        self._random = random.Random(device.seed)
        self._current = threading.local()
        self._batches = 0
        self._used_bytes = 0
        self.peak_bytes = 0
        self._tensors: dict[int, Memory] = {}  # those alive, by their ids
        self._memory: dict[int, Memory] = {}  # what tensors, views and storages lie in, by its address
        self._locked: dict[int, Memory] = {}  # page-locked, also for as long as anything of torch's lies there

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
        memory = Memory(num_bytes)
        self._locked[memory.address] = memory
        return memory.tensor(torch.uint8, (num_bytes,), lambda: self._locked.pop(memory.address))

    def empty_like(self, host: torch.Tensor) -> torch.Tensor:
        num_bytes = host.nbytes
        with self.lock:
            if self._device.memory_bytes is not None and self._used_bytes + num_bytes > self._device.memory_bytes:
                raise torch.OutOfMemoryError(
                    f"the fake device is out of memory: {num_bytes} bytes for a batch, "
                    f"{self._used_bytes} of {self._device.memory_bytes} are in use"
                )
            self._used_bytes += num_bytes
            self.peak_bytes = max(self.peak_bytes, self._used_bytes)
        memory = Memory(num_bytes)
        made = memory.tensor(host.dtype, host.shape, lambda: self._freed(memory))
        self._memory[memory.address] = memory
        self._tensors[id(made)] = memory
        weakref.finalize(made, self._dropped, id(made)).atexit = False
        return made

    def copy(self, to: torch.Tensor, host: torch.Tensor) -> None:
        num_bytes = host.nbytes
        memory = self._tensors.get(id(to)) or _found(self._memory, to.data_ptr(), num_bytes)
        if memory is None:
            raise RuntimeError("fake device: a copy to memory that is not the device's")
        copy = Copy(memory, to.data_ptr() - memory.address if num_bytes else 0, host)
        if num_bytes == 0 or _found(self._locked, host.data_ptr(), num_bytes) is not None:
            self.current_stream().add(copy)
        else:
            self.current_stream().make(copy, num_bytes / self._pageable_rate)

    def moved(self, value: Any) -> Any:
        return value  # it is there: the device's memory is the host's

    def lend(self, tensor: torch.Tensor, stream: Any) -> None:
        memory = self._tensors.get(id(tensor))
        if memory is not None and stream not in memory.streams:
            memory.streams.append(stream)

    def rates(self, host: torch.Tensor, stream: Any) -> tuple[float, float]:
        return self._device.bytes_per_second, self._pageable_rate

    def range(self, name: str) -> AbstractContextManager[Any]:
        return contextlib.nullcontext()

    # --- inside ---

    @property
    def _pageable_rate(self) -> float:
        return self._device.bytes_per_second / 3

    def _dropped(self, tensor: int) -> None:
        """Give away what no stream was lent: nothing else keeps it for what is still to be done with it."""
        memory = self._tensors.pop(tensor)
        if not memory.streams:
            self._give_away(memory)

    def _freed(self, memory: Memory) -> None:
        """Give memory away behind what the streams that it was lent to were asked for by now, as an allocator does."""
        self._memory.pop(memory.address)
        memory.left = len(memory.streams)
        for stream in memory.streams if memory.process == os.getpid() else ():
            (done := FakeEvent()).record(stream)
            done.then(partial(self._done, memory))

    def _done(self, memory: Memory) -> None:
        with self.lock:
            memory.left -= 1
            is_last = memory.left == 0
        if is_last:
            self._give_away(memory)

    def _give_away(self, memory: Memory) -> None:
        memory.give_away()
        if os.getpid() != memory.process:
            return  # a child holds its parent's: it counts none of it, and the lock may be taken for ever
        with self.lock:
            self._used_bytes -= memory.num_bytes

    def next_batch(self, num_bytes: int) -> tuple[bool, float]:
        """Return whether the next batch's copy fails, and the seconds that it takes."""
        with self.lock:
            number, self._batches = self._batches, self._batches + 1
            delay = self._random.uniform(0, self._device.delay_seconds)
            return number == self._device.fails_at, num_bytes / self._device.bytes_per_second + delay

    def choose(self, waiting: int) -> int:
        """Return which of so many batches is copied next."""
        with self.lock:
            return self._random.randrange(waiting) if self._device.reorders else 0


def _found(memories: dict[int, Memory], address: int, num_bytes: int) -> Memory | None:
    """Return the one that so many bytes lie in, from an address on."""
    alive = list(memories.values())  # at once: any may be freed meanwhile
    return next((memory for memory in alive if memory.holds(address, num_bytes)), None)
