"""set_memory: the budget that all loaders of a process share."""

from __future__ import annotations

from headrace import _headrace
from headrace._support.checks import memory_bytes
from headrace._support.logging import warn


def set_memory(size: int | str) -> None:
    """Limit the bytes that all loaders of this process may hold together.

    ``Loader(memory=)`` is a cap inside it. The interpreter, torch, and arrays that the program keeps are outside it.
    Default: 60 % of what is really available at first use, divided by the ranks that a launcher started on this host.
    Where less than ``size`` is available the limit is that, with a warning, until there is more.

    Args:
        size: Bytes, or text: ``"8GiB"`` = ``"8G"`` = 8·2^30, ``"8GB"`` = 8e9.

    Raises:
        InvalidArgumentError: Not a size.
    """
    if text := _headrace.set_memory(memory_bytes("size", size)):
        warn(text)
