"""headrace.jax: global arrays that hold what hr.Loader delivers, with JAX's types, fixed shapes and Grain's states."""

from __future__ import annotations

import itertools
import json
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_num_cpu_devices", 4)  # before anything computes
from jax.sharding import NamedSharding, SingleDeviceSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

from headrace.jax import GrainSource, Loader, load_text_dataset, load_text_dataset_tf_fallback  # noqa: E402

LENGTH, WINDOWS, BATCH = 16, 106, 12
STEPS = WINDOWS // BATCH


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.bin"
    np.random.default_rng(0).integers(0, 50_257, WINDOWS * LENGTH + 1).astype(np.uint16).tofile(path)
    return path


@pytest.fixture
def windows(corpus: Path) -> hr.Dataset:
    return hr.open_tokens(corpus, vocab_size=50_257).windows(LENGTH)


@pytest.fixture(scope="module")
def mesh() -> Any:
    if jax.device_count() < 4:
        pytest.skip("jax has begun with fewer than 4 devices")
    return jax.make_mesh((2, 2), ("data", "model"))


def npz(folder: Path, **arrays: Any) -> hr.Dataset:
    np.savez(folder / "arrays.npz", **arrays)
    return hr.open(folder / "arrays.npz")


def expected(dataset: hr.Dataset, epochs: int = 1, **words: Any) -> list[dict[str, np.ndarray]]:
    loader = hr.Loader(dataset, BATCH, **{"drop_last": True, **words})
    return [batch for _ in range(epochs) for batch in loader]


def same(found: list[dict[str, Any]], wanted: list[dict[str, np.ndarray]]) -> None:
    assert [list(batch) for batch in found] == [list(batch) for batch in wanted]
    for one, other in zip(found, wanted, strict=True):
        for name in other:
            np.testing.assert_array_equal(np.asarray(one[name]), other[name])


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
        ({"mesh": mesh, "spec": "data", "sharding": sharding}, "sharding says the same as mesh and spec"),
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

    from headrace._support.knobs import JAX_KNOBS

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
    with jax.enable_x64(True):
        assert next(iter(Loader(data, BATCH)))["int64"].dtype == np.int64


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


def ragged(folder: Path) -> hr.Dataset:
    lengths = np.arange(60) % 7 + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    np.savez(folder / "r.npz", x=np.arange(offsets[-1], dtype=np.float32), at=offsets)
    return hr.open(folder / "r.npz", fields=["x"], sample_by=hr.Spans(offsets="at"))


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


# --- States


