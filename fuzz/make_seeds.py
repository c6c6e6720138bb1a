#!/usr/bin/env python3
"""Write the seeds of all fuzz targets to OUT_DIR/<target>/<case>: python fuzz/make_seeds.py OUT_DIR.

For codec_fuzz.cpp the golden chunks, and a few streams of the codecs that only Parquet has; the recipe in front of the
stored bytes is described there. For hdf5_open_fuzz.cpp small files, of one idea each; for hdf5_metadata_fuzz.cpp the
structures in some of them; for parquet_fuzz.cpp files of pyarrow's, where it is installed; for zarr_fuzz.cpp metadata
with a chunk or a shard; for tokens_fuzz.cpp indexes and a manifest. What is text comes from document_seeds.py. To those
come the inputs of regressions.txt. They are the same every time, so that a failure can be made again; only the
named type of types_v1* carries the time of writing.
"""

import json
import pathlib
import shutil
import struct
import sys
import zlib
from collections.abc import Callable

import h5py
import numpy as np
from document_seeds import (
    write_bench_seeds,
    write_run_file_seeds,
    write_saved_seeds,
    write_tokenizer_seeds,
    write_zarr_json_seeds,
)

IDS = [1, 2, 3, 307, 32000, 32001, 32004, 32008, 32015, 4, 5, 6]
TARGETS = [
    "deflate",
    "shuffle",
    "fletcher32",
    "bzip2",
    "lzf",
    "blosc",
    "lz4",
    "bitshuffle",
    "zstd",
    "szip",
    "nbit",
    "scaleoffset",
    "snappy",  # from here on codecs of Parquet, without a number of HDF5's
    "gzip",
    "lz4_raw",
    "lz4_hadoop",
    "crc32c",  # and of Zarr
    "lz4_sized",
]


def write_codec_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of the decoders below ``out_dir``."""
    golden = pathlib.Path(__file__).parent.parent / "tests" / "golden" / "codec.golden"
    for line in golden.read_text().splitlines():
        name, _, size, _, mask, specs, stored = (part.strip() for part in line.split("|"))
        recipe = struct.pack("<BBH", len(specs.split()), int(mask), int(size))
        for spec in specs.split():
            code, values = spec.split(":")
            values = [int(v) & 0xFFFF for v in values.split(",") if v][:63]  # fill values lose their upper half
            recipe += struct.pack(f"<BB{len(values)}H", IDS.index(int(code)), len(values), *values)
        targets = ["codec_chain"]
        if len(specs.split()) == 1 and mask == "0":
            targets.append(TARGETS[recipe[4]])
        for target in targets:
            folder = out_dir / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(recipe + bytes.fromhex(stored))


def gzip_member(data: bytes) -> bytes:
    """Return one gzip member, without the time."""
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def write_page_codec_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of the codecs that HDF5 does not have: 48 bytes, twice, by hand where Python has no encoder."""
    half = bytes(range(48))
    block = b"\xff\x21" + half + b"\x30\x00\x18" + b"\x50" + half[-5:]  # 48 literals, 43 copied, 5 literals
    frame = bytes.fromhex("04224d18604082") + struct.pack("<I", len(block)) + block + bytes(4)
    hadoop = struct.pack(">II", 96, len(block)) + block
    two_blocks = struct.pack(">I", 192) + 2 * hadoop[4:]
    seeds = {
        "snappy": {"copy": (96, b"\x60\xbc" + half + b"\xbe\x30\x00"), "nothing": (0, b"\0")},
        "gzip": {
            "member": (96, gzip_member(2 * half)),
            "members": (96, 2 * gzip_member(half)),
            "zlib": (96, zlib.compress(2 * half)),
        },
        "lz4_raw": {"block": (96, block), "nothing": (0, b"\0")},
        "lz4_hadoop": {
            "frame": (96, hadoop),
            "frames": (192, 2 * hadoop),
            "blocks": (192, two_blocks),
            "bare": (96, block),
            "own_frame": (96, frame),
        },
        "crc32c": {"digits": (9, b"123456789" + bytes.fromhex("839206e3"))},
        "lz4_sized": {"block": (96, struct.pack("<I", 96) + block)},
    }
    for target, cases in seeds.items():
        for name, (size, stored) in cases.items():
            recipe = struct.pack("<BBHBB", 1, 0, size, TARGETS.index(target), 0)
            for folder in (out_dir / target, out_dir / "codec_chain"):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / f"{target}_{name}").write_bytes(recipe + stored)


