"""Writes docs/kinds.md, what every kind of sample can do, from the tables in python/tests/matrix/refused.py.

usage: write_kinds.py [--check]

--check writes nothing and fails if the page is not what would be written. Runs nothing of the package: that the tables
are true is what python/tests/matrix/test_matrix.py finds out.
"""

from __future__ import annotations

import difflib
import string
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from python.tests.matrix.refused import COLUMNS, FEATURES, KINDS, RULES  # noqa: E402

WIDTH = 120
PAGE = ROOT / "docs" / "kinds.md"
HEAD = """# What every kind of sample can do

<!-- Written by scripts/write_kinds.py from python/tests/matrix/refused.py. Change that, not this. -->

You have samples of some kind, and want to know whether a feature works with them. Each cell of this table is tried by a
test, with a small data set of that kind. A letter is a refusal: an error that says why, for the reason
[below](#why-not).
"""


def mark(kind: str, feature: str) -> str:
    """Return what a cell says of one kind: yes, or the letter of a rule."""
    letters = [
        letter
        for letter, rule in zip(string.ascii_lowercase, RULES, strict=False)
        if kind in rule.kinds and feature in rule.features
    ]
    return f"[{letters[0]}](#why-not)" if letters else "yes"


def item(text: str) -> str:
    """Return an entry of a list, in lines."""
    return textwrap.fill(f"- {text}", WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """Return the text of the page."""
    lines = [HEAD, "| | " + " | ".join(COLUMNS) + " |", "| --- |" + " --- |" * len(COLUMNS)]
    for feature, words in FEATURES.items():
        cells = [" / ".join(dict.fromkeys(mark(kind, feature) for kind in kinds)) for kinds in COLUMNS.values()]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    lines += ["", "The columns are these kinds:", ""]
    lines += [item(f"**{name}**: {', '.join(KINDS[kind] for kind in kinds)}") for name, kinds in COLUMNS.items()]
    lines += ["", "## Why not", ""]
    lines += [item(f"**{letter}**: {rule.reason}") for letter, rule in zip(string.ascii_lowercase, RULES, strict=False)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes or checks; says on stderr what is wrong."""
    made = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    found = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if found == made:
        return 0
    lines = difflib.unified_diff(found.splitlines(), made.splitlines(), "docs/kinds.md", "generated", lineterm="")
    print(
        "\n".join(lines),
        "docs/kinds.md is not what the tables say: run scripts/write_kinds.py",
        sep="\n",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
