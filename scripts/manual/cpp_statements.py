"""One C++ declaration as entries: a function with its parameters, fields with their types and defaults, an alias."""

from __future__ import annotations

import re

from manual.cpp_text import closing, split
from manual.entries import Entry

_SKIPPED = re.compile(r"\s*(?:friend|typedef|template\s*<>|static_assert|extern|class|struct|enum)\b")
_NOISE = re.compile(
    r"\[\[\w+\]\]|\b(?:inline|static|constexpr|virtual|explicit|noexcept|override|final|mutable)\b|template\s*<[^<>]*>"
)
_NAME = re.compile(r"(operator\s*\[\]|operator\W+?|~?\w+)\s*$")
_FIELD = re.compile(r"^(?P<type>[^=]*?[\s&*>])?(?P<name>\w+)\s*(?:=\s*(?P<default>.*))?$", re.DOTALL)


def declared(statement: str, own: str, documented: bool) -> list[Entry]:
    """What a statement declares in class `own` (empty: outside of any). Constructors and operators need a comment."""
    if _SKIPPED.match(statement) or not statement.strip() or re.search(r"=\s*(?:default|delete)\s*$", statement):
        return []
    constant = re.search(r"\bconstexpr\b", statement) is not None
    text = " ".join(_NOISE.sub(" ", statement).split())
    if alias := re.match(r"using (\w+) = (.*)$", text):
        return [Entry(alias[1], alias[1], _plain(alias[2]), kind="alias")]
    opening = _parameters(text)
    if opening is not None:
        return _function(text, opening, own, documented)
    entries: list[Entry] = []
    for part in split(text):
        match = _FIELD.match(part)
        if match is None or not match["name"]:
            raise ValueError(f"what does this declare: {statement.strip()!r}?")
        type_name = _plain(match["type"] or "") or (entries[0].type if entries else "")
        default = _plain(match["default"] or "")
        usage = f"{match['name']} = {default}" if default not in {"", "{}"} else match["name"]
        entries.append(Entry(match["name"], usage, type_name, kind="constant" if constant else "field"))
    return entries


def _parameters(text: str) -> int | None:
    """Where a function's parameters begin; None where it is no function: brackets in a template are none."""
    i = 0
    while i < len(text) and text[i] != "=":
        if text.startswith("operator", i):
            return text.index("(", i)
        if text[i] == "(":
            return i
        i = closing(text, i) + 1 if text[i] == "<" else i + 1
    return None


def _function(text: str, opening: int, own: str, documented: bool) -> list[Entry]:
    name = _NAME.search(text[:opening])
    if name is None:
        raise ValueError(f"what does this declare: {text!r}?")
    word = name[1].replace(" ", "")
    returns = _plain(text[: name.start()])
    names = ", ".join(_parameter(part) for part in split(text[opening + 1 : closing(text, opening)]))
    if word == own:
        return [Entry(word, f"{word}({names})", "", kind="constructor")] if documented else []
    if word.startswith("operator"):
        return [Entry(word, f"[{names}]", returns)] if documented and word == "operator[]" else []
    return [Entry(word, f"{word}({names})", "" if returns == "void" else returns)]


def _parameter(text: str) -> str:
    match = _FIELD.match(text)
    if match is None or not match["type"]:
        return _plain(text)  # no name
    default = match["default"]
    return f"{match['name']} = {_plain(default)}" if default else match["name"]


def _plain(text: str) -> str:
    """A type as one says it: without std::, const and references."""
    text = re.sub(r"\bstd::|\bconst\b|&", "", text)
    return re.sub(r"\s*\*", "*", " ".join(text.split())).replace("< ", "<").strip()
