"""Every public name, read from the sources: what docs/reference.md has to list (tests/scripts/test_reference.py).

usage: public_names.py [ROOT]

Prints them, one a line, "python Loader.epochs" or "c++ Loader::num_batches". Python: what python/headrace exports, and
the public methods, properties and fields of its classes. C++: what include/headrace declares in namespace headrace, and
the public members of its classes, but not constructors, operators, iterators, values of enumerations, and what is there
for the engine only.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

# What a user never writes: handles of the engine, what the range-for of C++ needs, and (below) what fills in an Error.
CPP_INTERNAL = {"Impl", "impl", "Iterator", "Parts", "holder", "get_if"}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*(?:\\\n[^\n]*)*", re.DOTALL | re.MULTILINE)
_SCOPE = re.compile(r"(?:^|\s)(namespace|enum(?:\s+class)?|class|struct)\s+(?:\[\[\w+\]\]\s*)?(\w+)")
_FUNCTION = re.compile(r"([~\w]+)\s*\(")
_MEMBER = re.compile(r"(\w+)\s*(?:\[[^\]]*\])?\s*(?:=[^,]*|\{\})?\s*$")
_SKIPPED = re.compile(r"\s*(?:friend|using|typedef|template\s*<>|static_assert|extern)\b")
_BINDING = re.compile(r'\.def(?:_ro|_rw|_prop_ro)?\(\s*"([a-z]\w*)"')
_BOUND_CLASS = re.compile(r'nb::class_<[^;{]*?>\s*(?:\w+)?\((m|\w+), "(\w+)"')


def python_names(root: Path) -> set[str]:
    """What `import headrace` offers: names, and Class.member for the classes."""
    package = root / "python" / "headrace"
    exported: set[str] = set()
    bound: set[str] = set()  # classes that Python code does not wrap
    for node in ast.parse((package / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in node.targets):
            exported = set(ast.literal_eval(node.value))
        if isinstance(node, ast.ImportFrom) and node.module == "headrace._headrace":
            bound |= {alias.asname or alias.name for alias in node.names}
    names = set(exported)
    for path in sorted(package.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and node.name in exported:
                names |= {f"{node.name}.{member}" for member in _members(node)}
    for path in sorted((root / "python" / "bind").glob("*.cpp")):
        text = path.read_text()
        starts = [*_BOUND_CLASS.finditer(text)]
        for start, following in zip(starts, [*starts[1:], None], strict=False):
            body = text[start.end() : following.start() if following else len(text)].split("m.def(")[0]
            if start[2] in bound:
                names |= {f"{start[2]}.{member}" for member in _BINDING.findall(body)}
            elif start[1] != "m":  # a class in a class
                names |= {f"{start[1].capitalize()}.{start[2]}"}
                names |= {f"{start[1].capitalize()}.{start[2]}.{member}" for member in _BINDING.findall(body)}
    return names


def _members(node: ast.ClassDef) -> set[str]:
    """Public methods, properties and annotated fields of a class."""
    found = set()
    for item in node.body:
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.add(item.name)
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found.add(item.target.id)
    return {name for name in found if not name.startswith("_")}


def cpp_names(root: Path) -> set[str]:
    """What the public headers declare: names, and Class::member for the classes."""
    names: set[str] = set()
    for path in sorted((root / "include" / "headrace").rglob("*.h")):
        names |= header_names(path.read_text())
    return names


def header_names(text: str) -> set[str]:
    """The same of one header."""
    names: set[str] = set()
    scopes: list[tuple[str, str, bool]] = []  # kind, name, is it public here
    statement, before = "", ""
    code = _COMMENT.sub(" ", text)
    for char in re.split(r"([;{}])", code):
        if char == ";":
            _declare(statement, scopes, names)
            statement = ""
        elif char == "{":
            before = statement
            statement = _open(statement, scopes, names)
        elif char == "}":
            kind = scopes.pop()[0] if scopes else "other"
            statement = before if kind == "initialiser" else ""  # the declaration goes on
        else:
            statement += _labels(char, scopes)
    return names


def _labels(text: str, scopes: list[tuple[str, str, bool]]) -> str:
    """Take the access labels out of the text and heed the last one."""
    labels = re.findall(r"\b(public|private|protected):(?!:)", text)
    if labels and scopes:
        kind, name, _ = scopes[-1]
        scopes[-1] = (kind, name, labels[-1] == "public")
        text = re.split(r"\b(?:public|private|protected):(?!:)", text)[-1]
    return text


def _visible(scopes: list[tuple[str, str, bool]]) -> str | None:
    """The prefix of names declared here, "Loader::"; None where nobody can see them."""
    prefix = ""
    for kind, name, public in scopes:
        if kind in {"function", "initialiser", "enum"} or not public or name in {"detail", *CPP_INTERNAL}:
            return None
        if kind in {"class", "struct"}:
            prefix += f"{name}::"
    return prefix


def _open(statement: str, scopes: list[tuple[str, str, bool]], names: set[str]) -> str:
    """A brace opens; what is left of the statement before it."""
    if statement.count("(") > statement.count(")"):  # a default argument
        scopes.append(("initialiser", "", False))
        return statement
    scope = _SCOPE.search(statement) if "(" not in statement.split("=")[0] else None
    if scope:
        kind = scope[1].split()[0]
        prefix = _visible(scopes)
        if kind != "namespace" and prefix is not None and scope[2] not in CPP_INTERNAL:
            names.add(prefix + scope[2])
        scopes.append((kind, scope[2], kind != "class"))
        return ""
    if "(" in statement.split("=")[0]:
        _declare(statement, scopes, names)
        scopes.append(("function", "", False))
        return ""
    scopes.append(("initialiser", "", False))
    return statement


def _declare(statement: str, scopes: list[tuple[str, str, bool]], names: set[str]) -> None:
    """Add what a declaration declares."""
    prefix = _visible(scopes)
    if prefix is None or _SKIPPED.match(statement) or "operator" in statement or not statement.strip():
        return
    own = scopes[-1][1] if scopes else ""
    head = re.sub(r"<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>", "", re.sub(r"\[\[\w+\]\]", "", statement))
    function = _FUNCTION.search(head.split("=")[0])
    if function:
        declared = [function[1]]
    elif _SCOPE.search(head):
        return  # declared here, defined elsewhere
    else:
        declared = [match[1] for part in head.split(",") if (match := _MEMBER.search(part.strip()))]
    for name in declared:
        hidden = (
            name in CPP_INTERNAL
            or name.startswith("with_")
            or name.lstrip("~") == own
            or name.endswith("_")
            or name in {"begin", "end"}
        )
        if not hidden:
            names.add(prefix + name)


def main() -> None:
    """Prints the names."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    for language, names in (("python", python_names(root)), ("c++", cpp_names(root))):
        print("\n".join(f"{language} {name}" for name in sorted(names)))


if __name__ == "__main__":
    main()
