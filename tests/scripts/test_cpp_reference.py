"""Doxygen makes pages of all public headers, and fails on a name without documentation."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.fast,
    pytest.mark.skipif(shutil.which("doxygen") is None, reason="doxygen is not installed: scripts/setup.sh docs"),
]

ROOT = Path(__file__).resolve().parents[2]


def run(root: Path) -> subprocess.CompletedProcess[str]:
    """Runs Doxygen on a copy of the public headers."""
    (root / "build/docs").mkdir(parents=True)
    (root / "docs").mkdir()
    shutil.copy(ROOT / "docs/Doxyfile", root / "docs")
    return subprocess.run(["doxygen", "docs/Doxyfile"], cwd=root, capture_output=True, text=True)


def test_every_header_has_a_page(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "include", tmp_path / "include")
    done = run(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    pages = "".join(path.name for path in (tmp_path / "build/docs/cpp").glob("*_8h_source.html"))
    for header in (ROOT / "include/headrace").glob("*.h"):
        assert header.stem.replace("_", "__") + "_8h_source.html" in pages


@pytest.mark.parametrize(
    "text",
    ["/// A thing.\nstruct Thing {\n  int fresh;\n};", "int fresh();"],
    ids=["member", "function"],
)
def test_a_name_without_documentation_fails(tmp_path: Path, text: str) -> None:
    (tmp_path / "include/headrace").mkdir(parents=True)
    source = f"/// \\file\n/// Things.\nnamespace headrace {{\n{text}\n}}\n"
    (tmp_path / "include/headrace/thing.h").write_text(source)
    done = run(tmp_path)
    assert done.returncode != 0
    assert "fresh" in done.stderr
