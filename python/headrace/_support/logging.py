"""What the library says unasked: the logger ``"headrace"``, silent unless HEADRACE_LOG asks for more, and warnings.

Of the processes of one launch only rank 0 warns, at the line of the program that called into Headrace. The others log.
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from types import FrameType

from headrace._support.trainers import process_rank
from headrace.errors import HeadraceWarning

logger = logging.getLogger("headrace")
_quiet = False


def configure() -> None:
    """Attach handlers once, at import: none that writes, unless HEADRACE_LOG names a level."""
    if logger.handlers:
        return
    logger.addHandler(logging.NullHandler())
    quiet_other_ranks()
    name = os.environ.get("HEADRACE_LOG", "").strip().upper()
    if not name:
        return
    level = logging.CRITICAL + 1 if name == "OFF" else logging.getLevelName(name)
    if not isinstance(level, int):
        warn(f"HEADRACE_LOG={name.lower()!r} is not a level: use debug, info, warning, error or off")
        return
    handler = logging.StreamHandler()  # stderr
    rank = process_rank()
    handler.setFormatter(logging.Formatter(f"headrace{'' if rank is None else f' rank {rank}'}: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)


def quiet_other_ranks() -> None:
    """Ignore HeadraceWarnings on ranks above 0, once their rank is known; filters of the program go before this one."""
    global _quiet
    if not _quiet and (process_rank() or 0) > 0:
        _quiet = True
        warnings.filterwarnings("ignore", category=HeadraceWarning, append=True)


def warn(text: str, rank: int = 0) -> None:
    """Warn at the line of the program that called into Headrace; log it on ranks above 0.

    Args:
        text: What to say.
        rank: As ``Loader(rank=)`` has it, where the program gave one: nothing else may know it.
    """
    if rank > 0 or (process_rank() or 0) > 0:
        logger.warning("%s", text)
    if rank == 0:
        warnings.warn(text, HeadraceWarning, stacklevel=_stack_level())


def _stack_level() -> int:
    """Return the ``stacklevel`` that, in the function that calls this one, is the first caller outside of Headrace."""
    level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "headrace":
        level += 1
        frame = frame.f_back
    return level
