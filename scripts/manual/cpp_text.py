"""Pieces of C++ text: what a pair of brackets holds, arguments between commas, string literals."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')
_STEP = re.compile(r'"(?:[^"\\]|\\.)*"|<<|[(){}\[\]<>,]')  # a literal as a whole, or what may count
_CLOSING = {"(": ")", "{": "}", "[": "]", "<": ">"}
_ESCAPES = {"n": "\n", "t": "\t"}


def closing(text: str, opening: int) -> int:
    """The place of the bracket that closes the one at `opening`; brackets in string literals do not count."""
    depth = 0
    pair = (text[opening], _CLOSING[text[opening]])
    for step in _STEP.finditer(text, opening):
        depth += (step[0] == pair[0]) - (step[0] == pair[1])
        if depth == 0:
            return step.start()
    raise ValueError(f"no {pair[1]} closes: {text[opening : opening + 80]}")


def split(text: str) -> list[str]:
    """What stands between commas outside of any bracket or string literal. `a < b` is taken for a bracket."""
    parts, start, i = [], 0, 0
    while step := _STEP.search(text, i):
        i = step.end()
        if step[0] in _CLOSING:
            i = closing(text, step.start()) + 1
        elif step[0] == ",":
            parts.append(text[start : step.start()].strip())
            start = i
    last = text[start:].strip()
    return [*parts, last] if last else parts


def literal(text: str) -> str | None:
    """What adjacent string literals say; None if the text is anything else."""
    if not text.strip() or _LITERAL.sub("", text).strip():
        return None
    joined = "".join(_LITERAL.findall(text))
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), joined)


def calls(text: str, names: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Calls of functions: the match of `names` (a pattern that ends before the bracket), and the arguments."""
    for match in re.finditer(names + r"\s*\(", text):
        yield match, split(text[match.end() : closing(text, match.end() - 1)])
