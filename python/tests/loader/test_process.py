"""Threads, signals, forks and the end of the process: nothing hangs, nothing crashes."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr


def test_prefetch_goes_on_while_python_is_busy(jets) -> None:
    """Loader threads never take the GIL: batches get ready while Python code holds it and never lets go."""
    loader = hr.Loader(jets.open(), 50, threads=1)
    iterator = iter(loader)
    next(iterator)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)  # no thread switch in what follows unless the GIL is given up
    try:
        deadline = time.monotonic() + 60
        while loader.report().chunks_decoded < 10 and time.monotonic() < deadline:
            sum(range(1000))
    finally:
        sys.setswitchinterval(interval)
    assert loader.report().chunks_decoded >= 10


def turns_of_another_thread(call: Callable[[], object]) -> int:
    """How often another Python thread had the GIL during a call: only if the call gave it up."""
    turns, stop = 0, threading.Event()

    def take_turns() -> None:
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0.001)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e6)  # no thread is made to give the GIL up
    thread = threading.Thread(target=take_turns)
    thread.start()
    try:
        before = turns
        call()
        return turns - before
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        thread.join(60)


def test_waiting_lets_other_python_threads_run(slow: Path) -> None:
    iterator = iter(hr.Loader(slow, 1, threads=1))
    assert turns_of_another_thread(lambda: next(iterator)) > 0  # not ready for tenths of a second
    assert turns_of_another_thread(lambda: ctypes.PyDLL(None).usleep(100_000)) == 0  # this one does not give it up


def test_several_threads_share_one_iterator(jets) -> None:
    iterator = iter(hr.Loader(jets.open(), 5, shuffle=True))
    parts: list[list[np.ndarray]] = [[] for _ in range(4)]

    def consume(part: list[np.ndarray]) -> None:
        part.extend(batch["y"].copy() for batch in iterator)

    threads = [threading.Thread(target=consume, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    rows = np.concatenate([rows for part in parts for rows in part])
    assert np.array_equal(np.sort(rows), np.arange(len(jets)))


def test_close_from_another_thread(jets) -> None:
    loader = hr.Loader(jets.open(), 5)
    ended = threading.Event()

    def consume() -> None:
        try:
            while True:
                for _ in loader:
                    pass
        except hr.ClosedError:
            ended.set()

    thread = threading.Thread(target=consume)
    thread.start()
    loader.close()
    thread.join(60)
    assert ended.is_set()


def test_many_short_lives(jets) -> None:
    dataset = jets.open()
    for i in range(60):
        loader = hr.Loader(dataset, 50, shuffle=True, threads=1 + i % 3)
        iterator = iter(loader)
        for _ in range(i % 4):
            next(iterator)
        if i % 2:
            loader.close()
        if i % 5 == 0:
            gc.collect()


EXITS = {
    "before the first epoch": "loader = hr.Loader(PATHS, 50)",
    "an iterator in a global": "it = iter(hr.Loader(PATHS, 50)); next(it)",
    "iterator started and not used": "it = iter(hr.Loader(PATHS, 50))",
    "batches in globals": "batches = list(hr.Loader(PATHS, 50, shuffle=True))",
    "everything in a cycle": """
        cycle = {"loader": hr.Loader(PATHS, 50)}
        cycle["cycle"] = cycle
        cycle["iterator"] = iter(cycle["loader"])
        cycle["batch"] = next(cycle["iterator"])
    """,
    "after close": "l = hr.Loader(PATHS, 50); i = iter(l); b = next(i); l.close()",
    "in the middle by sys.exit": "import sys\nfor b in hr.Loader(PATHS, 50): sys.exit(0)",
    "from threads that still iterate": """
        import sys, threading, time
        sys.setswitchinterval(1e-6)  # the interpreter goes away between any two steps of a thread
        dataset = hr.open(PATHS)
        def forever():
            loader = hr.Loader(dataset, 5)
            try:
                while True:
                    for b in loader: pass
            except hr.ClosedError:
                while True: dataset[:50]
        for _ in range(4):
            threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.2)
    """,
    "many loaders": "loaders = [hr.Loader(PATHS, 50) for _ in range(20)]; its = [iter(l) for l in loaders]",
    "an array in a module": "import sys; sys.kept = next(iter(hr.Loader(PATHS, 50)))",
}


@pytest.mark.parametrize("script", EXITS.values(), ids=EXITS.keys())
def test_interpreter_exit(run_python, script: str) -> None:
    done = run_python(script)
    assert done.stdout == ""
    assert done.stderr == ""


def test_torch_tensors_at_exit(run_python) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    done = run_python("it = iter(hr.Loader(PATHS, 50, framework='torch')); b = next(it); import sys; sys.kept = b")
    assert done.stderr == ""


def test_exit_by_an_exception_shows_only_that(run_python) -> None:
    done = run_python("for b in hr.Loader(PATHS, 50): raise SystemError('mine')", status=1)
    assert "SystemError: mine" in done.stderr
    assert "Fatal" not in done.stderr


def test_child_of_a_fork_gets_a_clear_error(run_python) -> None:
    done = run_python("""
        import os, sys
        loader = hr.Loader(PATHS, 50)
        iterator = iter(loader)
        next(iterator)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            for use in (lambda: next(iterator), lambda: iter(loader), lambda: loader.set_epoch(3)):
                try:
                    use()
                except hr.ForkedError as error:
                    assert isinstance(error, RuntimeError)
                else:
                    os._exit(3)
            loader.close()
            sys.exit(0)  # through atexit and the destructors
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(list(iterator)) == 12
    """)
    assert done.stderr == ""


def test_child_of_a_fork_may_make_its_own(run_python) -> None:
    run_python("""
        import os, sys
        dataset = hr.open(PATHS, fields={"y": "labels", "x": "feature_matrix"})
        started = hr.Loader(dataset, 50)
        not_started = hr.Loader(dataset, 50)
        iterator = iter(started)
        next(iterator)
        child = os.fork()
        if child == 0:
            assert dataset[632]["y"] == 632
            assert sum(len(b["y"]) for b in hr.Loader(dataset, 50, shuffle=True)) == 633
            try:
                iter(not_started)
            except hr.ForkedError:
                pass
            else:
                os._exit(3)
            sys.exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """)


def test_fork_in_the_middle_of_heavy_use(run_python) -> None:
    run_python("""
        import os
        loader = hr.Loader(PATHS, 5, shuffle=True)
        children = []
        for epoch in range(4):
            for i, batch in enumerate(loader):
                if i % 40 == 7:
                    child = os.fork()
                    if child == 0:
                        del batch, loader
                        os._exit(0)
                    children.append(child)
        assert all(os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) == 0 for c in children)
    """)


def test_fork_beside_threads_that_open_virtual_data(run_python, tmp_path: Path) -> None:
    """Locks of libhdf5 and of open files, each of which a thread may take inside the other: fork() waits for both."""
    write_h5(tmp_path / "source.h5", x=np.arange(64.0))
    layout = h5py.VirtualLayout((64,), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "source.h5"), "x", (64,))
    with h5py.File(tmp_path / "virtual.h5", "w", libver="v110") as file:
        file.create_virtual_dataset("x", layout)
    run_python(
        f"""
        import os, threading
        hr.show_versions()  # libhdf5 is asked before the first file is opened
        stop, opened = threading.Event(), [0, 0]
        def work(number):
            while not stop.is_set():
                assert hr.open({str(tmp_path / "virtual.h5")!r})["x"][63] == 63
                opened[number] += 1
        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        forks = 0
        while forks < 200 or min(opened) < 5:
            child = os.fork()
            if child == 0:
                if forks % 20 == 0:  # its locks are free
                    assert hr.open({str(tmp_path / "virtual.h5")!r})["x"][1] == 1
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            forks += 1
        stop.set()
        for thread in threads:
            thread.join()
        """,
        timeout=600,
    )


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One chunk a field that takes long to decode: 4 x 48 MiB of noise of two bits, some tenths of a second."""
    noise = np.random.default_rng(1).integers(0, 4, size=(1, 48 << 20), dtype=np.uint8)
    options = {"chunks": noise.shape, "compression": "gzip", "compression_opts": 1}
    return write_h5(tmp_path_factory.mktemp("slow") / "slow.h5", **dict.fromkeys("abcd", (noise, options)))


