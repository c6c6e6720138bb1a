"""The layers of changed files: make test-fast runs their tests."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "changed_layers.py"


@pytest.mark.parametrize(
    ("names", "layers"),
    [
        (["src/loader/plan/mixing.cpp", "src/base/result.h", "src/loader/loader.cpp"], ["base", "loader"]),
        (["include/headrace/dims.h", "include/headrace/headrace.h"], ["catalog"]),
        (["python/headrace/loader.py", "cli/main.cpp", "src/layer_headers.txt", "README.md", ""], []),
    ],
    ids=["sources", "public headers", "others"],
)
def test_layers_of_files(names: list[str], layers: list[str]) -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], input="\n".join(names), capture_output=True, text=True)
    assert (done.stderr, done.stdout.split()) == ("", layers)
