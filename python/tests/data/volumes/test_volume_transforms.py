"""Mirror, Rotate90, ShuffleAxes, Contrast, Gamma of patches: every outcome by NumPy, each as often as it should be."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from turns import Array, cube, epoch, mirrors, orders, quarters

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
SHAPES = ((24, 30, 26), (20, 21, 33))
DTYPES = ("u1", "f2", "f4", "u8")
SAMPLES = 960


@pytest.fixture(scope="module")
def held() -> list[dict[str, Array]]:
    random = np.random.default_rng(3)
    return [{dtype: random.integers(0, 200, shape).astype(dtype) for dtype in DTYPES} for shape in SHAPES]


@pytest.fixture(scope="module")
def volume(tmp_path_factory: pytest.TempPathFactory, held: list[dict[str, Array]]) -> hr.Volumes:
    folder = tmp_path_factory.mktemp("augment")
    for number, arrays in enumerate(held):
        np.savez_compressed(folder / f"v_{number}.npz", **arrays)
    return hr.open_volume(folder / "v_*.npz", {dtype: dtype for dtype in DTYPES})


def boxes(held: list[dict[str, Array]], got: dict[str, Array], name: str, patch: Sequence[int]) -> list[Array]:
    """Return what is stored where each patch begins."""
    return [
        held[v][name][tuple(slice(a, a + n) for a, n in zip(start, patch, strict=True))]
        for v, start in zip(got["_volume"], got["_start"], strict=True)
    ]


CASES: dict[str, tuple[T.Transform, tuple[int, int, int], list[Callable[[Array], Array]]]] = {
    "mirror": (T.Mirror(), (9, 17, 11), mirrors((0, 1, 2))),
    "mirror, thin": (T.Mirror(), (1, 18, 16), mirrors((1, 2))),
    "mirror, named axes": (T.Mirror(axes=(0, -1)), (6, 7, 20), mirrors((0, 2))),
    "mirror, one axis": (T.Mirror(axes=1), (4, 16, 19), mirrors((1,))),
    "rotate": (T.Rotate90(), (7, 17, 17), quarters((1, 2))),
    "rotate, thin": (T.Rotate90(), (1, 20, 20), quarters((1, 2))),
    "rotate, other plane": (T.Rotate90(axes=(2, 0)), (16, 5, 16), quarters((2, 0))),
    "cube": (T.Rotate90(axes="cube"), (18, 18, 18), cube()),
    "shuffle": (T.ShuffleAxes(), (16, 16, 16), orders((0, 1, 2))),
    "shuffle, thin": (T.ShuffleAxes(), (1, 19, 19), orders((1, 2))),
    "shuffle, named axes": (T.ShuffleAxes(axes=(0, -1)), (17, 8, 17), orders((0, 2))),
}


def outcomes(held: list[dict[str, Array]], got: dict[str, Array], patch: Sequence[int], ways: list[Any]) -> list[int]:
    """Return which of the ways each patch went, the same in all fields."""
    chosen = []
    stored = {name: boxes(held, got, name, patch) for name in DTYPES if name in got}
    for i in range(len(got["_volume"])):
        fits = [w for w, way in enumerate(ways) if all(np.array_equal(got[n][i], way(stored[n][i])) for n in stored)]
        assert len(fits) == 1, f"patch {i} fits {fits}"
        chosen.append(fits[0])
    return chosen


def check_shares(counts: Sequence[int], chances: Sequence[float]) -> None:
    """Refuse counts that are far from their chances: chi^2 beyond its mean by 6 standard deviations."""
    total, free = sum(counts), len(counts) - 1
    chi2 = sum((n - total * p) ** 2 / (total * p) for n, p in zip(counts, chances, strict=True))
    assert all(counts)
    assert chi2 < free + 6 * np.sqrt(2 * free), (counts, chi2)


@pytest.mark.parametrize("name", CASES)
def test_every_outcome_is_numpys_and_as_likely(volume: hr.Volumes, held: list[dict[str, Array]], name: str) -> None:
    transform, patch, ways = CASES[name]
    got = epoch(volume.patches(patch, samples_per_epoch=SAMPLES).map(transform))
    assert all(got[dtype].dtype == dtype for dtype in DTYPES)
    counts = Counter(outcomes(held, got, patch, ways))
    check_shares([counts[w] for w in range(len(ways))], [1 / len(ways)] * len(ways))


def test_chances(volume: hr.Volumes, held: list[dict[str, Array]]) -> None:
    patch = (6, 10, 10)
    data = volume.patches(patch, samples_per_epoch=SAMPLES)
    counts = Counter(outcomes(held, epoch(data.map(T.Mirror(p=0.2))), patch, mirrors((0, 1, 2))))
    chances = [0.2 ** sum(bits) * 0.8 ** (3 - sum(bits)) for bits in itertools.product([0, 1], repeat=3)]
    check_shares([counts[w] for w in range(8)], chances)
    counts = Counter(outcomes(held, epoch(data.map(T.Rotate90(p=0.4))), patch, quarters((1, 2))))
    check_shares([counts[w] for w in range(4)], [0.7, 0.1, 0.1, 0.1])
    counts = Counter(outcomes(held, epoch(data.map(T.ShuffleAxes(p=0.5))), patch, orders((1, 2))))
    check_shares([counts[w] for w in range(2)], [0.75, 0.25])
    for never in (T.Mirror(p=0), T.Rotate90(p=0), T.ShuffleAxes(p=0)):
        plain, got = epoch(data), epoch(data.map(never))
        assert all(np.array_equal(plain[dtype], got[dtype]) for dtype in DTYPES)


ALL = (
    T.Mirror(),
    T.Rotate90(axes="cube"),
    T.ShuffleAxes(p=0.5),
    T.Contrast("f4", 0.5, 1.5),
    T.Affine("f4", 0.004, 0.1),
    T.Gamma("f4", 0.7, 1.4),
)


def test_what_is_drawn_follows_from_seed_epoch_and_sample(volume: hr.Volumes) -> None:
    data = volume.patches((12, 12, 12), samples_per_epoch=192).map(*ALL)
    first = epoch(data, threads=1)
    for options in ({"threads": 4}, {"threads": 3, "memory": "16MiB"}, {"cache": "none"}):
        again = epoch(data, **options)
        assert all(np.array_equal(first[name], again[name]) for name in first)
    with hr.Loader(data, batch_size=32, seed=5) as loader:
        one = loader.batch(epoch=0, step=3)
        assert all(np.array_equal(one[name], first[name][96:128]) for name in DTYPES)
        later = loader.batch(epoch=7, step=1)
    whole = epoch(data, 7)
    assert all(np.array_equal(later[name], whole[name][32:64]) for name in DTYPES)


def differs(data: hr.Dataset, a: T.Transform, b: T.Transform, field: str = "f4") -> bool:
    return not np.array_equal(epoch(data.map(a))[field], epoch(data.map(b))[field])


def test_seeds_and_epochs_draw_others(volume: hr.Volumes) -> None:
    grid = volume.patches((10, 10, 10), stride=(10, 10, 10)).map(T.Keep("f4"))  # the same patches in each epoch
    for make in (
        lambda seed: T.Mirror(seed=seed),
        lambda seed: T.Rotate90(seed=seed),
        lambda seed: T.ShuffleAxes(seed=seed),
        lambda seed: T.Contrast("f4", 0.5, 1.5, seed=seed),
        lambda seed: T.Gamma("f4", 0.5, 1.5, seed=seed),
    ):
        assert not differs(grid, make(1), make(1))
        assert differs(grid, make(1), make(2))
        data = grid.map(make(1))
        assert not np.array_equal(epoch(data, 0)["f4"], epoch(data, 1)["f4"])
        assert not np.array_equal(epoch(data, seed=5)["f4"], epoch(data, seed=6)["f4"])


# ------------------------------------------------------------------------------------------------------- which fields


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fields") / "fields.npz"
    random = np.random.default_rng(1)
    shapes = {
        "image": (8, 8),
        "mask": (8, 8),
        "y": (),
        "box": (4,),
        "layers": (3, 8, 8),
        "wide": (8, 5),
        "one": (8, 1),
        "eight": (8,),
    }
    np.savez(path, **{name: random.normal(size=(64, *shape)).astype("f4") for name, shape in shapes.items()})
    return path


def changed(path: Path, fields: Sequence[str], *transforms: T.Transform) -> set[str]:
    data = hr.open(path, fields=list(fields))
    plain, got = data[:], data.map(*transforms)[:]
    assert list(got) == list(plain)
    return {name for name in plain if not np.array_equal(plain[name], got[name])}


@pytest.mark.parametrize("transform", [T.Mirror(), T.Rotate90(), T.ShuffleAxes()], ids=lambda t: t.name)
def test_none_is_all_fields_that_lie_over_each_other(table: Path, transform: T.Transform) -> None:
    fields = ["y", "image", "box", "mask", "layers"]
    assert changed(table, fields, transform) == {"image", "mask", "layers"}
    with pytest.raises(hr.InvalidArgumentError, match=r"'wide' has the sample shape .*Name the fields"):
        changed(table, [*fields, "wide"], transform)
    with pytest.raises(hr.InvalidArgumentError, match="no field has 2 axes or more"):
        changed(table, ["y", "box"], transform)


def test_none_passes_fields_of_one_axis_by(table: Path) -> None:
    for axes in (-1, 0):
        assert changed(table, ["eight", "image", "box", "y"], T.Mirror(axes=axes)) == {"image"}
    assert changed(table, ["image", "layers"], T.Mirror(axes=-3)) == {"layers"}


def test_none_follows_what_the_transforms_before_made(table: Path) -> None:
    data = hr.open(table, fields=["image", "wide", "box"])
    got = data.map(T.Affine("image", 2.0, to="twice"), T.Drop("wide"), T.Mirror(), T.Affine("image", 2.0, to="after"))[
        :
    ]
    assert np.array_equal(got["twice"], got["after"])
    assert np.array_equal(got["box"], data[:]["box"])
    assert not np.array_equal(got["image"], data[:]["image"])
    flat = data.map(T.Drop("wide"), T.Reshape("image", (64,)))
    with pytest.raises(hr.InvalidArgumentError, match="no field has 2 axes"):
        flat.map(T.Rotate90())
    # Mapped in two steps, chosen from, and pickled: all draw alike.
    mapped = data.map(T.Drop("wide")).map(T.Mirror(), T.Rotate90()).map(T.Clip("image", -1, 1))
    assert np.array_equal(mapped["image"][:], mapped[:]["image"])
    assert np.array_equal(pickle.loads(pickle.dumps(mapped))[:]["image"], mapped[:]["image"])


def test_named_fields_draw_alike(table: Path) -> None:
    data = hr.open(table, fields=["image", "layers", "wide"])
    plain = data[:]
    got = data.map(T.Mirror(["layers", "image"]))[:]
    for way in mirrors((1, 2)):
        for i in range(64):
            fits = np.array_equal(got["image"][i : i + 1], way(plain["image"][i : i + 1]))
            assert fits == np.array_equal(got["layers"][i], way(plain["layers"][i]))
    assert np.array_equal(got["wide"], plain["wide"])
    together = data.map(T.Mirror(["image", "wide"], -1))[:]
    for i in range(64):
        turned_over = np.array_equal(together["image"][i], plain["image"][i][:, ::-1])
        assert turned_over == np.array_equal(together["wide"][i], plain["wide"][i][:, ::-1])
    assert changed(table, ["image", "one"], T.Mirror("one")) == {"one"}


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.Rotate90("wide"), r"Rotate90: axes \[0, 1\] of 'wide' have the extents 8 x 5.*T.Crop"),
        (T.Rotate90("image", axes=(0, 1, 1)), "names one twice"),
        (T.Rotate90("image", axes=(1,)), r'1 axes, and it turns 2.*axes="cube"'),
        (T.Rotate90("image", axes=(0, -2)), "names one twice"),
        (T.Rotate90("layers", axes="cube"), "have the extents 3 x 8 x 8"),
        (T.Rotate90("image", axes="cube"), "axis -3, and a sample of 'image' has 2"),
        (T.ShuffleAxes("wide"), "have the extents 8 x 5"),
        (T.ShuffleAxes("image", axes=(1,)), "1 axes, and it takes 2 to 5"),
        (T.Mirror("image", axes=(2,)), "axis 2, and a sample of 'image' has 2"),
        (T.Mirror("image", axes=(0, 0)), "names one twice"),
        (T.Mirror("image", p=1.5), "p is 1.5"),
        (T.Mirror("image", p=float("nan")), "p is nan"),
        (T.Mirror(["image", "image"]), "'image' is named twice"),
        (T.Mirror(["image", "y"]), "'image' has no axis|'y' has no axis"),
        (T.Contrast("image", 1.2, 0.8), "least is 1.2 and most 0.8"),
        (T.Contrast("image", -1, 0.8), "least is -1"),
        (T.Gamma("image", 0, 1), "least is 0.*above 0"),
        (T.Gamma("image", 0.5, float("inf")), "most inf"),
    ],
    ids=repr,
)
def test_what_cannot_be_is_refused(table: Path, transform: T.Transform, text: str) -> None:
    data = hr.open(table, fields=["image", "layers", "wide", "y"])
    with pytest.raises(hr.InvalidArgumentError, match=f"(?s){text}"):
        data.map(transform)


def test_names_and_settings_that_are_none(table: Path, volume: hr.Volumes) -> None:
    with pytest.raises(hr.FieldMissingError, match="Mirror: no field 'imago'; there are image"):
        hr.open(table, fields=["image"]).map(T.Mirror(["image", "imago"]))
    with pytest.raises(hr.InvalidArgumentError, match="Mirror: names no field"):
        T.Mirror([])
    with pytest.raises(hr.InvalidArgumentError, match="Mirror: axes are none"):
        T.Mirror(axes=())
    with pytest.raises(hr.InvalidArgumentError, match="Mirror: axes must be whole numbers"):
        T.Mirror(axes=(0.5,))  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidArgumentError, match="two whole numbers or 'cube', not 'plane'"):
        T.Rotate90(axes="plane")
    with pytest.raises(hr.InvalidArgumentError, match="takes values from 0 to 1, and the field is of uint8"):
        volume.patches((4, 4, 4), samples_per_epoch=9).map(T.Gamma("u1", 0.5, 2))
    filled = volume.patches((9, 9, 9), stride=(9, 9, 9), edge="fill")
    with pytest.raises(hr.UnsupportedError, match=r"Mirror: patches with edge=\"fill\" come with 'NAME.valid'"):
        filled.map(T.Affine("f4"), T.Mirror())
    moves = {"Flip": T.Flip("f4"), "Transpose": T.Transpose("f4", [1, 0, 2]), "Crop": T.Crop("f4", (4, 4, 4))}
    moves |= {"Reshape": T.Reshape("f4", (729,)), "MixUp": T.MixUp(["f4"], 0.5), "Select": T.Select("f4", [0, 1])}
    for name, move in moves.items():
        with pytest.raises(hr.UnsupportedError, match=rf"{name}: patches with edge=\"fill\" come with 'NAME.valid'"):
            filled.map(move)
    filled.map(T.Affine("f4"), T.Clip("f4", 0, 1), T.Noise("f4", 0.1), T.Drop("u1"))


# -------------------------------------------------------------------------------------------------------------- values


@pytest.fixture(scope="module")
def values(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("values") / "values.npz"
    random = np.random.default_rng(2)
    x = random.uniform(-0.2, 1.2, (500, 11, 13, 9))
    holed = x.astype("f4")
    holed[::2, 3:5] = np.nan
    holed[8] = np.nan
    np.savez(path, f4=x.astype("f4"), f8=x, f2=x.astype("f2"), u1=(x * 100 + 30).astype("u1"), holed=holed)
    return path


@pytest.mark.parametrize("field", ["f4", "f8", "f2", "u1"])
def test_contrast_stretches_about_the_mean(values: Path, field: str) -> None:
    data = hr.open(values, fields=[field])
    x = data[:][field].astype("f8")
    got = data.map(T.Contrast(field, 0.8, 1.2, to="z"))[:]["z"]
    assert got.dtype == ("f8" if field == "f8" else "f4")
    mean = x.mean(axis=(1, 2, 3), keepdims=True)
    factor = got.std(axis=(1, 2, 3)) / x.std(axis=(1, 2, 3))
    want = (x - mean) * factor[:, None, None, None] + mean
    np.testing.assert_allclose(got, want, rtol=1e-9 if field == "f8" else 2e-5, atol=1e-9 if field == "f8" else 2e-5)
    assert 0.8 <= factor.min() + 1e-5 < 0.81
    assert 1.19 < factor.max() <= 1.2 + 1e-5
    check_shares(list(np.histogram(factor, np.linspace(0.8, 1.2001, 11))[0]), [0.1] * 10)


@pytest.mark.parametrize("field", ["f4", "f8", "f2"])
def test_gamma_is_a_power(values: Path, field: str) -> None:
    data = hr.open(values, fields=[field])
    x = np.maximum(data[:][field].astype("f8"), 0)
    got = data.map(T.Gamma(field, 0.5, 2))[:][field]
    assert got.dtype == ("f8" if field == "f8" else "f4")
    middle = (x > 0.2) & (x < 0.8)
    logs = [
        np.log(g[m].astype("f8")) @ np.log(v[m]) / (np.log(v[m]) @ np.log(v[m]))
        for g, v, m in zip(got, x, middle, strict=True)
    ]
    exponent = np.array(logs)
    np.testing.assert_allclose(got, x ** exponent[:, None, None, None], rtol=1e-5, atol=1e-6)
    assert (got[x == 0] == 0).all()
    check_shares(list(np.histogram(np.log2(exponent), np.linspace(-1, 1, 11))[0]), [0.1] * 10)


def test_nan_stays_and_is_no_part_of_the_mean(values: Path) -> None:
    data = hr.open(values, fields=["holed"])
    x = data[:]["holed"]
    for transform in (T.Contrast("holed", 0.5, 0.50001), T.Gamma("holed", 0.5, 2)):
        got = data.map(transform)[:]["holed"]
        assert np.array_equal(np.isnan(got), np.isnan(x))
    got = data.map(T.Contrast("holed", 0.5, 0.5))[:]["holed"]
    there = ~np.isnan(x).all(axis=(1, 2, 3))
    mean = np.nanmean(x[there], axis=(1, 2, 3), keepdims=True, dtype="f8")
    np.testing.assert_allclose(got[there], (x[there] - mean) * 0.5 + mean, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["u1", "i2", "u8", "f4"])
def test_relabel_by_table_and_map(tmp_path: Path, dtype: str) -> None:
    random = np.random.default_rng(4)
    keys = [0, 1, 7, 100] + ([] if dtype == "u1" else [32767]) + ([2**40, 65536] if dtype == "u8" else [])
    keys += [-3, -32768] if dtype == "i2" else [0.5, -1.0] if dtype == "f4" else []
    stored = random.choice(np.array(keys), (40, 13, 12, 11)).astype(dtype)
    np.save(tmp_path / "x.npy", stored)
    data = hr.open(tmp_path / "x.npy", fields={"x": ""})
    labels = {key: 10 * i - 5 for i, key in enumerate(keys)}
    want = np.vectorize(lambda v: labels[v.item() if hasattr(v, "item") else v], otypes=["i8"])(stored)
    assert np.array_equal(data.map(T.Relabel("x", labels))[:]["x"], want)
    del labels[7]
    want = np.where(stored == 7, -9, want)
    assert np.array_equal(data.map(T.Relabel("x", labels, otherwise=-9))[:]["x"], want)
    with pytest.raises(hr.CorruptDataError, match="the stored label 7 has no new one"):
        data.map(T.Relabel("x", labels))[:]
