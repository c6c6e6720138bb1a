"""Fails on comments and docstrings that are hard to read.

It names a sentence that begins with "Of", a "who" that is no person, and in headers a function whose comment does not
begin with a verb: a comment of a function says what it does.

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
NO_PERSON = re.compile(r"\b(who|whom|whoever|nobody|somebody|anybody)\b", re.IGNORECASE)
#: What comments of functions begin with. A verb that is missing is added here.
VERBS = " ".join(
    [
        "Add Allocate Allow Append Apply Ask Assemble Be Become Begin Bring Call Change Charge Check Choose Claim",
        "Classify Close Compare Compile Complete Compress Compute Convert Copy Count Create Cut Decide Declare",
        "Decode Decompress Delete Deliver Describe Divide Do Draw Encode End Fill Find Finish Fold Forget Free",
        "Gather Give Go Grant Hand Have Hold Index Iterate Join Keep Leave Let Limit List Load Locate Look Make",
        "Map Measure Merge Multiply Name Note Number Open Order Parse Pass Permute Place Plan Print Publish Put",
        "Queue Read Recommend Refuse Remove Repeat Replace Replan Reserve Resolve Return Reverse Run Save Say",
        "Serve Set Settle Sort Split Start Stop Take Tell Throw Tokenise Transform Turn Value Visit Wait Wake Walk",
        "Work Write",
    ]
).split()
#: A comment that adds only this to the function's name.
WITHOUT_VERB = re.compile(r"\\(param|return)\b|Errors:|Throws\b|As ")
TESTS_ONLY = re.compile(r"(^|/)testing/|_testing\.h$")
DOC_LINE = re.compile(r"\s*///(?!<)\s?(.*)")
NO_FUNCTION = re.compile(
    r"\s*(struct|class|enum|union|using|typedef|friend class|template<>|(static |inline )*constexpr [^(]*=)\b"
)


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


def function_comments(text: str) -> Iterator[tuple[int, str]]:
    """The line number and the first line of each /// comment that is a function's."""
    lines = text.split("\n")
    first = None
    for number, line in enumerate(lines, start=1):
        if DOC_LINE.match(line):
            first = first or number
            continue
        if re.match(r"\s*(template\b|requires\b)", line) and line.rstrip().endswith(">"):
            continue
        declared = " ".join(part.strip() for part in lines[number - 1 : number + 3])
        head = re.split(r"[;{]", declared)[0]
        is_function = re.search(r"\w\s*\(", head) and "=" not in head.split("(")[0] and not NO_FUNCTION.match(line)
        if first and is_function and not line.lstrip().startswith("std::function<"):
            yield first, DOC_LINE.match(lines[first - 1])[1]  # type: ignore[index]
        first = None


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
    if path.suffix == ".h" and not TESTS_ONLY.search(str(path)):
        for number, first_line in function_comments(text):
            verb = re.match(r"\w+", first_line)
            noun = re.match(r"(Number|Index|Name|Place|Order|Limit|Value|Count) of\b", first_line)
            if not WITHOUT_VERB.match(first_line) and (noun or verb is None or verb[0] not in VERBS):
                found.append((number, f'a function\'s comment begins with "{first_line[:30]}": begin with a verb'))
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
