"""The command line that tests run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    if named:
        return named
    command_line = pytest.importorskip("headrace.__main__", reason="no HEADRACE_CLI, and headrace is not installed")
    return os.fspath(command_line.command_line())


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [program(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120)
