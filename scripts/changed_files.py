"""The files that this work changed: since it left main, or in the last landing where HEAD is on main itself.

usage: changed_files.py [ROOT]

Prints paths relative to the root, one a line, the newest change first: what is not committed, then commit by commit.
The commits are those since HEADRACE_BASE where that is set, else since the merge base with origin/main or main, else
(HEAD is on main, as in a fresh clone) the last 30, or as many as a shallow clone has. Files that are gone are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LANDING_COMMITS = 30


def git(root: Path, *words: str) -> list[str]:
    """The lines that git prints; none where it fails."""
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def commits(root: Path) -> list[str]:
    """The commits of this work, newest first."""
    head = git(root, "rev-parse", "HEAD")
    for main in filter(None, [os.environ.get("HEADRACE_BASE"), "origin/main", "main"]):
        base = git(root, "merge-base", "HEAD", main)
        if base and base != head:
            return git(root, "rev-list", f"{base[0]}..HEAD")
    return git(root, "rev-list", f"--max-count={LANDING_COMMITS}", "HEAD")


def changed_files(root: Path) -> list[Path]:
    """Paths relative to the root, each once, the newest change first."""
    names = [line[3:].split(" -> ")[-1] for line in git(root, "status", "--porcelain", "--untracked-files=all")]
    for commit in commits(root):
        names += git(root, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-m", commit)
    return [Path(name) for name in dict.fromkeys(names) if (root / name).is_file()]


if __name__ == "__main__":
    print("\n".join(map(str, changed_files(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()))))
