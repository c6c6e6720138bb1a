"""Caches of decoded rows are listed, verified and removed. NumPy and this file write them, as documented."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace.__main__ import command_line

KEY = "5f0c9a1be2d34871"


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum, one bit at a time: any other implementation would do as well."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def write_cache(directory: Path, stem: str = "train") -> Path:
    """A whole cache of 20 rows of one file in blocks of 8, and the file."""
    directory.mkdir(exist_ok=True)
    folder = directory / f"{stem}-{KEY}"
    folder.mkdir(mode=0o700)
    source = directory.parent / f"{stem}.h5"
    source.write_bytes(b"rows")
    arrays = {"x": np.arange(60, dtype="<f4").reshape(20, 3), "y": np.arange(20)}
    table = np.array(
        [[crc32c(array[row : row + 8].tobytes()) for row in (0, 8, 16)] for array in arrays.values()], dtype="<u4"
    )
    for name, array in {**arrays, "crc32c": table}.items():
        np.save(folder / f"{name}.npy", array)

    def entry(name: str) -> dict[str, object]:
        data = (folder / f"{name}.npy").read_bytes()
        return {"file": f"{name}.npy", "bytes": len(data), "crc32c": f"{crc32c(data):08x}"}

    manifest = {
        "format": "headrace-cache",
        "format_version": 1,
        "headrace": "0.1.0",
        "created": "2026-01-31T12:00:00Z",
        "rows": 20,
        "fields": [
            {"name": name, "path": f"in/{name}", "dtype": array.dtype.str, "shape": array.shape[1:], **entry(name)}
            for name, array in arrays.items()
        ],
        "blocks": {"count": 3, "rows": 8},
        "checksums": entry("crc32c"),
        "sources": [
            {"path": str(source), "bytes": 4, "mtime_ns": source.stat().st_mtime_ns, "rows": 20},
        ],
    }
    text = json.dumps(manifest, indent=1)[:-2] + ',\n "crc32c_of_the_above": '
    (folder / "manifest.json").write_text(text + f'"{crc32c(text.encode()):08x}"\n}}\n')
    return folder


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command_line(), "cache", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_what_numpy_wrote_is_a_cache(tmp_path: Path) -> None:
    folder = write_cache(tmp_path / "cache")
    listed = hr.cache_list(folder.parent)
    assert not listed.findings, listed
    assert listed.to_dict()["caches"][0] == {
        "name": folder.name,
        "state": "valid",
        "note": "",
        "bytes": sum(path.stat().st_size for path in folder.glob("*.npy")),
        "rows": 20,
        "fields": ["x", "y"],
        "sources": [str(tmp_path / "train.h5")],
    }
    seen = []
    verified = hr.cache_verify(folder.parent, progress=lambda done, total: seen.append((done, total)))
    assert not verified.findings, verified
    assert "every checksum agrees" in str(verified)
    assert len(seen) == 6
    assert all(0 < done <= total for done, total in seen)
    assert folder.name in str(hr.cache_remove(folder.parent, folder.name))
    assert not folder.exists()
    assert hr.cache_list(folder.parent).to_dict()["caches"] == []


def test_damage_is_found(tmp_path: Path) -> None:
    folder = write_cache(tmp_path / "cache")
    data = bytearray((folder / "x.npy").read_bytes())
    data[-1] ^= 1
    (folder / "x.npy").write_bytes(data)
    assert not hr.cache_list(folder.parent).bad_data  # reads no rows
    verified = hr.cache_verify(os.fsencode(folder.parent).decode(), folder.name)
    assert verified.bad_data
    assert "x.npy" in str(verified)
    assert "rows [16, 20)" in str(verified)


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(hr.errors.FileMissingError):
        hr.cache_list(tmp_path / "nothing")
    folder = write_cache(tmp_path / "cache")
    for call in (hr.cache_remove, hr.cache_verify):
        with pytest.raises(hr.errors.FileMissingError, match=folder.name):
            call(folder.parent, "train")
    with pytest.raises(LookupError, match="mine"):
        hr.cache_verify(folder.parent, progress=lambda _done, _total: {}["mine"])
    assert folder.exists()


def test_command_line(tmp_path: Path) -> None:
    folder = write_cache(tmp_path / "cache")
    done = run("ls", folder.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{folder.name}" in done.stdout
    assert json.loads(run("ls", folder.parent, "--json").stdout)["caches"][0]["state"] == "valid"
    assert run("verify", folder.parent).returncode == 0
    assert run("verify", folder.parent, folder.name, "--quiet").returncode == 0

    (tmp_path / "train.h5").write_bytes(b"other rows")
    done = run("ls", folder.parent)
    assert done.returncode == 1
    assert "grew from 4 to 10 bytes" in " ".join(done.stdout.split())
    (folder / "y.npy").write_bytes(b"")
    assert run("ls", folder.parent).returncode == 3
    assert run("verify", folder.parent).returncode == 3
    assert run("rm", folder.parent, folder.name).returncode == 0
    assert not folder.exists()
    assert run("rm", folder.parent, folder.name).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "subcommand is required"),
        (("rm",), "NAME is required"),
        (("rm", "."), "there is no index '.'"),
        (("verify", ".", "--quite"), "Did you mean --quiet? headrace cache verify --help"),
        (("ls", "nothing"), "no such file"),
    ],
)
def test_usage_errors(arguments: tuple[str, ...], words: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
