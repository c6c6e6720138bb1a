#!/usr/bin/env python3
"""Measure patches that are drawn from volumes. Prints one JSON object.

Usage: patch_samples.py rate   [--storage gzip|plain|npy] [--side 320] [--samples 600] [--threads 2] [--epochs 3]
       patch_samples.py copies [--storage plain] [--from memory|mapping|pread] [--ring 8] ...
       patch_samples.py starts ...

rate   rows_per_s, cold_rows_per_s   patches of 64^3 of two uint8 arrays, batches of 4: the epochs after the first, and
                                     the first one; report: what the threads did in all of them
copies rows_per_s                    the same boxes, copied by as many plain C++ threads (copy_boxes.cpp)
starts places                        for each patch of each epoch: the number of its volume, and its first voxel
                                     along each axis; patches_an_epoch

The files are of three storages with the same voxels: HDF5 in chunks of 64^3 with gzip-4 (gzip) or without a filter
(plain), and .npy (npy), which has the first array alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import common
import h5py
import numpy as np

VOLUMES = 3
PATCH = 64
ARRAYS = ("raw", "labels")
SEED = 7
COARSE = 16  # voxels from one number of a smooth field to the next


def smooth(random: np.random.Generator, side: int) -> np.ndarray:
    """Return a field of standard normal numbers every few voxels, with straight lines between them."""
    field = random.standard_normal((-(-side // COARSE) + 1,) * 3, dtype=np.float32)
    place = np.arange(side, dtype=np.float32) / COARSE
    first, share = place.astype(np.int64), place % 1
    for axis in range(3):
        along = [1, 1, 1]
        along[axis] = side
        weight = share.reshape(along)
        field = (1 - weight) * field.take(first, axis) + weight * field.take(first + 1, axis)
    return field


def raw_voxels(random: np.random.Generator, side: int) -> np.ndarray:
    """Return what looks like electron microscopy to a compressor: structure, and noise that is a little blurred."""
    noise = random.standard_normal((side,) * 3, dtype=np.float32)
    for axis in range(3):
        noise += np.roll(noise, 1, axis)
    voxels = 128 + 20 * smooth(random, side) + 2 * noise
    return np.clip(voxels, 0, 255).astype(np.uint8)


def label_voxels(random: np.random.Generator, side: int) -> np.ndarray:
    """Return numbers of blobs of about 40 voxels: a bent grid."""
    blob, cells = 40, side // 40 + 3
    numbers = random.integers(1, 256, (cells,) * 3, dtype=np.uint8)
    place = np.indices((side,) * 3, dtype=np.float32)
    inside = [np.clip((place[a] + 20 + 8 * smooth(random, side)) // blob, 0, cells - 1).astype(int) for a in range(3)]
    return numbers[tuple(inside)]


def path_of(storage: str, side: int, number: int) -> Path:
    return common.data_dir() / f"volume_{side}_{number}{'.npy' if storage == 'npy' else f'_{storage}.h5'}"


def write(side: int, number: int) -> None:
    """Write a volume in every storage."""
    random = np.random.default_rng(number)
    voxels = {"raw": raw_voxels(random, side), "labels": label_voxels(random, side)}
    for storage, options in (("gzip", {"compression": "gzip", "compression_opts": 4}), ("plain", {})):
        path = path_of(storage, side, number)
        with h5py.File(path.with_suffix(".part"), "w") as file:
            for name, array in voxels.items():
                file.create_dataset(name, data=array, chunks=(PATCH,) * 3, **options)
        path.with_suffix(".part").rename(path)
    path = path_of("npy", side, number)
    with path.with_suffix(".part").open("wb") as out:
        np.save(out, voxels["raw"])
    path.with_suffix(".part").rename(path)


def make(storage: str, side: int) -> list[str]:
    """Return the files of a storage, made once and left in the page cache."""
    paths = [path_of(storage, side, number) for number in range(VOLUMES)]
    for number, path in enumerate(paths):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write(side, number)
        path.read_bytes()
    return [str(path) for path in paths]


def arrays_of(storage: str) -> tuple[str, ...]:
    return ARRAYS[:1] if storage == "npy" else ARRAYS


def loader_of(args: argparse.Namespace, **more: Any) -> Any:
    import headrace as hr

    files = make(args.storage, args.side)
    volumes = hr.open_volume(files, None if args.storage == "npy" else list(ARRAYS))
    patches = volumes.patches((PATCH,) * 3, samples_per_epoch=args.samples)
    settings: dict[str, Any] = {"shuffle": True, "seed": SEED, "threads": args.threads, "memory": args.memory}
    return hr.Loader(patches, args.batch_size, **settings, **more)


def rate(args: argparse.Namespace) -> dict[str, Any]:
    seconds = []
    with loader_of(args) as loader:
        for _ in range(args.epochs):
            began = time.perf_counter()
            count = sum(len(next(iter(batch.values()))) for batch in loader)
            seconds.append(time.perf_counter() - began)
            if count != args.samples:
                raise SystemExit(f"{count} patches were delivered of {args.samples}")
        report = loader.report().to_dict()
    steady = statistics.mean(seconds[1:] or seconds)
    return {
        "rows_per_s": args.samples / steady,
        "cold_rows_per_s": args.samples / seconds[0],
        "seconds": steady,
        "report": report,
    }


def starts(args: argparse.Namespace) -> dict[str, Any]:
    places: list[list[int]] = []
    with loader_of(args, provenance=True) as loader:
        for _ in range(args.epochs):
            for batch in loader:
                places += np.column_stack([batch["_volume"], batch["_start"]]).tolist()
    return {"places": places, "patches_an_epoch": args.samples}


def drawn_starts(args: argparse.Namespace) -> np.ndarray:
    """Return what Headrace draws, (patches, 4), asked of a process of its own; the same for all storages."""
    options = ["--storage", "plain", "--side", str(args.side), "--samples", str(args.samples)]
    options += ["--batch-size", str(args.batch_size), "--epochs", str(args.epochs)]
    told = common.run_json([sys.executable, str(common.BENCH / "patch_samples.py"), "starts", *options])
    return np.array(told["places"], np.int64)


def copies(args: argparse.Namespace) -> dict[str, Any]:
    files = make(args.storage, args.side)
    with tempfile.TemporaryDirectory() as folder:
        places = Path(folder) / "starts"
        drawn_starts(args).tofile(places)
        options = ["--starts", str(places), "--arrays", ",".join(ARRAYS), "--from", args.source]
        options += ["--threads", str(args.threads), "--batch-size", str(args.batch_size), "--ring", str(args.ring)]
        return common.run_json([str(common.program("bench_copy_boxes")), *files, *options])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what says which patches are drawn of which files."""
    parser.add_argument("--storage", choices=("gzip", "plain", "npy"), default="gzip")
    for name, number in (("side", 320), ("samples", 600), ("batch-size", 4), ("threads", 2), ("epochs", 3)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--memory", default="1GiB", help="of the Loader")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("rate", "copies", "starts"))
    add_options(parser)
    parser.add_argument("--from", dest="source", choices=("memory", "mapping", "pread"), default="memory")
    parser.add_argument("--ring", type=int, default=8, help="batch buffers that copies go round in")
    args = parser.parse_args()
    print(json.dumps({"rate": rate, "copies": copies, "starts": starts}[args.what](args)))


if __name__ == "__main__":
    main()
