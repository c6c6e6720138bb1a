"""Batches on a device: the same ones in the same order as on the CPU, at any habit of the device."""

from __future__ import annotations

import gc
import pickle
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ragged_files
from device_loaders import HABITS, check_like_the_cpu, copying_threads, epochs, fake, same, tensors, torch, wait_for
from jet_files import write_h5

import headrace as hr
from headrace._device.copier import Copier
from headrace._device.figures import Figures
from headrace.torch import DataLoader, FakeDevice

FORMS: dict[str, dict[str, Any]] = {
    "in order": {"batch_size": 50},
    "shuffled": {"batch_size": 50, "shuffle": True, "seed": 3},
    "exact": {"batch_size": 64, "shuffle": "exact"},
    "tuple": {"batch_size": 50, "batch_format": "tuple", "shuffle": True},
    "padded tail": {"batch_size": 50, "tail": "pad", "shuffle": True},
    "dropped tail": {"batch_size": 50, "tail": "drop"},
    "small": {"batch_size": 3, "shuffle": True},
    "one": {"batch_size": 633},
    "groups": {"group_by": "file", "max_items": 120},
    "rank": {"batch_size": 20, "rank": 1, "world_size": 3, "shuffle": True},
    "provenance": {"batch_size": 50, "provenance": True},
    "sampler": {"batch_size": 50, "sampler": list(range(632, -1, -3))},
    "batches": {"batch_sampler": [[5], [3, 4, 600], list(range(100))]},
    "weighted": {"batch_size": 50, "sampler": hr.Weighted(np.arange(633) + 1.0)},
}


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_are_those_of_the_cpu(jets, form: str, habit: str) -> None:
    words = FORMS[form]
    make = lambda device: hr.Loader(jets.open(), framework="torch", device=device, **words)  # noqa: E731
    check_like_the_cpu(make, fake(habit))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    made = ragged_files.make_events()
    data = ragged_files.opened(tmp_path_factory.mktemp("events"), "h5", made)
    fields = {name: name for name in data.fields if name != "big"}  # torch's older versions have no uint64
    del fields
    return data


@pytest.mark.parametrize("habit", ["late", "reorders"])
@pytest.mark.parametrize(
    "words",
    [
        {"batch_size": 4},
        {"batch_size": 4, "shuffle": True, "layout": "padded"},
        {"batch_size": 1, "shuffle": True},
        {"batch": hr.ByTokens(400, too_long="alone"), "shuffle": True},
    ],
    ids=str,
)
def test_ragged_and_padded_batches(events: hr.Dataset, words: dict[str, Any], habit: str) -> None:
    """One event is longer than all others together: its batch is larger than any buffer."""
    make = lambda device: hr.Loader(events, framework="torch", device=device, **words)  # noqa: E731
    check_like_the_cpu(make, fake(habit))


def test_a_batch_that_no_buffer_holds_is_copied_all_the_same(events: hr.Dataset) -> None:
    with hr.Loader(events, 1, framework="torch", device="fake") as loader:
        for _ in loader:
            pass
        copies = loader.report().to_device
        assert copies is not None and copies.larger_batches == 2 and copies.batches == len(loader)


def test_functions_run_before_the_copy(jets) -> None:
    def double(columns: dict[str, Any]) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return {"x": columns["x"][:, ::2] * 2, "y": columns["y"], "note": torch.ones(len(columns["y"])).bool()}

    threads: list[threading.Thread] = []
    data = jets.open().map(double)
    make = lambda device: hr.Loader(data, 50, shuffle=True, framework="torch", device=device)  # noqa: E731
    check_like_the_cpu(make, fake("late"))
    assert {thread.name for thread in threads[-5:]} == {"headrace to device"}


@pytest.mark.parametrize("words", [{"batch_size": 50}, {"batch_size": None}], ids=["batches", "samples"])
@pytest.mark.parametrize("collate", [None, "collate_fn", "column_fn"])
def test_the_dataloader_of_torch(jets, words: dict[str, Any], collate: str | None) -> None:
    def of_samples(samples: Any) -> Any:
        if isinstance(samples, dict):
            return [samples["x"].t(), samples["y"]]
        return {"x": torch.stack([sample["x"] for sample in samples]), "names": ["a"] * len(samples)}

    def of_columns(batch: dict[str, Any]) -> Any:
        return batch["x"].sum(), (batch["y"], None)

    if collate == "column_fn" and words["batch_size"] is None:
        pytest.skip("there are no batches for it")
    if collate is not None:
        words = {**words, collate: of_samples if collate == "collate_fn" else of_columns}
    make = lambda device: DataLoader(jets.open(), shuffle=True, device=device, **words)  # noqa: E731
    with pytest.warns(hr.HeadraceWarning) if "collate_fn" in words and words["batch_size"] else _silence():
        ours, theirs = (list(make(device)) for device in (fake("late"), "cpu"))
    assert len(ours) == len(theirs) and all(map(same, ours, theirs))


