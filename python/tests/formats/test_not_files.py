"""What is no regular file where one is expected is refused, and never waited for; and output that cannot be written."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import tokenizer_files as files

import headrace as hr
from headrace._support.program import command_line

pytestmark = pytest.mark.fast


def run(*words: str, **streams: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(command_line()), *words], timeout=20, text=True, check=False, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "run.yaml")
    return tmp_path / "run.yaml"


def test_run_files(pipe: Path, tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="not a regular file"):
        hr.load_run(pipe)
    assert run("bench", str(pipe), capture_output=True).returncode == 2
    with pytest.raises(hr.InvalidArgumentError, match="not a regular file"):
        hr.load_run("/dev/zero")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(hr.ReadFailedError, match="ELOOP"):
        hr.load_run(tmp_path / "loop.yaml")


def test_the_progress_and_the_note_of_tokenize(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    os.mkfifo(tmp_path / "out.progress")
    with pytest.raises(hr.InvalidArgumentError, match="not a regular file"):
        hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL)
    (tmp_path / "out.progress").unlink()
    os.mkfifo(tmp_path / "out.done")
    assert hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL).documents == 1


def test_errors_that_cannot_be_printed_are_no_crash(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros(8))
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    with Path("/dev/full").open("w") as full:
        assert run("inspect", str(tmp_path / "none.h5"), stderr=full).returncode == 2
        assert run("inspect", str(tmp_path / "a.npy"), stdout=full, stderr=full).returncode == 4
        assert run("--version", stdout=full, stderr=full).returncode == 4
        assert run("bench", "--help", stdout=full).returncode == 4
        assert run("nonsense", stderr=full).returncode == 2


def test_closed_streams_are_no_output_file(tmp_path: Path) -> None:
    """A file that is opened gets the number of a stream that is closed; what is printed must not end there."""
    (tmp_path / "a.txt").write_text("text of a file\n" * 100)
    words = [str(command_line()), "tokenize", str(tmp_path / "a.txt"), "--tokenizer", os.fspath(files.SMALL), "--to"]
    good = hr.tokenize(tmp_path / "a.txt", tmp_path / "good.bin", files.SMALL, format="nanogpt")
    for name, closing in (("o", ">&-"), ("e", "2>&-"), ("oe", ">&- 2>&-"), ("ioe", "<&- >&- 2>&-")):
        to = tmp_path / f"{name}.bin"
        shell = " ".join(f"'{word}'" for word in [*words, str(to), "--format", "nanogpt"]) + " " + closing
        done = subprocess.run(shell, shell=True, timeout=20, check=False)
        assert done.returncode == (4 if "o" in name else 0), closing
        assert to.read_bytes() == (tmp_path / "good.bin").read_bytes(), closing
    assert good.documents == 1
