"""Find files that others wrote: data packs, which are no part of the repository.

HEADRACE_SHARED_DATA names their folder; without it, they are looked for in shared/data beside each folder above.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

LIQUIDO = "neutrino/data/tests/liquid-o/liquido_electrons.h5"


def folders() -> list[Path]:
    """Return the folders that may hold data packs."""
    named = os.environ.get("HEADRACE_SHARED_DATA")
    return [Path(named)] if named else [above / "shared/data" for above in Path(__file__).resolve().parents]


def found(name: str) -> Path | None:
    """Return a file or folder of the data packs, or None where it is absent."""
    return next((folder / name for folder in folders() if (folder / name).exists()), None)


def needed(name: str) -> Path:
    """Return a file or folder of the data packs; the test is skipped, with a reason, where it is absent."""
    path = found(name)
    if path is None:
        pytest.skip(f"the data pack is not here: {name}; HEADRACE_SHARED_DATA says where")
    return path
