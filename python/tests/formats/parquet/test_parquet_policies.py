"""nulls= beyond the rows themselves: caches, host-wide caches, targets, keys, pickles, transforms and statistics."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
from memory_files import memory_group
from twin_files import batches_of, write_parquet

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
ROWS = 400
GONE = {"x": np.arange(ROWS) % 9 == 4, "y": np.arange(ROWS) % 11 == 3}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 40 events, of which some have no x or no y."""
    folder = tmp_path_factory.mktemp("nulls")
    columns: dict[str, Any] = {"event": np.arange(ROWS) // 10, "id": np.arange(ROWS)}
    columns["x"] = [None if gone else 1.5 * row for row, gone in enumerate(GONE["x"])]
    columns["y"] = [None if gone else row for row, gone in enumerate(GONE["y"])]
    write_parquet(folder / "truth.parquet", {"z": [None if n % 9 == 4 else n for n in range(40)]})
    return write_parquet(folder / "a.parquet", columns)


def check(batches: list[dict[str, Any]], nulls: str) -> None:
    assert sum(len(batch["id"]) for batch in batches) == ROWS
    for batch in batches:
        row = batch["id"]
        np.testing.assert_array_equal(batch["x"], np.where(GONE["x"][row], np.nan, 1.5 * row))
        np.testing.assert_array_equal(batch["y"], np.where(GONE["y"][row], 0, row))
        assert ("x.valid" in batch) == ("y.valid" in batch) == (nulls == "mask")
        for name in ("x", "y") if nulls == "mask" else ():
            np.testing.assert_array_equal(batch[f"{name}.valid"], ~GONE[name][row])


def read(path: Path, nulls: str, **options: Any) -> None:
    """Two epochs that are right; with "error" an error that names a row."""
    with hr.Loader(hr.open(path, ["id", "x", "y"], nulls=nulls), 32, shuffle=True, **options) as loader:
        if nulls == "error":
            with pytest.raises(hr.InvalidArgumentError, match="has no value"):
                batches_of(loader)
            return
        for _ in range(2):
            check(batches_of(loader), nulls)


@pytest.mark.parametrize("order", [("fill", "error"), ("mask", "error"), ("error", "fill"), ("fill", "mask", "fill")])
def test_a_cache_serves_its_own_policy(path: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    """Never are rows without a value delivered where nulls="error" asks for an error."""
    for nulls in order:
        read(path, nulls, cache=tmp_path)


@pytest.mark.parametrize("order", [("fill", "error"), ("mask", "error"), ("fill", "mask")])
def test_memory_of_the_host_serves_its_own_policy(path: Path, order: tuple[str, str]) -> None:
    with memory_group():
        first = hr.Loader(hr.open(path, ["id", "x", "y"], nulls=order[0]), 32, shuffle=True, share="host")
        for _ in range(2):
            check(batches_of(first), order[0])
        read(path, order[1], share="host")
        first.close()


@pytest.mark.parametrize("cache", ["none", "ram"])
@pytest.mark.parametrize("nulls", ["fill", "mask", "error"])
def test_each_policy(path: Path, nulls: str, cache: str) -> None:
    read(path, nulls, cache=cache)


@pytest.mark.parametrize("nulls", ["fill", "mask"])
@pytest.mark.parametrize("target", ["x", "{folder}/truth.parquet::z"])
def test_targets_of_events(path: Path, nulls: str, target: str) -> None:
    """Those of the first row of each event, and those of other files."""
    target = target.replace("{folder}", str(path.parent))
    gone = GONE["x"][::10] if target == "x" else np.arange(40) % 9 == 4
    data = hr.open(path, ["id"], sample_by="event", targets={"t": target}, nulls=nulls)
    values = np.arange(0, ROWS, 10) * 1.5 if target == "x" else np.arange(40)
    want = np.where(gone, np.nan if target == "x" else 0, values)
    np.testing.assert_array_equal([event["t"] for event in data], want)
    if nulls == "mask":
        assert [bool(event["t.valid"]) for event in data] == (~gone).tolist()


def test_keys_have_values(path: Path) -> None:
    for nulls in ("error", "fill", "mask"):
        with pytest.raises(hr.InvalidArgumentError, match="row 3 has no value"):
            hr.open(path, ["id"], sample_by="y", nulls=nulls)


def test_pickles_and_selections(path: Path) -> None:
    for nulls in ("fill", "mask"):
        data = hr.open(path, ["id", "x", "y"], nulls=nulls)
        for one in (pickle.loads(pickle.dumps(data)), data.select(slice(0, ROWS))):
            check([one[:]], nulls)
            assert list(one.fields) == list(data.fields)
    events = hr.open(path, ["id", "x", "y"], sample_by="event", nulls="mask")
    for number, event in enumerate(pickle.loads(pickle.dumps(events))):
        assert event["x.valid"].tolist() == (~GONE["x"][10 * number : 10 * number + 10]).tolist()


def test_transforms_and_statistics(path: Path) -> None:
    data = hr.open(path, ["id", "x"], nulls="mask").map(T.Affine("x", 2.0))
    for batch in hr.Loader(data, 32, shuffle=True):
        np.testing.assert_array_equal(batch["x.valid"], ~GONE["x"][batch["id"]])
        np.testing.assert_allclose(batch["x"], np.where(GONE["x"][batch["id"]], np.nan, 3.0 * batch["id"]))
    with pytest.warns(hr.HeadraceWarning, match="44 values that are NaN"):
        stats = hr.open(path, ["x"], nulls="fill").stats("x")
    assert (int(stats.nan_count), int(stats.count)) == (44, ROWS - 44)
    with pytest.raises(hr.InvalidArgumentError, match="row 4 has no value"):
        hr.open(path, ["x"]).stats("x")
