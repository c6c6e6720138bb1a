"""The arguments of Loader: checked, made consistent, and refused where their feature does not exist yet."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace._checks import invalid, memory_bytes, one_of, unsupported, whole_number
from headrace.samplers import Balanced, Listing, LookAhead, Weighted


@dataclass(frozen=True)
class BlockMix:
    """A shape of the block shuffle: ``streams`` parts of the data are read at once, ``pool`` blocks mixed in each.

    Part of what a seed means: give the same to get the same batches. The default follows from the data and the global
    batch alone.
    """

    streams: int
    pool: int

    def __post_init__(self) -> None:
        """Check.

        Raises:
            InvalidArgumentError: A number is below 1.
        """
        whole_number("streams", self.streams, least=1, most=2**16)
        whole_number("pool", self.pool, least=1, most=2**32 - 1)


@dataclass(frozen=True)
class LoaderOptions:
    """Arguments of the engine's loader. Where a number must be above 0, 0 means not given."""

    batch_size: int
    global_batch_size: int
    shuffle: str
    mix: tuple[int, int, int]
    seed: int
    tail: str
    rank: int | None
    world_size: int | None
    provenance: bool
    memory: int
    cache: str
    cache_directory: bytes
    share_on_host: bool
    threads: int
    timeout_seconds: float
    torch: bool
    as_tuple: bool


def resolve(
    *,
    batch_size: Any,
    shuffle: Any,
    mix: Any,
    sampler: Any,
    batch_sampler: Any,
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
    shared_memory: Any,
    framework: Any,
    device: Any,
    batch_format: Any,
    provenance: Any,
    on_error: Any,
    timeout: Any,
) -> LoaderOptions:
    """Check the arguments of ``Loader``.

    Raises:
        InvalidArgumentError: An argument is out of range, or two contradict each other.
        UnsupportedError: An argument asks for what does not exist yet; the hint names what to use instead.
    """
    _check_order(shuffle, sampler, batch_sampler, batch_size, global_batch_size, drop_last)
    if lookahead is not None:
        whole_number("lookahead", lookahead, least=1)
        if sampler is None or isinstance(sampler, (Weighted, Balanced)):
            raise invalid("lookahead says how far ahead a sampler of one's own is asked: there is none")
    one_of("batch_format", batch_format, ("dict", "tuple"))
    if not isinstance(provenance, bool):
        raise invalid(f"provenance must be True or False, not {provenance!r}")
    _check_later_features(device, on_error)
    one_of("shared_memory", shared_memory, (None, "host"))
    cache_mode, cache_directory = _cache(cache)
    if shared_memory is not None and cache_mode == "none":
        raise invalid("shared_memory='host' shares a cache, and cache='none' wants none")
    if batch_sampler is None:
        samples, global_samples = _batch_sizes(batch_size, global_batch_size)
    else:
        samples, global_samples = 1, 0  # its own, known when it is asked
    given_rank, given_size = _ranks(rank, world_size)
    return LoaderOptions(
        batch_size=samples,
        global_batch_size=global_samples,
        shuffle={False: "none", True: "block"}.get(shuffle, shuffle),
        mix=_mix(mix),
        seed=whole_number("seed", seed, least=0, most=2**64 - 1),
        tail=_tail(drop_last, tail),
        rank=given_rank,
        world_size=given_size,
        provenance=provenance,
        memory=0 if memory is None else memory_bytes("memory", memory),
        cache=cache_mode,
        cache_directory=cache_directory,
        share_on_host=shared_memory == "host" and cache_mode != "directory",
        threads=0 if threads is None else whole_number("threads", threads, least=1, most=4096),
        timeout_seconds=_timeout_seconds(timeout),
        torch=_wants_torch(framework),
        as_tuple=batch_format == "tuple",
    )


