"""The habits of a fake device: those of a real one that hide faults of the code that copies to it."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from functools import partial
from typing import Any

import pytest
from device_loaders import same, torch, wait_for

import headrace as hr
from headrace._device.fake_memory import Memory
from headrace._device.fake_streams import FakeEvent
from headrace.torch import FakeDevice

ROWS = torch.arange(1000)
POISON = b"\xa5" * ROWS.nbytes
WHOLE = ROWS.numpy().tobytes()


def asked_for(device: FakeDevice) -> tuple[Any, Any]:
    """Ask for a copy of rows to the device; return where they will be, and the stream, which has no event yet."""
    backend = device._backend
    stream = backend.stream()
    host = backend.host_memory(ROWS.nbytes).view(ROWS.dtype).copy_(ROWS)
    with backend.on(stream):
        made = backend.empty_like(host)
        backend.copy(made, host)
    return made, stream


def on_device(device: FakeDevice) -> Any:
    """Copy rows to the device, and wait until they are there."""
    (made, stream), end = asked_for(device), FakeEvent()
    end.record(stream)
    end.synchronize()
    return made


def memory_of(device: FakeDevice, tensor: Any) -> Memory:
    """What the tensor lies in, which may be looked at when the tensor is gone."""
    return device._backend._tensors[id(tensor)]


def bytes_in(memory: Memory) -> bytes:
    return ctypes.string_at(memory.address, memory.num_bytes)


def busy(device: FakeDevice) -> FakeEvent:
    """Let the program's stream wait until the event that is returned is told to happen."""
    device._backend.host.wait_event(event := FakeEvent())
    return event


def asked(device: FakeDevice) -> FakeEvent:
    """Return an event that happens when the program's stream has done what it was asked for so far."""
    (event := FakeEvent()).record(device._backend.host)
    return event


def program_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "fake device's program"}


# --- memory ----------------------------------------------------------------------------------------------------------


def test_memory_that_was_lent_is_in_use_behind_what_was_launched_when_it_was_freed() -> None:
    device = FakeDevice(1e12, runs_ahead=True, memory_bytes=2 * ROWS.nbytes)
    made = on_device(device)
    device._backend.lend(made, device._backend.host)
    memory, before = memory_of(device, made), busy(device)
    del made
    after = busy(device)  # asked for later: the memory does not wait for it
    held = on_device(device)
    assert device.peak_bytes == 2 * ROWS.nbytes
    with pytest.raises(torch.OutOfMemoryError, match=f"{2 * ROWS.nbytes} of {2 * ROWS.nbytes} are in use"):
        on_device(device)
    assert bytes_in(memory) == WHOLE, "work that was launched may still use it"
    before.happen()
    assert wait_for(lambda: memory.is_reusable)
    assert wait_for(lambda: device._backend._used_bytes == ROWS.nbytes)
    assert bytes_in(memory) == POISON, "work that is launched now uses another's"
    assert same(on_device(device), held)
    assert device.peak_bytes == 2 * ROWS.nbytes
    after.happen()


def test_memory_that_was_not_lent_is_anothers_at_once() -> None:
    device = FakeDevice(1e12, runs_ahead=True, memory_bytes=ROWS.nbytes)
    before = busy(device)
    made = on_device(device)
    memory = memory_of(device, made)
    del made
    assert bytes_in(memory) == POISON
    assert on_device(device).equal(ROWS)
    before.happen()


def test_memory_that_is_given_away_before_its_copy_is_made_stays_anothers() -> None:
    device, end = FakeDevice(1e12), FakeEvent()
    made, stream = asked_for(device)
    memory = memory_of(device, made)
    del made
    assert memory.is_reusable, "the copy that is still to be made keeps no tensor"
    end.record(stream)
    end.synchronize()
    assert bytes_in(memory) == POISON


def test_views_and_storages_keep_memory() -> None:
    device = FakeDevice(1e12)
    made = on_device(device)
    device._backend.lend(made, device._backend.host)
    memory, parts = memory_of(device, made), [made[5:7], made.untyped_storage()]
    del made
    for _ in range(2):
        assert not memory.is_reusable and bytes_in(memory) == WHOLE
        parts.pop()
    assert memory.is_reusable and bytes_in(memory) == POISON
    assert device._backend._used_bytes == 0 and not device._backend._memory


def test_steps_that_are_done_late_find_whole_batches(jets) -> None:
    """Each looks at its batch when the device comes to it, long after the program has dropped the batch."""

    def look(address: int, num_bytes: int) -> None:
        seen.append(ctypes.string_at(address, num_bytes))

    seen: list[bytes] = []
    device = FakeDevice(1e9, runs_ahead=True)
    with hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=device) as loader:
        for batch in loader:
            device.launch(0.005)
            asked(device).then(partial(look, batch["x"].data_ptr(), batch["x"].nbytes))
            del batch
        device.synchronize()
        assert wait_for(lambda: device._backend._used_bytes == 0)
        theirs = [loader.batch(0, number)["x"] for number in range(len(loader))]
    assert seen == [x.numpy().tobytes() for x in theirs]
    assert device.peak_bytes >= 2 * theirs[0].nbytes


# --- the program's stream --------------------------------------------------------------------------------------------


def test_what_is_launched_takes_its_time_and_the_program_goes_on() -> None:
    device = FakeDevice(runs_ahead=True)
    start = asked(device)
    assert start.query(), "there was nothing to do"
    before = busy(device)
    device.launch(0.02)
    device.launch(0.02)
    end = asked(device)
    assert not end.query(), "launch() does not wait, and what is launched waits for what the stream waits for"
    before.happen()
    device.synchronize()
    assert end.query() and before.elapsed_time(end) >= 40 * 0.999
    assert asked(device).query()


