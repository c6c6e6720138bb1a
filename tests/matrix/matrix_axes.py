"""The axes of the matrix, what may stand together, and a seeded choice that meets every pair of values."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import h5py
import hdf5plugin
import numpy as np

LAYOUTS = ("contiguous", "compact", "rows", "across", "one", "tiny", "edge")
CHUNKED = LAYOUTS[2:]
STATES = (
    "full",  # every element written
    "fill",  # some chunks never written, fill value given
    "fill0",  # some chunks never written, no fill value
    "empty",  # nothing written at all
    "grown",  # made shorter, then resized to its length; the new rows are not written
    "shrunk",  # made longer, then resized
    "masked",  # some chunks stored with part of their filters skipped
    "edges",  # partial edge chunks stored unfiltered (new formats only)
)
LIBVERS = (None, "v108", "v110", "v112", "v114", "latest")
SHAPES = ((), (5,), (7, 3), (2, 3, 4))

_MIXED = np.dtype([("a", "<i2"), ("b", "<f8"), ("c", "S5"), ("d", "u1")])
_NESTED = np.dtype([("id", "<u4"), ("p", [("x", "<f4"), ("y", "<f4"), ("n", [("k", "<i8")])])])
_MEMBERS = np.dtype([("v", "<f4", (3,)), ("w", "<i2", (2, 2)), ("s", "<u8")])
_BIG = np.dtype([("a", ">i4"), ("v", ">f8", (2,)), ("z", "<u2"), ("c", ">c8")])
_RECORDS = np.dtype([("h", [("t", ">u2"), ("q", "<f4")], (3,)), ("e", "u1")])
_PADDED = np.dtype({"names": ["a", "b"], "formats": ["<i2", "<f8"], "offsets": [3, 16], "itemsize": 32})

DTYPES: dict[str, list[Any]] = {
    "1 byte": ["i1", "u1"],
    "2 bytes": ["<i2", "<u2"],
    "4 bytes": ["<i4", "<u4"],
    "8 bytes": ["<i8", "<u8"],
    "big-endian integers": [">i2", ">u4", ">i8", ">u2", ">i4", ">u8"],
    "f2": ["<f2", ">f2"],
    "f4": ["<f4"],
    "f8": ["<f8"],
    "big-endian floats": [">f4", ">f8"],
    "bool": ["?"],
    "enum": [h5py.enum_dtype({"quark": 0, "gluon": 1, "w": 7}, basetype=b) for b in ("u1", "<i4", ">i2")],
    "strings": ["S6", "S1", "S17"],
    "complex": ["<c8", "<c16", ">c8", ">c16"],
    "compound": [_MIXED, _NESTED, _PADDED],
    "compound with arrays": [_MEMBERS, _RECORDS],
    "big-endian compound": [_BIG],
}
_INTEGERS = ("1 byte", "2 bytes", "4 bytes", "8 bytes", "big-endian integers")
_FLOATS = ("f4", "f8", "big-endian floats")
_SIMPLE = (*_INTEGERS, *_FLOATS, "f2")


@dataclass(frozen=True)
class Filter:
    """Keyword arguments of create_dataset, and where the filter applies."""

    options: dict[str, Any]
    path: str = "native"  # "native", "converted", "libhdf5" or "refused"
    dtypes: tuple[str, ...] | None = None  # groups that it can hold; None: all


def _plugin(made: Any, **more: Any) -> dict[str, Any]:
    return {"compression": made.filter_id, "compression_opts": made.filter_options, **more}


def _filters() -> dict[str, Filter]:
    p = hdf5plugin
    out = {
        "none": Filter({}),
        "gzip": Filter({"compression": "gzip", "compression_opts": 4}),
        "gzip 9": Filter({"compression": "gzip", "compression_opts": 9}),
        "shuffle + gzip": Filter({"compression": "gzip", "shuffle": True}),
        "shuffle + gzip + fletcher32": Filter({"compression": "gzip", "shuffle": True, "fletcher32": True}),
        "fletcher32": Filter({"fletcher32": True}),
        "shuffle": Filter({"shuffle": True}),
        "lzf": Filter({"compression": "lzf"}),
        "shuffle + lzf": Filter({"compression": "lzf", "shuffle": True}),
        "shuffle + lzf + fletcher32": Filter({"compression": "lzf", "shuffle": True, "fletcher32": True}),
        "lz4": Filter(_plugin(p.LZ4())),
        "lz4, small blocks": Filter(_plugin(p.LZ4(nbytes=100))),
        "shuffle + lz4": Filter(_plugin(p.LZ4(), shuffle=True)),
        "zstd": Filter(_plugin(p.Zstd(clevel=3))),
        "shuffle + zstd": Filter(_plugin(p.Zstd(), shuffle=True)),
        "bzip2": Filter(_plugin(p.BZip2())),
        "shuffle + bzip2": Filter(_plugin(p.BZip2(blocksize=1), shuffle=True)),
        "bitshuffle": Filter(_plugin(p.Bitshuffle(cname="none"))),
        "bitshuffle-lz4": Filter(_plugin(p.Bitshuffle(cname="lz4"))),
        "bitshuffle-lz4, small blocks": Filter(_plugin(p.Bitshuffle(nelems=64, cname="lz4"))),
        "bitshuffle-zstd": Filter(_plugin(p.Bitshuffle(cname="zstd", clevel=3))),
        "szip": Filter({"compression": "szip", "compression_opts": ("nn", 2)}, dtypes=_SIMPLE),
        "scale-offset": Filter({"scaleoffset": 0}, dtypes=_INTEGERS),
        "scale-offset, 3 digits": Filter({"scaleoffset": 3}, dtypes=("f4", "f8")),
        "n-bit": Filter({"nbit": True}, "converted", ("2 bytes", "4 bytes")),
        "zfp": Filter(_plugin(p.Zfp(reversible=True)), "refused", ("f4", "f8")),
        "blosc2": Filter(_plugin(p.Blosc2()), "refused", _SIMPLE),
        "sz3": Filter(_plugin(p.SZ3(absolute=0.01)), "refused", ("f4", "f8")),
    }
    for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for name, shuffle in (("none", p.Blosc.NOSHUFFLE), ("byte", p.Blosc.SHUFFLE), ("bit", p.Blosc.BITSHUFFLE)):
            out[f"blosc-{cname}, {name} shuffle"] = Filter(_plugin(p.Blosc(cname=cname, shuffle=shuffle)))
    return out


FILTERS = _filters()


@dataclass(frozen=True)
class Case:
    """One dataset. ``dtype`` is one of its group."""

    group: str
    dtype: Any
    layout: str
    filter: str
    state: str
    shape: tuple[int, ...]
    libver: str | None

    def __str__(self) -> str:
        dtype = np.dtype(self.dtype)
        return f"{dtype} x {self.shape}, {self.layout}, {self.filter}, {self.state}, libver {self.libver}"

    def pairs(self) -> set[tuple[str, Any, str, Any]]:
        """The pairs of values that it stands for."""
        axes = [("dtype", self.group), ("layout", self.layout), ("filter", self.filter), ("state", self.state)]
        axes += [("shape", len(self.shape)), ("libver", self.libver)]
        return {(*a, *b) for a, b in itertools.combinations(axes, 2)}


def legal(case: Case) -> bool:
    """Can such a dataset be written by h5py?"""
    chunked = case.layout in CHUNKED
    chosen = FILTERS[case.filter]
    if chosen.dtypes is not None and case.group not in chosen.dtypes:
        return False
    if not chunked and (case.filter != "none" or case.state not in ("full", "fill", "fill0", "empty")):
        return False
    if case.layout == "compact" and case.state != "full":
        return False
    if case.layout == "contiguous" and case.state in ("fill", "fill0"):
        return False  # the library writes the fill value itself
    if case.state == "masked" and (chosen.path != "native" or case.filter == "none"):
        return False
    if case.state == "edges" and (case.libver in (None, "v108") or chosen.path == "refused"):
        return False
    # szip codes at least two numbers at a time.
    return not (case.filter == "szip" and (case.layout == "tiny" or not case.shape))


def _random_case(random: np.random.Generator) -> Case:
    def pick(values: Any) -> Any:
        return values[int(random.integers(len(values)))]

    group = pick(list(DTYPES))
    state = "full" if random.random() < 0.4 else pick(STATES)
    layout = pick(LAYOUTS)
    chosen = pick(list(FILTERS)) if layout in CHUNKED else "none"
    return Case(group, pick(DTYPES[group]), layout, chosen, state, pick(SHAPES), pick(LIBVERS))


def choose(count: int, seed: int) -> tuple[list[Case], int, int]:
    """``count`` cases that meet (nearly) every pair; with the numbers of pairs met, and of pairs that are possible.

    "Possible" is what a long random sample of legal cases holds.
    """
    random = np.random.default_rng(seed)
    bit_of: dict[Any, int] = {}
    pool: list[tuple[Case, int]] = []
    while len(pool) < 25 * count:
        case = _random_case(random)
        if legal(case):
            bits = sum(1 << bit_of.setdefault(pair, len(bit_of)) for pair in case.pairs())
            pool.append((case, bits))
    unmet = (1 << len(bit_of)) - 1
    chosen: list[Case] = []
    while len(chosen) < count:  # a greedy cover over a window of candidates; later ones matter, when few pairs are left
        window = pool[-60:] if len(chosen) < count // 2 else pool[-600:] if len(chosen) < count * 3 // 4 else pool
        best = max(window, key=lambda entry: (entry[1] & unmet).bit_count())
        pool.remove(best)
        unmet &= ~best[1]
        chosen.append(best[0])
    return chosen, len(bit_of) - unmet.bit_count(), len(bit_of)
