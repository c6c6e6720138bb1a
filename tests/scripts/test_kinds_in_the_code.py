"""docs/internals/kinds-in-the-code.md lists every source that asks whether samples are rows, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: mapped() of a source of samples; a node of a std::map has one too.
ASKS = re.compile(r"(?<!rest\.)(?<!node\.)(?<!hole\.)\bmapped\(\)")


def asking() -> set[str]:
    """Sources that call SampleSource::mapped(), apart from tests."""
    found = set()
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp"} or path.stem.endswith("_test") or "testing" in path.parts:
            continue
        if ASKS.search(path.read_text()):
            found.add(str(path.relative_to(ROOT)))
    return found


def test_every_place_that_asks_has_its_reason() -> None:
    page = (ROOT / "docs/internals/kinds-in-the-code.md").read_text()
    listed = set(re.findall(r"`(src/[\w/]+\.(?:h|cpp))`", page))
    assert asking() == listed
