"""headrace rewrite: what is written is what was read, whatever happens on the way. h5py is the oracle."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import h5py
import numpy as np
import pytest
from cli_program import program
from rewritten_files import compare, nothing_else, rewrite, write_odd, write_set

import headrace as hr

hdf5plugin = pytest.importorskip("hdf5plugin", reason="h5py reads LZ4, zstd and Blosc with it")

CODECS = ("lz4", "zstd", "blosc", "gzip", "none")


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


def test_files_that_are_stored_so_gain_nothing(tmp_path: Path) -> None:
    x = np.random.default_rng(1).integers(0, 9, (4096, 64)).astype("f4")
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f.create_dataset("x", data=x, chunks=(128, 64), compression="gzip", compression_opts=4, shuffle=True)
    hr.rewrite(tmp_path / "a.h5", tmp_path / "once", codec="gzip", chunk_rows=128)
    for codec, chunk_rows, none in (("gzip", 128, True), ("gzip", 256, False), ("lz4", 128, False)):
        result = hr.rewrite(
            tmp_path / "once" / "a.h5", tmp_path / "dry", codec=codec, chunk_rows=chunk_rows, dry_run=True
        )
        gain = str(result).split("GAIN", 1)[1]
        assert ("none: x has this codec and these chunks already" in " ".join(gain.split())) == none
    hr.rewrite(tmp_path / "a.h5", tmp_path / "lz4", codec="lz4", chunk_rows=128)
    again = hr.rewrite(tmp_path / "lz4" / "a.h5", tmp_path / "dry", codec="lz4", chunk_rows=128, dry_run=True)
    assert "none: x has this codec" in " ".join(str(again).split())
    assert "()" not in str(again)  # a folder that is not there yet has no kind of storage
    done = hr.rewrite(tmp_path / "a.h5", tmp_path / "lz4", codec="lz4", chunk_rows=128, dry_run=True)
    assert "nothing to do: an earlier call" in " ".join(str(done).split())
