"""Fails on comments and docstrings that are hard to read: a sentence that begins with "Of", a "who" that is no person.

usage: check_comments.py [ROOT]

Prints FILE:LINE and the reason for each, and exits with 1 when there is one. It reads tracked C++ and Python files of
the library, its faces and its fuzzers, and there comments and docstrings only: other string literals are left alone.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ["src", "include", "python", "cli", "fuzz"]
ENDINGS = {".h", ".cpp", ".py", ".pyi"}
# A C++ literal or comment, whichever begins first, so that neither is looked for inside the other.
CPP_TOKEN = re.compile(
    r"""R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])[^'\s]{0,3}'"""
    r"""|(?P<comment>//[^\n]*|/\*.*?\*/)""",
    re.DOTALL,
)
BEGINS_WITH_OF = re.compile(r'^(//[/!]?<?|/\*+<?|#:?|[rR]?"""|[rR]?["\'])\s*Of\s')
NO_PERSON = re.compile(r"\b(who|whoever|nobody|somebody|anybody)\b", re.IGNORECASE)


def cpp_comments(text: str) -> Iterator[tuple[int, str]]:
    """The first line number and the text of every comment of a C++ file."""
    for match in CPP_TOKEN.finditer(text):
        if comment := match["comment"]:
            yield text.count("\n", 0, match.start()) + 1, comment


def python_comments(text: str) -> Iterator[tuple[int, str]]:
    """The first line number and the text of every comment and docstring of a Python file."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, ast.get_source_segment(text, node) or ""


def problems(path: Path) -> list[tuple[int, str]]:
    """The line number and the reason for every comment of the file that is to be rewritten, in order."""
    text = path.read_text(encoding="utf-8")
    found = []
    for first, comment in cpp_comments(text) if path.suffix in {".h", ".cpp"} else python_comments(text):
        if BEGINS_WITH_OF.match(comment):
            found.append((first, 'a comment begins with "Of": begin with what it describes'))
        for number, line in enumerate(comment.split("\n"), start=first):
            found += [
                (number, f'"{word}" in a comment: name the thread, caller or file') for word in NO_PERSON.findall(line)
            ]
    return sorted(found)


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    listed = ["git", "-C", str(root), "ls-files", "-z", "--", *FOLDERS]
    names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")
    files = [name for name in names if Path(name).suffix in ENDINGS and (root / name).is_file()]
    found = [f"{name}:{line}: {reason}" for name in files for line, reason in problems(root / name)]
    print("\n".join(found) if found else f"comments: {len(files)} files, all comments say what they are about")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
