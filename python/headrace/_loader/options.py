"""The arguments of Loader as the engine takes them: what its list does not know, which only Python has."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headrace import _headrace
from headrace._support.checks import engine_text, invalid, path_bytes, unsupported, whole_number
from headrace.samplers import Balanced, Listing, LookAhead, Weighted


@dataclass(frozen=True)
class ShuffleShape:
    """A shape of the block shuffle: ``streams`` parts of the data are read at once, ``pool_blocks`` mixed in each.

    Part of what a seed means: give the same to get the same batches. The default follows from the data and the global
    batch alone.

    Args:
        streams: Parts of the data that are read at once.
        pool_blocks: Blocks of each part that are mixed.
    """

    streams: int
    pool_blocks: int

    def __post_init__(self) -> None:
        """Check.

        Raises:
            InvalidArgumentError: A number is below 1.
        """
        whole_number("streams", self.streams, least=1, most=2**16)
        whole_number("pool_blocks", self.pool_blocks, least=1, most=2**32 - 1)

    def __str__(self) -> str:
        return f"{self.streams}x{self.pool_blocks}"

    def _as_value(self) -> str:
        return str(self)


#: How torch writes devices; what is written otherwise is some object that stands for one.
_DEVICE = re.compile(r"[a-z]+(:\d+)?")
#: Options of the engine's loader by the names of its list; None is not given.
Words = dict[str, bool | int | float | str | bytes | None]


def order_of(given: dict[str, Any]) -> Any:
    """Take ``sampler``, ``batch_sampler`` and ``lookahead`` out of arguments, and return what they say together.

    Returns:
        The sampler: Weighted, Balanced, a LookAhead, a Listing of batches, or an iterable of row numbers; None for the
        engine's orders.

    Raises:
        InvalidArgumentError: One of them is none, or they contradict each other.
    """
    sampler, batch_sampler, lookahead = (given.pop(name, None) for name in ("sampler", "batch_sampler", "lookahead"))
    if sampler is not None and batch_sampler is not None:
        raise invalid("sampler and batch_sampler exclude each other", "Give one of them.")
    listing = None if batch_sampler is None else Listing(batch_sampler, batches=True)
    if sampler is not None and not isinstance(sampler, (Weighted, Balanced, LookAhead)):
        Listing(sampler, batches=False)
    if lookahead is None:
        return sampler if listing is None else listing
    whole_number("lookahead", lookahead, least=1)
    if sampler is None or isinstance(sampler, (Weighted, Balanced)):
        raise invalid(
            "lookahead= is for a sampler of your own, and none is given",
            "Give sampler=, an iterable of row numbers, or leave lookahead= out.",
        )
    return LookAhead(sampler, lookahead)


def resolve(given: Mapping[str, Any], order: Any = None) -> Words:
    """Check the arguments of ``Loader``, and return them as the engine understood them.

    Args:
        given: Arguments by their names, without those of :func:`order_of`.
        order: What that returned.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.
        UnsupportedError: torch is asked for, and cannot be imported.
    """
    device = "cpu" if given.get("device") is None else given["device"]
    name = str(device) if isinstance(device, str) or _DEVICE.fullmatch(str(device)) else "device"
    lists_batches = isinstance(order, Listing)
    kind = None if order is None else "batch_sampler" if lists_batches else "sampler"
    # The engine's list and rules say what a value may be and what contradicts what, as for run files and in C++.
    words: Words = _headrace.check_options({**given, "device": name, "cache": _cache(given.get("cache"))}, kind)
    if lists_batches and words["world_size"] not in (None, 1):
        raise invalid(
            f"a batch_sampler gives one rank's own batches, as in torch: world_size={words['world_size']!r} "
            "divides nothing",
            "Leave rank= and world_size= out, and give each rank its own batches; or give sampler= and batch_size=.",
        )
    if words["framework"] == "torch":
        _need_torch()
    words["device"] = "cpu" if delivery_to(device) is None else "device"
    return words


def _cache(cache: Any) -> Any:
    """Return a directory so that it cannot be taken for one of the words, as the operating system's bytes."""
    if isinstance(cache, os.PathLike):  # a Path drops the dot
        cache = os.path.join(os.curdir, os.path.expanduser(os.fsdecode(cache)))  # noqa: PTH111, PTH118
    if not isinstance(cache, str):
        return cache
    return path_bytes(cache, "cache") if os.sep in cache else engine_text("cache", cache)


def delivery_to(device: Any) -> Any:
    """Return the delivery of batches to a device, as headrace._device.delivery has it; None: they stay on the CPU.

    Raises:
        InvalidArgumentError: torch has no device of that name.
    """
    if str(device) == "cpu":
        return None
    from headrace._device.delivery import Delivery, destination  # imports torch

    to = destination(device)
    return None if to is None else Delivery(to)


def _need_torch() -> None:
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise unsupported(
            f"framework='torch' needs torch, which cannot be imported ({error})",
            "Install it (pip install torch), or use framework='numpy' (the default).",
        ) from error
