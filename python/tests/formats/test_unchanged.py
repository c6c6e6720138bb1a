"""What counts as unchanged: files, directories, and the files of chunks in a store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from tokenizer_files import SMALL
from zarr_stores import array2, array3, group2, group3

import headrace as hr

CHUNKS = 8
BYTES = [{"name": "bytes", "configuration": {"endian": "little"}}]
LONG_AGO = (1_700_000_000, 1_700_000_000)


def rows(value: int) -> np.ndarray:
    return np.full((CHUNKS * 16, 4), value, "f4")


def chunk_files(array: Path) -> list[Path]:
    return sorted(p for p in array.rglob("*") if p.is_file() and p.suffix != ".json" and not p.name.startswith("."))


def rewrite(array: Path, value: int, *, how_many: int = CHUNKS) -> None:
    """Write chunks in place, as ``open(path, "wb")`` does: their directories keep their times."""
    for path in chunk_files(array)[:how_many]:
        path.write_bytes(rows(value)[:16].tobytes())


def age(folder: Path) -> None:
    """Let nothing look as if it had just been written."""
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, LONG_AGO)


LAYOUTS: dict[str, Callable[[Path], tuple[Path, Path]]] = {
    "v2 root": lambda p: (array2(p / "s.zarr", rows(1), (16, 4), codec=None),) * 2,
    "v2 in a group": lambda p: (group2(p / "s.zarr"), array2(p / "s.zarr" / "x", rows(1), (16, 4), codec=None)),
    "v3 root": lambda p: (array3(p / "s.zarr", rows(1), (16, 4), codec=None),) * 2,
    "v3 in a group": lambda p: (group3(p / "s.zarr"), array3(p / "s.zarr" / "x", rows(1), (16, 4), codec=None)),
}


@pytest.fixture(params=LAYOUTS)
def store(request, tmp_path: Path) -> tuple[Path, Path]:
    """A store, and the directory of its array, whose values are 1."""
    made = LAYOUTS[request.param](tmp_path)
    age(made[0])
    return made


def states(cache: Path | str) -> list[str]:
    return [one["state"] for one in hr.cache_list(cache).to_dict()["caches"]]


def values(store: Path, **options) -> list[float]:
    dataset = hr.open(store)
    name = next(iter(dataset.fields))
    loader = hr.Loader(dataset, 16, **options)
    return sorted({float(v) for _ in range(2) for batch in loader for v in batch[name].ravel()})


def test_a_cache_of_a_store_is_made_whole_and_used(store, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", hr.HeadraceWarning)
        assert values(store[0], cache=f"{tmp_path}/cache/") == [1.0]
        assert states(tmp_path / "cache") == ["valid"]
        with hr.Loader(hr.open(store[0]), 16, cache=f"{tmp_path}/cache/") as loader:
            list(loader)
            assert loader.report().chunks_decoded == 0
    assert not hr.cache_verify(tmp_path / "cache").findings


@pytest.mark.parametrize("how_many", [CHUNKS, 1])
def test_chunks_written_in_place_make_a_cache_anew(store, tmp_path: Path, how_many: int) -> None:
    cache = f"{tmp_path}/cache/"
    assert values(store[0], cache=cache) == [1.0]
    rewrite(store[1], 5, how_many=how_many)
    assert states(cache) == ["stale"]
    want = [5.0] if how_many == CHUNKS else [1.0, 5.0]
    with pytest.warns(hr.HeadraceWarning, match="made from another version"):
        assert values(store[0], cache=cache) == want
    assert values(store[0], cache=cache) == want


def test_a_build_is_not_gone_on_with_over_other_chunks(store, tmp_path: Path) -> None:
    cache = f"{tmp_path}/cache/"
    dataset = hr.open(store[0])
    with hr.Loader(dataset, 16, cache=cache, threads=1, memory="4MiB") as loader:
        next(iter(loader))
    rewrite(store[1], 5)
    assert values(store[0], cache=cache) == [5.0]


def run(code: str, home: Path, *words: str) -> str:
    """The last line that a process of its own prints."""
    source = "import sys, warnings, headrace as hr\nwarnings.simplefilter('ignore')\n" + code
    done = subprocess.run(
        [sys.executable, "-c", source, *words],
        env={**os.environ, "HEADRACE_CACHE": str(home)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[-2]


def test_statistics_and_counts_of_classes_are_those_of_the_chunks(tmp_path: Path) -> None:
    labels = np.zeros((16, 16, 16), "u1")
    labels[:4, :4, :4] = 1
    array = array2(tmp_path / "l.zarr", labels, (8, 8, 8), codec=None)
    age(array)
    stats = "print(float(hr.open(sys.argv[1]).stats('l.zarr').mean.mean()) > 0.05)"
    counts = (
        "p = hr.open_volume(sys.argv[1], ['l.zarr']).patches((4, 4, 4), 20, balance={'l.zarr': [1]})\n"
        "print(sum(int(b['l.zarr'].any(axis=(1, 2, 3)).sum()) for b in hr.Loader(p, 5)))"
    )
    for _ in range(2):
        assert run(stats, tmp_path / "home", str(array)) == "False"
        assert run(counts, tmp_path / "home", str(array)) == "20"
    first, last = array / "0.0.0", array / "1.1.1"
    old = first.read_bytes(), last.read_bytes()
    first.write_bytes(old[1]), last.write_bytes(bytes([1]) * 512)
    for path in (first, last):
        os.utime(path, LONG_AGO)  # even so: the time of change tells
    assert run(stats, tmp_path / "home", str(array)) == "True"
    assert run(counts, tmp_path / "home", str(array)) == "20"


def test_processes_of_a_host_share_rows_of_the_same_chunks_alone(tmp_path: Path) -> None:
    array = array2(tmp_path / "x.zarr", rows(1), (16, 4), codec=None)
    age(array)
    code = (
        "l = hr.Loader(hr.open(sys.argv[1]), 16, share='host', memory='64MiB')\n"
        "print(sorted({float(v) for b in l for c in b.values() for v in c.ravel()}), flush=True)\nsys.stdin.read()"
    )
    environment = {**os.environ, "HEADRACE_CACHE": str(tmp_path / "home")}
    source = "import sys, headrace as hr\n" + code
    with subprocess.Popen(
        [sys.executable, "-c", source, str(array)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "[1.0]\n"
        rewrite(array, 5)
        done = subprocess.run(
            [sys.executable, "-c", source, str(array)],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=100,
            check=True,
        )
        assert done.stdout == "[5.0]\n"
        other.communicate("", timeout=100)


# ------------------------------------------------------------------------------------------------ while it is in use


def epochs(loader: hr.Loader) -> None:
    """Take some: the first may have been decoded before the file changed."""
    for _ in range(4):
        list(loader)


def test_a_chunk_that_was_there_and_is_gone_is_an_error(store) -> None:
    dataset = hr.open(store[0])
    name = next(iter(dataset.fields))
    loader = hr.Loader(dataset, 16, cache="none")
    assert sum(len(batch[name]) for batch in loader) == CHUNKS * 16
    chunk_files(store[1])[3].unlink()
    with pytest.raises(hr.FileChangedError, match=r"was there before, and is gone|it was removed"):
        epochs(loader)
    with pytest.raises(hr.FileChangedError, match="was there before, and is gone"):
        dataset[48:64]
    assert hr.open(store[0])[48:64][name].max() == 0  # as one that was never written


def test_a_shard_that_was_there_and_is_gone_is_an_error(tmp_path: Path) -> None:
    """Also once its index, of 4 MiB here, has made room for those of others."""
    store = array3(tmp_path / "s.zarr", rows(1)[:64], (16, 4), shards=(16, 4), codec=None)
    meta = json.loads((store / "zarr.json").read_text())
    meta["shape"], shard = [2**18 * 6, 1], [2**18, 1]
    meta["chunk_grid"]["configuration"]["chunk_shape"] = shard
    meta["codecs"][0]["configuration"] |= {"chunk_shape": [1, 1], "codecs": BYTES, "index_codecs": BYTES}
    (store / "zarr.json").write_text(json.dumps(meta))
    for path in chunk_files(store):
        path.unlink()
    index = np.full((2**18, 2), 2**64 - 1, "<u8")
    index[0] = 0, 4
    for shard_number in range(6):
        path = store / "c" / str(shard_number) / "0"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(np.array([7], "<f4").tobytes() + index.tobytes())
    data = hr.open(store)
    name = next(iter(data.fields))
    firsts = [2**18 * n for n in range(6)]
    assert [float(data[first][name][0]) for first in firsts] == [7] * 6
    (store / "c" / "0" / "0").unlink()
    with pytest.raises(hr.FileChangedError, match=r"gone|removed"):
        data[0]
    assert float(data[firsts[5]][name][0]) == 7


def test_a_store_is_where_it_was_when_it_was_opened(store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program goes to another directory before chunks are read: nothing there is no fill value."""
    monkeypatch.chdir(tmp_path)
    dataset = hr.open(store[0].name)
    name = next(iter(dataset.fields))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert {float(v) for batch in hr.Loader(dataset, 16) for v in batch[name].ravel()} == {1.0}
    assert float(dataset.stats(name).mean.mean()) == 1.0
    assert float(dataset[5][name].mean()) == 1.0


