"""FakeDevice: a device for tests and for machines without one, with an accelerator's habits and the host's memory."""

from __future__ import annotations

from typing import Any

from headrace._device.fake_backend import FakeBackend
from headrace._support.checks import invalid, real_number, whole_number

#: The longest work that is taken for a step, in seconds.
_MOST_SECONDS = 1e6


class FakeDevice:
    """A stand-in for an accelerator: it copies at a rate, later than it was asked to, in the host's memory.

    Give it as ``device=`` to see on a machine without accelerator what a training loop waits for, or ``device="fake"``
    for one of 2 GB/s. Batches are tensors of the CPU; the program's own work is the device's only other stream. Like a
    device it reads what it copies as late as it may: a buffer that was filled again too early shows in the batch, and
    so does memory that was given away too early. Memory of a batch that the program drops is in use until the program's
    stream has done what it was asked for by then. Copies from memory of the host that is not page-locked take three
    times as long, and the thread that asks for one waits for it.

    Args:
        bytes_per_second: Rate of its copies.
        delay_seconds: Each batch takes up to so much longer, at random.
        reorders: Copies of different batches end in any order, which no device does.
        fails_at: Number of the batch, from 0, whose copy fails: with an error when its end is waited for.
        runs_ahead: The program's stream does not wait for copies while the program calls, as an accelerator's does not:
            batches are handed over before they are there. Call :meth:`synchronize` before you look at them. Nor does
            the program wait for what it launches.
        memory_bytes: Memory of the device: more in use is a ``torch.OutOfMemoryError``. Default: as much as the host
            has.
        seed: Seed of the delays and of the order.

    Attributes:
        bytes_per_second: As given.
        delay_seconds: As given.
        reorders: As given.
        fails_at: As given.
        runs_ahead: As given.
        memory_bytes: As given.
        seed: As given.

    Raises:
        InvalidArgumentError: An argument is out of range.
    """

    def __init__(
        self,
        bytes_per_second: float = 2e9,
        *,
        delay_seconds: float = 0,
        reorders: bool = False,
        fails_at: int | None = None,
        runs_ahead: bool = False,
        memory_bytes: int | None = None,
        seed: int = 0,
    ) -> None:
        self.bytes_per_second = real_number("bytes_per_second", bytes_per_second)
        self.delay_seconds = real_number("delay_seconds", delay_seconds)
        if not self.bytes_per_second > 0 or not self.delay_seconds >= 0:
            raise invalid("bytes_per_second must be above 0, and delay_seconds not below")
        self.reorders = bool(reorders)
        self.fails_at = None if fails_at is None else whole_number("fails_at", fails_at, least=0)
        self.runs_ahead = bool(runs_ahead)
        self.memory_bytes = None if memory_bytes is None else whole_number("memory_bytes", memory_bytes, least=0)
        self.seed = whole_number("seed", seed, least=0)
        self._backend = FakeBackend(self)

    def __reduce__(self) -> tuple[Any, ...]:
        words = ("delay_seconds", "reorders", "fails_at", "runs_ahead", "memory_bytes", "seed")
        return _remade, (self.bytes_per_second, {word: getattr(self, word) for word in words})

    @property
    def peak_bytes(self) -> int:
        """Most bytes of the device's memory that were in use at once, so far."""
        return self._backend.peak_bytes

    def launch(self, seconds: float) -> None:
        """Put work of so many seconds into the program's stream, as a step does; ``runs_ahead`` returns at once.

        It begins when all is done that the stream was asked for before. Without ``runs_ahead`` it is done on return.

        Raises:
            InvalidArgumentError: ``seconds`` is below 0, or more than 1,000,000.
        """
        seconds = real_number("seconds", seconds)
        if not 0 <= seconds <= _MOST_SECONDS:
            raise invalid(f"seconds must be from 0 to {_MOST_SECONDS:g}, not {seconds!r}")
        self._backend.host.launch(seconds)

    def synchronize(self) -> None:
        """Wait until the program's stream has done all that it was asked for. Raises the errors of copies."""
        self._backend.host.synchronize()

    def __repr__(self) -> str:
        return f"<headrace.torch.FakeDevice: {self.bytes_per_second * 1e-9:g} GB/s>"


def _remade(bytes_per_second: float, words: dict[str, Any]) -> FakeDevice:
    return FakeDevice(bytes_per_second, **words)
