"""Take the rights of root away for a while, so that files can be made unreadable."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_privileges() -> Iterator[None]:
    """Run the block as a user that may not read everything, if this process is root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
