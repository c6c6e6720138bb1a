"""GroupReducer against a plain loop over groups."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr
from headrace import _headrace

ALL = ("vote", "mean", "max", "any_above", "topk_mean")


def loop(rows: np.ndarray, *, k: int, threshold: float) -> dict[str, Any]:
    """Reduce the rows of one group in plain Python."""
    votes = [0] * rows.shape[1]
    for row in rows.tolist():
        votes[row.index(max(row))] += 1
    columns = list(zip(*rows.tolist(), strict=True))
    return {
        "count": len(rows),
        "vote": votes.index(max(votes)),
        "mean": [sum(column) / len(column) for column in columns],
        "max": [max(column) for column in columns],
        "any_above": [any(value > threshold for value in column) for column in columns],
        "topk_mean": [sum(sorted(column)[-k:]) / len(column[-k:]) for column in columns],
    }


def assert_equal(got: dict[str, Any], want: list[dict[str, Any]]) -> None:
    for g, one in enumerate(want):
        for name, value in one.items():
            if name in ("mean", "topk_mean"):
                assert np.allclose(got[name][g], value, rtol=0, atol=1e-6)
            else:
                assert np.array_equal(got[name][g], value), (g, name)


def make(groups: int, classes: int, seed: int, most: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of groups and logits, in groups of 1 to ``most`` rows, with ties."""
    random = np.random.default_rng(seed)
    ids = np.repeat(np.arange(groups), random.integers(1, most, groups))
    return ids, random.integers(-8, 8, (len(ids), classes)).astype(np.float32) / 4


def add_in_parts(reducer: hr.GroupReducer, ids: Any, values: Any, seed: int) -> None:
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(ids) + 1, 9))
    for begin, end in zip([0, *cuts], [*cuts, len(ids)], strict=True):
        reducer.add(ids[begin:end], values[begin:end])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [np.float32, np.float64, "torch", "bfloat16"])
def test_batches_in_any_cut_and_order_equal_the_loop(seed: int, kind: Any) -> None:
    ids, values = make(30, 5, seed)
    want = [loop(values[ids == g], k=3, threshold=1.0) for g in range(30)]
    order = np.random.default_rng(seed).permutation(len(ids)) if seed else np.arange(len(ids))
    given: Any = values[order]
    if isinstance(kind, str):
        torch = pytest.importorskip("torch")
        given = torch.from_numpy(given).to(torch.bfloat16 if kind == "bfloat16" else torch.float32)
    else:
        given = given.astype(kind)
    reducer = hr.GroupReducer(31, reduce=ALL, k=3, threshold=1.0)  # the last has no rows
    add_in_parts(reducer, ids[order], given, seed)
    got = {name: np.asarray(value) for name, value in reducer.result()["file"].items()}
    assert_equal(got, want)
    assert got["count"][30] == 0
    assert got["vote"][30] == -1
    assert not any(got["any_above"][30])
    assert all(np.isnan(got[name][30]).all() for name in ("mean", "max", "topk_mean"))
    again = hr.GroupReducer(31, reduce=ALL, k=3, threshold=1.0)
    add_in_parts(again, ids[order], given, seed)
    for name, value in again.result()["file"].items():
        assert np.asarray(value).tobytes() == got[name].tobytes()  # bit for bit


def test_levels_reduce_the_results_of_the_level_below() -> None:
    files, longs, shorts = 4, 3, 5
    random = np.random.default_rng(3)
    ids = np.stack(np.unravel_index(np.repeat(np.arange(files * longs * shorts), 2), (files, longs, shorts)), 1)
    keep = random.random(len(ids)) < 0.8
    ids = ids[keep]
    values = random.integers(-8, 8, (len(ids), 3)) / 4
    sizes = {"file": files, "long": longs, "short": shorts}
    reducer = hr.GroupReducer(nested=["short", "long", "file"], sizes=sizes, reduce=ALL, k=2, threshold=1.5)
    order = random.permutation(len(ids))
    add_in_parts(reducer, ids[order], values[order], 1)
    got = reducer.result()
    assert list(got) == ["short", "long", "file"]

    def level(parts: list[dict[str, Any]]) -> dict[str, Any]:
        """Reduce what the groups below say."""
        held = [part for part in parts if part]
        votes = [sum(part["vote"] == c for part in held) for c in range(3)]
        tops = np.sort(np.array([part["topk_mean"] for part in held]), 0)[-2:]
        return {
            "count": len(held),
            "vote": votes.index(max(votes)),
            "mean": np.mean([part["mean"] for part in held], 0),
            "max": np.max([part["max"] for part in held], 0),
            "any_above": np.any([part["any_above"] for part in held], 0),
            "topk_mean": tops.mean(0),
        }

    def rows_of(f: int, u: int, s: int) -> np.ndarray:
        return values[(ids == (f, u, s)).all(1)]

    want_file = []
    for f in range(files):
        want_long = []
        for u in range(longs):
            parts = [loop(rows_of(f, u, s), k=2, threshold=1.5) if len(rows_of(f, u, s)) else {} for s in range(shorts)]
            for s, part in enumerate(parts):
                at = (f * longs + u) * shorts + s
                if part:
                    assert_equal({name: found[at : at + 1] for name, found in got["short"].items()}, [part])
                else:
                    assert got["short"]["count"][at] == 0
            want_long.append(level(parts))
        assert_equal({name: found[f * longs : (f + 1) * longs] for name, found in got["long"].items()}, want_long)
        want_file.append(level(want_long))
    assert_equal(got["file"], want_file)


