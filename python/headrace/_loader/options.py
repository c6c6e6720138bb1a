"""The arguments of Loader as the engine takes them, and refused where their feature does not exist yet."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import _headrace
from headrace._loader.by_tokens import tokens_text
from headrace._support.checks import invalid, one_of, path_bytes, unsupported, whole_number
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


#: Options of the engine's loader by the names of its table; None is not given.
Words = dict[str, bool | int | float | str | bytes | None]


def resolve(
    *,
    batch_size: Any,
    shuffle: Any,
    shuffle_buffer: Any,
    sampler: Any,
    batch_sampler: Any,
    batch: Any,
    group_by: Any,
    max_items: Any,
    max_groups: Any,
    lookahead: Any,
    global_batch_size: Any,
    drop_last: Any,
    tail: Any,
    seed: Any,
    rank: Any,
    world_size: Any,
    memory: Any,
    threads: Any,
    cache: Any,
    share: Any,
    framework: Any,
    device: Any,
    batch_format: Any,
    layout: Any,
    fill: Any,
    provenance: Any,
    on_error: Any,
    timeout: Any,
) -> Words:
    """Check the arguments of ``Loader``.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.
        UnsupportedError: An argument asks for what does not exist yet; the hint names what to use instead.
    """
    order = _order(sampler, batch_sampler)
    if lookahead is not None:
        whole_number("lookahead", lookahead, least=1)
        if sampler is None or isinstance(sampler, (Weighted, Balanced)):
            raise invalid(
                "lookahead= is for a sampler of your own, and none is given",
                "Give sampler=, an iterable of row numbers, or leave lookahead= out.",
            )
    if on_error is not None:
        _check_later_features(on_error)
    words: Words = {
        "batch_size": batch_size,
        "global_batch_size": global_batch_size,
        "shuffle": shuffle,
        "shuffle_buffer": str(shuffle_buffer) if isinstance(shuffle_buffer, ShuffleShape) else shuffle_buffer,
        "batch": tokens_text(batch),
        "group_by": group_by,
        "max_items": max_items,
        "max_groups": max_groups,
        "seed": seed,
        "tail": tail,
        "rank": rank,
        "world_size": world_size,
        "layout": layout,
        "fill": fill,
        "provenance": provenance,
        "memory": memory,
        "cache": None if cache is None else _cache(cache),
        "share": share,
        "threads": threads,
        "timeout": timeout or None,  # 0: no limit, as in torch
        "framework": None if framework is None else _framework(framework),
        "device": None if device is None else _device(device, framework),
        "batch_format": batch_format,
    }
    # The engine's list and rules say what a value may be and what contradicts what, as for run files and in C++.
    understood = _headrace.check_options({**words, "drop_last": drop_last}, order)
    words = {name: understood[name] for name in words}
    if batch_sampler is not None and words["world_size"] not in (None, 1):
        raise invalid(
            f"a batch_sampler gives one rank's own batches, as in torch: world_size={world_size} divides nothing",
            "Leave rank= and world_size= out, and give each rank its own batches; or give sampler= and batch_size=.",
        )
    if batch_sampler is None and group_by is None:
        words["tail"] = tail or ("drop" if drop_last else "partial")
    if words["cache"] not in ("auto", "none", "ram"):
        words["share"] = None  # a directory is shared as it is
    return words


def _order(sampler: Any, batch_sampler: Any) -> str | None:
    """Check what decides the order, and return which argument that is."""
    if sampler is not None and batch_sampler is not None:
        raise invalid("sampler and batch_sampler exclude each other", "Give one of them.")
    if batch_sampler is not None:
        Listing(batch_sampler, batches=True)
        return "batch_sampler"
    if sampler is not None and not isinstance(sampler, (Weighted, Balanced, LookAhead)):
        Listing(sampler, batches=False)
    return None if sampler is None else "sampler"


def _cache(cache: Any) -> str | bytes:
    if not isinstance(cache, (str, os.PathLike)) or not os.fspath(cache):
        raise invalid(f"cache must be 'auto', 'none', 'ram' or a directory, not {cache!r}")
    if cache in ("auto", "none", "ram"):
        return str(cache)
    path = Path(os.fspath(cache)).expanduser()
    if isinstance(cache, str) and os.sep not in cache and not path.is_dir():
        raise invalid(
            f"cache={cache!r} is none of 'auto', 'none' and 'ram', and no directory",
            f"To make a directory of that name, write {os.curdir + os.sep + cache!r}.",
        )
    text = path_bytes(path)
    return text if b"/" in text else b"./" + text


def _device(device: Any, framework: Any) -> str:
    """Return the engine's word for a destination: whatever it is, the engine only plans memory for the way there."""
    if str(device) == "cpu":
        return "cpu"
    if framework != "torch":
        raise invalid(
            f"device={device!r} takes tensors of torch, and framework is {framework!r}",
            "Give framework='torch' with it. JAX: headrace.jax.Loader copies to JAX's devices.",
        )
    return "cpu" if delivery_to(device) is None else "device"


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


def _check_later_features(on_error: Any) -> None:
    if not isinstance(on_error, str):
        raise invalid(f"on_error must be 'raise', not {on_error!r}")
    if on_error != "raise":
        raise unsupported(
            f"on_error={on_error!r} does not exist yet",
            "Use on_error='raise' (the default); headrace.verify(paths) lists what is bad beforehand.",
        )


def _framework(framework: Any) -> str:
    one_of("framework", framework, ("numpy", "torch"))
    if framework == "torch":
        try:
            importlib.import_module("torch")
        except ImportError as error:
            raise unsupported(
                f"framework='torch' needs torch, which cannot be imported ({error})",
                "Install it (pip install torch), or use framework='numpy' (the default).",
            ) from error
    return str(framework)
