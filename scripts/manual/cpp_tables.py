"""Tables of C++ names: the functions of a header, then each of its classes and enumerations."""

from __future__ import annotations

from manual.entries import Entry, code, first_sentence, table

_SCOPES = {"class", "struct", "enum"}


def header_section(entries: list[Entry]) -> str:
    """All that one header declares."""
    free = [entry for entry in entries if entry.kind not in _SCOPES]
    parts = [f"### Functions in {entries[0].where}\n\n{_rows(free, 'name')}"] if free else []
    parts += [_scope(entry, "headrace::") for entry in entries if entry.kind in _SCOPES]
    return "\n\n".join(parts)


def _scope(entry: Entry, prefix: str) -> str:
    name = prefix + entry.name
    parts = [f"### {name}\n\n{first_sentence(entry.doc)}"]
    if entry.kind == "enum":
        values = [(code(value.name), first_sentence(value.doc)) for value in entry.members]
        return "\n\n".join([*parts, table(("value", "meaning"), values)])
    members = [member for member in entry.members if member.kind not in _SCOPES]
    if members:
        parts.append(_rows(members, "member"))
    parts += [_scope(member, f"{name}::") for member in entry.members if member.kind in _SCOPES]
    return "\n\n".join(parts)


def _rows(entries: list[Entry], what: str) -> str:
    rows = []
    for entry in entries:
        names = ", ".join(code(one.usage) for one in [entry, *entry.alike])
        rows.append((names, code(entry.type), first_sentence(entry.doc)))
    return table((what, "type", "meaning"), rows)
