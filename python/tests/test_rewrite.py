"""headrace rewrite: what is written is what was read, whatever happens on the way. h5py is the oracle."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from numpy.typing import NDArray

import headrace as hr

hdf5plugin = pytest.importorskip("hdf5plugin", reason="h5py reads LZ4, zstd and Blosc with it")

CODECS = ("lz4", "zstd", "blosc", "gzip", "none")
WORK = ".headrace-rewrite"


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    if named:
        return named
    command_line = pytest.importorskip("headrace.__main__", reason="no HEADRACE_CLI, and headrace is not installed")
    return os.fspath(command_line.command_line())


def rewrite(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [program(), "rewrite", *map(str, arguments), "--json", "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **options)


def write_odd(path: Path) -> None:
    """A file with what real files have beside arrays of numbers."""
    rng = np.random.default_rng(3)
    with h5py.File(path, "w", userblock_size=512, track_order=True) as file:
        file.attrs["title"] = "odd"
        file.attrs["empty"] = h5py.Empty("f4")
        file.attrs["texts"] = np.array(["a", "ßé"], dtype=h5py.string_dtype())
        file.attrs["large"] = np.arange(20_000, dtype="f8")  # beyond 64 KiB
        x = file.create_dataset(
            "zz/x",
            data=rng.normal(size=(1003, 7, 3)).astype("f4"),
            chunks=(100, 7, 3),
            compression="gzip",
            fletcher32=True,
            maxshape=(None, 7, 3),
            fillvalue=-1,
        )
        x.attrs["unit"] = "GeV"
        x.attrs["weights"] = np.arange(3, dtype=">i2")
        file["zz"].attrs["of"] = "a group"
        file.create_dataset("cut", data=rng.integers(99, size=(211, 30, 17)), chunks=(16, 7, 5), compression="lzf")
        file["big_endian"] = rng.normal(size=(500, 3)).astype(">f8")
        file["big_endian_words"] = rng.integers(9, size=(50,)).astype(">u2")
        file["flags"] = rng.integers(2, size=1003).astype(bool)
        file["half"] = rng.normal(size=(1003, 2)).astype("f2")
        file["complex"] = (rng.normal(size=64) + 1j).astype("c8")
        file["text"] = np.array([b"ab", b"cde", b""] * 30, dtype="S5")
        file["labels"] = np.arange(1003)
        file.create_dataset("words", data=["one", "two", "drei" * 50], dtype=h5py.string_dtype())
        file.create_dataset("sequences", (4,), dtype=h5py.vlen_dtype("i4"))
        file["sequences"][1] = np.arange(5)
        records = np.zeros(300, dtype=[("a", "i4"), ("b", "<f8", (2,)), ("s", "S3")])
        records["a"] = np.arange(300)
        records["b"] = rng.normal(size=(300, 2))
        file.create_dataset("records", data=records, chunks=(64,), compression="gzip")
        file["mixed_records"] = np.array([(1, 2.5)], dtype=[("big", ">i4"), ("little", "<f8")])
        file["scalar"] = 3.5
        file["text_scalar"] = "hello"
        file["nothing"] = np.zeros((0, 4), dtype="i2")
        file["null"] = h5py.Empty("i4")
        file.create_dataset("never_written", (1000, 4), dtype="f4", chunks=(10, 4), fillvalue=7)
        sparse = file.create_dataset("sparse", (1000, 4), dtype="f4", chunks=(10, 4), fillvalue=7)
        sparse[500:520] = 1
        file["type"] = np.dtype("i4")
        file["soft"] = h5py.SoftLink("/zz/x")
        file["outside"] = h5py.ExternalLink("other.h5", "/y")
        file["a_hard_link"] = file["labels"]
        file["zz/loop"] = file["/"]
        file["references"] = np.array([file["labels"].ref, file["zz"].ref], dtype=h5py.ref_dtype)
        file["labels"].make_scale("jet")
        file["zz/x"].dims[0].attach_scale(file["labels"])
        enum = h5py.enum_dtype({"RED": 0, "BLUE": 42}, basetype="u1")
        file.create_dataset("colours", data=np.array([0, 42, 42], dtype="u1"), dtype=enum)
    with path.open("r+b") as raw:
        raw.write(b"a user block")


def same(a: object, b: object, where: str) -> None:
    """Values as h5py gives them, bit for bit."""
    assert type(a) is type(b), where
    if isinstance(a, h5py.Empty):
        assert a == b, where
        return
    x, y = np.asarray(a), np.asarray(b)
    assert x.dtype == y.dtype and x.shape == y.shape, where
    if x.dtype.hasobject:
        for left, right in zip(x.ravel(), y.ravel(), strict=True):
            if isinstance(left, np.ndarray):
                same(left, right, where)
            elif not isinstance(left, (h5py.Reference, np.void)):
                assert left == right, where
    else:
        assert x.tobytes() == y.tobytes(), where


def compare(old: h5py.Group, new: h5py.Group, path: str = "", seen: frozenset[str] = frozenset()) -> int:
    """Names, links, attributes, types, shapes and values. Returns how many datasets there were."""
    assert list(old) == list(new), path
    count = 0
    for name in old:
        link, other = old.get(name, getlink=True), new.get(name, getlink=True)
        assert type(link) is type(other), name
        if isinstance(link, h5py.SoftLink):
            assert link.path == other.path
            continue
        if isinstance(link, h5py.ExternalLink):
            assert (link.filename, link.path) == (other.filename, other.path)
            continue
        where = f"{path}/{name}"
        a, b = old[name], new[name]
        assert type(a) is type(b), where
        assert list(a.attrs) == list(b.attrs), where
        for key in a.attrs:
            same(a.attrs[key], b.attrs[key], f"{where}@{key}")
        if isinstance(a, h5py.Group):
            if name != "loop":
                count += compare(a, b, where)
        elif isinstance(a, h5py.Dataset):
            count += 1
            assert a.dtype == b.dtype and a.shape == b.shape, where
            if a.shape is not None:
                assert a.maxshape == b.maxshape, where
                same(a[()], b[()], where)
                if a.dtype != h5py.ref_dtype:
                    same(a.fillvalue, b.fillvalue, where)
    return count


def nothing_else(directory: Path, *names: str) -> None:
    assert sorted(p.name for p in directory.iterdir() if p.name != WORK) == sorted(names)
    assert not list((directory / WORK).glob("*.partial"))
    assert not list((directory / WORK).glob("*.journal"))


@pytest.mark.parametrize("codec", CODECS)
def test_odd_files_are_equal_in_all_that_h5py_sees(tmp_path: Path, codec: str) -> None:
    source = tmp_path / "odd.h5"
    write_odd(source)
    done = rewrite(source, "--to", tmp_path / "fast", "--codec", codec)
    assert done.returncode == 0, done.stderr + done.stdout
    result = json.loads(done.stdout)
    nothing_else(tmp_path / "fast", "odd.h5")
    with h5py.File(source) as old, h5py.File(tmp_path / "fast/odd.h5") as new:
        assert compare(old, new) == 22
        assert new["a_hard_link"] == new["labels"]
        assert new[new["references"][0]] == new["labels"]
        assert new[new["references"][1]] == new["zz"]
        assert new["zz/x"].dims[0][0] == new["labels"]
        assert new["labels"].attrs["REFERENCE_LIST"][0][1] == 0
        filters = {"lz4": "32004", "zstd": "32015", "blosc": "32001", "gzip": "gzip", "none": None}
        stored = {str(k) for name in ("zz/x", "cut") for k in new[name]._filters}
        assert (filters[codec] is None and not stored) or filters[codec] in stored, stored
    assert (tmp_path / "fast/odd.h5").read_bytes()[:12] == b"a user block"
    rewritten = {a["path"] for a in result["files"][0]["arrays"]}
    assert rewritten == {
        "zz/x",
        "cut",
        "big_endian",
        "big_endian_words",
        "flags",
        "half",
        "complex",
        "text",
        "a_hard_link",  # the first name of labels
        "records",
        "sparse",
        "colours",
    }
    assert any("outside" in note for note in result["done"]["notes"])
    with (
        hr.open(tmp_path / "fast/odd.h5", {"x": "zz/x", "y": "labels"}) as new_set,
        hr.open(source, {"x": "zz/x", "y": "labels"}) as old_set,
    ):
        for name in ("x", "y"):
            np.testing.assert_array_equal(new_set[name][:], old_set[name][:])


@pytest.mark.parametrize("codec", ("zstd", "none"))
def test_npy_files_become_hdf5(tmp_path: Path, codec: str) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "floats": rng.normal(size=(1000, 3)).astype("f4"),
        "big": rng.integers(1000, size=77).astype(">i4"),
        "flags": rng.integers(2, size=50).astype(bool),
        "half": rng.normal(size=9).astype("f2"),
        "complex": (rng.normal(size=9) * 1j).astype("c16"),
        "text": np.array([b"a", b"bc"]),
    }
    for name, values in arrays.items():
        np.save(tmp_path / f"{name}.npy", values)
    result = hr.rewrite(str(tmp_path / "*.npy"), tmp_path / "fast", codec=codec)
    assert result.to_dict()["done"]["files_written"] == len(arrays)
    for name, values in arrays.items():
        with h5py.File(tmp_path / f"fast/{name}.h5") as file:
            assert list(file) == [name]
            assert file[name].dtype == values.dtype.newbyteorder("=")
            np.testing.assert_array_equal(file[name][()], values)


def write_set(directory: Path, rows: tuple[int, ...] = (900, 1300, 401)) -> NDArray[np.int64]:
    first = 0
    for i, count in enumerate(rows):
        with h5py.File(directory / f"train_{i}.h5", "w") as file:
            ids = np.arange(first, first + count)
            pairs = ids[:, None] * 100 + np.arange(40)
            file.create_dataset("x", data=pairs.astype("f4"), chunks=(64, 13), compression="gzip")
            file.create_dataset("id", data=ids)
            file.create_dataset("big", data=ids.astype(">i8"), chunks=(100,))
            file.create_dataset("names", data=np.arange(5) + i)  # not a row a sample
            file["x"].attrs["from"] = i
        first += count
    return np.arange(first)


@pytest.mark.parametrize("memory", (None, "6MB"))
@pytest.mark.parametrize("chunk_rows", (None, 7))
def test_shuffled_rows_move_together_over_all_files(tmp_path: Path, memory: str | None, chunk_rows: int | None) -> None:
    ids = write_set(tmp_path)
    orders = {}
    for to, seed in (("one", 1), ("again", 1), ("two", 2)):
        hr.rewrite(
            str(tmp_path / "train_*.h5"),
            tmp_path / to,
            codec="lz4",
            shuffle=True,
            seed=seed,
            memory=memory,
            chunk_rows=chunk_rows,
            threads=1 if to == "again" else 2,
        )
        found = []
        for i in range(3):
            with h5py.File(tmp_path / f"train_{i}.h5") as old, h5py.File(tmp_path / to / f"train_{i}.h5") as new:
                assert new["x"].shape == old["x"].shape
                assert new["x"].attrs["from"] == i
                here = new["id"][()]
                np.testing.assert_array_equal(new["x"][()], (here[:, None] * 100 + np.arange(40)).astype("f4"))
                np.testing.assert_array_equal(new["big"][()], here)
                assert new["big"].dtype == np.dtype(">i8")
                np.testing.assert_array_equal(new["names"][()], old["names"][()])
                found.append(here)
        orders[to] = np.concatenate(found)
    np.testing.assert_array_equal(np.sort(orders["one"]), ids)
    np.testing.assert_array_equal(orders["one"], orders["again"])
    assert (orders["one"] != orders["two"]).mean() > 0.99
    first_file = orders["one"][:900]  # a third of all rows comes from each file's share
    assert abs((first_file < 900).mean() - 900 / 2601) < 0.08
    assert np.abs(np.corrcoef(orders["one"], ids)[0, 1]) < 0.1


def test_memory_too_small_for_all_rows_reads_the_files_several_times(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for i in range(3):
        with h5py.File(tmp_path / f"f{i}.h5", "w") as file:
            file.create_dataset("x", data=rng.normal(size=(2000, 500)).astype("f4"), chunks=(50, 500))
            file["id"] = np.arange(2000) + 2000 * i
    result = hr.rewrite(str(tmp_path / "*.h5"), tmp_path / "s", codec="lz4", shuffle=True, memory="4MB", chunk_rows=32)
    assert result.to_dict()["forecast"]["passes"] > 3
    whole = np.concatenate([h5py.File(tmp_path / f"f{i}.h5")["x"][()] for i in range(3)])
    for i in range(3):
        with h5py.File(tmp_path / f"s/f{i}.h5") as file:
            np.testing.assert_array_equal(file["x"][()], whole[file["id"][()]])


def test_rows_that_cannot_move_along_are_refused(tmp_path: Path) -> None:
    write_set(tmp_path)
    with h5py.File(tmp_path / "train_1.h5", "a") as file:
        file.create_dataset("words", data=["w"] * 1300, dtype=h5py.string_dtype())
    with pytest.raises(hr.InvalidArgumentError, match=r"train_1\.h5.*words.*row for each sample"):
        hr.rewrite(str(tmp_path / "train_*.h5"), tmp_path / "s", shuffle=True)
    with h5py.File(tmp_path / "train_1.h5", "a") as file:
        del file["words"]
        del file["id"]
    with pytest.raises(hr.InvalidArgumentError, match="not in every file"):
        hr.rewrite(str(tmp_path / "train_*.h5"), tmp_path / "s", shuffle=True)
    assert not (tmp_path / "s").exists()


def write_long(path: Path, megabytes: int = 96) -> None:
    rng = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        for name in ("a", "b", "c"):
            part = rng.integers(200, size=(megabytes * 1000 // 3, 250), dtype="i4")
            file.create_dataset(name, data=part, chunks=(100, 250))
        file["words"] = ["x", "y"]
        file["a"].attrs["unit"] = "m"


def equal_files(old: Path, new: Path) -> None:
    with h5py.File(old) as a, h5py.File(new) as b:
        compare(a, b)


@pytest.mark.parametrize("shuffle", (False, True))
def test_a_killed_call_is_gone_on_with(tmp_path: Path, shuffle: bool) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source)
    command = [program(), "rewrite", str(source), "--to", str(fast), "--codec", "gzip", "--memory", "24MB", "--quiet"]
    command += ["--shuffle", "--seed", "5"] if shuffle else []
    kills = 0
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            journal = fast / WORK / "long.h5.journal"
            before = journal.stat().st_mtime_ns if journal.exists() else 0
            saves = 0
            while process.poll() is None and saves < 2:  # the first is of the empty file
                now = journal.stat().st_mtime_ns if journal.exists() else before
                saves, before = saves + (now != before), now
                time.sleep(0.005)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        if not (fast / "long.h5").exists():
            assert list(fast.iterdir()) == [fast / WORK], "no half-written file under its own name"
    assert kills > 0
    arguments = [source, "--to", fast, "--codec", "gzip", "--memory", "24MB", *command[9:]]
    done = rewrite(*arguments)
    assert done.returncode == 0, done.stderr + done.stdout
    found = json.loads(done.stdout)["done"]
    assert found["rows_found"] > 0, "it went on, and did not begin again"
    nothing_else(fast, "long.h5")
    plain = tmp_path / "plain"
    assert rewrite(source, "--to", plain, "--codec", "gzip", *command[9:]).returncode == 0
    equal_files(plain / "long.h5", fast / "long.h5")
    if not shuffle:
        equal_files(source, fast / "long.h5")


def test_stopping_and_going_on(tmp_path: Path) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 24)
    for share in (0.1, 0.2, 0.3, 0.45, 0.6, 0.8):  # also while it verifies
        with pytest.raises(hr.Error, match="stopped"):
            hr.rewrite(source, fast, codec="lz4", memory="14MB", progress=lambda done, of, s=share: done < s * of)
        assert list(fast.iterdir()) == [fast / WORK]
    result = hr.rewrite(source, fast, codec="lz4", memory="14MB")
    assert result.to_dict()["done"]["rows_found"] > 0
    equal_files(source, fast / "long.h5")
    again = hr.rewrite(source, fast, codec="lz4")
    assert "nothing to do" in str(again)
    assert again.to_dict()["done"]["files_found"] == 1


def test_a_full_disk_is_an_error_and_the_next_call_goes_on(tmp_path: Path) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 24)
    limit = 5_000_000

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = rewrite(source, "--to", fast, "--codec", "lz4", "--memory", "14MB", preexec_fn=limited)
    assert done.returncode == 4, done.stderr + done.stdout
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "write_failed"
    assert "long.h5" in error["file"]
    assert "run the same command again" in error["hint"]
    assert not (fast / "long.h5").exists()
    assert rewrite(source, "--to", fast, "--codec", "lz4").returncode == 0
    equal_files(source, fast / "long.h5")


def test_too_little_room_is_said_before_anything_is_written(tmp_path: Path) -> None:
    source = tmp_path / "large.h5"
    free = os.statvfs(tmp_path)
    rows = free.f_bavail * free.f_frsize // 8000 + 100_000
    with h5py.File(source, "w") as file:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
        space = h5py.h5s.create_simple((rows, 1000))
        h5py.h5d.create(file.id, b"x", h5py.h5t.NATIVE_DOUBLE, space, plist)  # a hole on the disk
    done = rewrite(source, "--to", tmp_path / "fast", "--codec", "none")
    assert done.returncode == 4, done.stdout
    assert "are free" in json.loads(done.stdout)["error"]["message"]
    assert not (tmp_path / "fast").exists()


@pytest.mark.parametrize("codec", ("lz4", "none"))
def test_damage_on_the_way_to_the_disk_is_found(tmp_path: Path, codec: str) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 24)
    flipped = []

    def flip(done: int, total: int) -> bool:
        partial = fast / WORK / "long.h5.partial"
        if done >= total // 2 and not flipped:  # all is written, and nothing verified yet
            data = partial.read_bytes()
            at = len(data) // 2
            with partial.open("r+b") as file:
                file.seek(at)
                file.write(bytes([data[at] ^ 1]))
            flipped.append(at)
        return True

    with pytest.raises(hr.CorruptDataError, match=r"verify|LZ4|lz4"):
        hr.rewrite(source, fast, codec=codec, progress=flip)
    assert flipped
    assert not (fast / "long.h5").exists()
    assert not (fast / WORK / "long.h5.partial").exists()
    hr.rewrite(source, fast, codec=codec)
    equal_files(source, fast / "long.h5")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_set(tmp_path)
    source, fast = tmp_path / "train_0.h5", tmp_path / "fast"
    before = source.read_bytes()
    with pytest.raises(hr.InvalidArgumentError, match="one of the sources"):
        hr.rewrite(source, tmp_path)
    assert source.read_bytes() == before
    fast.mkdir()
    (fast / "train_0.h5").write_bytes(b"mine")
    with pytest.raises(hr.InvalidArgumentError, match="did not write it"):
        hr.rewrite(source, fast)
    assert (fast / "train_0.h5").read_bytes() == b"mine"
    (fast / "train_0.h5").unlink()
    hr.rewrite(source, fast, codec="lz4")
    for options in ({"codec": "zstd"}, {"codec": "lz4", "chunk_rows": 5}):
        with pytest.raises(hr.InvalidArgumentError, match="not what this command would write"):
            hr.rewrite(source, fast, **options)
    with h5py.File(fast / "train_0.h5", "a") as file:
        file.attrs["mine"] = 1
    with pytest.raises(hr.InvalidArgumentError, match="changed since"):
        hr.rewrite(source, fast, codec="lz4")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/train_0.h5").write_bytes(before)
    with pytest.raises(hr.InvalidArgumentError, match="would both become"):
        hr.rewrite([source, tmp_path / "other/train_0.h5"], tmp_path / "both")


def test_an_unfinished_rewrite_of_other_options_is_not_gone_on_with(tmp_path: Path) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 12)
    with pytest.raises(hr.Error, match="stopped"):
        hr.rewrite(source, fast, codec="lz4", progress=lambda done, of: done < of / 3)
    with pytest.raises(hr.InvalidArgumentError, match="--codec lz4 --chunk-rows auto"):
        hr.rewrite(source, fast, codec="zstd")
    os.utime(source, ns=(1, 1))  # another version of the source
    with pytest.raises(hr.InvalidArgumentError, match="another version"):
        hr.rewrite(source, fast, codec="lz4")


def test_cost_and_gain_beforehand(tmp_path: Path) -> None:
    write_set(tmp_path)
    result = hr.rewrite(str(tmp_path / "train_*.h5"), tmp_path / "fast", dry_run=True)
    assert not (tmp_path / "fast").exists()
    forecast = result.to_dict()["forecast"]
    assert {c["codec"] for c in forecast["codecs"]} >= {"lz4", "zstd"}
    assert result.to_dict()["codec"] in CODECS
    for word in ("COST", "GAIN", "free"):
        assert word in str(result)
    told = subprocess.run(
        [program(), "rewrite", str(tmp_path / "train_0.h5"), "--to", str(tmp_path / "fast")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "GAIN" in told.stderr
    assert "every row compared with its source" in told.stdout
    sizes = sum((tmp_path / f"fast/train_{i}.h5").stat().st_size for i in range(1))
    alone = hr.rewrite(tmp_path / "train_0.h5", tmp_path / "dry", dry_run=True).to_dict()["forecast"]
    assert sizes / 3 < alone["output_bytes"] + 10_000 < sizes * 3


def test_bad_input(tmp_path: Path) -> None:
    write_set(tmp_path)
    with pytest.raises(ValueError, match="codec"):
        hr.rewrite(tmp_path / "train_0.h5", tmp_path / "f", codec="lz5")
    assert rewrite(tmp_path / "train_0.h5", "--to", tmp_path / "f", "--codec", "lz5").returncode == 2
    assert rewrite(tmp_path / "train_0.h5", "--to", tmp_path / "f", "--chunk-rows", "0").returncode == 2
    assert rewrite(tmp_path / "no.h5", "--to", tmp_path / "f").returncode == 2
    data = bytearray((tmp_path / "train_0.h5").read_bytes())
    with h5py.File(tmp_path / "train_0.h5") as file:
        info = file["x"].id.get_chunk_info(20)
    data[info.byte_offset + 20] ^= 0xFF
    (tmp_path / "train_0.h5").write_bytes(data)
    done = rewrite(tmp_path / "train_0.h5", "--to", tmp_path / "f", "--codec", "lz4")
    assert done.returncode == 3
    error = json.loads(done.stdout)["error"]
    assert error["field"] == "x"
    assert "train_0.h5" in error["file"]
    assert not list((tmp_path / "f").glob("*.h5"))


def test_a_file_that_is_read_only_and_a_directory_that_is(tmp_path: Path) -> None:
    write_set(tmp_path)
    (tmp_path / "file").write_text("no directory")
    with pytest.raises(hr.Error) as caught:
        hr.rewrite(tmp_path / "train_0.h5", tmp_path / "file/fast", codec="lz4")
    assert "file/fast" in str(caught.value)
