"""What ends while batches are on their way to a device: epochs, loaders, threads, processes, waits."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import pytest
from device_loaders import check_like_the_cpu, copying_threads, fake, same, tensors, torch, wait_for

import headrace as hr
from headrace._device.copier import Copier
from headrace._device.figures import Figures
from headrace.torch import DataLoader, FakeDevice


def test_threads_end_with_their_iterators(jets) -> None:
    before = len(copying_threads())
    data = jets.open()
    loader = hr.Loader(data, 20, framework="torch", device=fake("late"))
    for _ in loader:
        break
    assert wait_for(lambda: len(copying_threads()) == before), "after a break"
    iterator = iter(loader)
    next(iterator)
    newer = iter(loader)
    assert same(next(newer), loader.batch(2, 0))
    with pytest.raises(hr.ClosedError, match="a newer epoch of this loader was started"):
        next(iterator)
    loader.close()
    assert len(copying_threads()) == before, "after close()"
    with pytest.raises(hr.ClosedError, match="the loader was closed"):
        next(newer)
    assert loader.closed
    loader.close()
    loader = hr.Loader(data, 20, framework="torch", device=fake("late"))
    next(iter(loader))
    del loader, iterator, newer
    gc.collect()
    assert wait_for(lambda: len(copying_threads()) == before), "nothing refers to them"


def test_no_two_threads_of_a_loader_copy(jets) -> None:
    """They share buffers: the thread of the epoch before has ended when that of the next one begins."""

    def slow(columns: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.05)
        return columns

    before = len(copying_threads())
    with hr.Loader(jets.open().map(slow), 50, framework="torch", device=fake("fast")) as loader:
        for _ in range(4):
            iterator = iter(loader)
            assert len(copying_threads()) == before + 1
            next(iterator)


def test_a_thread_that_was_left_behind_copies_beside_no_other() -> None:
    """What ``break`` leaves may be at its last batch when the next epoch begins; here many threads are."""
    device = FakeDevice(5e8, delay_seconds=0.001, runs_ahead=True)
    copier = Copier(device._backend, 3, 3 << 17, Figures("fake"))
    failed: list[int] = []

    def copy(thread: int) -> None:
        for number in range(20):
            batch = {"x": torch.full((1 << 13,), thread * 1000 + number), "y": torch.full((7,), number)}
            made = copier.copy(batch)
            made.copied.synchronize()
            failed.extend([thread] * (not same(made.batch, batch)))

    threads = [threading.Thread(target=copy, args=(thread,)) for thread in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed


def test_a_batch_that_was_handed_over_is_the_programs_alone(jets) -> None:
    """Also while the thread waits for the next one."""

    def slow(columns: dict[str, Any]) -> dict[str, Any]:
        if columns["y"][0] == 100:
            assert may_go_on.wait(60)
        return columns

    may_go_on = threading.Event()
    with hr.Loader(jets.open().map(slow), 50, framework="torch", device=fake("fast")) as loader:
        iterator = iter(loader)
        dropped = [weakref.ref(next(iterator)["x"]) for _ in range(2)]
        gone = wait_for(lambda: not any(tensor() is not None for tensor in dropped), seconds=5)
        may_go_on.set()
        assert gone


def test_batches_outlive_their_loader(jets) -> None:
    loader = hr.Loader(jets.open(), 50, framework="torch", device=fake("late"))
    held = list(loader)
    loader.close()
    del loader
    gc.collect()
    assert torch.cat([batch["y"] for batch in held]).equal(torch.from_numpy(jets.y))


def test_what_is_left_of_a_batch_stays(jets) -> None:
    """A view outlives its batch, as work that a stream has not done yet does: nothing else may get its memory."""
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("late")) as loader:
        memory = [batch["x"].untyped_storage() for batch in loader]  # and no tensor
        gc.collect()
        rows = [torch.empty(0).set_(storage).reshape(-1, 8, 4) for storage in memory]
        assert torch.cat(rows).equal(torch.from_numpy(jets.x))


@pytest.mark.parametrize("epochs_together", [1, 3])
def test_a_program_that_runs_ahead_of_its_device(jets, epochs_together: int) -> None:
    """All steps of some epochs are launched before the first copy has ended: only then does a buffer's end matter."""
    device = fake("late", delay_seconds=0.02, runs_ahead=True)
    with hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=device) as loader:
        batches = [batch for _ in range(epochs_together) for batch in loader]
        device.synchronize()
        assert loader.report().to_device.buffer_wait_seconds > 0
    plain = hr.Loader(jets.open(), 50, shuffle=True, framework="torch")
    assert all(map(same, batches, [batch for _ in range(epochs_together) for batch in plain]))


