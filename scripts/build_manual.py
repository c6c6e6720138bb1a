"""Writes the manual as a static site: README, docs, and the pages about the project.

usage: build_manual.py OUT [DOCSTRINGS]

DOCSTRINGS: a page inside of OUT, written by others, that the navigation links to. Needs markdown-it-py (make docs).
"""

from __future__ import annotations

import sys
from pathlib import Path

from manual.site import build_site


def main() -> int:
    """Writes, and says where it begins."""
    if len(sys.argv) not in {2, 3}:
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(sys.argv[1])
    try:
        pages = build_site(Path(__file__).resolve().parent.parent, out, *sys.argv[2:])
    except ValueError as error:
        print(f"the manual cannot be written: {error}", file=sys.stderr)
        return 1
    print(f"{out / 'index.html'}: {len(pages)} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
