"""Rows of events and windows are kept decoded in the memory that the batches leave: the batches are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.usefixtures("kept_at_once")
EVENTS, CHUNK = 600, 256


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Chunks of 256 rows in gzip: some hundred units of a few KiB."""
    folder, random = tmp_path_factory.mktemp("kept"), np.random.default_rng(4)
    for part in range(2):
        lengths = np.minimum(random.pareto(1.1, EVENTS) * 40, 3000).astype(int)
        rows = lengths.sum()
        with h5py.File(folder / f"part_{part}.h5", "w") as file:
            options: dict[str, Any] = {"chunks": (CHUNK,), "compression": "gzip"}
            file.create_dataset("x", data=random.normal(size=rows).astype("f4"), **options)
            file.create_dataset("k", data=random.integers(0, 50, rows).astype("i2"), **options)
            file.create_dataset("at", data=np.concatenate(([0], np.cumsum(lengths))))
            file.create_dataset("y", data=np.arange(EVENTS) + part * EVENTS)
    spans = hr.Spans(offsets="at")
    return hr.open(str(folder / "part_*.h5"), fields=["x", "k"], sample_by=spans, targets=["y"])


WORDS: dict[str, Any] = {"shuffle": True, "seed": 3, "threads": 2}


def batches_of(data: hr.Dataset, epochs: int = 3, **options: Any) -> tuple[list[dict[str, Any]], hr.Report]:
    """Return copies of all batches, and the report."""
    with hr.Loader(data, **{"batch_size": 16, **WORDS, **options}) as loader:
        got = [{name: np.array(column) for name, column in batch.items()} for _ in range(epochs) for batch in loader]
        return got, loader.report()


