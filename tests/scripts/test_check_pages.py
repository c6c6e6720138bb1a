"""The check of pages for developers names what they say that is not so, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_pages.py"
TABLE = "| layer | components |\n| --- | --- |\n| `base` | `memory` |\n| `loader` | `plan`, `engine` |\n"
COMPONENTS = (
    "| folder | what | first |\n| --- | --- | --- |\n| `base/memory` | a | `pool.h` |\n"
    "| `loader/plan`, `loader/engine` | b | the one of that name |\n"
)
TREE = {
    "CMakeLists.txt": "headrace_layer(base COMPONENTS memory)\n"
    "headrace_layer(loader BELOW base COMPONENTS plan engine)\n",
    "src/base/memory/pool.h": "",
    "src/loader/plan/plan.cpp": "",
    "src/loader/engine/engine.h": "",
    "ARCHITECTURE.md": TABLE,
    "docs/internals/components.md": COMPONENTS,
    "docs/decisions/index.md": "1. [Why](0001-why.md)\n",
    "docs/decisions/0001-why.md": "",
}


def check(root: Path, files: dict[str, str]) -> tuple[int, str]:
    """Writes a small tree and checks it."""
    for name, text in {**TREE, **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_what_is_there_may_be_named(tmp_path: Path) -> None:
    """Whole and short names, endings in braces, folders, patterns, what a reader makes, and what is no path."""
    text = (
        "`src/base/memory/pool.h` `base/memory/pool` `loader/plan/plan.{cpp}` `src/loader/plan/` `loader/x.cpp`\n"
        "`src/<layer>/y.h` `format/toy/toy_reader.h` `a/b` `and/or` base/memory/gone.h\n"
    )
    status, output = check(tmp_path, {"docs/guides/g.md": text, "docs/page.md": "`src/gone.h`\n"})
    assert (status, output) == (0, "pages: what they say of the sources is so\n")


@pytest.mark.parametrize(
    ("page", "text", "says"),
    [
        (
            "docs/guides/g.md",
            "a\n`loader/pool.h` b",
            "docs/guides/g.md:2: there is no loader/pool.h; src/base/memory/pool.h has that name\n",
        ),
        ("CONTRIBUTING.md", "`src/gone/<name>.cpp` `src/base/<n>/x`", "CONTRIBUTING.md:1: there is no src/gone\n"),
        ("CONTRIBUTING.md", "`src/base/gone`", "CONTRIBUTING.md:1: there is no src/base/gone\n"),
        ("docs/internals/i.md", "`scripts/gone.py`", "docs/internals/i.md:1: there is no scripts/gone.py\n"),
        ("docs/decisions/0001-why.md", "`base/gone.h`", "docs/decisions/0001-why.md:1: there is no base/gone.h\n"),
        ("docs/internals/components.md", COMPONENTS.replace(", `loader/engine`", ""), "it lacks `loader/engine`\n"),
        ("docs/internals/components.md", COMPONENTS.replace("loader/plan", "loader/plan`, `base"), "has no `base`\n"),
        (
            "docs/internals/components.md",
            COMPONENTS.replace("pool.h", "gone.h"),
            "there is no src/base/memory/gone.h\n",
        ),
        ("docs/decisions/0002-new.md", "", "docs/decisions/index.md: it lacks 0002-new.md\n"),
        ("ARCHITECTURE.md", TABLE + "| `tools` | |\n", "the table of layers has to have base, loader, in this order\n"),
        ("ARCHITECTURE.md", TABLE.replace(", `engine`", ""), "the row of loader lacks the component `engine`\n"),
    ],
)
def test_what_is_not_so_is_named(tmp_path: Path, page: str, text: str, says: str) -> None:
    """One page is wrong, and no other line is printed."""
    status, output = check(tmp_path, {page: text})
    assert status == 1
    assert output.endswith(says)
    assert output.count("\n") == 1
