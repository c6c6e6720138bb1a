"""HDF5 files of rows of any size, in any number of files: for measures of memory, where contents do not matter.

One field, "y": float64 of shape (rows,) or (rows, row_bytes / 8); chunks of about 128 KiB, gzip-1 with shuffle. Made
once in bench_data/sized, at most 256 MiB decoded.
"""

from __future__ import annotations

from pathlib import Path

import common
import h5py
import numpy as np

MOST_BYTES = 256 << 20
CHUNK_BYTES = 128 << 10


def make(row_bytes: int, num_files: int) -> list[str]:
    """Return the paths; fewer files than asked for where each could not have a row within MOST_BYTES."""
    width = max(row_bytes // 8, 1)
    num_files = max(min(num_files, MOST_BYTES // (8 * width)), 1)
    rows = MOST_BYTES // (8 * width) // num_files
    folder: Path = common.data_dir() / "sized" / f"{8 * width}_bytes_{num_files}_files"
    paths = [folder / f"part_{number:04}.h5" for number in range(num_files)]
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        values = np.arange(rows * width, dtype=np.float64).reshape((rows,) if width == 1 else (rows, width))
        chunk_rows = min(max(CHUNK_BYTES // (8 * width), 1), rows)
        for path in paths:
            with h5py.File(path, "w", libver=("earliest", "v110")) as file:
                file.create_dataset(
                    "y", data=values, chunks=(chunk_rows, *values.shape[1:]), compression=1, shuffle=True
                )
        (folder / "complete").touch()
    return [str(path) for path in paths]
