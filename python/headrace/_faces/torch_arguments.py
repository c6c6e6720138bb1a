"""The arguments of torch's DataLoader: their values checked with torch's words, and what each becomes for a Loader."""

from __future__ import annotations

import multiprocessing
import multiprocessing.context
import numbers
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headrace._support.checks import invalid, real_number, whole_number

#: Options of Loader that say how large batches are, in place of ``batch_size``.
_SIZES = ("batch", "group_by", "global_batch_size")


@dataclass(frozen=True)
class TorchArguments:
    """The arguments of a ``DataLoader`` that say how samples are delivered.

    Raises:
        InvalidArgumentError: A value that torch refuses, in torch's words.
    """

    batch_size: Any
    shuffle: Any
    sampler: Any
    batch_sampler: Any
    num_workers: Any
    drop_last: Any
    timeout: Any
    prefetch_factor: Any
    generator: Any
    worker_init_fn: Any
    multiprocessing_context: Any
    collate_fn: Any
    column_fn: Any
    options: Mapping[str, Any]  # those of Loader that were given

    def __post_init__(self) -> None:
        """Check what torch checks, in its order."""
        if self.num_workers is not None and whole_number("num_workers", self.num_workers, least=-(2**63)) < 0:
            raise invalid(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
                "Leave it out: as many threads as this process may use.",
            )
        if not real_number("timeout", self.timeout) >= 0:
            raise invalid("timeout option should be non-negative", "0: no limit.")
        if self.num_workers and "threads" in self.options:
            raise invalid("num_workers option is mutually exclusive with threads", "Give one of them.")
        if (
            self.prefetch_factor is not None
            and whole_number("prefetch_factor", self.prefetch_factor, least=-(2**63)) < 0
        ):
            raise invalid("prefetch_factor option should be non-negative", "Leave it out: memory= decides.")
        if self.sampler is not None and self.shuffle:
            raise invalid("sampler option is mutually exclusive with shuffle", "Give one of them.")
        self._check_sizes()
        if self.batch_sampler is not None:
            if self.batch_size != 1 or self.shuffle or self.sampler is not None or self.drop_last:
                raise invalid(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
                    "Give batch_sampler= alone.",
                )
        elif self.batch_size is not None and (
            isinstance(self.batch_size, bool)
            or not isinstance(self.batch_size, numbers.Integral)
            or self.batch_size < 1
        ):
            raise invalid(
                f"batch_size should be a positive integer value, but got batch_size={self.batch_size!r}",
                "None: samples come one by one.",
            )
        elif self.batch_size is None and self.drop_last:
            raise invalid(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
                "Give a batch_size, or leave drop_last out.",
            )
        if not isinstance(self.drop_last, bool):
            raise invalid(f"drop_last should be a boolean value, but got drop_last={self.drop_last!r}")
        self._check_context()
        if self.generator is not None and not hasattr(self.generator, "initial_seed"):
            raise invalid(
                f"generator must be a torch.Generator, not {self.generator!r}", "For a number there is seed=."
            )
        for name in ("collate_fn", "column_fn"):
            if getattr(self, name) is not None and not callable(getattr(self, name)):
                raise invalid(f"{name} must be a function, not {getattr(self, name)!r}")
        if self.column_fn is not None and not self.batched:
            raise invalid(
                "column_fn gets whole batches, and batch_size=None makes none",
                "Give a batch_size; or collate_fn=, which gets each sample.",
            )

    @property
    def batched(self) -> bool:
        """False if samples come one by one."""
        return self.batch_size is not None or self.batch_sampler is not None

    def _check_sizes(self) -> None:
        """Check the arguments that torch has not against those that it has, in its manner."""
        for name in _SIZES:
            if name in self.options and self.batch_size != 1:
                raise invalid(f"{name} option is mutually exclusive with batch_size", "Give one of them.")
        for name, usual in (("tail", "partial"), ("layout", "ragged")):
            if not self.batched and self.options.get(name, usual) != usual:
                raise invalid(
                    f"batch_size=None option disables auto-batching and is mutually exclusive with {name}",
                    f"Give a batch_size, or leave {name} out.",
                )

    def _check_context(self) -> None:
        context = self.multiprocessing_context
        if context is None:
            return
        if self.num_workers == 0:
            raise invalid(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                "but got num_workers=0"
            )
        if isinstance(context, str) and context not in (methods := multiprocessing.get_all_start_methods()):
            raise invalid(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, "
                f"but got multiprocessing_context={context!r}"
            )
        if not isinstance(context, (str, multiprocessing.context.BaseContext)):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={context}"
            )

    def loader_words(self, samples_together: int) -> dict[str, Any]:
        """Return the arguments of ``headrace.Loader``.

        Without batches ``samples_together`` are decoded at once; with ``lookahead`` one, since it counts batches.
        """
        words: dict[str, Any] = {"seed": self._seed(), "timeout": self.timeout, **self.options}
        if self.num_workers:
            words["threads"] = self.num_workers
        if self.batch_sampler is not None:
            return {**words, "batch_sampler": self.batch_sampler}
        if self.sampler is not None:
            words["sampler"] = self.sampler
        if self.options.keys().isdisjoint(_SIZES):
            together = 1 if "lookahead" in self.options else samples_together
            words["batch_size"] = together if self.batch_size is None else self.batch_size
        return {**words, "shuffle": self.shuffle or False, "drop_last": self.drop_last}

    def _seed(self) -> int:
        return 0 if self.generator is None else int(self.generator.initial_seed()) % 2**64

    def without_effect(self) -> Iterator[str]:
        """Say of each argument that was given and has no effect why that is so."""
        if self.worker_init_fn is not None:
            yield "worker_init_fn is never called: there are no worker processes"
        if self.multiprocessing_context is not None:
            yield "multiprocessing_context has no effect: there are no worker processes"
        if self.prefetch_factor is not None:
            yield "prefetch_factor has no effect: as many batches are ready ahead as memory= holds"
