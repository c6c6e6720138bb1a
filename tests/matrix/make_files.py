"""Write the matrix: small HDF5 files whose datasets are the chosen cases. As a program: python make_files.py FOLDER."""

from __future__ import annotations

import ctypes
import itertools
import sys
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from matrix_axes import CHUNKED, FILTERS, LIBVERS, Case, choose

SEED = 20_240_607
COUNT = 520
ROWS = (61, 128, 2, 17, 100)  # of the files in turn: below, at and above chunk sizes
DATASETS_PER_FILE = 12
USER_BLOCK_BYTES = (0, 0, 512, 4096)


@dataclass(frozen=True)
class Stored:
    """One dataset of a file."""

    name: str
    case: Case


@dataclass(frozen=True)
class MatrixFile:
    """A file, with its rows and datasets. The dataset ``row`` holds the row's number."""

    path: Path
    libver: str | None
    rows: int
    datasets: tuple[Stored, ...]


def make_all(folder: Path, count: int = COUNT, seed: int = SEED) -> tuple[list[MatrixFile], str]:
    """Write all files; with a summary of what they hold."""
    cases, met, possible = choose(count, seed)
    random = np.random.default_rng(seed + 1)
    files = []
    for libver in LIBVERS:
        mine = [case for case in cases if case.libver == libver]
        for first in range(0, len(mine), DATASETS_PER_FILE):
            number = len(files)
            some = mine[first : first + DATASETS_PER_FILE]
            stored = tuple(Stored(f"d{first + i:03}", case) for i, case in enumerate(some))
            rows = ROWS[number % len(ROWS)]
            user_block = USER_BLOCK_BYTES[number % len(USER_BLOCK_BYTES)]
            path = folder / f"matrix_{number:03}_{libver or 'default'}.h5"
            files.append(MatrixFile(path, libver, rows, stored))
            _write_file(files[-1], user_block, random)
    axes = {axis: Counter(str(getattr(c, axis)) for c in cases) for axis in ("libver", "layout", "state", "group")}
    lines = [f"{len(cases)} datasets in {len(files)} files, {met} of {possible} pairs of axis values met"]
    lines += [f"  {axis}: " + ", ".join(f"{k} {n}" for k, n in counts.items()) for axis, counts in axes.items()]
    lines.append(f"  filters: {len({c.filter for c in cases})}, dtypes: {len({str(c.dtype) for c in cases})}")
    return files, "\n".join(lines)


def _write_file(file: MatrixFile, user_block: int, random: np.random.Generator) -> None:
    options: dict[str, Any] = {"userblock_size": user_block} if user_block else {}
    with h5py.File(file.path, "w", libver=file.libver, **options) as out:
        out["row"] = np.arange(file.rows)
        for entry in file.datasets:
            try:
                write_dataset(out, entry.name, file.rows, entry.case, random)
            except Exception as error:
                raise RuntimeError(f"{file.path.name} {entry.name}: {entry.case}, {file.rows} rows") from error
    if user_block:
        with file.path.open("r+b") as raw:
            raw.write(b"a user block" * 10)


