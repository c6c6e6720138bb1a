"""A C++ user's way in: install, find_package(headrace), compile, run, with none of the private libraries' headers."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"


def run(*command: object) -> subprocess.CompletedProcess[str]:
    """Runs a command and shows what it said if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C++ part of the build, installed."""
    if not (BUILD / "libheadrace.so").exists() or shutil.which("cmake") is None:
        pytest.skip("needs cmake and build/release with libheadrace.so: run make setup")
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--install", BUILD, "--prefix", folder, "--component", "cpp")
    return folder


def test_find_package(prefix: Path, tmp_path: Path) -> None:
    """A project of its own configures, builds and runs against the prefix."""
    consumer = Path(__file__).parent / "consumer"
    run("cmake", "-S", consumer, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert "no such file.h5" in run(tmp_path / "consumer").stdout


def test_package_asks_for_no_other_library(prefix: Path) -> None:
    """The libraries inside stay inside: neither the package files nor the headers name one."""
    config = "\n".join(path.read_text() for path in prefix.rglob("headrace*.cmake"))
    assert "headrace::headrace" in config
    assert "find_dependency" not in config
    headers = list((prefix / "include").rglob("*.h"))
    assert prefix / "include" / "headrace" / "headrace.h" in headers
    private = ("hdf5.h", "zstd.h", "fmt/", "nlohmann", "yaml-cpp", "hwy/")
    used = [line for path in headers for line in path.read_text().splitlines() if line.startswith("#include")]
    assert not [line for line in used if any(name in line for name in private)]
