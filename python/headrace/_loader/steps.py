"""The steps of an epoch as a batch sampler: for libraries that build torch's DataLoader of a loader's parts.

Accelerate's ``skip_first_batches(loader, n)`` makes ``DataLoader(loader.dataset, batch_sampler=…, collate_fn=…)``,
which asks the data set for the rows of a batch. A :class:`Step` is such a list of row numbers, and knows the batch that
it stands for: the data set hands out the loader's own batch, at the loader's speed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any, Protocol, overload

from headrace import _headrace
from headrace._dataset.batch_rows import BatchRows
from headrace._dataset.ragged import num_samples, sample, stack
from headrace._support.checks import invalid

__all__ = ["Delivered", "Rows", "Step", "Steps", "Walk", "collate"]


class SteppedLoader(Protocol):
    """What steps use of a :class:`headrace.Loader`."""

    _native: _headrace.Loader
    _walk: Walk

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    @property
    def dataset(self) -> object: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def drop_last(self) -> bool: ...
    def set_epoch(self, epoch: int) -> None: ...
    def _next_samples(self) -> tuple[int, int, int, int]: ...
    def _go_to_samples(self, epoch: int, samples: int) -> None: ...
    def _replay(self, epoch: int, step: int) -> _headrace.ToolResult: ...


class Step(BatchRows):
    """The row numbers of one batch, in order. Looking at them reads the batch; having it delivered does not need them.

    Attributes:
        loader: The loader that it is a step of.
        epoch: Number of the epoch, from 0.
        first_sample: Samples of the epoch that all ranks together get before it.
        walk: What the steps of one pass over the batch sampler have in common.
        is_last: True if no step of the epoch follows.
    """

    def __init__(self, loader: SteppedLoader, walk: object, epoch: int, first_sample: int, is_last: bool) -> None:
        self.loader = loader
        self.walk = walk
        self.epoch = epoch
        self.first_sample = first_sample
        self.is_last = is_last
        self._rows: list[int] | None = None

    @property
    def rows(self) -> list[int]:
        """Row numbers in the data set; a padded batch repeats some."""
        if self._rows is None:
            number = self._number()
            if number is None:
                raise invalid(
                    f"the rows of a batch after {self.first_sample} samples are not known before it is delivered",
                    "Iterate the loader; provenance=True delivers row numbers.",
                )
            samples = self.loader._replay(self.epoch, number).to_dict()["samples"]
            if samples and "dataset_row" not in samples[0]:
                raise invalid(
                    "samples that are drawn anew in each epoch have no row numbers",
                    "Iterate the loader; provenance=True delivers where each sample begins.",
                )
            self._rows = [sample["dataset_row"] for sample in samples]
        return self._rows

    def delivered(self, dataset: object) -> Delivered | None:
        """Return the loader's own batch; None: it delivers another data set."""
        return self.loader._walk.deliver(self) if self.loader.dataset is dataset else None

    def _number(self) -> int | None:
        """Return its number among the steps of its whole epoch; None for one that begins inside of such a one."""
        native = self.loader._native
        number = int(native.batches_after(self.epoch, 0) - native.batches_after(self.epoch, self.first_sample))
        return number if native.step_begin(self.epoch, number) == self.first_sample else None

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> list[int]: ...
    def __getitem__(self, index: int | slice) -> int | list[int]:
        return self.rows[index]

    def __repr__(self) -> str:
        return f"<headrace step of epoch {self.epoch}, after {self.first_sample} samples>"

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self.rows,)  # a worker process has the rows, not the loader


class Delivered(Sequence[Any]):
    """A batch that is made already, as a list of samples; :func:`collate` takes the batch out again."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self._columns = list(batch.values()) if isinstance(batch, dict) else list(batch)

    def __len__(self) -> int:
        return num_samples(self.batch) if isinstance(self.batch, dict) else len(self._columns[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        if isinstance(self.batch, dict):
            return sample(self.batch, range(len(self))[index])
        return tuple(column[index] for column in self._columns)


class Walk:
    """Where the last pass over a loader's steps is."""

    def __init__(self) -> None:
        self._of: object = None  # what the steps of the pass have in common
        self._batches: Iterator[Any] = iter(())
        self._position = 0  # samples before the next step

    def deliver(self, step: Step) -> Delivered:
        """Return the batch of a step: the next of the walk through its epoch, or of a new walk that begins there."""
        loader = step.loader
        if self._of is not step.walk or self._position != step.first_sample:
            if self._of is step.walk and loader._native.report().world_size > 1:
                raise invalid(
                    f"the batch after {self._position} samples of epoch {step.epoch} was left out, and one after "
                    f"{step.first_sample} asked for: does Accelerate divide the batches of a loader that divides them?",
                    "Do not pass the loader to prepare_data_loader: each rank gets its part without.",
                )
            loader._go_to_samples(step.epoch, step.first_sample)
            batches = iter(loader)
        else:
            batches = self._batches
        self._of, self._batches = None, iter(())  # a walk that fails or ends does not keep the epoch
        batch = next(batches)
        if not step.is_last:
            self._of, self._batches = step.walk, batches
            self._position = loader._native.step_end(step.epoch, step.first_sample)
        return Delivered(batch)


class Steps:
    """The batches that the next ``iter(loader)`` would deliver, as :class:`Step`; looking at them starts no epoch.

    It has no ``sampler``: one that others put there would change nothing.
    """

    def __init__(self, loader: SteppedLoader) -> None:
        self._loader = loader

    @property
    def batch_size(self) -> int:
        """Samples of a full batch on each rank; of the largest, where batches differ in size."""
        return self._loader.batch_size

    @property
    def drop_last(self) -> bool:
        """True if samples that do not fill the last batch are dropped."""
        return self._loader.drop_last

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch of the next pass, as :meth:`Loader.set_epoch` does."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self._loader)

    def __iter__(self) -> Iterator[Step]:
        walk = object()
        native = self._loader._native
        epoch, sample, _, _ = self._loader._next_samples()
        number = native.batches_after(epoch, sample)
        for i in range(number):
            yield Step(self._loader, walk, epoch, sample, is_last=i + 1 == number)
            sample = native.step_end(epoch, sample)


class Rows:
    """The row numbers that the next ``iter(loader)`` would deliver on this rank, one by one. Reads what it passes."""

    def __init__(self, loader: SteppedLoader) -> None:
        self._loader = loader

    def __iter__(self) -> Iterator[int]:
        for step in Steps(self._loader):
            yield from step

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the loader delivers next, as trainers do where an epoch begins."""
        self._loader.set_epoch(epoch)


def collate(samples: Sequence[Any], *, ragged: Container[str], as_torch: bool, as_tuple: bool) -> Any:
    """Make a batch of samples of a data set, or return the batch that they are of."""
    if isinstance(samples, Delivered):
        return samples.batch
    batch = stack(samples, ragged)
    if as_torch:
        import torch

        batch = {name: torch.from_numpy(column) for name, column in batch.items()}
    return tuple(batch.values()) if as_tuple else batch