ROWS = 24
NUMBERS = np.arange(3 * ROWS, dtype="<i4").reshape(ROWS, 3)
RECORD = np.dtype([("a", "<f4"), ("b", ">i2", (2,)), ("c", "S3")])


def without_times() -> h5py.h5p.PropDCID:
    """Return settings of a dataset that does not remember when it was written, as h5py's own functions have them."""
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_obj_track_times(False)
    return settings


def plain(file: h5py.File) -> None:
    """Contiguous, empty, big-endian, and of one bit."""
    file["contiguous"] = NUMBERS
    file["big_endian"] = NUMBERS.astype(">f8")
    file["truth"] = NUMBERS > ROWS
    file.create_dataset("unwritten", (ROWS,), "<f4", fillvalue=7)
    file.create_dataset("nothing", (0, 3), "<f4", maxshape=(None, 3), chunks=(4, 3))
    file["scalar"] = 1.5


def chunked(file: h5py.File) -> None:
    """Chunks of every kind of index, with and without filters."""
    kinds = {"fixed": (ROWS, 3), "extensible": (None, 3), "both": (None, None)}
    for name, maxshape in kinds.items():
        file.create_dataset(name, data=NUMBERS, chunks=(5, 2), maxshape=maxshape)
        file.create_dataset(f"{name}_deflate", data=NUMBERS, chunks=(5, 3), maxshape=maxshape, compression=4)
    file.create_dataset("one", data=NUMBERS, chunks=NUMBERS.shape, shuffle=True, fletcher32=True)


def library(file: h5py.File) -> None:
    """What libhdf5 decodes."""
    file.create_dataset("scaleoffset", data=NUMBERS, chunks=(8, 3), scaleoffset=0)
    nbit = without_times()
    nbit.set_chunk((8, 3))
    nbit.set_filter(h5py.h5z.FILTER_NBIT)
    odd = h5py.h5t.STD_I32LE.copy()
    odd.set_precision(17)
    space = h5py.h5s.create_simple(NUMBERS.shape)
    h5py.h5d.create(file.id, b"nbit", odd, space, nbit).write(h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS)
    h5py.h5d.create(file.id, b"odd", odd, space, without_times()).write(h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS)
    raw = [("/nowhere/raw", 0, h5py.h5f.UNLIMITED)]
    file.create_dataset("external", (ROWS,), "<i4", external=raw)
    virtual = without_times()
    virtual.set_virtual(space, b".", b"odd", space)
    h5py.h5d.create(file.id, b"virtual", h5py.h5t.STD_I32LE, space, virtual)


def types(file: h5py.File) -> None:
    """Records, enumerations, named types, texts."""
    file["record"] = np.zeros(ROWS, RECORD)
    file.create_dataset("records", data=np.zeros(ROWS, RECORD), chunks=(7,), compression="lzf")
    file["type"] = RECORD
    file.create_dataset("named", (ROWS,), file["type"])
    file.create_dataset("enum", (4,), h5py.enum_dtype({"RED": 0, "GREEN": 1}, basetype="i1"))
    file["text"] = [b"one", b"three"]
    file.create_dataset("texts", data=["a", "bc"], dtype=h5py.string_dtype())


def groups(file: h5py.File) -> None:
    """Groups, links and attributes; a compact array."""
    compact = without_times()
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple(NUMBERS.shape)
    h5py.h5d.create(file.id, b"compact", h5py.h5t.STD_I32LE, space, compact).write(h5py.h5s.ALL, h5py.h5s.ALL, NUMBERS)
    links = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
    links.set_obj_track_times(False)
    for name in (b"group", b"group/deeper"):
        h5py.h5g.create(file.id, name, gcpl=links)
    for i in range(12):
        file[f"group/deeper/a{i}"] = np.arange(i + 1, dtype="u1")
    file["group/again"] = file["group"]
    file["soft"] = h5py.SoftLink("/group/deeper/a1")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    file.attrs["texts"] = np.array(["labels", "of", "columns"], h5py.string_dtype())
    for i in range(12):  # past 8, newer files keep them elsewhere
        file["compact"].attrs[f"number{i}"] = np.arange(i, dtype="<f4")


