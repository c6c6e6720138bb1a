"""``headrace`` and ``python -m headrace``: both become the C++ command line that travels in the package."""

import os
import sys
from pathlib import Path

import headrace


def command_line() -> Path:
    """The C++ program of this installation."""
    for folder in headrace.__path__:
        program = Path(folder) / "bin" / "headrace"
        if program.is_file():
            return program
    raise FileNotFoundError(f"no bin/headrace in {list(headrace.__path__)}: installed without its program")


def main() -> None:
    """Replace this process by the C++ program, with the same arguments, streams and exit status."""
    program = os.fspath(command_line())
    os.execv(program, ["headrace", *sys.argv[1:]])


if __name__ == "__main__":
    main()
