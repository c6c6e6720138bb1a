"""The files that are mutated: small, of one idea each. As a program: python hostile_bases.py FOLDER writes them.

Each base is a folder below FOLDER, with the file to mutate, the files it names, and ``base.json``, which says what was
written.
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from hostile_checksums import Checked, find_metadata_sums

sys.path.append(str(Path(__file__).resolve().parents[2] / "fuzz"))
import make_seeds

ROWS = 40
RANDOM = np.random.default_rng(5)
REALS = RANDOM.normal(size=(ROWS, 6)).astype("f4")
SMALL = RANDOM.integers(0, 50, size=(ROWS, 4)).astype("i4")
RECORD = np.dtype([("a", "<f4"), ("b", ">i2", (2,)), ("c", "S3"), ("d", [("e", "u1"), ("f", "<i8")])])
STORED = {"compression": "gzip", "compression_opts": 0}  # streams of stored blocks: a change of a byte stays one
OPEN, DEFER = h5py.h5s.UNLIMITED, h5py.h5d.FILL_TIME_ALLOC


def create(file: h5py.File, name: str, kind: Any, data: np.ndarray, settings: Callable[[Any], object]) -> None:
    """A dataset whose creation list h5py's create_dataset has no words for."""
    made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings(made)
    stored = kind if isinstance(kind, h5py.h5t.TypeID) else h5py.h5t.py_create(np.dtype(kind), logical=True)
    dataset = h5py.h5d.create(file.id, name.encode(), stored, h5py.h5s.create_simple(data.shape), made)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data))  # h5py has no dtype for some of them


def layouts(file: h5py.File) -> None:
    file["contiguous"] = REALS
    file["big_endian"] = REALS.astype(">f8")
    create(file, "compact", "<i4", SMALL, lambda made: made.set_layout(h5py.h5d.COMPACT))
    file["half"] = REALS.astype("f2")
    file["complex"] = (REALS + 1j).astype("c8")
    file["truth"] = SMALL > 20
    file.create_dataset("enum", data=SMALL % 3, dtype=h5py.enum_dtype({"RED": 0, "GREEN": 1, "BLUE": 2}, basetype="i1"))
    file.create_dataset("inner", (ROWS,), np.dtype(("<i2", (2, 3))))[:] = np.arange(6 * ROWS).reshape(ROWS, 2, 3)


def indexes(file: h5py.File) -> None:
    """Chunks of every kind of index, not all of them there."""
    for name, most in {"fixed": (ROWS, 6), "extensible": (None, 6), "tree": (None, None)}.items():
        made = file.create_dataset(name, REALS.shape, "f4", chunks=(7, 4), maxshape=most, fillvalue=5)
        made[:20] = REALS[:20]
        file.create_dataset(f"{name}_gzip", data=REALS, chunks=(7, 6), maxshape=most, compression="gzip")
    file.create_dataset("single", data=REALS, chunks=REALS.shape)
    file.create_dataset("single_gzip", data=REALS, chunks=REALS.shape, compression="gzip", shuffle=True)

    def implicit(made: Any) -> None:
        made.set_chunk((9, 6))
        made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)

    create(file, "implicit", "<f4", REALS, implicit)


def many_chunks(file: h5py.File) -> None:
    """Indexes of more than one node."""
    file.create_dataset("x", data=np.arange(400), chunks=(1,), maxshape=(None,))
    file.create_dataset("y", data=np.arange(400), chunks=(3,), compression="gzip", compression_opts=0)
    file.create_dataset("z", data=np.arange(800).reshape(400, 2), chunks=(5, 1), maxshape=(None, None))


def filters(file: h5py.File) -> None:
    file.create_dataset("sum", data=SMALL, chunks=(9, 4), fletcher32=True)
    file.create_dataset("stored", data=SMALL, chunks=(9, 4), **STORED)
    file.create_dataset("both", data=SMALL, chunks=(25, 3), compression="gzip", shuffle=True, fletcher32=True)
    file.create_dataset("lzf", data=SMALL, chunks=(16, 4), compression="lzf")
    file.create_dataset("shuffled", data=REALS, chunks=(16, 6), compression="lzf", shuffle=True, fletcher32=True)


