"""What the training framework and the launcher say of the run that this process is in."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from headrace import _headrace

#: Lightning under its two names, with classes of their own.
_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


def process_rank() -> int | None:
    """Return the rank of this process in its launch; None if it was not launched with others."""
    if (place := distributed_rank()) is not None:
        return place[0]
    return _headrace.launcher_rank()


def distributed_rank() -> tuple[int, int] | None:
    """Return rank and number of ranks as torch.distributed has them; None if it is not set up."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def calling_trainer() -> Any:
    """Return the Lightning Trainer that runs on this thread's stack; None if there is none.

    Lightning tells iterables little of what it does with them. The Trainer that iterates a loader is among its callers,
    so it can be asked.
    """
    trainers = tuple(
        trainer for name in _LIGHTNING if (trainer := getattr(sys.modules.get(name), "Trainer", None)) is not None
    )
    if not trainers:
        return None
    # Before Python 3.13, the dict that f_locals gives stays in its frame, and keeps the loss, the outputs and the batch
    # of a program's method alive until that method returns. So only frames of the modules are asked in which Trainer is
    # written: a program's subclass calls into them.
    written_in = {base.__module__ for trainer in trainers for base in trainer.__mro__ if base is not object}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__") in written_in and "self" in frame.f_code.co_varnames[:1]:
            owner = frame.f_locals.get("self")
            if isinstance(owner, trainers):
                return owner
        frame = frame.f_back
    return None


def overfits() -> bool:
    """True if a Lightning Trainer with ``overfit_batches`` runs on this thread's stack.

    Lightning turns shuffling off by building a DataLoader anew, and tells other iterables nothing.
    """
    return bool(getattr(calling_trainer(), "overfit_batches", 0))


def reopen_epoch() -> None:
    """Tell a Trainer that resumes that the epoch is not over in whose middle it was stopped, if it believes so.

    A Trainer that ``max_steps`` stops in the middle of an epoch counts that epoch as done, and its checkpoint says so.
    Resumed from there it goes on with the next epoch, and passes by what the checkpoint says of loaders. A checkpoint
    that a callback saves in the middle of an epoch has these counts right: they are made the same here, before the
    Trainer looks. Does nothing where Lightning keeps them elsewhere.
    """
    loop = getattr(calling_trainer(), "fit_loop", None)
    progress = getattr(loop, "epoch_progress", None)
    states = getattr(loop, "_combined_loader_states_to_load", None)
    if progress is None or not states or getattr(loop, "restarting", True):
        return
    if getattr(loop, "_data_fetcher", None) is not None:  # it has begun, and counts by itself
        return
    batches = getattr(getattr(loop, "epoch_loop", None), "batch_progress", None)
    if getattr(batches, "is_last_batch", True):  # limit_train_batches ended it: the loader stands in its middle
        return
    places = [(state.get("epoch"), state.get("samples")) for state in states if isinstance(state, dict)]
    done = progress.current.processed
    if progress.current.completed != done or not any(e == done - 1 and samples for e, samples in places):
        return
    for counts in (progress.current, progress.total):
        counts.processed -= 1
        counts.completed -= 1
    loop.restarting = True  # type: ignore[union-attr]