class _silence:  # noqa: N801
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_samplers_that_learn_get_no_batch_ahead(jets) -> None:
    """With lookahead=1 rows are asked for when their batch is, and not before."""

    class Learning:
        def __init__(self) -> None:
            self.asked = 0

        def __len__(self) -> int:
            return 100

        def __iter__(self) -> Any:
            for row in range(100):
                self.asked += 1
                yield row * 3

    sampler = Learning()
    with hr.Loader(jets.open(), 10, sampler=sampler, lookahead=1, framework="torch", device=fake("late")) as loader:
        for number, batch in enumerate(loader, 1):
            assert batch["y"].tolist() == list(range(30 * number - 30, 30 * number, 3))
            assert sampler.asked <= 10 * number + (number == 10)
    assert number == 10


# --------------------------------------------------------------------------------------------- states


@pytest.mark.parametrize("stop", [0, 1, 5, 12, 13])
def test_resumed_equals_uninterrupted(jets, stop: int) -> None:
    make = lambda: hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=fake("late"))  # noqa: E731
    with make() as loader:
        whole, states = epochs(loader, 2)
    with make() as first:
        iterator = iter(first)
        for _ in range(stop):
            next(iterator)
        time.sleep(0.02)  # the next batches are copied meanwhile, and do not count
        state = first.state_dict()
        copy = pickle.loads(pickle.dumps(first))
    assert state == states[stop]
    with make() as second:
        second.load_state_dict(state)
        rest = list(second)
    assert len(rest) == (13 - stop or 13) and all(map(same, rest, whole[stop:]))
    with copy:
        assert all(map(same, list(copy), whole[stop:]))


def test_a_live_iterator_goes_on_where_a_state_says(jets) -> None:
    with hr.Loader(jets.open(), 50, shuffle=True, framework="torch", device=fake("late")) as loader:
        whole, states = epochs(loader, 1)
        iterator = iter(loader)
        next(iterator)
        loader.load_state_dict(states[4])
        assert loader.state_dict() == states[4]
        assert same(next(iterator), whole[4])
        loader.load_state_dict(states[11])
        assert all(map(same, iterator, whole[11:]))
        assert next(iterator, None) is None
        loader.load_state_dict(states[2])
        assert next(iterator, None) is None, "it was over"
        assert len(list(loader)) == 11


def test_an_epoch_that_is_named_and_its_length(jets) -> None:
    data = jets.open()
    with (
        hr.Loader(data, 50, shuffle=True, framework="torch", device=fake("fast")) as loader,
        hr.Loader(data, 50, shuffle=True, framework="torch") as plain,
    ):
        iterator = iter(loader)
        next(iterator)
        loader.set_epoch(7)
        plain.set_epoch(7)
        assert loader.state_dict()["epoch"] == 0 and len(loader) == 13
        assert all(map(same, loader, plain))
        assert same(loader.batch(7, 3), plain.batch(7, 3))
        assert loader.state_dict() == plain.state_dict()


# --------------------------------------------------------------------------------------------- ends


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


# --------------------------------------------------------------------------------------------- errors


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


def test_a_device_without_room(jets) -> None:
    """Batches that were dropped make room; what is held does not."""
    batch_bytes = 50 * (8 * 4 * 4 + 10 * 4 + 8)
    with hr.Loader(jets.open(), 50, framework="torch", device=fake("fast", memory_bytes=5 * batch_bytes)) as loader:
        assert sum(len(batch["y"]) for batch in loader) == 633
        with pytest.raises(torch.OutOfMemoryError, match="fake device is out of memory"):
            list(loader)


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
            assert wait_for(lambda: bool(iterator._channel.ready))
            assert next(iterator)["x"][0, 0] == 20_000 * 64 * number


@pytest.mark.parametrize("device", ["cupboard", 1.5, object(), "cuda:x"], ids=str)
def test_devices_that_there_are_not(jets, device: Any) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="device must be one that torch has"):
        hr.Loader(jets.open(), 50, framework="torch", device=device)


def test_numpy_arrays_stay_on_the_cpu(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="framework='torch'"):
        hr.Loader(jets.open(), 50, device="cuda")


@pytest.mark.parametrize("words", [{"bytes_per_second": 0}, {"delay_seconds": -1}, {"fails_at": -1}], ids=str)
def test_fake_devices_that_there_are_not(words: dict[str, Any]) -> None:
    with pytest.raises(hr.InvalidArgumentError):
        FakeDevice(**words)


# --------------------------------------------------------------------------------------------- figures


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


def test_ctrl_c_ends_the_wait_and_loses_nothing(run_python) -> None:
    script = """
        import os, signal, time

        def slow(columns):
            if columns["labels"][0] == 100:
                time.sleep(0.5)  # the program waits by now
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.5)
            return columns

        loader = hr.Loader(hr.open(PATHS).map(slow), 50, framework="torch", device="fake")
        rows, interrupted = [], 0
        iterator = iter(loader)
        while True:
            try:
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

        data = hr.open(PATHS).select(range(600))
        loader = hr.Loader(data, 300, framework="torch", device=FakeDevice(2e4))  # 2.6 s a batch
        rows, interrupted = [], 0
        iterator = iter(loader)
        for _ in range(2):
            threading.Timer(0.25, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                next(iterator)
            except KeyboardInterrupt:
                interrupted += 1
            rows += next(iterator)["labels"].tolist()
        print(interrupted, rows == list(range(600)), next(iterator, None), loader.state_dict()["epoch"])
    """
    assert run_python(script, timeout=60).stdout == "2 True None 1\n"
