"""What a device of torch's is asked for, and in which order: a module like ``torch.cuda`` that notes each call."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from device_loaders import epochs, same, torch
from jet_files import FIELDS

import headrace as hr
from headrace._device.backend import has_streams
from headrace.torch import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Module:
    """As much of ``torch.cuda`` as is used, over the CPU: work is done where it is asked for."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.number = 0
        self.current: Any = None
        self.Stream = lambda device: NotingStream(self, "copying")
        self.Event = lambda enable_timing: NotingEvent(self)
        self._default = NotingStream(self, "program's")

    def current_device(self) -> int:
        return 0

    def current_stream(self, _device: Any) -> Any:
        return self._default

    @contextlib.contextmanager
    def device(self, device: Any) -> Any:
        self.calls.append(f"enter {device}")
        yield

    @contextlib.contextmanager
    def stream(self, stream: Any) -> Any:
        self.current = stream
        yield
        self.current = None


class NotingStream:
    def __init__(self, module: Module, name: str) -> None:
        self.module, self.name = module, name

    def wait_event(self, event: NotingEvent) -> None:
        assert event.recorded
        self.module.calls.append(f"{self.name} waits for {event.name}")

    def synchronize(self) -> None: ...


class NotingEvent:
    def __init__(self, module: Module) -> None:
        module.number += 1
        self.module, self.name, self.recorded = module, f"event {module.number}", False

    def record(self, stream: NotingStream) -> None:
        self.recorded = True
        self.module.calls.append(f"{self.name} in {stream.name}")

    def query(self) -> bool:
        return self.recorded

    def synchronize(self) -> None:
        assert self.recorded
        self.module.calls.append(f"host waits for {self.name}")

    def elapsed_time(self, later: NotingEvent) -> float:
        return 1.0


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Module:
    """``torch.device("xpu")`` is at hand, and its memory is the CPU's."""
    made = Module()
    empty, empty_like, copy = torch.empty, torch.empty_like, torch.Tensor.copy_

    def noted_copy(to: Any, host: Any, non_blocking: bool = False) -> Any:
        if made.current is not None:
            made.calls.append(f"copy in {made.current.name}{'' if non_blocking else ', waiting'}")
        return copy(to, host)

    def without(name: str, function: Any) -> Any:
        def call(*args: Any, **words: Any) -> Any:
            if words.pop(name, None) is not None and name == "pin_memory":
                made.calls.append(f"page-locked {args[0]}")
            return function(*args, **words)

        return call

    monkeypatch.setattr(torch, "get_device_module", lambda _device: made)
    monkeypatch.setattr(torch, "empty", without("pin_memory", without("device", empty)))
    monkeypatch.setattr(torch, "empty_like", without("device", empty_like))
    monkeypatch.setattr(torch.Tensor, "copy_", noted_copy)
    monkeypatch.setattr(
        torch.Tensor, "record_stream", lambda _self, stream: made.calls.append(f"lent to {stream.name}")
    )
    return made


def test_each_batch_is_copied_in_one_stream_and_awaited_in_the_other(jets, module: Module) -> None:
    with (
        hr.Loader(jets.open(), 100, framework="torch", device="xpu:0") as loader,
        hr.Loader(jets.open(), 100, framework="torch") as plain,
    ):
        theirs, states = epochs(plain, 2)
        ours, our_states = epochs(loader, 2)
        copies = loader.report().to_device
    assert our_states == states and all(map(same, ours, theirs))
    assert copies.name == "xpu:0" and copies.copy_seconds == pytest.approx(14e-3)
    assert copies.step_wait_seconds == pytest.approx(14e-3) and copies.pageable_bytes_per_second > 0
    calls = module.calls
    assert calls.count("enter xpu:0") == 2, "the copying thread of each epoch"
    assert sum(call.startswith("page-locked") for call in calls) == 1, "one piece for all buffers"
    assert "copy in copying, waiting" not in calls
    assert calls.count("lent to program's") == 14 * 3, "each tensor of each batch"
    waits = [call.removeprefix("program's waits for ") for call in calls if call.startswith("program's waits")]
    assert len(set(waits)) == 14
    for event in waits:
        recorded, awaited = calls.index(f"{event} in copying"), calls.index(f"program's waits for {event}")
        mine = [call for call in calls[:recorded] if "in copying" in call][-3:]
        assert mine == ["copy in copying"] * 3, "it happens behind the copies of all three fields"
        assert recorded < awaited
    # The fourth batch and all after it waited, on the host, for the copy out of the buffer three batches before.
    for event in waits[:-3]:
        assert f"host waits for {event}" in calls


