"""The public names of the Python package, read from its sources: what `import headrace` offers, with its docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from manual.bindings import bound_classes
from manual.entries import Entry

_SECTION = re.compile(r"^(Args|Attributes):\n((?:[ ]+.*\n?|\n)*)", re.MULTILINE)
_ITEM = re.compile(r"^    (\w+): (.*(?:\n     +.*)*)", re.MULTILINE)


#: Modules of the package that are imported by themselves; their names are `torch.DataLoader`.
FACES = ("torch", "lightning", "accelerate", "cellmap", "jax", "transforms", "tokens")


def python_entries(root: Path) -> dict[str, Entry]:
    """Name → entry, for every name of `__all__`, also of the faces; classes have their members."""
    package = root / "python" / "headrace"
    exported, bound = _exports(package / "__init__.py")
    entries = {"__version__": Entry("__version__", "__version__", "str", "Version of Headrace.", "constant")}
    for path in sorted(package.rglob("*.py")):  # private folders before public modules, whose names win
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name in exported:
                entries[node.name] = _class(node, text) if isinstance(node, ast.ClassDef) else _function(node)
    for entry in bound_classes(root):
        if entry.name in bound:
            entries[entry.name] = entry
    missing = exported - set(entries)
    if missing:
        raise ValueError(f"{package / '__init__.py'}: __all__ names what no source defines: {sorted(missing)}")
    named = {name: entries[name] for name in sorted(exported)}
    for face in FACES:
        named |= {entry.name: entry for entry in _face(package, face)}
    return named


def arguments_of(root: Path, name: str) -> list[tuple[str, str, str]]:
    """Name, default and meaning of the arguments that make an object of a face's class."""
    module, _, wanted = name.rpartition(".")
    package = root / "python" / "headrace"
    definitions = _definitions(package, _source(package, module))
    return arguments_of_class(
        next(node for node, _ in definitions if isinstance(node, ast.ClassDef) and node.name == wanted)
    )


def arguments_of_class(node: ast.ClassDef) -> list[tuple[str, str, str]]:
    """The same of a class; nothing where it has no `__init__`."""
    made = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    texts = described(_docstring(node))
    return [(name, default, texts.get(name, "")) for init in made for name, (_, default) in arguments(init).items()]


def _source(package: Path, module: str) -> Path:
    """The file of a module, or of a sub-package, by its dotted name below the package."""
    path = package.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_name(f"{path.name}.py")


def _face(package: Path, module: str) -> list[Entry]:
    """The names of `__all__` of one module, with the module before them; attributes that are arguments are not members.

    What an argument means is said once, in the table of arguments.
    """
    path = _source(package, module)
    exported, _ = _exports(path)
    found = []
    for node, text in _definitions(package, path):
        if node.name in exported:
            entry = _class(node, text) if isinstance(node, ast.ClassDef) else _function(node)
            given = {name for name, *_ in arguments_of_class(node)} if isinstance(node, ast.ClassDef) else set()
            entry.members = [member for member in entry.members if member.type or member.name not in given]
            entry.name, entry.usage = f"{module}.{entry.name}", f"{module}.{entry.usage}"
            found.append(entry)
    return found


def _definitions(package: Path, path: Path) -> list[tuple[ast.ClassDef | ast.FunctionDef, str]]:
    """Classes and functions of a module, and of the private modules that it takes names from; with the text."""
    text = path.read_text(encoding="utf-8")
    found: list[tuple[ast.ClassDef | ast.FunctionDef, str]] = []
    for node in ast.parse(text).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.append((node, text))
        module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        if isinstance(node, ast.ImportFrom) and module.startswith("headrace.") and "._" in module:
            source = _source(package, module.removeprefix("headrace."))
            names = {alias.name for alias in node.names}
            behind = _definitions(package, source) if source.exists() else []
            found += [pair for pair in behind if pair[0].name in names]
    return found


