"""Classes that the C++ module gives to Python, read from python/bind."""

from __future__ import annotations

import re
from pathlib import Path

from manual.cpp_text import calls, literal
from manual.entries import Entry

_CLASS = re.compile(r"nb::class_<[^;{]*?>\s*(?:\w+)?\((\w+), \"(\w+)\"")


def bound_classes(root: Path) -> list[Entry]:
    """Every bound class with its members; a class inside of another is its member."""
    found: dict[str, Entry] = {}
    inner: list[tuple[str, Entry]] = []
    for path in sorted((root / "python" / "bind").glob("*.cpp")):
        text = path.read_text(encoding="utf-8")
        starts = [*_CLASS.finditer(text)]
        for start, following in zip(starts, [*starts[1:], None], strict=False):
            body = text[start.start() : following.start() if following else len(text)].split("m.def(")[0]
            entry = Entry(start[2], start[2], "", _class_doc(body), "class", _members(body))
            if start[1] == "m":
                found[entry.name] = entry
            else:
                inner.append((start[1].capitalize(), entry))  # class_<…>(report, "Stage")
    for outer, entry in inner:
        found[outer].members.append(entry)
    return list(found.values())


def _class_doc(body: str) -> str:
    _, given = next(calls(body, r"nb::class_<[^;{]*?>\s*(?:\w+)?"))
    return literal(given[2]) or "" if len(given) > 2 else ""


def _members(body: str) -> list[Entry]:
    members = []
    for match, given in calls(body, r"\.def(_ro|_rw|_prop_ro)?"):
        name = literal(given[0]) or ""
        if not re.fullmatch(r"[a-z]\w*", name):
            continue
        doc = literal(given[-1]) if len(given) > 2 else None
        kind = "attribute" if match[1] else "function"
        members.append(Entry(name, name if match[1] else f"{name}()", "", doc or "", kind))
    return members
