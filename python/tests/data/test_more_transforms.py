"""Transforms of labels and shapes, random ones, and those of whole batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

ROWS = 400


@pytest.fixture(scope="module")
def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(8)
    vectors = random.normal(size=(ROWS, 12, 6)).astype(np.float32)
    vectors[..., 3] = np.sqrt((vectors[..., :3] ** 2).sum(-1) + random.uniform(0, 2, (ROWS, 12)) ** 2)
    vectors[random.uniform(size=(ROWS, 12)) < 0.3] = 0
    return {
        "y": random.integers(0, 4, ROWS),
        "q": random.uniform(0, 10, ROWS).astype(np.float32),
        "a": random.normal(size=(ROWS, 3, 5)).astype(np.float32),
        "b": random.normal(size=(ROWS, 3, 2)).astype(np.float32),
        "image": random.integers(0, 256, (ROWS, 9, 7, 3)).astype(np.uint8),
        "label": random.integers(0, 9, (ROWS, 9, 7)).astype(np.int16),
        "mel": random.uniform(1, 2, (ROWS, 16, 8)).astype(np.float32),
        "row": np.arange(ROWS),
        "p4": vectors,
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray]) -> Path:
    path = tmp_path_factory.mktemp("more") / "data.h5"
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            file.create_dataset(name, data=values, chunks=(32, *values.shape[1:]), compression="gzip")
        file.create_dataset("cut", data=arrays["mel"], chunks=(32, 5, 8), compression="gzip")
        file["y"].attrs["labels_json"] = json.dumps({"leak": 3, "none": 0, "hiss": 2})
    return path


def made(path: Path, fields: list[str], *transforms: T.Transform) -> dict[str, np.ndarray]:
    return hr.open(path, fields=fields).map(*transforms)[:]


def test_relabel(path: Path, arrays: dict[str, np.ndarray]) -> None:
    y = arrays["y"]
    got = made(path, ["y"], T.Relabel("y", {0: 7, 1: 5, 2: 5, 3: -1}))["y"]
    assert got.dtype == np.int64
    assert np.array_equal(got, np.array([7, 5, 5, -1])[y])
    names = hr.open(path, fields=["y"]).attrs["y"]["labels_json"]
    got = made(path, ["y"], T.Relabel("y", {"leak": 1, "none": 0}, names=names, otherwise=9, to="z"))
    assert np.array_equal(got["z"], np.array([0, 9, 9, 1])[y])
    assert np.array_equal(got["y"], y)
    by_list = T.Relabel("y", {"d": 1, "a": 0}, names=["a", "b", "c", "d"], otherwise=2)
    assert np.array_equal(made(path, ["y"], by_list)["y"], np.array([0, 2, 2, 1])[y])
    with pytest.raises(hr.CorruptDataError, match=r"sample \d+.*the stored label . has no new one"):
        made(path, ["y"], T.Relabel("y", {0: 1}))
    for labels, given, text in (
        ({"leek": 1}, names, "no label is called 'leek'; there are leak, none, hiss"),
        ({"leak": 1}, None, "names= does not say"),
        ({"leak": 1}, "{", "no JSON"),
        ({}, None, "no label is named"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            T.Relabel("y", labels, names=given)


def test_threshold_and_one_hot(path: Path, arrays: dict[str, np.ndarray]) -> None:
    got = made(path, ["q", "y"], T.Threshold("q", [2.5, 5.0]), T.OneHot("y", 4), T.OneHot("q", 3, dtype=np.uint8))
    assert np.array_equal(got["q"], np.eye(3, dtype=np.uint8)[np.digitize(arrays["q"], [2.5, 5.0])])
    assert got["y"].dtype == np.float32
    assert np.array_equal(got["y"], np.eye(4, dtype=np.float32)[arrays["y"]])
    with pytest.raises(hr.CorruptDataError, match="the label 3 is none of 3 classes"):
        made(path, ["y"], T.OneHot("y", 3))


def test_shapes(path: Path, arrays: dict[str, np.ndarray]) -> None:
    a, b, image = arrays["a"], arrays["b"], arrays["image"]
    for transform, want in (
        (T.Select("a", [0, 3, -1, 1]), a[..., [0, 3, 4, 1]]),
        (T.Select("a", [2, 0], axis=0), a[:, [2, 0]]),
        (T.Reshape("a", (15,)), a.reshape(ROWS, 15)),
        (T.Reshape("a", (5, -1, 1)), a.reshape(ROWS, 5, 3, 1)),
        (T.Transpose("a"), a.transpose(0, 2, 1)),
    ):
        assert np.array_equal(made(path, ["a"], transform)["a"], want), transform
    turned = made(path, ["image"], T.Transpose("image", (2, 0, 1)))["image"]
    assert np.array_equal(turned, image.transpose(0, 3, 1, 2))
    both = made(path, ["a", "b", "y"], T.Concat(["a", "b"], to="ab"))
    assert list(both) == ["y", "ab"]
    assert np.array_equal(both["ab"], np.concatenate([a, b], axis=2))
    numbers = made(path, ["y", "row"], T.Concat(["row", "y"]))
    assert np.array_equal(numbers["row"], np.stack([arrays["row"], arrays["y"]], axis=1))
    for transform, text in (
        (T.Select("a", [5]), "index 5 of an axis of 5"),
        (T.Select("a", [0], axis=2), "axis is 2, and a sample has 2 axes"),
        (T.Reshape("a", (4, 4)), r"a sample of shape \(3, 5\) has 15 values"),
        (T.Reshape("a", (-1, -1)), "has 15 values"),
        (T.Transpose("a", (0, 0)), "must name each axis of .* once"),
        (T.Concat(["a", "y"]), "All must have one type"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            made(path, ["a", "y"], transform)


def pair_features(vectors: np.ndarray) -> np.ndarray:
    """Particle Transformer's pairwise_lv_fts, in float64."""
    x, y, z, e = (vectors[..., i].astype(np.float64) for i in range(4))
    pt, phi = np.hypot(x, y), np.arctan2(y, x)
    rapidity = 0.5 * np.log(1 + 2 * z / np.maximum(e - z, 1e-20))
    around = (phi[..., :, None] - phi[..., None, :] + np.pi) % (2 * np.pi) - np.pi
    delta = np.sqrt((rapidity[..., :, None] - rapidity[..., None, :]) ** 2 + around**2)
    softer = np.minimum(pt[..., :, None], pt[..., None, :])
    both = [c[..., :, None] + c[..., None, :] for c in (x, y, z, e)]
    mass = both[3] ** 2 - both[0] ** 2 - both[1] ** 2 - both[2] ** 2
    share = softer / np.maximum(pt[..., :, None] + pt[..., None, :], 1e-8)
    values = np.stack([softer * delta, share, delta, mass], axis=-1)
    out = np.log(np.maximum(values, 1e-8))
    real = (vectors[..., :4] != 0).any(-1)
    return np.where((real[..., :, None] & real[..., None, :])[..., None], out, 0)


