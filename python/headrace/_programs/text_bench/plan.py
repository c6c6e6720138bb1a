"""What ``headrace bench text`` is asked for: the settings, and the names of contestants."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from headrace._support.checks import invalid

#: Packages that each contestant needs beside NumPy, by its name.
TOKENISERS: dict[str, tuple[str, ...]] = {"headrace": (), "tiktoken": ("tiktoken",), "tokenizers": ("tokenizers",)}
LOADERS: dict[str, tuple[str, ...]] = {
    "headrace": (),
    "headrace-jax": ("jax",),
    "grain": ("grain",),
    "torch": ("torch",),
    "tf": ("tensorflow",),
    "torch-text": ("torch", "tokenizers"),
    "fallback": (),
}
NAMES = tuple(dict.fromkeys((*LOADERS, *TOKENISERS)))
TITLES = {
    "headrace": "Headrace",
    "headrace-jax": "headrace.jax",
    "grain": "Grain, memmap",
    "torch": "torch DataLoader, memmap",
    "tf": "tf.data",
    "torch-text": "torch, tokenise in workers",
    "fallback": "fallback: NumPy memmap",
}


@dataclass(frozen=True)
class Settings:
    """What is asked for."""

    num_batches: int = 100
    batch_size: int = 512
    seq_len: int = 1024
    paths: tuple[str, ...] = ()
    field: str = "text"
    tokenizer: str | None = None
    impl: tuple[str, ...] = NAMES
    worker_count: int = 4
    worker_buffer_size: int = 100
    step_ms: float | None = None
    rounds: int = 3
    seconds: float = 20.0
    seed: int = 0

    @property
    def tokens_needed(self) -> int:
        """Tokens of an epoch of so many batches, and the one that the last window looks ahead to."""
        return self.num_batches * self.batch_size * self.seq_len + 1


@dataclass(frozen=True)
class Variant:
    """One way to set a contestant up; the fastest of its ways stays after the first round."""

    workers: int = 0
    threads: int = 0
    buffer: int = 1  # batches ahead, for each worker

    def told(self) -> str:
        """Return it as words behind the contestant's title; empty where there is nothing to set."""
        parts = [f"{n} {unit}{'' if n == 1 else 's'}" for n, unit in _counts(self) if n]
        return ", ".join(parts)


def _counts(variant: Variant) -> tuple[tuple[int, str], ...]:
    return ((variant.workers, "worker"), (variant.threads, "thread"))


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Return the contestants of these names, each once.

    Raises:
        InvalidArgumentError: There is no such contestant.
    """
    for name in names:
        if name not in NAMES:
            near = get_close_matches(name, NAMES, 1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise invalid(f"--impl: there is no contestant {name!r}", f"{hint}There are: {', '.join(NAMES)}.")
    return tuple(dict.fromkeys(names))


def absent(packages: Sequence[str]) -> str:
    """Return why a contestant cannot take part: a package that is not installed. Else nothing."""
    for package in packages:
        try:
            found = importlib.util.find_spec(package) is not None
        except (ImportError, ValueError):
            found = False
        if not found:
            return f"no {package} here: pip install {package}"
    return ""


def variants(name: str, settings: Settings, batch_bytes: int, memory: int) -> list[Variant]:
    """Return the ways in which a loader is tried.

    What lies ready is at most a quarter of the batches that are measured, since the rate would else be that of a full
    buffer, and a quarter of the free memory.
    """
    workers = settings.worker_count
    most = min(settings.num_batches, memory // max(batch_bytes, 1)) // (4 * max(workers, 1))
    buffer = max(min(settings.worker_buffer_size, most), 1)
    in_workers = [Variant(workers=workers, buffer=buffer)] if workers else []
    if name == "grain":
        threads = [Variant(threads=workers, buffer=buffer)] if workers else []
        return [Variant(), *threads, *in_workers]
    if name in ("torch", "torch-text"):
        return [Variant(), *in_workers]
    return [Variant()]
