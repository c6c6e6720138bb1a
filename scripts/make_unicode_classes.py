"""Writes src/tokenizer/words/unicode_classes.cpp: which characters are whitespace, letters and numbers in Unicode 16.0.

usage: make_unicode_classes.py

It needs the package unicodedata2 in version 16.0.0: one version is pinned, so that ids do not depend on the Python that
ran this. The regular expressions of tiktoken 0.14 and tokenizers 0.23 have the same classes, character by character.
"""

from __future__ import annotations

import sys
from pathlib import Path

VERSION = "16.0.0"
WHITESPACE = [
    *[(0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029)],
    *[(0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)],
]  # the property White_Space, which unicodedata does not have
HEAD = """// Written by scripts/make_unicode_classes.py from Unicode {version}; do not edit.
#include "tokenizer/words/unicode_classes.h"

namespace headrace::tokenizing {{
namespace {{

constexpr CharacterRange kRanges[] = {{
    // clang-format off
"""
TAIL = """    // clang-format on
};

}  // namespace

std::span<const CharacterRange> unicode_ranges() {
  return kRanges;
}

}  // namespace headrace::tokenizing
"""


def class_of(code: int, category: str) -> str | None:
    """Name of the class of a character; None for every other."""
    if any(first <= code <= last for first, last in WHITESPACE):
        return "kSpace"
    return {"L": "kLetter", "N": "kNumber"}.get(category[0])


def main() -> int:
    """Write the file."""
    import unicodedata2

    if unicodedata2.unidata_version != VERSION:
        print(f"unicodedata2 has Unicode {unicodedata2.unidata_version}, and {VERSION} is pinned")
        return 1
    ranges: list[list[int | str]] = []
    for code in range(0x110000):
        name = class_of(code, unicodedata2.category(chr(code)))
        if name is None:
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == name:
            ranges[-1][1] = code
        else:
            ranges.append([code, code, name])
    lines = [f"{{0x{first:X}, 0x{last:X}, CharacterClass::{name}}}," for first, last, name in ranges]
    rows = [lines[i : i + 2] for i in range(0, len(lines), 2)]
    text = HEAD.format(version=VERSION) + "".join("    " + " ".join(row) + "\n" for row in rows) + TAIL
    (Path(__file__).parent.parent / "src/tokenizer/words/unicode_classes.cpp").write_text(text)
    print(f"{len(ranges)} ranges of Unicode {VERSION}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