def test_a_program_that_does_not_run_ahead_waits_for_its_work() -> None:
    device = FakeDevice()
    began = time.perf_counter()
    device.launch(0.02)
    assert asked(device).query() and time.perf_counter() - began >= 0.02 * 0.999
    assert device.synchronize() is None


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e10, "1", True], ids=str)
def test_work_that_there_is_not(seconds: Any) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="seconds must"):
        FakeDevice().launch(seconds)


def test_the_error_of_a_copy_is_raised_where_the_program_waits() -> None:
    device = FakeDevice(runs_ahead=True)
    host = device._backend.host
    for event in (FakeEvent(), FakeEvent()):
        host.wait_event(event)
        event.happen(ZeroDivisionError(f"{id(event)}"))
    with pytest.raises(ZeroDivisionError) as first:
        device.synchronize()
    (known := FakeEvent()).happen(ZeroDivisionError("known"))
    host.wait_event(known)
    with pytest.raises(ZeroDivisionError) as second:
        device.synchronize()
    assert first.value is second.value
    (other := FakeDevice(runs_ahead=True))._backend.host.wait_event(known)
    with pytest.raises(ZeroDivisionError, match="known"):
        other.synchronize()


def test_the_programs_thread_ends_with_the_device() -> None:
    before = program_threads()
    device = FakeDevice(runs_ahead=True)
    device.launch(0.01)
    end = asked(device)
    (thread,) = program_threads() - before
    del device
    gc.collect()
    assert wait_for(lambda: not thread.is_alive()) and end.query(), "behind what was launched"


def test_the_interpreter_ends_while_work_is_launched(run_python) -> None:
    script = """
        import atexit, threading
        threads = lambda: [thread.name for thread in threading.enumerate() if "fake device" in thread.name]
        atexit.register(lambda: print(threads()))  # called after those of modules that are imported below
        from headrace.torch import FakeDevice
        device = FakeDevice(1e9, runs_ahead=True)
        with hr.Loader(PATHS, 50, framework="torch", device=device) as loader:
            batch = next(iter(loader))
            for _ in range(3):
                device.launch(600)
            del batch
        print("fake device's program" in threads())
    """
    assert run_python(script, timeout=60).stdout == "True\n[]\n"


def test_a_forked_child_has_a_stream_of_its_own(run_python) -> None:
    script = """
        import os
        from headrace.torch import FakeDevice
        device = FakeDevice(runs_ahead=True)
        with hr.Loader(PATHS, 50, framework="torch", device=device) as loader:
            batch = next(iter(loader))
        device.launch(0.5)
        if (child := os.fork()) == 0:
            device.launch(0.01)
            device.synchronize()
            del batch
            print("child", flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        device.synchronize()
        print("parent")
    """
    assert run_python(script, timeout=60).stdout == "child\nparent\n"


# --- what is copied --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reorders", [False, True])
def test_copies_from_pageable_memory_are_waited_for(reorders: bool) -> None:
    device = FakeDevice(1e6, reorders=reorders)
    backend, stream = device._backend, device._backend.stream()
    locked = backend.host_memory(ROWS.nbytes + 64)[64:].view(ROWS.dtype).copy_(ROWS)
    with backend.on(stream):
        first, second, last = (backend.empty_like(ROWS) for _ in range(3))
        backend.copy(first, locked)
        assert not first.equal(ROWS), "that from page-locked memory, also from a part of it, is not made yet"
        began = time.perf_counter()
        backend.copy(second, ROWS)
        assert time.perf_counter() - began >= 4 * ROWS.nbytes / 1e6 * 0.999, "the copy before it, and thrice its time"
        assert first.equal(ROWS) and second.equal(ROWS)
        backend.copy(last, locked)
        assert not last.equal(ROWS)
        end = FakeEvent()
        end.record(stream)
    end.synchronize()
    assert last.equal(ROWS)


def test_page_locked_memory_is_known_for_as_long_as_it_lives() -> None:
    backend = FakeDevice()._backend
    with torch.inference_mode():  # views know nothing of the tensor that they were made of
        parts = list(backend.host_memory(1024).split(512))
    assert len(backend._locked) == 1
    parts.pop()
    assert len(backend._locked) == 1
    parts.clear()
    assert not backend._locked


def test_empty_batches_are_copied() -> None:
    device = FakeDevice()
    backend, end = device._backend, FakeEvent()
    stream = backend.stream()
    host = backend.host_memory(0).view(torch.float32).view(0, 8, 4)
    with backend.on(stream):
        made = backend.empty_like(host)
        backend.copy(made, host)
        end.record(stream)
    end.synchronize()
    assert made.shape == (0, 8, 4) and made.dtype == torch.float32


def test_the_default_device_is_none_of_its_business(run_python) -> None:
    script = """
        import torch
        with torch.device("meta"):
            loader = hr.Loader(PATHS, 50, framework="torch", device="fake")
            first = [row for batch in loader for row in batch["labels"].tolist()]
        torch.set_default_device("meta")
        loader = hr.Loader(PATHS, 50, framework="torch", device="fake")
        second = [row for batch in loader for row in batch["labels"].tolist()]
        sampled = hr.Loader(PATHS, 50, sampler=range(633), lookahead=1, framework="torch", device="fake")
        third = [row for batch in sampled for row in batch["labels"].tolist()]  # copied on this thread
        print(first == second == third == list(range(633)))
    """
    assert run_python(script, timeout=60).stdout == "True\n"
