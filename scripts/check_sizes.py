"""Names files that have grown past 500 lines, and refuses very large ones.

usage: check_sizes.py [ROOT]

A long file is a warning (would a newcomer know where to put a change?); a file of more than 1 MiB is an error.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAX_LINES = 500
MAX_FILE_BYTES = 1 << 20
CODE = {".h", ".cpp", ".py", ".sh", ".cmake", ".md"}
GENERATED = {"reference.md"}  # in docs, by write_reference.py


def main() -> int:
    """Prints what is too long; fails only for files that are too large."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    names = subprocess.run(["git", "-C", root, "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    files = [path for name in names.split("\0") if name and (path := root / name).is_file()]
    code = [path for path in files if path.suffix in CODE and path.name not in GENERATED]
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in code)
    for path in code:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_LINES:
            print(f"{path.relative_to(root)}: warning: {lines} lines; can it be split into two files?")
    large = [path for path in files if path.stat().st_size > MAX_FILE_BYTES]
    for path in large:
        print(f"{path.relative_to(root)}: {path.stat().st_size} bytes; data belongs outside the repository")
    print(f"sizes: {len(code)} files, median {lengths[len(lengths) // 2] if lengths else 0} lines")
    return 1 if large else 0


if __name__ == "__main__":
    sys.exit(main())
