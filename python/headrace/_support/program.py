"""Where the command line of this installation lies."""

from __future__ import annotations

import sys
from pathlib import Path


def command_line() -> Path:
    """Return the C++ program of this installation.

    Raises:
        FileNotFoundError: The package was installed without it.
    """
    folders = list(sys.modules["headrace"].__path__)  # of the installed part and of the sources, where they differ
    for folder in folders:
        program = Path(folder) / "bin" / "headrace"
        if program.is_file():
            return program
    raise FileNotFoundError(f"no bin/headrace in {folders}: installed without its program")
