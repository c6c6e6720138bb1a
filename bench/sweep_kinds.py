"""The kinds of samples of the memory sweep: what is drawn by chance for each, and how it becomes a data set.

A kind draws a plain dict, "data", which is all that its function `open` is told in the process that measures. "bytes"
in it is about what a sample takes; the batch size is drawn from that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import sweep_files
import workload

import headrace as hr
from headrace import transforms as T

Drawn = dict[str, Any]
TOKENIZER = common.ROOT / "tests" / "data" / "small_bpe" / "tokenizer.json"
VOXEL_SIZE = 8  # of the crop, in its grey values and its labels


@dataclass(frozen=True)
class Kind:
    """What there is to draw from; `caches` and `shuffles` are those that samples of this kind may have."""

    draw: Callable[[random.Random], Drawn]
    open: Callable[[Path, Drawn], Any]
    shuffles: tuple[str, ...] = ("none", "block", "exact")
    caches: tuple[str, ...] = ("none", "auto", "auto", "ram", "directory")


def row_files(folder: Path, one: Drawn) -> Any:
    which = one["format"]
    return hr.open(folder / {"npy": "npy_*/x.npy", "large": "large.h5"}.get(which, f"rows_*.{which}"))


def draw_rows(chance: random.Random) -> Drawn:
    which = chance.choice(("h5", "npy", "parquet", "zarr", "large"))
    verbs = ["", "", "transforms", "function", "select"]
    if which in ("h5", "zarr"):
        verbs += ["Weighted", "Balanced"]
    return {"format": which, "verb": chance.choice(verbs), "bytes": 136 if which == "parquet" else 1032}


def changed(columns: dict[str, Any]) -> dict[str, Any]:
    """A function of a user's; in place, since what it makes anew is the user's memory and in no budget."""
    for values in columns.values():
        values += 1
    return columns


def open_rows(folder: Path, one: Drawn) -> Any:
    data = row_files(folder, one)
    if one["verb"] == "select":
        return data.select(slice(0, None, 3))
    if one["verb"] == "function":
        return data.map(changed)
    if one["verb"] == "transforms":
        name = next(iter(data.fields))
        return data.map(T.Affine(name, scale=2.0), T.Cast(name, "f8", to="twice"))
    return data


def draw_events(chance: random.Random) -> Drawn:
    by, layout = chance.choice(("offsets", "key", "parquet")), chance.choice(("ragged", "ragged", "padded"))
    one = {"by": by, "layout": layout, "bytes": 1600}
    if chance.random() < 0.5:
        one["truncate"] = chance.choice((64, 512))
    if one["layout"] == "ragged" and chance.random() < 0.5:
        one["tokens"] = chance.choice((8192, 65_536))
    return one


def open_events(folder: Path, one: Drawn) -> Any:
    by = hr.Spans(offsets="offsets") if one["by"] == "offsets" else "event_id"
    if one["by"] == "parquet":
        data = hr.open(folder / "events.parquet", fields=["p0", "p1", "p2", "p3"], sample_by=by)
    else:
        data = hr.open(folder / "events.h5", fields=["pulse"], sample_by=by)
    return data.map(T.Truncate(one["truncate"])) if "truncate" in one else data


def draw_groups(chance: random.Random) -> Drawn:
    group_by = chance.choice(("file", "few", "few", "many"))
    return {"group_by": group_by, "max_items": chance.choice((4096, 65_536, 500_000)), "bytes": 24}


def draw_windows(chance: random.Random) -> Drawn:
    length = chance.choice((128, 1024, 8192))
    return {"length": length, "stride": chance.choice((length, length // 4)), "bytes": 2 * length}


def open_windows(folder: Path, one: Drawn) -> Any:
    return hr.open_tokens(folder / "tokens").windows(one["length"], stride=one["stride"], lookahead=1)


def draw_documents(chance: random.Random) -> Drawn:
    return {key: value for key, value in draw_events(chance).items() if key != "by"}


def open_documents(folder: Path, one: Drawn) -> Any:
    data = hr.open_tokens(folder / "tokens").documents()
    return data.map(T.Truncate(one["truncate"])) if "truncate" in one else data


def draw_patches(chance: random.Random) -> Drawn:
    shape = chance.choice(((32, 64, 64), (64, 64, 64), (1, 256, 256), (96, 96, 96)))
    one = {"store": chance.choice(("zarr", "h5")), "shape": shape}
    one["cut"] = chance.choice(("samples", "balance", "shift", "fill"))
    return {**one, "bytes": 9 * shape[0] * shape[1] * shape[2]}


def open_patches(folder: Path, one: Drawn) -> Any:
    volume = hr.open_volume(folder / f"volume.{one['store']}", ["raw", "labels"])
    if one["cut"] in ("shift", "fill"):
        stride = [max(side * 2 // 3, 1) for side in one["shape"]]
        return volume.patches(one["shape"], stride=stride, edge=one["cut"])
    balance = {"labels": [1, 2]} if one["cut"] == "balance" else None
    return volume.patches(one["shape"], samples_per_epoch=400, balance=balance)


def draw_join(chance: random.Random) -> Drawn:
    return {"table": chance.choice(("npz", "parquet")), "columns": chance.choice((1, 4, 8)), "bytes": 96}


def open_join(folder: Path, one: Drawn) -> Any:
    data = hr.open(folder / "runs.h5", fields=["x", "few"])
    names = [f"f{i}" for i in range(one["columns"])]
    return data.join(folder / f"table.{one['table']}", on="few", fields=names, key="key")


def open_mix(folder: Path, one: Drawn) -> Any:
    parts = {name: hr.open(folder / f"rows_{number}.{one['format']}") for number, name in enumerate(("a", "b"))}
    return hr.mix({"a": (parts["a"], 0.7), "b": (parts["b"], 0.3)})


def draw_mix(chance: random.Random) -> Drawn:
    return {"format": chance.choice(("h5", "zarr", "parquet")), "bytes": 1032}


def draw_shapes(chance: random.Random) -> Drawn:
    """A seed alone: the driver writes the files from it, and deletes them afterwards."""
    seed = chance.randrange(10**9)
    shape = sweep_files.draw(random.Random(seed))
    threads = chance.choice((1, 2, 2, 4, 8))
    return {
        "threads": threads,
        "shape_seed": seed,
        "shape": str(shape),
        "fields": shape.fields,
        "bytes": shape.row_bytes,
    }


def open_shapes(folder: Path, one: Drawn) -> Any:
    return hr.open(one["files"], fields=one["fields"].split(","))


def draw_jets(chance: random.Random) -> Drawn:
    variant = chance.choice(list(workload.VARIANTS))
    return {"variant": variant, "files": chance.randint(1, 4), "bytes": 40_712}


def open_jets(folder: Path, one: Drawn) -> Any:
    fields = {"x": "feature_matrix", "adj": "adjacency_matrix", "y": "labels"}
    return hr.open(workload.make(one["variant"])[: one["files"]], fields=fields)


def open_cellmap(folder: Path, one: Drawn) -> Any:
    from headrace.cellmap import CellMapDataset

    box = {"shape": (one["side"],) * 3, "scale": (VOXEL_SIZE,) * 3}
    crop = folder / "crop.zarr"
    classes = ["mito", "er"]
    return CellMapDataset(str(crop / "em"), f"{crop}/labels/[mito,er]", classes, {"raw": box}, {"gt": box})


def draw_cellmap(chance: random.Random) -> Drawn:
    side = chance.choice((32, 64, 96))
    return {"side": side, "balance": chance.random() < 0.5, "bytes": 12 * side**3}


NO_DIRECTORY = ("none", "auto")
KINDS: dict[str, Kind] = {
    "rows": Kind(draw_rows, open_rows),
    "events": Kind(draw_events, open_events, caches=NO_DIRECTORY),
    "groups": Kind(draw_groups, lambda folder, one: hr.open(folder / "runs.h5"), ("none", "block")),
    "windows": Kind(draw_windows, open_windows, caches=NO_DIRECTORY),
    "documents": Kind(draw_documents, open_documents, caches=NO_DIRECTORY),
    "patches": Kind(draw_patches, open_patches, ("none", "block"), NO_DIRECTORY),
    "cellmap": Kind(draw_cellmap, open_cellmap, ("block",), NO_DIRECTORY),
    "mix": Kind(draw_mix, open_mix),
    "join": Kind(draw_join, open_join),
    "train_and_validation": Kind(draw_rows, open_rows, caches=("none", "auto", "directory")),
    "shapes": Kind(draw_shapes, open_shapes),
    "jets": Kind(draw_jets, open_jets),
}
OWN_DATA = ("shapes", "jets")  # need none of sweep_data.py
BY_NAME_ALONE = ("jets",)  # needs the workload of the benchmarks, 9 GB
