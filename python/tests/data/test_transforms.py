"""Dataset.map(): every transform against NumPy, however its rows come to a batch."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

P, F, ROWS = 20, 5, 300
SENTINEL = -999.0


def triangle(random: np.random.Generator, n: int, features: tuple[int, ...], k: int, packed: bool) -> np.ndarray:
    """One jet's pairs of n real particles."""
    rows, columns = np.triu_indices(P, k)
    pairs = np.full((len(rows), *features), SENTINEL, np.float32)
    real = rows.size and ((rows < n) & (columns < n))
    values = random.normal(size=(int(real.sum()), *features)).astype(np.float32)
    if packed:
        pairs[: len(values)] = values
    else:
        pairs[real] = values
    return pairs


def dense(pairs: np.ndarray, n: int, k: int, packed: bool, fill: float, diagonal: float) -> np.ndarray:
    """The same as a matrix, by loops."""
    out = np.full((P, P, *pairs.shape[1:]), fill, pairs.dtype)
    at = 0
    for i in range(n if packed else P):
        for j in range(i + k, n if packed else P):
            if i < n and j < n:
                out[i, j] = out[j, i] = pairs[at]
            at += 1
    if k == 1 and n > 1:  # of one particle there is no pair that would tell
        for i in range(n):
            out[i, i] = diagonal
    return out


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, np.ndarray]]:
    """Arrays in files of 100 rows: whole chunks, and chunks that cut rows."""
    random = np.random.default_rng(3)
    n = random.integers(2, P + 1, ROWS)
    x = random.normal(size=(ROWS, P, F)).astype(np.float32)
    x[np.arange(P)[None, :] >= n[:, None]] = 0
    arrays = {
        "x": x,
        "adj": np.stack([triangle(random, m, (), 1, False) for m in n]),
        "adj3": np.stack([triangle(random, m, (3,), 1, False) for m in n]),
        "adj0": np.stack([triangle(random, m, (), 0, False) for m in n]),
        "packed": np.stack([triangle(random, m, (), 1, True) for m in n]),
        "y": random.integers(-3, 7, ROWS),
        "n": n,
        "f8": random.normal(size=(ROWS, 3)),
        "u1": random.integers(0, 256, (ROWS, 7)).astype(np.uint8),
        "f2": random.normal(size=(ROWS, 4)).astype(np.float16),
    }
    folder = tmp_path_factory.mktemp("transforms")
    for i in range(3):
        part = slice(100 * i, 100 * i + 100)
        with h5py.File(folder / f"part_{i}.h5", "w") as file:
            for name, values in arrays.items():
                chunks = (16, *values.shape[1:])
                file.create_dataset(name, data=values[part], chunks=chunks, compression="gzip", shuffle=True)
                if values.ndim > 1:
                    cut = (32, (values.shape[1] + 1) // 2, *values.shape[2:])
                    file.create_dataset(f"cut_{name}", data=values[part], chunks=cut, compression="gzip")
                    file.create_dataset(f"plain_{name}", data=values[part])
    return str(folder / "part_*.h5"), arrays


WAYS: dict[str, dict[str, Any]] = {
    "decoded": {"cache": "none"},
    "one thread": {"cache": "none", "threads": 1},
    "kept": {},
    "in memory": {"cache": "ram"},
    "exact": {"shuffle": "exact", "cache": "none", "memory": "4MiB"},
}


def assert_same(got: np.ndarray, want: np.ndarray, *, close: bool = False) -> None:
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    if close:
        np.testing.assert_allclose(got, want, rtol=3e-7, atol=1e-9)
    else:
        np.testing.assert_array_equal(got, want)


def check(
    data: tuple[str, dict[str, np.ndarray]],
    fields: dict[str, str],
    transforms: list[T.Transform],
    want: dict[str, np.ndarray],
    *,
    close: bool = False,
    way: str = "decoded",
) -> None:
    """What slices, numbered rows, loaders in every way, and pickled copies give."""
    paths, _ = data
    plain = hr.open(paths, fields=fields)
    mapped = plain.map(*transforms)
    assert len(mapped) == ROWS
    assert list(mapped.fields) == list(want)
    for name, info in mapped.fields.items():
        assert (info.dtype, info.shape) == (want[name].dtype, want[name].shape[1:])
    rows = [7, 3, 150, 299, 0, 3]
    for name, values in mapped[rows].items():
        assert_same(values, want[name][rows], close=close)
    sliced = mapped[90:230]
    for name, values in sliced.items():
        assert_same(values, want[name][90:230], close=close)
    options: dict[str, Any] = {"batch_size": 32, "shuffle": True, "seed": 5, "provenance": True, **WAYS[way]}
    with hr.Loader(mapped, **options) as loader, hr.Loader(plain, **options) as unmapped:
        for _ in range(3):
            for batch, stored in zip(loader, unmapped, strict=True):
                assert np.array_equal(batch["_rows"], stored["_rows"])  # transforms do not change the order
                index = batch["_rows"][:, 0] * 100 + batch["_rows"][:, 1]
                for name in want:
                    assert_same(batch[name], want[name][index], close=close)
    again = pickle.loads(pickle.dumps(mapped))
    for name, values in again[5:9].items():
        assert_same(values, want[name][5:9], close=close)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["", "cut_", "plain_"])
