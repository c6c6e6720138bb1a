"""The modules of the Python package import each other in one direction: there is no circle.

An import inside a function counts as well: it hides a circle, and does not end it. So does one under TYPE_CHECKING: a
module whose types are those of a module above it cannot be read, checked or changed without that one either. Where a
helper needs a little of such a class, it says what in a typing.Protocol of its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
COMPILED = "headrace._headrace"  # from C++: it has no source here


def modules(folder: Path) -> dict[str, Path]:
    """Dotted name → file, of all modules of the package in ``folder``."""
    files = {file: file.relative_to(folder.parent).with_suffix("").parts for file in folder.rglob("*.py")}
    return {".".join(parts).removesuffix(".__init__"): file for file, parts in files.items()}


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements in a node."""
    for child in ast.walk(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child


def imported(name: str, file: Path, known: set[str]) -> set[str]:
    """The modules of the package that a module names in its import statements."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in statements(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            continue
        source = resolve_name("." * node.level + (node.module or ""), package)
        parts = {f"{source}.{alias.name}" for alias in node.names}
        found |= parts & (known | {COMPILED})
        if not parts <= known | {COMPILED}:  # also a name that is no module
            found.add(source)
    return found & known


def circle(folder: Path) -> str:
    """A circle of imports as "a → b → a"; empty if there is none."""
    files = modules(folder)
    imports = {name: imported(name, file, set(files)) for name, file in files.items()}
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return " → ".join(reversed(error.args[1]))  # it names who is imported first
    return ""


def test_the_package_has_no_circle() -> None:
    folder = ROOT / "python" / "headrace"
    assert len(modules(folder)) > 40
    assert circle(folder) == ""


#: The modules under which users import what is for one program, and the command that measures one.
USERS_OF_PROGRAMS = {"headrace.cellmap", "headrace.jax", "headrace.lightning", "headrace._bench.command"}


def test_what_is_for_one_program_is_known_to_its_public_module_alone() -> None:
    files = modules(ROOT / "python" / "headrace")
    programs = {name for name in files if name.startswith("headrace._programs")}
    users = {name for name, file in files.items() if imported(name, file, set(files)) & programs} - programs
    assert len(programs) > 20
    assert users == USERS_OF_PROGRAMS


def test_what_the_bindings_import_is_there() -> None:
    """C++ names modules in text, which no tool follows when a file moves."""
    texts = [file.read_text(encoding="utf-8") for file in (ROOT / "python" / "bind").glob("*.cpp")]
    named = {name for text in texts for name in re.findall(r'import_\("(headrace\.[\w.]+)"\)', text)}
    assert named
    assert named <= set(modules(ROOT / "python" / "headrace"))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from pack.inner.b import f", "pack.a → pack.inner.b → pack.a"),
        ("from pack.inner import b", "pack.a → pack.inner.b → pack.a"),
        ("from .inner.b import f", "pack.a → pack.inner.b → pack.a"),
        ("import pack.inner.b", "pack.a → pack.inner.b → pack.a"),
        ("def g():\n    from pack.inner import b", "pack.a → pack.inner.b → pack.a"),
        ("from pack import name", "pack → pack.a → pack"),
        ("if TYPE_CHECKING:\n    from pack.inner import b", "pack.a → pack.inner.b → pack.a"),
        ("import inner.b", ""),
    ],
)
def test_a_circle_is_named(tmp_path: Path, line: str, found: str) -> None:
    """In any way of writing an import; from whichever of its modules the circle is told."""
    files = {"__init__.py": "from pack import a", "a.py": line, "inner/__init__.py": "", "inner/b.py": "import pack.a"}
    for name, text in files.items():
        file = tmp_path / "pack" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    told = circle(tmp_path / "pack").split(" → ")
    wanted = found.split(" → ")
    assert told[0] == told[-1]
    assert set(told) == set(wanted)
