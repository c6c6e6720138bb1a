"""headrace rewrite that is killed, stopped, or runs into a full disk, damage or files that are there already."""

from __future__ import annotations

import json
import os
import resource
import signal
import struct
import subprocess
import time
from pathlib import Path

import h5py
import pytest
from cli_program import program
from rewritten_files import WORK, equal_files, nothing_else, rewrite, write_long, write_set

import headrace as hr

hdf5plugin = pytest.importorskip("hdf5plugin", reason="h5py reads LZ4, zstd and Blosc with it")


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


def test_an_interrupt_says_how_to_go_on(tmp_path: Path) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source)
    command = [program(), "rewrite", str(source), "--to", str(fast), "--codec", "gzip", "--memory", "24MB", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        journal = fast / WORK / "long.h5.journal"
        while process.poll() is None and not journal.exists():
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Run the same command again: it goes on with what is written already." in said
    done = rewrite(source, "--to", fast, "--codec", "gzip", "--memory", "24MB")
    assert done.returncode == 0, done.stderr + done.stdout
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


@pytest.mark.parametrize(("first", "then"), (("4MB", "40MB"), ("6MB", "4MB")))
@pytest.mark.parametrize("shuffle", (False, True))
def test_going_on_with_another_memory(tmp_path: Path, shuffle: bool, first: str, then: str) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 24)
    with pytest.raises(hr.Error, match="stopped"):
        hr.rewrite(
            source,
            fast,
            codec="lz4",
            chunk_rows=100,
            threads=1,
            shuffle=shuffle,
            memory=first,
            progress=lambda done, of: done < 0.3 * of,
        )
    result = hr.rewrite(source, fast, codec="lz4", chunk_rows=100, threads=1, shuffle=shuffle, memory=then)
    done = result.to_dict()["done"]
    assert done["rows_found"] > 0
    assert done["rows_found"] + done["rows_written"] == 24_000, "no row twice"
    plain = tmp_path / "plain"
    hr.rewrite(source, plain, codec="lz4", chunk_rows=100, shuffle=shuffle)
    equal_files(plain / "long.h5", fast / "long.h5")


def test_a_kill_before_the_last_pages_reach_the_file(tmp_path: Path) -> None:
    source, fast = tmp_path / "long.h5", tmp_path / "fast"
    write_long(source, 12)
    with pytest.raises(hr.Error, match="stopped"):  # when all is written, and little verified yet
        hr.rewrite(source, fast, codec="lz4", progress=lambda done, of: done <= of // 2)
    journal = (fast / WORK / "long.h5.journal").read_bytes()
    size, state_bytes = struct.unpack_from("<QQ", journal, 8)
    assert json.loads(journal[24 : 24 + state_bytes])["closed"]
    at = 24 + state_bytes
    (pages,) = struct.unpack_from("<Q", journal, at)
    assert pages > 0
    with (fast / WORK / "long.h5.partial").open("r+b") as file:
        for page in range(pages):
            (place,) = struct.unpack_from("<Q", journal, at + 8 + page * (8 + 4096))
            file.seek(place)
            file.write(bytes(min(4096, size - place)))
    result = hr.rewrite(source, fast, codec="lz4")
    assert result.to_dict()["done"]["rows_written"] == 0
    equal_files(source, fast / "long.h5")


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


def test_the_source_may_be_named_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = range(100)
    monkeypatch.chdir(tmp_path)
    assert hr.rewrite("a.h5", to="fast", codec="gzip").to_dict()["done"]["files_written"] == 1
    for name in ("./a.h5", tmp_path / "a.h5"):
        assert hr.rewrite(name, to="fast", codec="gzip").to_dict()["done"]["files_written"] == 0


def test_many_files_are_shuffled_with_few_descriptors(tmp_path: Path) -> None:
    for number in range(120):
        with h5py.File(tmp_path / f"f{number:03}.h5", "w") as file:
            file["x"] = range(10 * number, 10 * number + 10)
    limited = 'ulimit -n 96; exec "$@"'
    command = [program(), "rewrite", str(tmp_path / "*.h5"), "--to", str(tmp_path / "fast"), "--shuffle", "--quiet"]
    done = subprocess.run(["sh", "-c", limited, "sh", *command], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    rows = []
    for number in range(120):
        with h5py.File(tmp_path / "fast" / f"f{number:03}.h5", "r") as file:
            rows += file["x"][:].tolist()
    assert rows != sorted(rows)
    assert sorted(rows) == list(range(1200))
