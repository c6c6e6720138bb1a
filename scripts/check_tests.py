"""Fails on Python tests that lie in no folder of a subject, on full folders, and on what is unused or written twice.

usage: check_tests.py [ROOT]

Prints FILE: and the reason for each, and exits with 1 when there is one. Rules, of the folder python/tests:
- a file test_*.py lies in the folder of its subject, which may have sub-folders. python/tests itself has fixtures of
  all tests (conftest.py), and its folder `helpers` has modules that tests import by their bare names;
- a folder holds 45 test files at most; a sub-folder counts by itself;
- each module of `helpers` is imported by another file of python/tests or tests;
- a fixture is defined once: two files that need it have it from a conftest.py above both. Two fixtures are one where
  their texts are equal, and so is all that these texts name in their files.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

TESTS = "python/tests"
HELPERS = f"{TESTS}/helpers"
IMPORTERS = (TESTS, "tests")
MOST_FILES = 45
LEAST_LINES = 3

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(folder: Path) -> list[Path]:
    """Return the Python files of a folder and of those below it."""
    return sorted(path for path in folder.rglob("*.py") if path.is_file())


def folders(root: Path) -> dict[Path, int]:
    """Return the folders of tests, relative to the root, and how many test files lie in each."""
    counts: dict[Path, int] = defaultdict(int)
    for path in python_files(root / TESTS):
        if path.name.startswith("test_"):
            counts[path.parent.relative_to(root)] += 1
    return {folder: counts[folder] for folder in sorted(counts) if folder not in (Path(TESTS), Path(HELPERS))}


def misplaced(root: Path) -> list[str]:
    """Return a line for each test file that lies in no folder of a subject, and for each folder that has too many."""
    counts = folders(root)
    names = ", ".join(folder.relative_to(TESTS).as_posix() for folder in counts) or "none yet"
    found = [
        f"{path.relative_to(root)}: a test lies in the folder of its subject, not in {folder}; the subjects are {names}"
        for folder in (TESTS, HELPERS)
        for path in sorted((root / folder).glob("test_*.py"))
    ]
    return found + [
        f"{folder.as_posix()}: {count} test files, where {MOST_FILES} may be: give one of its subjects a sub-folder"
        for folder, count in counts.items()
        if count > MOST_FILES
    ]


def imported(tree: ast.AST) -> set[str]:
    """Return the names of the modules that a file imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return names


def unused(root: Path, trees: dict[Path, ast.Module]) -> list[str]:
    """Return a line for each helper that no other file imports."""
    importers: dict[str, set[Path]] = defaultdict(set)
    for path, tree in trees.items():
        for name in imported(tree):
            importers[name].add(path)
    return [
        f"{path.relative_to(root)}: no test imports {path.stem}: take it out, or put a program beside its tests"
        for path in sorted((root / HELPERS).glob("*.py"))
        if not path.name.startswith("test_") and not importers[path.stem] - {path}
    ]


def given(tree: ast.Module) -> dict[str, list[ast.stmt | str]]:
    """Return what each name at the top of a file is: statements of the file, or the place it is imported from."""
    names: dict[str, list[ast.stmt | str]] = defaultdict(list)
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                names[alias.asname or alias.name].append(module + alias.name)
        elif isinstance(node, Function | ast.ClassDef):
            names[node.name].append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    names[part.id].append(node)
    return names


def meaning(source: list[str], names: dict[str, list[ast.stmt | str]], function: Function) -> str:
    """Return the text of a function, and of all at the top of its file that the text names, directly or not."""
    texts: dict[str, None] = {}
    left: list[ast.stmt | str] = [function]
    while left:
        node = left.pop()
        text = node if isinstance(node, str) else "\n".join(source[first_line(node) - 1 : node.end_lineno])
        if text not in texts and not isinstance(node, str):
            used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            left += [definition for name in sorted(used) for definition in names.get(name, [])]
        texts[text] = None
    return "\n".join(texts)


def first_line(node: ast.stmt) -> int:
    """Return the line at which a statement begins, its decorators included."""
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def fixtures(tree: ast.Module) -> Iterator[Function]:
    """Yield the fixtures of a file that have some lines."""
    for node in tree.body:
        if isinstance(node, Function) and (node.end_lineno or 0) - first_line(node) + 1 >= LEAST_LINES:
            decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if any(ast.unparse(decorator) in {"fixture", "pytest.fixture"} for decorator in decorators):
                yield node


def repeated(root: Path, trees: dict[Path, ast.Module]) -> list[str]:
    """Return a line for each fixture that an earlier file defines with the same meaning."""
    found: list[str] = []
    first: dict[str, str] = {}
    for path, tree in trees.items():
        source, names = path.read_text(encoding="utf-8").splitlines(), given(tree)
        for function in fixtures(tree):
            place = f"{path.relative_to(root)}:{first_line(function)}"
            earlier = first.setdefault(meaning(source, names, function), place)
            if earlier != place:
                found.append(
                    f"{place}: the fixture {function.name} is in {earlier} too: write it once, in a conftest.py above"
                )
    return found


def problems(root: Path) -> list[str]:
    """Return one line of text for everything that breaks a rule."""
    trees = {
        path: ast.parse(path.read_text(encoding="utf-8"))
        for folder in IMPORTERS
        for path in python_files(root / folder)
    }
    own = {path: tree for path, tree in trees.items() if path.is_relative_to(root / TESTS)}
    return misplaced(root) + unused(root, trees) + repeated(root, own)


def main() -> int:
    """Print the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    counts = folders(root)
    print(
        "\n".join(found)
        if found
        else f"tests: {sum(counts.values())} files of Python tests in {len(counts)} folders, fixtures written once"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