def test_pair_features(path: Path, arrays: dict[str, np.ndarray]) -> None:
    want = pair_features(arrays["p4"])
    got = made(path, ["p4"], T.PairFeatures("p4"))
    assert np.array_equal(got["p4"], arrays["p4"])
    assert got["pairs"].dtype == np.float32
    # Masses of light pairs are differences of large squares: float32 keeps what it can, as it does in torch.
    np.testing.assert_allclose(got["pairs"][..., :3], want[..., :3], atol=2e-3, rtol=1e-4)
    close = np.abs(got["pairs"][..., 3] - want[..., 3]) < 1e-3
    assert close[want[..., 3] > -3].all()
    first = made(
        path, ["p4"], T.Transpose("p4"), T.PairFeatures("p4", "f", stored_features_first=True, features_first=True)
    )
    assert np.array_equal(first["f"], got["pairs"].transpose(0, 3, 1, 2))
    with pytest.raises(hr.InvalidArgumentError, match="vectors names feature 6, of 6"):
        made(path, ["p4"], T.PairFeatures("p4", vectors=(0, 1, 2, 6)))


def epoch(path: Path, fields: list[str], *transforms: T.Transform, number: int = 0, **options) -> dict[str, np.ndarray]:
    data = hr.open(path, fields=[*fields, "row"]).map(*transforms)
    with hr.Loader(data, **{"batch_size": 50, **options}) as loader:
        loader.set_epoch(number)
        batches = list(loader)
    whole = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
    order = np.argsort(whole["row"], kind="stable")
    return {name: values[order] for name, values in whole.items()}


