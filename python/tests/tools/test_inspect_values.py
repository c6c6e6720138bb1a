"""What inspect tells of voxels: the share of each value, and a picture."""

from __future__ import annotations

import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_program import program
from ome_files import write_image
from zarr_stores import group3

import headrace as hr

pytestmark = pytest.mark.fast


def pixels(png: bytes) -> np.ndarray[Any, Any]:
    """Decode a grey PNG without filters, and check its checksums."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(png):
        size, name = struct.unpack_from(">I4s", png, at)
        body = png[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", png, at + 8 + size)[0] == zlib.crc32(name + body)
        chunks[name] = body
        at += 12 + size
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert kind == [8, 0, 0, 0, 0] and list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:]


@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4", "f2", "?"])
def test_values_of_all_files_together(tmp_path: Path, dtype: str) -> None:
    random = np.random.default_rng(1)
    every = []
    for number in range(2):
        values = random.integers(0, 4, (19 + number, 33, 17)) - (0 if dtype in ("u1", "?") else 1)
        every.append(values.astype(dtype).ravel())
        np.save(tmp_path / f"v_{number}.npy", values.astype(dtype))
    if dtype == "f4":
        held = np.load(tmp_path / "v_0.npy")
        held[:3] = np.nan
        np.save(tmp_path / "v_0.npy", held)
        every[0] = held.ravel()
    told = hr.inspect(tmp_path / "v_*.npy", values="v").to_dict()["values"][0]
    kinds, counts = np.unique(np.concatenate(every).astype("f8"), return_counts=True)
    assert told["voxels"] == sum(map(len, every))
    assert {float(v["value"].replace("true", "1")) for v in told["values"] if v["value"] != "nan"} == {
        float(k) for k in kinds if not np.isnan(k)
    }
    assert sorted(v["voxels"] for v in told["values"]) == sorted(counts.tolist())


def test_screen_and_picture(tmp_path: Path) -> None:
    root = group3(tmp_path / "crop.zarr")
    labels = np.zeros((20, 30, 40), np.uint8)
    labels[5:15, 10:20, 10:30] = 3
    raw = np.arange(20 * 30 * 40, dtype=np.uint16).reshape(20, 30, 40)
    write_image(root / "labels", 3, {"s0": (labels, 8, [0, 0, 0])})
    write_image(root / "em", 3, {"s0": (raw, 8, [0, 0, 0])})
    shown = hr.inspect(root, values="labels@8", picture="em@8")
    assert "labels@8: 0: 91.7 %, 3: 8.33 % of 24,000 voxels" in " ".join(str(shown).split())
    middle = raw[10].astype(float)
    want = np.rint(255 * (middle - middle.min()) / (middle.max() - middle.min()))
    np.testing.assert_array_equal(pixels(shown.png), want)
    target = tmp_path / "slice.png"
    wanted = ["--values", "labels/s0,em/s0", "--array", "em/s0", "--png", str(target)]
    done = subprocess.run([program(), "inspect", str(root), *wanted], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and "others: 99.9 %" in " ".join(done.stdout.split())
    np.testing.assert_array_equal(pixels(target.read_bytes()), want)
    assert hr.inspect(root).png == b"" and "values" not in hr.inspect(root).to_dict()


def test_what_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "many.npy", np.arange(1_100_000, dtype=np.int32))
    with pytest.raises(hr.UnsupportedError, match="more than 1,048,576 values"):
        hr.inspect(tmp_path / "many.npy", values="many")
    np.savez(tmp_path / "few.npz", some=np.zeros((3, 4), np.uint8))
    for wrong in ({"values": ["none"]}, {"picture": "none"}):
        with pytest.raises(hr.FieldMissingError, match="none"):
            hr.inspect(tmp_path / "few.npz", **wrong)
