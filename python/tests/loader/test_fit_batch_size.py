"""``hr.fit_batch_size``: the largest batch whose step fits, with what each size that was tried took."""

from __future__ import annotations

from typing import Any

import pytest
from device_loaders import FakeDevice, torch

import headrace as hr


def limited(most: int, error: Exception, seen: list[int] | None = None) -> Any:
    def step(batch: dict[str, Any]) -> None:
        if seen is not None:
            seen.append(len(batch["y"]))
        if len(batch["y"]) > most:
            raise error

    return step


@pytest.mark.parametrize(
    ("most", "error"),
    [
        (1, MemoryError()),
        (7, RuntimeError("RESOURCE_EXHAUSTED: 3 GiB")),
        (17, torch.OutOfMemoryError("CUDA out of memory")),
        (400, torch.OutOfMemoryError("CUDA out of memory")),
    ],
    ids=["python", "jax", "torch", "torch, many"],
)
def test_the_largest_that_fits(jets, most: int, error: Exception) -> None:
    found = hr.fit_batch_size(limited(most, error), jets.open(), up_to=512, steps=1, seconds=0)
    assert int(found) <= min(most, 512)
    assert int(found) > min(most, 512) * 15 // 16 - 1
    sizes = [each.batch_size for each in found.tried]
    assert sizes == sorted(set(sizes))
    assert all(each.fits == (each.batch_size <= most) for each in found.tried)
    assert all((each.samples_per_second > 0) == each.fits == (not each.reason) for each in found.tried)
    assert found.fastest in [each.batch_size for each in found.tried if each.fits]
    assert f"batch_size={int(found)} is the largest that fits" in str(found)


def test_what_a_step_is_given(jets) -> None:
    """Whole batches of each size, as tensors where the program has torch, on the device."""
    seen: list[int] = []
    found = hr.fit_batch_size(
        limited(40, MemoryError(), seen), jets.open(), up_to=10**6, steps=3, seconds=0, device="fake"
    )
    assert seen[:4] == [16] * 4 and set(seen) == {each.batch_size for each in found.tried}
    tensors: list[Any] = []
    hr.fit_batch_size(tensors.append, jets.open(), up_to=1, seconds=0)
    assert all(isinstance(batch["x"], torch.Tensor) for batch in tensors)
    hr.fit_batch_size(arrays := tensors.append, jets.open(), up_to=1, seconds=0.02, framework="numpy")
    del arrays
    assert not isinstance(tensors[-1]["x"], torch.Tensor)


def test_batches_that_the_device_has_no_room_for(jets) -> None:
    sample = 8 * 4 * 4 + 10 * 4 + 8
    device = FakeDevice(1e12, memory_bytes=4 * 100 * sample)  # the one in use, two ahead, one on its way
    found = hr.fit_batch_size(lambda _batch: None, jets.open(), up_to=512, seconds=0, device=device)
    assert 90 < int(found) <= 400
    assert found.tried[-1].reason == "the device's memory is too small"


def test_the_loaders_own_memory(jets) -> None:
    found = hr.fit_batch_size(lambda _batch: None, jets.open(), up_to=633, memory="128KiB", threads=1, seconds=0)
    assert int(found) < 633 and found.tried[-1].reason == "the loader's memory is too small"


class Memory:
    """As much of ``torch.cuda`` as is asked about memory; it notes of which device."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def synchronize(self, device: Any = None) -> None:
        self.calls.append(("synchronize", device))

    def reset_peak_memory_stats(self, device: Any = None) -> None:
        self.calls.append(("reset", device))

    def memory_stats(self, device: Any = None) -> dict[str, int]:
        self.calls.append(("stats", device))
        return {"active_bytes.all.peak": 3000, "allocated_bytes.all.peak": 2000}

    def max_memory_allocated(self, device: Any = None) -> int:
        self.calls.append(("allocated", device))
        return 2000

    def empty_cache(self) -> None:
        self.calls.append(("empty",))


class MemoryOfOne:
    """As much of it as ``torch.mps`` has: there is one device, and no function takes it."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def synchronize(self) -> None:
        self.calls.append(("synchronize",))

    def empty_cache(self) -> None:
        self.calls.append(("empty",))


def test_the_device_that_was_named_is_asked_and_not_the_current_one(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    def fitted(memory: Any, device: Any) -> hr.FittedBatchSize:
        monkeypatch.setattr(torch, "get_device_module", lambda _device: memory)
        return hr.fit_batch_size(lambda _batch: None, jets.open(), up_to=16, steps=1, seconds=0, device=device)

    class OnTheCpu(hr.Loader):
        """Batches stay where they are: there is no such device here."""

        def __init__(self, *args: Any, device: Any, **words: Any) -> None:
            super().__init__(*args, **words)

    monkeypatch.setattr("headrace.fitting.Loader", OnTheCpu)
    for device in ("cuda:1", torch.device("cuda", 1)):
        memory = Memory()
        found = fitted(memory, device)
        one = torch.device("cuda:1")
        assert memory.calls == [("reset", one), *[("synchronize", one)] * 2, ("stats", one), ("empty",)]
        assert [each.peak_bytes for each in found.tried] == [3000], "with what waits for other streams"
    monkeypatch.setattr(Memory, "memory_stats", lambda _self, _device=None: {})
    memory = Memory()
    assert fitted(memory, "xpu:2").tried[0].peak_bytes == 2000
    assert ("allocated", torch.device("xpu:2")) in memory.calls
    alone = MemoryOfOne()
    assert fitted(alone, "mps").tried[0].peak_bytes is None
    assert alone.calls == [("synchronize",), ("synchronize",), ("empty",)]


def test_not_even_one_sample_fits(jets) -> None:
    with pytest.raises(MemoryError, match="nothing fits"):
        hr.fit_batch_size(limited(0, MemoryError("nothing fits")), jets.open(), up_to=512)


def test_other_errors_come_through(jets) -> None:
    with pytest.raises(ZeroDivisionError):
        hr.fit_batch_size(lambda _batch: 1 / 0, jets.open(), up_to=512)
    for words in (
        {"up_to": 0},
        {"up_to": 8, "steps": 0},
        {"up_to": 8, "seconds": -1},
        {"up_to": 8, "device": "cupboard"},
    ):
        with pytest.raises(hr.InvalidArgumentError):
            hr.fit_batch_size(lambda _batch: None, jets.open(), **words)
    with pytest.raises(hr.InvalidArgumentError, match="step must be a function"):
        hr.fit_batch_size(None, jets.open(), up_to=8)