def values(dtype: Any, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    """Random values: every other row compressible, every third element 0."""
    dtype = np.dtype(dtype)
    if dtype.subdtype is not None:
        base, inner = dtype.subdtype
        return values(base, shape + inner, random)
    out = np.zeros(shape, dtype)
    if dtype.names:
        for name in dtype.names:
            out[name] = values(dtype[name], shape, random)
        return out
    noise = random.bytes(out.nbytes)
    if dtype.kind == "b":
        out[...] = (np.frombuffer(noise, "u1") & 1).reshape(shape)
    elif dtype.kind == "S":
        text = np.frombuffer(noise, "u1") % 26 + 97
        out[...] = text.astype("u1").tobytes() and np.frombuffer(text.astype("u1").tobytes(), dtype).reshape(shape)
    elif dtype.kind in "fc":
        scaled = random.normal(size=shape) + (1j * random.normal(size=shape) if dtype.kind == "c" else 0)
        out[...] = scaled.astype(dtype)
    else:
        out[...] = np.frombuffer(noise, dtype).reshape(shape)
    flat = out.reshape(-1)
    flat[::3] = np.zeros((), dtype)
    if out.ndim and len(out) > 1:
        out[1::2] = out[1]
    return out


def _fill_value(dtype: Any) -> Any:
    dtype = np.dtype(dtype)
    if dtype.names:
        return np.frombuffer(bytes(range(1, dtype.itemsize + 1)), dtype)[0]
    if dtype.kind == "S":
        return np.bytes_(b"absent"[: dtype.itemsize])
    return np.ones((), dtype)[()] if dtype.kind == "b" else np.full((), 77, dtype)[()]


def chunk_shape(layout: str, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Chunk shape of a layout, or None."""
    whole = tuple(max(1, n) for n in shape)
    return {
        "rows": (min(16, whole[0]), *whole[1:]),
        "across": (min(20, whole[0]), *(max(1, n // 2) for n in whole[1:])),
        "one": whole,
        "tiny": (min(3, whole[0]), *(min(2, n) for n in whole[1:])),
        "edge": (max(1, whole[0] * 2 // 3), *(max(1, n - 1) for n in whole[1:])),
    }.get(layout)


def _dcpl(case: Case) -> Any:
    """A creation list with what h5py's create_dataset has no word for."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    if case.layout == "compact":
        made.set_layout(h5py.h5d.COMPACT)
    if case.state == "edges":
        library = ctypes.CDLL(_library_path())
        library.H5Pset_chunk_opts.argtypes = [ctypes.c_int64, ctypes.c_uint]
        dont_filter_partial_chunks = 2
        made.set_chunk((1,))  # replaced by create_dataset; the option is kept
        if library.H5Pset_chunk_opts(made.id, dont_filter_partial_chunks) < 0:
            raise RuntimeError("H5Pset_chunk_opts failed")
    return made


def _library_path() -> str:
    """The libhdf5 that h5py has loaded."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if "libhdf5-" in path and "h5py" in path:
            return path
    return next(
        line.split(maxsplit=5)[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libhdf5.so" in line
    )


def write_dataset(out: h5py.File, name: str, rows: int, case: Case, random: np.random.Generator) -> None:
    """Write one case."""
    shape = (rows, *case.shape)
    options = dict(FILTERS[case.filter].options)
    nbit = options.pop("nbit", False)
    if case.state in ("fill", "empty", "grown"):
        options["fillvalue"] = _fill_value(case.dtype)
    if case.layout in CHUNKED:
        options["chunks"] = chunk_shape(case.layout, shape)
        options["maxshape"] = _max_shape(case, shape)
    stored_shape = {"grown": (max(1, rows // 3), *shape[1:]), "shrunk": (rows + 9, *shape[1:])}.get(case.state, shape)
    if case.state == "grown" and rows == 1:
        stored_shape = (0, *shape[1:])
    made = (
        _nbit(out, name, case, stored_shape, options)
        if nbit
        else out.create_dataset(name, stored_shape, dtype=case.dtype, dcpl=_dcpl(case), **options)
    )
    written = values(case.dtype, stored_shape, random)
    if case.state in ("fill", "fill0"):
        step = max(1, made.chunks[0])
        for first in range(0, rows, 3 * step):  # every third row of chunks, and not all of it
            part = (slice(first, min(first + step, rows)), *(slice(0, max(1, n // 2)) for n in case.shape))
            made[part] = written[part]
    elif case.state == "masked":
        _store_masked(made, written)
    elif case.state != "empty" and written.size:
        made[...] = written
    if stored_shape != shape:
        made.resize(shape)


def _max_shape(case: Case, shape: tuple[int, ...]) -> tuple[int | None, ...]:
    """Chooses the kind of chunk index: fixed array, extensible array or version-2 B-tree, where the format has them."""
    which = zlib.crc32(str(case).encode()) % 3
    if which == 0 and case.state != "shrunk":
        return shape
    return (None, *shape[1:]) if which == 1 else (None,) * len(shape)


def _nbit(out: h5py.File, name: str, case: Case, shape: tuple[int, ...], options: dict[str, Any]) -> Any:
    """Numbers of fewer bits than their bytes hold, packed."""
    kind = h5py.h5t.py_create(np.dtype(case.dtype)).copy()
    kind.set_precision(np.dtype(case.dtype).itemsize * 8 - 3)
    dcpl = _dcpl(case)
    dcpl.set_chunk(options["chunks"])
    dcpl.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
    if "fillvalue" in options:
        dcpl.set_fill_value(np.asarray(options["fillvalue"]))
    limits = tuple(h5py.h5s.UNLIMITED if n is None else n for n in options["maxshape"])
    space = h5py.h5s.create_simple(shape, limits)
    return h5py.Dataset(h5py.h5d.create(out.id, name.encode(), kind, space, dcpl=dcpl))


def _store_masked(made: h5py.Dataset, written: np.ndarray) -> None:
    """Store every other chunk with filters skipped: what an optional filter does with incompressible chunks.

    Into chunks that are not there yet: libhdf5 forgets the new mask of a chunk that it stores again in the same size.
    """
    dcpl = made.id.get_create_plist()
    filters = [dcpl.get_filter(i)[0] for i in range(dcpl.get_nfilters())]
    starts = [range(0, n, c) for n, c in zip(made.shape, made.chunks, strict=True)]
    for i, at in enumerate(itertools.product(*starts)):
        part = tuple(slice(n, n + c) for n, c in zip(at, made.chunks, strict=True))
        if i % 2:
            made[part] = written[part]
            continue
        whole = np.zeros(made.chunks, made.dtype)
        inside = written[part]
        whole[tuple(slice(0, n) for n in inside.shape)] = inside
        if filters == [h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_DEFLATE] and i % 4 == 0:
            made.id.write_direct_chunk(at, zlib.compress(whole.tobytes()), filter_mask=1)  # deflate, but no shuffle
        else:
            made.id.write_direct_chunk(at, whole.tobytes(), filter_mask=(1 << len(filters)) - 1)


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    print(make_all(folder)[1])


if __name__ == "__main__":
    main()
