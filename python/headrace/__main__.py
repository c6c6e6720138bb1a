"""``headrace`` and ``python -m headrace``: both become the C++ command line that travels in the package.

``bench --compare`` and ``--against`` stay in Python, which has h5py and torch; the C++ program reads their options.
"""

import os
import sys

from headrace._bench.command import is_for_python, run
from headrace._support.program import command_line


def main() -> None:
    """Replace this process by the C++ program, with the same arguments, streams and exit status."""
    program = os.fspath(command_line())
    if is_for_python(sys.argv[1:]):
        sys.exit(run(program, sys.argv[1:]))
    os.execv(program, ["headrace", *sys.argv[1:]])


if __name__ == "__main__":
    main()
