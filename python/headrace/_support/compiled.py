"""What to say where the compiled module cannot be imported. Imports nothing of Headrace."""

from __future__ import annotations

import platform
from pathlib import Path


def without_module(error: ImportError) -> ImportError:
    """Return an error that names the Python, the folder, and the modules that are there."""
    folder = Path(__file__).resolve().parent.parent
    found = sorted(path.name for path in folder.glob("_headrace*.so")) if folder.is_dir() else []
    what = f"cannot be imported ({error})" if found else "is missing"
    return ImportError(
        f"headrace's compiled module for Python {platform.python_version()} on {platform.machine()} {what}. "
        f"In {folder}: {', '.join(found) or 'none'}. Install a wheel for this Python with its own pip. A folder of "
        "sources, of another Python's packages, or a .whl file itself does not do on PYTHONPATH.",
        name="headrace._headrace",
    )