@pytest.mark.parametrize("where", ["numpy", "torch", "device"])
def test_ids_of_a_narrow_type_are_not_cut(where: str) -> None:
    """503 and 1001 are above what uint8 holds."""
    reducer = hr.GroupReducer(reduce="vote", nested=["long", "file"], sizes={"file": 11, "long": 100}, num_classes=2)
    ids: Any = np.array([[5, 3], [10, 1]], np.uint8)
    if where == "numpy":
        reducer.add(ids, np.array([1, 1]))
        assert np.flatnonzero(reducer.result()["long"]["count"]).tolist() == [503, 1001]
        return
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if where == "torch":
        reducer.add(torch.from_numpy(ids), torch.tensor([1, 1]))
        assert np.flatnonzero(reducer.result()["long"]["count"]).tolist() == [503, 1001]
    else:  # tensors that nothing waits for, as those of a device
        flat = reducer._flat_ids(torch.from_numpy(ids).to("meta"))
        assert flat.dtype == torch.int64


def test_rows_of_one_value_and_rows_that_are_votes() -> None:
    ids = np.array([0, 0, 0, 1, 1, 2])
    scores = np.array([0.9, 0.2, 0.8, 0.1, 0.7, 0.3])
    reducer = hr.GroupReducer(3, reduce=ALL, k=2)
    reducer.add(ids, scores)
    got = reducer.result()["file"]
    assert got["vote"].tolist() == [1, 0, 0]  # of equally many votes the first class
    assert np.allclose(got["mean"], [1.9 / 3, 0.4, 0.3])
    assert got["max"].tolist() == [0.9, 0.7, 0.3]
    assert got["any_above"].tolist() == [True, True, False]
    assert np.allclose(got["topk_mean"], [0.85, 0.4, 0.3])
    votes = hr.GroupReducer(3, reduce="vote", num_classes=4)
    votes.add(ids, np.array([3, 1, 3, 2, 1, 0]))
    assert votes.result()["file"]["vote"].tolist() == [3, 1, 0]
    votes.reset()
    with pytest.raises(hr.InvalidArgumentError, match="nothing was added"):
        votes.result()


def test_nan_is_the_largest() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [5.0, 2.0]])
    reducer = hr.GroupReducer(1, reduce=["vote", "max", "topk_mean"], k=1)
    for order in ([0, 1, 2], [2, 1, 0]):
        reducer.reset()
        reducer.add([0, 0, 0], values[order])
        got = reducer.result()["file"]
        assert np.isnan(got["max"]).all()
        assert np.isnan(got["topk_mean"]).all()
        assert got["vote"].tolist() == [0]  # rows vote 1, 0 and 0