def test_timeout(slow: Path) -> None:
    loader = hr.Loader(slow, 1, threads=1, timeout=1e-4)
    iterator = iter(loader)
    with pytest.raises(TimeoutError, match=r"0\.0001 s") as caught:
        next(iterator)
    assert isinstance(caught.value, hr.LoaderTimeoutError)
    assert caught.value.code == "timeout"


def test_a_batch_that_comes_late_is_not_lost(slow: Path) -> None:
    loader = hr.Loader(slow, 1, threads=1, timeout=0.01)
    iterator = iter(loader)
    timeouts = 0
    while True:
        try:
            batch = next(iterator)
            break
        except hr.LoaderTimeoutError:
            timeouts += 1
    assert timeouts > 0
    assert batch["a"].shape == (1, 48 << 20)


def test_a_patient_timeout_does_not_strike(jets) -> None:
    assert len(list(hr.Loader(jets.open(), 50, timeout=600))) == 13


@pytest.mark.parametrize("raised", [KeyboardInterrupt, LookupError])
def test_ctrl_c_ends_a_wait_at_once(slow: Path, raised: type[BaseException]) -> None:
    def handle(*_: object) -> None:
        raise raised

    previous = signal.signal(signal.SIGALRM, handle)
    loader = hr.Loader(slow, 1, threads=1)
    iterator = iter(loader)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        with pytest.raises(raised):
            next(iterator)
        assert loader.report().batches == 0  # it did not come with the batch, but before
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert next(iterator)["d"].shape == (1, 48 << 20)