def _batch_sizes(batch_size: Any, global_batch_size: Any) -> tuple[int, int]:
    if batch_size is None and global_batch_size is None:
        raise invalid("batch_size is missing", "Give the number of samples a batch.")
    if batch_size is not None and global_batch_size is not None:
        raise invalid("batch_size and global_batch_size are two spellings of one number", "Give one of them.")
    if batch_size is not None:
        return whole_number("batch_size", batch_size, least=1), 0
    return 0, whole_number("global_batch_size", global_batch_size, least=1)


def _mix(mix: Any) -> tuple[int, int, int]:
    if mix is None:
        return 0, 0, 0
    if isinstance(mix, BlockMix):
        return mix.streams, mix.pool, 0
    return 0, 0, memory_bytes("mix", mix)


def _check_order(
    shuffle: Any, sampler: Any, batch_sampler: Any, batch_size: Any, global_batch_size: Any, drop_last: Any
) -> None:
    one_of("shuffle", shuffle, (False, True, "block", "exact"))
    if sampler is not None and batch_sampler is not None:
        raise invalid("sampler and batch_sampler exclude each other")
    if shuffle and (sampler is not None or batch_sampler is not None):
        raise invalid("shuffle and a sampler exclude each other: both decide the order")
    if batch_sampler is not None and (batch_size is not None or global_batch_size is not None or drop_last):
        raise invalid("batch_sampler decides the batches: it excludes batch_size, global_batch_size and drop_last")
    if batch_sampler is not None:
        Listing(batch_sampler, batches=True)
    if sampler is not None and not isinstance(sampler, (Weighted, Balanced, LookAhead)):
        Listing(sampler, batches=False)


def _tail(drop_last: Any, tail: Any) -> str:
    if not isinstance(drop_last, bool):
        raise invalid(f"drop_last must be True or False, not {drop_last!r}")
    one_of("tail", tail, (None, "partial", "drop", "pad"))
    if drop_last and tail not in (None, "drop"):
        raise invalid(f"drop_last=True and tail={tail!r} contradict each other")
    return tail or ("drop" if drop_last else "partial")


def _ranks(rank: Any, world_size: Any) -> tuple[int | None, int | None]:
    if rank is None and world_size is None:
        return None, None
    if world_size is None or rank is None:
        missing, given = ("world_size", "rank") if world_size is None else ("rank", "world_size")
        raise invalid(f"{given} without {missing} says nothing", "Give both, or neither: then the launcher is asked.")
    size = whole_number("world_size", world_size, least=1, most=2**32 - 1)
    return whole_number("rank", rank, least=0, most=size - 1), size


def _cache(cache: Any) -> tuple[str, bytes]:
    if not isinstance(cache, (str, os.PathLike)) or not os.fspath(cache):
        raise invalid(f"cache must be 'auto', 'none', 'ram' or a directory, not {cache!r}")
    if cache in ("auto", "none", "ram"):
        return str(cache), b""
    path = Path(os.fspath(cache)).expanduser()
    if isinstance(cache, str) and os.sep not in cache and not path.is_dir():
        raise invalid(
            f"cache={cache!r} is none of 'auto', 'none' and 'ram', and no directory",
            f"To make a directory of that name, write {os.curdir + os.sep + cache!r}.",
        )
    return "directory", os.fsencode(path)


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


def _wants_torch(framework: Any) -> bool:
    one_of("framework", framework, ("numpy", "torch"))
    if framework == "numpy":
        return False
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise unsupported(
            f"framework='torch' needs torch, which cannot be imported ({error})",
            "Install it (pip install torch), or use framework='numpy' (the default).",
        ) from error
    return True


def _timeout_seconds(timeout: Any) -> float:
    if timeout is None:
        return 0.0
    try:
        seconds = float(timeout)
    except (TypeError, ValueError):
        raise invalid(f"timeout must be a number of seconds, not {timeout!r}") from None
    if not 0.0 < seconds <= 1e9:
        raise invalid(f"timeout must be a positive number of seconds, not {timeout!r}", "None waits without limit.")
    return seconds
