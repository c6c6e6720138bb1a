"""Zarr stores that zarr-python and tensorstore write, of every two settings together, as both of them read them."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

zarr = pytest.importorskip("zarr", minversion="3")
numcodecs = pytest.importorskip("numcodecs")
tensorstore = pytest.importorskip("tensorstore")

import zarr.codecs as zc  # noqa: E402
from zarr_stores import Array, by_tensorstore, by_zarr_python, check, same  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = [
    pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning"),
    pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
]

Case = dict[str, str]
BLOSC = [f"blosc.{cname}" for cname in ("blosclz", "lz4", "lz4hc", "zlib", "zstd")]

# Shape, chunks, inner chunks, and a patch for those of three axes.
LAYOUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...] | None]] = {
    "3d_edges": ((11, 9, 14), (4, 4, 6), (2, 4, 3), (5, 4, 5)),
    "3d_exact": ((8, 6, 12), (4, 3, 6), (2, 3, 2), (4, 6, 5)),
    "3d_one_chunk": ((5, 7, 6), (8, 8, 8), (4, 8, 2), (3, 3, 6)),
    "3d_planes": ((6, 10, 9), (1, 10, 9), (1, 5, 9), (2, 7, 9)),
    "2d_edges": ((23, 7), (6, 4), (3, 2), None),
    "1d_edges": ((41,), (12,), (4,), None),
    "4d_edges": ((5, 3, 4, 7), (2, 2, 4, 4), (1, 2, 2, 4), None),
}
FACTORS2: dict[str, list[str]] = {
    "codec": ["none", "zlib", "gzip", "bz2", "zstd", "lz4", *BLOSC],
    "dtype": [
        "|b1", "|i1", "|u1", "<i2", ">u2", ">i4", "<u4", "<i8", ">u8", "<f2", ">f2", ">f4", "<f4", ">f8", "<c8", ">c16",
        "|S5",
    ],
    "layout": list(LAYOUTS),
    "filters": ["null", "empty", "shuffle"],
    "order": ["C", "F"],
    "separator": [".", "/", "not said"],
    "shuffle": ["none", "bytes", "bits"],
    "blocks": ["whole", "small"],
    "fill": ["zero", "null", "number", "special"],
    "holes": ["none", "files", "rows"],
}  # fmt: skip
FACTORS3: dict[str, list[str]] = {
    "codec": ["none", "gzip", "zstd", *BLOSC],
    "dtype": ["b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"],
    "layout": list(LAYOUTS),
    "endian": ["little", "big"],
    "transpose": ["none", "reversed", "rotated"],
    "crc": ["no", "yes"],
    "shards": ["none", "end_crc", "end_plain", "start_crc", "start_plain"],
    "key": ["default /", "default .", "v2 .", "v2 /"],
    "shuffle": ["none", "bytes", "bits"],
    "blocks": ["whole", "small"],
    "fill": ["zero", "number", "special"],
    "holes": ["none", "files", "rows"],
}


def pairwise(factors: Mapping[str, Sequence[str]]) -> list[Case]:
    """Return cases in which each two values of two factors stand together: the two first factors in full."""
    names = list(factors)
    open_pairs = {
        (a, x, b, y) for a, b in itertools.combinations(names, 2) for x in factors[a] for y in factors[b]
    }  # fmt: skip
    cases: list[Case] = []

    def finish(case: Case) -> None:
        for name in names:
            if name in case:
                continue

            def gain(value: str, name: str = name) -> int:
                pairs = [(a, case[a], name, value) if names.index(a) < names.index(name) else (name, value, a, case[a])
                         for a in case]  # fmt: skip
                return sum(pair in open_pairs for pair in pairs)

            values = factors[name]
            turned = [values[(i + len(cases)) % len(values)] for i in range(len(values))]
            case[name] = max(turned, key=gain)  # the first of the best
        ordered = {name: case[name] for name in names}
        open_pairs.difference_update(
            (a, ordered[a], b, ordered[b]) for a, b in itertools.combinations(names, 2)
        )  # fmt: skip
        cases.append(ordered)

    for x, y in itertools.product(factors[names[0]], factors[names[1]]):
        finish({names[0]: x, names[1]: y})
    while open_pairs:
        a, x, b, y = min(open_pairs)
        finish({a: x, b: y})
    return cases


CASES2, CASES3 = pairwise(FACTORS2), pairwise(FACTORS3)


def values_of(dtype: np.dtype[Any], shape: tuple[int, ...], seed: int) -> Array:
    """Return values of which some compress well and some do not, with the extremes of the type among them."""
    random = np.random.default_rng(seed)
    count = int(np.prod(shape))
    native = dtype.newbyteorder("=")
    if dtype.kind == "S":
        out = np.array([b"%d" % n for n in random.integers(0, 3000, count)], native)
    elif dtype.kind == "b":
        out = random.integers(0, 2, count).astype(native)
    elif dtype.kind in "iu":
        out = np.frombuffer(random.bytes(count * dtype.itemsize), native).copy()
        out[: count // 2] %= 7
        out[-2:] = np.iinfo(native).min, np.iinfo(native).max
    else:
        parts = random.normal(size=(2, count))
        parts[:, : count // 2] = np.round(parts[:, : count // 2])
        out = (parts[0] + 1j * parts[1] if dtype.kind == "c" else parts[0]).astype(native)
        out[-4:] = np.nan, np.inf, -np.inf, -0.0
    return out.reshape(shape).astype(dtype)


def fill_of(kind: str, dtype: np.dtype[Any]) -> Any:
    """Return the fill value, as zarr-python takes it."""
    if kind == "null":
        return None
    if dtype.kind == "S":
        return {"zero": b"", "number": b"ab", "special": b"abcde"}[kind]
    if kind == "zero" or (dtype.kind == "b" and kind == "number"):
        return dtype.type(0)
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return 7 if kind == "number" else int(np.iinfo(dtype).max)
    if dtype.kind == "c":
        return complex(1.5, -2) if kind == "number" else complex(np.nan, -np.inf)
    return 1.5 if kind == "number" else float({2: np.inf, 4: np.nan, 8: -np.inf}[dtype.itemsize])


def codec2(case: Case) -> Any:
    name, _, cname = case["codec"].partition(".")
    shuffle = {"none": 0, "bytes": 1, "bits": 2}[case["shuffle"]]
    blocks = {"whole": 0, "small": 256}[case["blocks"]]
    return {
        "none": lambda: None,
        "zlib": lambda: numcodecs.Zlib(1),
        "gzip": lambda: numcodecs.GZip(1),
        "bz2": lambda: numcodecs.BZ2(1),
        "zstd": lambda: numcodecs.Zstd(1),
        "lz4": lambda: numcodecs.LZ4(),
        "blosc": lambda: numcodecs.Blosc(cname, clevel=5, shuffle=shuffle, blocksize=blocks),
    }[name]()


def create2(store: Path, name: str, case: Case) -> Any:
    """Create an array of version 2 with zarr-python."""
    shape, chunks, _, _ = LAYOUTS[case["layout"]]
    dtype = np.dtype(case["dtype"])
    filters = {"null": None, "empty": [], "shuffle": [numcodecs.Shuffle(dtype.itemsize)]}[case["filters"]]
    separator = "/" if case["separator"] == "/" else "."
    return zarr.create_array(
        str(store), name=name, shape=shape, chunks=chunks, dtype=dtype, zarr_format=2, order=case["order"],
        filters=filters, compressors=codec2(case), fill_value=fill_of(case["fill"], dtype),
        chunk_key_encoding={"name": "v2", "separator": separator},
    )  # fmt: skip


def create3(store: Path, name: str, case: Case) -> Any:
    """Create an array of version 3 with zarr-python."""
    shape, chunks, inner, _ = LAYOUTS[case["layout"]]
    dtype = np.dtype(case["dtype"])
    axes = tuple(range(len(shape)))
    orders = {"none": None, "reversed": axes[::-1], "rotated": (*axes[1:], 0)}
    order = orders[case["transpose"]]
    first = [] if order is None else [zc.TransposeCodec(order=order)]
    last: list[Any] = []
    codec, _, cname = case["codec"].partition(".")
    if codec == "gzip":
        last.append(zc.GzipCodec(level=1))
    elif codec == "zstd":
        last.append(zc.ZstdCodec(level=1, checksum=case["blocks"] == "small"))
    elif codec == "blosc":
        shuffle = {"none": "noshuffle", "bytes": "shuffle", "bits": "bitshuffle"}[case["shuffle"]]
        blocks = {"whole": 0, "small": 256}[case["blocks"]]
        last.append(zc.BloscCodec(cname=cname, clevel=5, shuffle=shuffle, blocksize=blocks, typesize=dtype.itemsize))
    last += [zc.Crc32cCodec()] if case["crc"] == "yes" else []
    serializer: Any = zc.BytesCodec(endian=case["endian"] if dtype.itemsize > 1 else None)
    if case["shards"] != "none":
        location, crc = case["shards"].split("_")
        serializer = zc.ShardingCodec(
            chunk_shape=inner, codecs=[*first, serializer, *last], index_location=location,
            index_codecs=[zc.BytesCodec(endian="little")] + ([zc.Crc32cCodec()] if crc == "crc" else []),
        )  # fmt: skip
        first, last = [], []
    encoding, separator = case["key"].split()
    return zarr.create_array(
        str(store), name=name, shape=shape, chunks=chunks, dtype=dtype, zarr_format=3, filters=first,
        serializer=serializer, compressors=last, fill_value=fill_of(case["fill"], dtype),
        chunk_key_encoding={"name": encoding, "separator": separator},
    )  # fmt: skip


def tensorstore_can(case: Case) -> bool:
    """Whether tensorstore reads it: of version 2 it has no filters and no LZ4, and text is an array of bytes to it."""
    if "order" not in case:
        return True
    return case["filters"] == "null" and case["codec"] != "lz4" and case["dtype"] != "|S5"


def is_metadata(path: Path) -> bool:
    return path.name.startswith(".z") or path.name == "zarr.json"


def chunk_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not is_metadata(path))


def by_tensorstore_again(folder: Path, values: Array, rows: int) -> None:
    """Write an array anew with tensorstore: its metadata too."""
    three = (folder / "zarr.json").exists()
    meta = json.loads((folder / ("zarr.json" if three else ".zarray")).read_text())
    meta.pop("storage_transformers", None)
    if len(meta["shape"]) == 1 and not three:
        meta["order"] = "C"  # the same as F, which tensorstore refuses there
    shutil.rmtree(folder)
    spec = {
        "driver": "zarr3" if three else "zarr",
        "kvstore": {"driver": "file", "path": str(folder)},
        "context": {"file_io_sync": False},
    }
    array = tensorstore.open({**spec, "metadata": meta}, create=True).result()
    array[:rows].write(values[:rows].astype(values.dtype.newbyteorder("="))).result()


def write(store: Path, name: str, case: Case, number: int) -> Path:
    """Write a case, every third one with tensorstore if that can; return the folder of its array."""
    two = "order" in case
    array = create2(store, name, case) if two else create3(store, name, case)
    shape = LAYOUTS[case["layout"]][0]
    values = values_of(np.dtype(case["dtype"]), shape, number)
    rows = 2 * shape[0] // 3 if case["holes"] == "rows" else shape[0]
    folder = store / name
    if number % 3 == 0 and tensorstore_can(case):
        by_tensorstore_again(folder, values, rows)
    else:
        array[:rows] = values[:rows]
    if two and case["separator"] == "not said":
        meta = json.loads((folder / ".zarray").read_text())
        assert meta.pop("dimension_separator") == "."
        (folder / ".zarray").write_text(json.dumps(meta))
    if case["holes"] == "files":
        for path in chunk_files(folder)[1::3]:
            path.unlink()
    assert chunk_files(folder)
    return folder


def numbered(cases: list[Case]) -> list[Any]:
    shorts = ["-".join(case[name] for name in ("codec", "dtype", "layout")) for case in cases]
    return [pytest.param(i, case, id=f"{i}-{shorts[i]}") for i, case in enumerate(cases)]


def check_case(tmp_path: Path, number: int, case: Case) -> None:
    store = tmp_path / "store.zarr"
    group = zarr.open_group(str(store), mode="w", zarr_format=2 if "order" in case else 3)
    group.create_group("em")
    folder = write(store, "em/s0", case, number)
    want = by_zarr_python(folder)
    if tensorstore_can(case):
        same(by_tensorstore(folder), want, "the oracles agree")
    if case["holes"] == "none":
        written = values_of(np.dtype(case["dtype"]), want.shape, number)
        same(want, written.astype(want.dtype), "the oracle read what was written")
    patch = None if case["dtype"] == "|S5" else LAYOUTS[case["layout"]][3]
    if number % 4 < 2:
        check(store, "em/s0", want, patch)
    else:
        check(folder, "", want, patch)


@pytest.mark.parametrize(("number", "case"), numbered(CASES2))
def test_version_2(tmp_path: Path, number: int, case: Case) -> None:
    check_case(tmp_path, number, case)


@pytest.mark.parametrize(("number", "case"), numbered(CASES3))
def test_version_3(tmp_path: Path, number: int, case: Case) -> None:
    check_case(tmp_path, number, case)


@pytest.mark.parametrize("factors", [FACTORS2, FACTORS3], ids=["2", "3"])
def test_every_two_settings_meet(factors: dict[str, list[str]]) -> None:
    cases = pairwise(factors)
    assert cases == pairwise(factors)
    for (a, of_a), (b, of_b) in itertools.combinations(factors.items(), 2):
        met = {(case[a], case[b]) for case in cases}
        assert met == set(itertools.product(of_a, of_b)), (a, b)


# -------------------------------------------------------------------------------------------------------- whole stores


@pytest.fixture(params=[2, 3], ids=["v2", "v3"])
def version(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def put_array(store: Path, name: str, values: Array, version: int, **options: Any) -> None:
    """Write an array with zarr-python, compressed as it does by default."""
    options.setdefault("chunks", tuple(max(1, n // 2) for n in values.shape))
    array = zarr.create_array(
        str(store), name=name, shape=values.shape, dtype=values.dtype, zarr_format=version, **options
    )  # fmt: skip
    array[...] = values


def test_a_store_is_a_file_of_several_arrays(tmp_path: Path, version: int) -> None:
    """As in HDF5: a field for each array of the root with the common number of rows."""
    store = tmp_path / "x.zarr"
    zarr.open_group(str(store), mode="w", zarr_format=version)
    x, y = np.random.default_rng(1).normal(size=(40, 3)).astype("f4"), np.arange(40)
    put_array(store, "x", x, version)
    put_array(store, "y", y, version)
    put_array(store, "edges", np.arange(7), version)
    put_array(store, "meta/runs", np.arange(40), version)
    data = hr.open(store)
    assert set(data.fields) == {"x", "y"}
    assert "7 rows" in data.left_out["edges"]
    assert "group" in data.left_out["meta/runs"]
    same(data[:]["x"], x)
    same(data[[39, 0, 17]]["y"], y[[39, 0, 17]])
    batches = [dict(batch) for batch in hr.Loader(data, 7, shuffle=True, seed=3)]
    rows = np.concatenate([batch["y"] for batch in batches])
    np.testing.assert_array_equal(np.sort(rows), y)
    same(np.concatenate([batch["x"] for batch in batches]), x[rows])
    both = hr.open(store, {"a": "x", "b": "meta/runs"})
    same(both[:]["b"], np.arange(40))
    with pytest.raises(hr.FieldMissingError, match="nothing"):
        hr.open(store, ["nothing"])


def test_the_only_group_and_an_array_by_itself(tmp_path: Path, version: int) -> None:
    store = tmp_path / "x.zarr"
    zarr.open_group(str(store), mode="w", zarr_format=version)
    values = np.arange(60, dtype="u2").reshape(12, 5)
    put_array(store, "em/s0", values, version)
    (field,) = hr.open(store).fields.values()
    assert (field.name, field.path) == ("s0", "em/s0")
    assert list(hr.open(store, ["em/s0"]).fields) == ["em/s0"]
    assert list(hr.open(store / "em/s0").fields) == ["s0"]
    same(hr.open(str(store / "em/s0") + "/")["s0"][:], values)
    same(hr.open(store / "em/s0", ["s0"])["s0"][:], values)


def test_globs_match_stores(tmp_path: Path, version: int) -> None:
    """In natural order; volumes may differ in shape."""
    held = []
    for number, shape in ((2, (6, 8, 9)), (10, (9, 5, 7))):
        store = tmp_path / f"crop_{number}.zarr"
        zarr.open_group(str(store), mode="w", zarr_format=version)
        raw = np.random.default_rng(number).integers(0, 255, shape).astype("u1")
        held.append((raw, raw.astype("u8") * 3))
        put_array(store, "em/raw", held[-1][0], version)
        put_array(store, "labels", held[-1][1], version)
    volume = hr.open_volume(tmp_path / "crop_*.zarr", arrays={"raw": "em/raw", "ids": "labels"})
    assert [tuple(shape) for shape in volume.shapes] == [(6, 8, 9), (9, 5, 7)]
    patches = volume.patches((4, 3, 5), samples_per_epoch=30)
    for batch in hr.Loader(patches, 4, shuffle=True, seed=1, provenance=True):
        for number, start, raw, ids in zip(batch["_volume"], batch["_start"], batch["raw"], batch["ids"], strict=True):
            at = tuple(slice(a, a + n) for a, n in zip(start, (4, 3, 5), strict=True))
            same(raw, held[number][0][at])
            same(ids, held[number][1][at])
    rows = hr.open([tmp_path / "crop_10.zarr"], {"raw": "em/raw", "ids": "labels"})
    same(rows[:]["ids"], held[1][1])


def test_stores_of_equal_rows_are_one_data_set(tmp_path: Path) -> None:
    """Also where one is of version 2 and one of version 3, and beside an HDF5 file."""
    h5py = pytest.importorskip("h5py")
    values = np.arange(90, dtype="f4").reshape(30, 3)
    for number, version in enumerate((2, 3)):
        store = tmp_path / f"part_{number}.zarr"
        zarr.open_group(str(store), mode="w", zarr_format=version)
        put_array(store, "x", values[10 * number : 10 * number + 10], version)
    with h5py.File(tmp_path / "part_2.h5", "w") as file:
        file["x"] = values[20:]
    data = hr.open(tmp_path / "part_*")
    assert [file.rows for file in data.files] == [10, 10, 10]
    same(np.concatenate([batch["x"] for batch in hr.Loader(data, 4)]), values)


def test_metadata_that_is_consolidated_is_read_too(tmp_path: Path, version: int) -> None:
    store = tmp_path / "x.zarr"
    zarr.open_group(str(store), mode="w", zarr_format=version)
    put_array(store, "x", np.arange(30), version)
    zarr.consolidate_metadata(str(store))
    assert list(hr.open(store).fields) == ["x"]
    same(hr.open(store)["x"][:], np.arange(30))
