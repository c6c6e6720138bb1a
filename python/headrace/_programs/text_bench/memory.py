"""The memory of a process and of all that it started."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")


def tree(pid: int) -> list[int]:
    """Return a process and its descendants, as many as are there."""
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        for thread in _PROC.glob(f"{one}/task/*/children"):
            try:
                waiting += [int(word) for word in thread.read_text(encoding="ascii").split()]
            except OSError:
                continue
    return found


def resident_bytes(pids: list[int]) -> int:
    """Return the memory that processes have together; pages that several share are divided among them."""
    return sum(_bytes_of(pid) for pid in pids)


def _bytes_of(pid: int) -> int:
    for name, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            lines = (_PROC / str(pid) / name).read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            if line.startswith(key):
                return int(line.split()[1]) << 10
    return 0


def available_bytes() -> int:
    """Return the memory of the machine that is free, or would be freed."""
    for line in (_PROC / "meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 1 << 30
