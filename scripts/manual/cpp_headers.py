"""The public names of the C++ library, read from include/headrace with the comments that document them.

A small reader of our own rather than libclang or Doxygen: the headers are a thousand lines in one layout
(clang-format), and `make test` should not need a second compiler to read them. It knows classes, enumerations,
functions, fields, aliases and constants, documented by `///` before them or `///<` behind them. What a user never
writes is left out: see HIDDEN, and constructors and operators without documentation.
"""

from __future__ import annotations

import re
from pathlib import Path

from manual.cpp_statements import declared
from manual.cpp_text import closing
from manual.entries import Entry

# Handles of the engine, what the range-for of C++ needs, and what the engine fills an Error with.
HIDDEN = re.compile(r"Impl|impl|Iterator|Parts|begin|end|with_\w+|~\w+|\w+_|detail")

_SCOPE = re.compile(r"\b(namespace|enum(?:\s+class)?|class|struct)\s+(?:\[\[\w+\]\]\s*)?([\w:]+)")
_LABEL = re.compile(r"\s*\b(public|private|protected)\s*:(?!:)")
_BEFORE, _BEHIND = "\x01", "\x02"  # marks in the code: here was a comment, before or behind a declaration
_MARK = re.compile(rf"[{_BEFORE}{_BEHIND}]\d+")
_VALUE = re.compile(rf"(?:{_BEFORE}(\d+)\s*)?\b(\w+)\b\s*(?:=[^,{_BEHIND}]*)?(?:,\s*{_BEHIND}(\d+)|{_BEHIND}(\d+)|,|$)")


def cpp_entries(root: Path) -> list[Entry]:
    """Names of namespace headrace in the order of the headers, sorted by path; classes have their members."""
    entries: list[Entry] = []
    folder = root / "include"
    for path in sorted((folder / "headrace").rglob("*.h")):
        found = header_entries(path.read_text(encoding="utf-8"))
        for entry in found:
            entry.where = path.relative_to(folder / "headrace").as_posix()
        entries += found
    return entries


def header_entries(text: str) -> list[Entry]:
    """The same of one header."""
    return _Reader(text).scope("", True)


class _Reader:
    """Goes through a header once; comments have become marks in the code."""

    def __init__(self, text: str) -> None:
        self.comments: list[str] = []
        self.code = self._marked(text)
        self.at = 0

    def _marked(self, text: str) -> str:
        lines: list[str] = []
        mark = ""  # of the comment that the line before was
        for line in text.splitlines():
            code, slashes, comment = line.partition("//")
            if code.lstrip().startswith("#"):
                continue
            kind = _BEHIND if comment.startswith("/<") else _BEFORE if comment.startswith("/") else ""
            words = comment.lstrip("/<").strip()
            if kind and not code.strip() and mark == kind:
                self.comments[-1] += "\n" + words
            elif kind:
                self.comments.append(words)
                code += f"{kind}{len(self.comments) - 1} "
            mark = kind if slashes else ""
            lines.append(code)
        return "\n".join(lines)

    def scope(self, own: str, public: bool) -> list[Entry]:
        """Declarations up to the brace that closes this scope."""
        found: list[Entry] = []
        statement = ""
        while self.at < len(self.code):
            char = self.code[self.at]
            self.at += 1
            if char == "}":
                break
            if char == ";":
                self._declare(statement, own, public, found)
                statement = ""
            elif char == ":" and (label := _LABEL.fullmatch(statement + ":")):
                public, statement = label[1] == "public", ""
            elif char == "(":
                end = closing(self.code, self.at - 1)
                statement += self.code[self.at - 1 : end + 1]
                self.at = end + 1
            elif char == "{":
                statement = self._brace(statement, own, public, found)
            else:
                statement += char
        return found

    def _brace(self, statement: str, own: str, public: bool, found: list[Entry]) -> str:
        """A brace opens outside of any bracket. Returns what is left of the statement before it."""
        plain = re.sub(r"<[^<>()]*(?:\([^()]*\))?[^<>()]*>", "", statement.split("=")[0])
        scope = _SCOPE.search(plain) if "(" not in plain else None
        if scope and scope[1] == "namespace":
            inner = self.scope(scope[2], True)
            found += inner if public and not HIDDEN.fullmatch(scope[2]) else []
            return ""
        if scope:
            found += self._class(scope, statement, public)
            return ""
        end = closing(self.code, self.at - 1)
        body = self.code[self.at : end]
        self.at = end + 1
        if "(" in plain:
            self._declare(statement, own, public, found)
            return ""
        if "=" in statement:  # an initialiser
            return f"{statement}{{{body}}}"
        return f"{statement} = {body}" if body.strip() else statement

    def _class(self, scope: re.Match[str], statement: str, public: bool) -> list[Entry]:
        kind, name = scope[1].split()[0], scope[2]
        entry = Entry(name, name, "", self._before(statement), kind)
        if kind == "enum":
            end = self.code.index("}", self.at)
            for before, value, behind, last in _VALUE.findall(self.code[self.at : end]):
                number = before or behind or last
                entry.members.append(Entry(value, value, "", self.comments[int(number)] if number else "", "value"))
            self.at = end + 1
        else:
            entry.members = self.scope(name, kind == "struct")
        return [entry] if public and not HIDDEN.fullmatch(name) else []

    def _before(self, statement: str) -> str:
        marks = re.findall(rf"{_BEFORE}(\d+)", statement)
        return self.comments[int(marks[-1])] if marks else ""

    def _declare(self, statement: str, own: str, public: bool, found: list[Entry]) -> None:
        doc = self._before(statement)
        if behind := re.compile(rf"\s*{_BEHIND}(\d+)").match(self.code, self.at):
            doc = doc or self.comments[int(behind[1])]
            self.at = behind.end()
        entries = declared(_MARK.sub("", statement), own, bool(doc))
        entries = [entry for entry in entries if not HIDDEN.fullmatch(entry.name)]
        if not public or not entries:
            return
        entries[0].doc = doc or next((e.doc for e in found[-1:] if e.name == entries[0].name), "")  # an overload
        for other in entries[1:]:
            other.doc = doc
        entries[0].alike = entries[1:]
        found.append(entries[0])
