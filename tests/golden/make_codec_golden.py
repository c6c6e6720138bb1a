#!/usr/bin/env python3
"""Write codec.golden: single chunks as HDF5 itself stores them, one case a line, read by src/codec/golden_test.cpp.

    python tests/golden/make_codec_golden.py        (needs numpy, h5py and hdf5plugin)

A line is `name | pattern | decoded bytes | element bytes | filter mask | id:value,value id:… | stored bytes in hex`.
The decoded bytes are not in the file: `pattern` names one of the formulas below, which the test repeats. Filters that
depend on the datatype have chunks of their own, with the decoded bytes as `hex:…` in place of a pattern: those that
HDF5 reads back without any conversion.
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
NBIT = h5py.h5z.FILTER_NBIT
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


def integers(size, signed, big_endian=False, precision=None, offset=0):
    """Return HDF5's type of an integer, of which `precision` bits above `offset` bits are significant."""
    kind = h5py.h5t.py_create(np.dtype(f"{'>' if big_endian else '<'}{'i' if signed else 'u'}{size}")).copy()
    if precision is not None:
        kind.set_precision(precision)
        kind.set_offset(offset)
    return kind


def floats(size, big_endian=False):
    return h5py.h5t.py_create(np.dtype(f"{'>' if big_endian else '<'}f{size}")).copy()


def few_bits(big_endian):
    """Return HDF5's type of a float with 6 bits of exponent and 11 of mantissa, 3 bits above the end of 4 bytes."""
    kind = floats(4, big_endian)
    kind.set_fields(20, 14, 6, 3, 11)
    kind.set_offset(3)
    kind.set_precision(18)
    kind.set_ebias(31)
    return kind


def record(size, **members):
    kind = h5py.h5t.create(h5py.h5t.COMPOUND, size)
    for name, (offset, member) in members.items():
        kind.insert(name.encode(), offset, member)
    return kind


def array(kind, *shape):
    return h5py.h5t.array_create(kind, shape)


def scale_offset_cases():
    """(name, type, shape, values, settings of the dataset)"""  # noqa: D415
    i = np.arange(41, dtype=np.int64)
    small = (i * 7) % 23 - 11
    for size in (1, 2, 4, 8):
        for signed in (False, True):
            for big_endian in (False, True)[: 1 if size == 1 else 2]:
                kind = integers(size, signed, big_endian)
                dtype = kind.dtype
                name = f"scaleoffset-{dtype.str[1:]}-{'be' if big_endian else 'le'}"
                values = (small + (0 if signed else 100)).astype(dtype)
                far = np.where(i % 5 == 0, np.iinfo(dtype).min, values).astype(dtype)
                far[-1] = np.iinfo(dtype).max  # all bits are needed
                fill = dtype.type(-7 if signed else 101)
                yield name, kind, values.shape, values, {"scaleoffset": 0}
                yield f"{name}-fill", kind, values.shape, values, {"scaleoffset": 0, "fill": fill}
                yield f"{name}-5", kind, values.shape, values, {"scaleoffset": 5, "fill": fill}
                yield f"{name}-full", kind, far.shape, far, {"scaleoffset": 0, "fill": fill}
    kind = integers(4, True, True)
    yield "scaleoffset-32", kind, (41,), small.astype(">i4"), {"scaleoffset": 32}
    yield "scaleoffset-all-fill", kind, (41,), np.full(41, -7, ">i4"), {"scaleoffset": 0, "fill": np.int32(-7)}
    yield "scaleoffset-2d", kind, (4, 10), small[:40].astype(">i4").reshape(4, 10), {"scaleoffset": 0}
    yield "scaleoffset+gzip+fletcher", kind, (41,), small.astype(">i4"), {"scaleoffset": 0, "more": [GZIP, FLETCHER]}
    for size in (4, 8):
        for big_endian in (False, True):
            kind = floats(size, big_endian)
            values = (np.sin(i) * 123.456).astype(kind.dtype)
            some = np.where(i % 6 == 0, -999.9, values).astype(kind.dtype)
            fill = kind.dtype.type(-999.9)
            name = f"scaleoffset-f{size}-{'be' if big_endian else 'le'}"
            for digits in (0, 1, 3, 5):
                yield f"{name}-{digits}", kind, (41,), values, {"digits": digits}
                yield f"{name}-{digits}-fill", kind, (41,), some, {"digits": digits, "fill": fill}
            yield f"{name}-full", kind, (41,), values * 10.0**6, {"digits": 14 if size == 8 else 7}


