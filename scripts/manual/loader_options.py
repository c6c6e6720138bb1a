"""The options of a loader: the table in src/loader/options_table.cpp, with the types that Python's face gives them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import griffe

from manual.cpp_text import closing, literal, split
from manual.entries import code, markdown, table
from manual.python_api import arguments


@dataclass
class Option:
    """One option: its default as Python writes it, where it can be given, what is expected, and what it does."""

    name: str
    type: str
    default: str
    expected: str
    doc: str
    in_run_file: bool
    flag: str  # empty: not on the command line
    is_switch: bool


def loader_options(root: Path) -> list[Option]:
    """All of them, in the order of the table, which is that of Python's signature."""
    text = (root / "src" / "loader" / "options_table.cpp").read_text(encoding="utf-8")
    types = {name: type_name for name, (type_name, _) in _signature(root).items()}
    return [_option(fields, types) for fields in _entries(text)]


def options_table(root: Path) -> str:
    """The table of the page."""
    rows = []
    for option in loader_options(root):
        type_name = option.type.removesuffix(" | None")
        default = "" if option.default == "None" else code(option.default)
        places = [code(option.flag)] if option.flag else []
        places += ["run file"] if option.in_run_file else []
        where = ", ".join(places)
        rows.append((code(option.name), code(type_name), default, option.expected, where, markdown(f"{option.doc}.")))
    return table(("argument", "type", "default", "values", "also in", "meaning"), rows)


def _signature(root: Path) -> dict[str, tuple[str, str]]:
    path = root / "python" / "headrace" / "loader.py"
    module = griffe.visit("headrace.loader", filepath=path, code=path.read_text(encoding="utf-8"))
    return arguments(module["Loader.__init__"])


def _entries(text: str) -> list[dict[str, str]]:
    """Field → text of each LoaderOption{.field = text, …} of the table."""
    begin = text.index("kOptions = {")
    entries = []
    for match in re.finditer(r"\bLoaderOption\{", text[begin:]):
        opening = begin + match.end() - 1
        pairs = [part.partition("=") for part in split(text[opening + 1 : closing(text, opening)])]
        entries.append({name.strip().lstrip("."): value.strip() for name, _, value in pairs})
    return entries


def _option(fields: dict[str, str], types: dict[str, str]) -> Option:
    name = literal(fields["name"]) or ""
    if name not in types:
        raise ValueError(f"the option {name} of src/loader/options_table.cpp is no argument of hr.Loader")
    where = fields.get("where", "LoaderOption::kEverywhere").split("::")[-1]
    return Option(
        name=name,
        type=types[name],
        default=literal(fields["fallback"]) or "",
        expected=literal(fields["expected"]) or "",
        doc=literal(fields["doc"]) or "",
        in_run_file=where in {"kRunFile", "kEverywhere"},
        flag="--" + name.replace("_", "-") if where in {"kCommandLine", "kEverywhere"} else "",
        is_switch=fields.get("kind", "").endswith("kSwitch"),
    )