def test_metadata_that_is_replaced_is_noticed(store) -> None:
    dataset = hr.open(store[0])
    loader = hr.Loader(dataset, 16, cache="none")
    list(loader)
    (metadata,) = [p for n in (".zarray", "zarr.json") if (p := store[1] / n).exists()]
    with metadata.open("a") as file:  # not cut to nothing first: threads that read ahead may look at any time
        file.write(" ")
    with pytest.raises(hr.FileChangedError, match="grew from"):
        epochs(loader)


@pytest.mark.parametrize("how", ["mode", "link", "date put back", "copy"])
def test_a_file_that_was_touched_is_read_on_with_one_notice(tmp_path: Path, how: str) -> None:
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(4000.0), chunks=(100,))
    os.utime(path, LONG_AGO)
    loader = hr.Loader(hr.open(path), 100, cache="none")
    batches = iter(loader)
    next(batches)
    if how == "mode":
        path.chmod(0o640)
    elif how == "link":
        (tmp_path / "y.h5").hardlink_to(path)
    elif how == "copy":
        (tmp_path / "y.h5").write_bytes(path.read_bytes())
        (tmp_path / "y.h5").replace(path)
    else:
        path.write_bytes(path.read_bytes())
    os.utime(path, LONG_AGO)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert sum(batch["x"].sum() for _ in range(3) for batch in loader) == 3 * np.arange(4000.0).sum()
    assert [str(w.message).partition(". It is read on")[1] for w in told] == [". It is read on"]
    assert [n for n in loader.report().notices if str(path) in n and "read on" in n] != []
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(hr.FileChangedError, match=r"grew|bytes before"):
        epochs(loader)


