"""The options of a loader: the list in src/loader/options/loader_settings.cpp, as the compiled module has it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import griffe

from manual.entries import code, markdown, table


@dataclass
class Option:
    """One option: its default as Python writes it, where it can be given, what is expected, and what it does."""

    name: str
    type: str
    default: str
    expected: str
    doc: str
    more: str
    in_run_file: bool
    flag: str  # empty: not on the command line


def loader_options(root: Path) -> list[Option]:
    """All of them, in the order of the list, which is that of Python's signature."""
    return [_option(described) for described in _described(root)]


def options_table(root: Path) -> str:
    """The table of the page."""
    rows = []
    for option in loader_options(root):
        type_name = option.type.removesuffix(" | None")
        default = "" if option.default == "None" else code(option.default)
        places = [code(option.flag)] if option.flag else []
        places += ["run file"] if option.in_run_file else []
        where = ", ".join(places)
        text = f"{option.doc}. {option.more}".rstrip()
        rows.append((code(option.name), code(type_name), default, option.expected, where, markdown(text)))
    return table(("argument", "type", "default", "values", "also in", "meaning"), rows)


def _described(root: Path) -> list[dict[str, Any]]:
    """What the compiled module says of each option: the build writes it into the stub, as JSON."""
    text = (root / "python" / "headrace" / "_headrace.pyi").read_text(encoding="utf-8")
    module = griffe.visit("_headrace", filepath=root, code=text)
    docstring = module["loader_options"].docstring
    found: list[dict[str, Any]] = json.loads(docstring.value[docstring.value.index("[") :])
    return found


def _option(described: dict[str, Any]) -> Option:
    name = described["name"]
    return Option(
        name=name,
        type=described["annotation"].replace("os.", ""),
        default=repr(described["default"]),
        expected=described["expected"],
        doc=described["doc"],
        more=described["more"],
        in_run_file=described["run_file"],
        flag="--" + name.replace("_", "-") if described["command_line"] else "",
    )
