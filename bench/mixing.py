#!/usr/bin/env python3
"""How well the default shuffle mixes: Deff by the plan and of delivered batches. Prints one JSON object.

Usage: mixing.py [--seeds 40] [--table] [LAYOUT…]

deff_blocks, deff_files   of labels that are constant in a block, in a file: by the plan (report().mixing), the mean
                          over seeds with its standard error
delivered_files, delivered_place, delivered_label
                          of batches that were delivered, by their rows (provenance=True): of a label that is constant
                          in a file, of one that rises with the place, and of the layout's own groups; the mean over
                          seeds. None where an epoch is too long to be delivered
amplification             read amplification of that epoch
agrees                    whether the plan's figure of an epoch equals that of its delivered batches

Payloads are never written: they read as zeros, and a file of a terabyte takes no space.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

JET_BYTES = 40_712
MOST_DELIVERED_BYTES = 1 << 30


@dataclass(frozen=True)
class Layout:
    open: Callable[[Path], Any]  # makes the files in a folder of its own; returns the data set
    batches: tuple[int, ...]
    reach_files: float = 1.1
    groups: Callable[[np.ndarray], np.ndarray] | None = None  # of rows (file, row): numbers of groups from 0


def rows_in_files(folder: Path, files: int, rows: int, row_bytes: int, chunk: int | None, gzip: bool = True) -> Any:
    """HDF5 files of one array, `row_bytes` a row; `chunk` None: contiguous."""
    import headrace as hr

    for number in range(files):
        with h5py.File(folder / f"part_{number:04d}.h5", "w") as file:
            storage: dict[str, Any] = {"chunks": (min(chunk, rows), row_bytes)} if chunk else {}
            if chunk and gzip:
                storage["compression"] = "gzip"
            file.create_dataset("x", (rows, row_bytes), np.uint8, **storage)
            if not chunk:
                file["x"][:] = 0
    return hr.open(str(folder / "part_*.h5"))


def mel(folder: Path, recordings: int, split: bool) -> Any:
    """Recordings of 237 spectra of 128 bytes, one after the other in one file."""
    import headrace as hr

    rows = recordings * 237
    with h5py.File(folder / "mel.h5", "w") as file:
        file.create_dataset("mel", (rows, 32), np.float32, chunks=(237, 32), compression="gzip")
        file["recording"] = np.repeat(np.arange(recordings), 237)
    data = hr.open(str(folder / "mel.h5"), fields=["mel"])
    if not split:
        return data
    return data.split({"train": 0.8, "val": 0.2}, by="run", seed=0)["train"]


def tokens(folder: Path, count: int, length: int, gzip: bool) -> Any:
    import headrace as hr

    if gzip:
        with h5py.File(folder / "tokens.h5", "w") as file:
            file.create_dataset("tokens", (count,), np.uint16, chunks=(1 << 16,), compression="gzip")
        return hr.open(str(folder / "tokens.h5")).windows(length)
    with (folder / "tokens.bin").open("wb") as raw:
        raw.truncate(2 * count)
    return hr.open_tokens(str(folder / "tokens.bin"), dtype="u2").windows(length)


def events(folder: Path, files: int, rows: int) -> Any:
    """Parquet files of pulses, 165 an event, sorted by event, in row groups of 2^16 rows and pages of 2^13."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    import headrace as hr

    each, first = rows // files, 0
    for number in range(files):
        ids = first + np.arange(each) // 165
        first = int(ids[-1]) + 1
        table = pa.table({"event_id": ids, "time": np.zeros(each, np.float32), "charge": np.zeros(each, np.float32)})
        path = folder / f"batch_{number:03d}.parquet"
        pq.write_table(table, path, row_group_size=1 << 16, data_page_size=1 << 15, use_dictionary=False)
    return hr.open(str(folder / "*.parquet"), fields=["time", "charge"], sample_by="event_id")


