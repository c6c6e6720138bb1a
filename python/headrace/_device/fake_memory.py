"""Memory of a fake device, and page-locked memory: pieces of the host's that outlive the tensors in them."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from typing import Any

import torch

#: What memory holds before a copy into it has ended, and once it may be another tensor's.
_POISON = 0xA5


class Memory:
    """A piece of the host's memory, which stays for as long as work may look at it by its address.

    Attributes:
        num_bytes: Its size.
        address: Where it begins.
        streams: Those that it was lent to.
        process: Where it was allocated.
        left: Streams that have not done yet what they were asked for when it was freed.
        is_reusable: True once another tensor may lie here.
    """

    def __init__(self, num_bytes: int) -> None:
        """Allocate it, full of what is no batch: what is read too early shows."""
        self._bytes = torch.empty(max(num_bytes, 1), dtype=torch.uint8, device="cpu")  # whatever the default device is
        self.num_bytes = num_bytes
        self.address: int = self._bytes.data_ptr()
        self._poison()
        self.streams: list[Any] = []
        self.left = 0
        self.process = os.getpid()
        self.is_reusable = False

    def tensor(self, dtype: torch.dtype, shape: Any, freed: Callable[[], object]) -> torch.Tensor:
        """Return a tensor in it; `freed` is called when neither the tensor nor a view or storage of it is left."""
        owner = self._bytes.numpy()  # torch keeps this object for as long as the storage lives, which it gets from it
        weakref.finalize(owner, freed).atexit = False
        return torch.from_numpy(owner)[: self.num_bytes].view(dtype).view(shape).data

    def holds(self, address: int, num_bytes: int) -> bool:
        """True if so many bytes from an address on are part of it."""
        return self.address <= address and address + num_bytes <= self.address + self.num_bytes

    def write(self, offset: int, source: int, num_bytes: int) -> None:
        """Write bytes to it. If another tensor may lie here by now, they are not what a program finds."""
        ctypes.memmove(self.address + offset, source, num_bytes)
        if self.is_reusable:
            self._poison()

    def give_away(self) -> None:
        """Let it be another tensor's."""
        self.is_reusable = True  # first: a copy under way looks at it behind its last byte
        self._poison()

    def _poison(self) -> None:
        ctypes.memset(self.address, _POISON, self.num_bytes)
