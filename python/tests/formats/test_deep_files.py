"""JSON, and folders by links, that have no end: an error or a warning with the place, and never a crash."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizer_files as files

import headrace as hr
from headrace._support.program import command_line

zarr = pytest.importorskip("zarr", reason="zarr writes the stores")
LISTS, OBJECTS = ("[", "1", "]"), ('{"a": ', "1", "}")


def deep(depth: int, kind: tuple[str, str, str]) -> str:
    return kind[0] * depth + kind[1] + kind[2] * depth


def store(path: Path, version: int) -> Path:
    group = zarr.open_group(path, mode="w", zarr_format=version)
    group.create_array("x", data=np.arange(12), chunks=(4,))
    group.create_array("y", data=np.arange(12), chunks=(4,))
    return path


@pytest.mark.parametrize("depth", [300, 1_000_000])
@pytest.mark.parametrize("kind", [LISTS, OBJECTS])
@pytest.mark.parametrize("place", ["x/.zarray", "x/.zattrs", ".zattrs", "x/zarr.json", "zarr.json"])
def test_metadata_of_zarr(tmp_path: Path, depth: int, kind: tuple[str, str, str], place: str) -> None:
    """In a process of its own: a crash would end this one."""
    path = store(tmp_path / "s.zarr", 3 if place.endswith(".json") else 2)
    whole = json.loads((path / place).read_text()) if (path / place).exists() else {}
    text = json.dumps({**whole, "attributes": 7, "dtype" if "zarray" in place else "other": 8})
    (path / place).write_text(text.replace("7", deep(depth, kind)).replace("8", deep(depth, kind)))
    words = [sys.executable, "-W", "ignore", "-c", "import sys, headrace as hr\nprint(list(hr.open(sys.argv[1])[:1]))"]
    ran = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), (ran.returncode, ran.stderr)
    assert ran.stdout.strip() == "['y']" if ran.returncode == 0 else "nested deeper than 256 levels" in ran.stderr
    verified = subprocess.run([str(command_line()), "verify", str(path)], capture_output=True, text=True, check=False)
    assert verified.returncode in (2, 3), verified


@pytest.mark.parametrize("kind", [LISTS, OBJECTS])
def test_other_documents(tmp_path: Path, kind: tuple[str, str, str]) -> None:
    text = deep(200_000, kind)
    made = files.small()
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({**made, "truncation": "DEEP"}).replace('"DEEP"', text))
    with pytest.raises(hr.CorruptDataError, match=r"tokenizer\.json.* nested deeper"):
        hr.Tokenizer(path)
    with hr.tokens.Writer(tmp_path / "own", vocab_size=100) as writer:
        writer.write(np.arange(5))
    manifest = tmp_path / "own" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("null", text, 1))
    with pytest.raises(hr.CorruptDataError, match=r"manifest\.json.* nested deeper"):
        hr.open_tokens(tmp_path / "own")
    np.save(tmp_path / "x.npy", np.arange(8))
    with pytest.raises(hr.InvalidArgumentError, match="not a JSON object"):
        hr.Loader(tmp_path / "x.npy", 2)._native.check_state(text, False)


def test_links_to_each_other_are_followed_so_far(tmp_path: Path) -> None:
    """Links from n groups to all of them are more paths than there is time for; what is not entered is told."""
    path = store(tmp_path / "s.zarr", 2)
    for number in range(12):
        group = zarr.open_group(path / f"g{number:02}", mode="w", zarr_format=2)
        group.create_array("z", data=np.arange(12), chunks=(4,))
    for number in range(12):
        for other in range(12):
            if other != number:
                (path / f"g{number:02}" / f"to{other:02}").symlink_to(path / f"g{other:02}")
    with pytest.warns(hr.HeadraceWarning, match="links lead to this directory more than 64 times"):
        data = hr.open(path)
    assert {"x", "y"} <= set(data[:1])


def test_a_group_by_two_names_is_there_twice(tmp_path: Path) -> None:
    path = store(tmp_path / "s.zarr", 2)
    zarr.open_group(path / "g", mode="w", zarr_format=2).create_array("z", data=np.arange(12), chunks=(4,))
    (path / "h").symlink_to(path / "g")
    data = hr.open(path, ["x", "g/z", "h/z"])
    assert np.array_equal(data[:]["h/z"], np.arange(12))
