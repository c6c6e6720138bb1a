"""The peak of a process's memory, above what it held when the measurement began.

VmHWM misses nothing. Where files are mapped (a cache directory, tokens) it is RssAnon + RssShmem instead, sampled,
because mapped pages are page cache, which the kernel takes back when it likes.
"""

from __future__ import annotations

import bisect
import gc
import threading
import time
from pathlib import Path

from headrace_epochs import resident_bytes

SAMPLING_SECONDS = 0.004


class Sampler(threading.Thread):
    """Peak of memory that is neither a file's nor shared with the page cache: RssAnon + RssShmem, every 4 ms."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.times: list[float] = []
        self.values: list[int] = []
        self.stopped = threading.Event()

    @staticmethod
    def now() -> int:
        return resident_bytes("RssAnon") + resident_bytes("RssShmem")

    def run(self) -> None:
        while not self.stopped.wait(SAMPLING_SECONDS):
            self.values.append(self.now())
            self.times.append(time.perf_counter())

    def grows(self) -> bool:
        """By more than a hundredth in the last second."""
        last = bisect.bisect(self.times, time.perf_counter() - 1)
        return last == 0 or max(self.values) > 1.01 * max(self.values[:last])

    def stop(self) -> None:
        self.stopped.set()
        self.join()
        self.values.append(self.now())
        self.times.append(time.perf_counter())


class Peak:
    """What the process takes above what it held when this was made."""

    def __init__(self, maps_files: bool) -> None:
        gc.collect()
        self.sampler, self.maps_files = Sampler(), maps_files
        self.sampler.start()
        time.sleep(3 * SAMPLING_SECONDS)
        Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts from here
        self.before, self.sampled_before = resident_bytes("VmRSS"), self.sampler.now()
        self.first = len(self.sampler.values)

    def stop(self) -> dict[str, int]:
        self.sampler.stop()
        high_water = resident_bytes("VmHWM") - self.before
        sampled = max(self.sampler.values[self.first :]) - self.sampled_before
        above = sampled if self.maps_files else high_water
        return {"above_bytes": above, "high_water_bytes": high_water, "sampled_bytes": sampled}
