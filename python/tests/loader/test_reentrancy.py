"""Functions of the program that run inside a call of the loader may use it, or are told that they may not."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

pytestmark = pytest.mark.usefixtures("watchdog")


@pytest.fixture
def watchdog() -> Iterator[None]:
    """A hang is a failed test, not a run that never ends: the process goes down with a stack of every thread."""
    import faulthandler

    faulthandler.dump_traceback_later(300, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose preload takes long enough for some calls of progress."""
    random = np.random.default_rng(3)
    rows = random.normal(size=(4_000, 2_000)).astype(np.float32)
    return write_h5(
        tmp_path_factory.mktemp("long") / "long.h5",
        x=(rows, {"chunks": (16, 2_000), "compression": "gzip", "compression_opts": 1}),
    )


def preloading(path: Path) -> hr.Loader:
    return hr.Loader(path, 50, cache="ram", threads=1, memory="128MiB")


CALLS: dict[str, Callable[[hr.Loader], Any]] = {
    "iter()": iter,
    "set_epoch()": lambda loader: loader.set_epoch(3),
    "batch()": lambda loader: loader.batch(0, 0),
    "preload()": lambda loader: loader.preload(),
    "load_state_dict()": lambda loader: loader.load_state_dict(loader.state_dict()),
    "order()": lambda loader: loader.order_report(),
}


@pytest.mark.parametrize("call", CALLS)
def test_progress_that_calls_the_loader_is_told_so(long: Path, call: str) -> None:
    loader = preloading(long)

    def progress(done: int, of: int) -> None:
        CALLS[call](loader)

    with pytest.raises(hr.InvalidArgumentError, match=r"in the middle of another call of this thread \(preload\(\)\)"):
        loader.preload(progress)
    assert sum(len(batch["x"]) for batch in loader) == 4_000  # nothing is lost


def test_progress_that_takes_a_batch_is_told_so(long: Path) -> None:
    loader = preloading(long)
    loader.set_epoch(0)
    told: list[str] = []

    def progress(done: int, of: int) -> None:
        with pytest.raises(hr.InvalidArgumentError, match="in the middle") as error:
            next(iter(loader))
        told.append(str(error.value))

    loader.preload(progress)
    assert told


def test_progress_may_look_at_the_loader(long: Path) -> None:
    loader = preloading(long)
    seen = []

    def progress(done: int, of: int) -> None:
        seen.append((loader.state_dict()["samples"], loader.report().batches, loader.closed, len(loader.explain()) > 0))

    loader.preload(progress)
    assert set(seen) == {(0, 0, False, True)}


def test_progress_may_close_the_loader(long: Path) -> None:
    loader = preloading(long)
    done = []

    def progress(blocks: int, of: int) -> None:
        loader.close()
        assert loader.closed
        done.append(blocks)

    with pytest.raises(hr.ClosedError, match=r"closed during preload\(\)"):
        loader.preload(progress)
    assert len(done) == 1
    assert loader.closed
    with pytest.raises(hr.ClosedError):
        next(iter(loader))


@pytest.mark.parametrize("join", [False, True])
def test_another_thread_may_close_a_loader_that_preloads(long: Path, join: bool) -> None:
    """Also while ``progress`` waits for that thread."""
    loader = preloading(long)
    closers = []

    def progress(done: int, of: int) -> None:
        if not closers:
            closers.append(threading.Thread(target=loader.close))
            closers[0].start()
            if join:
                closers[0].join(240)
                assert not closers[0].is_alive()

    with pytest.raises(hr.ClosedError):
        loader.preload(progress)
    closers[0].join(240)
    assert not closers[0].is_alive()
    assert loader.closed


@pytest.mark.parametrize("what", ["preload", "next"])
def test_a_signal_handler_may_close_the_loader(long: Path, what: str) -> None:
    loader = preloading(long) if what == "preload" else hr.Loader(long, 50, threads=1, cache="none")
    states = []

    def handle(number: int, frame: object) -> None:
        states.append(loader.state_dict())
        loader.close()

    before = signal.signal(signal.SIGALRM, handle)
    try:
        with pytest.raises(hr.ClosedError):
            if what == "preload":
                loader.preload(lambda done, of: signal.raise_signal(signal.SIGALRM))
            else:
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                while True:
                    for _ in loader:
                        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(states) == 1
    assert loader.closed


@pytest.mark.parametrize("call", ["state_dict", "next", "close"])
def test_what_shows_a_warning_may_use_the_loader(tmp_path: Path, monkeypatch, call: str) -> None:
    rows = np.random.default_rng(1).normal(size=(512, 8_192)).astype(np.float32)
    path = write_h5(tmp_path / "rows.h5", x=(rows, {"chunks": (16, 8_192)}))
    loader = hr.Loader(path, 16, memory="6MiB", cache="none", threads=1)
    shown = []

    def show(message, *args: object, **more: object) -> None:
        if not issubclass(message.category if hasattr(message, "category") else type(message), hr.HeadraceWarning):
            return
        shown.append(str(message))
        if call == "state_dict":
            loader.state_dict()
        elif call == "next":
            held.append(next(batches))
        else:
            loader.close()

    held = []
    batches = iter(loader)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        try:
            for batch in batches:
                held.append(batch)
        except hr.ClosedError:
            assert call == "close"
    assert any("hold" in text for text in shown)
    if call != "close":
        assert sum(len(batch["x"]) for batch in held) == 512


EXIT = """
import os, threading, time
begun = threading.Event()
def progress(done, of):
    begun.set()
    {body}
loader = hr.Loader({path!r}, 50, cache="ram", threads=1, memory="128MiB")
def run():
    loader.preload(progress)
    os.write(1, b"to its end")  # never
threading.Thread(target=run, daemon=True).start()
assert begun.wait(240)
print("exits")
"""


@pytest.mark.parametrize("body", ["pass", "time.sleep(10_000)"])
def test_the_exit_does_not_wait_for_a_preload(run_python, tmp_path: Path, body: str) -> None:
    """A daemon thread preloads; also where that one is in ``progress`` for good."""
    rows = np.zeros((60_000, 256), np.float32)
    path = write_h5(tmp_path / "many.h5", x=(rows, {"chunks": (1, 256), "compression": "gzip"}))
    done = run_python(EXIT.format(path=str(path), body=body), timeout=300)
    assert done.stdout == "exits\n"
    assert "Fatal" not in done.stderr
