"""The logger ``"headrace"``: silent unless the program or HEADRACE_LOG asks for more."""

from __future__ import annotations

import logging
import os
import warnings

from headrace.errors import HeadraceWarning

logger = logging.getLogger("headrace")


def configure() -> None:
    """Attach handlers once, at import: none that writes, unless HEADRACE_LOG names a level."""
    if logger.handlers:
        return
    logger.addHandler(logging.NullHandler())
    name = os.environ.get("HEADRACE_LOG", "").strip().upper()
    if not name:
        return
    level = logging.CRITICAL + 1 if name == "OFF" else logging.getLevelName(name)
    if not isinstance(level, int):
        text = f"HEADRACE_LOG={name.lower()!r} is not a level: use debug, info, warning, error or off"
        warnings.warn(text, HeadraceWarning, stacklevel=3)
        return
    handler = logging.StreamHandler()  # stderr
    handler.setFormatter(logging.Formatter("headrace: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level)
