"""TrainerLoader: a loader as Lightning's Trainer wants one, with epochs that begin when their first batch is taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.loader import Loader
from headrace.torch import DataLoader


class EpochNumber:
    """What a Trainer finds as ``loader.sampler``: the one place where it says which epoch comes."""

    def __init__(self, loader: TrainerLoader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next loop delivers (from 0)."""
        self._loader.set_epoch(epoch)


class TrainerLoader:
    """The batches of one stage of a data module, epoch after epoch.

    ``for batch in loader`` is one epoch. It begins when the first batch is taken: a Trainer calls ``iter()`` more often
    than it iterates, to look whether it can. There is no ``dataset``: from a loader that has one and a ``sampler``,
    Lightning makes another with ``overfit_batches``.

    Attributes:
        loader: The :class:`headrace.Loader` that does the work.
    """

    def __init__(self, batches: DataLoader, *, training: bool = False, overfits: bool = False) -> None:
        self._batches = batches
        self._training = training
        self._overfits = overfits

    @property
    def loader(self) -> Loader:
        """The loader that does the work."""
        return self._batches.loader

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch on this rank."""
        return self._batches.batch_size

    @property
    def sampler(self) -> EpochNumber:
        """Return where the Trainer says which epoch comes; missing where all epochs are the same."""
        if self._overfits or not self._training:
            raise AttributeError("a loader that delivers the same epoch each time has no sampler")
        return EpochNumber(self)

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self.loader.closed

    def __len__(self) -> int:
        """Return the exact number of batches of an epoch; the same on every rank."""
        return len(self._batches)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator of the next epoch, which begins with its first ``next()``.

        Raises (while iterating): what :meth:`headrace.Loader.__iter__` names.
        """
        yield from self._batches

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next loop delivers (from 0)."""
        if not self._overfits:
            self._batches.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is (see :meth:`headrace.Loader.state_dict`); also after :meth:`close`."""
        return self._batches.state_dict()

    def next_state(self) -> dict[str, Any]:
        """Return where the next loop begins, for a loader that takes this one's place."""
        epoch, first, _, _ = self.loader._next_samples()
        return {**self.state_dict(), "epoch": epoch, "samples": first}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where :meth:`state_dict` was taken; the next loop goes on there. While overfitting it begins anew."""
        if not self._overfits:
            self._batches.load_state_dict(state)

    def report(self) -> Any:
        """Return what was delivered, and where the time went (see :meth:`headrace.Loader.report`)."""
        return self.loader.report()

    def explain(self) -> str:
        """Return every automatic setting with its resolved value and the reason."""
        return self.loader.explain()

    def close(self) -> None:
        """Stop the threads and give memory back. Batches that are held stay valid."""
        self._batches.close()

    def __repr__(self) -> str:
        return f"<TrainerLoader: {self.loader!r}>"
