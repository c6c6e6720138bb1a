"""The page of the reference: the template reference.md.in beside this file, with tables in place of directives.

A directive is a line that begins with @:

    @functions NAME...     Python functions
    @class NAME...         Python classes with their members
    @options               the arguments of hr.Loader
    @errors                errors and warnings
    @verbs, @flags         the command line
    @statuses              its exit statuses

Every public name has to be placed by one, and has to be documented: else there are no pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from manual.command_line import Verb, flags_table, shared_flags, verbs, verbs_table
from manual.entries import Entry, code, faults, first_sentence, markdown, table
from manual.loader_options import options_table
from manual.python_api import arguments_of, python_entries, read_package
from manual.statuses import errors_table, exit_statuses, is_error, statuses_table

TEMPLATES = sorted(Path(__file__).parent.glob("reference*.md.in"))


class IncompleteError(Exception):
    """The pages cannot be written: names have no place or no documentation."""


def reference(root: Path) -> dict[str, str]:
    """Name of a page in docs → its text."""
    sources = _Sources(root)
    pages = {}
    for template in TEMPLATES:
        text = template.read_text(encoding="utf-8")
        made = re.sub(r"^@(\w+)(.*)$", lambda m: sources.directive(m[1], m[2].split()), text, flags=re.MULTILINE)
        pages[template.name.removesuffix(".in")] = made
    wrong = sources.faults()
    if wrong:
        raise IncompleteError("\n".join(wrong))
    return pages


class _Sources:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = read_package(root)
        self.python = python_entries(self.package)
        self.placed: set[str] = set()

    def directive(self, name: str, words: list[str]) -> str:
        """The text that takes the place of a directive."""
        whole: dict[str, Callable[[Path], str]] = {
            "options": options_table,
            "verbs": verbs_table,
            "flags": flags_table,
            "statuses": statuses_table,
        }
        if name in whole:
            return whole[name](self.root)
        if name == "functions":
            entries = [self._python(word) for word in words]
            rows = [(code(entry.usage), code(entry.type), first_sentence(entry.doc)) for entry in entries]
            return table(("name", "returns", "what it does"), rows)
        if name == "class":
            return "\n\n".join(_members(self._python(word)) for word in words)
        if name == "arguments":
            rows = [
                (code(argument), code(default) if default else "", markdown(text))
                for argument, default, text in arguments_of(self.package, words[0])
            ]
            return table(("argument", "default", "meaning"), rows)
        if name == "errors":
            self.placed |= {n for n, entry in self.python.items() if is_error(entry, self.python)}
            return errors_table(self.root, self.python)
        raise IncompleteError(f"there is no directive @{name}")

    def faults(self) -> list[str]:
        """Names that are not placed, or not documented."""
        lost = [name for name in self.python if name not in self.placed]
        found = [f"hr.{name} is public, but the template of the reference has no place for it" for name in lost]
        for entry in self.python.values():
            found += [f"Python: {text}" for text in faults(entry.all())]
        shared = Verb("with loader options", "shared", shared_flags(self.root))
        for verb in [shared, *verbs(self.root)]:
            given = [(verb.name, verb.doc), *((f"{verb.name} {flag.name}", flag.doc) for flag in verb.flags)]
            found += [f"headrace {name} has no help" for name, doc in given if not doc]
        statuses = exit_statuses(self.root).items()
        return found + [f"cli/exit_status.h: {name} has no documentation" for name, (_, doc) in statuses if not doc]

    def _python(self, name: str) -> Entry:
        if name not in self.python:
            raise IncompleteError(f"a template places hr.{name}, which is not public")
        self.placed.add(name)
        return self.python[name]


def _members(entry: Entry, prefix: str = "hr.") -> str:
    """What a class is, and its members; classes inside of it follow."""
    name = prefix + entry.name
    members = [member for member in entry.members if member.kind != "class"]
    if any(member.type for member in members):
        rows = [(code(m.usage), code(m.type), first_sentence(m.doc)) for m in members]
        listed = table(("member", "type", "meaning"), rows)
    else:
        listed = table(("member", "meaning"), [(code(m.usage), first_sentence(m.doc)) for m in members])
    inner = [_members(member, f"{name}.") for member in entry.members if member.kind == "class"]
    made = [] if entry.usage == entry.name else [code(entry.usage)]
    return "\n\n".join([f"#### {name}", *made, first_sentence(entry.doc), *([listed] if members else []), *inner])
