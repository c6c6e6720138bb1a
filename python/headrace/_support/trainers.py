"""What the training framework and the launcher say of the run that this process is in."""

from __future__ import annotations

import sys
from types import FrameType

from headrace import _headrace


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


def overfits() -> bool:
    """True if a Lightning Trainer with ``overfit_batches`` runs on this thread's stack.

    Lightning turns shuffling off by building a DataLoader anew, and tells other iterables nothing. The Trainer that
    iterates a loader is among its callers, so it can be asked.
    """
    modules = (sys.modules.get("lightning.pytorch"), sys.modules.get("pytorch_lightning"))
    trainers = tuple(trainer for module in modules if (trainer := getattr(module, "Trainer", None)) is not None)
    if not trainers:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if "self" in frame.f_code.co_varnames[:1] and isinstance(owner := frame.f_locals.get("self"), trainers):
            return bool(getattr(owner, "overfit_batches", 0))
        frame = frame.f_back
    return False
