"""The code that docs/guides/adding-a-format.md quotes is that of the skeleton, which is compiled and tested."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "guides" / "adding-a-format.md").read_text()
SOURCES = [
    *sorted((ROOT / "src" / "format" / "testing").glob("skeleton_format*")),
    ROOT / "src" / "format" / "open_file.cpp",
    ROOT / "fuzz" / "npy_open_fuzz.cpp",
]
# The guide's format is called toy; what it says of files beside the skeleton is said of .npy there.
RENAMED = [("toy_reader", "npy_reader"), ("is_toy", "is_npy"), ("open_toy", "open_npy"), ("toy", "npy")]


def lines(text: str) -> list[str]:
    """Lines without their indentation and without comments."""
    return [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]


def quoted(block: str, sources: list[str]) -> bool:
    """True if the lines of a block follow each other in one of the sources."""
    wanted = "\n".join(lines(block))
    return any(wanted in "\n".join(lines(source)) for source in sources)


BLOCKS = re.findall(r"^```cpp\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_guide_quotes_code() -> None:
    """Else the test below would hold of nothing."""
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("block", [b for b in BLOCKS if "toy" not in b])
def test_what_is_quoted_is_the_skeleton(block: str) -> None:
    """Blocks that do not name the toy."""
    assert quoted(block, [path.read_text() for path in SOURCES])


@pytest.mark.parametrize("block", [b for b in BLOCKS if "toy" in b])
def test_what_is_written_for_the_toy_is_how_npy_does_it(block: str) -> None:
    """The line in open_file.cpp: the same as for .npy. The fuzz target: the same includes and calls."""
    for old, new in RENAMED:
        block = block.replace(old, new)
    text = "\n".join(path.read_text() for path in SOURCES)
    calls = re.findall(r"#include .*|npy::\w+|[\w:]+(?=\()", block)
    assert calls
    assert [call for call in calls if call not in text] == []


def test_every_file_that_the_guide_names_is_there() -> None:
    """Paths in code, but for those of the format that is being added."""
    for name in re.findall(r"`((?:src|fuzz|scripts|docs|python|cmake|tests)/[\w/.]+\.\w+)`", GUIDE):
        assert (ROOT / name).exists() or "toy" in name, name
