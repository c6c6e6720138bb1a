"""Errors on the way to a device, and what the report says of it."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_loaders import copying_threads, fake, tensors, torch, wait_for
from jet_files import write_h5
from stable_ids import text_of

import headrace as hr
from headrace.torch import FakeDevice


def test_errors_come_at_their_batch(jets) -> None:
    def fails_at_row_130(columns: dict[str, Any]) -> dict[str, Any]:
        if 130 in columns["y"]:
            raise ZeroDivisionError("row 130")
        return columns

    for device in ("cpu", fake("late")):
        loader = hr.Loader(jets.open().map(fails_at_row_130), 50, framework="torch", device=device)
        iterator = iter(loader)
        assert [next(iterator)["y"][0].item() for _ in range(2)] == [0, 50]
        with pytest.raises(ZeroDivisionError, match="row 130"):
            next(iterator)
        assert next(iterator)["y"][0] == 150, "it is the function's error, not the data's"
        assert loader.state_dict()["samples"] == 200
        assert len(list(iterator)) == 9
        loader.close()


def test_damaged_data(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "a.h5", x=(np.arange(8000.0).reshape(1000, 8), {"chunks": (64, 8), "compression": 1}))
    import h5py

    with h5py.File(path) as file:
        at = file["x"].id.get_chunk_info(5).byte_offset
    data = bytearray(path.read_bytes())
    data[at + 7] ^= 255
    path.write_bytes(data)
    with hr.Loader(path, 50, framework="torch", device=fake("late")) as loader:
        iterator = iter(loader)
        for number in range(6):
            assert next(iterator)["x"][0, 0] == 400 * number
        assert loader.state_dict()["samples"] == 300
        with pytest.raises(hr.CorruptDataError):
            next(iterator)
        assert loader.state_dict()["samples"] == 300
        assert next(iterator, None) is None


def test_a_copy_that_fails(jets) -> None:
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("late", fails_at=4)) as loader:
        iterator = iter(loader)
        ready = [next(iterator) for _ in range(4)]
        assert torch.cat([batch["y"] for batch in ready]).tolist() == list(range(200))
        with pytest.raises(RuntimeError, match="a copy failed"):
            for _ in range(2):
                next(iterator)
    assert wait_for(lambda: not copying_threads())


def test_a_copy_that_failed_is_told_of_once(jets) -> None:
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("fast", fails_at=3)) as loader:
        failed = 0
        for _ in range(3):
            batches = iter(loader)
            for _ in range(20):
                try:
                    if next(batches, None) is None:
                        break
                except RuntimeError:
                    failed += 1
        assert 1 <= failed <= 2, "where it is waited for, and where its buffer is used again"


def test_a_device_without_room(jets) -> None:
    """Batches that were dropped make room; what is held does not."""
    batch_bytes = 50 * (8 * 4 * 4 + 10 * 4 + 8)
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("fast", memory_bytes=5 * batch_bytes)) as loader:
        assert sum(len(batch["y"]) for batch in loader) == 633
        with pytest.raises(torch.OutOfMemoryError, match="fake device is out of memory"):
            list(loader)


@pytest.mark.parametrize("words", [{}, {"sampler": range(633), "lookahead": 1}], ids=["ahead", "when asked for"])
def test_a_device_that_is_full_loses_no_batch(jets, words: dict[str, Any]) -> None:
    """The error comes at its batch, and again as long as there is no room; then the batch."""
    batch_bytes = 50 * (8 * 4 * 4 + 10 * 4 + 8)
    device = fake("fast", memory_bytes=4 * batch_bytes)
    with hr.Loader(jets.open(), 50, framework="torch", device=device, **words) as loader:
        batches, held, rows = iter(loader), [], []
        for full in range(3):
            while True:
                try:
                    held.append(next(batches))
                except torch.OutOfMemoryError:
                    break
            assert len(held) == 4, "all that fit"
            if not words:  # such an epoch has no state
                assert loader.state_dict()["samples"] == 200 * (full + 1)
            with pytest.raises(torch.OutOfMemoryError):
                next(batches)
            rows += [row for batch in held for row in batch["y"].tolist()]
            held.clear()
        rows += [row for batch in batches for row in batch["y"].tolist()]
    assert rows == list(range(633))


def test_a_batch_that_does_not_come_in_time(jets) -> None:
    def slow(columns: dict[str, Any]) -> dict[str, Any]:
        if columns["y"][0] == 100:
            assert may_go_on.wait(30)
        return columns

    may_go_on = threading.Event()
    data = jets.open().map(slow)
    with hr.Loader(data, 50, timeout=0.05, framework="torch", device=fake("fast")) as loader:
        iterator = iter(loader)
        next(iterator), next(iterator)
        with pytest.raises(hr.LoaderTimeoutError, match=r"no batch came within 0\.05 s"):
            next(iterator)
        may_go_on.set()
        time.sleep(0.2)  # longer than the timeout, while nothing is asked for
        assert next(iterator)["y"][0] == 100
        assert len(list(iterator)) == 10


def test_a_batch_that_is_there_in_time_is_no_timeout(tmp_path: Path) -> None:
    """However long the engine took for it, while nothing was asked for."""
    x = np.arange(60_000 * 64.0).reshape(60_000, 64)
    path = write_h5(tmp_path / "a.h5", x=(x, {"chunks": (10_000, 64), "compression": 1}))
    with hr.Loader(path, 20_000, timeout=1e-6, threads=1, framework="torch", device=fake("fast")) as loader:
        iterator = iter(loader)
        for number in range(3):  # each takes some 50 ms to decode
            assert wait_for(lambda: len(iterator._channel._ready) > 0)
            assert next(iterator)["x"][0, 0] == 20_000 * 64 * number


@pytest.mark.parametrize("device", ["cupboard", 1.5, object(), "cuda:x"], ids=text_of)
def test_devices_that_there_are_not(jets, device: Any) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=r"^device must be (one that torch has|cpu, or a device)"):
        hr.Loader(jets.open(), 50, framework="torch", device=device)


def test_numpy_arrays_stay_on_the_cpu(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match='Give framework="torch" with it'):
        hr.Loader(jets.open(), 50, device="cuda")


@pytest.mark.parametrize("words", [{"bytes_per_second": 0}, {"delay_seconds": -1}, {"fails_at": -1}], ids=str)
def test_fake_devices_that_there_are_not(words: dict[str, Any]) -> None:
    with pytest.raises(hr.InvalidArgumentError):
        FakeDevice(**words)


def test_the_report_has_the_way_to_the_device(jets) -> None:
    device = fake("slow", bytes_per_second=2e5)  # 44 ms a batch: nothing else takes as long
    with hr.Loader(jets.open(), 50, framework="torch", device=device) as loader:
        assert loader.report().to_device is None
        assert "staging" in loader.explain()
        for batch in loader:
            num_bytes = sum(tensor.nbytes for tensor in tensors(batch))
            del batch
        report = loader.report()
        copies = report.to_device
    assert copies.name == "fake" and copies.batches == 13 and copies.bytes == 633 * num_bytes // 33
    assert copies.buffers == 3 and copies.by_events
    assert 3 * copies.buffer_bytes <= report.memory.staging_bytes <= report.memory.budget_bytes
    assert copies.pinned_bytes_per_second == 2e5
    # It can copy no faster than it does: all steps but the first two waited for most of a copy.
    assert copies.copy_seconds >= copies.bytes / 2e5
    assert 0 < copies.step_wait_seconds <= copies.step_seconds
    assert "the step waited" in report.verdict and "copies to fake" in report.verdict
    assert "TO DEVICE  fake: " in str(report)


def test_buffers_are_part_of_the_budget(jets) -> None:
    make = lambda device, memory: hr.Loader(jets.open(), 50, framework="torch", device=device, memory=memory)  # noqa: E731
    with pytest.raises(hr.OutOfBudgetError) as least:
        make("fake", 1)
    with pytest.raises(hr.OutOfBudgetError) as least_of_cpu:
        make("cpu", 1)
    smallest, of_cpu = (int(str(error.value).split("memory=")[1].split()[0]) for error in (least, least_of_cpu))
    assert smallest > of_cpu + 3 * 50 * 176
    with make("fake", smallest) as loader:
        assert len(list(loader)) == 13


def test_the_step_waits_for_a_slow_loader_too(jets) -> None:
    """By events of the device: from when a batch was asked for until it was there."""

    def slow(columns: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.02)
        return columns

    with hr.Loader(jets.open().map(slow), 50, framework="torch", device=fake("fast")) as loader:
        assert len(list(loader)) == 13
        report = loader.report()
        copies = report.to_device
    assert copies.step_wait_seconds >= 13 * 0.02 * 0.99
    assert copies.batch_wait_seconds >= 13 * 0.02 > copies.buffer_wait_seconds + copies.stage_seconds
    assert report.verdict.startswith("the step waited")


def test_a_device_that_cannot_be_used_costs_no_epoch(jets) -> None:
    """Torch says at ``iter()`` that there is no such device; the epoch that would begin is still to come."""
    if torch.cuda.is_available():
        pytest.skip("there is such a device")
    with hr.Loader(jets.open(), 50, framework="torch", device="cuda") as loader:
        for _ in range(3):
            with pytest.raises((AssertionError, RuntimeError)):
                iter(loader)
            assert loader.state_dict()["epoch"] == 0 and loader._native.next_epoch() == 0


def test_rates_that_cannot_be_measured_cost_no_batch(jets, monkeypatch) -> None:
    device = fake("fast")

    def no_memory(*_: Any) -> tuple[float, float]:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 8.00 MiB")

    monkeypatch.setattr(device._backend, "rates", no_memory)
    with hr.Loader(jets.open(), 50, framework="torch", device=device) as loader:
        assert [int(batch["y"][0]) for batch in loader] == list(range(0, 633, 50))
        assert loader.report().to_device.pinned_bytes_per_second == 0


def test_after_an_error_of_the_device_a_loader_reports_and_closes(jets, monkeypatch, caplog) -> None:
    """A kernel of the step has failed: from then on each call to the device does."""
    from headrace._device.fake_streams import FakeEvent

    def failed(_: Any) -> bool:
        raise RuntimeError("CUDA error: device-side assert triggered")

    caplog.set_level("DEBUG", logger="headrace")
    loader = hr.Loader(jets.open(), 50, framework="torch", device=fake("fast"))
    batches = iter(loader)
    next(batches)
    monkeypatch.setattr(FakeEvent, "query", failed)
    assert loader.report().to_device.batches >= 1
    loader.close()
    assert loader.closed


def test_one_thread_at_a_time_is_in_the_programs_function(jets) -> None:
    """Also after a ``break``: the iterator is gone, and its thread is at its last batch."""
    inside, most = set(), 0
    lock = threading.Lock()

    def function(columns: dict[str, Any]) -> dict[str, Any]:
        nonlocal most
        with lock:
            inside.add(threading.get_ident())
            most = max(most, len(inside))
        time.sleep(0.02)
        with lock:
            inside.discard(threading.get_ident())
        return columns

    with hr.Loader(jets.open().map(function), 50, framework="torch", device="fake") as loader:
        for _ in range(6):
            for _ in loader:
                break
    assert most == 1


def test_several_threads_share_an_epoch(jets) -> None:
    for data in (jets.open(), jets.open().map(lambda columns: columns)):
        with hr.Loader(data, 5, framework="torch", device=fake("fast")) as loader:
            batches, rows = iter(loader), []
            errors: list[Exception] = []

            def run(batches: Any = batches, rows: list[int] = rows, errors: list[Exception] = errors) -> None:
                try:
                    for batch in batches:
                        rows.extend(batch["y"].tolist())
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=run) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert sorted(rows) == list(range(633)) and not errors
