"""How far a long call is: a line on stderr where a person looks at it, or a function of the caller's."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast

from headrace._support.checks import invalid
from headrace._support.logging import logger

Progress = Callable[[int, int], Any] | bool | None
_QUIET_SECONDS = 1.0  # what is done by then needs no line
_RENEW_SECONDS = 0.1


class ProgressLine:
    """Call it with (done, in all); it erases itself when its ``with`` block ends."""

    def __init__(self, what: str, units: str) -> None:
        self._what, self._units = what, units
        self._started = time.monotonic()
        self._last = 0.0
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        spent = now - self._started
        if spent < _QUIET_SECONDS or now - self._last < _RENEW_SECONDS:
            return
        self._last, self._drawn = now, True
        left = spent * (total - done) / max(done, 1)
        sys.stderr.write(f"\rheadrace: {self._what}: {done:,} of {total:,} {self._units}, {left:.0f} s left\x1b[K")
        sys.stderr.flush()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        spent = time.monotonic() - self._started
        if kind is None and spent >= _QUIET_SECONDS:
            logger.info("%s took %.1f s", self._what, spent)


def chosen_progress(line: ProgressLine, progress: Progress) -> Callable[[int, int], Any] | None:
    """What to call: the caller's function, else the line where stderr is a terminal, else nothing."""
    if callable(progress):
        return progress
    if progress is not None and not isinstance(progress, bool):
        raise invalid(f"progress must be a function of (done, in all), or False, not {type(progress).__name__}")
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return line if terminal and progress is not False else None


def own_progress(progress: Any) -> Callable[[int, int], Any] | None:
    """Return the caller's function, or None; raise for what is neither."""
    if progress is not None and not callable(progress):
        raise invalid(f"progress must be a function of (done, in all), not {type(progress).__name__}")
    return cast("Callable[[int, int], Any] | None", progress)
