"""Patches that are drawn a visit at a time: their law, what they cost, and that they are the same however they come."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast
SHAPE, PATCH, CHUNK = (120, 136, 128), (32, 32, 32), (16, 16, 16)


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory) -> hr.Volumes:
    path = tmp_path_factory.mktemp("visits") / "v.h5"
    with h5py.File(path, "w") as file:
        raw = np.random.default_rng(3).integers(0, 9, SHAPE, np.uint8)
        file.create_dataset("raw", data=raw, chunks=CHUNK, compression="gzip", compression_opts=1)
    return hr.open_volume(path)


def starts_of(loader: hr.Loader) -> np.ndarray[Any, Any]:
    return np.concatenate([batch["_start"] for batch in loader])


def test_every_start_is_as_likely_as_any_other(tmp_path: Path) -> None:
    """Single samples of many epochs, of volumes of which one is hardly larger than a patch: chi^2."""
    shapes = ((5, 4, 6), (4, 4, 4), (9, 5, 4))
    for number, shape in enumerate(shapes):
        with h5py.File(tmp_path / f"v_{number}.h5", "w") as file:
            file.create_dataset("raw", data=np.zeros(shape, np.uint8), chunks=(2, 2, 2), compression="gzip")
    patches = hr.open_volume(tmp_path / "v_*.h5").patches((3, 3, 3), samples_per_epoch=320)
    loader = hr.Loader(patches, batch_size=64, seed=7, threads=1, provenance=True, memory="16MiB")
    first: Counter[Any] = Counter()
    every: Counter[Any] = Counter()
    epochs = 600
    for _ in range(epochs):
        for number, batch in enumerate(loader):
            places = [(int(v), *map(int, s)) for v, s in zip(batch["_volume"], batch["_start"], strict=True)]
            every.update(places)
            if number == 0:
                first[places[0]] += 1
    all_starts = sum(int(np.prod([n - 2 for n in shape])) for shape in shapes)
    assert len(every) == all_starts
    expected = epochs / all_starts
    chi2 = sum((n - expected) ** 2 / expected for n in first.values()) + (all_starts - len(first)) * expected
    assert abs(chi2 / (all_starts - 1) - 1) < 5 * np.sqrt(2 / (all_starts - 1))
    # Samples of an epoch are spread more evenly than independent ones, never less.
    expected *= 320
    assert sum((n - expected) ** 2 / expected for n in every.values()) / (all_starts - 1) < 1.6


def test_a_batch_has_no_two_patches_of_a_visit(volume: hr.Volumes) -> None:
    patches = volume.patches(PATCH, samples_per_epoch=1000)
    loader = hr.Loader(patches, batch_size=16, seed=1, provenance=True)
    assert "in visits of 8 patches" in loader.explain()
    near = 0
    for batch in loader:
        starts = batch["_start"].astype(int)
        far = np.abs(starts[:, None] - starts[None]).max(axis=-1)
        near += int((far[np.triu_indices(len(starts), 1)] < 16).sum())
    independent = hr.Loader(
        volume.patches(PATCH, samples_per_epoch=1000, draws="independent"), batch_size=16, seed=1, provenance=True
    )
    by_chance = 0
    for batch in independent:
        starts = batch["_start"].astype(int)
        far = np.abs(starts[:, None] - starts[None]).max(axis=-1)
        by_chance += int((far[np.triu_indices(len(starts), 1)] < 16).sum())
    assert near < 1.5 * by_chance + 20


@pytest.mark.parametrize("shuffle", [False, True])
def test_chunks_are_decoded_about_as_often_as_explain_says(volume: hr.Volumes, shuffle: bool) -> None:
    """An epoch that is no larger than the volume, so that few visits meet."""
    samples = int(np.prod(SHAPE)) // int(np.prod(PATCH)) * 5
    words: dict[str, Any] = {"batch_size": 2, "seed": 3, "threads": 1, "cache": "none", "shuffle": shuffle}
    loader = hr.Loader(volume.patches(PATCH, samples_per_epoch=samples), **words)
    said = re.search(r"about ([0-9.]+) decoded bytes for each", loader.explain())
    assert said is not None
    for _ in loader:
        pass
    measured = loader.report().read_amplification
    assert measured < 1.05 * float(said[1])
    alone = hr.Loader(volume.patches(PATCH, samples_per_epoch=samples, draws="independent"), memory="2MiB", **words)
    for _ in alone:
        pass
    assert measured < 0.7 * alone.report().read_amplification


@pytest.mark.parametrize("memory", ["2MiB", "64MiB"])
@pytest.mark.parametrize("threads", [1, 3])
def test_patches_do_not_depend_on_threads_memory_or_shuffle(volume: hr.Volumes, threads: int, memory: str) -> None:
    patches = volume.patches(PATCH, samples_per_epoch=290)
    want = starts_of(hr.Loader(patches, 4, seed=5, shuffle=True, provenance=True))
    got = hr.Loader(patches, 4, seed=5, threads=threads, memory=memory, provenance=True)
    np.testing.assert_array_equal(starts_of(got), want)
    assert not np.array_equal(starts_of(got), want), "another epoch draws others"


def test_a_run_goes_on_at_any_step(volume: hr.Volumes) -> None:
    patches = volume.patches(PATCH, samples_per_epoch=283)
    whole = [batch["_start"] for batch in hr.Loader(patches, 4, seed=5, provenance=True)]
    for step in (1, 7, 49):
        loader = hr.Loader(patches, 4, seed=5, provenance=True)
        walk = iter(loader)
        for _ in range(step):
            next(walk)
        again = hr.Loader(patches, 4, seed=5, provenance=True)
        again.load_state_dict(loader.state_dict())
        for a, b in zip(whole[step:], (batch["_start"] for batch in again), strict=True):
            np.testing.assert_array_equal(a, b)
    one = hr.Loader(patches, 4, seed=5, provenance=True).batch(epoch=0, step=11)
    np.testing.assert_array_equal(one["_start"], whole[11])


def test_a_state_of_independent_draws_is_another_data_set(volume: hr.Volumes) -> None:
    loader = hr.Loader(volume.patches(PATCH, samples_per_epoch=40), 4, seed=5)
    next(iter(loader))
    other = hr.Loader(volume.patches(PATCH, samples_per_epoch=40, draws="independent"), 4, seed=5)
    with pytest.raises(hr.Error):
        other.load_state_dict(loader.state_dict())


def test_words_and_run_files(volume: hr.Volumes, tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="draws"):
        volume.patches(PATCH, samples_per_epoch=40, draws="iid")
    run = tmp_path / "run.yaml"
    run.write_text(
        f"data:\n  files: {volume.files[0]}\n  volume: {{arrays: {{raw: raw}}}}\n"
        "  patches: {shape: [32, 32, 32], samples_per_epoch: 40, draws: independent}\n"
        "loader: {batch_size: 4, seed: 5, provenance: true}\n"
    )
    want = hr.Loader(volume.patches(PATCH, samples_per_epoch=40, draws="independent"), 4, seed=5, provenance=True)
    np.testing.assert_array_equal(starts_of(hr.load_run(run)), starts_of(want))


def test_arrays_without_chunks_are_drawn_one_by_one(tmp_path: Path) -> None:
    """Nothing is decoded, so that nothing would be saved."""
    np.save(tmp_path / "raw.npy", np.zeros((40, 40, 40), np.uint8))
    loader = hr.Loader(hr.open_volume(tmp_path / "raw.npy").patches((8, 8, 8), samples_per_epoch=40), 4)
    assert "visits" not in loader.explain()