RANDOM = {
    "SpecAugment": (["mel"], lambda seed: T.SpecAugment("mel", time=3, freq=6, num_freq=2, seed=seed)),
    "SpecAugment of cut rows": (["cut"], lambda seed: T.SpecAugment("cut", time=3, freq=6, seed=seed)),
    "Noise": (["mel"], lambda seed: T.Noise("mel", 0.5, seed=seed)),
    "Crop": (["image", "label"], lambda seed: T.Crop(["label"], (4, 5), seed=seed)),
    "Flip": (["mel"], lambda seed: T.Flip("mel", seed=seed)),
}


@pytest.mark.parametrize("name", RANDOM)
def test_chance_follows_from_seed_epoch_and_sample(path: Path, name: str) -> None:
    fields, transform = RANDOM[name]
    key = "label" if name == "Crop" else fields[0]
    first = epoch(path, fields, transform(1))[key]
    for options in (
        {"shuffle": True, "seed": 0},
        {"shuffle": "exact", "cache": "none", "threads": 1},
        {"cache": "ram", "threads": 2, "batch_size": 7},
    ):
        assert np.array_equal(epoch(path, fields, transform(1), **options)[key], first)
    ranks = [epoch(path, fields, transform(1), rank=r, world_size=2, batch_size=25) for r in range(2)]
    merged = np.concatenate([rank[key] for rank in ranks])[np.argsort(np.concatenate([rank["row"] for rank in ranks]))]
    assert np.array_equal(merged, first)
    assert not np.array_equal(epoch(path, fields, transform(2))[key], first)
    assert not np.array_equal(epoch(path, fields, transform(1), number=1)[key], first)
    assert not np.array_equal(epoch(path, fields, transform(1), seed=4)[key], first)
    with hr.Loader(hr.open(path, fields=fields).map(transform(1)), batch_size=50) as loader:
        assert np.array_equal(loader.batch(0, 3)[key], first[150:200])


def test_spec_augment_blanks_stripes(path: Path, arrays: dict[str, np.ndarray]) -> None:
    got = made(path, ["mel"], T.SpecAugment("mel", time=3, freq=6, fill=-1.0))["mel"]
    blank = got == -1
    assert np.array_equal(got[~blank], arrays["mel"][~blank])
    frames, freqs = blank.all(axis=1), blank.all(axis=2)
    assert np.array_equal(blank, frames[:, None, :] | freqs[:, :, None])
    widths, heights = frames.sum(axis=1), freqs.sum(axis=1)
    assert set(widths) == {0, 1, 2, 3}
    assert set(heights) == set(range(7))
    assert (np.bincount(widths) > ROWS / 4 * 0.6).all()
    for stripes in (frames, freqs):  # one stripe: it begins once at most
        assert (np.diff(stripes.astype(int), axis=1) == 1).sum(axis=1).max() <= 1
    assert set(np.flatnonzero(freqs.any(axis=0))) == set(range(16))
    some = made(path, ["mel"], T.SpecAugment("mel", time=3, p=0.2))["mel"]
    changed = (some != arrays["mel"]).any(axis=(1, 2)).mean()
    assert 0.08 < changed < 0.25  # a fifth of three quarters
    two = made(path, ["mel"], T.SpecAugment("mel", freq=2, num_freq=2))["mel"] == 0
    starts = (np.diff(two.all(axis=2).astype(int), axis=1, prepend=0) == 1).sum(axis=1)
    assert set(starts) == {0, 1, 2}  # the second stripe is not where the first is
    assert (starts == 2).mean() > 0.2
    whole = made(path, ["mel"], T.SpecAugment("mel", time=arrays["mel"].shape[2] - 1, freq=arrays["mel"].shape[1] - 1))[
        "mel"
    ]
    assert (whole != 0).any(axis=(1, 2)).all()


def test_noise_is_normal(path: Path, arrays: dict[str, np.ndarray]) -> None:
    got = made(path, ["mel"], T.Noise("mel", 0.5))["mel"] - arrays["mel"]
    n = got.size
    assert abs(got.mean()) < 5 * 0.5 / np.sqrt(n)
    assert abs(got.std() - 0.5) < 5 * 0.5 / np.sqrt(2 * n)
    assert abs((np.abs(got) < 0.5).mean() - 0.6827) < 0.02
    assert abs(np.corrcoef(got[:, :, :-1].ravel(), got[:, :, 1:].ravel())[0, 1]) < 0.03


