"""The check of the comments names the line of a comment that is hard to read, and leaves string literals alone."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_comments.py"


def check(root: Path, files: dict[str, str]) -> tuple[int, str]:
    """Writes a small tree, tracks its files and checks it."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "-C", root, "add", "."], check=True)
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_plain_comments_pass(tmp_path: Path) -> None:
    """Whose is not reported, nor is an "of" inside a sentence; other folders and file types are not read."""
    status, output = check(
        tmp_path,
        {
            "src/cache/a.h": "// The rows of a block.\n/// Return a file whose size is known.\nint a; ///< Off\n",
            "python/headrace/a.py": '"""Rows, and files whose they are."""\n\nx = 1  # of a block\n',
            "docs/a.md": "// Of those who wait.\n",
            "tests/a_test.cpp": "// Of those who wait.\n",
            "src/CMakeLists.txt": "# Of those who wait.\n",
        },
    )
    assert status == 0, output
    assert output.startswith("comments: 2 files")


def test_string_literals_pass(tmp_path: Path) -> None:
    """Error messages may use the words, and what looks like a comment in a literal is none."""
    status, output = check(
        tmp_path,
        {
            "src/a.cpp": 'fail("nobody // who");\nfail("\\"// who");\nchar q = \'"\'; fail("// who");\n'
            "auto raw = R\"(\n// Of those who wait\n)\";\nauto n = 1'000'000; // a number\n",
            "cli/a.py": 'print("nobody # who", """\n# Of whoever waits\n""")\n',
        },
    )
    assert status == 0, output


@pytest.mark.parametrize(
    "file", ["src/cache/a.h", "include/headrace/a.h", "cli/main.cpp", "fuzz/a.cpp", "python/a.cpp"]
)
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("/// Of a block: its rows.", 'begins with "Of"'),
        ("int rows; ///< Of the block.", 'begins with "Of"'),
        ("// Of the engine.", 'begins with "Of"'),
        ("// Wait for those who read.", '"who" in a comment'),
        ('fail("none"); // Nobody waits', '"Nobody" in a comment'),
        ("/* for whoever reads */", '"whoever" in a comment'),
        ("// somebody's", '"somebody" in a comment'),
        ("// not for anybody", '"anybody" in a comment'),
        ("// Whom to ask", '"Whom" in a comment'),
    ],
)
def test_cpp_comments_are_named(tmp_path: Path, file: str, line: str, says: str) -> None:
    """One bad line on the third line of an otherwise good file."""
    status, output = check(tmp_path, {file: f"// A file.\n#include <string>\n{line}\nint x; // of x\n"})
    assert status == 1
    assert output.startswith(f"{file}:3: ")
    assert says in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("file", ["python/headrace/a.py", "python/headrace/a.pyi", "fuzz/run.py"])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('    """Of a block: its rows."""', 'begins with "Of"'),
        ("    # Of a block", 'begins with "Of"'),
        ("    rows = 1  #: Of a block", 'begins with "Of"'),
        ('    """Rows for callers who wait."""', '"who" in a comment'),
        ('    """Rows.\n    """', ""),
        ('    print("# none")  # Whoever reads', '"Whoever" in a comment'),
    ],
)
def test_python_comments_are_named(tmp_path: Path, file: str, line: str, says: str) -> None:
    """One bad line on the second line of an otherwise good file."""
    status, output = check(tmp_path, {file: f"def f():\n{line}\n    return 1\n"})
    assert status == (1 if says else 0), output
    assert not says or output.startswith(f"{file}:2: ")
    assert says in output


def test_the_line_inside_a_docstring_is_named(tmp_path: Path) -> None:
    """The line of the word, not the one on which the docstring begins."""
    status, output = check(tmp_path, {"python/a.py": '"""Rows.\n\nNot for anybody.\n"""\n'})
    assert status == 1
    assert output.startswith('python/a.py:3: "anybody" in a comment')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("/// The rows.\nint rows() const;\n", "The rows."),
        (
            "/// Rows of it,\n/// return them.\n[[nodiscard]] virtual std::vector<int>\nrows(int of) const = 0;\n",
            "Rows of it,",
        ),
        ("/// True if so.\ntemplate <class T>\nbool is(T x) {\n  return true;\n}\n", "True if so."),
        ('/// "a", "b".\nstd::string text();\n', '"a", "b".'),
        ("/// Return the rows.\nint rows() const;\n", ""),
        ("/// \\param x  A row.\nvoid put(int x);\n", ""),
        ("/// Errors: kInvalidArgument.\nStatus check();\n", ""),
        ("/// As rows().\nint more() const;\n", ""),
        ("/// A block.\nstruct Block { int rows(); };\n", ""),
        ("/// The rows.\nint rows = count(1);\n", ""),
        ("/// Called at the end.\nstd::function<void(int)> at_end;\n", ""),
        ("/// The most.\nconstexpr int kMost = most(1);\n", ""),
        ("int rows();  ///< The rows.\nint columns();\n", ""),
    ],
)
def test_comments_of_functions_begin_with_a_verb(tmp_path: Path, text: str, says: str) -> None:
    """In headers; what is no function has a comment of any form."""
    status, output = check(tmp_path, {"src/a.h": text, "src/a.cpp": text, "src/testing/a.h": text})
    assert (status, output.count("\n")) == (1 if says else 0, 1), output
    assert not says or output == f'src/a.h:1: a function\'s comment begins with "{says}": begin with a verb\n'