def n_bit_cases():
    """(name, type, shape, seed of the bytes, settings of the dataset)"""  # noqa: D415
    numbers = {
        "17-of-32": integers(4, True, False, 17),
        "17-of-32-above-3": integers(4, True, False, 17, 3),
        "17-of-32-above-3-be": integers(4, True, True, 17, 3),
        "16-of-32-above-8-be": integers(4, False, True, 16, 8),
        "5-of-8-above-2": integers(1, False, False, 5, 2),
        "9-of-16-be": integers(2, True, True, 9),
        "33-of-64": integers(8, True, False, 33),
        "63-of-64-above-1-be": integers(8, False, True, 63, 1),
        "all-of-32": integers(4, True),
        "float-18-of-32": few_bits(False),
        "float-18-of-32-be": few_bits(True),
    }
    three = integers(4, True, True, 20)
    three.set_size(3)
    sixteen = integers(8, False)
    sixteen.set_size(16)
    sixteen.set_precision(77)
    numbers |= {"20-of-24-be": three, "77-of-128": sixteen}
    odd, be = numbers["17-of-32-above-3"], numbers["9-of-16-be"]
    text = h5py.h5t.py_create(np.dtype("S5"))
    flag = h5py.h5t.py_create(np.dtype("?"), logical=True)
    whole = record(24, a=(0, integers(2, True)), b=(8, floats(8)), c=(16, integers(4, False, True)))
    mixed = record(19, s=(1, text), n=(6, odd), f=(10, flag), m=(11, be), w=(13, integers(4, True)))
    types = numbers | {
        "record": whole,
        "mixed": mixed,
        "array": array(odd, 3),
        "array-2d": array(be, 2, 3),
        "array-of-arrays": array(array(odd, 2), 3),
        "array-of-records": array(mixed, 2),
        "record-of-arrays": record(40, a=(0, array(be, 3)), t=(8, array(text, 2)), r=(20, array(array(mixed, 1), 1))),
        "record-in-record": record(50, r=(2, mixed), x=(30, record(10, y=(3, odd)))),
    }
    for seed, (name, kind) in enumerate(types.items()):
        yield f"nbit-{name}", kind, (13,), seed, {"nbit": True}
    yield "nbit+gzip", odd, (13,), 50, {"nbit": True, "more": [GZIP]}
    yield (
        "nbit-enum",
        h5py.h5t.py_create(h5py.enum_dtype({"a": 0, "b": 1}, "<i4"), logical=True),
        (13,),
        51,
        {"nbit": True},
    )


