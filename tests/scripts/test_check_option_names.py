"""The check of option names refuses a name that stands in another source than before, and a line without one."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_option_names.py"
LIST = '  {member<&S::max_items>("max_items", "…"),\n member_of<&S::options, &O::fill, AsX<4>>(\n  "fill", "…")}\n'


def check(root: Path, table: str, files: dict[str, str]) -> tuple[int, list[str]]:
    """Writes a small tree and checks it."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for name, text in {
        "src/loader/options/loader_settings.cpp": LIST,
        "scripts/option_names.txt": table,
        **files,
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, [line.partition(" ")[0] + line.split(" ")[1] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/loader/plan.cpp", 'f("fill");\n'),
        ("cli/run.cpp", 'if (name == "fill") {}\n'),
        ("python/headrace/x.py", "def f(*, fill: float) -> None: ...\n"),
        ("python/headrace/x.py", "f(fill=fill)\n"),
        ("python/headrace/x.py", 'words["fill"] = 1\n'),
    ],
)
def test_a_name_in_another_source_is_refused(tmp_path: Path, name: str, text: str) -> None:
    assert check(tmp_path, "", {name: text}) == (1, [f"{name}:fill"])
    assert check(tmp_path, f"{name}: fill\n", {}) == (0, [])
    assert check(tmp_path, f"{name}: fill max_items\n", {}) == (1, [f"{name}:max_items"])


def test_members_texts_and_tests_are_no_names(tmp_path: Path) -> None:
    files = {
        "src/loader/plan.cpp": "if (options.fill != 0) g();  // fill\n",
        "src/loader/plan_test.cpp": 'f("fill");\n',
        "python/headrace/x.py": '"""fill."""\nf(fill=3)\noptions.fill\n',
        "python/tests/test_x.py": 'f("fill")\n',
    }
    assert check(tmp_path, "", files) == (0, [])
