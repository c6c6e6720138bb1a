"""The memory sweep's data, made once in a folder: a few shapes for each kind of sample, about 300 MB in all.

Sizes are such that budgets of 32 to 128 MiB matter. Contents do not, so values repeat, which makes files small; the
decoded sizes are in the names below. Each function writes what its name says, and nothing where it is there already.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import sweep_kinds
import zarr

import headrace as hr

Array = np.ndarray[Any, Any]
ROWS, WIDTH, CLASSES = 96_000, 256, 10  # rows of 1 KiB: 94 MiB decoded
PULSES, RUNS = 3_000_000, 2_000_000  # 46 MiB of pulses in events; rows of which nearly each is a group of its own
TOKENS = 12_000_000  # 23 MiB
VOLUME, LABELLED = (160, 320, 320), (96, 192, 192)
WORDS = (
    "the",
    "reader",
    "of",
    "a",
    "line",
    "takes",
    "its",
    "words",
    "as",
    "they",
    "come",
    "until",
    "none",
    "are",
    "left",
)


def rows(folder: Path) -> None:
    """The same kind of rows in four formats, two files each: "x" of 256 floats, and "y", one of ten classes."""
    values = (np.arange(ROWS * WIDTH, dtype="f4") % 997).reshape(ROWS, WIDTH)
    labels = np.random.default_rng(1).integers(0, CLASSES, ROWS)
    for part in range(2):
        x, y = np.array_split(values, 2)[part], np.array_split(labels, 2)[part]
        with h5py.File(folder / f"rows_{part}.h5", "w") as file:
            file.create_dataset("x", data=x, chunks=(512, WIDTH), compression="gzip", compression_opts=1)
            file.create_dataset("y", data=y, chunks=(4096,))
        store = zarr.open_group(folder / f"rows_{part}.zarr", mode="w", zarr_format=3)
        store.create_array("x", data=x, chunks=(1000, WIDTH))
        store.create_array("y", data=y, chunks=(10_000,))
        (folder / f"npy_{part}").mkdir()
        np.save(folder / f"npy_{part}" / "x.npy", x)
        columns = {f"c{i}": x[:, i] for i in range(32)} | {"y": y}
        pq.write_table(pa.table(columns), folder / f"rows_{part}.parquet", row_group_size=20_000)
    with h5py.File(folder / "large.h5", "w") as file:  # chunks of 32 MiB
        file.create_dataset("x", data=values, chunks=(32_768, WIDTH), compression="gzip", compression_opts=1)


def events(folder: Path) -> None:
    """Pulses of events that differ in length by a factor of thousands, by offsets and by a key."""
    chance = np.random.default_rng(2)
    lengths = np.minimum(chance.lognormal(4, 1.2, PULSES // 100).astype("i8"), 8000)
    ends = np.cumsum(lengths)
    lengths = lengths[: int(np.searchsorted(ends, PULSES, "right"))]
    total = int(lengths.sum())
    with h5py.File(folder / "events.h5", "w") as file:
        pulses = (np.arange(total * 4, dtype="f4") % 991).reshape(total, 4)
        file.create_dataset("pulse", data=pulses, chunks=(16_384, 4), compression="gzip", compression_opts=1)
        file.create_dataset(
            "event_id", data=np.repeat(np.arange(len(lengths)), lengths), chunks=(65_536,), compression=1
        )
        file["offsets"] = np.concatenate(([0], np.cumsum(lengths)))
    columns = {f"p{i}": pulses[:, i] for i in range(4)} | {"event_id": np.repeat(np.arange(len(lengths)), lengths)}
    pq.write_table(pa.table(columns), folder / "events.parquet", row_group_size=500_000)
    with h5py.File(folder / "runs.h5", "w") as file:
        file.create_dataset("many", data=np.arange(RUNS) // 2 * 3, chunks=(65_536,), compression=1)
        file.create_dataset("few", data=np.arange(RUNS) // 700, chunks=(65_536,), compression=1)
        file.create_dataset(
            "x", data=(np.arange(RUNS * 4, dtype="f4") % 97).reshape(-1, 4), chunks=(8192, 4), compression=1
        )


def tokens(folder: Path) -> None:
    """Documents of 10 to some 10,000 tokens, as the writer of Headrace puts them into a folder."""
    chance = np.random.default_rng(3)
    ids = chance.integers(0, 50_000, TOKENS, dtype="u2")
    writer = hr.tokens.Writer(folder / "tokens", vocab_size=50_257)
    at = 0
    while at < TOKENS:
        length = 10 + int(chance.lognormal(6, 1))
        writer.write(ids[at : at + length])
        at += length
    writer.finish()


def image(group: Any, name: str, values: Array) -> None:
    """An OME-NGFF image of one level, as tools for microscopes write it."""
    steps = [
        {"type": "scale", "scale": [sweep_kinds.VOXEL_SIZE] * 3},
        {"type": "translation", "translation": [0, 0, 0]},
    ]
    axes = [{"name": axis, "type": "space", "unit": "nanometer"} for axis in "zyx"]
    described = {"axes": axes, "datasets": [{"path": "s0", "coordinateTransformations": steps}]}
    made = group.create_group(name)
    made.create_array("s0", data=values, chunks=(64,) * 3)
    made.attrs["ome"] = {"version": "0.5", "multiscales": [described]}


def volumes(folder: Path) -> None:
    """Grey values with labels of 8 bytes in Zarr and HDF5 (140 MiB decoded), and a crop as cellmap-data has them."""
    raw = (np.arange(np.prod(VOLUME)) // 7 % 251).astype("u1").reshape(VOLUME)
    labels = np.zeros(VOLUME, "u8")
    labels[40:60, 50:150, 60:200], labels[70:95, 100:190, 10:90] = 1, 2
    store = zarr.open_group(folder / "volume.zarr", mode="w", zarr_format=3)
    store.create_array("raw", data=raw, chunks=(64,) * 3)
    store.create_array("labels", data=labels, chunks=(32,) * 3, shards=(160, 160, 160))
    with h5py.File(folder / "volume.h5", "w") as file:
        file.create_dataset("raw", data=raw, chunks=(32,) * 3, compression=1)
        file.create_dataset("labels", data=labels, chunks=(64,) * 3, compression=1)
    crop = zarr.open_group(folder / "crop.zarr", mode="w", zarr_format=3)
    image(crop, "em", raw)
    classes = crop.create_group("labels")
    inside = tuple(slice(extent) for extent in LABELLED)
    for number, name in enumerate(("mito", "er"), 1):
        image(classes, name, (labels[inside] == number).astype("u1"))


def text_lines(size: int, longest: int) -> list[str]:
    """Lines of up to so many characters, together of so many bytes."""
    chance = np.random.default_rng(4)
    lines, total = [], 0
    while total < size:
        wanted = min(int(chance.lognormal(5, 1.5)) if longest < 10**6 else longest, longest)
        drawn = chance.integers(0, len(WORDS), max(wanted // 5, 1))
        lines.append(" ".join(WORDS[word] + str(word * 7 % 13) for word in drawn))
        total += len(lines[-1])
    return lines


def texts(folder: Path) -> None:
    """20 MB of text: a file of lines, lines of JSON, three lines of JSON alone, and the first of them in zstd."""
    lines = text_lines(20_000_000, 10_000)
    (folder / "text.txt").write_text("\n".join(lines))
    as_json = "".join(json.dumps({"id": number, "text": line}) + "\n" for number, line in enumerate(lines))
    (folder / "text.jsonl").write_text(as_json)
    with pa.CompressedOutputStream(str(folder / "text.jsonl.zst"), "zstd") as stream:
        stream.write(as_json.encode())
    long = text_lines(24_000_000, 8_000_000)
    (folder / "long.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in long))


def table(folder: Path) -> None:
    """A million rows to be looked up by a number: 69 MiB of columns."""
    count = 1_000_000
    columns: dict[str, Any] = {"key": np.arange(count)} | {f"f{i}": np.arange(count) % (101 + i) / 8 for i in range(8)}
    np.savez(folder / "table.npz", **columns)
    pq.write_table(pa.table(columns), folder / "table.parquet")


MAKERS: tuple[Callable[[Path], None], ...] = (rows, events, tokens, volumes, texts, table)


def make(folder: Path) -> None:
    """All of it; what an earlier call has finished there stays."""
    folder.mkdir(parents=True, exist_ok=True)
    for maker in MAKERS:
        done = folder / f"{maker.__name__}.made"
        if not done.exists():
            maker(folder)
            done.touch()