def test_device_totals_equal_those_of_the_cpu() -> None:
    """The operations that run on a device, run here on the CPU."""
    torch = pytest.importorskip("torch")
    from headrace._groups.totals import DeviceTotals, Totals

    for classes, binary in ((5, False), (1, True)):
        ids, values = make(20, classes, 7)
        words = {"classes": classes, "of_labels": False, "binary": binary, "as_torch": False, "device": "cpu"}
        device, cpu = (made(21, ALL, 4, 1.0, words) for made in (DeviceTotals, Totals))
        for begin in range(0, len(ids), 37):
            part = slice(begin, begin + 37)
            rows = values[part, 0] if binary else values[part]
            device.add(torch.from_numpy(ids[part]), torch.from_numpy(rows))
            cpu.add(ids[part], rows)
        for name, array in device.on_cpu().arrays.items():
            assert np.allclose(array, cpu.arrays[name], rtol=0, atol=1e-9), name
            if name != "sum":
                assert np.array_equal(array, cpu.arrays[name])
        device.add(torch.tensor([0, 21, -2]), torch.zeros(3) if binary else torch.zeros(3, classes))
        with pytest.raises(hr.InvalidArgumentError, match="2 rows were of groups that are not there"):
            device.on_cpu()


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_groups_and_votes_are_copied_before_they_are_checked(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may write into the arrays while C++ adds rows without the GIL: into memory that is not theirs."""
    ids, votes = np.array([0, 1, 1, 2], dtype), np.array([1, 0, 1, 0], dtype)

    def after_overwriting(add: Any) -> Any:
        def call(*args: Any) -> None:
            ids.fill(0)
            votes.fill(0)
            add(*args)

        return call

    for name in ("add_rows_float32", "add_votes"):
        monkeypatch.setattr(_headrace, name, after_overwriting(getattr(_headrace, name)))
    reducer = hr.GroupReducer(3, reduce="mean")
    reducer.add(ids, np.ones((4, 2), np.float32))
    assert reducer.result()["file"]["count"].tolist() == [1, 2, 1]
    ids[:], votes[:] = [0, 1, 1, 2], [1, 0, 1, 0]
    reducer = hr.GroupReducer(3, reduce="vote", num_classes=2)
    reducer.add(ids, votes)
    assert reducer.result()["file"]["count"].tolist() == [1, 2, 1]
    assert reducer.result()["file"]["vote"].tolist() == [1, 0, 0]


def test_sums_are_doubles_also_of_a_device_without_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPS, played by the CPU: nothing on it is double, and what results is."""
    torch = pytest.importorskip("torch")
    from headrace._groups import totals as module

    assert [module.real_type(name) for name in ("mps", "mps:0", "cuda:1")] == [torch.float32] * 2 + [torch.float64]
    monkeypatch.setattr(module, "real_type", lambda _device: torch.float32)
    words = {"classes": 3, "of_labels": False, "binary": False, "as_torch": False, "device": "cpu"}
    ids, values = make(20, 3, 7)
    device, cpu = (made(20, ALL, 4, 1.0, words) for made in (module.DeviceTotals, module.Totals))
    device.add(torch.from_numpy(ids), torch.from_numpy(values))
    cpu.add(ids, values)
    assert torch.float64 not in {tensor.dtype for tensor in device.arrays.values()}
    for name, array in device.on_cpu().arrays.items():
        assert array.dtype == cpu.arrays[name].dtype
        assert np.allclose(array, cpu.arrays[name], rtol=0, atol=1e-4), name


RANKS = """
import sys, numpy as np, torch.distributed as dist
import headrace as hr
rank, world, store = int(sys.argv[1]), 2, sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=world)
random = np.random.default_rng(2)
ids = np.repeat(np.arange(17), random.integers(1, 30, 17))
values = random.integers(-8, 8, (len(ids), 4)).astype(np.float32) / 4
mine = np.arange(len(ids)) // 7 % world == rank  # groups span batches and ranks
ALL = ("vote", "mean", "max", "any_above", "topk_mean")
one, both, lone = (hr.GroupReducer(17, reduce=ALL, k=3) for _ in range(3))
for begin in range(0, len(ids), 21):
    part = np.arange(begin, min(begin + 21, len(ids)))
    one.add(ids[part], values[part])
    both.add(ids[part][mine[part]], values[part][mine[part]])
want = one.result(all_ranks=False)["file"]
for got in (both.result()["file"], both.result(all_ranks=True)["file"]):
    for name in want:
        assert np.allclose(want[name], got[name], rtol=0, atol=1e-12, equal_nan=True), name
if rank == 0:
    lone.add(ids, values)
for name, found in lone.result()["file"].items():  # a rank that was given nothing has the same result
    assert np.array_equal(found, want[name]) or name in ("mean", "topk_mean"), name
unlike = [hr.GroupReducer(17, reduce=["vote"] if rank else ["max"])]
unlike.append(hr.GroupReducer(17, reduce=["any_above"], threshold=0.25 + rank))
for other in unlike:
    other.add(ids, values)
    try:
        other.result()
        raise SystemExit("ranks that reduce other things were added up")
    except hr.InvalidArgumentError as error:
        assert "same reducer" in str(error.hint), error
# Totals on a device say only in result() what was wrong, on one rank: no rank may wait for it, and all raise.
import torch
from headrace._groups.totals import DeviceTotals
words = {"classes": 4, "of_labels": False, "binary": False, "as_torch": True, "device": "cpu"}
class Broken(DeviceTotals):
    def checked(self):
        raise RuntimeError("the device is gone")
for bad_ranks, kind, text in (
    ({1}, DeviceTotals, "rank 1: 1 rows were of groups that are not there; there are 0 to 16"),
    ({0}, DeviceTotals, "rank 0: 1 rows were of groups"),
    ({0, 1}, DeviceTotals, "there are 0 to 16 (ranks with errors: 0, 1)"),
    ({1}, Broken, "rank 1: RuntimeError: the device is gone"),
):
    reducer = hr.GroupReducer(17, reduce="mean")
    bad = rank in bad_ranks
    reducer._totals = (kind if bad else DeviceTotals)(17, ("mean",), 5, 0.5, words)
    reducer._totals.add(torch.tensor([0, 1, 99 if bad else 2]), torch.rand(3, 4))
    try:
        reducer.result()
        raise SystemExit("rows of a group that is not there were added up")
    except hr.InvalidArgumentError as error:
        assert text in str(error), error
        assert (error.__cause__ is not None) == bad
    reducer.reset()
    reducer.add(ids, values)
    assert reducer.result()["file"]["count"].sum() == 2 * len(ids)  # ranks are still in step
try:
    hr.GroupReducer(3).result()
    raise SystemExit("nothing was reduced")
except hr.InvalidArgumentError as error:
    assert "nothing was added" in str(error)
dist.barrier()
dist.destroy_process_group()  # gloo's threads do not outlive the interpreter
print("done")
"""


def test_totals_are_added_up_over_ranks(tmp_path: Path) -> None:
    pytest.importorskip("torch.distributed")
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    runs = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    for run in runs:
        output, _ = run.communicate(timeout=240)
        assert run.returncode == 0, output
        assert "done" in output


def test_a_loaders_batches_are_added(jets) -> None:
    data = jets.open()
    numbers = [info.rows for info in data.files]
    loader = hr.Loader(data, group_by="file", max_items=100)
    reducer = hr.GroupReducer(loader, reduce=["vote", "mean", "max"])
    assert reducer.num_groups == len(numbers)
    for batch in loader:
        reducer.add(batch, batch["x"][:, 0])
    got = reducer.result()["file"]
    assert got["count"].tolist() == numbers
    ends = np.cumsum(numbers)
    want = [
        loop(jets.x[end - rows : end, 0], k=1, threshold=0) for rows, end in zip(numbers, ends, strict=True) if rows
    ]
    for each in want:
        del each["any_above"], each["topk_mean"]
    assert_equal({name: value[np.array(numbers) > 0] for name, value in got.items()}, want)
    with pytest.raises(hr.InvalidArgumentError, match="not of whole groups"):
        hr.GroupReducer(hr.Loader(data, 5))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"reduce": "votes"}, "no 'votes'"),
        ({"reduce": []}, "list of names"),
        ({"reduce": ["max", "max"]}, "twice"),
        ({"nested": ["long", "file"]}, "size of level 'long'"),
        ({"groups": None}, "size of level 'file'"),
        ({"sizes": {"long": 3}}, "no level"),
        ({"sizes": {"file": 4}}, "3 groups, and sizes says 4"),
        ({"groups": 0}, "groups"),
        ({"groups": 2**41}, "2\\^40"),
        ({"k": 0}, "k"),
        ({"threshold": "high"}, "threshold"),
        ({"ids": 5}, "ids"),
    ],
)
def test_contradictions_are_refused(words: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.GroupReducer(words.pop("groups", 3), **words)


@pytest.mark.parametrize(
    ("groups", "values", "text"),
    [
        ([0, 3], np.zeros((2, 2)), "row 1 of the batch is of group 3; there are groups 0 to 2"),
        ([0, -2], np.zeros((2, 2)), "group -2"),
        ([0], np.zeros((2, 2)), "2 values for 1 rows"),
        ([0.5], np.zeros((1, 2)), "whole numbers"),
        ([[0, 1]], np.zeros((1, 2)), "shape"),
        ([0], np.zeros((1, 2, 2)), "3 dimensions"),
        ([0], np.zeros((1, 3)), "follow rows"),
        ([0], np.zeros(1), "follow rows"),
        ([0], np.array([1]), "whole numbers"),
        ({"x": 1}, np.zeros((1, 2)), "no field _group"),
    ],
)
def test_rows_that_do_not_fit_change_nothing(groups: Any, values: Any, text: str) -> None:
    reducer = hr.GroupReducer(3, reduce=["vote", "max"])
    reducer.add([1, 2], np.ones((2, 2)))
    before = {name: value.tobytes() for name, value in reducer.result()["file"].items()}
    with pytest.raises(hr.InvalidArgumentError, match=text):
        reducer.add(groups, values)
    assert {name: value.tobytes() for name, value in reducer.result()["file"].items()} == before
