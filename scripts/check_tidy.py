"""Runs clang-tidy over our own sources, two or more at a time, and only over those that changed since they last passed.

usage: check_tidy.py CLANG_TIDY BUILD_DIR [--changed SECONDS]

A source has changed when its own text, a header of ours that it includes, .clang-tidy or its compile command has. What
passed is remembered in BUILD_DIR/tidy, one empty file each. Tests are left to the compiler's warnings.

--changed looks only at what this work changed (changed_files.py), which a clone with an empty BUILD_DIR needs: first at
changed sources, the newest first, then at those that include a changed header. None is begun after so many SECONDS; the
last line says how many were left.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from compile_commands import ROOT, changed_first, check_each, mark, units
from own_includes import FOLDERS


def main() -> int:
    """Checks what changed; the exit status says whether anything was found."""
    tidy, build = sys.argv[1], Path(sys.argv[2])
    version = subprocess.run([tidy, "--version"], check=True, capture_output=True, text=True).stdout
    passed = build / "tidy"
    passed.mkdir(exist_ok=True)
    rules = (ROOT / ".clang-tidy").read_text()
    marks = {
        unit.source: mark(passed, unit, version, rules)
        for unit in units(build, FOLDERS)
        if not unit.source.stem.endswith(("_test", "_bench"))
    }
    first, others = changed_first(source for source in marks if not marks[source].exists())
    capped = sys.argv[3:4] == ["--changed"]
    good = check_each(
        "clang-tidy",
        first if capped else first + others,
        marks,
        float(sys.argv[4]) if capped else float("inf"),
        lambda source: [tidy, "-p", str(build), "--quiet", str(source)],
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
