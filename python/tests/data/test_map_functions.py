"""Python functions in Dataset.map()."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref

import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T


def double(columns):
    return {**columns, "x": columns["x"] * 2}


def sums(columns):
    return {"sum": columns["x"].sum(axis=(1, 2)), "y": columns["y"]}


@pytest.fixture
def data(jets):
    return hr.open(jets.glob, fields={"x": "feature_matrix", "y": "labels"})


def test_functions_run_after_transforms(jets, data) -> None:
    mapped = data.map(T.Affine("x", 3.0), double, sums)
    want = (jets.x * np.float32(3) * 2).sum(axis=(1, 2))
    assert np.array_equal(mapped[5:9]["sum"], want[5:9])
    assert mapped[7]["sum"] == want[7]
    assert np.array_equal([sample["sum"] for sample in mapped], want)
    assert np.array_equal(mapped.select([3, 600])[:]["sum"], want[[3, 600]])
    assert np.array_equal(pickle.loads(pickle.dumps(mapped))[[2, 1]]["sum"], want[[2, 1]])
    with hr.Loader(mapped, batch_size=50, shuffle=True, provenance=False) as loader:
        for _ in range(2):
            batches = list(loader)
            assert [list(batch) for batch in batches] == [["sum", "y"]] * len(loader)
            for batch in batches:
                assert np.array_equal(batch["sum"], want[batch["y"]])
        assert np.array_equal(loader.batch(1, 2)["sum"], batches[2]["sum"])
        stages = loader.report().to_dict()["stages"]
        assert stages["python"]["count"] == 2 * len(loader)
        assert stages["python"]["seconds"] > 0
        assert "python" in str(loader.report())


def test_tuples_tensors_and_lookahead(jets, data) -> None:
    mapped = data.map(double)
    with hr.Loader(mapped, batch_size=100, batch_format="tuple") as loader:
        for x, y in loader:
            assert np.array_equal(x, jets.x[y] * 2)
        assert len(loader.batch(0, 0)) == 2
    with hr.Loader(mapped, sampler=list(range(200)), lookahead=1, batch_size=100) as loader:
        assert np.array_equal(np.concatenate([batch["x"] for batch in loader]), jets.x[:200] * 2)
    torch = pytest.importorskip("torch", reason="torch is not installed")
    with hr.Loader(mapped, batch_size=100, framework="torch") as loader:
        batch = next(iter(loader))
        assert isinstance(batch["x"], torch.Tensor)
        assert torch.equal(batch["x"], torch.from_numpy(jets.x[:100] * 2))


def test_resuming_goes_through_functions(data) -> None:
    mapped = data.map(double)
    with hr.Loader(mapped, batch_size=50, shuffle=True) as loader:
        whole = list(loader)
        iterator = iter(loader)
        loader.set_epoch(0)
        iterator = iter(loader)
        next(iterator)
        state = loader.state_dict()
    with hr.Loader(mapped, batch_size=50, shuffle=True) as loader:
        loader.load_state_dict(state)
        rest = list(loader)
    assert len(rest) == len(whole) - 1
    for got, want in zip(rest, whole[1:], strict=True):
        assert np.array_equal(got["x"], want["x"])


def test_a_function_that_raises_shows_itself_and_the_loader_goes_on(data) -> None:
    calls = []

    def fails_once(columns):
        calls.append(len(columns["x"]))
        if len(calls) == 2:
            raise ZeroDivisionError("mine")
        return columns

    with hr.Loader(data.map(fails_once), batch_size=50) as loader:
        iterator = iter(loader)
        next(iterator)
        with pytest.raises(ZeroDivisionError, match="mine") as raised:
            next(iterator)
        assert raised.traceback[-1].name == "fails_once"
        if sys.version_info >= (3, 11):
            assert "fails_once" in raised.value.__notes__[0]
            assert "batch 1 of this pass through epoch 0" in raised.value.__notes__[0]
        assert len(list(iterator)) == len(loader) - 2


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda columns: None, "returned NoneType, not a dict"),
        (lambda columns: {"x": columns["x"][:-1]}, "'x' that the function returned has 49 values, for 50 samples"),
        (lambda columns: {"x": columns["x"].mean()}, "'x' that the function returned has no list of values"),
        (lambda columns: {"x": [1, 2]}, "'x' that the function returned has 2 values"),
    ],
)
def test_what_is_returned_is_checked(data, function, text: str) -> None:
    with hr.Loader(data.map(function), batch_size=50) as loader, pytest.raises(hr.InvalidArgumentError, match=text):
        next(iter(loader))


@pytest.mark.parametrize("format", ["dict", "tuple"])
def test_batches_of_groups_keep_where_groups_begin(jets, data, format: str) -> None:
    """Their ``_group.offsets`` has a length of its own."""
    words = {"group_by": "file", "max_items": 600, "batch_format": format}
    with hr.Loader(data.map(double, lambda columns: {**columns, "two": columns["x"]}), **words) as loader:
        whole = [*loader, loader.batch(0, 0)]
    assert len(whole) == 3
    for batch in (whole[0], whole[-1]):
        named = (
            batch if format == "dict" else dict(zip(["x", "y", "_group", "_group.offsets", "two"], batch, strict=True))
        )
        assert named["_group.offsets"].tolist() == [0, 300, 556]
        assert np.array_equal(named["two"], jets.x[:556] * 2)

    def cuts(columns):
        return {**columns, "_group.offsets": columns["_group.offsets"][1:]}

    with (
        hr.Loader(data.map(cuts), group_by="file") as loader,
        pytest.raises(hr.InvalidArgumentError, match=r"'_group\.offsets' that the function returned has 3 values"),
    ):
        next(iter(loader))


def test_functions_may_keep_what_they_get(jets, data) -> None:
    kept = []

    def keeps(columns):
        kept.append(columns["x"])
        return {"x": columns["x"] + 1, "y": columns["y"]}

    with hr.Loader(data.map(keeps), batch_size=50) as loader:
        batches = list(loader)
    assert np.array_equal(np.concatenate(kept), jets.x)
    assert np.array_equal(np.concatenate([batch["x"] for batch in batches]), jets.x + 1)
    one = weakref.ref(kept[0])
    kept.clear()
    gc.collect()
    assert one() is None


def test_wrong_arguments(data) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="Affine comes after the Python function double"):
        data.map(double, T.Affine("x", 2.0))
    with pytest.raises(hr.InvalidArgumentError, match="Affine comes after"):
        data.map(double).map(T.Affine("x", 2.0))
    with pytest.raises(hr.InvalidArgumentError, match="map takes transforms and functions"):
        data.map("double")
    with pytest.raises(hr.InvalidArgumentError, match="map takes transforms and functions"):
        data.map(T.Affine)
    with pytest.raises(hr.InvalidArgumentError, match=r"go through a Python function .*a column would leave out"):
        data.map(double)["x"]
    with pytest.raises(hr.InvalidArgumentError, match="which statistics would leave out"):
        data.map(double).stats("x")
    with pytest.raises(hr.InvalidArgumentError, match="Mix first, then map"):
        hr.mix({"a": data.map(double), "b": data})
