"""Where what was made once is kept for the next time: in the user's cache directory."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from headrace._support.logging import warn


def cache_home(kind: str) -> Path:
    """Return a folder for what is of one kind: where the engine keeps what it remembers, else one until exit."""
    chosen, home = os.environ.get("HEADRACE_CACHE", ""), os.environ.get("HOME", "")
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    if chosen != "off" and (chosen or xdg.startswith("/") or home.startswith("/")):
        root = Path(chosen) if chosen else Path(xdg or f"{home}/.cache") / "headrace"
        with contextlib.suppress(OSError):
            root = root.absolute()  # not where the current directory was deleted
            (root / kind).mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(root / kind, os.W_OK):
            return root / kind
        warn(
            f"{root / kind} cannot be written, so that what is kept there is made again by each program. Set "
            "HEADRACE_CACHE to a folder of your own"
        )
    folder = tempfile.mkdtemp(prefix=f"headrace-{kind}-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
