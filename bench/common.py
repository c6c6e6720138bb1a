"""What all benchmark scripts share: places, the build, subprocesses that print JSON, the machine's card."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

import provenance

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
RESULTS = BENCH / "results" / "first_light.json"
EPOCH_RESULTS = BENCH / "results" / "epochs.json"
MEMORY_RESULTS = BENCH / "results" / "memory.json"
TOKEN_RESULTS = BENCH / "results" / "tokens.json"
MIXING_RESULTS = BENCH / "results" / "mixing.json"
EVENT_RESULTS = BENCH / "results" / "events.json"
PATCH_RESULTS = BENCH / "results" / "patches.json"
ZARR_RESULTS = BENCH / "results" / "zarr.json"
TRAINER_RESULTS = BENCH / "results" / "trainers.json"
DEVICE_RESULTS = BENCH / "results" / "device.json"
LATE_RESULTS = BENCH / "results" / "late.json"
PARQUET_RESULTS = BENCH / "results" / "parquet.json"
TABLE = ROOT / "docs" / "benchmarks.md"
PACKAGES = ("headrace", "numpy", "h5py", "hdf5plugin", "torch", "pyarrow", "polars", "duckdb", "pandas")


def data_dir() -> Path:
    """Where the workload's files lie: $HEADRACE_BENCH_DATA, or bench_data in the repository (about 9 GB in all)."""
    return Path(os.environ.get("HEADRACE_BENCH_DATA") or ROOT / "bench_data")


def build_dir() -> Path:
    """Where the C++ programs are built: $HEADRACE_BENCH_BUILD, build/release after make bench, or build/bench."""
    cache = ROOT / "build" / "release" / "CMakeCache.txt"
    made = cache.exists() and "HEADRACE_BUILD_BENCH:BOOL=ON" in cache.read_text()
    return Path(os.environ.get("HEADRACE_BENCH_BUILD") or (cache.parent if made else ROOT / "build" / "bench"))


@functools.lru_cache
def program(name: str) -> Path:
    """A C++ program of the benchmarks, built in Release where it is not up to date."""
    build = build_dir()
    if not (build / "CMakeCache.txt").exists():
        switches = ["-DCMAKE_BUILD_TYPE=Release", "-DHEADRACE_BUILD_BENCH=ON", "-DHEADRACE_BUILD_TESTS=OFF"]
        switches += ["-DHEADRACE_BUILD_SHARED=OFF", "-DHEADRACE_BUILD_CLI=ON"]
        quietly(["cmake", "-S", str(ROOT), "-B", str(build), *switches])
    places = [build / folder / name for folder in ("bench", "cli/demo")]
    if not any(place.exists() for place in places):
        quietly(["cmake", str(build)])  # which may have been configured before there was such a program
    quietly(["cmake", "--build", str(build), "--target", name, "-j", str(os.cpu_count() or 1)])
    for place in places:
        if place.exists():
            return place
    raise FileNotFoundError(f"{name} was built, but is not where it should be")


def quietly(command: list[str]) -> None:
    """Runs a command; its output is shown only when it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        raise SystemExit(f"{Path(command[0]).name} failed with status {done.returncode}")


def run_json(command: list[str], env: dict[str, str] | None = None, timeout: float = 600.0) -> dict[str, Any]:
    """The JSON object on the last line that a command prints. `env` adds to the environment."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=timeout, env={**os.environ, **(env or {})}
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[-1]).name}: status {done.returncode}: {done.stderr.strip()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def make_memory_present(size_bytes: int) -> bool:
    """Touch so much memory, and free it again, until that goes quickly; returns whether it does.

    Hosts of virtual machines take free memory back and give it anew at 1 GB/s, which is neither Headrace's doing nor
    that of whom it is compared with.
    """
    import mmap

    import numpy as np

    for _ in range(20):
        started = time.perf_counter()
        with mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory.madvise(mmap.MADV_HUGEPAGE)
            np.ndarray((size_bytes // mmap.PAGESIZE,), np.uint8, memory, strides=(mmap.PAGESIZE,))[:] = 1
        if time.perf_counter() - started < size_bytes / 6e9:
            return True
    return False


LOCK_HELD = "HEADRACE_TIMING_LOCK_HELD"


@contextlib.contextmanager
def quiet_machine() -> Iterator[None]:
    """One timed run at a time on this machine, for all who take the same lock; what a holder starts runs under it."""
    if os.environ.get(LOCK_HELD):
        yield
        return
    path = Path(tempfile.gettempdir()) / "headrace_timing.lock"
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.environ[LOCK_HELD] = "1"
        try:
            yield
        finally:
            del os.environ[LOCK_HELD]
            fcntl.flock(lock, fcntl.LOCK_UN)


def first_value(path: str, key: str) -> str:
    """The value after `key : ` in a file of /proc, or an empty string."""
    with contextlib.suppress(OSError):
        for line in Path(path).read_text().splitlines():
            if line.split(":")[0].strip() == key:
                return line.split(":", 1)[1].strip()
    return ""


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "absent"


def pkg_config(module: str) -> str:
    with contextlib.suppress(OSError):
        done = subprocess.run(["pkg-config", "--modversion", module], capture_output=True, text=True, check=False)
        return done.stdout.strip() or "unknown"
    return "unknown"


def machine_card() -> dict[str, Any]:
    """What a reader needs to judge the figures; nothing that names the machine."""
    import h5py

    flags = first_value("/proc/cpuinfo", "flags").split()
    memory_kib = int(first_value("/proc/meminfo", "MemTotal").split()[0])
    return {
        "cpu": first_value("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "simd": [flag for flag in ("avx2", "avx512f") if flag in flags],
        "virtual": "hypervisor" in flags,
        "memory_gib": round(memory_kib / 2**20, 1),
        "kernel": platform.release().split("-")[0],
        "load_before": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": {
            **{name: version_of(name) for name in PACKAGES},
            "hdf5 of h5py": h5py.version.hdf5_version,
            **{name: pkg_config(name) for name in ("libdeflate", "libzstd", "zlib")},
        },
    }


def version_and_date() -> dict[str, str]:
    """The version in the working tree, and today: what each figure, or each file of results, carries."""
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    return dataclasses.asdict(provenance.version(ROOT)) | {"measured_at": date}


def keep_card(results: dict[str, Any], card: dict[str, Any]) -> str:
    """Keep a machine's card among the results, once; returns its name there. Its load is no part of it."""
    lasting = {key: value for key, value in card.items() if key != "load_before"}
    name = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:8]
    results.setdefault("machines", {})[name] = lasting
    return name