def library(file: h5py.File) -> None:
    """What libhdf5 decodes, alone and below a compressor."""
    odd = h5py.h5t.STD_I32LE.copy()
    odd.set_precision(17)

    def nbit(made: Any) -> None:
        made.set_chunk((9, 4))
        made.set_filter(h5py.h5z.FILTER_NBIT)

    def nbit_gzip(made: Any) -> None:
        nbit(made)
        made.set_deflate(0)

    file.create_dataset("scaled", data=SMALL, chunks=(9, 4), scaleoffset=0)
    file.create_dataset("scaled_gzip", data=SMALL, chunks=(9, 4), scaleoffset=0, **STORED)
    file.create_dataset("decimal", data=REALS, chunks=(9, 6), scaleoffset=2)
    create(file, "nbit", odd, SMALL, nbit)
    create(file, "nbit_gzip", odd, SMALL, nbit_gzip)
    create(file, "odd", odd, SMALL, lambda made: made.set_fill_time(DEFER))


def library_widths(file: h5py.File) -> None:
    """Numbers of 24 bits, which libhdf5 converts, below compressors; szip."""
    three = h5py.h5t.STD_I32LE.copy()
    three.set_size(3)

    def chunks(made: Any) -> None:
        made.set_chunk((9, 4))
        made.set_fill_time(DEFER)

    def gzip(made: Any) -> None:
        chunks(made)
        made.set_deflate(0)

    def summed(made: Any) -> None:
        gzip(made)
        made.set_fletcher32()

    for name, settings in {"three": chunks, "three_gzip": gzip, "three_summed": summed}.items():
        create(file, name, three, SMALL, settings)
    if h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP) and "szip" in h5py.filters.encode:
        file.create_dataset("szip", data=SMALL, chunks=(16, 4), compression="szip", compression_opts=("nn", 8))
        file.create_dataset("szip_real", data=REALS, chunks=(16, 6), compression="szip", compression_opts=("ec", 16))


def records(file: h5py.File) -> None:
    values = np.frombuffer(RANDOM.bytes(ROWS * RECORD.itemsize), RECORD)
    file["record"] = values
    file.create_dataset("records", data=values, chunks=(7,), compression="gzip", shuffle=True)
    file.create_dataset("filled", (ROWS,), RECORD, chunks=(7,), fillvalue=values[3])
    file["type"] = RECORD
    file.create_dataset("named", (ROWS,), file["type"])[:] = values


