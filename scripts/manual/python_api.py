"""The public names of the Python package, read by griffe from its sources, with their docstrings."""

from __future__ import annotations

import re
from pathlib import Path

import griffe

from manual.entries import Entry

#: Modules of the package that are imported by themselves; their names are `torch.DataLoader`.
FACES = ("torch", "lightning", "accelerate", "cellmap", "jax", "transforms", "tokens")


def read_package(root: Path) -> griffe.Module:
    """The package as it lies in the sources. The compiled module is known by its stub, which the build writes."""
    stub = root / "python" / "headrace" / "_headrace.pyi"
    if not stub.exists():
        raise FileNotFoundError(f"{stub} is not there: the build writes it (make setup)")
    return griffe.load("headrace", search_paths=[root / "python"], allow_inspection=False)


def python_entries(package: griffe.Module) -> dict[str, Entry]:
    """Name → entry, for every name of `__all__`, also of the faces; classes have their members."""
    named = {"__version__": Entry("__version__", "__version__", "str", "Version of Headrace.", "constant")}
    named |= {name: _entry(name, package) for name in sorted({*map(str, package.exports or ())} - set(named))}
    for face in FACES:
        for name in map(str, package[face].exports):
            entry = _entry(name, package[face])
            given = {argument for argument, *_ in arguments_of(package, f"{face}.{name}")}
            # What an argument means is said once, in the table of arguments.
            entry.members = [member for member in entry.members if member.type or member.name not in given]
            entry.name, entry.usage = f"{face}.{name}", f"{face}.{entry.usage}"
            named[entry.name] = entry
    return named


def arguments_of(package: griffe.Module, name: str) -> list[tuple[str, str, str]]:
    """Name, default and meaning of the arguments that make an object of a face's class; nothing without `__init__`."""
    kind = package[name]
    init = kind.members.get("__init__")
    texts = described(_docstring(kind))
    if not init:
        return []
    rows = [(name, default, texts.get(name, "")) for name, (_, default) in arguments(init).items()]
    for parameter in init.parameters:  # options of the loader that it hands on
        if words := re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation)):
            names = ", ".join(f"``{option}``" for option in package["_headrace"][words[1]].members)
            rows.append((f"**{parameter.name}", "", f"{texts.get('**' + parameter.name, '')} They are: {names}."))
    return rows


def arguments(function: griffe.Function) -> dict[str, tuple[str, str]]:
    """Name → (type, default) of the arguments, without self; the default is empty where there is none."""
    return {p.name: (_text(p.annotation), str(p.default or "")) for p in function.parameters if _is_named(p)}


def described(docstring: str) -> dict[str, str]:
    """Name → text of what the sections Args and Attributes of a docstring describe; of both, what comes first."""
    sections = griffe.parse_google(griffe.Docstring(docstring), warnings=False)
    listed = [section.value for section in sections if section.kind.value in {"parameters", "attributes"}]
    return {item.name: " ".join(item.description.split()) for items in reversed(listed) for item in items}


def _is_named(parameter: griffe.Parameter) -> bool:
    return parameter.name != "self" and not str(parameter.kind.value).startswith("variadic")


def _docstring(thing: griffe.Object | griffe.Alias) -> str:
    return thing.docstring.value if thing.docstring else ""


def _text(annotation: str | griffe.Expr | None) -> str:
    text = re.sub(r"\b(?:_headrace|np|os)\.", "", str(annotation or ""))
    return re.sub(r"\b(ndarray|dtype)\[[^\[\]]*(?:\[[^\[\]]*\])?\]", r"\1", text)


def _entry(name: str, package: griffe.Module) -> Entry:
    if name not in package.members:
        raise ValueError(f"{package.filepath}: __all__ names what no source defines: {name}")
    thing = package[name]
    return _class(name, thing) if thing.is_class else _function(name, thing)


def _function(name: str, function: griffe.Function) -> Entry:
    words: list[str] = []
    for parameter in function.parameters:
        kind = str(parameter.kind.value)
        if kind == "keyword-only" and "*" not in words:
            words.append("*")
        if _is_named(parameter):
            words.append(f"{parameter.name}={parameter.default}" if parameter.default else parameter.name)
        elif kind == "variadic keyword":
            words.append(f"**{parameter.name}")
    returns = _text(function.returns)
    return Entry(name, f"{name}({', '.join(words)})", "" if returns == "None" else returns, _docstring(function))


def _class(name: str, kind: griffe.Class) -> Entry:
    doc = _docstring(kind)
    texts = described(doc)
    members = [_member(member, texts) for member in kind.members.values() if not member.name.startswith("_")]
    bases = ", ".join(base for base in map(str, kind.bases) if base != "Exception")
    return Entry(name, _constructor(name, kind, doc), bases, doc, "class", [member for member in members if member])


def _member(member: griffe.Object, texts: dict[str, str]) -> Entry | None:
    name = member.name
    if member.is_class:
        return _class(name, member)
    if member.is_function:
        return _function(name, member)
    if not member.annotation and "class-attribute" in member.labels:
        return None
    doc = _docstring(member) or member.lines[-1].partition("#: ")[2] or texts.get(name, "")
    return Entry(name, name, _text(member.annotation), doc, "attribute")


def _constructor(name: str, kind: griffe.Class, doc: str) -> str:
    """How an object is made, where the docstring describes the arguments; else the name."""
    if "\nArgs:\n" not in doc:
        return name
    init = kind.members.get("__init__")
    usage = _function(name, init).usage if init else f"{name}({', '.join(described(doc))})"
    return usage if len(usage) <= 120 else usage.split("*, ")[0] + "*, …)"