def test_ranges_and_sleeping_waits_on_cuda(jets, monkeypatch: pytest.MonkeyPatch, module: Module) -> None:
    words: list[dict[str, Any]] = []
    names: list[str] = []
    ended: list[int] = []
    module.Event = lambda **given: words.append(given) or NotingEvent(module)  # type: ignore[assignment]
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", names.append)
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: ended.append(1))
    with hr.Loader(jets.open(), 100, framework="torch", device="cuda") as loader:
        assert len(list(loader)) == 7
        assert loader.report().to_device.name == "cuda:0"
    assert sorted(names) == ["headrace: next batch"] * 8 + ["headrace: to device"] * 7
    assert len(ended) == len(names)
    assert all(given == {"enable_timing": True, "blocking": True} for given in words)


def test_devices_without_streams_get_plain_copies(jets) -> None:
    assert not has_streams(torch.device("meta")) and not has_streams(torch.device("cpu"))
    with hr.Loader(jets.open(), 100, framework="torch", device="meta") as loader:
        batches = list(loader)
        assert loader.report().to_device is None
    assert [len(batch["y"]) for batch in batches] == [100] * 6 + [33]
    assert all(tensor.device.type == "meta" for batch in batches for tensor in batch.values())


def test_pinned_batches_are_ready_ahead(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    pinned: list[str] = []

    def pin(tensor: Any) -> Any:
        pinned.append(threading.current_thread().name)
        return tensor.clone()

    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.Tensor, "pin_memory", pin)
    loader = DataLoader(hr.open(jets.glob, fields=FIELDS), 100, pin_memory=True)
    assert loader.loader.report().memory.staging_bytes > 0, "the budget knows of them"
    plain = DataLoader(hr.open(jets.glob, fields=FIELDS), 100)
    ours, states = epochs(loader, 2)
    theirs, their_states = epochs(plain, 2)
    assert states == their_states and all(map(same, ours, theirs))
    assert set(pinned) == {"headrace to device"} and len(pinned) == 2 * 7 * 3
    loader.close()


def test_pinned_memory_is_quietly_nothing_without_an_accelerator(jets) -> None:
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    loader = DataLoader(jets.open(), 100, pin_memory=True)
    assert loader.loader.report().memory.staging_bytes == 0
    assert sum(len(batch["y"]) for batch in loader) == 633
    loader.close()


@pytest.mark.parametrize("count", [0, 1])
def test_pinned_memory_is_quietly_nothing_where_torch_could_have_an_accelerator(
    jets, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """As with torch's build for CUDA on a machine without a GPU, or with one that its driver does not serve."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    loader = DataLoader(jets.open(), 100, pin_memory=True)
    assert (loader.loader.report().memory.staging_bytes > 0) == (count > 0)
    plain = DataLoader(jets.open(), 100)
    ours, states = epochs(loader, 2)
    theirs, their_states = epochs(plain, 2)
    assert states == their_states and all(map(same, ours, theirs))
    assert same(loader.loader.batch(1, 2), plain.loader.batch(1, 2))
    loader.close()


def test_a_default_device_of_torchs_is_none_of_its_business(
    jets, module: Module, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page-locked memory is the host's, whatever ``torch.set_default_device()`` says."""
    made, empty = [], torch.empty

    def noted(*shape: Any, **words: Any) -> Any:
        if words.pop("pin_memory", False):
            made.append(words.get("device"))
        return empty(*shape, **words)

    monkeypatch.setattr(torch, "empty", noted)
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda _: 0)
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: 0)
    module.Event = lambda **_: NotingEvent(module)  # type: ignore[assignment]
    with torch.device("meta"), hr.Loader(jets.open(), 100, framework="torch", device="cuda") as loader:
        assert len(list(loader)) == 7
    assert made == ["cpu"]
