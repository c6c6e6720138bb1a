"""An import that finds no compiled module, or one of another Python, names the folder and what lies there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr


@pytest.mark.parametrize("found", [None, "_headrace.abi3.so"])
def test_a_package_without_its_module(tmp_path: Path, found: str | None) -> None:
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    package = shutil.copytree(Path(hr.__file__).parent, tmp_path / "headrace", ignore=ignored)
    if found:
        (package / found).write_bytes(b"no module")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import headrace"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ImportError: headrace's compiled module for Python ")
    assert ("cannot be imported" in said, "is missing" in said) == (found is not None, found is None)
    assert f"In {package}: {found or 'none'}." in said
