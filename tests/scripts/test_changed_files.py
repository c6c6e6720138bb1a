"""Which files a piece of work changed: on a branch, on main itself, and in a clone that knows little."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "changed_files.py"


def git(root: Path, *words: str) -> None:
    """Runs git as nobody in particular."""
    own = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *own, "-C", str(root), *words], check=True, capture_output=True)


def commit(root: Path, *names: str) -> None:
    """Writes files, a line more in each, and commits them."""
    for name in names:
        with (root / name).open("a") as file:
            file.write("a line\n")
    git(root, "add", ".")
    git(root, "commit", "-m", " ".join(names))


def changed(root: Path, **environment: str) -> list[str]:
    """What the script prints."""
    env = {name: value for name, value in os.environ.items() if name != "HEADRACE_BASE"} | environment
    done = subprocess.run([sys.executable, str(SCRIPT), str(root)], capture_output=True, text=True, env=env, check=True)
    return done.stdout.split()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two commits on main."""
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init")
    commit(root, "old", "older")
    commit(root, "old", "gone")
    return root


def test_on_a_branch(root: Path) -> None:
    """What the branch changed and what is not committed yet, the newest first; nothing of main."""
    git(root, "checkout", "-b", "work")
    commit(root, "first")
    commit(root, "second", "gone")
    (root / "gone").unlink()
    (root / "new").write_text("x")
    assert changed(root) == ["new", "second", "first"]
    assert changed(root, HEADRACE_BASE="HEAD~1") == ["new", "second"]


def test_on_main(root: Path) -> None:
    """The last landing, which is the last commits, down to the first there is."""
    assert changed(root) == ["gone", "old", "older"]
    for number in range(30):
        commit(root, f"f{number}")
    assert changed(root) == [f"f{number}" for number in range(29, -1, -1)]


def test_in_a_shallow_clone(root: Path, tmp_path: Path) -> None:
    """One commit is all there is: every file."""
    git(tmp_path, "clone", "--depth", "1", root.as_uri(), "clone")
    assert sorted(changed(tmp_path / "clone")) == ["gone", "old", "older"]


def test_outside_git(tmp_path: Path) -> None:
    """A copy without its history has no changes to show."""
    assert changed(tmp_path) == []
