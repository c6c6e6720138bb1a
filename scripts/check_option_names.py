"""Refuses names of the loader's options in sources that do not have them already.

usage: check_option_names.py [--write] [ROOT]

An option stands in its list (src/loader/options/loader_settings.cpp), and where its member gives it a meaning; from the
list follow Python's arguments, run files and the command line. scripts/option_names.txt has the sources that name
options otherwise: a face with an argument of its own, or a word that means something else there. A line of it is a
decision: `--write` adds them, for a reviewer to see. Names are texts of their own in C++ and Python, parameters of
Python's functions, and arguments that are handed on (`fill=fill`). Tests are not looked at.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

LIST = "src/loader/options/loader_settings.cpp"
FOLDERS = ("src", "include", "cli", "python/bind", "python/headrace")
_OPTION = re.compile(r'member(?:_of)?<&S::[^(]*>\(\s*"(\w+)"')


def options(root: Path) -> set[str]:
    """Names of all options, from their list."""
    return set(_OPTION.findall((root / LIST).read_text(encoding="utf-8")))


def names_in(path: Path) -> set[str]:
    """What a source names."""
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return set(re.findall(r'"(\w+)"', text))
    return {name for node in ast.walk(ast.parse(text)) if (name := _name(node))}


def _name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.keyword) and isinstance(node.value, ast.Name) and node.value.id == node.arg:
        return node.arg
    return node.arg if isinstance(node, ast.arg) else None


def sources(root: Path) -> list[str]:
    """Paths of the sources that are looked at."""
    listed = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", *FOLDERS]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.splitlines()
    code = [name for name in names if name.endswith((".cpp", ".h", ".py")) and (root / name).is_file()]
    return [name for name in code if name != LIST and not re.search(r"_test\.cpp$|_bench\.cpp$|testing", name)]


def beyond(named: Mapping[str, Iterable[str]], others: Mapping[str, Iterable[str]]) -> list[str]:
    """What a source names in the one table, and not in the other."""
    return [
        f"{name}: {option}" for name, words in named.items() for option in words if option not in others.get(name, ())
    ]


def main() -> int:
    """Print what is new."""
    words = [word for word in sys.argv[1:] if word != "--write"]
    root = Path(words[0] if words else Path(__file__).parent.parent)
    known = options(root)
    found = {name: sorted(names_in(root / name) & known) for name in sources(root)}
    found = {name: named for name, named in found.items() if named}
    table = root / "scripts" / "option_names.txt"
    if "--write" in sys.argv:
        table.write_text("".join(f"{name}: {' '.join(named)}\n" for name, named in sorted(found.items())))
        return 0
    lines = (line.split(": ") for line in table.read_text(encoding="utf-8").splitlines())
    allowed = {name: set(named.split()) for name, named in lines}
    wrong = beyond(found, allowed)
    for text in wrong:
        print(f"{text} is an option of the loader: it stands in {LIST} alone, and its member has its meaning")
    gone = beyond(allowed, found)
    for text in gone:
        print(f"{text} is not named there any more: scripts/check_option_names.py --write")
    return 1 if wrong or gone else 0


if __name__ == "__main__":
    sys.exit(main())