def test_two_batches_are_copied_ahead_and_no_more(jets) -> None:
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("fast")) as loader:
        iterator = iter(loader)
        for taken in range(1, 5):
            next(iterator)
            assert wait_for(lambda copied=taken + 2: loader.report().to_device.batches >= copied)
            time.sleep(0.05)
            assert loader.report().to_device.batches == taken + 2


def test_several_loaders_share_a_device(jets) -> None:
    device = fake("late")
    data = jets.open()
    loaders = [hr.Loader(data, 30 + i, shuffle=True, seed=i, framework="torch", device=device) for i in range(4)]
    plain = [hr.Loader(data, 30 + i, shuffle=True, seed=i, framework="torch") for i in range(4)]
    for batches in zip(*loaders, *plain, strict=False):
        assert all(map(same, batches[:4], batches[4:]))
    for loader in loaders:
        loader.close()


def test_in_a_thread_of_the_program(jets) -> None:
    """Each of several threads iterates a loader of its own."""
    failed: list[BaseException] = []

    def train(seed: int) -> None:
        try:
            make = lambda device: hr.Loader(jets.open(), 40, shuffle=True, seed=seed, framework="torch", device=device)  # noqa: E731
            check_like_the_cpu(make, fake("late"))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=train, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed


def test_the_interpreter_ends_while_batches_are_copied(run_python) -> None:
    script = """
        from headrace.torch import FakeDevice
        loader = hr.Loader(PATHS, 10, framework="torch", device=FakeDevice(1e6))
        iterator = iter(loader)
        next(iterator)
        print("left")
    """
    assert run_python(script, timeout=60).stdout == "left\n"


def test_a_forked_child_is_told(run_python) -> None:
    script = """
        import os
        from headrace.torch import FakeDevice
        loader = hr.Loader(PATHS, 10, framework="torch", device=FakeDevice(1e9))
        iterator = iter(loader)
        next(iterator)
        if (child := os.fork()) == 0:
            failures = []
            for call in (lambda: next(iterator), lambda: next(iter(loader))):
                try:
                    call()
                except hr.ForkedError:
                    failures.append("told")
            print(failures, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(sum(len(batch["labels"]) for batch in iterator))
    """
    assert run_python(script, timeout=60).stdout == "['told', 'told']\n623\n"


