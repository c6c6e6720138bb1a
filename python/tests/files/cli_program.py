"""The command line that tests run."""

from __future__ import annotations

import os

import pytest


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    if named:
        return named
    command_line = pytest.importorskip("headrace.__main__", reason="no HEADRACE_CLI, and headrace is not installed")
    return os.fspath(command_line.command_line())