def patches(folder: Path, side: int, patch: int) -> Any:
    import zarr

    import headrace as hr

    zarr.create_array(str(folder / "raw.zarr"), shape=(side,) * 3, chunks=(64,) * 3, dtype="u1", fill_value=0)
    return hr.open_volume(str(folder / "raw.zarr")).patches((patch,) * 3, stride=(patch,) * 3)


LAYOUTS: dict[str, Layout] = {
    "two files": Layout(partial(rows_in_files, files=2, rows=1000, row_bytes=256, chunk=None), (64, 512), 1.05),
    "one sorted file": Layout(partial(rows_in_files, files=1, rows=2048, row_bytes=256, chunk=None), (64, 512), 1.05),
    "jets, 10 x 500, chunks of 128": Layout(
        partial(rows_in_files, files=10, rows=500, row_bytes=JET_BYTES, chunk=128), (256, 512)
    ),
    "jets, 10 x 500, chunks of 8192": Layout(
        partial(rows_in_files, files=10, rows=500, row_bytes=JET_BYTES, chunk=8192), (256, 512)
    ),
    "jets, 10 x 100,000, chunks of 128": Layout(
        partial(rows_in_files, files=10, rows=100_000, row_bytes=JET_BYTES, chunk=128), (64, 256, 512)
    ),
    "jets, 10 x 100,000, chunks of 8192": Layout(
        partial(rows_in_files, files=10, rows=100_000, row_bytes=JET_BYTES, chunk=8192), (256, 512)
    ),
    "jets, 100 x 100,000, chunks of 128": Layout(
        partial(rows_in_files, files=100, rows=100_000, row_bytes=JET_BYTES, chunk=128), (256, 512)
    ),
    "mel, 1500 recordings": Layout(
        partial(mel, recordings=1500, split=False), (5632,), groups=lambda r: r[:, 1] // 237
    ),
    "mel, 1500 recordings, split": Layout(partial(mel, recordings=1500, split=True), (5632,)),
    "windows of 256, 25 M tokens": Layout(partial(tokens, count=25_000_000, length=256, gzip=False), (512,)),
    "windows of 1024, 25 M tokens": Layout(partial(tokens, count=25_000_000, length=1024, gzip=False), (512,)),
    "windows of 256, 25 M tokens, gzip": Layout(partial(tokens, count=25_000_000, length=256, gzip=True), (512,)),
    "windows of 256, 10^9 tokens": Layout(partial(tokens, count=10**9, length=256, gzip=False), (512, 5632)),
    "windows of 1024, 10^9 tokens": Layout(partial(tokens, count=10**9, length=1024, gzip=False), (512,)),
    "windows of 1024, 10^9 tokens, gzip": Layout(partial(tokens, count=10**9, length=1024, gzip=True), (512,)),
    "windows of 1024, 5 x 10^10 tokens": Layout(
        partial(tokens, count=5 * 10**10, length=1024, gzip=False), (512, 5632)
    ),
    "events, 8 files": Layout(partial(events, files=8, rows=16_000_000), (512,)),
    "events, 660 files": Layout(partial(events, files=660, rows=66_000_000), (512,)),
    "patches on a grid": Layout(partial(patches, side=1024, patch=32), (4, 16), 1.3),
}


def effect_of_groups(groups: Iterator[np.ndarray], weights: np.ndarray) -> float:
    """Deff of a label that is constant in a group; `groups` of each batch's samples."""
    spread = [len(g) * float(((np.bincount(g, minlength=len(weights)) / len(g) - weights) ** 2).sum()) for g in groups]
    return float(np.mean(spread)) / max(1 - float((weights**2).sum()), 1e-12)


def rows_of(batch: Any) -> np.ndarray:
    """(file, place in it) of each sample: the row, or the number of a patch's first voxel."""
    if "_start" not in batch:
        return np.array(batch["_rows"])
    start = np.asarray(batch["_start"], np.int64)
    return np.stack([np.zeros(len(start), np.int64), (start[:, 0] << 40) + (start[:, 1] << 20) + start[:, 2]], axis=1)


