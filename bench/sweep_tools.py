"""The tools of the memory sweep: what is drawn by chance for each, and the call that is measured.

A tool is told its budget by `hr.set_memory`, which holds for all of the process, and by its `memory` where it has one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sweep_kinds

import headrace as hr

Drawn = dict[str, Any]
ROW_FORMATS = ("h5", "npy", "parquet", "zarr")
TEXTS = ("text.txt", "text.jsonl", "text.jsonl.zst", "long.jsonl")


def row_paths(folder: Path, one: Drawn) -> Path:
    return folder / ("npy_*/x.npy" if one["format"] == "npy" else f"rows_*.{one['format']}")


def draw_format(chance: random.Random) -> Drawn:
    return {"format": chance.choice(ROW_FORMATS)}


def draw_rewrite(chance: random.Random) -> Drawn:
    codec = chance.choice(("auto", "lz4", "gzip"))
    return {
        "format": chance.choice(("h5", "events", "runs", "large")),
        "shuffle": chance.random() < 0.5,
        "codec": codec,
    }


def rewrite(folder: Path, out: Path, one: Drawn) -> None:
    paths = folder / ("rows_*.h5" if one["format"] == "h5" else f"{one['format']}.h5")
    if one["shuffle"] and one["format"] == "events":  # its arrays have several lengths, which have no common order
        paths = folder / "runs.h5"
    words = {name: one[name] for name in ("shuffle", "codec", "threads")}
    hr.rewrite(paths, out / "new", memory=one["budget"], **words)


def draw_text(chance: random.Random) -> Drawn:
    return {"file": chance.choice(TEXTS), "document": chance.choice(("file", "line"))}


def tokenize(folder: Path, out: Path, one: Drawn) -> None:
    words = {"document": one["document"], "threads": one["threads"], "memory": one["budget"]}
    hr.tokenize(folder / one["file"], out / "tokens", sweep_kinds.TOKENIZER, progress=False, **words)


def open_text(folder: Path, out: Path, one: Drawn) -> None:
    words = {"document": one["document"], "threads": one["threads"], "memory": one["budget"]}
    hr.open_text(folder / one["file"], sweep_kinds.TOKENIZER, cache=out, progress=False, **words)


def cache_build(folder: Path, out: Path, one: Drawn) -> None:
    hr.cache_build(row_paths(folder, one), out / "cache", threads=one["threads"], memory=one["budget"])


def draw_verify(chance: random.Random) -> Drawn:
    names = (
        "rows_*.h5",
        "rows_*.parquet",
        "rows_*.zarr",
        "npy_*/x.npy",
        "large.h5",
        "tokens",
        "volume.zarr",
        "volume.h5",
    )
    return {"file": chance.choice(names)}


def verify(folder: Path, out: Path, one: Drawn) -> None:
    hr.verify(folder / one["file"], threads=one["threads"])


def draw_inspect(chance: random.Random) -> Drawn:
    how = chance.choice(("", "values", "sample_by", "picture"))
    return {"how": how, "file": chance.choice(("volume.zarr", "volume.h5")) if how != "sample_by" else "events.h5"}


def inspect(folder: Path, out: Path, one: Drawn) -> None:
    words: Drawn = {
        "values": {"values": ["labels"]},
        "sample_by": {"sample_by": "event_id"},
        "picture": {"picture": "raw"},
    }
    hr.inspect(folder / one["file"], **words.get(one["how"], {}))


def loader_words(one: Drawn) -> Drawn:
    return {"batch_size": 512, "memory": one["budget"], "threads": one["threads"], "shuffle": True}


def bench(folder: Path, out: Path, one: Drawn) -> None:
    hr.bench(row_paths(folder, one), max_seconds=2, **loader_words(one))


def advise(folder: Path, out: Path, one: Drawn) -> None:
    hr.advise(row_paths(folder, one), **loader_words(one))


def order(folder: Path, out: Path, one: Drawn) -> None:
    hr.order(hr.Loader(row_paths(folder, one), **loader_words(one)))


def draw_stats(chance: random.Random) -> Drawn:
    return {"format": chance.choice(ROW_FORMATS), "where": chance.random() < 0.5}


def stats(folder: Path, out: Path, one: Drawn) -> None:
    data = sweep_kinds.row_files(folder, one)
    name = next(iter(data.fields))
    data.stats(name, where=f"{name} > 3" if one["where"] else None, threads=one["threads"])


def draw_lengths(chance: random.Random) -> Drawn:
    return {"samples": chance.choice(("events", "documents")), "by": chance.choice(("offsets", "key", "parquet"))}


def lengths(folder: Path, out: Path, one: Drawn) -> None:
    sweep_kinds.KINDS[one["samples"]].open(folder, one).lengths()


Tool = tuple[Callable[[random.Random], Drawn], Callable[[Path, Path, Drawn], None]]
TOOLS: dict[str, Tool] = {
    "tokenize": (draw_text, tokenize),
    "open_text": (draw_text, open_text),
    "rewrite": (draw_rewrite, rewrite),
    "cache_build": (draw_format, cache_build),
    "verify": (draw_verify, verify),
    "inspect": (draw_inspect, inspect),
    "bench": (draw_format, bench),
    "advise": (draw_format, advise),
    "order": (draw_format, order),
    "stats": (draw_stats, stats),
    "lengths": (draw_lengths, lengths),
}