FILES: list[Callable[[h5py.File], None]] = [plain, chunked, library, types, groups]


def write_hdf5_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of hdf5_open below ``out_dir``."""
    folder = out_dir / "hdf5_open"
    folder.mkdir(parents=True, exist_ok=True)
    for libver in ("earliest", "v108", "v110"):
        for user_block in (0, 512) if libver == "v108" else (0,):
            for fill in FILES:
                path = folder / f"{fill.__name__}_{libver}_{user_block}.h5"
                with h5py.File(path, "w", libver=(libver, "v110"), userblock_size=user_block) as file:
                    fill(file)


def write_hdf5_regressions(out_dir: pathlib.Path) -> None:
    """Write damaged files that once made hdf5_open fail."""
    path = out_dir / "hdf5_open" / "heap_of_links_without_index.h5"  # libhdf5 read from the null pointer
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        group = file.create_group("group", track_order=True)
        for i in range(20):
            group[f"link{i}"] = np.arange(4, dtype="<i4")
    content = bytearray(path.read_bytes())
    message = content.index(struct.pack("<Q", content.index(b"FRHP")))  # the heap's address, then that of the index
    content[message + 8 : message + 16] = b"\xff" * 8
    path.write_bytes(content)


def write_metadata_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of hdf5_metadata, whose recipe stands in front of its source: structures of hdf5_open's seeds."""
    folder = out_dir / "hdf5_metadata"
    folder.mkdir(parents=True, exist_ok=True)

    def places(content: bytearray, signature: bytes) -> list[int]:
        return [at for at in range(len(content)) if content.startswith(signature, at)]

    for name in (
        "chunked_v110_0",
        "groups_v110_0",
        "groups_v108_0",
        "groups_earliest_0",
        "heap_of_links_without_index",
    ):
        content = bytearray((out_dir / "hdf5_open" / f"{name}.h5").read_bytes())
        for at in places(content, b"FRHP"):  # a heap of blocks without checksums: theirs are not at their ends
            content[at + 9] &= ~2
        trees = {content[at + 5]: at for at in places(content, b"BTHD")}
        names = places(content, b"HEAP")
        for signature, kind in {b"BTHD": 0, b"FAHD": 1, b"EAHD": 2, b"FRHP": 3, b"HEAP": 4, b"TREE": 5}.items():
            for at in places(content, signature):
                record, count, second = content[at + 5], 100, 0
                more = content[at + 6] - 8 if kind in (1, 2) else content[at + 10] - 1
                if kind == 1:
                    count = content[at + 8]
                if kind == 5:
                    second = max((heap for heap in names if heap < at), default=0)
                recipes = [(kind, 10, record, more % 256, at, second, count)]
                if kind in (0, 1, 2):  # as an index of 5 times 3 chunks
                    index = {0: 4, 1: 2, 2: 3}[kind]
                    recipes.append((7, 10, index, (record & 1) | (0, 6, 2, 2)[index - 1], at, 60, 5 | 3 << 8))
                if kind == 3:
                    recipes.append((6, 10, 0, 2 if 6 in trees else 0, at, trees.get(5, 0), trees.get(6, 0)))
                for i, recipe in enumerate(recipes):
                    (folder / f"{name}_{at}_{i}").write_bytes(struct.pack("<BBBBHHH", *recipe) + content)