def delivered(data: Any, batch: int, seed: int, layout: Layout) -> dict[str, float]:
    import headrace as hr

    with hr.Loader(data, batch, shuffle=True, seed=seed, provenance=True, drop_last=True) as loader:
        rows = [rows_of(b) for b in loader]
        report = loader.report()
    planned = report.mixing
    every = np.concatenate(rows)
    most = int(every[:, 1].max()) + 1
    places = np.sort(every[:, 0] * most + every[:, 1])
    files = np.bincount(every[:, 0])
    out = {"delivered_files": effect_of_groups((r[:, 0] for r in rows), files / files.sum()) if len(files) > 1 else 1.0}
    place = [np.searchsorted(places, r[:, 0] * most + r[:, 1]) / len(places) - 0.5 for r in rows]
    out["delivered_place"] = float(np.mean([len(p) * p.mean() ** 2 for p in place])) * 12
    if layout.groups:
        sizes = np.bincount(layout.groups(every))
        out["delivered_label"] = effect_of_groups((layout.groups(r) for r in rows), sizes / sizes.sum())
    out["amplification"] = report.read_amplification
    whole = len(data) % batch == 0  # else the weights of a dropped tail differ
    if whole and planned.deff_files != 1.0:
        out["agrees"] = abs(planned.deff_files - out["delivered_files"]) < 1e-6
    return out


def measure(name: str, batch: int, data: Any, seeds: int) -> dict[str, Any]:
    import headrace as hr

    layout, planned, seen = LAYOUTS[name], [], []
    small = len(data) * data.sample_bytes <= MOST_DELIVERED_BYTES
    for seed in range(seeds):
        with hr.Loader(data, batch, shuffle=True, seed=seed) as loader:
            report = loader.report()
            planned.append((report.mixing.deff_blocks, report.mixing.deff_files))
            explained = loader.explain().splitlines()
            order = next(line.split(None, 1)[1] for line in explained if line.startswith("order"))
            mixed, bound = report.mixing.mixed_bytes, [n for n in report.notices if "no order that holds" in n]
        if planned[-1][0] == 1.0 and planned[-1][1] == 1.0 and not small:
            break
    if small:
        seen = [delivered(data, batch, seed, layout) for seed in range(seeds)]
    blocks, files = np.array(planned).T
    result: dict[str, Any] = {"layout": name, "batch": batch, "order": order, "mixed_mib": mixed >> 20, "seeds": seeds}
    for key, values in {"deff_blocks": blocks, "deff_files": files}.items():
        result[key] = float(values.mean())
        result[f"{key}_error"] = float(values.std() / math.sqrt(len(values)))
    for key in ("delivered_files", "delivered_place", "delivered_label", "agrees", "amplification"):
        found = [float(s[key]) for s in seen if key in s]
        result[key] = float(np.mean(found)) if found else None
    result["notice"] = bound[0] if bound else ""
    result["met"] = max(result["deff_files"], result["delivered_files"] or 0) <= layout.reach_files
    return result


def table(results: list[dict[str, Any]]) -> str:
    def text(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    lines = ["| layout | batch | order | MiB mixed | Deff, blocks | Deff, files | delivered: files | place | groups |"]
    lines.append("| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for r in results:
        order = r["order"].split(",")[0].split(":")[0]
        cells = [r["layout"], str(r["batch"]), order, str(r["mixed_mib"])]
        keys = ("deff_blocks", "deff_files", "delivered_files", "delivered_place", "delivered_label")
        cells += [text(r[key]) for key in keys]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layouts", nargs="*", metavar="LAYOUT", help="; ".join(LAYOUTS))
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--table", action="store_true", help="a table in Markdown, and no JSON")
    args = parser.parse_args()
    results = []
    for name in args.layouts or LAYOUTS:
        with tempfile.TemporaryDirectory(prefix="headrace-mixing-") as folder:
            data = LAYOUTS[name].open(Path(folder))
            results += [measure(name, batch, data, args.seeds) for batch in LAYOUTS[name].batches]
            data.close()
    print(table(results) if args.table else json.dumps({"layouts": results}))


if __name__ == "__main__":
    main()
