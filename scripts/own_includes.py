"""The #include lines of our own C++ files, and which file each one means. Used by the checks beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDERS = ("src", "include", "cli", "python/bind")


def source_files(root: Path) -> list[Path]:
    """Every C++ file of the program: headers and sources, tests beside the code included."""
    return sorted(
        path
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in {".h", ".cpp"} and path.is_file()
    )


def includes(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yields (line number, what is included, whether it was written in quotes)."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = _INCLUDE.match(line)
        if match:
            yield number, match[2], match[1] == '"'


def resolve(root: Path, includer: Path, name: str, quoted: bool) -> Path | None:
    """Our own file that an #include means; None for a library's."""
    folders = [root / "include", root / "src", root / "cli", root / "python"]
    if quoted:
        folders.insert(0, includer.parent)
    for folder in folders:
        if (folder / name).is_file():
            return (folder / name).resolve()
    return None
