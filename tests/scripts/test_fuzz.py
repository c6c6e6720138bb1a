"""The short fuzz run: seeds that can be made again, inputs that are kept, and a failure that says how to repeat it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

FUZZ = Path(__file__).resolve().parents[2] / "fuzz"

# A fuzz target as far as run.py knows one: the options, then the corpus, the seeds and what failed before.
TARGET = """#!/bin/sh
for word; do
  case $word in -artifact_prefix=*) crashes=${word#*=} ;; -*) ;; *) corpus=${corpus:-$word}; last=$word ;; esac
done
ls "$last" | grep -q . && echo "failed again" && exit 77
echo new >"$corpus/$(ls "$corpus" | wc -l)"
echo "stat::number_of_executed_units: 123"
"""


def program(build: Path, name: str, text: str) -> None:
    """A fuzz target that is a script."""
    path = build / "fuzz" / f"fuzz_{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def run(build: Path, *words: str, seconds: int = 1) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, FUZZ / "run.py", *words, str(seconds), build]
    return subprocess.run(command, capture_output=True, text=True)


def seeds(folder: Path) -> dict[str, bytes]:
    """Every seed with its bytes."""
    subprocess.run([sys.executable, FUZZ / "make_seeds.py", folder], check=True)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_target_has_seeds_that_can_be_made_again(tmp_path: Path) -> None:
    """All but a named type, which holds its time; a seed that is there no longer goes away."""
    (tmp_path / "a" / "lzf").mkdir(parents=True)
    (tmp_path / "a" / "lzf" / "of_last_year").write_text("x")
    first, second = seeds(tmp_path / "a"), seeds(tmp_path / "b")
    assert first.keys() == second.keys()
    assert all(first[name] == second[name] for name in first if not name.startswith("hdf5_open/types_v1"))
    text = (FUZZ / "CMakeLists.txt").read_text()
    targets = {*re.findall(r"^headrace_codec_fuzz\((\w+)", text, re.MULTILINE)}
    targets |= {*re.findall(r"foreach\(target ([\w ]+)\)", text)[0].split()}
    targets |= {*re.findall(r"^headrace_fuzz\((\w+)", text, re.MULTILINE)}
    assert {name.split("/")[0] for name in first} == targets


def test_regressions_are_seeds(tmp_path: Path) -> None:
    written = seeds(tmp_path)
    lines = [line for line in (FUZZ / "regressions.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    for target, name, data in (line.split(" | ") for line in lines):
        assert written[f"{target}/{name}"] == bytes.fromhex("" if data == "-" else data)


def test_what_is_found_is_kept(tmp_path: Path) -> None:
    """The second run begins with the input that the first one kept."""
    program(tmp_path, "lzf", TARGET)
    assert "lzf: good, 123 inputs, 1 kept beside 0" in run(tmp_path).stdout
    second = run(tmp_path)
    assert (second.returncode, "1 kept beside 1" in second.stdout) == (0, True)
    assert len(list((tmp_path / "corpus" / "lzf").iterdir())) == 2


def test_a_library_that_forgets_memory_gets_new_processes(tmp_path: Path) -> None:
    """Each goes on with what the one before kept; all of their inputs are counted."""
    program(tmp_path, "hdf5_open", TARGET)
    assert "hdf5_open: good, 369 inputs, 3 kept beside 0" in run(tmp_path, seconds=241).stdout


def test_a_failure_says_how_to_repeat_it_and_fails_again(tmp_path: Path) -> None:
    """Also while other targets are good, and by a program that is mended only later."""
    crash = TARGET.replace(
        "echo new", 'printf "\\001\\377" >"${crashes}crash-1"; echo "ERROR: heap-buffer-overflow"; exit 77\necho new'
    )
    program(tmp_path, "lzf", crash)
    program(tmp_path, "zstd", TARGET)
    failed = run(tmp_path)
    assert failed.returncode == 1
    assert "heap-buffer-overflow" in failed.stdout
    assert f"-max_len=16384 {tmp_path}/crashes/lzf/crash-1\n" in failed.stdout
    assert "fuzz/regressions.txt: lzf | crash-1 | 01ff\n" in failed.stdout
    assert "fuzz: 2 targets, 1 failed" in failed.stdout
    program(tmp_path, "lzf", TARGET)
    again = run(tmp_path)
    assert (again.returncode, "failed again" in again.stdout, "crash-1" in again.stdout) == (1, True, True)


def test_nothing_to_run_is_a_failure(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, "no fuzz targets" in done.stdout) == (1, True)
