"""Writes docs/reference.md from the sources: Python docstrings, the options table, the command line.

usage: write_reference.py [--check]

--check writes nothing and fails if a page is not what would be written. Needs griffe and the stub that the
build writes (python/headrace/_headrace.pyi), but imports nothing of the package.
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

from manual.reference import IncompleteError, reference

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Writes or checks; says on stderr what is wrong."""
    try:
        pages = reference(ROOT)
    except (IncompleteError, FileNotFoundError) as error:
        print(f"the reference cannot be written:\n{error}", file=sys.stderr)
        return 1
    differs = False
    for name, made in pages.items():
        page = ROOT / "docs" / name
        found = page.read_text(encoding="utf-8") if page.exists() else ""
        if "--check" not in sys.argv[1:]:
            page.write_text(made, encoding="utf-8")
        elif found != made:
            differs = True
            lines = difflib.unified_diff(
                found.splitlines(), made.splitlines(), f"docs/{name}", "generated", lineterm=""
            )
            print("\n".join(lines), file=sys.stderr)
    if differs:
        print("the reference is not what the sources say: run scripts/write_reference.py", file=sys.stderr)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