def write_npy_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of npy_open below ``out_dir``."""
    folder = out_dir / "npy_open"
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {
        "numbers": NUMBERS,
        "big": np.arange(30, dtype=">f8").reshape(10, 3),
        "record": np.zeros(ROWS, RECORD),
        "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "text": np.array([b"one", b"three"]),
        "scalar": np.float32(3),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)


def write_parquet_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of parquet below ``out_dir``, where pyarrow is there to write them."""
    folder = out_dir / "parquet"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        print("fuzz/make_seeds.py: no Parquet files among the seeds, since pyarrow is not installed")
        return
    nulls = np.arange(ROWS) % 3 == 0
    numbers = {
        "flags": pa.array(np.arange(ROWS) % 5 < 2, mask=nulls),
        "bytes": pa.array(np.arange(ROWS, dtype="u1")),
        "ints": pa.array(np.arange(ROWS, dtype="i4") ** 3, mask=nulls),
        "longs": pa.array(np.arange(ROWS, dtype="i8") * -(10**12)),
        "floats": pa.array(np.linspace(0, 1, ROWS, dtype="f4"), mask=nulls),
        "doubles": pa.array(np.linspace(-1, 1, ROWS)),
    }
    other = {
        "halves": pa.array(np.linspace(0, 1, ROWS).astype("f2")),
        "small": pa.array([1, None] * (ROWS // 2) + [2] * (ROWS % 2), pa.decimal128(7, 2)),
        "times": pa.array(np.arange(ROWS), pa.timestamp("us", "UTC")),
        "fixed": pa.array([b"abcde"] * ROWS, pa.binary(5)),
        "texts": pa.array(["a", "bc"] * (ROWS // 2) + [""] * (ROWS % 2)),
        "lists": pa.array([[1, 2]] * ROWS),
        "inner": pa.array([{"a": 1.5, "b": None}] * ROWS, pa.struct({"a": pa.float64(), "b": pa.int32()})),
    }
    few = ([[1.5, None], [], None, [2.5] * 9, [4.0]] * ROWS)[:ROWS]
    hits = ([[{"time": 1.0, "dom": None}, {"time": 2.0, "dom": 3}], [], None] * ROWS)[:ROWS]
    lists = {
        "few": pa.array(few, pa.list_(pa.float32())),
        "hits": pa.array(hits, pa.list_(pa.struct({"time": pa.float64(), "dom": pa.int16()}))),
        "pairs": pa.array([[1, 2]] * ROWS, pa.list_(pa.int64(), 2)),
    }
    deltas = dict.fromkeys(("bytes", "ints", "longs"), "DELTA_BINARY_PACKED")
    split = dict.fromkeys(("floats", "doubles"), "BYTE_STREAM_SPLIT")
    settings: dict[str, dict[str, object]] = {
        "dictionary": {"compression": "NONE"},
        "plain": {"compression": "SNAPPY", "use_dictionary": False, "write_page_checksum": True},
        "version2": {"compression": "ZSTD", "data_page_version": "2.0", "data_page_size": 64, "write_batch_size": 8},
        "deltas": {"compression": "GZIP", "use_dictionary": False, "column_encoding": {**deltas, **split}},
        "int96": {"compression": "LZ4", "use_deprecated_int96_timestamps": True, "row_group_size": ROWS // 2},
    }
    for name, options in settings.items():
        pq.write_table(pa.table(numbers), folder / f"numbers_{name}.parquet", **options)
        options.pop("column_encoding", None)
        pq.write_table(pa.table(other), folder / f"other_{name}.parquet", store_decimal_as_integer=True, **options)
        pq.write_table(pa.table(lists), folder / f"lists_{name}.parquet", **options)


def write_zarr_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of zarr: metadata of each version, and a chunk or a shard behind it."""
    folder = out_dir / "zarr"
    folder.mkdir(parents=True, exist_ok=True)
    two = {"zarr_format": 2, "shape": [10, 6], "chunks": [4, 3], "order": "C", "fill_value": 0, "filters": None}
    plain = bytes(range(48))
    documents: dict[str, tuple[int, dict, bytes]] = {
        "raw": (2, {**two, "dtype": "<f4", "compressor": None}, plain),
        "fortran": (2, {**two, "dtype": ">i2", "compressor": None, "order": "F", "fill_value": -3}, plain[:24]),
        "zlib": (2, {**two, "dtype": "<f4", "compressor": {"id": "zlib"}, "fill_value": "NaN"}, zlib.compress(plain)),
        "record": (2, {**two, "dtype": [["a", "<i2"], ["b", "|u1", [2]]], "compressor": None}, plain),
        "shuffled": (
            2,
            {**two, "dtype": "<c8", "compressor": {"id": "gzip"}, "filters": [{"id": "shuffle", "elementsize": 8}]},
            gzip_member(plain + plain),
        ),
    }
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    three = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [10, 6],
        "data_type": "float32",
        "fill_value": "0x7fc00000",
    }
    three |= {"chunk_key_encoding": {"name": "default"}}
    grid = {"name": "regular", "configuration": {"chunk_shape": [4, 3]}}
    documents["transposed"] = (
        3,
        {**three, "chunk_grid": grid, "codecs": [{"name": "transpose", "configuration": {"order": [1, 0]}}, little]},
        plain,
    )
    for place in ("start", "end"):
        inner = {"chunk_shape": [2, 3], "codecs": [little], "index_codecs": [little], "index_location": place}
        codecs = [{"name": "sharding_indexed", "configuration": inner}]
        first = 32 if place == "start" else 0
        index = struct.pack("<QQQQ", first, 24, 2**64 - 1, 2**64 - 1)
        shard = index + plain[:24] if place == "start" else plain[:24] + index
        documents[f"shard_{place}"] = (3, {**three, "chunk_grid": grid, "codecs": codecs}, shard)
    for name, (version, document, stored) in documents.items():
        text = json.dumps(document).encode()
        (folder / name).write_bytes(struct.pack("<BH", version, len(text)) + text + stored)


def write_token_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of tokens: an index of Megatron's, a manifest, and ends of documents."""
    folder = out_dir / "tokens"
    folder.mkdir(parents=True, exist_ok=True)
    lengths, marks = [5, 3, 7, 0, 2], [0, 2, 2, 3, 5]
    for code, width in ((8, 2), (4, 4), (1, 1)):
        pointers = [width * sum(lengths[:i]) for i in range(5)]
        index = (
            b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, 5, 5) + struct.pack("<5i5q5q", *lengths, *pointers, *marks)
        )
        (folder / f"index_{width}").write_bytes(struct.pack("<BQ", 0, 17 * width) + index)
        (folder / f"modes_{width}").write_bytes(struct.pack("<BQ", 0, 17 * width) + index + bytes(5))
    shard = {"file": "tokens-00000.npy", "ends": "ends-00000.npy", "tokens": 17, "documents": 4}
    manifest = {"format": "headrace-tokens", "format_version": 1, "dtype": "uint16", "vocab_size": 50257}
    manifest |= {"tokenizer": {"name": "gpt2", "hash": "6d"}, "end_of_text": 50256, "tokens": 17, "shards": [shard]}
    (folder / "manifest").write_bytes(struct.pack("<BQ", 1, 0) + json.dumps(manifest).encode())
    (folder / "ends").write_bytes(struct.pack("<BQ4Q", 2, 17, 8, 8, 15, 17))


def write_regressions(out_dir: pathlib.Path) -> None:
    """Write the inputs that regressions.txt spells out."""
    for line in pathlib.Path(__file__).with_name("regressions.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            target, name, data = (part.strip() for part in line.split("|"))
            folder = out_dir / target
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(bytes.fromhex("" if data == "-" else data))


def write_all_seeds(out_dir: pathlib.Path) -> None:
    """Write the seeds of every target below ``out_dir``, in place of what is there."""
    shutil.rmtree(out_dir, ignore_errors=True)
    for write in (
        write_codec_seeds,
        write_page_codec_seeds,
        write_hdf5_seeds,
        write_hdf5_regressions,
        write_metadata_seeds,
        write_npy_seeds,
        write_parquet_seeds,
        write_zarr_seeds,
        write_zarr_json_seeds,
        write_saved_seeds,
        write_bench_seeds,
        write_run_file_seeds,
        write_token_seeds,
        write_tokenizer_seeds,
        write_regressions,
    ):
        write(out_dir)


if __name__ == "__main__":
    write_all_seeds(pathlib.Path(sys.argv[1]))
