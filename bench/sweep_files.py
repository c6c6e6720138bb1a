"""HDF5 files of random shape for the budget sweep: few bytes to write, many to decode.

Field "y" is what is loaded, alone or with "s", labels in tiny chunks; "x", where there is one, lies between the chunks
of "y" and is never loaded. Contents do not matter to memory, so a chunk is compressed once and written many times.
"""

from __future__ import annotations

import math
import random
import zlib
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

KIB, MIB = 1 << 10, 1 << 20
KINDS = ("plain", "side", "gaps", "between", "virtual", "across")
MOST_CHUNKS = 20_000  # of all files together: h5py writes some ten thousand a second
MOST_WRITTEN = 96 * MIB


@dataclass(frozen=True)
class Shape:
    """What the files of one configuration look like."""

    kind: str
    files: int
    rows: int  # of a file
    row_bytes: int
    chunk_rows: int
    across: int  # chunks beside each other in a row
    side_rows: int  # of a chunk of "s"; 0: there is none
    gzip: bool
    written: float  # share of the chunks that exist
    hole_bytes: int  # of the chunk of "x" behind each chunk of "y"
    libver: str

    @property
    def fields(self) -> str:
        return "y,s" if self.side_rows else "y"

    def __str__(self) -> str:
        text = f"{self.kind}, {self.files} files of {self.rows} rows of {self.row_bytes} B"
        text += f", chunks of {self.chunk_rows} rows x {self.across}, {'gzip' if self.gzip else 'no filter'}"
        text += f", {self.written:.0%} of them written" if self.written < 1 else ""
        text += f", side chunks of {self.side_rows}" if self.side_rows else ""
        text += f", holes of {self.hole_bytes} B" if self.hole_bytes else ""
        return f"{text}, {self.libver}"


def log_uniform(chance: random.Random, low: float, high: float) -> float:
    return math.exp(chance.uniform(math.log(low), math.log(high)))


def draw_files(chance: random.Random) -> int:
    """Mostly few; thousands in one of fifty, because making and opening them takes seconds."""
    low, high = chance.choices([(1, 1), (2, 8), (9, 200), (200, 5000)], [40, 38, 20, 2])[0]
    return round(log_uniform(chance, low, high))


def draw(chance: random.Random) -> Shape:
    kind = chance.choice(KINDS)
    row_bytes = 8 * round(log_uniform(chance, 1, 131_072))
    files = draw_files(chance)
    gzip = chance.random() < 0.6
    written = chance.choice((0.0, 0.1, 0.5, 0.9)) if kind == "gaps" else 1.0
    total = log_uniform(chance, 8 * MIB, 1024 * MIB)
    if not gzip and written > 0.2:
        total = min(total, MOST_WRITTEN)
    rows = max(int(total) // row_bytes // files, 1)
    side_rows = chance.choice((1, 1, 3, 16)) if kind == "side" or chance.random() < 0.1 else 0
    if side_rows:
        rows = max(min(rows, MOST_CHUNKS * side_rows // files), 1)
    across = chance.choice((2, 16, 64)) if kind == "across" and row_bytes >= 1024 else 1
    while (row_bytes // 8) % across:
        across //= 2
    chunk_rows = max(int(log_uniform(chance, 4 * KIB, 4 * MIB)) * across // row_bytes, 1)
    chunk_rows = min(max(chunk_rows, -(-rows * across * files // MOST_CHUNKS)), rows)
    hole = 0
    if kind == "between":
        chunks = -(-rows // chunk_rows) * files
        hole = int(min(log_uniform(chance, 512, 128 * KIB), MOST_WRITTEN / chunks)) // 8 * 8
    libver = chance.choice(("earliest", "v110"))
    return Shape(kind, files, rows, row_bytes, chunk_rows, across, side_rows, gzip, written, hole, libver)


def chunk_bytes(values: np.ndarray, gzip: bool) -> bytes:
    return zlib.compress(values.tobytes(), 1) if gzip else values.tobytes()


def write_file(path: Path, shape: Shape, chance: random.Random) -> None:
    """One file: the chunks of "y" in the order of rows, and what lies between them."""
    width = shape.row_bytes // 8
    chunk = (shape.chunk_rows, width // shape.across)
    filters = {"compression": 1} if shape.gzip else {}
    with h5py.File(path, "w", libver=(shape.libver, "v110")) as file:
        y = file.create_dataset("y", (shape.rows, width), "f8", chunks=chunk, **filters)
        stored = chunk_bytes(np.arange(math.prod(chunk), dtype="f8").reshape(chunk) % 1000, shape.gzip)
        blocks = -(-shape.rows // shape.chunk_rows)
        x = None
        if shape.hole_bytes:
            x = file.create_dataset("x", (blocks, shape.hole_bytes), "u1", chunks=(1, shape.hole_bytes))
        for block in range(blocks):
            for column in range(shape.across):
                if shape.written == 1 or chance.random() < shape.written:
                    y.id.write_direct_chunk((block * shape.chunk_rows, column * chunk[1]), stored)
            if x is not None:
                x.id.write_direct_chunk((block, 0), bytes(shape.hole_bytes))
        if shape.side_rows:
            s = file.create_dataset("s", (shape.rows,), "u1", chunks=(min(shape.side_rows, shape.rows),))
            for row in range(0, shape.rows, s.chunks[0]):
                s.id.write_direct_chunk((row,), bytes(s.chunks[0]))


def write_view(path: Path, parts: list[Path], shape: Shape) -> None:
    """One virtual data set over all parts: the second half of each, so that it begins inside a chunk."""
    half = (shape.rows + 1) // 2
    width = shape.row_bytes // 8
    layout = h5py.VirtualLayout((half * len(parts), width), "f8")
    for number, part in enumerate(parts):
        source = h5py.VirtualSource(part.name, "y", (shape.rows, width))
        layout[number * half : (number + 1) * half] = source[shape.rows - half :]
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file.create_virtual_dataset("y", layout)
        if shape.side_rows:
            rows = half * len(parts)
            file.create_dataset("s", (rows,), "u1", chunks=(min(shape.side_rows, rows),), fillvalue=1)


def write(folder: Path, shape: Shape, chance: random.Random) -> str:
    """Write the files; returns the pattern to open."""
    parts = [folder / f"part_{number:04}.h5" for number in range(shape.files)]
    for part in parts:
        write_file(part, shape, chance)
    if shape.kind != "virtual":
        return str(folder / "part_*.h5")
    write_view(folder / "view.h5", parts, shape)
    return str(folder / "view.h5")
