"""What is mutated: small Zarr stores, Parquet files and tokenizers, with the places of their metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tokenizer_files import END, small, write_json, write_ranks
from zarr_stores import array2, array3, edit_json, group2, group3

ROWS = 12
REALS = np.random.default_rng(3).normal(size=(ROWS, 4)).astype("f4")
WHOLE = np.arange(1, ROWS + 1, dtype="i8") * 1000
SMALL = np.arange(1, 3 * ROWS + 1, dtype="u2").reshape(ROWS, 3)
TRUTH = np.arange(ROWS) % 3 == 0
BYTES = np.arange(ROWS, dtype="i1") - 5
METADATA = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")
MERGES = 150
WORD = "<|pause|>"  # an added word that is not special
Ranges = list[tuple[int, int]]


@dataclass(frozen=True)
class Base:
    """Files, what is opened of them, and which of their bytes are metadata."""

    name: str
    kind: str
    files: dict[str, bytes]  # by their paths below a folder of their own
    opened: str
    targets: dict[str, Ranges]
    is_text: bool

    def write(self, folder: Path, changed: dict[str, bytes] | None = None) -> Path:
        """Write all files, some of them with other bytes, and return what is to be opened."""
        for name, data in (self.files | (changed or {})).items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return folder / self.opened


def base_of(folder: Path, kind: str, opened: Path, targets: dict[Path, Ranges], *, is_text: bool) -> Base:
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    ranges = {str(path.relative_to(folder)): ranges for path, ranges in targets.items()}
    return Base(folder.name, kind, files, str(opened.relative_to(folder)), ranges, is_text)


# ------------------------------------------------------------------------------------------------------------ Zarr


def lost(index: tuple[int, ...]) -> bool:
    """One chunk is not written, so that the fill value is among the values."""
    return index[0] == 1


def plain2(store: Path) -> None:
    group2(store)
    write_json(store / ".zattrs", {"unit": "GeV", "run": 17, "scale": 0.5, "names": ["a", "b"], "more": {"deep": [1]}})
    array2(store / "reals", REALS, (5, 4), fill=-1.5, lost=lost)
    array2(store / "whole", WHOLE, (5,), codec="bz2")
    array2(store / "turned", SMALL, (4, 2), order="F", codec="gzip", separator="/")
    array2(store / "truth", TRUTH, (ROWS,), codec=None, fill=False)
    write_json(store / "reals" / ".zattrs", {"unit": "m", "count": 3})
    array2(group2(store / "inner") / "deep", WHOLE, (6,))


def packed2(store: Path) -> None:
    """Filters, codecs of numcodecs, records, and consolidated metadata."""
    import numcodecs

    group2(store)
    shuffled = numcodecs.Shuffle(elementsize=4)
    array2(store / "shuffled", REALS, (ROWS, 4), codec=None, filters=[shuffled.get_config()])
    (store / "shuffled" / "0.0").write_bytes(shuffled.encode(REALS.tobytes()))
    for name, codec in (
        ("blosc", numcodecs.Blosc("zstd", 3, 1)),
        ("zstd", numcodecs.Zstd(2)),
        ("lz4", numcodecs.LZ4()),
    ):
        array2(store / name, WHOLE, (ROWS,), codec=None, compressor=codec.get_config())
        (store / name / "0").write_bytes(codec.encode(WHOLE.tobytes()))
    record = np.zeros(ROWS, [("a", "<f4"), ("b", ">i2")])
    record["a"], record["b"] = REALS[:, 0], SMALL[:, 0]
    array2(store / "record", record, (7,), said_fill=None, fill=np.zeros((), record.dtype))
    documents = {
        str(path.relative_to(store)): json.loads(path.read_text())
        for path in sorted(store.rglob("*"))
        if path.name in METADATA
    }
    write_json(store / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents})


def only_group2(store: Path) -> None:
    group2(store)
    group2(store / "run")
    write_json(store / "run" / ".zattrs", {"unit": "s"})
    for name, array in (("x", REALS), ("y", WHOLE), ("z", BYTES)):
        array2(store / "run" / name, array, (5, *array.shape[1:]), fill=3, lost=lost)


def plain3(store: Path) -> None:
    group3(store)
    edit_json(store / "zarr.json", lambda meta: meta["attributes"].update(unit="GeV", run=17, names=["a", "b"]))
    array3(store / "reals", REALS, (5, 4), fill=-1.5, lost=lost, attributes={"unit": "m"}, crc=True)
    array3(store / "whole", WHOLE, (5,), endian="big", fill=7, lost=lost, dimension_names=["row"])
    array3(store / "turned", SMALL, (4, 2), transpose=(1, 0), key="v2", separator=".")
    array3(store / "truth", TRUTH, (ROWS,), codec=None, fill=False)
    array3(group3(store / "inner") / "deep", WHOLE, (6,))


def shards3(store: Path) -> None:
    """Shards, blosc and zstd, and consolidated metadata."""
    import numcodecs

    group3(store)
    array3(store / "shards", REALS, (3, 2), shards=(6, 4), fill=2, inner_lost=lost)
    array3(store / "first", WHOLE, (3,), shards=(6,), index_location="start", index_crc=False)
    blosc, zstd = numcodecs.Blosc("lz4", 3, 1), numcodecs.Zstd(2)
    words = {"typesize": 8, "cname": "lz4", "clevel": 3, "shuffle": "shuffle", "blocksize": 0}
    settings = {"blosc": words, "zstd": {"level": 2, "checksum": False}}
    for name, codec in (("blosc", blosc), ("zstd", zstd)):
        codecs = [
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": name, "configuration": settings[name]},
        ]
        array3(store / name, WHOLE, (ROWS,), codecs=codecs)
        (store / name / "c" / "0").write_bytes(codec.encode(WHOLE.tobytes()))
    paths = sorted(path for path in store.rglob("zarr.json") if path.parent != store)
    documents = {str(path.parent.relative_to(store)): json.loads(path.read_text()) for path in paths}
    consolidated = {"kind": "inline", "must_understand": False, "metadata": documents}
    edit_json(store / "zarr.json", lambda meta: meta.update(consolidated_metadata=consolidated))


def only_array3(store: Path) -> None:
    array3(store, REALS, (5, 2), fill="NaN", lost=lost, attributes={"unit": "m"})


def zarr_bases(folder: Path) -> list[Base]:
    made = []
    for make in (plain2, packed2, only_group2, plain3, shards3, only_array3):
        store = folder / make.__name__ / "s.zarr"
        make(store)
        targets = {path: [(0, path.stat().st_size)] for path in sorted(store.rglob("*")) if path.name in METADATA}
        made.append(base_of(store.parent, "zarr", store, targets, is_text=True))
    return made


# --------------------------------------------------------------------------------------------------------- Parquet


def table() -> Any:
    """Columns of several types, required and optional, with lists, a struct and text."""
    import pyarrow as pa

    missing = [None if i % 5 == 2 else i / 4 for i in range(ROWS)]
    lists = [list(range(i % 4)) for i in range(ROWS)]
    columns = {
        "id": (pa.array(WHOLE), False),
        "x": (pa.array(missing, pa.float64()), True),
        "f": (pa.array(REALS[:, 0]), False),
        "small": (pa.array(BYTES), True),
        "truth": (pa.array(TRUTH), False),
        "text": (pa.array([f"t{i % 3}" for i in range(ROWS)]), True),
        "hits": (pa.array(lists, pa.list_(pa.float32())), True),
        "pair": (pa.array([{"a": i, "b": i / 2} for i in range(ROWS)]), True),
        "time": (pa.array(WHOLE, pa.timestamp("us")), True),
    }
    schema = pa.schema([pa.field(name, array.type, nullable) for name, (array, nullable) in columns.items()])
    return pa.table([array for array, _ in columns.values()], schema=schema)


def parquet_bases(folder: Path) -> list[Base]:
    import pyarrow.parquet as pq

    forms: dict[str, dict[str, Any]] = {
        "plain": {"compression": "none", "use_dictionary": False, "write_page_checksum": True, "row_group_size": 7},
        "dictionary": {"compression": "snappy", "store_schema": False},
        "bare": {"compression": "none", "store_schema": False, "write_statistics": False, "row_group_size": 6},
        "pages2": {"compression": "zstd", "data_page_version": "2.0", "use_dictionary": ["small"], "row_group_size": 5,
                   "write_page_checksum": True, "column_encoding": {"id": "DELTA_BINARY_PACKED"}},
    }  # fmt: skip
    made = []
    for name, words in forms.items():
        path = folder / name / "t.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(table(), path, **words)
        whole = path.read_bytes()
        start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        made.append(base_of(path.parent, "parquet", path, {path: [(start, len(whole) - 8)]}, is_text=False))
    return made


# ------------------------------------------------------------------------------------------------------ tokenizers


def tiny_tokenizer() -> dict[str, Any]:
    """The small tokenizer.json with its first merges alone, and with an added word that is not special."""
    made = small()
    model = made["model"]
    merges = model["merges"][:MERGES]
    names = {"".join(merge) if isinstance(merge, list) else merge.replace(" ", "") for merge in merges}
    kept = [name for name in model["vocab"] if len(name) == 1 or name in names or name == END]
    model["vocab"], model["merges"] = {name: i for i, name in enumerate(kept)}, merges
    word = made["added_tokens"][0]
    made["added_tokens"].append({**word, "id": len(kept), "content": WORD, "special": False, "normalized": True})
    return made


def tokenizer_bases(folder: Path) -> list[Base]:
    made = []
    for name in ("json", "ranks"):
        (folder / name).mkdir(parents=True)
    path = write_json(folder / "json" / "tokenizer.json", tiny_tokenizer())
    text = path.read_bytes()
    start, merges = text.index(b'"vocab"'), text.index(b'"merges"')
    head = [(0, start)] * 6 + [(start, merges), (merges, len(text))]  # most of the keys lie at the beginning
    made.append(base_of(path.parent, "tokenizer", path, {path: head}, is_text=True))
    path = write_ranks(folder / "ranks" / "tiny.tiktoken", tiny_tokenizer())
    made.append(base_of(path.parent, "tokenizer", path, {path: [(0, path.stat().st_size)]}, is_text=True))
    return made


MAKERS = {"zarr": zarr_bases, "parquet": parquet_bases, "tokenizer": tokenizer_bases}