@pytest.mark.parametrize("which", ["companion", "virtual"])
def test_files_beside_the_data_sets_own_are_told_too(tmp_path: Path, which: str) -> None:
    path, beside = tmp_path / "x.h5", tmp_path / "beside.h5"
    with h5py.File(beside, "w") as file:
        file.create_dataset("z", data=np.arange(4000.0), chunks=(100,))
    with h5py.File(path, "w") as file:
        if which == "virtual":
            layout = h5py.VirtualLayout((4000,), "f8")
            layout[:] = h5py.VirtualSource(str(beside), "z", (4000,))
            file.create_virtual_dataset("x", layout)
        else:
            file.create_dataset("x", data=np.arange(4000.0), chunks=(100,))
    for one in (path, beside):
        os.utime(one, LONG_AGO)
    fields = {"x": "x"} if which == "virtual" else {"x": "x", "z": f"{beside}::z"}
    loader = hr.Loader(hr.open(path, fields), 100, cache="none")
    batches = iter(loader)
    next(batches)
    beside.chmod(0o640)
    path.chmod(0o640)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        list(batches)
        epochs(loader)
    assert len([w for w in told if "It is read on" in str(w.message)]) == 1
    assert "It is read on" in str(loader.report())


def test_text_whose_date_was_put_back_is_tokenised_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    code = "print([int(i) for d in hr.open_text(sys.argv[1], sys.argv[2]).documents() for i in d['tokens']])"
    found = []
    for text in ("hello world", "world hello", "world hello"):
        path.write_text(json.dumps({"text": text}) + "\n")
        os.utime(path, LONG_AGO)
        found.append(run(code, tmp_path / "home", str(path), str(SMALL)))
    assert found[0] != found[1] == found[2]
