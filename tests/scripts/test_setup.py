"""Set-up on machines that lack something: what it says, and that it changes nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def command(folder: Path, name: str, text: str) -> None:
    """A program of a few lines, which is found first."""
    path = folder / name
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A Debian where nothing is installed: what apt-get is asked for lands in a file. Root is not needed."""
    command(tmp_path, "dpkg-query", "exit 1")
    command(tmp_path, "apt-cache", "echo '  Candidate: 4:12.2.0-3'")
    command(tmp_path, "apt-get", f'echo "$*" >>{tmp_path}/asked')
    command(tmp_path, "id", "echo 0")
    return tmp_path


def setup(tools: Path, script: str = "setup_system.sh", **environment: str) -> tuple[int, str, list[str]]:
    """Exit status, what was printed, and what apt-get was asked for."""
    clean = {name: value for name, value in os.environ.items() if name not in {"CXX", "CONDA_PREFIX"}}
    clean |= {"PATH": f"{tools}:{clean['PATH']}", "CI": "1"}
    done = subprocess.run(
        [ROOT / "scripts" / script, "demo"],
        capture_output=True,
        text=True,
        env=clean | environment,
        stdin=subprocess.DEVNULL,
    )
    asked = tools / "asked"
    return done.returncode, done.stdout + done.stderr, asked.read_text().splitlines() if asked.exists() else []


def test_what_is_missing_is_fetched_and_then_installed(tools: Path) -> None:
    status, _, asked = setup(tools)
    assert status == 0
    assert ["update" in asked[0], "--download-only" in asked[1], "--download-only" in asked[2]] == [True, True, False]
    assert "libhdf5-dev" in asked[2]


@pytest.mark.parametrize(
    ("words", "version"),
    [("g++ (Debian 10.2.1-6) 10.2.1", "10"), ("g++ 11", "11.4.0"), ("Ubuntu clang version 13.0.1", "13.0.1")],
)
def test_an_old_compiler_is_refused_before_anything_is_installed(tools: Path, words: str, version: str) -> None:
    command(tools, "old", f'[ "$1" = -dumpversion ] && echo {version} || echo "{words}"')
    status, said, asked = setup(tools, CXX="old")
    assert (status, asked) == (1, [])
    assert f"'old' is version {version}" in said
    assert "g++-12" in said


@pytest.mark.parametrize(("words", "version"), [("g++ 12", "12"), ("clang version 14.0.6", "14.0.6"), ("g++ 14", "14")])
def test_a_new_compiler_is_not(tools: Path, words: str, version: str) -> None:
    command(tools, "new", f'[ "$1" = -dumpversion ] && echo {version} || echo "{words}"')
    assert setup(tools, CXX="new")[0] == 0


def test_a_distribution_whose_compiler_is_too_old_is_refused(tools: Path) -> None:
    command(tools, "apt-cache", "echo '  Candidate: 4:10.2.1-1'")
    status, said, asked = setup(tools, CXX="none-is-installed")
    assert status == 1
    assert "this distribution's g++ is version 10.2.1" in said
    assert not [line for line in asked if "install" in line]


def test_musl_is_refused(tools: Path) -> None:
    command(tools, "ldd", "echo 'musl libc (x86_64)' >&2; exit 1")
    status, said, asked = setup(tools)
    assert (status, asked) == (1, [])
    assert "needs glibc" in said
    assert "packaging/Containerfile" in said


def test_without_a_network_nothing_is_installed(tools: Path) -> None:
    command(tools, "apt-get", f'echo "$*" >>{tools}/asked; echo "E: Unable to fetch some archives"; exit 100')
    status, said, asked = setup(tools)
    assert status == 1
    assert "Unable to fetch" in said
    assert "nothing was installed" in said
    assert all("--download-only" in line for line in asked if "install" in line)


def test_without_root_the_packages_are_named(tools: Path) -> None:
    command(tools, "id", "echo 1000")
    command(tools, "sudo", "exit 1")
    status, said, asked = setup(tools)
    assert (status, asked) == (1, [])
    assert "apt-get install g++" in said
    assert "environment.yml" in said


def test_pip_without_an_index_says_how_to_name_one(tools: Path, tmp_path: Path) -> None:
    """In a copy of the scripts: the real .venv stays as it is."""
    copy = tmp_path / "copy"
    (copy / "scripts").mkdir(parents=True)
    for name in ("scripts/setup_python.sh", "constraints.txt", "pyproject.toml"):
        (copy / name).write_bytes((ROOT / name).read_bytes())
    (copy / "scripts/setup_python.sh").chmod(0o755)
    done = subprocess.run(
        [copy / "scripts/setup_python.sh", "demo"],
        capture_output=True,
        text=True,
        env=os.environ | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tools), "PIP_CONFIG_FILE": os.devnull},
    )
    assert done.returncode == 1
    assert "PIP_INDEX_URL" in done.stderr
    assert not (copy / "build").exists()
