"""Opening many files: how far it is, Ctrl-C, and how many stay open."""

from __future__ import annotations

import _thread
import contextlib
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr
from headrace._support import progress as progress_line

FILES = 120
LINKS = 3000  # to one file: long enough for a person to press Ctrl-C


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("many")
    for i in range(FILES):
        write_h5(folder / f"f{i}.h5", x=(np.full((8, 4), i, "f4"), {"chunks": (4, 4), "compression": "gzip"}))
    return str(folder / "f*.h5")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every opening takes as long as one that a person waits for."""
    monkeypatch.setattr(progress_line, "_QUIET_SECONDS", 0.0)
    monkeypatch.setattr(progress_line, "_RENEW_SECONDS", 0.0)


def test_progress_counts_files_up_to_all(many: str) -> None:
    seen: list[tuple[int, int]] = []
    hr.open(many, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (FILES, FILES)
    assert seen == sorted(seen)
    assert all(total == FILES for _, total in seen)


def test_false_stops_and_what_it_raises_comes_out(many: str) -> None:
    with pytest.raises(hr.ClosedError, match="of 120 files"):
        hr.open(many, progress=lambda _done, _total: False)
    with pytest.raises(KeyError, match="mine"):
        hr.open(many, progress=lambda _done, _total: {}["mine"])
    with pytest.raises(hr.InvalidArgumentError, match="progress must be a function"):
        hr.open(many, progress="yes")


@pytest.mark.usefixtures("slow")
def test_a_terminal_gets_a_line_that_is_erased(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    hr.open(many)
    written = sys.stderr.getvalue()
    assert "headrace: opening: 120 of 120 files" in written
    assert written.endswith("\r\x1b[K")
    assert "\n" not in written


@pytest.mark.usefixtures("slow")
def test_nobody_else_sees_anything(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for stderr, progress in ((io.StringIO(), None), (Terminal(), False)):
        monkeypatch.setattr(sys, "stderr", stderr)
        hr.open(many, progress=progress)
        assert stderr.getvalue() == ""


def test_within_a_second_there_is_no_line(many: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "_QUIET_SECONDS", 1000.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    hr.open(many)
    assert sys.stderr.getvalue() == ""


def files_open() -> set[str]:
    names = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            names.add(str(descriptor.readlink()))
    return names


def test_ctrl_c_ends_it(many: str) -> None:
    def interrupt_and_wait(_done: int, _total: int) -> None:
        _thread.interrupt_main()
        time.sleep(0.06)

    assert threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            hr.open(many, progress=interrupt_and_wait)
    finally:
        signal.signal(signal.SIGINT, before)
    with hr.open(many) as data:  # nothing is left of it
        assert len(data) == FILES * 8


@pytest.mark.parametrize("counted", [True, False])
def test_ctrl_c_is_answered_while_files_are_opened(tmp_path: Path, counted: bool) -> None:
    """The signal comes while the interpreter waits, and is not kept for the end, where no file would be open.

    The last one cannot be opened, so that the whole call fails.
    """
    file = write_h5(tmp_path / "a.h5", x=(np.zeros((8, 4), "f4"), {"chunks": (4, 4)}))
    links = [tmp_path / f"b{i}.h5" for i in range(LINKS)]
    for link in links:
        link.hardlink_to(file)
    (tmp_path / "damaged.h5").write_bytes(b"no HDF5")
    names = {str(link) for link in links}
    answered: list[bool] = []  # while some were open?
    give_up = threading.Event()

    def press_ctrl_c() -> None:
        while not files_open() & names:
            if give_up.is_set():
                return
        os.kill(os.getpid(), signal.SIGINT)

    def answer(_number: int, _frame: object) -> None:
        answered.append(bool(files_open() & names))
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, answer)
    thread = threading.Thread(target=press_ctrl_c)
    try:
        with pytest.raises(KeyboardInterrupt):
            thread.start()
            hr.open([*links, tmp_path / "damaged.h5"], progress=(lambda _done, _total: True) if counted else None)
    finally:
        give_up.set()
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert answered == [True]


def run_limited(many: str, limit: str, **environment: str) -> subprocess.CompletedProcess[str]:
    program = """
        import contextlib, os, sys
        import headrace as hr

        def files_open():
            count = 0
            for fd in os.listdir("/proc/self/fd"):
                with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                    count += os.readlink(os.path.join("/proc/self/fd", fd)).endswith(".h5")
            return count

        data = hr.open(sys.argv[1])
        most = files_open()
        loader = hr.Loader(data, batch_size=16, shuffle=True, seed=1, cache="none", threads=2)
        rows = 0
        for batch in loader:
            rows += len(batch["x"])
            most = max(most, files_open())
        print(rows, most)
    """
    return subprocess.run(
        ["bash", "-c", f'ulimit -n {limit} && exec "$@"', "-", sys.executable, "-c", textwrap.dedent(program), many],
        env={**os.environ, "HEADRACE_CACHE": "off", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("environment", "most"),
    [({}, 16), ({"HEADRACE_MAX_OPEN_FILES": "5"}, 5), ({"HEADRACE_MAX_OPEN_FILES": "4000"}, 32)],
)
def test_descriptors_stay_within_the_bound(many: str, environment: dict[str, str], most: int) -> None:
    ran = run_limited(many, "64", **environment)
    assert ran.returncode == 0, ran.stderr
    rows, opened = map(int, ran.stdout.split())
    assert rows == FILES * 8
    assert 0 < opened <= most + 3  # a file of each thread that reads at this moment


def test_a_setting_that_is_no_number_is_an_error(many: str) -> None:
    ran = run_limited(many, "64", HEADRACE_MAX_OPEN_FILES="many")
    assert ran.returncode != 0
    assert "InvalidArgumentError" in ran.stderr
    assert "HEADRACE_MAX_OPEN_FILES is 'many'" in ran.stderr
