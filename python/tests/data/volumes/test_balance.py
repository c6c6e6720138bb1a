"""Patches that are centred where classes lie: as many for each class, at places as likely as they have voxels."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from zarr_stores import array3, group3

import headrace as hr

pytestmark = pytest.mark.fast
SHAPE, PATCH = (48, 40, 56), (16, 16, 16)
Labels = dict[str, np.ndarray[Any, Any]]


def labels() -> Labels:
    mito = np.zeros(SHAPE, np.uint8)
    mito[3:9, 3:9, 3:9] = 1
    er = np.zeros(SHAPE, "f4")
    er[30:46, 20:38, 30:50] = 0.5
    er[0, 0, 0] = np.nan  # unknown, and no class
    ids = np.zeros(SHAPE, np.int64)
    ids[20:24, 20:24, 20:24] = 7
    ids[40:48, 0:8, 0:8] = -3
    ids[0:30, 30:40, 50:56] = 2
    return {"mito": mito, "er": er, "ids": ids}


def write(path: Path, kind: str, values: Labels) -> hr.Volumes:
    if kind == "zarr":
        group3(path)
        for name, one in values.items():
            array3(path / name, one, (8, 16, 8), shards=(16, 16, 16) if name == "ids" else None)
        return hr.open_volume(path)
    chunks = {"gzip": (9, 7, 16), "contiguous": None, "rows": (8, *SHAPE[1:])}[kind]
    with h5py.File(path, "w") as file:
        for name, one in values.items():
            file.create_dataset(name, data=one, chunks=chunks, compression="gzip" if chunks else None)
    return hr.open_volume(path)


def centres(loader: hr.Loader) -> np.ndarray[Any, Any]:
    return np.concatenate([batch["_start"] for batch in loader]).astype(int) + 8


@pytest.mark.parametrize("kind", ["gzip", "contiguous", "rows", "zarr"])
def test_each_class_gets_as_many_patches(tmp_path: Path, kind: str) -> None:
    values = labels()
    volume = write(tmp_path / "v", kind, values)
    patches = volume.patches(PATCH, samples_per_epoch=600, balance={"mito": None, "er": None, "ids": [7, -3]})
    loader = hr.Loader(patches, 8, seed=3, provenance=True)
    assert "as many patches for each of 4 classes" in loader.explain()
    counts = np.zeros(4)
    masks = [values["mito"] != 0, values["er"] > 0, values["ids"] == 7, values["ids"] == -3]
    for batch in loader:
        for start in batch["_start"].astype(int):
            box = tuple(slice(a, a + 16) for a in start)
            here = [bool(mask[box].any()) for mask in masks]
            assert any(here)
            counts += here
    # Classes are 20 voxels apart or more, but for er and 7: a patch has one of them, or both of those.
    assert counts[0] == pytest.approx(150, abs=20)  # to within a visit
    assert counts[3] == pytest.approx(150, abs=20)  # to within a visit
    assert counts[1] >= 130
    assert counts[2] >= 130


def test_places_of_a_class_are_as_likely_as_they_have_voxels(tmp_path: Path) -> None:
    values = np.zeros(SHAPE, np.uint8)
    values[16:20, 16:20, 16:20] = 1  # 64 voxels of one block
    values[32:36, 16:20, 32:33] = 1  # 16 of another
    volume = write(tmp_path / "v", "gzip", {"a": values})
    patches = volume.patches(PATCH, samples_per_epoch=5000, balance="a")
    at = centres(hr.Loader(patches, 50, seed=1, provenance=True))
    first = ((at >= 16) & (at < 20)).all(axis=1)
    second = (at[:, 0] >= 32) & (at[:, 0] < 36) & (at[:, 2] >= 32) & (at[:, 2] < 36)
    assert (first | second).all()
    assert first.mean() == pytest.approx(0.8, abs=0.03)
    places, hits = np.unique(at[first], axis=0, return_counts=True)
    assert len(places) == 64
    assert hits.std() < 2 * np.sqrt(hits.mean())


def test_threads_ranks_resume_and_pickle_give_the_same(tmp_path: Path) -> None:
    volume = write(tmp_path / "v", "gzip", labels())
    patches = volume.patches(PATCH, samples_per_epoch=100, balance=["mito", "er"])
    want = centres(hr.Loader(patches, 4, seed=3, provenance=True))
    again = pickle.loads(pickle.dumps(patches))
    np.testing.assert_array_equal(centres(hr.Loader(again, 4, seed=3, threads=3, provenance=True)), want)
    loader = hr.Loader(patches, 4, seed=3, provenance=True)
    walk = iter(loader)
    for _ in range(9):
        next(walk)
    resumed = hr.Loader(patches, 4, seed=3, provenance=True)
    resumed.load_state_dict(loader.state_dict())
    np.testing.assert_array_equal(centres(resumed), want[36:])
    chosen = patches.map(hr.transforms.Cast("er", "f2"))
    np.testing.assert_array_equal(centres(hr.Loader(chosen, 4, seed=3, provenance=True)), want)


def test_counts_are_remembered_until_a_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    for kind in ("gzip", "zarr"):
        path = tmp_path / kind
        values = labels()
        write(path, kind, values)
        for at in [path, *path.rglob("*")] if kind == "zarr" else [path]:
            os.utime(at, (1e9, 1e9))
        hr.open_volume(path).patches(PATCH, samples_per_epoch=40, balance=["mito"])
        kept = list((tmp_path / "cache" / "classes").glob("*"))
        assert kept, kind
        damaged = path if kind == "gzip" else path / "mito" / "c" / "0" / "0" / "0"
        stamp, counted = damaged.stat(), [one.stat().st_mtime_ns for one in kept]
        hr.open_volume(path).patches(PATCH, samples_per_epoch=40, balance=["mito"])
        assert [one.stat().st_mtime_ns for one in kept] == counted  # nothing was counted, and so nothing kept anew
        before = damaged.read_bytes()
        damaged.write_bytes(bytes(len(before)))
        os.utime(damaged, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # the time of change tells all the same
        with pytest.raises(hr.Error):
            hr.open_volume(path).patches(PATCH, samples_per_epoch=40, balance=["mito"])
        damaged.write_bytes(before)
        os.utime(damaged, (2e9, 2e9))
        hr.open_volume(path).patches(PATCH, samples_per_epoch=40, balance=["mito"])


def test_what_is_refused(tmp_path: Path) -> None:
    values = labels() | {"none": np.zeros(SHAPE, np.uint8), "text": np.full(SHAPE, 1 + 2j)}
    volume = write(tmp_path / "v", "gzip", values)
    for balance, words in (
        (["nono"], "no array 'nono'"),
        (["none"], "no voxel of the class 'none'"),
        ({"ids": [5]}, "no voxel of the class 'ids = 5'"),
        (["text"], "complex"),
    ):
        with pytest.raises(hr.Error, match=words):
            volume.patches(PATCH, samples_per_epoch=40, balance=balance)
    with pytest.raises(hr.InvalidArgumentError, match="grid"):
        volume.patches(PATCH, stride=PATCH, balance=["mito"])
    with pytest.raises(hr.InvalidArgumentError, match="independent"):
        volume.patches(PATCH, samples_per_epoch=40, balance=["mito"], draws="independent")


def test_a_damaged_chunk_of_labels_is_named(tmp_path: Path) -> None:
    store = group3(tmp_path / "v.zarr")
    array3(store / "mito", labels()["mito"], (16, 16, 16))
    chunk = store / "mito" / "c" / "1" / "1" / "1"
    chunk.write_bytes(chunk.read_bytes()[:10])
    with pytest.raises(hr.CorruptDataError, match="c/1/1/1"):
        hr.open_volume(store, ["mito"]).patches(PATCH, samples_per_epoch=40, balance=["mito"])


@pytest.mark.parametrize("text", ["[mito, er]", "{ids: [7]}"])
def test_a_run_file_says_it(tmp_path: Path, text: str) -> None:
    volume = write(tmp_path / "v", "gzip", labels())
    run = tmp_path / "run.yaml"
    run.write_text(
        f"data:\n  files: {volume.files[0]}\n  volume: {{arrays: {{mito: mito, er: er, ids: ids}}}}\n"
        f"  patches: {{shape: [16, 16, 16], samples_per_epoch: 40, balance: {text}}}\n"
        "loader: {batch_size: 4, seed: 5, provenance: true}\n"
    )
    balance: Any = ["mito", "er"] if text.startswith("[") else {"ids": 7}
    opened = hr.open_volume(volume.files[0], {"mito": "mito", "er": "er", "ids": "ids"})
    want = centres(hr.Loader(opened.patches(PATCH, 40, balance=balance), 4, seed=5, provenance=True))
    np.testing.assert_array_equal(centres(hr.load_run(run)), want)
    for wrong, words in (
        ("[mito, mito]", "'mito' twice"),
        ("{ids: {7: 0.9}}", "no weights"),
        ("[]", "no class is named"),
    ):
        run.write_text(run.read_text().replace(f"balance: {text}", f"balance: {wrong}"))
        with pytest.raises(hr.InvalidArgumentError, match=words):
            hr.load_run(run)
        run.write_text(run.read_text().replace(f"balance: {wrong}", f"balance: {text}"))


@pytest.mark.parametrize(
    ("balance", "words"),
    [
        ({"ids": {7: 0.9, -3: 0.1}}, r"balance\.ids: classes have no weights.*Name their values alone"),
        ({"ids": [7, 0.5]}, r"balance\.ids\[1\] must be a whole number from -2\^63 to 2\^64 - 1, not 0.5"),
        ({"ids": 1.5}, "balance.ids must be a whole number.*not 1.5"),
        ({"ids": np.array([7.5])}, "must be a whole number.*not 7.5"),
        ({"ids": float("nan")}, r"must be a whole number.*not \.nan"),
        ({"ids": True}, "must be a whole number.*not true"),
        ({"ids": [np.True_]}, "must be a whole number.*not true"),
        ({"ids": "7"}, "must be a whole number.*not '7'"),
        ({"ids": [None]}, "must be a whole number.*not nothing"),
        ({"ids": []}, "balance.ids: the list is empty"),
        ({"ids": 2**64}, "must be a whole number.*not 18446744073709551616"),
        ({"ids": [np.uint64(2**63 + 5)]}, "no voxel of the class 'ids = 9223372036854775813'"),
        ({"ids": -(2**63) - 1}, "must be a whole number.*not -9223372036854775809"),
        ({"ids": [7, 7]}, "names the class 7 of 'ids' twice"),
        (["mito", "mito"], "names 'mito' twice"),
        ([], "balance: no class is named. Leave it out"),
        ({}, "balance: no class is named"),
        ([7], r"balance\[0\] must be a list of arrays"),
        ([("mito", 0.5)], r"balance\[0\] must be a list of arrays"),
        (7, "balance must be a list of arrays, or a map of arrays and the values of each, not 7"),
    ],
)
def test_a_class_is_a_whole_number_and_has_no_weight(tmp_path: Path, balance: Any, words: str) -> None:
    volume = write(tmp_path / "v", "gzip", labels())
    with pytest.raises(hr.InvalidArgumentError, match=words):
        volume.patches(PATCH, samples_per_epoch=40, balance=balance)


@pytest.mark.parametrize("values", [np.int64(7), np.array(7), np.array([7], np.uint8), (7,), {7}, iter([7])])
def test_whole_numbers_of_any_type_are_classes(tmp_path: Path, values: Any) -> None:
    volume = write(tmp_path / "v", "gzip", labels())
    got = hr.Loader(volume.patches(PATCH, 40, balance={"ids": values}), 4, seed=5, provenance=True)
    want = hr.Loader(volume.patches(PATCH, 40, balance={"ids": [7]}), 4, seed=5, provenance=True)
    np.testing.assert_array_equal(centres(got), centres(want))


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_the_least_and_the_greatest_class(tmp_path: Path, value: int) -> None:
    ids = np.zeros(SHAPE, np.int64)
    ids[20:24, 20:24, 20:24] = value
    volume = write(tmp_path / "v", "gzip", {"ids": ids})
    for batch in hr.Loader(volume.patches(PATCH, 8, balance={"ids": value}), 4):
        assert (batch["ids"] == value).any(axis=(1, 2, 3)).all()
