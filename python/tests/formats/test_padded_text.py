"""Text of fixed length is what h5py reads, however its writer padded it: NULs, old bytes behind a NUL, spaces."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import tools

WORDS = (b"top\0junk", b"qcd     ", b"higgsbos", b"w\0\0\0\0\0\0\0", b"\0old txt", b"        ")
ROWS = 120
RAW = np.frombuffer(b"".join(WORDS[i % len(WORDS)] for i in range(ROWS)), "V8").copy()
PADDINGS = {"nulls": h5py.h5t.STR_NULLPAD, "terminated": h5py.h5t.STR_NULLTERM, "spaces": h5py.h5t.STR_SPACEPAD}
LAYOUTS = ("contiguous", "gzip", "record", "wide_record", "array_member", "big_endian_record", "unusual_number")


def _text(padding: str) -> h5py.h5t.TypeID:
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(8)
    kind.set_strpad(PADDINGS[padding])
    return kind


def _record(layout: str, text: h5py.h5t.TypeID) -> tuple[h5py.h5t.TypeID, np.ndarray]:
    """The type of a record with text, and its rows as they are stored."""
    number, shape = h5py.h5t.IEEE_F32LE, ()
    if layout == "big_endian_record":
        number = h5py.h5t.IEEE_F32BE
    if layout == "unusual_number":
        number = h5py.h5t.STD_I32LE.copy()
        number.set_precision(20)
    if layout == "array_member":
        text, shape = h5py.h5t.array_create(text, (3,)), (3,)
    record = h5py.h5t.create(h5py.h5t.COMPOUND, 100 if layout == "wide_record" else 4 + text.get_size())
    record.insert(b"w", 0, number)
    record.insert(b"label", 4, text)
    rows = np.zeros(
        ROWS,
        np.dtype(
            {
                "names": ["w", "label"],
                "formats": ["V4", ("V8", shape)],
                "offsets": [0, 4],
                "itemsize": record.get_size(),
            }
        ),
    )
    rows["label"] = RAW.reshape((ROWS,) + (1,) * len(shape))
    return record, rows


def _write(path: Path) -> Path:
    with h5py.File(path, "w") as f:
        for padding in PADDINGS:
            for layout in LAYOUTS:
                kind, rows = (
                    (_text(padding), RAW) if layout in ("contiguous", "gzip") else _record(layout, _text(padding))
                )
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                if layout in ("gzip", "record"):
                    plist.set_chunk((16,))
                    plist.set_deflate(4)
                d = h5py.h5d.create(f.id, f"{padding}_{layout}".encode(), kind, h5py.h5s.create_simple((ROWS,)), plist)
                d.write(h5py.h5s.ALL, h5py.h5s.ALL, rows, kind)
    return path


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("text") / "text.h5")


def _place(padding: str, layout: str) -> str:
    return f"{padding}_{layout}" + ("" if layout in ("contiguous", "gzip") else ".label")


def _as_h5py(path: Path, place: str) -> np.ndarray:
    with h5py.File(path) as f:
        name, _, member = place.partition(".")
        return f[name][:][member] if member else f[name][:]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_text_equals_what_h5py_reads(path: Path, padding: str, layout: str) -> None:
    place = _place(padding, layout)
    ds = hr.open(path, fields={"t": place})
    want = _as_h5py(path, place)
    np.testing.assert_array_equal(ds["t"][:], want)
    np.testing.assert_array_equal(ds[[119, 3, 40]]["t"], want[[119, 3, 40]])


@pytest.mark.parametrize("cache", ["none", "auto", "ram", "directory"])
@pytest.mark.parametrize("padding", PADDINGS)
def test_loaders_and_caches_deliver_it(path: Path, tmp_path: Path, padding: str, cache: str) -> None:
    want = _as_h5py(path, f"{padding}_gzip")
    where = tmp_path / "kept" if cache == "directory" else cache
    with hr.Loader(hr.open(path, fields={"t": f"{padding}_gzip"}), 16, cache=where) as loader:
        for _ in range(2):
            np.testing.assert_array_equal(np.concatenate([np.array(b["t"]) for b in loader]), want)


@pytest.mark.parametrize("codec", ["gzip", "none"])
def test_rewritten_files_keep_text_and_padding(path: Path, tmp_path: Path, codec: str) -> None:
    tools.rewrite(path, to=tmp_path / "fast", codec=codec)
    new = tmp_path / "fast" / path.name
    with h5py.File(path) as old, h5py.File(new) as made:
        for name in old:
            assert made[name].id.get_type().equal(old[name].id.get_type()), name
    for padding in PADDINGS:
        for layout in LAYOUTS:
            place = _place(padding, layout)
            want = _as_h5py(path, place)
            np.testing.assert_array_equal(hr.open(new, fields={"t": place})["t"][:], want)
            if layout == "contiguous":
                np.testing.assert_array_equal(_as_h5py(new, place), want)
    with h5py.File(new) as made:  # as Fortran wants it, not with NULs
        d = made["spaces_contiguous"].id
        stored = np.zeros(ROWS, "V8")
        d.read(h5py.h5s.ALL, h5py.h5s.ALL, stored, d.get_type())
        assert bytes(stored[0]) == b"top\0junk" and bytes(stored[1]) == b"qcd     "


@pytest.mark.parametrize("padding", PADDINGS)
def test_a_virtual_dataset_gives_the_text_of_its_sources(tmp_path: Path, padding: str) -> None:
    source = _write(tmp_path / "text.h5")
    layout = h5py.VirtualLayout((ROWS,), "S8")
    layout[:] = h5py.VirtualSource("text.h5", f"{padding}_gzip", (ROWS,))
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        f.create_virtual_dataset("t", layout)
    want = _as_h5py(source, f"{padding}_gzip")
    np.testing.assert_array_equal(_as_h5py(tmp_path / "virtual.h5", "t"), want)
    np.testing.assert_array_equal(hr.open(tmp_path / "virtual.h5")["t"][:], want)
