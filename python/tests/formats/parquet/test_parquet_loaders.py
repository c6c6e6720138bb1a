"""Loaders over Parquet rows: caches, threads, budgets, groups, mixtures, transforms, and files beside files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.parquet as pq
from twin_files import TOTAL, Twins, batches_of, make_columns, same_batches, write_parquet

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_cached_batches_are_the_uncached_ones(twins: Twins, shuffle: Any, threads: int, tmp_path: Path) -> None:
    epochs: dict[str, list[Any]] = {}
    for name, cache in (("none", "none"), ("ram", "ram"), ("cold", tmp_path), ("warm", tmp_path)):
        data = hr.open(twins.glob())
        with hr.Loader(data, 32, shuffle=shuffle, seed=4, threads=threads, cache=cache) as loader:
            epochs[name] = [batches_of(loader) for _ in range(3)]
            assert not loader.report().notices
    for name in epochs:
        for epoch in range(3):
            assert same_batches(epochs[name][epoch], epochs["none"][epoch]), (name, epoch)
    orders = [twins.check_epoch(batches) for batches in epochs["none"]]
    assert (orders[0] == twins.columns["id"].tolist()) == (shuffle is False)
    assert (orders[0] == orders[1]) == (shuffle is False)


def test_batches_do_not_depend_on_threads(twins: Twins) -> None:
    for shuffle in (False, True, "exact"):
        got = [batches_of(hr.Loader(hr.open(twins.glob()), 17, shuffle=shuffle, threads=n)) for n in (1, 3)]
        assert same_batches(*got)


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_the_smallest_budget(twins: Twins, shuffle: Any) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "cache": "none", "threads": 1}
    want = batches_of(hr.Loader(hr.open(twins.glob()), 20, **options))
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(hr.open(twins.glob()), 20, memory=1000, **options)
    least = caught.value.needed_bytes or 0
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(hr.open(twins.glob()), 20, memory=least - 1, **options)
    for memory in (least, least + 1000, 2 * least):
        with hr.Loader(hr.open(twins.glob()), 20, memory=memory, **options) as loader:
            assert same_batches(batches_of(loader), want)
            assert loader.report().memory.peak_bytes <= memory


def test_groups(twins: Twins) -> None:
    """Events and files are never divided, unless they are too large."""
    for shuffle in (False, True):
        with hr.Loader(hr.open(twins.glob()), group_by="event", max_items=64, shuffle=shuffle, threads=3) as loader:
            batches = batches_of(loader)
        twins.check_epoch(batches)
        sizes = dict(zip(*np.unique(twins.columns["event"], return_counts=True), strict=True))
        for batch in batches:
            assert len(batch["id"]) <= 64
            for event, count in zip(*np.unique(batch["event"], return_counts=True), strict=True):
                assert count == sizes[event]
    with hr.Loader(hr.open(twins.glob()), group_by="file") as loader:
        twins.check_epoch(batches_of(loader))


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_a_mixture_of_parquet_and_hdf5(twins: Twins, shuffle: Any) -> None:
    parts = {"a": hr.open(twins.folder / "a_1.parquet"), "b": hr.open(twins.folder / "a_10.h5")}
    data = hr.mix({name: (part, 1) for name, part in parts.items()})
    assert len(data) == 592
    batches = batches_of(hr.Loader(data, 16, shuffle=shuffle, seed=1))
    seen = twins.check(batches)
    assert len(seen) - len(set(seen)) <= 3  # an epoch ends to within a few samples
    for batch in batches:
        assert abs(int((batch["id"] < 20_000).sum()) * 2 - len(batch["id"])) <= 2


def test_files_of_both_formats_as_one(twins: Twins) -> None:
    paths = [twins.folder / name for name in ("a_1.parquet", "a_2.h5", "a_10.parquet")]
    data = hr.open(paths)
    assert len(data) == TOTAL
    assert twins.check_epoch([data[:]]) == twins.columns["id"].tolist()
    twins.check_epoch(batches_of(hr.Loader(data, 32, shuffle=True, threads=3)))


def test_transforms(twins: Twins) -> None:
    data = hr.open(twins.glob()).map(
        T.Affine("x", 2.0, 1.0), T.Cast("y", "f4"), T.Cast("flag", "u1"), T.Keep("id", "x", "y", "flag")
    )
    rows = np.argsort(twins.columns["id"], kind="stable")
    want = {**twins.columns, "x": twins.columns["x"] * np.float32(2) + np.float32(1)}
    for shuffle in (False, True):
        for batch in hr.Loader(data, 32, shuffle=shuffle, threads=3):
            at = rows[np.searchsorted(twins.columns["id"][rows], batch["id"])]
            assert (batch["x"].dtype, batch["y"].dtype, batch["flag"].dtype) == (np.float32, np.float32, np.uint8)
            for name in ("x", "y", "flag"):
                np.testing.assert_allclose(batch[name], want[name][at], rtol=1e-6)
    twice = hr.open(twins.glob()).map(lambda batch: {"twice": 2 * batch["id"]})
    assert np.array_equal(twice[:]["twice"], 2 * twins.columns["id"])


def test_fields_by_other_names(twins: Twins) -> None:
    names = {"label": "y", "number": "id", "x": "flag"}
    data = hr.open(twins.glob(), names)
    assert list(data.fields) == list(names)
    got = twins.check(batches_of(hr.Loader(data, 40, shuffle=True)), names)
    assert sorted(got) == sorted(twins.columns["id"].tolist())


@pytest.mark.parametrize(("own", "beside"), [("parquet", "h5"), ("h5", "parquet"), ("parquet", "parquet")])
def test_columns_of_files_beside(twins: Twins, own: str, beside: str) -> None:
    names = {"id": "id", "x": "x", "y": f"{twins.glob(beside)}::y", "flag": f"{twins.glob(beside)}::flag"}
    data = hr.open(twins.glob(own), names)
    for shuffle in (False, True):
        batches = batches_of(hr.Loader(data, 32, shuffle=shuffle, threads=3))
        seen = twins.check(batches, {name: name for name in names})
        assert sorted(seen) == sorted(twins.columns["id"].tolist())
    short = write_parquet(twins.folder / "short.parquet", make_columns(299, 1))
    with pytest.raises(hr.InvalidArgumentError, match=r"299[\s\S]*300|300[\s\S]*299"):
        hr.open(twins.folder / f"a_1.{own}", {"x": "x", "y": f"{short}::y"})


@pytest.mark.parametrize("cache", ["auto", "ram", "none", "directory"])
@pytest.mark.parametrize("where", [0, 1, 2])
@pytest.mark.parametrize("how", ["an_empty_group", "no_group"])
def test_a_file_without_rows_among_others(tmp_path: Path, where: int, how: str, cache: str) -> None:
    """Pandas and pyarrow write one row group of 0 rows for an empty table; others write none."""
    parts = [make_columns(300, 1), make_columns(150, 2)]
    for number, part in enumerate(parts):
        write_parquet(tmp_path / f"{2 * number + 1}.parquet", part)
    empty, path = {name: values[:0] for name, values in parts[0].items()}, tmp_path / f"{2 * where}.parquet"
    write_parquet(path, empty)
    if how == "no_group":
        with pq.ParquetWriter(path, pa.table(empty).schema):
            pass
    held = Twins(tmp_path, {name: np.concatenate([part[name] for part in parts]) for name in empty})
    data = hr.open(f"{tmp_path}/?.parquet")
    assert sorted(file.rows for file in data.files) == [0, 150, 300]
    held.check_epoch([data[:]])
    for shuffle in (False, True):
        with hr.Loader(data, 32, shuffle=shuffle, cache=tmp_path / "c" if cache == "directory" else cache) as loader:
            for _ in range(2):
                held.check_epoch(batches_of(loader))
            assert not loader.report().notices
    with hr.Loader(data, group_by="event", max_items=64) as loader:
        held.check_epoch(batches_of(loader))


def test_no_rows_at_all(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_columns(0, 1))
    with pytest.raises(hr.InvalidArgumentError, match=r"a\.parquet.*0 rows"):
        hr.open(path)


@pytest.mark.parametrize("change", ["replaced", "in_place", "cut", "removed"])
def test_a_file_that_changes_while_it_is_read(tmp_path: Path, change: str) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_columns(97 * 300, 1))
    other = write_parquet(tmp_path / "b.parquet", make_columns(97 * 299, 2))
    loader = hr.Loader(hr.open(path, ["id", "x"]), 8, threads=1, memory="300KiB", cache="none")
    batches = iter(loader)
    next(batches)
    if change == "replaced":
        os.replace(other, path)  # noqa: PTH105
    elif change == "in_place":
        path.write_bytes(other.read_bytes())
    elif change == "cut":
        os.truncate(path, path.stat().st_size // 3)
    else:
        path.unlink()
    with pytest.raises(hr.FileChangedError) as caught:
        list(batches)
    assert str(caught.value.file) == str(path)
    assert caught.value.hint
