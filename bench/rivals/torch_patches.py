#!/usr/bin/env python3
"""torch DataLoader over slices of volumes, a slice a patch. Prints one JSON object.

Usage: torch_patches.py [--storage gzip|plain|npy] [--batch-size 4] [--workers 0] [--seconds 5] ...

HDF5 files are sliced by h5py, `dataset[z : z + 64, y : y + 64, x : x + 64]`, with its chunk cache as it comes; .npy
files by NumPy, of a memory mapping. Patches are those that Headrace draws, in its order. Files are opened once per
worker and kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import patch_samples

Patch = dict[str, torch.Tensor]


class Patches(Dataset[Patch]):
    def __init__(self, storage: str, files: list[str], places: np.ndarray) -> None:
        self.storage = storage
        self.files = files
        self.places = places.tolist()
        self.opened: dict[int, dict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self.places)

    def arrays(self, volume: int) -> dict[str, Any]:
        """Return the arrays of a volume, opened at first use in this process."""
        if volume not in self.opened:
            names, path = patch_samples.arrays_of(self.storage), self.files[volume]
            of_file = {names[0]: np.load(path, mmap_mode="c")} if self.storage == "npy" else h5py.File(path)
            self.opened[volume] = {name: of_file[name] for name in names}
        return self.opened[volume]

    def __getitem__(self, item: int) -> Patch:
        volume, z, y, x = self.places[item]
        n = patch_samples.PATCH
        boxes = {name: array[z : z + n, y : y + n, x : x + n] for name, array in self.arrays(volume).items()}
        return {name: torch.from_numpy(box) for name, box in boxes.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    patch_samples.add_options(parser)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="stop after so long, or after the drawn epochs")
    args = parser.parse_args()
    files = patch_samples.make(args.storage, args.side)
    torch.set_num_threads(1)
    data = Patches(args.storage, files, patch_samples.drawn_starts(args))
    loader = DataLoader(data, args.batch_size, num_workers=args.workers, persistent_workers=args.workers > 0)
    patches, started, seconds = 0, None, 0.0
    for batch in loader:
        now = time.perf_counter()
        if started is None:  # workers have started and files are open: neither is counted
            started = now
            continue
        patches, seconds = patches + len(batch["raw"]), now - started
        if seconds > args.seconds:
            break
    print(json.dumps({"rows_per_s": patches / seconds, "seconds": seconds, "workers": args.workers}))


if __name__ == "__main__":
    main()
