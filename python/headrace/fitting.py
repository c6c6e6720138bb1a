"""fit_batch_size: the largest batch whose training step fits the device's memory."""

from __future__ import annotations

import gc
import inspect
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from headrace._support.checks import invalid, real_number, whole_number
from headrace._support.display import preformatted
from headrace.dataset import Dataset
from headrace.errors import OutOfBudgetError
from headrace.loader import Loader

#: Where the search begins; it stops where the answer is known to this part of it.
_FIRST, _EXACT = 16, 16


@dataclass(frozen=True)
class TriedBatchSize:
    """A batch size that was tried.

    Attributes:
        batch_size: Samples a batch.
        fits: True if all its steps came to their end.
        samples_per_second: Samples a second that they took, the first step not counted; 0 where they did not fit.
        peak_bytes: Most bytes of that device that tensors held at one time, the model's among them. Memory that was
            given up counts until the work of other streams that uses it has ended, as a batch's does: it cannot be used
            again before. What torch's allocator keeps beyond that (``memory_reserved``) does not count: it gives that
            back before it fails. None where torch does not say it of this kind of device.
        reason: What was too small, where it did not fit.
    """

    batch_size: int
    fits: bool
    samples_per_second: float = 0
    peak_bytes: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class FittedBatchSize:
    """What :func:`fit_batch_size` found; ``print()`` shows all that was tried.

    Attributes:
        batch_size: The largest that fits, to within a sixteenth of it.
        fastest: The one of most samples a second among those that fit.
        tried: All of them, in the order of their size.
    """

    batch_size: int
    fastest: int
    tried: tuple[TriedBatchSize, ...]

    def __int__(self) -> int:
        return self.batch_size

    def __str__(self) -> str:
        lines = [f"batch_size={self.batch_size} is the largest that fits; {self.fastest} is the fastest"]
        lines.append(f"{'batch_size':>12} {'samples/s':>12} {'peak memory':>12}")
        for each in self.tried:
            peak = "" if each.peak_bytes is None else f"{each.peak_bytes / 2**30:.2f} GiB"
            rate = f"{each.samples_per_second:,.0f}" if each.fits else "-"
            lines.append(f"{each.batch_size:>12,} {rate:>12} {peak:>12}  {each.reason}".rstrip())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def fit_batch_size(
    step: Callable[[Any], Any],
    dataset: Dataset,
    *,
    up_to: int,
    device: Any = None,
    steps: int = 5,
    seconds: float = 0.5,
    **loader: Any,
) -> FittedBatchSize:
    """Find the largest batch size whose step fits the device's memory, and how fast each size is that was tried.

    Sizes are doubled from 16 until one does not fit, and then halved in between. Each gets a loader of its own, and
    after a first batch ``steps`` more, or as many as ``seconds`` hold. The step is the program's own, so it trains:
    give it a copy of the model, or load the weights afterwards. Blocks until all is tried.

    Args:
        step: Called with each batch: forward, backward, and the optimizer's step, as in training.
        dataset: What is trained on.
        up_to: Largest size to try.
        device: Where batches are delivered, as :class:`Loader` has it. Default: torch's accelerator, if it has one.
        steps: Fewest batches of each size that are timed.
        seconds: Shortest time for which they are: a loader's first moments are not its rate.
        **loader: More arguments of :class:`Loader`.

    Returns:
        The largest size that fits, and all that were tried.

    Raises:
        InvalidArgumentError: An argument is wrong.
        OutOfMemoryError: Not even one sample fits: what the step raised. Other errors of the step come through.
    """
    most = min(whole_number("up_to", up_to, least=1), len(dataset))
    steps = whole_number("steps", steps, least=1)
    if not real_number("seconds", seconds) >= 0:
        raise invalid(f"seconds must be at least 0, not {seconds!r}")
    if most == 0:
        raise invalid("the data set has no samples", "There is nothing to try a step with.")
    if not callable(step):
        raise invalid(f"step must be a function of a batch, not {step!r}")
    words = _with_device({"shuffle": False, "cache": "none", **loader}, device)
    tried: dict[int, TriedBatchSize] = {}

    def fits(size: int) -> bool:
        if size not in tried:
            tried[size] = _try(step, dataset, size, (steps, seconds), words, raises=size == 1)
        return tried[size].fits

    low = _largest(fits, most)
    results = tuple(tried[size] for size in sorted(tried))
    fastest = max((each for each in results if each.fits), key=lambda each: each.samples_per_second)
    return FittedBatchSize(low, fastest.batch_size, results)