def test_pairs_and_standardize_and_mask(data, kind: str, way: str) -> None:
    arrays = data[1]
    n, x = arrays["n"], arrays["x"]
    mean, std = np.arange(F) / 3, 1.5 + np.arange(F)
    standard = np.clip((x - mean.astype(np.float32)) / std.astype(np.float32), -1.25, 1.25).astype(np.float32)
    mask = np.arange(P)[None, :] < n[:, None]
    check(
        data,
        {"x": f"{kind}x", "adj": f"{kind}adj", "y": "y"},
        [
            T.Mask("x", count="n"),
            T.SymmetricPairs("adj", sentinel=SENTINEL, fill=-1.0, diagonal=0.5, mask="both"),
            T.Standardize("x", mean, std, clip=1.25),
        ],
        {
            "x": standard,
            "adj": np.stack([dense(p, m, 1, False, -1, 0.5) for p, m in zip(arrays["adj"], n, strict=True)]),
            "y": arrays["y"],
            "mask": mask,
            "n": n,
            "both": mask[:, :, None] & mask[:, None, :],
        },
        way=way,
    )


@pytest.mark.parametrize(
    ("name", "k", "packed"), [("adj", 1, False), ("adj3", 1, False), ("adj0", 0, False), ("packed", 1, True)]
)
@pytest.mark.parametrize("kind", ["", "cut_"])
def test_triangles(data, kind: str, name: str, k: int, packed: bool) -> None:
    arrays = data[1]
    made = T.SymmetricPairs("a", sentinel=SENTINEL, k=k, layout="triu_n" if packed else "triu_max", diagonal=2.0)
    want = [dense(p, m, k, packed, 0, 2) for p, m in zip(arrays[name], arrays["n"], strict=True)]
    check(data, {"a": kind + name}, [made], {"a": np.stack(want)})


def test_pairs_without_a_sentinel_and_of_other_types(data) -> None:
    arrays = data[1]
    rows, columns = np.triu_indices(P, 1)
    want = np.zeros((ROWS, P, P), np.float32)
    want[:, rows, columns] = want[:, columns, rows] = arrays["adj"]
    check(data, {"a": "adj"}, [T.SymmetricPairs("a", n=P)], {"a": want})
    # 7 = no triangle; 4·3/2 = 6 of the 7 values cannot be taken: pairs are all or nothing
    text = r"7 pairs are not the upper triangle of a square matrix: n=3 has 3 pairs, n=4 has 6 \(k=1\)"
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.open(data[0], fields=["u1"]).map(T.SymmetricPairs("u1"))


def test_chains_and_types(data) -> None:
    arrays = data[1]
    f8, u1, f2 = arrays["f8"], arrays["u1"], arrays["f2"]
    check(
        data,
        {"f8": "f8", "u1": "u1", "f2": "f2"},
        [
            T.Affine("f8", [2.0, 3.0, 4.0], 0.25),
            T.Clip("f8", -1, 3.5),
            T.Affine("u1", 1 / 255, to="unit"),
            T.Cast("unit", "float16"),
            T.Clip("u1", 5, 200),
            T.Log("f2", offset=6.0),
            T.Cast("f2", np.float64),
        ],
        {
            "f8": np.clip(f8 * np.array([2.0, 3.0, 4.0]) + 0.25, -1, 3.5),
            "u1": np.clip(u1, 5, 200),
            "f2": np.log(f2.astype(np.float32) + np.float32(6)).astype(np.float64),
            "unit": (u1.astype(np.float32) * np.float32(1 / 255)).astype(np.float16),
        },
        close=True,
    )


