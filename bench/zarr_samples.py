#!/usr/bin/env python3
"""Measure Zarr stores of volumes like electron microscopy. Prints one JSON object.

Usage: zarr_samples.py whole --storage zstd64|blosc128|shard64 --by headrace|verify|tensorstore|zarr|zarrs
       zarr_samples.py crops --storage ...                     --by headrace|tensorstore|zarr [--workers 0]

whole  rows_per_s   decoded bytes a second of both arrays, in order, median of --epochs: batches of rows of a loader
                    (headrace), decoding alone by as many threads (verify), one read of each whole array (the
                    others; zarrs is zarr-python with its pipeline)
crops  rows_per_s   crops of 128^3 of both arrays a second, in batches of 4, for at least --seconds. headrace: a loader
                    with `memory`; tensorstore: the crops of a batch at once, a cache pool of as many bytes, nothing
                    looked at again on disk; zarr: slices in a torch DataLoader of --workers processes; --in-memory:
                    headrace and tensorstore have decoded all of both arrays before, and `memory` holds them
       report       headrace: what its threads did, and what explain() said would be decoded

Arrays are uint8 of 512 x 1024 x 1024: zstd-1 in chunks of 64^3, Blosc LZ4 with bitshuffle in 128^3, and zstd-1 in 64^3
inside shards of 256^3. They are made once, of one block that is turned, and left in the page cache.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import common
import numpy as np
import patch_samples

ARRAYS = ("raw", "label")
CROP, BATCH, SEED = 128, 4, 7


def store_of(storage: str, side: int) -> Path:
    """Return a store, made once and left in the page cache."""
    import zarr
    from zarr.codecs import BloscCodec, ZstdCodec

    path = common.data_dir() / f"em_{side}_{storage}.zarr"
    if not path.exists():
        random = np.random.default_rng(1)
        blocks = patch_samples.raw_voxels(random, side), patch_samples.label_voxels(random, side)
        kinds: dict[str, dict[str, Any]] = {
            "zstd64": {"chunks": (64,) * 3, "compressors": ZstdCodec(level=1)},
            "blosc128": {"chunks": (128,) * 3, "compressors": BloscCodec(cname="lz4", shuffle="bitshuffle")},
            "shard64": {"chunks": (64,) * 3, "shards": (256,) * 3, "compressors": ZstdCodec(level=1)},
        }
        part = path.with_suffix(".part")
        root = zarr.open_group(part, mode="w")
        for name, block in zip(ARRAYS, blocks, strict=True):
            array = root.create_array(name, shape=(side, 2 * side, 2 * side), dtype="u1", **kinds[storage])
            for y in range(2):
                for x in range(2):
                    array[:, y * side : (y + 1) * side, x * side : (x + 1) * side] = np.rot90(block, 2 * y + x, (1, 2))
        part.rename(path)
    for file in path.rglob("*"):
        if file.is_file():
            file.read_bytes()
    return path


def tensorstores(path: Path, args: argparse.Namespace) -> list[Any]:
    import tensorstore as ts

    context = ts.Context(
        {
            "cache_pool": {"total_bytes_limit": args.memory_mib << 20 if args.what == "crops" else 0},
            "data_copy_concurrency": {"limit": args.threads},
            "file_io_concurrency": {"limit": 2 * args.threads},
        }
    )
    return [
        ts.open(
            {
                "driver": "zarr3",
                "kvstore": {"driver": "file", "path": str(path / name)},
                "recheck_cached_data": False,
                "recheck_cached_metadata": False,
            },
            context=context,
        ).result()
        for name in ARRAYS
    ]


def zarrs_of(path: Path, args: argparse.Namespace) -> list[Any]:
    import zarr

    zarr.config.set({"threading.max_workers": args.threads, "async.concurrency": 4 * args.threads})
    if args.by == "zarrs":
        zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
    return [zarr.open_array(path / name, mode="r") for name in ARRAYS]


def whole(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    bytes_of_all = 2 * args.side * (2 * args.side) ** 2
    seconds = []
    if args.by == "headrace":
        import headrace as hr

        # Few slots, so that the first pass touches all of them: on virtual machines that give free memory back to their
        # host, a page that was never touched costs more than what is decoded into it.
        settings: dict[str, Any] = {"shuffle": False, "threads": args.threads, "cache": "none", "memory": "1GiB"}
        loader = hr.Loader(hr.open(path, fields=list(ARRAYS)), 64, **settings)
    for _ in range(args.epochs):
        began = time.perf_counter()
        if args.by == "headrace":
            read = sum(batch[name].nbytes for batch in loader for name in ARRAYS)
        elif args.by == "verify":
            import headrace as hr

            seconds.append(float(hr.tools.verify(path, threads=args.threads).to_dict()["seconds"]))
            continue
        elif args.by == "tensorstore":
            read = sum(array.read().result().nbytes for array in tensorstores(path, args))
        else:
            read = sum(array[:].nbytes for array in zarrs_of(path, args))
        if read != bytes_of_all:
            raise SystemExit(f"{read} bytes were read of {bytes_of_all}")
        seconds.append(time.perf_counter() - began)
    return {
        "rows_per_s": bytes_of_all / statistics.median(seconds),
        "cold_rows_per_s": bytes_of_all / seconds[0],
        "seconds": statistics.median(seconds),
    }


def crops_by_headrace(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    import headrace as hr

    patches = hr.open_volume(path, list(ARRAYS)).patches((CROP,) * 3, samples_per_epoch=100_000)
    settings: dict[str, Any] = {"seed": SEED, "threads": args.threads, "memory": f"{args.memory_mib}MiB"}
    with hr.Loader(patches, BATCH, cache="ram" if args.in_memory else "auto", **settings) as loader:
        if args.in_memory:
            loader.preload()
        said = re.search(r"about ([0-9.]+)", loader.explain())
        crops, began = 0, 0.0
        for number, batch in enumerate(loader):
            if number == args.warm_up:
                began, crops = time.perf_counter(), 0
            crops += len(batch["raw"])
            if number > args.warm_up and time.perf_counter() - began > args.seconds:
                break
        seconds = time.perf_counter() - began
        report = loader.report().to_dict()
    predicted = float(said[1]) if said else float("nan")
    return {"rows_per_s": crops / seconds, "seconds": seconds, "report": report, "predicted": predicted}


def crops_by_tensorstore(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    arrays = tensorstores(path, args)
    if args.in_memory:
        for array in arrays:
            array[...].read().result()
    random = np.random.default_rng(SEED)
    spare = np.array(arrays[0].shape) - CROP + 1
    crops, began = 0, 0.0
    for number in range(10**9):
        if number == args.warm_up:
            began, crops = time.perf_counter(), 0
        starts = random.integers(0, spare, (BATCH, 3))
        boxes = [tuple(slice(a, a + CROP) for a in start) for start in starts.tolist()]
        waiting = [[array[box].read() for box in boxes] for array in arrays]
        batch = [np.stack([read.result() for read in reads]) for reads in waiting]
        crops += len(batch[0])
        if number > args.warm_up and time.perf_counter() - began > args.seconds:
            break
    seconds = time.perf_counter() - began
    return {"rows_per_s": crops / seconds, "seconds": seconds}


class Slices:
    """A dataset of random slices, as users of zarr-python write it."""

    def __init__(self, path: Path, args: argparse.Namespace) -> None:
        self.path, self.args, self.arrays = path, args, None

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, item: int) -> dict[str, np.ndarray]:
        if self.arrays is None:
            self.arrays = zarrs_of(self.path, self.args)
        start = np.random.default_rng((SEED, item)).integers(0, np.array(self.arrays[0].shape) - CROP + 1)
        box = tuple(slice(int(a), int(a) + CROP) for a in start)
        return {name: array[box] for name, array in zip(ARRAYS, self.arrays, strict=True)}


def crops_by_zarr(path: Path, args: argparse.Namespace) -> dict[str, Any]:
    from torch.utils.data import DataLoader

    loader = DataLoader(Slices(path, args), BATCH, num_workers=args.workers)
    crops, began = 0, 0.0
    for number, batch in enumerate(loader):
        if number == 1:  # workers have started and arrays are open
            began, crops = time.perf_counter(), 0
        crops += len(batch["raw"])
        if number > 1 and time.perf_counter() - began > args.seconds:
            break
    seconds = time.perf_counter() - began
    return {"rows_per_s": crops / seconds, "seconds": seconds, "workers": args.workers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("whole", "crops"))
    parser.add_argument("--storage", choices=("zstd64", "blosc128", "shard64"), default="zstd64")
    parser.add_argument("--by", choices=("headrace", "verify", "tensorstore", "zarr", "zarrs"), default="headrace")
    for name, number in (("side", 512), ("threads", 2), ("epochs", 3), ("workers", 0), ("memory-mib", 256)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--warm-up", type=int, default=40, help="batches before the clock starts")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--in-memory", action="store_true", help="crops of arrays that are decoded already")
    args = parser.parse_args()
    path = store_of(args.storage, args.side)
    crops = {"headrace": crops_by_headrace, "tensorstore": crops_by_tensorstore, "zarr": crops_by_zarr}
    told = whole(path, args) if args.what == "whole" else crops[args.by](path, args)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
