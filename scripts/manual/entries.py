"""An entry: one public name with what its documentation says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_SENTENCE = re.compile(r"(.+?[.!?])(?=[\")]?\s+[\"`'A-Z0-9\\(]|[\")]?\s*$)", re.DOTALL)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_CODE = re.compile(r"(`[^`]*`)")


@dataclass
class Entry:
    """A name, how it is written where it is used, and its documentation."""

    name: str
    usage: str = ""  # "open(paths, fields=None)"; a field's default: "threads = 0"
    type: str = ""  # what it returns or holds
    doc: str = ""
    kind: str = "function"
    members: list[Entry] = field(default_factory=list)

    def all(self, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Every name below, with those of its classes before it: ("Loader.epoch", entry)."""
        own = prefix + self.name
        yield own, self
        for member in self.members:
            yield from member.all(own + ".")


def first_sentence(doc: str) -> str:
    """The first sentence of a comment, as Markdown on one line."""
    paragraph = " ".join(re.split(r"\n\s*\n", doc.strip())[0].split())
    found = _SENTENCE.match(paragraph)
    return markdown(found[1] if found else paragraph)


def markdown(text: str) -> str:
    """A docstring's text as Markdown: code in single backticks, nothing else that would be taken for markup."""
    text = _ROLE.sub(lambda m: f"`{m[1].removeprefix('headrace.')}`", text.replace("``", "`"))
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"([*<\[\]]|(?<!\w)_|_(?!\w))", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def code(text: str) -> str:
    """A cell in code."""
    return f"`{text}`" if text else ""


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table. A bar inside of a cell is escaped, in code as well: that is how tables have it."""
    lines = [list(head), *map(list, rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def faults(names: Iterable[tuple[str, Entry]]) -> list[str]:
    """What is wrong with the documentation of these: none, no full stop, or a fragment."""
    found = []
    for name, entry in names:
        sentence = first_sentence(entry.doc)
        if not sentence:
            found.append(f"{name} has no documentation")
        elif not re.search(r"[.!?][\")]?$", sentence):
            found.append(f"{name}: its documentation does not begin with a whole sentence: {sentence}")
        elif sentence.startswith("Of "):
            found.append(f"{name}: say what it is, not what it is of: {sentence}")
    return found