def strings(file: h5py.File) -> None:
    file["fixed"] = np.array([b"one", b"three"] * (ROWS // 2))
    file.create_dataset("utf8", (ROWS,), h5py.string_dtype("utf-8", 8), fillvalue=b"absent")
    padded = h5py.h5t.C_S1.copy()
    padded.set_size(6)
    padded.set_strpad(h5py.h5t.STR_SPACEPAD)
    create(file, "padded", padded, np.array([b"ab"] * ROWS), lambda made: made.set_chunk((8,)))
    file.create_dataset("text", data=["a", "bcd"] * (ROWS // 2), dtype=h5py.string_dtype())
    file.create_dataset("lists", (ROWS,), h5py.vlen_dtype("i4"))[0] = [1, 2, 3]


def attributes(file: h5py.File) -> None:
    file["x"] = REALS
    x = file["x"]
    x.attrs["unit"] = "GeV"
    x.attrs["fixed"] = np.bytes_(b"fixed text")
    x.attrs["numbers"] = np.arange(5, dtype=">i4")
    x.attrs.create("texts", ["labels", "of", "the columns"], dtype=h5py.string_dtype())
    x.attrs["nothing"] = h5py.Empty("f4")
    file["y"] = SMALL
    for i in range(12):  # past 8, newer files keep them in a heap
        file["y"].attrs[f"a{i}"] = f"text {i}" if i % 2 else np.arange(i, dtype="f4")
    x.attrs["pointer"] = file["y"].ref


def groups(file: h5py.File) -> None:
    file["x"] = SMALL
    deeper = file.create_group("group/deeper", track_order=True)
    for i in range(14):  # past 8, newer files keep them in a heap
        deeper[f"a{i}"] = np.arange(ROWS, dtype="u1")
    file["y"] = file["group/deeper/a3"]
    file["group/back"] = file["/group"]
    file["soft"] = h5py.SoftLink("/group/deeper/a1")
    file["broken"] = h5py.SoftLink("/nowhere")
    file["outside"] = h5py.ExternalLink("other.h5", "/x")
    with h5py.File(Path(file.filename).with_name("other.h5"), "w") as other:
        other["x"] = SMALL


def scales(file: h5py.File) -> None:
    file["energy"], file["x"] = np.arange(6.0), REALS
    file["energy"].make_scale("energy")
    file["x"].dims[1].attach_scale(file["energy"])
    file["x"].dims[0].label = "row"


def fills(file: h5py.File) -> None:
    file.create_dataset("late", (ROWS, 3), "<f4", fillvalue=7)
    file.create_dataset("text", (ROWS,), "S8", chunks=(16,), fillvalue=b"eight by")
    file.create_dataset("wide", (ROWS, 5), ">i8", chunks=(16, 2), fillvalue=-3, compression="gzip")
    file.create_dataset("records", (ROWS,), RECORD, chunks=(16,), fillvalue=np.zeros((), RECORD))
    file.create_dataset("grown", (3,), "i2", chunks=(2,), maxshape=(None,), fillvalue=9)[:] = [1, 2, 3]
    file["grown"].resize((ROWS,))


def external(file: h5py.File) -> None:
    folder = Path(file.filename).parent
    (folder / "raw").write_bytes(REALS.tobytes())
    (folder / "raw2").write_bytes(SMALL.tobytes()[: SMALL.nbytes // 2])
    file.create_dataset("raw", REALS.shape, "f4", external=[("raw", 0, REALS.nbytes)])
    parts = [("raw2", 0, SMALL.nbytes // 2), ("raw", 8, SMALL.nbytes // 2)]
    file.create_dataset("parts", SMALL.shape, "i4", external=parts)


def virtual(file: h5py.File) -> None:
    layout, wide = h5py.VirtualLayout((ROWS, 6), "f4"), h5py.VirtualLayout((ROWS, 8), "i4")
    for i, kind in enumerate(({"chunks": (5, 6)}, {"chunks": (8, 3), "compression": "gzip"})):
        name = f"source{i}.h5"
        with h5py.File(Path(file.filename).with_name(name), "w", libver=file.libver) as source:
            source.create_dataset("x", data=REALS[20 * i : 20 * i + 20], **kind)
            source.create_dataset("y", data=SMALL)
        layout[20 * i : 20 * i + 20] = h5py.VirtualSource(name, "x", (20, 6))
        wide[:, 4 * i : 4 * i + 4] = h5py.VirtualSource(name, "y", SMALL.shape)
    file.create_virtual_dataset("x", layout, fillvalue=4)
    file.create_virtual_dataset("wide", wide)
    file["row"] = np.arange(ROWS)


FILES = [layouts, indexes, many_chunks, filters, library, library_widths, records, strings, attributes, groups, scales]
FILES += [fills, external, virtual]


def _chunk_sums(dataset: h5py.Dataset, data: bytes) -> tuple[list[tuple[int, int]], list[Checked]]:
    """Where the stored values lie, and the checksums among them."""
    if dataset.is_virtual or dataset.external:
        return [], []
    if dataset.chunks is None:
        offset = dataset.id.get_offset()
        return ([(offset, dataset.id.get_storage_size())] if offset else []), []
    infos = [dataset.id.get_chunk_info(i) for i in range(dataset.id.get_num_chunks())]
    last = dataset.id.get_create_plist()
    steps = [last.get_filter(i)[0] for i in range(last.get_nfilters())]
    sums = []
    for info in infos:
        end = info.byte_offset + info.size
        if steps[-1:] == [h5py.h5z.FILTER_FLETCHER32]:
            end -= 4
            sums.append(Checked("fletcher32", info.byte_offset, end, end))
        stream = data[info.byte_offset : end]
        if h5py.h5z.FILTER_DEFLATE in steps and len(stream) > 11 and stream[2] == 1:  # one stored block
            sums.insert(0, Checked("adler", info.byte_offset + 7, end - 4, end - 4))
    return [(info.byte_offset, info.size) for info in infos], sums


def describe(path: Path, target: str) -> None:
    """Write base.json beside a file: what to open, what to mutate, where values and checksums lie."""
    data = (path.parent / target).read_bytes()
    raw: list[tuple[int, int]] = []
    sums: list[Checked] = []
    fields: list[str] = []
    guarded: dict[str, int] = {}  # CRC-32 of the values of fields whose chunks carry a checksum
    if h5py.is_hdf5(path.parent / target):
        found: list[h5py.Dataset] = []
        with h5py.File(path.parent / target) as file:
            file.visititems(lambda _, entry: found.append(entry) if isinstance(entry, h5py.Dataset) else None)
            for dataset in found:
                fields.append(dataset.name.lstrip("/"))
                ranges, more = _chunk_sums(dataset, data)
                raw += ranges
                sums += more
                if any(entry.kind == "fletcher32" for entry in more) and dataset.id.get_type().get_size() != 3:
                    guarded[fields[-1]] = zlib.crc32(np.ascontiguousarray(dataset[:64]).tobytes())
        sums += find_metadata_sums(data)
    wrong = [entry for entry in sums if not entry.fits(data)]
    assert not wrong, f"{path}: no checksums: {wrong}"
    said = {"open": path.name, "target": target, "raw": raw, "sums": [vars(s) for s in sums], "fields": fields}
    (path.parent / "base.json").write_text(json.dumps(said | {"guarded": guarded}))


def _write_numpy(folder: Path) -> None:
    arrays = {"x": REALS, "y": SMALL, "record": np.zeros(ROWS, RECORD), "text": np.array([b"one", b"three"] * 20)}
    for name, write in {"stored.npz": np.savez, "deflated.npz": np.savez_compressed}.items():
        (folder / name.split(".")[0]).mkdir()
        write(folder / name.split(".")[0] / name, **arrays)
        describe(folder / name.split(".")[0] / name, name)
    (folder / "npy").mkdir()
    np.save(folder / "npy" / "x.npy", np.asfortranarray(REALS.astype(">f8")))
    describe(folder / "npy" / "x.npy", "x.npy")


def _write_cache(folder: Path) -> None:
    import headrace as hr

    for target in ("manifest.json", "x.npy"):
        parent = folder / f"cache_{target.split('.')[0]}"
        parent.mkdir()
        with h5py.File(parent / "data.h5", "w") as file:
            file["x"], file["y"] = REALS, SMALL
        hr.cache_build([str(parent / "data.h5")], str(parent))
        (made,) = [path.parent for path in parent.glob("*/manifest.json")]
        names = [path.name for path in made.iterdir()]
        wanted = target if target in names else next(name for name in names if name.endswith(".npy"))
        describe(made, f"{made.name}/{wanted}")


def write_all(folder: Path) -> None:
    """Write every base below ``folder``."""
    for libver in ("earliest", "v110"):
        for fill in FILES:
            if fill is many_chunks and libver == "earliest":
                continue  # one tree more is what `indexes` has
            targets = {external: ("", "raw"), virtual: ("", "source0.h5", "source1.h5")}.get(fill, ("",))
            for number, target in enumerate(targets):
                path = folder / f"{fill.__name__}_{libver}_{number}" / "main.h5"
                path.parent.mkdir(parents=True)
                with h5py.File(path, "w", libver=(libver, "v110")) as file:
                    fill(file)
                describe(path, target or path.name)
        for fill in make_seeds.FILES:
            path = folder / f"seed_{fill.__name__}_{libver}" / "main.h5"
            path.parent.mkdir()
            with h5py.File(path, "w", libver=(libver, "v110"), userblock_size=512) as file:
                fill(file)
            describe(path, path.name)
    _write_numpy(folder)
    _write_cache(folder)


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
