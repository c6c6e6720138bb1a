#!/usr/bin/env python3
"""Makes the benchmark's files once: JetClass-like jets in seven storages, a file of a million chunks, mel segments.

Usage: workload.py [VARIANT…]      files go to $HEADRACE_BENCH_DATA or ./bench_data
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

import common

JETS = 65_536
MILLION = 1_000_000
MEL_FILES, MEL_SEGMENTS, MEL_BANDS = 7_913, 79 * 3, 32  # 1,875,381 samples of 128 bytes

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
    if variant == "mel":
        return [str(make_mel())]
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


def make_mel() -> Path:
    """Mel-spectrogram segments of 7,913 sound files, 79 x 3 of each, one frame of 32 bands a sample: 240 MB decoded.

    As an audio pipeline writes them, one sound file a chunk, gzip-4; flattened to one row a segment, each with the
    label of its sound file. Levels in decibels, to a tenth.
    """
    import h5py
    import numpy as np

    path = common.data_dir() / "mel.h5"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    random = np.random.default_rng(11)
    rows = MEL_FILES * MEL_SEGMENTS
    with h5py.File(partial, "w") as file:
        compressed = {"compression": "gzip", "compression_opts": 4}
        mel = file.create_dataset(
            "segments_mel", (rows, MEL_BANDS), "f4", chunks=(MEL_SEGMENTS, MEL_BANDS), **compressed
        )
        labels = file.create_dataset("labels", (rows,), "i8", chunks=(MEL_SEGMENTS,), **compressed)
        step = 128
        for start in range(0, MEL_FILES, step):
            sounds = min(step, MEL_FILES - start)
            at = slice(start * MEL_SEGMENTS, (start + sounds) * MEL_SEGMENTS)
            slope = np.linspace(-20, -60, MEL_BANDS, dtype="f4")
            loudness = random.normal(0, 8, (sounds, MEL_SEGMENTS, 1))
            levels = slope + loudness + random.normal(0, 3, (sounds, MEL_SEGMENTS, MEL_BANDS))
            mel[at] = np.round(np.maximum(levels, -80), 1).reshape(-1, MEL_BANDS)
            labels[at] = np.repeat(random.integers(0, 10, sounds), MEL_SEGMENTS)
    partial.rename(path)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*VARIANTS, "million_chunks", "mel"]
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
