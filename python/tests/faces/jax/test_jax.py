"""headrace.jax: global arrays that hold what hr.Loader delivers, with JAX's types, fixed shapes and Grain's states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from jax_batches import BATCH, LENGTH, STEPS, WINDOWS, expected, npz, ragged, same

import headrace as hr
from headrace import transforms as T

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)  # before anything computes
from jax.sharding import NamedSharding, SingleDeviceSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from headrace.jax import Loader  # noqa: E402


@pytest.fixture(scope="module")
def mesh() -> Any:
    if jax.device_count() < 4:
        pytest.skip("jax has begun with fewer than 4 devices")
    return jax.make_mesh((2, 2), ("data", "model"))


@pytest.mark.parametrize("spec", [P("data"), P("data", None), P("data", "model"), P(("data", "model")), P(), "model"])
def test_batches_are_those_of_a_loader(windows: hr.Dataset, mesh: Any, spec: Any) -> None:
    loader = Loader(windows, batch_size=BATCH, shuffle=True, seed=3, mesh=mesh, spec=spec)
    batches = list(loader)
    same(batches, expected(windows, shuffle=True, seed=3))
    assert len(batches) == len(loader) == loader.steps_per_epoch == STEPS
    wanted = NamedSharding(mesh, P(spec) if isinstance(spec, str) else spec)
    array = batches[0]["tokens"]
    assert array.shape == (BATCH, LENGTH)
    assert array.dtype == np.uint16
    assert array.sharding.is_equivalent_to(wanted, 2)


def test_without_a_mesh_batches_are_on_the_default_device(windows: hr.Dataset) -> None:
    batches = list(Loader(windows, BATCH))
    same(batches, expected(windows))
    assert batches[0]["tokens"].devices() == {jax.devices()[0]}
    device = jax.devices()[-1]
    batch = next(iter(Loader(windows, BATCH, sharding=SingleDeviceSharding(device))))
    assert batch["tokens"].devices() == {device}


def test_a_sharding_is_as_good_as_mesh_and_spec(windows: hr.Dataset, mesh: Any) -> None:
    sharding = NamedSharding(mesh, P("data"))
    loader = Loader(windows, BATCH, sharding=sharding)
    assert loader.sharding == sharding
    same(list(loader), expected(windows))
    assert "mesh (data: 2, model: 2)" in loader.explain()
    assert "P('data',)" in repr(loader)


def test_fields_with_fewer_axes_take_the_first_of_the_spec(tmp_path: Path, mesh: Any) -> None:
    data = npz(tmp_path, x=np.arange(480.0, dtype=np.float32).reshape(60, 8), y=np.arange(60, dtype=np.int32))
    batch = next(iter(Loader(data, BATCH, mesh=mesh, spec=P("data", "model"))))
    assert {shard.data.shape for shard in batch["x"].addressable_shards} == {(6, 4)}
    assert {shard.data.shape for shard in batch["y"].addressable_shards} == {(6,)}
    same([batch], expected(data)[:1])


def test_jit_compiles_once(windows: hr.Dataset, mesh: Any) -> None:
    traced = []

    @jax.jit
    def total(tokens: Any) -> Any:
        traced.append(tokens.shape)
        return tokens.astype("int32").sum()

    sums = [int(total(batch["tokens"])) for batch in Loader(windows, BATCH, mesh=mesh, spec="data", num_epochs=2)]
    assert sums == [int(batch["tokens"].sum()) for batch in expected(windows, 2)]
    assert len(traced) == 1


# --- Arguments


def test_what_does_not_fit_is_refused_by_name(windows: hr.Dataset, mesh: Any) -> None:
    sharding = NamedSharding(mesh, P("data"))
    for words, text in (
        ({"mesh": mesh, "spec": "data", "sharding": sharding}, "sharding= and mesh= with spec= exclude each other"),
        ({"mesh": mesh}, r"spec must be a jax.sharding.PartitionSpec.*P\('data'\)"),
        ({"spec": P("data")}, "mesh must be a jax.sharding.Mesh"),
        ({"mesh": mesh, "spec": "date"}, "mesh and spec do not fit each other"),
        ({"sharding": "data"}, "sharding must be a jax.sharding.Sharding"),
        ({"tail": "pad", "drop_last": True}, "drop_last=True is tail"),
        ({"tail": "pda"}, "Did you mean 'pad'"),
        ({"ahead": -1}, "ahead must be at least 0"),
        ({"num_epochs": 0}, "num_epochs must be at least 1"),
        ({"width": 8}, "there are none"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=text):
            Loader(windows, BATCH, **words)
    with pytest.raises(hr.InvalidArgumentError, match=r"a batch of global shape \(13,\).*batch_size"):
        Loader(windows, 13, sharding=sharding)
    with pytest.raises(hr.InvalidArgumentError, match="no batch would be left"):
        Loader(windows, 1000)


def test_an_odd_window_cannot_be_divided(corpus: Path, mesh: Any) -> None:
    windows = hr.open_tokens(corpus, vocab_size=50_257).windows(LENGTH, lookahead=1)
    with pytest.raises(hr.InvalidArgumentError, match=r"'tokens' of global shape \(12, 17\).*cut inputs and targets"):
        Loader(windows, BATCH, mesh=mesh, spec=P("data", "model"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rank", "each process finds its rows"),
        ("global_batch_size", "Use batch_size=, which is global"),
        ("worker_count", "Use threads="),
        ("shard_options", "each process finds its rows"),
        ("device_buffer_size", "Use ahead="),
        ("device", "Use mesh= and spec="),
        ("epochs", "Use num_epochs="),
        ("shufle", "Did you mean 'shuffle'"),
    ],
)
def test_arguments_of_others_are_named(windows: hr.Dataset, name: str, text: str) -> None:
    with pytest.raises(hr.UnknownArgumentError, match=text):
        Loader(windows, BATCH, **{name: 1})


def test_each_argument_of_a_loader_is_one_or_has_a_hint() -> None:
    import inspect

    from headrace._support.argument_hints import JAX_KNOBS

    arguments = set(inspect.signature(Loader.__init__).parameters)
    names = [name for group in JAX_KNOBS.values() for name in group]
    assert len(names) == len(set(names))
    assert not arguments & set(names)
    assert set(inspect.signature(hr.Loader).parameters) <= arguments | set(names)


# --- Types and shapes


def test_types_are_those_that_jax_gives(tmp_path: Path) -> None:
    kinds = ("int64", "float64", "uint64", "float32", "int8", "uint16", "float16", "bool")
    data = npz(tmp_path, **{kind: np.arange(60).astype(kind) for kind in kinds})
    batch = next(iter(Loader(data, BATCH)))
    for kind in kinds:
        assert batch[kind].dtype == jax.device_put(np.zeros(1, kind)).dtype
        np.testing.assert_array_equal(np.asarray(batch[kind]), np.arange(BATCH).astype(kind))
    jax.config.update("jax_enable_x64", True)
    try:
        assert next(iter(Loader(data, BATCH)))["int64"].dtype == np.int64
    finally:
        jax.config.update("jax_enable_x64", False)


def test_a_number_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    numbers = np.arange(60)
    numbers[30] = 2**40
    batches = iter(Loader(npz(tmp_path, event=numbers), BATCH, ahead=1))
    assert [int(next(batches)["event"][0]) for _ in range(2)] == [0, 12]  # the third was read ahead
    with pytest.raises(hr.InvalidArgumentError, match="'event' has 1099511627776, which int32 does not hold"):
        next(batches)


def test_text_is_refused_by_name(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(24.0)
        file["name"] = np.array([b"ab"] * 24, "S2")
    with pytest.raises(hr.InvalidArgumentError, match=r"the field 'name' is of type \|S2.*T.Drop\('name'\)"):
        Loader(tmp_path / "a.h5", BATCH)


def test_ragged_fields_get_one_width(tmp_path: Path) -> None:
    data = ragged(tmp_path)
    with pytest.raises(hr.InvalidArgumentError, match=r"'x' is ragged.*Give width=.*T.Truncate"):
        Loader(data, BATCH)
    for batch, wanted in zip(Loader(data, 4, width=8, fill=-1), hr.Loader(data, 4, layout="padded"), strict=True):
        assert batch["x"].shape == batch["mask"].shape == (4, 8)
        longest = wanted["x"].shape[1]
        np.testing.assert_array_equal(batch["lengths"], wanted["lengths"])
        np.testing.assert_array_equal(np.asarray(batch["mask"])[:, :longest], wanted["mask"])
        assert not np.asarray(batch["mask"])[:, longest:].any()
        x = np.asarray(batch["x"])
        assert (x[~np.asarray(batch["mask"])] == -1).all()
        np.testing.assert_array_equal(x[np.asarray(batch["mask"])], wanted["x"][wanted["mask"]])


def test_a_sample_that_is_longer_than_the_width_is_an_error(tmp_path: Path) -> None:
    data = ragged(tmp_path)
    with pytest.raises(hr.InvalidArgumentError, match=r"has 7 rows, and width=5.*T.Truncate\(5\)"):
        list(Loader(data, BATCH, width=5))
    shapes = {batch["x"].shape for batch in Loader(data.map(T.Truncate(5)), BATCH, width=5)}
    assert shapes == {(BATCH, 5)}


def test_tails(windows: hr.Dataset, mesh: Any) -> None:
    rest = WINDOWS - STEPS * BATCH  # 10
    padded = list(Loader(windows, BATCH, mesh=mesh, spec="data", tail="pad"))
    assert {batch["tokens"].shape for batch in padded} == {(BATCH, LENGTH)}
    assert [float(batch["_weight"].sum()) for batch in padded] == [BATCH] * STEPS + [rest]
    partial = list(Loader(windows, BATCH, mesh=mesh, spec="data", drop_last=False))
    assert [len(batch["tokens"]) for batch in partial] == [BATCH] * STEPS + [rest]
    same(partial, expected(windows, drop_last=False))
    loader = Loader(windows, BATCH, mesh=mesh, spec=P(("data", "model")))
    state = loader.state_dict()
    with pytest.raises(hr.InvalidArgumentError, match=r"has 10 samples, which the devices do not divide.*_weight"):
        Loader(windows, BATCH, mesh=mesh, spec=P(("data", "model")), tail="partial")
    odd = Loader(windows, BATCH, mesh=mesh, spec="data", tail="partial")
    with pytest.raises(hr.InvalidArgumentError, match="has 5 samples, which the devices do not divide"):
        odd.load_state_dict({**state, "samples": WINDOWS - 17})


# --- Memory


@pytest.mark.parametrize("length", [1024, 33])  # rows of whole pages, and of odd ones, which jax copies
def test_arrays_keep_their_values(tmp_path: Path, length: int) -> None:
    """Nothing writes into the memory of an array that lives, though jax does not copy on CPU devices."""
    np.random.default_rng(1).integers(0, 50_257, 96 * length).astype(np.uint16).tofile(tmp_path / "a.bin")
    data = hr.open_tokens(tmp_path / "a.bin", vocab_size=50_257).windows(length)
    loader = Loader(data, 4, shuffle=True, num_epochs=2, memory="16MiB")
    kept = [(batch["tokens"], np.array(batch["tokens"])) for batch in loader]
    loader.close()
    assert len(kept) == 48
    for array, copy in kept:
        np.testing.assert_array_equal(np.asarray(array), copy)


def test_a_dense_field_with_the_name_of_a_mask_is_data(tmp_path: Path) -> None:
    """Only the masks that the loader makes are as wide as ``width``."""
    lengths = np.arange(50) % 4 + 1
    with h5py.File(tmp_path / "events.h5", "w") as file:
        file["key"] = np.repeat(np.arange(50), lengths)
        file["v"] = np.arange(lengths.sum(), dtype="f4")
        file["site"] = np.arange(350).reshape(50, 7) % 2 == 0
    data = hr.open(tmp_path / "events.h5", {"v": "v"}, sample_by="key", targets={"site.mask": "site"})
    for width in (5, 16):
        batch = next(iter(Loader(data, 10, width=width)))
        assert batch["mask"].shape == batch["v"].shape == (10, width)
        assert np.array_equal(batch["site.mask"], np.arange(70).reshape(10, 7) % 2 == 0)


@pytest.mark.parametrize("ahead", [0, 2])
def test_ctrl_c_while_a_batch_is_placed_loses_nothing(windows: hr.Dataset, ahead: int, monkeypatch) -> None:
    loader = Loader(windows, BATCH, ahead=ahead)
    batches, place, calls = iter(loader), loader._placed, []

    def placed(columns: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return place(columns)

    monkeypatch.setattr(loader, "_placed", placed)
    got = []
    while len(got) < STEPS:
        before = batches.get_state()
        try:
            got.append(next(batches))
        except KeyboardInterrupt:
            assert batches.get_state() == before and len(calls) == 3
    assert len(calls) == STEPS + 1
    same(got, expected(windows))


def test_a_batch_that_jax_cannot_have_is_passed_by(tmp_path: Path) -> None:
    np.save(tmp_path / "n.npy", np.array([1, 2, 2**40, 3, 4, 5]))
    batches = iter(Loader(tmp_path / "n.npy", 2, ahead=0))
    assert next(batches)["n"].tolist() == [1, 2]
    with pytest.raises(hr.InvalidArgumentError, match="1099511627776"):
        next(batches)
    assert next(batches)["n"].tolist() == [4, 5]