def test_close_ends_a_wait_of_another_thread(slow: Path) -> None:
    loader = hr.Loader(slow, 1, threads=1)
    iterator = iter(loader)
    ends: list[BaseException] = []

    def consume() -> None:
        try:
            next(iterator)
        except hr.ClosedError as error:
            ends.append(error)

    thread = threading.Thread(target=consume)
    thread.start()
    time.sleep(0.01)
    loader.close()
    thread.join(60)
    assert len(ends) == 1


def test_ctrl_c_between_batches(run_python) -> None:
    done = run_python("""
        import os, signal
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs start with it ignored
        loader = hr.Loader(PATHS, 5)
        try:
            while True:
                for i, b in enumerate(loader):
                    if i == 20:
                        os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            pass
        assert sum(len(b["labels"]) for b in loader) == 633
    """)
    assert done.stderr == ""


def test_signal_handlers_run_and_may_close_the_loader(jets) -> None:
    loader = hr.Loader(jets.open(), 5)
    previous = signal.signal(signal.SIGALRM, lambda *_: loader.close())
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(hr.ClosedError):
            while True:
                for _ in loader:
                    pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_silence(run_python) -> None:
    done = run_python("""
        loader = hr.Loader(PATHS, 50, shuffle=True)
        for b in loader:
            pass
        loader.report(), loader.explain(), repr(loader)
    """)
    assert (done.stdout, done.stderr) == ("", "")


def test_log_level_from_the_environment(run_python, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LOG", "info")
    done = run_python("loader = hr.Loader(PATHS, 50, seed=4711)")
    assert done.stdout == ""
    assert "4711" in done.stderr
    monkeypatch.setenv("HEADRACE_LOG", "off")
    assert run_python("loader = hr.Loader(PATHS, 50)").stderr == ""
    monkeypatch.setenv("HEADRACE_LOG", "loud")
    assert "HEADRACE_LOG" in run_python("").stderr
