"""Fails on two types of one name: the linker takes one destructor, or one constructor, for both of them.

usage: check_type_names.py [ROOT]

Prints the name and the files for each class, struct, union or enum that is defined in several files in the same
namespace, and exits with 1 when there is one. Names in unnamed namespaces, or in other types, are their file's own.
Files that take each other's place in a build (src/*/without) count as one.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

from own_includes import source_files

OPENS = re.compile(r"^(?:inline )?namespace\b\s*([\w:]*)\s*\{")
CLOSES = re.compile(r"^\}\s*//\s*namespace")
DEFINES = re.compile(
    r"^(?:class|struct|union|enum class|enum)\s+(?:alignas\([^)]*\)\s*)?(\w+)(?: final)?\s*(?::[^:].*)?\{"
)


def types_in(text: str) -> list[str]:
    """Return the qualified names of the types that are defined at the level of a named namespace."""
    names, spaces = [], []
    for line in text.splitlines():
        if opened := OPENS.match(line):
            spaces.append(opened[1])
        elif CLOSES.match(line) and spaces:
            spaces.pop()
        elif (defined := DEFINES.match(line)) and spaces and all(spaces):
            names.append("::".join([*spaces, defined[1]]))
    return names


def main() -> None:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files: dict[str, set[str]] = defaultdict(set)
    for path in source_files(root):
        if "without" not in path.parts:
            for name in types_in((root / path).read_text(encoding="utf-8")):
                files[name].add(str(path))
    twice = {name: sorted(paths) for name, paths in files.items() if len(paths) > 1}
    for name, paths in sorted(twice.items()):
        print(f"{name} is defined in {' and in '.join(paths)}: give one of them another name")
    print(f"type names: {len(files)} types, each of its own name" if not twice else "type names: see above")
    sys.exit(1 if twice else 0)


if __name__ == "__main__":
    main()
