"""Which version of Headrace a figure describes, and which figures describe this one.

Two commits hold the same version if all files that Headrace is built from (CODE) are the same in both: a commit that
changes pages or tests alone makes no figure stale.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: What the engine and its faces are built from. Tests are not part of it.
CODE = ("src", "include", "python", "cli", ":(exclude)python/tests", ":(exclude,glob)**/*_test.cpp")
#: What the benchmarks write: changed by measuring, so not a change of the tree.
WRITTEN = (":(exclude)bench/results", ":(exclude)docs/benchmarks.md")
UNKNOWN = "not recorded"


@dataclass(frozen=True)
class Version:
    """The version that is measured."""

    commit: str  # short hash, and "+changes" if files differed from it
    engine_commit: str  # short hash of the last commit that changed CODE
    code: str  # hash of the content of CODE, as it lies in the working tree


def git(root: Path, *words: str, **env: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True, env={**os.environ, **env}
    )
    return done.stdout.strip()


def code_hash(root: Path) -> str:
    """Hash CODE as it lies there, committed or not. Ignored files, such as built modules, do not count."""
    paths = [path for path in CODE if path.startswith(":") or (root / path).exists()]
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder) / "index")
        git(root, "add", "--all", "--", *paths, GIT_INDEX_FILE=index)
        return git(root, "write-tree", GIT_INDEX_FILE=index)[:12]


def version(root: Path) -> Version:
    """The version in the working tree; unknown outside of a git checkout."""
    try:
        commit = git(root, "rev-parse", "--short=7", "HEAD")
        changed = git(root, "status", "--porcelain", "--", ".", *WRITTEN)
        engine = git(root, "log", "-1", "--format=%h", "--abbrev=7", "--", *CODE)
        return Version(commit + ("+changes" if changed else ""), engine, code_hash(root))
    except (OSError, subprocess.CalledProcessError):
        return Version(UNKNOWN, UNKNOWN, UNKNOWN)


def code_of(entry: dict[str, Any]) -> str:
    return str(entry.get("code", UNKNOWN))


def commit_of(entry: dict[str, Any]) -> str:
    return str(entry.get("commit", UNKNOWN))


def by_commit(entries: dict[str, dict[str, Any]]) -> str:
    """Say which figures were measured at which commit, a line a commit."""
    commits: dict[str, list[str]] = {}
    for key, entry in entries.items():
        commits.setdefault(commit_of(entry), []).append(key)
    return "\n".join(f"  {commit}: {', '.join(keys)}" for commit, keys in commits.items())


def stale(entries: dict[str, dict[str, Any]], code: str) -> dict[str, dict[str, Any]]:
    """Figures that describe another version than this code, or do not say which."""
    return {key: entry for key, entry in entries.items() if code_of(entry) != code or code_of(entry) == UNKNOWN}


def is_mixture(entries: dict[str, dict[str, Any]]) -> bool:
    """True if the figures do not all describe one version, or do not say which one they describe."""
    codes = {code_of(entry) for entry in entries.values()}
    return len(codes) > 1 or UNKNOWN in codes