def test_the_state_is_that_of_what_was_delivered(windows: hr.Dataset) -> None:
    wanted = expected(windows, 2, shuffle=True)
    batches = iter(Loader(windows, BATCH, shuffle=True, num_epochs=2, ahead=3))
    for number in range(2 * STEPS):
        state = json.loads(json.dumps(batches.get_state()))
        assert (state["epoch"], state["samples"]) == (number // STEPS, number % STEPS * BATCH)
        other = iter(Loader(windows, BATCH, shuffle=True, num_epochs=2, ahead=number % 3))
        other.set_state(state)
        same([next(other)], [wanted[number]])
        same([next(batches)], [wanted[number]])
    assert next(batches, None) is None
    assert len(json.dumps(batches.get_state())) < 200


def test_a_live_iterator_goes_where_it_is_told(windows: hr.Dataset) -> None:
    wanted = expected(windows, shuffle=True)
    batches = iter(Loader(windows, BATCH, shuffle=True, ahead=2))
    states = []
    for _ in range(4):
        states.append(batches.get_state())
        next(batches)
    for form in (dict, json.dumps, lambda state: state.decode().encode()):
        batches.set_state(form(states[2]))
        same(list(batches), wanted[2:])
    with pytest.raises(hr.InvalidArgumentError, match="a state is the dict"):
        batches.set_state(7)
    with pytest.raises(hr.InvalidArgumentError, match="this is not JSON"):
        batches.set_state("{")
    with pytest.raises(hr.InvalidArgumentError, match="the seed is 1 in the state"):
        batches.set_state({**states[2], "seed": 1})


def test_states_are_those_of_a_loader(windows: hr.Dataset) -> None:
    loader = Loader(windows, BATCH, shuffle=True, ahead=2)
    for _ in itertools.islice(loader, 3):
        pass
    plain = hr.Loader(windows, BATCH, shuffle=True, drop_last=True)
    plain.load_state_dict(loader.state_dict())
    rest = expected(windows, shuffle=True)[3:]
    same(list(plain), rest)
    again = Loader(windows, BATCH, shuffle=True)
    again.load_state_dict(loader.state_dict())
    assert again.state_dict()["samples"] == 3 * BATCH
    same(list(again), rest)


def test_another_batch_size_goes_on(windows: hr.Dataset) -> None:
    batches = iter(Loader(windows, BATCH, shuffle=True, ahead=1))
    first = [np.asarray(next(batches)["tokens"]) for _ in range(3)]
    others = iter(Loader(windows, 7, shuffle=True))
    others.set_state(batches.get_state())
    second = [np.asarray(batch["tokens"]) for batch in others]
    whole = np.concatenate([b["tokens"] for b in hr.Loader(windows, BATCH, shuffle=True)])
    np.testing.assert_array_equal(np.concatenate(first + second), whole[: 36 + 70])


def test_epochs(windows: hr.Dataset) -> None:
    wanted = expected(windows, 5, shuffle=True)
    loader = Loader(windows, BATCH, shuffle=True)
    for batch in loader:
        same([batch], wanted[:1])
        break
    assert loader.state_dict()["samples"] == BATCH
    same(list(loader), wanted[STEPS : 2 * STEPS])  # the next epoch, also after a break
    loader.set_epoch(4)
    assert loader.state_dict()["epoch"] == 4
    same(list(loader), wanted[4 * STEPS :])
    same([loader.batch(1, 2)], wanted[STEPS + 2 : STEPS + 3])

    endless = Loader(windows, BATCH, shuffle=True, num_epochs=None)
    same(list(itertools.islice(endless, 2 * STEPS + 3)), wanted[: 2 * STEPS + 3])
    with pytest.raises(hr.InvalidArgumentError, match="steps_per_epoch"):
        len(endless)
    assert endless.steps_per_epoch == STEPS

    three = Loader(windows, BATCH, shuffle=True, num_epochs=3)
    assert len(three) == 3 * STEPS
    batches = iter(three)
    batches.set_state({**three.state_dict(), "epoch": 1, "samples": 5 * BATCH})
    same(list(batches), wanted[STEPS + 5 : 3 * STEPS])  # to the end of the three


def test_one_iterator_lives(windows: hr.Dataset) -> None:
    loader = Loader(windows, BATCH)
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(hr.ClosedError, match="a newer iterator"):
        next(first)
    second.start_prefetch()
    next(second)
    second.close()
    second.close()
    with pytest.raises(hr.ClosedError, match="closed"):
        next(second)
    with loader:
        assert "batch" in str(loader.report())
    assert loader.closed


def test_an_error_of_a_batch_ahead_comes_in_its_turn(windows: hr.Dataset) -> None:
    calls = itertools.count()

    def third_fails(columns: dict[str, Any]) -> dict[str, Any]:
        if next(calls) == 2:
            raise KeyError("third")
        return columns

    batches = iter(Loader(windows.map(third_fails), BATCH, ahead=4))
    for _ in range(2):
        next(batches)
    assert batches.get_state()["samples"] == 2 * BATCH
    with pytest.raises(KeyError, match="third"):
        next(batches)


# --- Grain and Orbax


def test_a_source_for_grain(windows: hr.Dataset, tmp_path: Path) -> None:
    source = pickle.loads(pickle.dumps(GrainSource(windows)))
    assert len(source) == WINDOWS
    np.testing.assert_array_equal(source[np.int64(5)]["tokens"], windows[5]["tokens"])
    for some in (source.__getitems__([3, 1]), source._getitems([3, 1])):
        np.testing.assert_array_equal([row["tokens"] for row in some], windows[[3, 1]]["tokens"])
    assert [len(row["x"]) for row in GrainSource(ragged(tmp_path)).__getitems__([0, 6])] == [1, 7]
    grain = pytest.importorskip("grain", reason="grain is not installed")
    batches = grain.MapDataset.source(source).batch(BATCH, drop_remainder=True)
    same([batches[number] for number in range(STEPS)], expected(windows))


def test_grains_checkpoint_handler_saves_and_restores(windows: hr.Dataset, tmp_path: Path) -> None:
    pytest.importorskip("grain", reason="grain is not installed")
    from grain.checkpoint import CheckpointHandler

    handler, wanted = CheckpointHandler(), expected(windows, shuffle=True)
    batches = iter(Loader(windows, BATCH, shuffle=True, ahead=2))
    same([next(batches) for _ in range(3)], wanted[:3])
    handler.save(tmp_path, item=batches)
    assert json.loads((tmp_path / "process_0-of-1.json").read_text())["samples"] == 3 * BATCH
    again = handler.restore(tmp_path, item=iter(Loader(windows, BATCH, shuffle=True)))
    same(list(again), wanted[3:])


def test_the_protocol_of_orbax(windows: hr.Dataset, tmp_path: Path) -> None:
    """Coroutines that Orbax awaits in the background; what is delivered meanwhile is not in the checkpoint."""
    import asyncio

    class Created:
        async def await_creation(self) -> Path:
            return tmp_path

    async def save(batches: Any) -> None:
        writing = await batches.save(Created())
        next(batches)
        await writing

    async def load(batches: Any) -> None:
        await (await batches.load(tmp_path))

    batches = iter(Loader(windows, BATCH, shuffle=True))
    next(batches)
    asyncio.run(save(batches))
    again = iter(Loader(windows, BATCH, shuffle=True))
    asyncio.run(load(again))
    same(list(again), expected(windows, shuffle=True)[1:])
    (tmp_path / "headrace_loader.json").rename(tmp_path / "process_0-of-4.json")  # as Grain's handler names it
    asyncio.run(load(again))
    same([next(again)], expected(windows, shuffle=True)[1:2])


def test_orbax_saves_and_restores(windows: hr.Dataset, tmp_path: Path) -> None:
    checkpoint = pytest.importorskip("orbax.checkpoint", reason="orbax is not installed")
    grain = pytest.importorskip("grain.checkpoint", reason="grain is not installed")
    batches = iter(Loader(windows, BATCH, shuffle=True))
    next(batches)
    with checkpoint.CheckpointManager(tmp_path) as manager:
        manager.save(1, args=checkpoint.args.Composite(loader=grain.CheckpointSave(batches)))
        manager.wait_until_finished()
        again = iter(Loader(windows, BATCH, shuffle=True))
        manager.restore(1, args=checkpoint.args.Composite(loader=grain.CheckpointRestore(again)))
    same(list(again), expected(windows, shuffle=True)[1:])


# --- load_text_dataset


def test_a_program_for_grain_keeps_its_settings(corpus: Path) -> None:
    settings = {"path": str(corpus), "batch_size": 8, "tokenizer_name": "gpt2", "worker_count": 4, "cache_size": 50_000}
    settings |= {"worker_buffer_size": 100, "prefetch_buffer_size": 50}
    model = SimpleNamespace(block_size=LENGTH, vocab_size=50_257, layers=4)
    for load in (load_text_dataset, load_text_dataset_tf_fallback):
        loader = load(settings, model, {"seed": 7, "learning_rate": 1e-3}, "gpt2", 0)
        batch = next(iter(loader))
        assert {name: (array.shape, array.dtype.name) for name, array in batch.items()} == {
            "input": ((8, LENGTH), "int32"),
            "target": ((8, LENGTH), "int32"),
        }
        np.testing.assert_array_equal(batch["input"][:, 1:], batch["target"][:, :-1])
        for name in (*settings, "seed", "block_size", "vocab_size", "pad_token_id"):
            assert f"\n  {name} " in str(loader)
        assert loader.loader.seed == 7
        assert len(loader) == WINDOWS // 8


def test_settings_that_are_wrong_are_named(corpus: Path, tmp_path: Path) -> None:
    good: dict[str, Any] = {"data_path": corpus, "batch_size": 8, "vocab_size": 50_257}
    model = {"maxlen": LENGTH}
    with pytest.raises(hr.UnknownArgumentError, match="no setting 'batchsize' in d_config. Did you mean 'batch_size'"):
        load_text_dataset({**good, "batchsize": 9}, model, {}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match="the sequence length is missing.*maxlen"):
        load_text_dataset(good, {}, {}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match="maxlen=16 and seq_len=8 contradict"):
        load_text_dataset(good, model, {"seq_len": 8}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match="the path of the data is missing"):
        load_text_dataset({"batch_size": 8}, model, {}, "gpt2", 0)
    with pytest.raises(hr.UnsupportedError, match="stories.txt is text, and the tokenizer is not there yet"):
        load_text_dataset({**good, "data_path": tmp_path / "stories.txt"}, model, {}, "gpt2", 0)
    with hr.tokens.Writer(tmp_path / "own", vocab_size=50_257, tokenizer="gpt2") as writer:
        writer.write(np.arange(300))
    own = {"path": tmp_path / "own", "batch_size": 8}
    assert "what the files say" in str(load_text_dataset(own, model, None, "gpt2", 0))
    with pytest.raises(hr.InvalidArgumentError, match="tokenised by 'gpt2', and tokenizer_name is 'llama'"):
        load_text_dataset(own, model, None, "llama", 0)


def test_headrace_does_not_import_jax() -> None:
    code = "import sys, headrace; sys.exit('jax' in sys.modules or 'grain' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