def test_casts_equal_numpy(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    bits = random.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([bits.view(np.float32), np.linspace(-70_000, 70_000, 9_001, dtype=np.float32)])
    with np.errstate(all="ignore"):
        values = np.concatenate([values, np.arange(65_536, dtype=np.uint16).view(np.float16).astype(np.float32)])
    np.save(tmp_path / "v.npy", values)
    data = hr.open(tmp_path / "v.npy", fields={"v": ""})
    with np.errstate(all="ignore"):
        for name in ("float16", "float32", "float64"):
            got = data.map(T.Cast("v", name))[:]["v"]
            assert np.array_equal(got, values.astype(name), equal_nan=True), name
        for name in ("int8", "uint8", "int16", "int32", "int64", "uint64"):
            limits = np.iinfo(name)
            whole = np.nan_to_num(values.astype(np.float64), nan=0, posinf=np.inf, neginf=-np.inf)
            inside = np.trunc(whole)
            want = np.where(inside >= limits.max, limits.max, 0).astype(name)
            fits = (inside < limits.max) & (inside > limits.min)
            want[fits] = inside[fits].astype(name)
            want[inside <= limits.min] = limits.min
            known = (inside < float(2 ** (limits.bits - (limits.min < 0)))) & (inside >= limits.min) & ~np.isnan(values)
            assert np.array_equal(data.select(known).map(T.Cast("v", name))[:]["v"], want[known]), name
            with pytest.raises(hr.CorruptDataError, match=f"is no {name}"):
                data.select(~known).map(T.Cast("v", name))[:]
        numbers = data.select(~np.isnan(values))
        assert np.array_equal(numbers.map(T.Cast("v", "bool"))[:]["v"], values[~np.isnan(values)].astype(bool))


def test_bfloat16_equals_torch(data) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    mapped = hr.open(data[0], fields=["x"]).map(T.Cast("x", "bfloat16"))
    for batch in hr.Loader(mapped, batch_size=50, framework="torch"):
        assert batch["x"].dtype == torch.bfloat16
    whole = torch.cat([batch["x"] for batch in hr.Loader(mapped, batch_size=50, framework="torch")])
    assert torch.equal(whole, torch.from_numpy(data[1]["x"]).to(torch.bfloat16))


def test_fields_can_be_chosen_and_unneeded_columns_are_not_read(data) -> None:
    mapped = hr.open(data[0], fields=["x", "adj", "y"]).map(T.Mask("x"), T.SymmetricPairs("adj", sentinel=SENTINEL))
    column = mapped["mask"][10:20]
    assert np.array_equal(column, np.arange(P)[None, :] < data[1]["n"][10:20, None])
    assert mapped["adj"][3].shape == (P, P)
    selected = mapped.select([5, 50, 250])
    assert np.array_equal(selected[:]["y"], data[1]["y"][[5, 50, 250]])
    only = mapped.map(T.Keep("mask", "y"), T.Affine("y", 3.0)).map(T.Drop("mask"))
    assert np.array_equal(only[:]["y"], 3 * data[1]["y"].astype(np.float32))
    assert list(only[:]) == ["y"]
    assert selected.map(T.Affine("y", 2.0))[0]["y"] == np.float32(2 * data[1]["y"][5])


def test_resuming_and_single_batches(data) -> None:
    mapped = hr.open(data[0], fields=["x", "cut_adj"]).map(
        T.SymmetricPairs("cut_adj", sentinel=SENTINEL), T.Affine("x", 3.0)
    )
    with hr.Loader(mapped, batch_size=32, shuffle=True, seed=2) as loader:
        whole = list(loader)
        single = loader.batch(0, 4)
        iterator = iter(loader)
        first = [next(iterator) for _ in range(3)]
        state = loader.state_dict()
    for name in single:
        assert np.array_equal(single[name], whole[4][name])
    with hr.Loader(mapped, batch_size=32, shuffle=True, seed=2) as other:
        other.load_state_dict(state)
        rest = list(other)
    assert len(first) + len(rest) == len(whole)
    other = hr.Loader(mapped.map(T.Affine("x", 2.0)), batch_size=32, shuffle=True, seed=2)
    with other, pytest.raises(hr.InvalidArgumentError):
        other.load_state_dict(state)


def test_what_is_damaged_is_an_error_of_its_batch(tmp_path: Path) -> None:
    pairs = np.ones((50, 6), np.float32)
    pairs[30, 2] = SENTINEL  # between real pairs
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("adj", data=pairs, chunks=(8, 6), compression="gzip")
    for options in ({}, {"cache": "none"}, {"cache": "ram"}):
        data = hr.open(tmp_path / "a.h5").map(T.SymmetricPairs("adj", sentinel=SENTINEL))
        with pytest.raises(hr.CorruptDataError, match=r"sample 30.*between real pairs"):
            data[25:35]
        with hr.Loader(data, batch_size=10, **options) as loader:
            iterator = iter(loader)
            for _ in range(3):
                assert next(iterator)["adj"].shape == (10, 4, 4)
            with pytest.raises(hr.CorruptDataError, match="sample 30"):
                next(iterator)
    loose = hr.open(tmp_path / "a.h5").map(T.SymmetricPairs("adj", sentinel=SENTINEL, strict=False))[30]["adj"]
    assert loose[0, 3] == loose[3, 0] == 0
    assert loose[0, 1] == 1


# The pairs of 4 particles: (0,1) (0,2) (0,3) (1,2) (1,3) (2,3), of which two particles have the first.
@pytest.mark.parametrize(
    "pairs",
    [[0, 3], [0, 5], [1, 2], [5], [0, 1], [0, 1, 3, 5]],
    ids=["row 1", "row 2", "not the first", "the last alone", "row 1 lacks", "one too many"],
)
def test_pairs_that_no_number_of_particles_makes(tmp_path: Path, pairs: list[int]) -> None:
    values = np.full((1, 6), SENTINEL, np.float32)
    values[0, pairs] = 1
    np.save(tmp_path / "adj.npy", values)
    data = hr.open(tmp_path / "adj.npy")
    (field,) = data.fields
    with pytest.raises(hr.CorruptDataError, match="between real pairs"):
        data.map(T.SymmetricPairs(field, sentinel=SENTINEL))[0]


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.Standardize("x", 0.0, [1.0, 0.0, 1.0, 1.0, 1.0]), r"std\[1\] is 0"),
        (T.Standardize("x", [1.0, 2.0], 1.0), "mean has 2 values, and the field's last axis 5"),
        (T.Standardize("x", 0.0, 1.0, clip=-1.0), "clip is -1"),
        (T.Standardize("x", 0.0, 1.0, pad_feature=9), "pad_feature is 9, and the field's last axis has 5"),
        (
            T.SymmetricPairs("adj", sentinel=-1.0, n=19),
            "190 pairs are not the upper triangle of a square matrix of 19 rows",
        ),
        (T.SymmetricPairs("y", fill=0.5), "fill is 0.5"),
        (T.SymmetricPairs("adj", sentinel=float("nan")), "sentinel is NaN"),
        (T.SymmetricPairs("x"), r"20 pairs are not the upper triangle"),
        (T.Mask("y"), r"the field's sample shape is \(\)"),
        (T.Mask("x", feature=5), "feature is 5, and the field's last axis has 5"),
        (T.Cast("x", "complex64"), "no type of numbers is called 'complex64'"),
        (T.Clip("x", 2, 1), "the least is 2, and the most 1"),
        (T.Transform("SymetricPairs", "adj"), "no transform is called 'SymetricPairs'.*SymmetricPairs"),
        (T.Transform("Clip", "x", leest=1), "no setting is called 'leest'. Did you mean least"),
        (T.Transform("Clip", ["x", "y"]), "takes one field, not 2"),
        (T.Transform("Clip", "x", least="low"), "least must be a number, not 'low'"),
    ],
)
def test_says_what_is_wrong(data, transform: T.Transform, text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.open(data[0], fields=["x", "adj", "y"]).map(transform)


def test_other_wrong_arguments(data) -> None:
    mapped = hr.open(data[0], fields=["x", "adj"])
    with pytest.raises(hr.FieldMissingError, match="Mask: no field 'z'; there are"):
        mapped.map(T.Mask("z"))
    with pytest.raises(hr.InvalidArgumentError, match="map takes transforms and functions, not 'Mask'"):
        mapped.map("Mask")  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidArgumentError, match="mean must be a number"):
        mapped.map(T.Standardize("x", "a lot", 1.0))
    with pytest.raises(hr.InvalidArgumentError, match="not of 2 dimensions"):
        T.Standardize("x", np.ones((2, 2)), 1.0)
    with pytest.raises(hr.InvalidArgumentError, match="'x' is named twice"):
        mapped.map(T.Keep("x", "x"))
    with pytest.raises(hr.InvalidArgumentError, match="no field is left"):
        mapped.map(T.Drop("x", "adj"))
    with pytest.raises(hr.InvalidArgumentError, match="are transformed"):
        hr.mix({"a": mapped.map(T.Mask("x")), "b": mapped.map(T.Mask("x"))})