def szip_cases():
    """(name, type, shape, values, settings of the dataset)"""  # noqa: D415
    i = np.arange(131, dtype=np.int64)
    values = np.where(i % 50 < 20, i * 3 % 17, np.where(i % 50 < 35, 7, (i * 40503) & 0x7F))
    for size in (1, 2, 4, 8):
        for big_endian in (False, True)[: 1 if size == 1 else 2]:
            kinds = {f"i{size}": integers(size, True, big_endian), f"u{size}": integers(size, False, big_endian)}
            if size > 2:
                kinds[f"f{size}"] = floats(size, big_endian)
            for name, kind in kinds.items():
                for coding in ("nn", "ec"):
                    block = 8 if coding == "nn" else 10
                    yield f"szip-{name}-{'be' if big_endian else 'le'}-{coding}", kind, (131,), values, {coding: block}
    for block in (2, 4, 16, 32):
        yield f"szip-block-{block}", integers(2, True), (131,), values, {"nn": block}
    yield "szip-whole-scanlines", integers(2, True), (4, 32), values[:128].reshape(4, 32), {"nn": 8}
    yield "szip-short-scanlines", integers(4, True), (13, 9), values[:117].reshape(13, 9), {"nn": 8}
    yield "szip-scanlines-below-a-block", integers(4, True), (13, 3), values[:39].reshape(13, 3), {"nn": 16}
    long = np.tile(values, 33)[:4200]
    yield "szip-long-scanlines", integers(1, False), (4200,), long, {"nn": 32}
    yield "szip-12-of-16", integers(2, False, False, 12), (131,), values * 31, {"nn": 8}
    yield "szip-20-of-32-be", integers(4, False, True, 20), (131,), values * 8000, {"ec": 8}
    yield "szip-24-of-32", integers(4, False, False, 24), (131,), values * 130000, {"nn": 8}
    yield "shuffle+szip", integers(4, True), (131,), values, {"before": [SHUFFLE], "nn": 8}
    yield "szip+gzip+fletcher", integers(4, True), (131,), values, {"nn": 8, "more": [GZIP, FLETCHER]}


def typed_line(name, kind, shape, values, settings):
    """Return the line of a chunk whose filter depends on the datatype; of an n-bit chunk, `values` seeds its bytes."""
    size = int(np.prod(shape)) * kind.get_size()
    if settings.get("nbit"):
        raw = noise(np.arange(size, dtype=np.int64) + 1000 * values).astype(np.uint8)
    else:
        raw = np.ascontiguousarray(values.astype(kind.dtype)).view(np.uint8).reshape(-1)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(shape)
    if "fill" in settings:
        plist.set_fill_value(np.asarray(settings["fill"]))
    for code in settings.get("before", []):
        plist.set_filter(code)
    if "scaleoffset" in settings:
        plist.set_scaleoffset(h5py.h5z.SO_INT, settings["scaleoffset"])
    if "digits" in settings:
        plist.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, settings["digits"])
    if "nbit" in settings:
        plist.set_filter(NBIT)
    for coding, options in (("nn", h5py.h5z.SZIP_NN_OPTION_MASK), ("ec", h5py.h5z.SZIP_EC_OPTION_MASK)):
        if coding in settings:
            plist.set_szip(options, settings[coding])
    for code in settings.get("more", []):
        plist.set_filter(code, 0, (4,) if code == GZIP else ())
    with h5py.File("golden", "w", driver="core", backing_store=False) as file:
        dset = h5py.h5d.create(file.id, b"x", kind, h5py.h5s.create_simple(shape), plist)
        dset.write(h5py.h5s.ALL, h5py.h5s.ALL, raw, mtype=kind)
        file.flush()
        image = file.id.get_file_image()
    with h5py.File(h5py.h5f.open_file_image(image)) as file:  # again, so that the chunk is decoded
        dset = file["x"].id
        back = np.empty_like(raw)
        dset.read(h5py.h5s.ALL, h5py.h5s.ALL, back, mtype=dset.get_type())
        plist = dset.get_create_plist()
        specs = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        mask, data = dset.read_direct_chunk((0,) * len(shape))
    assert mask == 0, name
    specs = " ".join(f"{code}:{','.join(map(str, values))}" for code, _, values, _ in specs)
    return f"{name} | hex:{back.tobytes().hex()} | {size} | {kind.get_size()} | {mask} | {specs} | {data.hex()}"


def main():
    lines = []
    for name, pattern, elements, size, filters in cases():
        mask, specs, data = encode(pattern, elements, size, filters)
        lines.append(f"{name} | {pattern} | {elements * size} | {size} | {mask} | {specs} | {data}")
    lines += [typed_line(*case) for case in (*scale_offset_cases(), *n_bit_cases(), *szip_cases())]
    target = pathlib.Path(__file__).with_name("codec.golden")
    target.write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} cases, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