def assert_same(got: list[dict[str, Any]], want: list[dict[str, Any]]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert list(one) == list(other)
        for name, column in one.items():
            np.testing.assert_array_equal(column, other[name], err_msg=name)


def scaled(data: hr.Dataset) -> hr.Dataset:
    return data.join({"k": np.arange(50), "z": np.arange(50.0)}, on="k", fields=["z"]).map(
        T.Affine("x", 2.0), T.Cast("z", "f4"), T.Concat(["x", "z"], to="hits"), T.Truncate(500, method="random")
    )


WAYS = {
    "ragged": {},
    "padded": {"layout": "padded"},
    "tokens": {"batch_size": None, "batch": hr.ByTokens(4000)},
    "in order": {"shuffle": False},
    "ranks": {"rank": 1, "world_size": 3},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", [None, scaled], ids=["stored", "transformed"])
def test_batches_are_those_of_data_that_is_decoded_anew(events: hr.Dataset, way: str, change: Any) -> None:
    data = change(events) if change else events
    options = {name: value for name, value in WAYS[way].items() if value is not None}
    if "batch" in options:
        options["batch_size"] = None
        if change:
            pytest.skip("a budget of rows and samples that are cut at random are tested apart")
    anew, without = batches_of(data, cache="none", **options)
    kept, report = batches_of(data, **options)
    assert_same(kept, anew)
    assert without.cache.kind == "nothing"
    assert report.cache.kind == "all rows"
    assert report.cache.complete or "rank" in options


def test_nothing_is_decoded_once_all_is_there(events: hr.Dataset) -> None:
    with hr.Loader(events, 16, shuffle=True, threads=2) as loader:
        list(loader)
        first = loader.report().chunks_decoded
        assert loader.report().cache.complete
        list(loader)
        assert loader.report().chunks_decoded == first  # none of the targets either
    assert "all rows, decoded" in str(loader.explain())


def test_some_are_kept_in_what_the_window_leaves(tmp_path: Path) -> None:
    """Between none and all, as the budget grows; never more than the budget, and the batches are the same."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        rows = np.random.default_rng(1).normal(size=(1 << 17, 16)).astype("f4")
        file.create_dataset("x", data=rows, chunks=(1024, 16), compression="lzf")
        file.create_dataset("at", data=np.arange(0, (1 << 17) + 1, 128))
    data = hr.open(tmp_path / "x.h5", fields=["x"], sample_by=hr.Spans(offsets="at"))
    want, _ = batches_of(data, epochs=2, shuffle=False, cache="none")
    shares = []
    for memory in range(3 << 20, 18 << 20, 1 << 20):
        got, report = batches_of(data, epochs=2, shuffle=False, memory=memory)
        assert_same(got, want)
        assert report.memory.peak_bytes <= memory
        shares.append(report.cache.blocks / max(report.cache.all_blocks, 1))
    assert shares[0] == 0
    assert shares[-1] == 1
    assert any(0 < share < 1 for share in shares), shares


def test_selected_events(events: hr.Dataset) -> None:
    parts = events.split({"a": 0.7, "b": 0.3}, seed=1)
    want, _ = batches_of(parts["a"], cache="none")
    got, report = batches_of(parts["a"])
    assert_same(got, want)
    assert report.cache.blocks > 0


def test_windows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "tokens.h5", "w") as file:
        file.create_dataset("t", data=np.arange(50_000, dtype="u2"), chunks=(512,), compression="gzip")
    data = hr.open(tmp_path / "tokens.h5").windows(128, lookahead=1)
    want, _ = batches_of(data, cache="none")
    got, report = batches_of(data)
    assert_same(got, want)
    assert report.cache.complete


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Windows of stored numbers that need no decoding."""
    path = tmp_path_factory.mktemp("tokens") / "ids.npy"
    np.save(path, np.arange(50_000, dtype="u2"))
    return hr.open(path).windows(128, lookahead=1)


@pytest.fixture(params=["events", "windows", "tokens", "selected", "transformed"])
def samples(request: pytest.FixtureRequest, events: hr.Dataset, tokens: hr.Dataset, tmp_path: Path) -> hr.Dataset:
    if request.param == "windows":
        with h5py.File(tmp_path / "w.h5", "w") as file:
            file.create_dataset("t", data=np.arange(50_000, dtype="u2"), chunks=(512,), compression="gzip")
        return hr.open(tmp_path / "w.h5").windows(128, stride=64)
    made = {
        "events": events,
        "tokens": tokens,
        "selected": events.select(range(0, 1200, 3)),
        "transformed": scaled(events),
    }
    return made[request.param]


def test_all_rows_in_memory(samples: hr.Dataset) -> None:
    """They are decoded before the first batch, whatever its samples are, and never again."""
    want, _ = batches_of(samples, cache="none")
    with hr.Loader(samples, 16, shuffle=True, seed=3, threads=2, cache="ram") as loader:
        assert "cache='ram'" in str(loader.explain())
        got = []
        for _ in range(3):
            for batch in loader:
                if not got:
                    loader.preload()
                    first = loader.report().chunks_decoded
                got.append({name: np.array(column) for name, column in batch.items()})
        report = loader.report()
    assert_same(got, want)
    assert (report.cache.kind, report.cache.complete, report.chunks_decoded) == ("all rows", True, first)


def smallest_budget(error: hr.OutOfBudgetError) -> int:
    return int(str(error).partition("memory=")[2].partition(" ")[0])


def test_the_budget_of_all_rows_in_memory(samples: hr.Dataset) -> None:
    with pytest.raises(hr.OutOfBudgetError) as without:
        hr.Loader(samples, 16, **WORDS, memory="4KiB", cache="none").explain()
    enough = smallest_budget(without.value)
    with pytest.raises(hr.OutOfBudgetError, match=r"cache=.ram. needs .* for the decoded data") as caught:
        hr.Loader(samples, 16, **WORDS, memory=enough, cache="ram").explain()
    needed = smallest_budget(caught.value)
    got, report = batches_of(samples, epochs=1, cache="ram", memory=needed)
    assert report.memory.peak_bytes <= needed
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(samples, 16, **WORDS, memory=needed - 4096, cache="ram").explain()
    assert_same(got, batches_of(samples, epochs=1, cache="none")[0])


def test_all_rows_in_a_directory(samples: hr.Dataset, tmp_path: Path) -> None:
    """The next run decodes nothing."""
    want, _ = batches_of(samples, cache="none")
    got, report = batches_of(samples, cache=tmp_path / "kept")
    assert_same(got, want)
    assert report.cache.kind == "directory"
    with hr.Loader(samples, 16, cache=tmp_path / "kept") as loader:
        loader.preload()
    again, report = batches_of(samples, cache=tmp_path / "kept")
    assert_same(again, want)
    assert (report.cache.complete, report.chunks_decoded) == (True, 0)


def test_all_rows_of_a_host(samples: hr.Dataset) -> None:
    want, _ = batches_of(samples, cache="none")
    with hr.Loader(samples, 16, cache="ram", share="host") as first:
        first.preload()
        got, report = batches_of(samples, share="host")
    assert_same(got, want)
    assert (report.cache.kind, report.chunks_decoded) == ("shared rows", 0)


def test_a_damaged_unit_is_an_error_each_time(tmp_path: Path) -> None:
    """What could not be decoded is not kept as something else."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=np.arange(4096.0), chunks=(256,), compression="gzip", fletcher32=True)
        file.create_dataset("at", data=np.arange(0, 4097, 8))
        offset = file["x"].id.get_chunk_info(9).byte_offset
    with (tmp_path / "x.h5").open("r+b") as raw:
        raw.seek(offset + 20)
        raw.write(b"\xff\xff\xff\xff")
    data = hr.open(tmp_path / "x.h5", fields=["x"], sample_by=hr.Spans(offsets="at"))
    with hr.Loader(data, 8, threads=1) as loader:
        for _ in range(3):
            with pytest.raises(hr.CorruptDataError):
                list(loader)


@pytest.mark.parametrize("windowed", [True, False])
@pytest.mark.parametrize("threads", [1, 3])
def test_what_kept_rows_need_is_what_one_decode_of_their_chunks_is(
    tmp_path: Path, windowed: bool, threads: int
) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as file:  # the last chunk is filled to a part, and decoded whole
        file.create_dataset("x", data=np.zeros(150_000, "f4"), chunks=(16_384,), compression="gzip")
    with hr.open(tmp_path / "rows.h5") as rows:
        data = rows.windows(64) if windowed else rows
        with hr.Loader(data, 32, shuffle=True, threads=threads, cache="auto" if windowed else "ram") as loader:
            if not windowed:
                loader.preload()  # rows that are read ahead of their epoch are counted with it
            for epoch in range(1, 4):
                for _ in loader:
                    pass
                if windowed:
                    assert loader.report().read_amplification == pytest.approx(1 / epoch, abs=1e-9)
            assert loader.report().chunks_decoded == 10
            loader.preload()
            assert loader.report().chunks_decoded == 10
