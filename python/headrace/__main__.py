"""``headrace`` and ``python -m headrace``: both become the C++ command line that travels in the package.

``bench --compare`` and ``--against`` stay in Python, which has h5py and torch; the C++ program reads their options.
"""

import os
import sys
from pathlib import Path

import headrace
from headrace import _bench_command


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
    if _bench_command.is_for_python(sys.argv[1:]):
        sys.exit(_bench_command.run(program, sys.argv[1:]))
    os.execv(program, ["headrace", *sys.argv[1:]])


if __name__ == "__main__":
    main()
