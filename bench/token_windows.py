#!/usr/bin/env python3
"""Measure windows of a token file. Prints one JSON object.

Usage: token_windows.py rate [--tokens 200000000] [--length 1024] [--batch-size 512] [--threads 1] [--epochs 3]
       token_windows.py many [--windows 1000000000]
       token_windows.py first [--windows 10000000]

rate   tokens_per_s, rows_per_s    windows of uint16 from a .npy file in the page cache, shuffled, the epochs after the
                                   first; first_tokens_per_s: the first one
       int64_tokens_per_s          the same through map(Cast), int64 as what nanoGPT's loop ends with
many   open_ms, resume_ms, above_mib
                                   a file of holes with so many windows, one at each place: windows() of the open data
                                   set; a Loader and load_state_dict(); the memory that both have taken
first  first_ms, resume_ms         a raw file of holes with so many windows of 1,024: open_tokens(), windows(), Loader,
                                   and its first shuffled batch of 512; load_state_dict() of another Loader
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
from headrace_epochs import resident_bytes

TOKENS = 200_000_000


def make(tokens: int) -> Path:
    """A .npy file of random tokens, made once and left in the page cache."""
    path = common.data_dir() / f"tokens_{tokens}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        random = np.random.default_rng(0)
        array = np.lib.format.open_memmap(path.with_suffix(".part"), mode="w+", dtype=np.uint16, shape=(tokens,))
        for first in range(0, tokens, 1 << 24):
            part = array[first : first + (1 << 24)]
            part[:] = random.integers(0, 50_000, len(part))
        array.flush()
        path.with_suffix(".part").rename(path)
    np.load(path, mmap_mode="r").sum(dtype=np.uint64)
    return path


def rate(args: argparse.Namespace) -> dict[str, Any]:
    import torch

    import headrace as hr

    torch.set_num_threads(1)
    path = make(args.tokens)
    windows = hr.open(path).windows(args.length, lookahead=1)
    (field,) = windows.fields

    def epochs(data: hr.Dataset) -> list[float]:
        seconds = []
        with hr.Loader(data, args.batch_size, shuffle=True, seed=7, threads=args.threads, framework="torch") as loader:
            for _ in range(args.epochs):
                started = time.perf_counter()
                rows = sum(len(batch[field]) for batch in loader)
                seconds.append(time.perf_counter() - started)
                if rows != len(data):
                    raise SystemExit(f"{rows} windows were delivered of {len(data)}")
        return seconds

    def later(seconds: list[float]) -> float:
        """An epoch after the first, on average."""
        return statistics.mean(seconds[1:] or seconds)

    seconds = epochs(windows)
    tokens = len(windows) * args.length
    steady = later(seconds)
    as_int64 = later(epochs(windows.map(hr.transforms.Cast(field, dtype="int64"))))
    return {
        "rows_per_s": len(windows) / steady,
        "tokens_per_s": tokens / steady,
        "first_tokens_per_s": tokens / seconds[0],
        "int64_tokens_per_s": tokens / as_int64,
        "int64_rows_per_s": len(windows) / as_int64,
        "seconds": steady,
    }


def many(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    path = common.data_dir() / "token_holes.npy"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.lib.format.open_memmap(path, mode="w+", dtype=np.uint16, shape=(args.windows + 1024,)).flush()
    tokens = hr.open(path)
    gc.collect()
    memory = resident_bytes("RssAnon")
    started = time.perf_counter()
    windows = tokens.windows(1024, stride=1, lookahead=1)
    opened = time.perf_counter()
    if len(windows) != args.windows:
        raise SystemExit(f"{len(windows)} windows, not {args.windows}")
    settings: dict[str, Any] = {"batch_size": 512, "shuffle": True, "memory": "256MiB", "threads": 1}
    with hr.Loader(windows, **settings) as loader:
        state = {**loader.state_dict(), "samples": args.windows // 2 // 512 * 512}
    started_resuming = time.perf_counter()
    with hr.Loader(windows, **settings) as loader:
        loader.load_state_dict(state)
        resumed = time.perf_counter()
    gc.collect()
    above = resident_bytes("RssAnon") - memory
    path.unlink()
    return {
        "open_ms": 1e3 * (opened - started),
        "resume_ms": 1e3 * (resumed - started_resuming),
        "above_mib": above / 2**20,
    }


def first(args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    path = common.data_dir() / "token_holes.bin"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(2 * 1024 * args.windows)
    settings: dict[str, Any] = {"batch_size": 512, "shuffle": True, "threads": args.threads}
    started = time.perf_counter()
    windows = hr.open_tokens(path, vocab_size=50_257).windows(1024)
    with hr.Loader(windows, **settings) as loader:
        next(iter(loader))
        done = time.perf_counter()
        state = loader.state_dict()
    with hr.Loader(windows, **settings) as loader:
        resuming = time.perf_counter()
        loader.load_state_dict(state)
        resumed = time.perf_counter()
    path.unlink()
    return {"first_ms": 1e3 * (done - started), "resume_ms": 1e3 * (resumed - resuming), "windows": len(windows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rate", "many", "first"))
    for name, number in (("tokens", TOKENS), ("length", 1024), ("batch-size", 512), ("threads", 1), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--windows", type=int, help="default: 1,000,000,000 of many, 10,000,000 of first")
    args = parser.parse_args()
    args.windows = args.windows or {"first": 10_000_000}.get(args.what, 1_000_000_000)
    print(json.dumps({"rate": rate, "many": many, "first": first}[args.what](args)))


if __name__ == "__main__":
    main()
