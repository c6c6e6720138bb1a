#!/usr/bin/env python3
"""Makes the benchmark's files once: 65,536 JetClass-like jets in seven storages, and a file of a million chunks.

Usage: workload.py [VARIANT…]      files go to $HEADRACE_BENCH_DATA or ./bench_data
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import common

JETS = 65_536
MILLION = 1_000_000

#: Variant: options of the jet writer. 128 rows a chunk and four files unless it says otherwise.
VARIANTS: dict[str, list[str]] = {
    "gzip": ["--storage", "gzip-4"],
    "gzip_shuffle": ["--storage", "gzip-4+shuffle"],
    "lzf": ["--storage", "lzf"],
    "blosc_zstd": ["--storage", "blosc-zstd"],
    "gzip_1024_rows": ["--storage", "gzip-4", "--files", "1", "--chunk-rows", "1024"],
    "uncompressed": ["--storage", "none"],
    "contiguous": ["--storage", "contiguous"],
}


def make(variant: str) -> list[str]:
    """The files of a variant, in order; written now if they are not there."""
    if variant == "million_chunks":
        return [str(make_million_chunks())]
    out = common.data_dir() / variant
    command = [str(common.program("write_demo_jets")), "--out", str(out), "--jets", str(JETS), *VARIANTS[variant]]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return sorted(str(path) for path in out.glob("train_*.h5"))


def make_million_chunks() -> Path:
    """One dataset of 10^6 gzip chunks of 16 floats, as somebody's `chunks=True` on short rows ends."""
    import h5py
    import numpy as np

    path = common.data_dir() / "million_chunks.h5"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with h5py.File(partial, "w") as file:
        shape = (MILLION * 4, 4)
        data = file.create_dataset("values", shape, "f4", chunks=(4, 4), compression="gzip", compression_opts=1)
        step = 100_000
        for start in range(0, shape[0], step):
            data[start : start + step] = np.arange(start * 4, (start + step) * 4, dtype="f4").reshape(step, 4)
    partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*VARIANTS, "million_chunks"]
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=", ".join(names))
    chosen = parser.parse_args().variants or names
    for unknown in set(chosen) - set(names):
        parser.error(f"no variant is called {unknown!r}; there are {', '.join(names)}")
    for variant in chosen:
        files = make(variant)
        stored = sum(Path(name).stat().st_size for name in files)
        print(f"{variant}: {len(files)} files, {stored / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
