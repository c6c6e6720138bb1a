"""The knobs of loaders that cache chunks in worker processes: what each becomes here, under one budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace import _headrace
from headrace._headrace import Report
from headrace._support.checks import invalid, whole_number
from headrace._support.logging import warn
from headrace.dataset import Dataset
from headrace.errors import OutOfBudgetError
from headrace.loader import Loader

_CHUNK_ROWS = 1024  # of a cached chunk, where only the number of chunks was given


@dataclass(frozen=True)
class Became:
    """What the knobs became: arguments of a loader, and a line for each knob that was given."""

    memory: int | str | None
    threads: int | None
    cache: Any
    lines: list[tuple[str, str, str]]  # knob, value that was given, what it became


@dataclass(frozen=True)
class CachedChunkKnobs:
    """The knobs as they were given; None: not given. They may only lower what is automatic.

    Raises:
        InvalidArgumentError: A value is of a wrong kind, or below what it can be.
    """

    read_chunk_size: int | None = None
    max_cached_chunks: int | None = None
    num_workers: int | None = None
    prefetch_factor: int | None = None
    preload_to_ram: bool | None = None
    persistent_workers: bool | None = None

    def __post_init__(self) -> None:
        """Check."""
        for name, least in (
            ("read_chunk_size", 1),
            ("max_cached_chunks", 0),
            ("num_workers", 0),
            ("prefetch_factor", 1),
        ):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=least, hint="Leave it out: memory= decides.")
        for name in ("preload_to_ram", "persistent_workers"):
            if getattr(self, name) not in (None, True, False):
                raise invalid(f"{name} must be True or False, not {getattr(self, name)!r}")

    @property
    def given(self) -> bool:
        """True if there is a knob to explain; ``persistent_workers`` alone is none."""
        return any(value is not None for name, value in self.__dict__.items() if name != "persistent_workers")

    def resolve(self, dataset: Dataset, memory: int | str | None, threads: int | None, words: dict[str, Any]) -> Became:
        """Turn the knobs into arguments of a loader of ``dataset`` with these other ``words``.

        Makes loaders to ask them for their plan, which reads nothing and takes a few milliseconds.
        """
        if not self.given:
            return Became(memory, threads, words["cache"], [])
        plan = _plan(dataset, {**words, "memory": memory, "threads": threads})
        lines: list[tuple[str, str, str]] = []
        threads = self._threads(plan, threads, lines)
        memory = self._memory(plan, dataset, memory, {**words, "threads": threads}, lines)
        cache = self._cache(dataset, {**words, "memory": memory, "threads": threads}, lines)
        if self.persistent_workers is not None:
            lines.append(
                ("persistent_workers", str(self.persistent_workers), "threads, which stay as long as the loader")
            )
        return Became(memory, threads, cache, lines)

    def _threads(self, plan: Report, threads: int | None, lines: list[tuple[str, str, str]]) -> int | None:
        if self.num_workers is None:
            return threads
        if self.num_workers == 0:
            lines.append(("num_workers", "0", _count(plan.threads, "decode thread") + ", no worker processes"))
            return threads
        count = min(self.num_workers, plan.threads)
        reason = "" if count == self.num_workers else ", as many as this process may use"
        lines.append(("num_workers", str(self.num_workers), _count(count, "decode thread") + reason))
        return count

    def _memory(
        self,
        plan: Report,
        dataset: Dataset,
        memory: int | str | None,
        words: dict[str, Any],
        lines: list[tuple[str, str, str]],
    ) -> int | str | None:
        budget = int(plan.memory.budget_bytes)
        text = "the files' own chunks are decoded, each about once an epoch"
        if self.read_chunk_size is not None:
            lines.append(("read_chunk_size", str(self.read_chunk_size), text))
        if self.max_cached_chunks is not None:
            asked = self._cached_bytes(dataset)
            chunks = f"those chunks would be {_headrace.format_bytes(asked)}" if self.max_cached_chunks else "no chunks"
            cap = min(asked, budget)
            needed = _least_memory(dataset, {**words, "memory": cap}) if cap < budget else None
            shown = _headrace.format_bytes
            if asked >= budget:
                text = f"memory stays {shown(budget)}: {chunks}"
            elif needed is not None:
                text, memory = (
                    f"memory={shown(needed)}, the least that will do: {chunks}",
                    needed,
                )
            else:
                text, memory = f"memory={shown(asked)}, what those chunks would be in all workers", asked
            lines.append(("max_cached_chunks", str(self.max_cached_chunks), text))
        if self.prefetch_factor is not None:
            lines.append(("prefetch_factor", str(self.prefetch_factor), "as many batches ahead as the memory holds"))
        return memory

    def _cached_bytes(self, dataset: Dataset) -> int:
        """Return the bytes of all chunks that all worker processes would keep."""
        rows = (self.read_chunk_size or _CHUNK_ROWS) * (self.max_cached_chunks or 0)
        kept = rows * sum(field.row_bytes for field in dataset.fields.values())
        return max(kept * max(1, self.num_workers or 0), 1)

    def _cache(self, dataset: Dataset, words: dict[str, Any], lines: list[tuple[str, str, str]]) -> Any:
        if self.preload_to_ram is None:
            return words["cache"]
        cache, text = words["cache"], f"cache={words['cache']!r}: what fits the memory is kept"
        if self.preload_to_ram:
            cache, text = "ram", 'cache="ram": all rows are decoded before the first batch'
            if _least_memory(dataset, {**words, "cache": "ram"}) is not None:
                cache, text = "auto", 'cache="auto": all rows do not fit the memory, what fits is kept'
                warn("preload_to_ram=True: the rows do not fit the memory; what fits is kept")
        lines.append(("preload_to_ram", str(self.preload_to_ram), text))
        return cache


def table(name: str, lines: list[tuple[str, str, str]], plan: Report, *, keeps: bool) -> str:
    """Return the lines as a table, with the budget and the threads that they led to.

    Args:
        name: Of the class whose arguments they are.
        lines: Argument, what was given, and what became of it.
        plan: Report of a loader that has not begun.
        keeps: May decoded data be kept between epochs? If the plan keeps nothing, the first epoch decides then.
    """
    rows = [("argument", "given", "became"), *lines]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    body = [f"  {knob:<{widths[0]}}  {given:<{widths[1]}}  {became}" for knob, given, became in rows]
    size, memory = _headrace.format_bytes, plan.memory
    planned = f"{size(memory.planned_bytes)} planned of a budget of {size(memory.budget_bytes)}"
    if plan.cache.kind == "nothing" and keeps:
        planned = (
            f"at most {size(memory.budget_bytes)}, the budget: {size(memory.planned_bytes)} to work with, and what the "
            "first epoch finds worth keeping"
        )
    result = f"  in all: {_count(plan.threads, 'decode thread')}, {planned}"
    return "\n".join([f"{name}: what the arguments of other loaders became", *body, result])


def _plan(dataset: Dataset, words: dict[str, Any]) -> Report:
    with Loader(dataset, **words) as loader:
        return loader.report()


def _least_memory(dataset: Dataset, words: dict[str, Any]) -> int | None:
    """Return the least memory that such a loader needs, if it needs more than it is given; None if it is enough."""
    try:
        Loader(dataset, **words).close()
    except OutOfBudgetError as error:
        if error.needed_bytes is None:
            raise
        return error.needed_bytes
    return None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