def arguments(function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, tuple[str, str]]:
    """Name → (type, default) of the arguments, without self; the default is empty where there is none."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    pairs = [*zip(plain, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    return {
        arg.arg: (_text(arg.annotation), ast.unparse(default) if default else "")
        for arg, default in pairs
        if arg.arg != "self"
    }


def described(docstring: str) -> dict[str, str]:
    """Name → text of what the sections Args and Attributes of a docstring describe."""
    sections = _SECTION.findall(docstring + "\n")
    return {name: " ".join(text.split()) for _, body in sections for name, text in _ITEM.findall(body)}


def _exports(path: Path) -> tuple[set[str], set[str]]:
    exported: set[str] = set()
    bound: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            exported = set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.module == "headrace._headrace":
            bound |= {alias.asname or alias.name for alias in node.names}
    return exported, bound


def _docstring(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return inspect.cleandoc(ast.get_docstring(node) or "")


def _text(annotation: ast.expr | None) -> str:
    text = ast.unparse(annotation) if annotation else ""
    text = re.sub(r"\b(?:_headrace|np|os)\.", "", text)
    text = re.sub(r"^ClassVar\[(.*)\]$", r"\1", text)
    return re.sub(r"\b(ndarray|dtype)\[[^\[\]]*(?:\[[^\[\]]*\])?\]", r"\1", text)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Entry:
    keyword_only = {arg.arg for arg in node.args.kwonlyargs}
    words: list[str] = []
    for name, (_, default) in arguments(node).items():
        if name in keyword_only and "*" not in words:
            words.append("*")
        words.append(f"{name}={default}" if default else name)
    if node.args.kwarg:
        words.append(f"**{node.args.kwarg.arg}")
    returns = _text(node.returns)
    usage = f"{node.name}({', '.join(words)})"
    return Entry(node.name, usage, "" if returns in {"", "None"} else returns, _docstring(node))


def _class(node: ast.ClassDef, source: str) -> Entry:
    doc = _docstring(node)
    texts = {**_behind(node, source), **described(doc)}
    members: dict[str, Entry] = {}
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            name = item.target.id
            members[name] = Entry(name, name, _text(item.annotation), texts.get(name, ""), "attribute")
        elif isinstance(item, ast.FunctionDef) and item.name == "__init__":
            members |= {name: Entry(name, name, "", texts.get(name, ""), "attribute") for name in _assigned(item)}
        elif isinstance(item, ast.FunctionDef) and _is_property(item):
            members[item.name] = Entry(item.name, item.name, _text(item.returns), _docstring(item), "attribute")
        elif isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            members[item.name] = _function(item)
    public = [member for name, member in members.items() if not name.startswith("_")]
    bases = ", ".join(base for base in map(ast.unparse, node.bases) if base != "Exception")
    return Entry(node.name, _constructor(node, doc), bases, doc, "class", public)


def _constructor(node: ast.ClassDef, doc: str) -> str:
    """How an object is made, where the docstring describes the arguments; else the name."""
    if "\nArgs:\n" not in doc:
        return node.name
    given = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    fields = [
        item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]
    usage = _function(given[0]).usage if given else f"__init__({', '.join(fields)})"
    if len(usage) > 120:
        usage = usage.split("*, ")[0] + "*, …)"
    return node.name + usage.removeprefix("__init__")


def _behind(node: ast.ClassDef, source: str) -> dict[str, str]:
    """Attributes that are described by `#:` on their own line."""
    lines = source.splitlines()
    fields = [item for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    found = {ast.unparse(item.target): lines[(item.end_lineno or 1) - 1].partition("#: ")[2] for item in fields}
    return {name: text for name, text in found.items() if text}


def _is_property(node: ast.FunctionDef) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in node.decorator_list)


def _assigned(init: ast.FunctionDef) -> list[str]:
    """Attributes that `__init__` gives to self."""
    targets: list[ast.expr] = []
    for node in ast.walk(init):
        targets += node.targets if isinstance(node, ast.Assign) else []
        targets += [node.target] if isinstance(node, ast.AnnAssign) else []
    own = [target for target in targets if isinstance(target, ast.Attribute)]
    return [target.attr for target in own if ast.unparse(target.value) == "self"]
