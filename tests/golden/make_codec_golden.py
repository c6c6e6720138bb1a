#!/usr/bin/env python3
"""Write codec.golden: single chunks as HDF5 itself stores them, one case a line, read by src/codec/golden_test.cpp.

    python tests/golden/make_codec_golden.py        (needs numpy, h5py and hdf5plugin)

A line is `name | pattern | decoded bytes | element bytes | filter mask | id:value,value id:… | stored bytes in hex`.
The decoded bytes are not in the file: `pattern` names one of the formulas below, which the test repeats.
"""

import pathlib

import h5py
import hdf5plugin  # noqa: F401  registers the filters
import numpy as np


def smooth(i):
    return ((i * i >> 13) ^ (i >> 4)) & 0xFF


def noise(i):
    """The top byte of a 32-bit mixing function; does not compress."""
    x = (i * 2654435761) & 0xFFFFFFFF
    x ^= x >> 15
    x = (x * 2246822519) & 0xFFFFFFFF
    return (x ^ x >> 13) >> 24


def padded(i):
    """Short records followed by zeros, as padded jets are."""
    return np.where(i % 512 < 100, smooth(i), 0)


PATTERNS = {"smooth": smooth, "noise": noise, "padded": padded, "zeros": lambda i: i * 0}
DTYPES = {1: "u1", 2: "<u2", 3: "V3", 4: "<f4", 8: "<f8", 12: "V12", 16: "<c16", 24: "V24"}
GZIP, SHUFFLE, FLETCHER, BZIP2, LZF, BLOSC, LZ4, BITSHUFFLE, ZSTD = 1, 2, 3, 307, 32000, 32001, 32004, 32008, 32015


def cases():
    """(name, pattern, elements, element bytes, [(filter, values)])"""  # noqa: D415
    for level in (1, 4, 9):
        yield f"gzip-{level}", "smooth", 1500, 4, [(GZIP, (level,))]
    yield "gzip-noise", "noise", 1001, 1, [(GZIP, (4,))]
    for size in (2, 3, 4, 8, 12, 16, 24):
        yield f"shuffle-{size}", "smooth", 77, size, [(SHUFFLE, ())]
    for n in (1, 2, 3, 719, 720, 721, 723, 2001):
        yield f"fletcher-{n}", "noise", n, 1, [(FLETCHER, ())]
    yield "fletcher-zeros", "zeros", 1000, 1, [(FLETCHER, ())]
    for pattern in ("smooth", "padded", "zeros", "noise"):
        n = 1203 if pattern == "noise" else 5003
        yield f"bzip2-{pattern}", pattern, n, 1, [(BZIP2, (9,))]
        yield f"lzf-{pattern}", pattern, n, 1, [(LZF, ())]
        yield f"lz4-{pattern}", pattern, n, 1, [(LZ4, ())]
        yield f"lz4-{pattern}-blocks", pattern, n, 1, [(LZ4, (500,))]
        yield f"zstd-{pattern}", pattern, n, 1, [(ZSTD, (3,))]
    yield "bzip2-1", "padded", 1250, 4, [(BZIP2, (1,))]
    yield "zstd-19", "padded", 1250, 4, [(ZSTD, (19,))]
    for code in (0, 1, 2, 4, 5):
        for shuffle in (0, 1, 2):
            yield f"blosc-{code}-{shuffle}", "padded", 1256, 4, [(BLOSC, (0, 0, 0, 0, 5, shuffle, code))]
    yield "blosc-noise", "noise", 200, 8, [(BLOSC, (0, 0, 0, 0, 5, 1, 1))]
    for size in (1, 2, 3, 4, 8, 16):
        for packing, name in ((0, "none"), (2, "lz4"), (3, "zstd")):
            n = 100 if packing == 0 else 20000 // size
            yield f"bitshuffle-{name}-{size}", "padded", n + 3, size, [(BITSHUFFLE, (0, packing))]
    yield "bitshuffle-lz4-blocks", "smooth", 500, 4, [(BITSHUFFLE, (64, 2))]
    yield "bitshuffle-lz4-noise", "noise", 300, 4, [(BITSHUFFLE, (0, 2))]
    yield "bitshuffle-lz4-few", "smooth", 5, 4, [(BITSHUFFLE, (0, 2))]
    yield "shuffle+gzip", "padded", 2500, 4, [(SHUFFLE, ()), (GZIP, (4,))]
    yield "shuffle+gzip+fletcher", "padded", 2500, 4, [(SHUFFLE, ()), (GZIP, (4,)), (FLETCHER, ())]
    yield "fletcher+gzip", "padded", 2501, 2, [(FLETCHER, ()), (GZIP, (1,))]
    yield "fletcher+shuffle", "smooth", 77, 8, [(FLETCHER, ()), (SHUFFLE, ())]
    yield "shuffle+bzip2", "padded", 2500, 4, [(SHUFFLE, ()), (BZIP2, (9,))]
    yield "shuffle+lzf", "padded", 2500, 4, [(SHUFFLE, ()), (LZF, ())]
    yield "lzf+gzip", "padded", 2500, 4, [(LZF, ()), (GZIP, (9,))]
    yield "lzf+gzip-noise", "noise", 500, 4, [(LZF, ()), (GZIP, (9,))]
    yield "shuffle+zstd+fletcher", "padded", 1250, 8, [(SHUFFLE, ()), (ZSTD, (1,)), (FLETCHER, ())]
    yield "bitshuffle+gzip", "padded", 2503, 4, [(BITSHUFFLE, (0, 0)), (GZIP, (4,))]
    yield "shuffle+lz4+zstd+gzip", "padded", 2503, 4, [(SHUFFLE, ()), (LZ4, ()), (ZSTD, (3,)), (GZIP, (4,))]


def encode(pattern, elements, size, filters):
    raw = PATTERNS[pattern](np.arange(elements * size, dtype=np.int64)).astype(np.uint8)
    with h5py.File("golden", "w", driver="core", backing_store=False) as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((elements,))
        for code, values in filters:
            plist.set_filter(code, h5py.h5z.FLAG_OPTIONAL, values)
        dtype = np.dtype(DTYPES[size])
        space = h5py.h5s.create_simple((elements,))
        dset = h5py.h5d.create(file.id, b"x", h5py.h5t.py_create(dtype), space, plist)
        dset.write(h5py.h5s.ALL, h5py.h5s.ALL, raw.view(dtype))
        back = np.empty_like(raw)
        dset.read(h5py.h5s.ALL, h5py.h5s.ALL, back.view(dtype))
        assert (back == raw).all()
        plist = dset.get_create_plist()
        stored = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        mask, data = dset.read_direct_chunk((0,))
    specs = " ".join(f"{code}:{','.join(map(str, values))}" for code, _, values, _ in stored)
    return mask, specs, data.hex()


def main():
    lines = []
    for name, pattern, elements, size, filters in cases():
        mask, specs, data = encode(pattern, elements, size, filters)
        lines.append(f"{name} | {pattern} | {elements * size} | {size} | {mask} | {specs} | {data}")
    target = pathlib.Path(__file__).with_name("codec.golden")
    target.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