def _largest(fits: Callable[[int], bool], most: int) -> int:
    """Return the largest that fits, to within a sixteenth. Every size below one that fits does too."""
    low, high = 0, most + 1
    size = min(_FIRST, most)
    while True:  # by doubling, or by halving where the first does not fit
        if fits(size):
            low = size
            if low == most or high <= most:
                break
            size = min(2 * size, most)
        else:
            high = size
            if low:
                break
            size = max(size // 2, 1)
    while high - low > max(1, low // _EXACT):
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _with_device(words: dict[str, Any], device: Any) -> dict[str, Any]:
    torch = sys.modules.get("torch")  # a step of torch's has imported it
    if torch is None and device is None:
        return words
    words = {"framework": "torch", **words}
    if device is None and words["framework"] == "torch":
        from headrace._support.accelerator import current_accelerator

        device = current_accelerator(check_available=True)
    return words if device is None else {"device": device, **words}


def _try(
    step: Callable[[Any], Any],
    dataset: Dataset,
    size: int,
    least: tuple[int, float],
    words: dict[str, Any],
    *,
    raises: bool,
) -> TriedBatchSize:
    """Make steps of one size. Errors that are not of memory come through; those of memory too, if it ``raises``."""
    device = _Device.of(words.get("device"))
    device.call("reset_peak_memory_stats")
    try:
        rate = _steps_per_second(step, dataset, size, least, words, device)
    except Exception as error:
        reason = _reason(error)
        if reason is None or raises:
            raise
        result = TriedBatchSize(size, fits=False, reason=reason)
    else:
        result = TriedBatchSize(size, fits=True, samples_per_second=size * rate, peak_bytes=device.peak_bytes())
    gc.collect()  # what a failed step left in the frames of its error
    device.call("empty_cache")
    return result


def _steps_per_second(
    step: Callable[[Any], Any],
    dataset: Dataset,
    size: int,
    least: tuple[int, float],
    words: dict[str, Any],
    device: _Device,
) -> float:
    steps, seconds = least
    with Loader(dataset, size, drop_last=True, **words) as loader:
        batches = _again_and_again(loader)
        step(next(batches))
        device.call("synchronize")
        began, made = time.perf_counter(), 0
        while made < steps or time.perf_counter() - began < seconds:
            step(next(batches))
            made += 1
        device.call("synchronize")
        return made / max(time.perf_counter() - began, 1e-9)


def _again_and_again(loader: Loader) -> Iterator[Any]:
    while True:
        yield from loader


@dataclass(frozen=True)
class _Device:
    """A device, and torch's module of its kind, such as ``torch.cuda``; neither for the CPU and what torch has not."""

    module: Any = None
    device: Any = None

    @staticmethod
    def of(device: Any) -> _Device:
        """Return what torch has for a device as Loader takes it."""
        torch = sys.modules.get("torch")
        if device is None or torch is None:
            return _Device()
        try:
            found = torch.device(device)
        except (RuntimeError, TypeError):  # not torch's: the loader says whether it is a device
            return _Device()
        if found.type == "cpu":
            return _Device()
        from headrace._support.accelerator import device_module

        module = device_module(found)
        is_available = getattr(module, "is_available", lambda: True)
        return _Device(module, found) if is_available() else _Device()  # then the loader raises torch's own error

    def call(self, name: str) -> Any:
        """Call one of the module's functions, for this device and not the current one; None if there is none.

        Functions of kinds that have one device only (``torch.mps``) take none, nor does ``empty_cache``.
        """
        function = getattr(self.module, name, None)
        if function is None:
            return None
        return function(self.device) if inspect.signature(function).parameters else function()

    def peak_bytes(self) -> int | None:
        """Return the most bytes held since the last reset; None if torch does not say it."""
        # max_memory_allocated() leaves out what waits for events: of each batch that was copied in a stream of its own.
        held = (self.call("memory_stats") or {}).get("active_bytes.all.peak")
        peak: int | None = held or self.call("max_memory_allocated")
        return peak


def _reason(error: Exception) -> str | None:
    """Say which memory an error tells was too small; None: it is another error."""
    if isinstance(error, OutOfBudgetError):
        return "the loader's memory is too small"
    text = str(error)
    # torch.OutOfMemoryError is a RuntimeError; libraries under it, and JAX, have texts only.
    parts = ("out of memory", "RESOURCE_EXHAUSTED", "ALLOC_FAILED")
    if isinstance(error, MemoryError) or any(part in text for part in parts):
        return "the device's memory is too small"
    return None
