"""``headrace.accelerate``: loaders in a training loop of Hugging Face Accelerate.

from headrace.accelerate import prepare

model, optimizer = accelerator.prepare(model, optimizer)
loader = prepare(hr.Loader(jets, batch_size=512, shuffle=True, framework="torch"), accelerator)
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import accelerate
import torch
from accelerate import Accelerator
from accelerate.data_loader import DataLoaderStateMixin
from accelerate.state import GradientState
from accelerate.utils import send_to_device

from headrace._loader.steps import Step, Steps
from headrace._support.checks import invalid
from headrace.loader import Loader
from headrace.torch import DataLoader

if not hasattr(DataLoaderStateMixin, "begin"):
    raise ImportError(f"headrace.accelerate needs accelerate 0.21 or later, this is {accelerate.__version__}")

__all__ = ["PreparedLoader", "prepare"]


def prepare(loader: Loader | DataLoader, accelerator: Accelerator) -> PreparedLoader:
    """Make of a loader what ``accelerator.prepare`` makes of a DataLoader.

    ``accelerator.prepare(loader)`` returns a loader unchanged. What this returns delivers on the accelerator's device,
    copied ahead (or on the loader's own, where it was made with ``device=``), tells ``accelerator.accumulate`` where an
    epoch ends, and is saved and restored by ``accelerator.save_state`` and ``load_state``. Ranks are divided by the
    loader.

    Args:
        loader: A :class:`headrace.Loader` with ``framework="torch"``, or a :class:`headrace.torch.DataLoader`.
        accelerator: The accelerator of the run.

    Raises:
        InvalidArgumentError: It is another loader, or delivers NumPy arrays or single samples.
    """
    return PreparedLoader(loader, accelerator)


class PreparedLoader(DataLoaderStateMixin):  # type: ignore[misc]
    """A loader in an Accelerate loop. Made by :func:`prepare`; ``for batch in loader`` is one epoch.

    With several processes, make the loader with ``tail="pad"`` where you call ``gather_for_metrics``, which leaves the
    repeated samples of the last batch out.

    Attributes:
        gradient_state: Where Accelerate is told that an epoch ends.
        end_of_dataloader: True while the last batch of an epoch is used.
        remainder: Samples of the last batch over all ranks, without repeated ones; 0: it is full, or batches are not
            all of ``batch_size`` samples that the loader divides over the ranks.
    """

    # What accelerate.skip_first_batches passes on to the DataLoader that it makes.
    num_workers: ClassVar[int] = 0  #: Worker processes: none, the threads are C++.
    prefetch_factor: ClassVar[None] = None  #: Batches ahead of a worker process: there is none.
    persistent_workers: ClassVar[bool] = False  #: Do worker processes stay? There are none.
    multiprocessing_context: ClassVar[None] = None  #: How worker processes start: there are none.
    timeout: ClassVar[float] = 0  #: Seconds to wait for a worker process: there is none.
    pin_memory: ClassVar[bool] = False  #: Are batches to be page-locked? They are ready as they are.

    def __init__(self, loader: Loader | DataLoader, accelerator: Accelerator) -> None:
        if not isinstance(loader, (Loader, DataLoader)):
            hint = "Use accelerator.prepare for it."
            if isinstance(accelerator, (Loader, DataLoader)):
                hint = "The loader comes first: prepare(loader, accelerator)."
            raise invalid(f"prepare takes a loader of headrace's, not a {type(loader).__name__}", hint)
        plan = loader if isinstance(loader, Loader) else loader.loader
        if plan._options["framework"] != "torch":
            raise invalid("this loader delivers NumPy arrays", 'Make it with framework="torch".')
        if isinstance(loader, DataLoader) and not loader._batched:
            raise invalid("this loader delivers samples one by one", "Make it with batch_size=, batches are prepared.")
        self._loader = loader
        self._plan = plan
        self._device: torch.device | None = accelerator.device if accelerator.device_placement else None
        if plan._stays_on_host and self._device is not None and self._device.type != "cpu":
            plan._deliver_on(self._device)
        if not plan._stays_on_host:
            self._device = None  # batches are where they were asked for
        self.gradient_state = GradientState()
        accelerator.register_for_checkpointing(self)

    def __len__(self) -> int:
        """Return the exact number of batches of an epoch."""
        return len(self._loader)

    def __iter__(self) -> Iterator[Any]:
        """Return an iterator of the next epoch, or of the rest of one after :meth:`load_state_dict`.

        Raises (while iterating): what ``Loader.__iter__`` names.
        """
        return _PreparedEpoch(self)

    @contextlib.contextmanager
    def _told(self) -> Iterator[int]:
        """Tell Accelerate that an epoch is under way; gives the number of its batches."""
        epoch, first, end, batch = self._plan._next_samples()
        left = self._plan._native.batches_after(epoch, first)
        self.begin()
        self.remainder = 0 if self._plan.drop_last or not self._plan._divides_samples else (end - first) % batch
        try:
            yield left
        finally:
            self.end()

    @property
    def batch_sampler(self) -> PreparedSteps:
        """Return the batches to come as lists of row numbers: ``accelerate.skip_first_batches`` makes a loader of them.

        That loader goes on at the loader's speed, and Accelerate hears where its epoch ends, as from this one.
        """
        return PreparedSteps(self)

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next loop delivers (from 0)."""
        self._loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is; ``accelerator.save_state`` calls it."""
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where :meth:`state_dict` was taken; ``accelerator.load_state`` calls it."""
        self._loader.load_state_dict(state)

    def __getattr__(self, name: str) -> Any:
        """Return what the loader itself has: ``dataset``, ``batch_sampler``, ``report``, ``close`` and others."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._loader, name)


class PreparedSteps(Steps):
    """The steps of a prepared loader's next epoch; Accelerate is told which is the last."""

    def __init__(self, prepared: PreparedLoader) -> None:
        super().__init__(prepared._plan)
        self._prepared = prepared

    def __iter__(self) -> Iterator[Step]:
        with self._prepared._told():
            for step in super().__iter__():
                self._prepared.end_of_dataloader = step.is_last
                yield step


class _PreparedEpoch(Iterator[Any]):
    """The batches of a prepared loader's epoch. It goes on after an error, as the loader's own iterator does."""

    def __init__(self, prepared: PreparedLoader) -> None:
        self._prepared = prepared
        self._under_way = contextlib.ExitStack()
        self._batches: Iterator[Any] | None = None
        self._left = 0

    def __next__(self) -> Any:
        prepared = self._prepared
        if self._batches is None:
            self._left = self._under_way.enter_context(prepared._told())
            self._batches = iter(prepared._loader)
        try:
            delivered = next(self._batches)
        except StopIteration:
            self._under_way.close()
            raise
        except Exception:  # in a batch's place
            self._left -= 1
            raise
        self._left -= 1
        prepared.end_of_dataloader = self._left == 0
        device = prepared._device
        return delivered if device is None else send_to_device(delivered, device, non_blocking=True)

    def __del__(self) -> None:
        self._under_way.close()
