"""States of headrace.jax's iterators: exact to the batch, and as Grain and Orbax ask for them."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jax_batches import BATCH, STEPS, WINDOWS, expected, ragged, same

import headrace as hr

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)  # before anything computes, as in test_jax.py
from headrace.jax import GrainSource, Loader  # noqa: E402


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


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_as_many_batches_as_asked_for_are_taken_ahead(windows: hr.Dataset, ahead: int) -> None:
    loader = Loader(windows, BATCH, ahead=ahead)
    batches = iter(loader)
    for number in (1, 2):
        next(batches)
        assert loader.state_dict()["samples"] == number * BATCH
        assert loader.loader.state_dict()["samples"] == (number + ahead) * BATCH


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

    loader = Loader(windows, BATCH, shuffle=True, num_epochs=2)
    batches = iter(loader)
    loader.set_epoch(3)  # named before the first batch is taken
    assert batches.get_state()["epoch"] == 3
    same(list(batches), wanted[3 * STEPS : 4 * STEPS])

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


def test_orbax_saves_and_restores_by_its_own_protocol(windows: hr.Dataset, tmp_path: Path) -> None:
    checkpoint = pytest.importorskip("orbax.checkpoint.experimental.v1", reason="orbax is not installed")
    batches = iter(Loader(windows, BATCH, shuffle=True, ahead=2))
    next(batches)
    checkpoint.save_checkpointables(tmp_path / "checkpoint", {"loader": batches})
    again = iter(Loader(windows, BATCH, shuffle=True))
    checkpoint.load_checkpointables(tmp_path / "checkpoint", {"loader": again})
    same(list(again), expected(windows, shuffle=True)[1:])


def test_what_is_read_ahead_before_the_first_batch_does_not_count(windows: hr.Dataset) -> None:
    loader = Loader(windows, BATCH, shuffle=True, num_epochs=2, ahead=2)
    batches = iter(loader)
    before = batches.get_state()
    batches.start_prefetch()
    assert batches.get_state() == before == loader.state_dict()
    batches.set_state(before)
    same(list(batches), expected(windows, 2, shuffle=True))


@pytest.mark.parametrize("ahead", [0, 2])
def test_a_state_behind_the_last_epoch_has_none_left(windows: hr.Dataset, ahead: int) -> None:
    """A job that is started again after its last checkpoint trains no more; one with more epochs does."""

    def loader(epochs: int | None) -> Loader:
        return Loader(windows, BATCH, shuffle=True, num_epochs=epochs, ahead=ahead)

    batches = iter(loader(3))
    for _ in range(3 * STEPS):
        next(batches)
    for state in (batches.get_state(), json.loads(batches.get_state().decode())):
        again = loader(3)
        again.load_state_dict(state)
        assert again.state_dict() == state
        assert list(again) == []
        same([next(iter(again))], expected(windows, 4, shuffle=True)[3 * STEPS : 3 * STEPS + 1])  # asked for once more
        live = iter(loader(3))
        live.set_state(state)
        assert next(live, None) is None
        more = loader(4)
        more.load_state_dict(state)
        same(list(more), expected(windows, 4, shuffle=True)[3 * STEPS :])
        one = loader(1)
        one.load_state_dict(state)
        same(list(one), expected(windows, 4, shuffle=True)[3 * STEPS :])
    for epoch in range(3):  # a loop over epochs of the program's own
        one = loader(1)
        if epoch > 0:
            one.load_state_dict(state)
        same(list(one), expected(windows, 3, shuffle=True)[epoch * STEPS : (epoch + 1) * STEPS])
        state = one.state_dict()
        assert "finished_epochs" not in state
    endless = iter(loader(None))
    endless.set_state(batches.get_state())
    same([next(endless)], expected(windows, 4, shuffle=True)[3 * STEPS : 3 * STEPS + 1])
    plain = hr.Loader(windows, BATCH, shuffle=True, drop_last=True)
    plain.load_state_dict(batches.get_state())
    assert plain.state_dict()["epoch"] == 3
