"""The arguments of Loader: checked, made consistent, and refused where their feature does not exist yet."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace._support.checks import invalid, memory_bytes, one_of, path_bytes, unsupported, whole_number
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
    group_by: Any,
    max_items: Any,
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
    provenance: Any,
    on_error: Any,
    timeout: Any,
) -> Words:
    """Check the arguments of ``Loader``.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.
        UnsupportedError: An argument asks for what does not exist yet; the hint names what to use instead.
    """
    _check_order(shuffle, sampler, batch_sampler, batch_size, global_batch_size, drop_last, tail)
    if lookahead is not None:
        whole_number("lookahead", lookahead, least=1)
        if sampler is None or isinstance(sampler, (Weighted, Balanced)):
            raise invalid(
                "lookahead says how far ahead a sampler of one's own is asked: there is none",
                "Give sampler=, an iterable of row numbers, or leave lookahead= out.",
            )
    one_of("batch_format", batch_format, ("dict", "tuple"))
    if not isinstance(provenance, bool):
        raise invalid(f"provenance must be True or False, not {provenance!r}")
    _check_later_features(device, on_error)
    one_of("share", share, (None, "host"))
    if share is not None and cache == "none":
        raise invalid("share='host' shares a cache, and cache='none' wants none", "Leave one of them out.")
    _check_groups(group_by, max_items, batch_size, global_batch_size, sampler, batch_sampler, shuffle, shuffle_buffer)
    if group_by is not None and (drop_last or tail is not None):
        raise invalid(
            "batches of whole groups have no tail: none is dropped or filled up", "Leave drop_last= and tail= out."
        )
    if batch_sampler is None and group_by is None:
        samples, global_samples = _batch_sizes(batch_size, global_batch_size)
    else:
        samples, global_samples = None, None
    given_rank, given_size = _ranks(rank, world_size)
    if batch_sampler is not None and given_size not in (None, 1):
        raise invalid(
            f"a batch_sampler gives one rank's own batches, as in torch: world_size={given_size} divides nothing",
            "Leave rank= and world_size= out, and give each rank its own batches; or give sampler= and batch_size=.",
        )
    kept = _cache(cache)
    return {
        "batch_size": samples,
        "global_batch_size": global_samples,
        "shuffle": {False: "false", True: "block"}.get(shuffle, shuffle),
        "shuffle_buffer": _shuffle_buffer(shuffle_buffer),
        "group_by": group_by,
        "max_items": None if max_items is None else whole_number("max_items", max_items, least=1, most=2**32 - 1),
        "seed": whole_number("seed", seed, least=0, most=2**64 - 1),
        "tail": _tail(drop_last, tail),
        "rank": given_rank,
        "world_size": given_size,
        "provenance": provenance,
        "memory": None if memory is None else memory_bytes("memory", memory),
        "cache": kept,
        "share": None if isinstance(kept, bytes) else share,  # a directory is shared as it is
        "threads": None if threads is None else whole_number("threads", threads, least=1, most=4096),
        "timeout": _timeout_seconds(timeout),
        "framework": _framework(framework),
        "batch_format": batch_format,
    }


def _check_groups(
    group_by: Any,
    max_items: Any,
    batch_size: Any,
    global_batch_size: Any,
    sampler: Any,
    batch_sampler: Any,
    shuffle: Any,
    shuffle_buffer: Any,
) -> None:
    if group_by is None:
        if max_items is not None:
            raise invalid("max_items bounds batches of whole groups: group_by is missing", 'Give group_by="file".')
        return
    if not isinstance(group_by, str) or not group_by:
        raise invalid(f'group_by must be "file" or the name of a field, not {group_by!r}')
    if batch_size is not None or global_batch_size is not None:
        raise invalid(
            "group_by makes batches of whole groups: batch_size says another number",
            "Leave batch_size out; max_items= bounds the samples of a batch.",
        )
    if sampler is not None or batch_sampler is not None:
        raise invalid("group_by and a sampler exclude each other: both decide the order", "Give one of them.")
    if shuffle not in (False, True, "block"):
        raise invalid(
            f"group_by shuffles whole groups: shuffle is True or False, not {shuffle!r}", "Give shuffle=True."
        )
    if shuffle_buffer is not None:
        raise invalid("shuffle_buffer= shapes the block shuffle; groups are shuffled whole", "Leave it out.")


def _batch_sizes(batch_size: Any, global_batch_size: Any) -> tuple[int | None, int | None]:
    if batch_size is None and global_batch_size is None:
        raise invalid("batch_size is missing", "Give the number of samples a batch.")
    if batch_size is not None and global_batch_size is not None:
        raise invalid("batch_size and global_batch_size are two spellings of one number", "Give one of them.")
    if batch_size is not None:
        return whole_number("batch_size", batch_size, least=1), None
    return None, whole_number("global_batch_size", global_batch_size, least=1)


def _shuffle_buffer(buffer: Any) -> str | None:
    if buffer is None:
        return None
    if isinstance(buffer, ShuffleShape):
        return str(buffer)
    if isinstance(buffer, str) and (shape := re.fullmatch(r"(\d+)x(\d+)", buffer)):
        return str(ShuffleShape(int(shape[1]), int(shape[2])))
    return str(memory_bytes("shuffle_buffer", buffer))


def _check_order(
    shuffle: Any,
    sampler: Any,
    batch_sampler: Any,
    batch_size: Any,
    global_batch_size: Any,
    drop_last: Any,
    tail: Any,
) -> None:
    one_of("shuffle", shuffle, (False, True, "block", "exact"))
    if sampler is not None and batch_sampler is not None:
        raise invalid("sampler and batch_sampler exclude each other", "Give one of them.")
    if shuffle and (sampler is not None or batch_sampler is not None):
        raise invalid("shuffle and a sampler exclude each other: both decide the order", "Give one of them.")
    sizes = (batch_size, global_batch_size, tail)
    if batch_sampler is not None and (drop_last or any(size is not None for size in sizes)):
        raise invalid(
            "batch_sampler decides the batches: it excludes batch_size, global_batch_size, drop_last and tail",
            "Leave those out.",
        )
    if batch_sampler is not None:
        Listing(batch_sampler, batches=True)
    if sampler is not None and not isinstance(sampler, (Weighted, Balanced, LookAhead)):
        Listing(sampler, batches=False)


def _tail(drop_last: Any, tail: Any) -> str:
    if not isinstance(drop_last, bool):
        raise invalid(f"drop_last must be True or False, not {drop_last!r}")
    one_of("tail", tail, (None, "partial", "drop", "pad"))
    if drop_last and tail not in (None, "drop"):
        raise invalid(f"drop_last=True and tail={tail!r} contradict each other", "Give one of them.")
    return tail or ("drop" if drop_last else "partial")


def _ranks(rank: Any, world_size: Any) -> tuple[int | None, int | None]:
    if rank is None and world_size is None:
        return None, None
    if world_size is None or rank is None:
        missing, given = ("world_size", "rank") if world_size is None else ("rank", "world_size")
        raise invalid(f"{given} without {missing} says nothing", "Give both, or neither: then the launcher is asked.")
    how_many = "Give the number of processes, or leave rank= and world_size= out: then the launcher is asked."
    size = whole_number("world_size", world_size, least=1, most=2**32 - 1, hint=how_many)
    which = f"Ranks count from 0: give a number from 0 to {size - 1}."
    return whole_number("rank", rank, least=0, most=size - 1, hint=which), size


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


def _check_later_features(device: Any, on_error: Any) -> None:
    if str(device) != "cpu":
        raise unsupported(
            f"device={str(device)!r} does not exist yet",
            "Use device='cpu' with framework='torch' and move batches by tensor.to(device).",
        )
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


def _timeout_seconds(timeout: Any) -> float | None:
    if timeout is None:
        return None
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        raise invalid(f"timeout must be a number of seconds, not {timeout!r}") from None
    if not 0.0 < seconds <= 1e9:
        raise invalid(f"timeout must be a positive number of seconds, not {timeout!r}", "None waits without limit.")
    return seconds