def test_crops_and_flips_are_of_all_fields_alike(path: Path, arrays: dict[str, np.ndarray]) -> None:
    label, image = arrays["label"], arrays["image"]
    got = made(
        path,
        ["label", "image"],
        T.Transpose("image", (2, 0, 1)),
        T.Reshape("label", (1, 9, 7)),
        T.Crop(["label", "image"], (4, 5)),
        T.Flip(["label", "image"], p=0.5),
    )
    starts = set()
    for i in range(ROWS):
        found = [
            (y, x, turned)
            for y in range(6)
            for x in range(3)
            for turned in (1, -1)
            if np.array_equal(got["label"][i, 0], label[i, y : y + 4, x : x + 5][:, ::turned])
            and np.array_equal(got["image"][i], image[i, y : y + 4, x : x + 5].transpose(2, 0, 1)[:, :, ::turned])
        ]
        assert found
        starts.add(found[0])
    assert len(starts) == 6 * 3 * 2
    middle = made(path, ["image"], T.Crop("image", (5, 3), random=False, channels_last=1))["image"]
    assert np.array_equal(middle, image[:, 2:7, 2:5])
    with pytest.raises(hr.InvalidArgumentError, match="10 of an axis of 9"):
        made(path, ["label"], T.Crop("label", (10, 2)))


def test_mix_up(path: Path, arrays: dict[str, np.ndarray]) -> None:
    a, y = arrays["a"], np.eye(4, dtype=np.float32)[arrays["y"]]
    mapped = hr.open(path, fields=["a", "y", "row"]).map(T.OneHot("y", 4), T.MixUp(["a", "y"], alpha=0.4, seed=1))
    weights = []
    with hr.Loader(mapped, batch_size=25, shuffle=True) as loader:
        batches = list(loader)
        assert np.array_equal(loader.batch(0, 2)["a"], batches[2]["a"])
    for batch in batches:
        rows, alone = batch["row"], 0
        for i, row in enumerate(rows):
            best = None
            for partner in rows:
                difference = a[row] - a[partner]
                w = (
                    1.0
                    if row == partner
                    else float(((batch["a"][i] - a[partner]) * difference).sum() / (difference**2).sum())
                )
                error = np.abs(batch["a"][i] - (w * a[row] + (1 - w) * a[partner])).max()
                if best is None or error < best[0]:
                    best = (error, w, partner)
            assert best[0] < 1e-5
            np.testing.assert_allclose(batch["y"][i], best[1] * y[row] + (1 - best[1]) * y[best[2]], atol=1e-5)
            alone += best[2] == row
            weights.append(best[1])
        assert alone == 1 or alone <= 5  # 25 samples: one is left over; weights near 1 look alone, too
    assert -1e-5 <= min(weights) < 0.1
    assert max(weights) <= 1 + 1e-5
    with pytest.raises(hr.InvalidArgumentError, match="mixed with other samples before"):
        mapped.map(T.Affine("a", 2.0))
    with pytest.raises(hr.InvalidArgumentError, match="whose values have no means"):
        hr.open(path, fields=["y"]).map(T.MixUp(["y"]))
    assert list(mapped["a"][:2].shape) == [2, 3, 5]


def test_settings_and_names_that_the_engine_cannot_have() -> None:
    with pytest.raises(hr.InvalidArgumentError, match=r"Noise: seed must be from -2\*\*63"):
        T.Noise("x", 0.1, seed=2**64 - 1)
    assert T.Noise("x", 0.1, seed=2**63 - 1).settings["seed"] == 2**63 - 1
    for name in ("\ud800", "x\0y", 3):
        with pytest.raises(hr.InvalidArgumentError, match="Clip: the name of a field must be"):
            T.Clip([name], 0, 1)


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("Crop: size", lambda: T.Crop("x", (2.5, 2))),
        ("PairFeatures: vectors", lambda: T.PairFeatures("x", vectors=(0, 1, 2, "E"))),
        ("Select: indices", lambda: T.Select("x", [0, 1.5])),
        ("Reshape: shape", lambda: T.Reshape("x", (2.0, 3))),
        ("Transpose: axes", lambda: T.Transpose("x", (0, None))),
        ("Relabel: labels", lambda: T.Relabel("x", {0: 0.5})),
    ],
)
def test_lists_of_whole_numbers_name_their_setting(name: str, make: Callable[[], T.Transform]) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=f"{name} must be whole numbers"):
        make()