def test_the_device_is_not_touched_before_the_first_epoch(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may fork until then."""
    touched: list[str] = []

    def of(device: Any) -> Any:
        touched.append(str(device))
        raise RuntimeError("touched")

    monkeypatch.setattr(torch, "get_device_module", of)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: touched.append("is_available"))
    loaders = [
        hr.Loader(jets.open(), 50, framework="torch", device="cuda"),
        DataLoader(jets.open(), 50, device="cuda:1"),
        DataLoader(jets.open(), 50, pin_memory=True),
    ]
    for loader in loaders:
        loader.state_dict(), len(loader), repr(loader)
    assert touched == []


def test_torch_says_itself_that_it_has_no_such_device(jets) -> None:
    if torch.cuda.is_available():
        pytest.skip("it has one here")
    loader = hr.Loader(jets.open(), 50, framework="torch", device="cuda")
    with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
        next(iter(loader))


def test_ctrl_c_ends_the_wait_and_loses_nothing(run_python) -> None:
    script = """
        import os, signal, threading, time

        signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
        asked = threading.Event()

        def slow(columns):
            if columns["labels"][0] == 100:
                asked.wait()
                time.sleep(0.2)  # the program waits in C++ by now
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.2)
            return columns

        loader = hr.Loader(hr.open(PATHS).map(slow), 50, framework="torch", device="fake")
        rows, interrupted = [], 0
        iterator = iter(loader)
        while True:
            try:
                if len(rows) == 100:
                    asked.set()
                batch = next(iterator, None)
            except KeyboardInterrupt:
                interrupted += 1
                continue
            if batch is None:
                break
            rows += batch["labels"].tolist()
        print(interrupted, rows == list(range(633)))
    """
    assert run_python(script, timeout=60).stdout == "1 True\n"


def test_ctrl_c_while_a_copy_is_waited_for(run_python) -> None:
    """As a fake device's program does: the batch that was taken comes at the next call."""
    script = """
        import os, signal, threading
        from headrace.torch import FakeDevice

        signal.signal(signal.SIGINT, signal.default_int_handler)
        data = hr.open(PATHS).select(range(600))
        loader = hr.Loader(data, 300, framework="torch", device=FakeDevice(2e4))  # 2.6 s a batch
        rows, interrupted = [], 0
        iterator = iter(loader)
        for _ in range(2):
            try:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                next(iterator)
            except KeyboardInterrupt:
                interrupted += 1
            rows += next(iterator)["labels"].tolist()
        print(interrupted, rows == list(range(600)), next(iterator, None), loader.state_dict()["epoch"])
    """
    assert run_python(script, timeout=60).stdout == "2 True None 1\n"


@pytest.mark.parametrize("waits", [False, True], ids=["never waits", "waits each step"])
@pytest.mark.parametrize("words", [{}, {"sampler": range(633), "lookahead": 1}], ids=["ahead", "when asked for"])
def test_a_program_that_runs_ahead_does_not_fill_the_device(jets, waits: bool, words: dict[str, Any]) -> None:
    """Memory that it drops is free only behind the steps that it has launched by then: the copying thread waits."""
    device = fake("fast", runs_ahead=True)
    num_bytes = 0
    with hr.Loader(jets.open(), 10, framework="torch", device=device, **words) as loader:
        for batch in loader:
            num_bytes = max(num_bytes, sum(tensor.nbytes for tensor in tensors(batch)))
            device.launch(0.002)
            if waits:
                device.synchronize()
            del batch
    assert 0 < device.peak_bytes <= 5 * num_bytes, device.peak_bytes / num_bytes


def test_an_epoch_that_begins_while_the_loader_is_closed(jets) -> None:
    """Closing waits for no thread that begins behind it."""
    for _ in range(30):
        loader = hr.Loader(jets.open(), 50, framework="torch", device=fake("fast"))

        def run(loader: hr.Loader = loader) -> None:
            try:
                while True:
                    next(iter(loader))
            except hr.ClosedError:
                pass

        thread = threading.Thread(target=run)
        thread.start()
        time.sleep(0.003)
        loader.close()
        thread.join(20)
        assert not thread.is_alive()
    assert wait_for(lambda: not copying_threads())


def test_a_loader_is_sent_elsewhere_while_another_thread_waits_for_a_batch(jets) -> None:
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("late")) as loader:
        batches, state, errors = iter(loader), loader.state_dict(), []
        stop = threading.Event()

        def run() -> None:
            try:
                while not stop.is_set():
                    next(batches, None)
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        for _ in range(20):
            time.sleep(0.001)
            loader.load_state_dict(state)
        stop.set()
        thread.join(20)
        assert not errors and not thread.is_alive()
        loader.load_state_dict(state)
        assert [int(batch["y"][0]) for batch in batches] == list(range(0, 633, 50))
