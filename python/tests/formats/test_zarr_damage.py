"""Zarr metadata that is damaged, or of a kind that is not read: an error that names the place, and no wrong value."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from zarr_stores import (
    HAS_ORACLES,
    array2,
    array3,
    by_zarr_python,
    edit_json,
    group2,
    group3,
    names_place,
    outcome,
    refused,
    rows_of,
    same,
    write_json,
)

import headrace as hr

pytestmark = [pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning"), pytest.mark.timeout(120)]
VALUES = np.arange(1, 241, dtype="u2").reshape(12, 4, 5)
CHUNKS = (5, 2, 5)
Meta = dict[str, Any]


@pytest.fixture
def store2(tmp_path: Path) -> Path:
    """A store of two arrays: what happens to ``bad`` does not concern ``good``."""
    store = group2(tmp_path / "x.zarr")
    array2(store / "good", VALUES, CHUNKS)
    array2(store / "bad", VALUES, CHUNKS)
    return store


@pytest.fixture
def store3(tmp_path: Path) -> Path:
    store = group3(tmp_path / "x.zarr")
    array3(store / "good", VALUES, CHUNKS)
    array3(store / "bad", VALUES, CHUNKS)
    return store


def other_still_opens(store: Path) -> None:
    same(rows_of(hr.open(store, ["good"])), VALUES)
    same(hr.open(store / "good")["good"][:], VALUES)


def is_refused(store: Path, say: str, kind: Any = None) -> None:
    """The array ``bad`` is refused when it is opened, from both its folders; the other one is not."""
    refused(lambda: hr.open(store, ["bad"]), store, "bad", say=say, kind=kind)
    refused(lambda: hr.open(store / "bad"), store, "bad", say=say, kind=kind)
    refused(lambda: hr.open_volume(store, ["bad"]), store, "bad", say=say, kind=kind)
    other_still_opens(store)


# ------------------------------------------------------------------------------------ what is not read, by its name

UNKNOWN2: dict[str, tuple[Meta, str]] = {
    "codec": ({"compressor": {"id": "lzma", "format": 1}}, "lzma"),
    "codec_of_a_plugin": ({"compressor": {"id": "jpeg2k", "level": 0}}, "jpeg2k"),
    "filter": ({"filters": [{"id": "delta", "dtype": "<u2"}]}, "delta"),
    "second_filter": ({"filters": [{"id": "shuffle", "elementsize": 2}, {"id": "quantize", "digits": 2}]}, "quantize"),
    "object": ({"dtype": "|O", "filters": [{"id": "vlen-utf8"}], "fill_value": ""}, r"\|O|object|vlen-utf8"),
    "date": ({"dtype": "<M8[ns]", "fill_value": 0}, r"M8\[ns\]"),
    "unicode": ({"dtype": "<U4", "fill_value": ""}, "<U4"),
    "raw_bytes": ({"dtype": "|V6", "fill_value": None}, r"\|V6"),
    "long_double": ({"dtype": "<f16"}, "<f16"),
    "no_dtype_at_all": ({"dtype": "hello"}, "hello"),
}


@pytest.mark.parametrize("name", UNKNOWN2)
def test_what_version_2_has_and_is_not_read(store2: Path, name: str) -> None:
    change, say = UNKNOWN2[name]
    edit_json(store2 / "bad/.zarray", lambda meta: meta.update(change))
    is_refused(store2, say)


BYTES: Meta = {"name": "bytes", "configuration": {"endian": "little"}}
UNKNOWN3: dict[str, tuple[Meta, str]] = {
    "codec": ({"codecs": [BYTES, {"name": "numcodecs.lzma", "configuration": {}}]}, "lzma"),
    "array_codec": ({"codecs": [{"name": "delta9", "configuration": {}}, BYTES]}, "delta9"),
    "serializer": ({"codecs": [{"name": "packbits", "configuration": {}}]}, "packbits"),
    "data_type": ({"data_type": "int3"}, "int3"),
    "data_type_with_settings": (
        {"data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}},
        "numpy.datetime64",
    ),
    "text": ({"data_type": "string", "fill_value": ""}, "string"),
    "raw_bits": ({"data_type": "r24", "fill_value": [0, 0, 0]}, "r24"),
    "grid": (
        {"chunk_grid": {"name": "rectilinear", "configuration": {"chunk_shapes": [[5, 7], [2, 2], [5]]}}},
        "rectilinear",
    ),
    "names_of_chunks": ({"chunk_key_encoding": {"name": "fanout", "configuration": {}}}, "fanout"),
    "storage_transformer": ({"storage_transformers": [{"name": "cipher", "configuration": {}}]}, "cipher"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKNOWN3)
def test_what_version_3_has_and_is_not_read(store3: Path, name: str) -> None:
    change, say = UNKNOWN3[name]
    edit_json(store3 / "bad/zarr.json", lambda meta: meta.update(change))
    is_refused(store3, say)


@pytest.mark.parametrize("where", ["codecs", "index_codecs"])
def test_an_unknown_codec_in_a_shard_is_refused(store3: Path, where: str) -> None:
    array3(store3 / "bad", VALUES, (5, 2, 5), shards=(10, 4, 5))
    codec = {"name": "cipher", "configuration": {}}
    edit_json(store3 / "bad/zarr.json", lambda meta: meta["codecs"][0]["configuration"][where].append(codec))
    is_refused(store3, "cipher")


def test_without_fields_it_is_left_out_and_named(store2: Path) -> None:
    edit_json(store2 / "bad/.zarray", lambda meta: meta.update(compressor={"id": "jpeg2k"}))
    data = hr.open(store2)
    assert list(data.fields) == ["good"]
    assert "jpeg2k" in data.left_out["bad"]


def test_an_extension_that_need_not_be_understood_is_not_needed(store3: Path) -> None:
    edit_json(store3 / "good/zarr.json", lambda meta: meta.update(mark={"name": "mark", "must_understand": False}))
    other_still_opens(store3)


@pytest.mark.parametrize("mark", [{"name": "mark"}, {"name": "mark", "must_understand": True}], ids=str)
def test_an_extension_that_must_be_understood_is_refused(store3: Path, mark: Meta) -> None:
    edit_json(store3 / "bad/zarr.json", lambda meta: meta.update(unheard_of=mark))
    is_refused(store3, "unheard_of")


def test_drafts_of_version_3_are_refused_by_name(tmp_path: Path) -> None:
    store = tmp_path / "x.zr3"
    draft = "https://purl.org/zarr/spec/protocol/core/3.0"
    write_json(store / "zarr.json", {"zarr_format": draft, "metadata_encoding": draft, "extensions": []})
    write_json(store / "meta/root/raw.array.json", {"shape": [3]})
    refused(lambda: hr.open(store), store, say="draft|zarr_format", kind=hr.UnsupportedError)
    refused(lambda: hr.open_volume(store), store, say="draft|zarr_format", kind=hr.UnsupportedError)


def test_n5_is_refused_by_name(tmp_path: Path) -> None:
    store = tmp_path / "x.n5"
    write_json(store / "attributes.json", {"n5": "2.5.1"})
    array = {"dimensions": [3], "blockSize": [3], "dataType": "uint8", "compression": {"type": "raw"}}
    write_json(store / "raw/attributes.json", array)
    for path in (store, store / "raw"):
        refused(lambda path=path: hr.open(path), path, say=r"\bN5\b", kind=hr.UnsupportedError)


@pytest.mark.parametrize("files", [[], ["notes.txt"], ["a.h5"], ["sub/.zgroup"]], ids=str)
def test_a_directory_that_is_no_store_says_so(tmp_path: Path, files: list[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in files:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    for face in (hr.open, hr.open_volume):
        with pytest.raises(hr.Error, match=r"(?i)directory|zarr") as caught:
            face(folder)
        names_place(caught.value, folder)


def test_a_store_without_arrays_says_so(tmp_path: Path) -> None:
    for store in (group2(tmp_path / "2.zarr"), group3(tmp_path / "3.zarr")):
        refused(lambda store=store: hr.open(store), store, say="array")


def test_an_array_that_is_not_there_is_named(store2: Path) -> None:
    with pytest.raises(hr.FieldMissingError, match="godo") as caught:
        hr.open(store2, ["godo"])
    assert "good" in str(caught.value)
    with pytest.raises(hr.FileMissingError):
        hr.open(store2 / "godo")


# ---------------------------------------------------------------------------------------- metadata that is damaged

BROKEN2: dict[str, Meta] = {
    "no_shape": {"shape": None},
    "shape_of_text": {"shape": ["12", "4", "5"]},
    "shape_of_floats": {"shape": [12.5, 4, 5]},
    "negative_shape": {"shape": [-12, 4, 5]},
    "fewer_chunk_axes": {"chunks": [5, 2]},
    "chunk_of_zero": {"chunks": [5, 0, 5]},
    "negative_chunk": {"chunks": [5, -2, 5]},
    "chunk_that_overflows": {"chunks": [2**32, 2**32, 5]},
    "shape_that_overflows": {"shape": [2**62, 2**62, 2**62]},
    "number_of_33_digits": {"shape": [10**32, 4, 5]},
    "unknown_order": {"order": "Q"},
    "unknown_separator": {"dimension_separator": "-"},
    "fill_of_a_list": {"fill_value": [1, 2, 3]},
    "fill_too_large": {"fill_value": 65536},
    "negative_fill": {"fill_value": -1},
    "fill_of_text": {"fill_value": "hello"},
    "codec_without_name": {"compressor": {"level": 1}},
    "codec_is_a_number": {"compressor": 7},
    "filters_are_text": {"filters": "shuffle"},
    "other_version": {"zarr_format": 4},
    "version_of_text": {"zarr_format": "2"},
}


def loosely(key: str) -> str:
    """A pattern for an entry of the metadata, by its name or in plain words."""
    return {"dtype": "type", "data_type": "type"}.get(key, key.replace("_", "[_ ]"))


@pytest.mark.parametrize("name", BROKEN2)
def test_metadata_of_version_2_that_cannot_be(store2: Path, name: str) -> None:
    edit_json(store2 / "bad/.zarray", lambda meta: meta.update(BROKEN2[name]))
    is_refused(store2, "compressor|codec" if name.startswith("codec") else loosely(next(iter(BROKEN2[name]))))


@pytest.mark.parametrize("key", ["shape", "chunks", "dtype", "compressor", "fill_value", "order", "zarr_format"])
def test_metadata_of_version_2_that_lacks_an_entry(store2: Path, key: str) -> None:
    edit_json(store2 / "bad/.zarray", lambda meta: meta.pop(key))
    is_refused(store2, loosely(key))


def configured(name: str, **configuration: Any) -> Meta:
    return {"name": name, "configuration": configuration}


BROKEN3: dict[str, tuple[Meta, str]] = {
    "negative_shape": ({"shape": [-12, 4, 5]}, "shape"),
    "shape_that_overflows": ({"shape": [2**62, 2**62, 2**62]}, "shape|large|overflow"),
    "fewer_chunk_axes": ({"chunk_grid": configured("regular", chunk_shape=[5, 2])}, "chunk"),
    "chunk_of_zero": ({"chunk_grid": configured("regular", chunk_shape=[5, 0, 5])}, "chunk"),
    "chunk_that_overflows": ({"chunk_grid": configured("regular", chunk_shape=[2**32, 2**32, 5])}, "chunk"),
    "no_codecs": ({"codecs": []}, "codec"),
    "no_bytes": ({"codecs": [configured("gzip", level=1)]}, "codec|bytes"),
    "two_bytes": ({"codecs": [BYTES, BYTES]}, "codec|bytes"),
    "transpose_after_bytes": ({"codecs": [BYTES, configured("transpose", order=[2, 1, 0])]}, "transpose"),
    "gzip_before_bytes": ({"codecs": [configured("gzip", level=1), BYTES]}, "gzip"),
    "no_permutation": ({"codecs": [configured("transpose", order=[0, 0, 1]), BYTES]}, "transpose|order"),
    "permutation_of_two": ({"codecs": [configured("transpose", order=[1, 0]), BYTES]}, "transpose|order"),
    "axis_outside": ({"codecs": [configured("transpose", order=[0, 1, 3]), BYTES]}, "transpose|order"),
    "no_endian": ({"codecs": [{"name": "bytes"}]}, "endian"),
    "unknown_endian": ({"codecs": [configured("bytes", endian="middle")]}, "endian|middle"),
    "unknown_separator": ({"chunk_key_encoding": configured("default", separator="-")}, "separator"),
    "fill_too_large": ({"fill_value": 65536}, "fill"),
    "fill_of_text": ({"fill_value": "hello"}, "fill"),
    "no_fill": ({"fill_value": None}, "fill"),
    "other_node": ({"node_type": "table"}, "node.type|table"),
    "other_version": ({"zarr_format": 4}, "zarr.format|version"),
    "shard_not_of_whole_chunks": (
        {"codecs": [configured("sharding_indexed", chunk_shape=[3, 2, 5], codecs=[BYTES], index_codecs=[BYTES])]},
        "shard|chunk_shape",
    ),
    "shard_of_fewer_axes": (
        {"codecs": [configured("sharding_indexed", chunk_shape=[5, 2], codecs=[BYTES], index_codecs=[BYTES])]},
        "shard|chunk_shape",
    ),
    "shard_with_its_index_in_the_middle": (
        {"codecs": [configured("sharding_indexed", chunk_shape=[5, 2, 5], codecs=[BYTES], index_codecs=[BYTES],
                               index_location="middle")]},
        "index.location|middle",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN3)
def test_metadata_of_version_3_that_cannot_be(store3: Path, name: str) -> None:
    change, say = BROKEN3[name]
    edit_json(store3 / "bad/zarr.json", lambda meta: meta.update(change))
    is_refused(store3, say)


@pytest.mark.parametrize("key", ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"])
def test_metadata_of_version_3_that_lacks_an_entry(store3: Path, key: str) -> None:
    edit_json(store3 / "bad/zarr.json", lambda meta: meta.pop(key))
    is_refused(store3, loosely(key))


NO_JSON: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut_short": lambda data: data[: len(data) // 2],
    "one_byte_less": lambda data: data[:-1],
    "more_after_it": lambda data: data + b"}",
    "a_list": lambda data: b"[" + data + b"]",
    "a_number": lambda _: b"3",
    "no_text": lambda _: bytes(range(256)),
    "deep": lambda _: b"[" * 200_000,
    "deep_objects": lambda _: b'{"a":' * 200_000,
    "no_utf8": lambda data: data.replace(b"shape", b"sh\xff\xfepe"),
}


@pytest.mark.parametrize("name", NO_JSON)
@pytest.mark.parametrize("version", [2, 3])
def test_metadata_that_is_no_json(tmp_path: Path, version: int, name: str) -> None:
    store = (group2 if version == 2 else group3)(tmp_path / "x.zarr")
    for array in ("good", "bad"):
        (array2 if version == 2 else array3)(store / array, VALUES, CHUNKS)
    file = store / "bad" / (".zarray" if version == 2 else "zarr.json")
    file.write_bytes(NO_JSON[name](file.read_bytes()))
    is_refused(store, "")


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_that_cannot_be_read(tmp_path: Path, version: int) -> None:
    """A folder or a link that leads nowhere in the place of the file."""
    for number, make in enumerate((lambda path: path.mkdir(), lambda path: path.symlink_to("nowhere"))):
        store = (group2 if version == 2 else group3)(tmp_path / f"{number}.zarr")
        (array2 if version == 2 else array3)(store / "bad", VALUES, CHUNKS)
        file = store / "bad" / (".zarray" if version == 2 else "zarr.json")
        file.unlink()
        make(file)
        with pytest.raises(hr.Error, match="bad"):
            hr.open(store, ["bad"])
        with pytest.raises(hr.Error, match="bad"):
            hr.open(store / "bad")


@pytest.mark.parametrize("version", [2, 3])
def test_each_byte_of_the_metadata(tmp_path: Path, version: int) -> None:
    """A byte that is changed is an error, or an array that zarr-python reads alike."""
    path = (array2 if version == 2 else array3)(tmp_path / "x.zarr", VALUES, CHUNKS)
    file = path / (".zarray" if version == 2 else "zarr.json")
    whole = file.read_bytes()
    wrong = []
    for at in range(0, len(whole), 3):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 7)]) + whole[at + 1 :])
        try:
            data = hr.open(path)
            (name,) = data.fields
            assert len(data) < 10_000
            got = data[name][:]
        except hr.Error as error:
            assert type(error) not in (hr.Error, hr.InternalError), error
            continue
        if not HAS_ORACLES or (got.dtype == VALUES.dtype and np.array_equal(got, VALUES)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                want = by_zarr_python(path)
            except Exception as error:
                wrong.append((at, f"zarr-python refuses it: {error}"))
                continue
        if got.tobytes() != want.tobytes():
            wrong.append((at, "zarr-python reads other values"))
    assert not wrong, wrong


# ------------------------------------------------------------------------------------------- right, or refused by name

UNUSUAL: dict[str, Meta] = {
    "transpose_around_shards": {"codecs": [configured("transpose", order=[1, 0]), configured(
        "sharding_indexed", chunk_shape=[2, 4], codecs=[BYTES], index_codecs=[BYTES])]},
    "checksum_of_a_shard": {"codecs": [configured(
        "sharding_indexed", chunk_shape=[4, 2], codecs=[BYTES], index_codecs=[BYTES]), {"name": "crc32c"}]},
    "shards_in_shards": {"codecs": [configured(
        "sharding_indexed", chunk_shape=[4, 4], index_codecs=[BYTES], codecs=[configured(
            "sharding_indexed", chunk_shape=[2, 4], codecs=[BYTES], index_codecs=[BYTES])])]},
    "two_compressors": {"codecs": [BYTES, configured("gzip", level=1), configured("zstd", level=1, checksum=True)]},
    "two_transposes": {"codecs": [configured("transpose", order=[1, 0]), configured("transpose", order=[1, 0]), BYTES]},
    "index_big_endian": {"codecs": [configured("sharding_indexed", chunk_shape=[4, 2], codecs=[BYTES], index_codecs=[
        configured("bytes", endian="big")])]},
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_codecs_are_right_or_refused(tmp_path: Path, name: str) -> None:
    """The standard allows each of them."""
    zarr = pytest.importorskip("zarr", minversion="3")
    values = np.arange(96, dtype="u2").reshape(12, 8)
    path = array3(tmp_path / "x.zarr", values, (4, 4), lost=lambda _: True)
    edit_json(path / "zarr.json", lambda meta: meta.update(UNUSUAL[name]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.open_array(str(path), mode="r+")[...] = values
        same(by_zarr_python(path), values)
    error = outcome(path, values)
    assert error is None or isinstance(error, hr.UnsupportedError), repr(error)


# ------------------------------------------------------------------------------------------------ structured dtypes


def test_members_become_fields(tmp_path: Path) -> None:
    """As those of compound types of HDF5."""
    kind = np.dtype([("n", "<i4"), ("e", ">f8"), ("at", "<f4", (3,)), ("name", "S4")])
    records = np.zeros(23, kind)
    records["n"], records["e"] = np.arange(23), np.arange(23) / 7
    records["at"] = np.arange(69).reshape(23, 3)
    records["name"] = [b"%d" % n for n in range(23)]
    store = group2(tmp_path / "x.zarr")
    array2(store / "hits", records, (5,), fill=np.zeros((), kind), said_fill=None)
    data = hr.open(store)
    assert list(data.fields) == ["hits.n", "hits.e", "hits.at", "hits.name"]
    for name in kind.names:
        same(data[f"hits.{name}"][:], records[name].astype(records[name].dtype.newbyteorder("=")), name)
    some = hr.open(store, {"energy": "hits.e"})
    same(rows_of(some), records["e"].astype("f8"))
    with pytest.raises(hr.UnsupportedError, match="hits"):
        hr.open_volume(store, ["hits"])


def test_records_that_were_not_written_are_fill(tmp_path: Path) -> None:
    """In base64, as the bytes of one record; without a fill value they are zeros."""
    kind = np.dtype([("n", "<i4"), ("e", "<f8")])
    records = np.ones(20, kind)
    fill = np.array((7, 2.5), kind)
    in_base64 = base64.b64encode(fill.tobytes()).decode()
    for said, want in ((in_base64, fill), (None, np.zeros((), kind))):
        store = group2(tmp_path / f"{said is None}.zarr")
        array2(store / "r", records, (5,), fill=fill, said_fill=said, lost=lambda index: index == (2,))
        assert not HAS_ORACLES or by_zarr_python(store / "r")[10].tolist() == want.tolist()
        got = hr.open(store)[:]
        for name in kind.names:
            expected = records[name].copy()
            expected[10:15] = want[name]
            same(got[f"r.{name}"], expected, name)


def test_a_record_with_a_member_that_is_not_read_names_it(tmp_path: Path) -> None:
    store = group2(tmp_path / "x.zarr")
    kind = np.dtype([("n", "<i4"), ("t", "<i8")])
    array2(store / "bad", np.zeros(6, kind), (3,), fill=np.zeros((), kind), said_fill=None)
    edit_json(store / "bad/.zarray", lambda meta: meta.update(dtype=[["n", "<i4"], ["t", "<M8[s]"]]))
    with pytest.raises(hr.Error, match=r"M8\[s\]"):
        hr.open(store, ["bad.t"])


# ------------------------------------------------------------------------------------------------- shapes at the limits


@pytest.mark.parametrize("write", [array2, array3], ids=["2", "3"])
def test_arrays_without_rows_and_scalars(tmp_path: Path, write: Any) -> None:
    """As in HDF5: a scalar has no rows, and one of size 0 is no field."""
    group = group2 if write is array2 else group3
    store = group(tmp_path / "x.zarr")
    write(store / "x", np.arange(6, dtype="u1"), (4,))
    write(store / "scalar", np.array(7, "u1"), ())
    write(store / "nothing", np.zeros((6, 0), "u1"), (4, 1))
    data = hr.open(store)
    assert list(data.fields) == ["x"]
    assert "scalar" in data.left_out["scalar"]
    assert "size 0" in data.left_out["nothing"]


def test_hdf5_files_beside_stores_are_still_opened(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.zarr", "w") as file:
        file["x"] = np.arange(5)
    same(hr.open(tmp_path / "a.zarr")["x"][:], np.arange(5))
