"""Samples whose fields lie in several files: ``FILES::PATH``."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

ROWS = (300, 256, 77)
FIELDS = {"x": "feature_matrix", "y": "labels_*.npy::labels", "w": "extra_*.h5::group/weight", "row": "row"}


@dataclass
class Parts:
    """Files that lie beside each other, and what they hold."""

    folder: Path
    truth: dict[str, np.ndarray]

    def fields(self, **fields: str) -> dict[str, str]:
        """FIELDS, or others, with FILES in the folder."""
        found = fields or FIELDS
        return {name: f"{self.folder}/{path}" if "::" in path else path for name, path in found.items()}

    def open(self, **fields: str) -> hr.Dataset:
        return hr.open(self.folder / "train_*.h5", fields=self.fields(**fields))

    def check(self, batch: dict[str, np.ndarray]) -> list[int]:
        """Every field of a batch is that of its rows."""
        rows = batch["row"]
        for name, values in batch.items():
            assert values.dtype == self.truth[name].dtype
            assert np.array_equal(values, self.truth[name][rows]), name
        return rows.tolist()

    def epoch(self, loader: Any) -> list[int]:
        return [row for batch in loader for row in self.check(batch)]


def write_extra(path: Path, weight: np.ndarray) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("group/weight", data=weight, chunks=(37, 5), compression="gzip", shuffle=True)
        file.create_dataset("unused", data=np.arange(len(weight) + 1))


@pytest.fixture
def parts(tmp_path: Path) -> Parts:
    random = np.random.default_rng(5)
    total = sum(ROWS)
    truth: dict[str, np.ndarray] = {
        "x": random.normal(size=(total, 8, 4)).astype("f4"),
        "y": random.integers(1000, size=total).astype("i2"),
        "w": random.normal(size=(total, 5)),
        "row": np.arange(total),
    }
    first = 0
    for i, rows in enumerate(ROWS):
        part = slice(first, first + rows)
        gzip = {"chunks": (64, 8, 4), "compression": "gzip"}
        write_h5(tmp_path / f"train_{i}.h5", feature_matrix=(truth["x"][part], gzip), row=truth["row"][part])
        np.save(tmp_path / f"labels_{i}.npy", truth["y"][part])
        write_extra(tmp_path / f"extra_{i}.h5", truth["w"][part])
        first += rows
    return Parts(tmp_path, truth)


@pytest.mark.fast
def test_rows_are_those_of_h5py_and_numpy(parts: Parts) -> None:
    data = parts.open()
    assert list(data.fields) == list(FIELDS)
    assert data.fields["y"].path == f"{parts.folder}/labels_*.npy::labels"
    assert [Path(file.path).name for file in data.files] == ["train_0.h5", "train_1.h5", "train_2.h5"]
    assert parts.check(data[:]) == list(range(sum(ROWS)))
    picked = [632, 299, 300, 5, 5, 600]
    assert parts.check(data[picked]) == picked
    assert np.array_equal(data["w"][10:310, 2], parts.truth["w"][10:310, 2])
    assert [int(sample["y"]) for sample in data] == parts.truth["y"].tolist()
    chosen = data.select(np.arange(1, sum(ROWS), 3))
    assert parts.check(chosen[:]) == list(range(1, sum(ROWS), 3))


@pytest.mark.fast
def test_spellings(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.folder)
    by_list = hr.open("train_*.h5", fields=["row", "labels_*.npy::"])
    assert list(by_list.fields) == ["row", "labels_*.npy::"]
    assert np.array_equal(by_list["labels_*.npy::"][:], parts.truth["y"])
    one = hr.open("train_1.h5", fields={"row": "row", "y": "labels_1.npy::any name", "w": "extra_1.h5::/group/weight"})
    assert parts.check(one[:]) == list(range(300, 556))
    kinds = hr.open("labels_*.npy", fields={"y": "labels", "row": "train_*.h5::row"})
    assert parts.check(kinds[:]) == list(range(sum(ROWS)))
    np.savez("one.npz", a=np.arange(300), b=np.arange(300) * 2)
    npz = hr.open("train_0.h5", fields={"row": "row", "b": "one.npz::b"})
    assert np.array_equal(npz["b"][:], np.arange(300) * 2)


def test_an_array_of_its_own_by_that_name_comes_first(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.folder)
    with h5py.File("train_0.h5", "a") as file:
        file["labels_0.npy::labels"] = np.arange(300) + 7
        file["event::id"] = np.arange(300) + 9
    data = hr.open("train_0.h5", fields={"a": "labels_0.npy::labels", "b": "event::id"})
    for copy in (data, pickle.loads(pickle.dumps(data))):
        assert np.array_equal(copy["a"][:], np.arange(300) + 7)
        assert np.array_equal(copy["b"][:], np.arange(300) + 9)
    Path("configs").mkdir()
    Path("configs/run.yaml").write_text(
        'data: {files: "../train_0.h5", fields: {b: "event::id"}}\nloader: {batch_size: 50}\n'
    )
    with hr.load_run("configs/run.yaml") as loader:
        assert sorted(int(row) for batch in loader for row in batch["b"]) == list(range(9, 309))


def test_records_beside(parts: Parts) -> None:
    records = np.zeros(300, dtype=[("e", "f4"), ("n", "i4")])
    records["e"], records["n"] = np.arange(300), np.arange(300)[::-1]
    np.save(parts.folder / "hits.npy", records)
    fields = parts.fields(row="row", h="hits.npy::", n="hits.npy::hits/n")
    data = hr.open(parts.folder / "train_0.h5", fields=fields)
    assert list(data.fields) == ["row", "h.e", "h.n", "n"]
    for copy in (data, pickle.loads(pickle.dumps(data))):
        assert np.array_equal(copy["h.e"][:], records["e"])
        assert np.array_equal(copy["n"][:], records["n"])


@pytest.mark.parametrize("cache", ["none", "auto", "ram", "directory"])
@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_shuffled_epochs(parts: Parts, tmp_path: Path, cache: str, shuffle: Any) -> None:
    where = tmp_path / "cache" if cache == "directory" else cache
    with hr.Loader(parts.open(), 50, shuffle=shuffle, seed=2, cache=where) as loader:
        epochs = [parts.epoch(loader) for _ in range(3)]
        assert not loader.report().notices
    assert epochs[0] != epochs[1]
    assert all(sorted(epoch) == list(range(sum(ROWS))) for epoch in epochs)
    with hr.Loader(parts.open(), 50, shuffle=shuffle, seed=2, cache="none", threads=1, memory="1MiB") as plain:
        assert [parts.epoch(plain) for _ in range(3)] == epochs


def test_few_wanted_rows_of_blocks_of_three_files(parts: Parts) -> None:
    """Batches of one row, a window of two: each block is read many times, from three files at once."""
    with hr.Loader(parts.open(), 1, shuffle="exact", seed=2, cache="none", memory="1MiB") as loader:
        assert sorted(parts.epoch(loader)) == list(range(sum(ROWS)))


def test_ranks_and_resume(parts: Parts) -> None:
    want = [batch["row"].tolist() for batch in hr.Loader(parts.open(), 60, shuffle=True, seed=4)]
    ranks = [hr.Loader(parts.open(), global_batch_size=60, shuffle=True, seed=4, rank=r, world_size=2) for r in (0, 1)]
    got = [[row for batch in batches for row in parts.check(batch)] for batches in zip(*ranks, strict=True)]
    assert [sorted(rows) for rows in got] == [sorted(rows) for rows in want]
    loader = hr.Loader(parts.open(), 60, shuffle=True, seed=4)
    batches = iter(loader)
    begun = [next(batches)["row"].tolist() for _ in range(3)]
    state = json.loads(json.dumps(loader.state_dict()))
    other = hr.Loader(parts.open(), 60, shuffle=True, seed=4, threads=1)
    other.load_state_dict(state)
    assert begun + [batch["row"].tolist() for batch in other] == want


def test_a_state_knows_the_files_beside(parts: Parts) -> None:
    before = hr.Loader(parts.open(), 60, shuffle=True).state_dict()
    np.save(parts.folder / "labels_1.npy", parts.truth["y"][:256])
    loader = hr.Loader(parts.open(), 60, shuffle=True)
    with pytest.raises(hr.InvalidArgumentError, match="another content"):
        loader.load_state_dict(before)
    loader.load_state_dict(before, accept_changed_data=True)
    for i in range(3):
        (parts.folder / f"labels_{i}.npy").rename(parts.folder / f"classes_{i}.npy")
    renamed = hr.Loader(parts.open(**{**FIELDS, "y": "classes_*.npy::labels"}), 60, shuffle=True)
    with pytest.raises(hr.InvalidArgumentError, match="other names"):
        renamed.load_state_dict(loader.state_dict())


def rows_in_child(loader: hr.Loader) -> list[int]:
    return [int(row) for batch in loader for row in batch["row"]]


def test_pickles_as_its_recipe(parts: Parts, monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    monkeypatch.chdir(parts.folder)
    data = hr.open("train_*.h5", fields=FIELDS)
    recipes = [pickle.dumps(data), pickle.dumps(data.select([3, 400, 500])), pickle.dumps(data["y"])]
    part = data.split({"a": 0.5, "b": 0.5}, by="file")["b"]
    recipes.append(pickle.dumps(part))
    # A glob is not expanded anew, and paths hold from everywhere.
    np.save("labels_3.npy", np.arange(5))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    whole, chosen, column, half = map(pickle.loads, recipes)
    assert whole._opened is None
    assert parts.check(whole[:]) == list(range(sum(ROWS)))
    assert whole.fields["y"].path == "labels_*.npy::labels"
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(whole))))
    assert parts.check(again[:]) == list(range(sum(ROWS)))
    assert parts.check(chosen[:]) == [3, 400, 500]
    assert np.array_equal(column[:], parts.truth["y"])
    assert np.array_equal(pickle.loads(pickle.dumps(column))[:], parts.truth["y"])
    assert parts.check(half[:])
    loader = hr.Loader(whole, 60, shuffle=True, seed=3)
    assert rows_in_child(pickle.loads(pickle.dumps(loader))) == parts.epoch(loader)


def test_selections_mixtures_and_columns_keep_them(parts: Parts) -> None:
    data = parts.open()
    halves = data.split({"a": 0.5, "b": 0.5}, seed=1)
    assert sorted(parts.check(halves["a"][:]) + parts.check(halves["b"][:])) == list(range(sum(ROWS)))
    mixed = hr.mix({"a": (halves["a"], 0.5), "b": (halves["b"], 0.5)})
    with hr.Loader(mixed, 40, shuffle=True) as loader:
        assert parts.epoch(loader)
    parts.check(pickle.loads(pickle.dumps(mixed))[:])


def test_a_pickled_copy_finds_the_cache(parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parts.folder)
    data = hr.open("train_*.h5", fields=FIELDS)
    with hr.Loader(data, 60, cache=tmp_path / "cache") as loader:
        parts.epoch(loader)
    with hr.Loader(pickle.loads(pickle.dumps(data)), 60, cache=tmp_path / "cache") as loader:
        parts.epoch(loader)
        assert loader.report().chunks_decoded == 0


@pytest.mark.parametrize("name", ["labels_1.npy", "extra_2.h5"])
def test_a_changed_file_beside_makes_a_cache_stale(parts: Parts, tmp_path: Path, name: str) -> None:
    cache = tmp_path / "cache"
    with hr.Loader(parts.open(), 60, cache=cache) as loader:
        parts.epoch(loader)
    (entry,) = hr.cache_list(cache).to_dict()["caches"]
    assert entry["state"] == "valid"
    assert f"{parts.folder}/{name}" in entry["sources"]
    if name.endswith(".npy"):
        parts.truth["y"][300:556] += 1
        np.save(parts.folder / name, parts.truth["y"][300:556])
    else:
        parts.truth["w"][556:] += 1
        write_extra(parts.folder / name, parts.truth["w"][556:])
    (entry,) = hr.cache_list(cache).to_dict()["caches"]
    assert entry["state"] == "stale"
    assert name in entry["note"]
    with hr.Loader(parts.open(), 60, cache=cache) as loader:
        parts.epoch(loader)
        assert any(name in note for note in loader.report().notices)


CHANGES = {
    "append": lambda path: path.open("ab").write(bytes(100)),
    "truncate": lambda path: os.truncate(path, path.stat().st_size // 2),
    "remove": lambda path: path.unlink(),
    "rewrite": lambda path: os.utime(path, ns=(1, path.stat().st_mtime_ns + 5_000_000)),
}


@pytest.mark.parametrize("name", ["labels_2.npy", "extra_2.h5"])
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_change_of_a_file_beside_is_noticed(parts: Parts, change: str, name: str) -> None:
    data = parts.open()
    parts.check(data[:10])
    CHANGES[change](parts.folder / name)
    parts.check(data[:10])  # of another file
    with pytest.raises(hr.FileChangedError) as caught:
        data[600:]
    assert caught.value.file == str(parts.folder / name)
    assert caught.value.hint
    loader = hr.Loader(data, 60, shuffle=True, cache="none")
    with pytest.raises(hr.FileChangedError, match=name):
        parts.epoch(loader)


def write_run(parts: Parts) -> Path:
    """A run file in a folder of its own, whose paths begin there."""
    (parts.folder / "configs").mkdir()
    run_file = parts.folder / "configs" / "run.yaml"
    run_file.write_text(
        'data:\n  files: "../train_*.h5"\n  fields:\n    row: row\n    y: "../labels_*.npy::labels"\n'
        '    w: "../extra_*.h5::group/weight"\nloader:\n  batch_size: 60\n  shuffle: true\n'
    )
    return run_file


def test_run_file(parts: Parts, monkeypatch: pytest.MonkeyPatch, tmp_path_factory) -> None:
    run_file = write_run(parts)
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    with hr.load_run(run_file) as loader:
        assert sorted(parts.epoch(loader)) == list(range(sum(ROWS)))
        copy = pickle.loads(pickle.dumps(loader))
    assert sorted(parts.epoch(copy)) == list(range(sum(ROWS)))


def program() -> str:
    named = os.environ.get("HEADRACE_CLI")
    return named or os.fspath(pytest.importorskip("headrace.__main__").command_line())


def run(*arguments: object, cwd: Path) -> dict[str, Any]:
    command = [program(), *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, timeout=120)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def test_command_line(parts: Parts, tmp_path_factory) -> None:
    fields = "row=row,y=labels_*.npy::labels,w=extra_*.h5::group/weight"
    shown = run("bench", "train_*.h5", "--fields", fields, "--batch-size", 50, cwd=parts.folder)
    assert shown["samples"] == sum(ROWS)
    run_file = write_run(parts)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert run("bench", run_file, cwd=elsewhere)["samples"] == sum(ROWS)
    # What is given on the command line begins where the program was started.
    given = f"row=row,y={os.path.relpath(parts.folder, elsewhere)}/labels_*.npy::"
    assert run("bench", run_file, "--fields", given, cwd=elsewhere)["samples"] == sum(ROWS)
    advised = run("advise", "train_*.h5", "--fields", fields, "--write", elsewhere / "a.yaml", cwd=parts.folder)
    assert f"{parts.folder}/labels_*.npy::labels" in advised["run_file"]
    with hr.load_run(elsewhere / "a.yaml", batch_size=50) as loader:
        assert sorted(parts.epoch(loader)) == list(range(sum(ROWS)))
    again = run("advise", run_file, "--write", elsewhere / "b.yaml", cwd=elsewhere)
    assert f"{parts.folder}/configs/../labels_*.npy::labels" in again["run_file"]


def test_another_number_of_files(parts: Parts) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="stands for 1 file, and the data set has 3") as caught:
        parts.open(row="row", y="labels_1.npy::labels")
    assert caught.value.field == "y"
    assert str(parts.folder / "labels_1.npy") in str(caught.value)
    assert str(parts.folder / "train_0.h5") in str(caught.value)
    assert caught.value.hint


def test_another_number_of_rows(parts: Parts) -> None:
    np.save(parts.folder / "labels_1.npy", np.arange(255, dtype="i2"))
    with pytest.raises(hr.InvalidArgumentError, match="255 rows") as caught:
        parts.open()
    assert caught.value.file == str(parts.folder / "labels_1.npy")
    assert f"{parts.folder / 'train_1.h5'}: 256 rows" in str(caught.value)
    assert caught.value.hint


def test_another_type_in_a_later_file(parts: Parts) -> None:
    np.save(parts.folder / "labels_2.npy", np.arange(77, dtype="i4"))
    with pytest.raises(hr.InvalidArgumentError, match=r"int32 \(\) here, but int16 \(\) in .*labels_0.npy") as caught:
        parts.open()
    assert caught.value.file == str(parts.folder / "labels_2.npy")


def test_no_field_of_its_own(parts: Parts) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="no field comes from the data set's own files") as caught:
        parts.open(y="labels_*.npy::labels")
    assert caught.value.file == str(parts.folder / "train_0.h5")
    assert caught.value.hint


def test_nothing_there(parts: Parts) -> None:
    with pytest.raises(hr.FileMissingError, match="no file matches") as missing:
        parts.open(row="row", y="classes_*.npy::labels")
    assert missing.value.field == "y"
    assert "labels_0.npy" in missing.value.hint
    assert "has no array" in missing.value.hint
    with pytest.raises(hr.FieldMissingError) as absent:
        parts.open(row="row", w="extra_*.h5::group/weights")
    assert absent.value.file == str(parts.folder / "extra_0.h5")
    assert "group/weight" in str(absent.value)
    with pytest.raises(hr.InvalidArgumentError, match="several arrays") as several:
        parts.open(row="row", w="extra_*.h5::")
    assert several.value.file == str(parts.folder / "extra_0.h5")
    with pytest.raises(hr.InvalidArgumentError, match="no files stand before '::labels'"):
        hr.open(parts.folder / "train_*.h5", fields={"row": "row", "y": "::labels"})


def test_damage_is_named(parts: Parts) -> None:
    (parts.folder / "labels_1.npy").write_bytes(b"\x93NUMPY\x01\x00 not any more")
    with pytest.raises(hr.Error) as caught:
        parts.open()
    assert caught.value.file == str(parts.folder / "labels_1.npy")


def test_files_are_closed(parts: Parts) -> None:
    def opened() -> int:
        links = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
        return sum(str(parts.folder) in link for link in links)

    data = parts.open()
    parts.check(data[:])
    column = data["w"]
    assert len(column) == sum(ROWS)
    assert opened() > 0
    del column, data
    assert opened() == 0
