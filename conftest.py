"""Tests remember what opening files learnt in a folder of their own, not in that of whoever runs them."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Set the folder before anything opens a file; what the caller set stays."""
    if "HEADRACE_CACHE" not in os.environ or "PYTEST_XDIST_WORKER" in os.environ:  # each worker has its own
        folder = tempfile.mkdtemp(prefix="headrace_tests_")
        os.environ["HEADRACE_CACHE"] = folder
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
