"""Errors with the exit status that the command line gives them: from the Python classes and from cli/."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from manual.entries import Entry, code, first_sentence, table


def exit_statuses(root: Path) -> dict[str, tuple[int, str]]:
    """Name of an exit status → number and meaning."""
    text = (root / "cli" / "exit_status.h").read_text(encoding="utf-8")
    found = re.findall(r"^\s*(k\w+) = (\d+),(?:\s*///< (.*))?$", text, re.MULTILINE)
    return {name: (int(number), doc) for name, number, doc in found}


def status_of_codes(root: Path) -> dict[str, int]:
    """Code of an error, "corrupt_data" → exit status."""
    text = (root / "cli" / "exit_status.cpp").read_text(encoding="utf-8")
    body = text[text.index("switch (code)") :]
    statuses = exit_statuses(root)
    found = {}
    for cases, status in re.findall(r"((?:case ErrorCode::k\w+:\s*)+)return (k\w+);", body):
        for name in re.findall(r"ErrorCode::k(\w+)", cases):
            found[re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()] = statuses[status][0]
    return found


def errors_table(root: Path, entries: dict[str, Entry]) -> str:
    """Every error, its builtin base, its codes, its exit status and what it means."""
    codes = _codes(root)
    statuses = status_of_codes(root)
    rows = []
    for name, entry in entries.items():
        bases = entry.type.split(", ")
        if not is_error(entry, entries):
            continue
        own = codes.get(name) or next((codes[base] for base in bases if base in codes), [])
        rows.append(
            (
                code(name),
                ", ".join(code(base) for base in bases if base != "Error"),
                ", ".join(map(code, own)),
                ", ".join(str(statuses[one]) for one in own),
                first_sentence(entry.doc),
            )
        )
    return table(("error", "is also a", "code", "exit status", "meaning"), rows)


def is_error(entry: Entry, entries: dict[str, Entry]) -> bool:
    """True for the classes that derive from Error, and for warnings."""
    bases = entry.type.split(", ")
    return entry.kind == "class" and any(base in {*entries, "UserWarning"} for base in bases)


def statuses_table(root: Path) -> str:
    """The exit statuses."""
    rows = [(str(number), doc) for number, doc in exit_statuses(root).values()]
    return table(("status", "meaning"), rows)


def _codes(root: Path) -> dict[str, list[str]]:
    """Class → codes: its default_code first, then those that are mapped to it besides."""
    tree = ast.parse((root / "python" / "headrace" / "errors.py").read_text(encoding="utf-8"))
    codes: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.Assign) and ast.unparse(item.targets[0]) == "default_code":
                    codes[node.name] = [ast.literal_eval(item.value)]
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            codes[ast.unparse(node.value)].append(ast.literal_eval(node.targets[0].slice))
    return codes
