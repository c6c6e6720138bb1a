"""Chunks of volumes are kept decoded in the memory that the batches leave: the batches are the same."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from volume_files import GRIDS, PATCH, write_damaged, write_volumes

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.usefixtures("kept_at_once")
Batches = list[dict[str, Any]]


@pytest.fixture(scope="module")
def volumes(tmp_path_factory: pytest.TempPathFactory) -> hr.Volumes:
    """Write three volumes of two arrays, in chunks of two shapes, most of them with edge chunks."""
    return write_volumes(tmp_path_factory.mktemp("volumes"), "gzip")[0]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory: pytest.TempPathFactory) -> hr.Volumes:
    """Write a volume of three arrays: with chunks that are missing, that are stored as they are, and all of those."""
    path = tmp_path_factory.mktemp("sparse") / "v.h5"
    random = np.random.default_rng(8)
    with h5py.File(path, "w") as file:
        holes = file.create_dataset("holes", (40, 40, 40), "f4", chunks=(9, 16, 8), compression="gzip", fillvalue=3.5)
        holes[9:27, :16, 8:24] = random.normal(size=(18, 16, 16))
        mixed = file.create_dataset("mixed", (40, 40, 40), ">u2", chunks=(16, 8, 9), compression="lzf", shuffle=True)
        mixed[:16] = 7
        mixed[16:] = random.integers(0, 1 << 16, (24, 40, 40))
        file.create_dataset("plain", data=random.integers(0, 255, (40, 40, 40)).astype("u1"), chunks=(8, 8, 8))
    return hr.open_volume(path, ["holes", "mixed", "plain"])


def batches_of(data: hr.Dataset, epochs: int = 2, **options: Any) -> tuple[Batches, hr.Report]:
    """Return copies of all batches, and the report."""
    with hr.Loader(data, **{"batch_size": 7, "shuffle": True, "seed": 3, "threads": 3, **options}) as loader:
        got = [{name: np.array(column) for name, column in batch.items()} for _ in range(epochs) for batch in loader]
        return got, loader.report()


def assert_same(got: Batches, want: Batches) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert list(one) == list(other)
        for name, column in one.items():
            np.testing.assert_array_equal(column, other[name], err_msg=name)


def decoded_bytes(report: hr.Report) -> int:
    return next(stage.bytes for stage in report.stages if stage.name == "decode")


WAYS: dict[str, dict[str, Any]] = {
    "shuffled": {},
    "in order": {"shuffle": False},
    "one thread": {"threads": 1},
    "a rank": {"rank": 1, "world_size": 3},
}
CUTS: list[dict[str, Any]] = [*GRIDS, {"samples_per_epoch": 90}]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_batches_are_those_of_chunks_that_are_decoded_anew(volumes: hr.Volumes, cut: dict[str, Any], way: str) -> None:
    data = volumes.patches(PATCH, **cut)
    anew, without = batches_of(data, cache="none", **WAYS[way])
    kept, report = batches_of(data, **WAYS[way])
    assert_same(kept, anew)
    assert without.cache.kind == "nothing"
    assert without.cache.hits == 0
    assert report.cache.kind == "blocks"
    assert report.cache.hits > 0
    assert report.chunks_decoded <= report.cache.all_blocks


def test_transformed_patches(volumes: hr.Volumes) -> None:
    data = volumes.patches(PATCH, samples_per_epoch=60).map(T.Affine("raw", 2.0), T.Cast("ids", "f8"))
    assert_same(batches_of(data)[0], batches_of(data, cache="none")[0])


@pytest.mark.parametrize("cut", [{"stride": (10, 9, 14)}, {"samples_per_epoch": 200}], ids=str)
def test_missing_and_plain_chunks(sparse: hr.Volumes, cut: dict[str, Any]) -> None:
    """What needs no decoding takes no place in the cache, but all of it counts as being there."""
    data = sparse.patches((11, 12, 13), **cut)
    want, _ = batches_of(data, cache="none")
    got, report = batches_of(data)
    assert_same(got, want)
    assert report.cache.all_blocks == 5 * 3 * 5 + 3 * 5 * 5
    assert report.cache.complete
    stored = 2 * 1 * 2 * 9 * 16 * 8 * 4 + 3 * 5 * 5 * 16 * 8 * 9 * 2
    assert report.cache.bytes <= stored + 4 * 4096 + 75 * 4096  # each in whole pages
    assert report.cache.bytes >= stored - 4096


@pytest.mark.parametrize("cache", ["ram", "directory"])
def test_the_file_of_a_kept_chunk_is_not_looked_for(tmp_path: Path, cache: str) -> None:
    """It may answer late: the batches come from what is kept, also where the file is gone."""
    zarr = pytest.importorskip("zarr", reason="writes the volume")
    group = zarr.open_group(tmp_path / "v.zarr", mode="w")
    voxels = np.arange(40**3, dtype="u4").reshape((40,) * 3)
    group.create_array("x", shape=voxels.shape, chunks=(16, 8, 9), dtype="u4")[:] = voxels
    data = hr.open_volume(tmp_path / "v.zarr", ["x"]).patches(PATCH, stride=PATCH)
    want, _ = batches_of(data, epochs=2, cache="none")
    options: dict[str, Any] = {"shuffle": True, "seed": 3, "threads": 3}
    with hr.Loader(data, 7, cache=tmp_path / "kept" if cache == "directory" else cache, **options) as loader:
        loader.preload()
        shutil.rmtree(tmp_path / "v.zarr" / "x" / "c")
        got = [{name: np.array(column) for name, column in batch.items()} for _ in range(2) for batch in loader]
    assert_same(got, want)


@pytest.mark.parametrize("cache", ["auto", "ram"])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_a_chunk_that_is_written_while_a_loader_lives(tmp_path: Path, cut: dict[str, Any], cache: str) -> None:
    """What was not there was kept as nothing: its new content is read."""
    zarr = pytest.importorskip("zarr", reason="writes the volume")
    array = zarr.open_group(tmp_path / "v.zarr", mode="w").create_array(
        "x", shape=(40, 40, 40), chunks=(16, 8, 9), dtype="u1", fill_value=9
    )
    array[:16] = 3
    data = hr.open_volume(tmp_path / "v.zarr", ["x"]).patches(PATCH, **cut)
    with hr.Loader(data, 7, shuffle=True, seed=3, cache=cache) as loader:
        assert {int(value) for batch in loader for value in np.unique(batch["x"])} - {0, 7} == {3, 9}  # those: the edge
        array[16:] = 150
        for _ in range(3):  # batches of two epochs may have been made before
            assert {int(value) for batch in loader for value in np.unique(batch["x"])} <= {0, 3, 7, 9, 150}
        written = [np.array(batch["x"]) for batch in loader]
    with hr.Loader(data, 7, shuffle=True, seed=3, cache="none") as loader:
        for _ in range(4):
            list(loader)
        for got, want in zip(written, loader, strict=True):
            np.testing.assert_array_equal(got, want["x"])


@pytest.mark.parametrize("cut", [{"stride": PATCH}, {"samples_per_epoch": 4000}], ids=str)
def test_nothing_is_decoded_once_all_is_there(volumes: hr.Volumes, cut: dict[str, Any]) -> None:
    with hr.Loader(volumes.patches(PATCH, **cut), 8, shuffle=True, threads=2) as loader:
        assert "chunks, decoded, in" in str(loader.explain())
        assert "none once all are kept" in str(loader.explain())
        list(loader)
        first = loader.report()
        for _ in range(3):
            list(loader)
        last = loader.report()
    assert last.chunks_decoded <= last.cache.all_blocks
    assert first.cache.blocks > 0.98 * first.cache.all_blocks  # of drawn ones some corner may be missing
    if "stride" in cut:
        assert first.cache.complete
        assert first.chunks_decoded == last.chunks_decoded == first.cache.all_blocks
        assert decoded_bytes(last) == decoded_bytes(first)


@pytest.mark.parametrize("cut", CUTS, ids=str)
@pytest.mark.parametrize("which", ["volumes", "sparse"])
def test_all_cells_in_memory(request: pytest.FixtureRequest, which: str, cut: dict[str, Any]) -> None:
    """They are decoded before the first batch, each once, and never again."""
    data = request.getfixturevalue(which).patches(PATCH, **cut)
    want, _ = batches_of(data, cache="none")
    with hr.Loader(data, 7, shuffle=True, seed=3, threads=3, cache="ram") as loader:
        assert "decoded before the first batch" in str(loader.explain())
        loader.preload()
        first = loader.report()
        got = [{name: np.array(column) for name, column in batch.items()} for _ in range(2) for batch in loader]
        last = loader.report()
    assert_same(got, want)
    assert first.cache.complete
    if which == "volumes":  # what is stored as it is, is read from its file
        assert decoded_bytes(first) == decoded_bytes(last)
        assert first.chunks_decoded == last.chunks_decoded == first.cache.all_blocks


def test_the_budget_of_all_cells_in_memory(volumes: hr.Volumes) -> None:
    data = volumes.patches(PATCH, samples_per_epoch=60)
    want, _ = batches_of(data, epochs=1, cache="none")
    most = batches_of(data, epochs=1, cache="ram")[1].cache.bytes
    with pytest.raises(hr.OutOfBudgetError, match=r"cache=.ram. needs .* for the decoded data") as caught:
        hr.Loader(data, 7, memory=most, cache="ram").explain()
    needed = int(str(caught.value).partition("memory=")[2].partition(" ")[0])
    got, report = batches_of(data, epochs=1, cache="ram", memory=needed)
    assert_same(got, want)
    assert report.memory.peak_bytes <= needed
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(data, 7, memory=needed - 4096, cache="ram").explain()
    with pytest.raises(hr.OutOfBudgetError) as caught:  # not even a batch fits: what is named holds the cache as well
        hr.Loader(data, 7, memory=20_000, cache="ram", threads=1).explain()
    got, report = batches_of(data, epochs=1, cache="ram", memory=caught.value.needed_bytes, threads=1)
    assert_same(got, want)
    assert report.cache.bytes == most


def test_nothing_is_kept_of_what_is_stored_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(20**3).reshape(20, 20, 20))
    with h5py.File(tmp_path / "v.h5", "w") as file:
        file.create_dataset("x", data=np.arange(20**3).reshape(20, 20, 20), chunks=(5, 5, 5))
    for volume in (hr.open_volume(tmp_path / "v.npy"), hr.open_volume(tmp_path / "v.h5", ["x"])):
        with hr.Loader(volume.patches((6, 6, 6), samples_per_epoch=30), 4) as loader:
            list(loader)
            assert loader.report().cache.kind == "nothing"
            assert "stored as they are delivered" in str(loader.explain())
        with hr.Loader(volume.patches((6, 6, 6), samples_per_epoch=30), 4, cache="ram") as loader:
            loader.preload()  # nothing is decoded, so all of it is done
            assert sum(len(next(iter(batch.values()))) for batch in loader) == 30


def test_budgets_from_small_to_all(tmp_path: Path) -> None:
    """As the budget grows, none, some and all are kept; never more than the budget, and the batches are the same."""
    random = np.random.default_rng(1)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        for name, chunks in (("a", (16, 16, 16)), ("b", (32, 8, 32))):
            rows = random.integers(0, 9, (96, 96, 96)).astype("u2")
            file.create_dataset(name, data=rows, chunks=chunks, compression="lzf")
    data = hr.open_volume(tmp_path / "x.h5", ["a", "b"]).patches(
        (16, 16, 16), samples_per_epoch=300, draws="independent"
    )
    want, _ = batches_of(data, batch_size=4, cache="none")
    shares = []
    for memory in range(3 << 19, 10 << 20, 1 << 19):
        got, report = batches_of(data, batch_size=4, memory=memory)
        assert_same(got, want)
        assert report.memory.peak_bytes <= report.memory.planned_bytes <= memory
        assert report.memory.peak_cache_bytes <= report.memory.cache_bytes
        shares.append(report.cache.blocks / max(report.cache.all_blocks, 1))
    assert shares[0] == 0
    assert shares[-1] == 1
    assert any(0 < share < 1 for share in shares), shares


@pytest.mark.parametrize("cut", [{"stride": (8, 8, 8)}, {"samples_per_epoch": 60}], ids=str)
def test_a_damaged_chunk_is_an_error_each_time(tmp_path: Path, cut: dict[str, Any]) -> None:
    """What could not be decoded is not kept as something else."""
    with hr.Loader(write_damaged(tmp_path).patches((8, 8, 8), **cut), 4, threads=3) as loader:
        for _ in range(3):
            with pytest.raises(hr.CorruptDataError, match=r"\(1,0,1\)"):
                list(loader)


STORES: dict[str, dict[str, Any]] = {"a directory": {}, "a host": {"share": "host", "cache": "ram"}}


def in_store(store: str, folder: Path) -> dict[str, Any]:
    return STORES[store] or {"cache": folder / "kept"}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("cut", [{"stride": PATCH, "edge": "fill", "fill": 7}, {"samples_per_epoch": 90}], ids=str)
@pytest.mark.parametrize("which", ["volumes", "sparse"])
def test_all_cells_in_a_store(
    request: pytest.FixtureRequest, tmp_path: Path, which: str, cut: dict[str, Any], store: str
) -> None:
    """The first loader decodes each chunk once, at most; the second one, beside it, none of them."""
    data = request.getfixturevalue(which).patches(PATCH, **cut)
    want, _ = batches_of(data, cache="none")
    options = in_store(store, tmp_path)
    with hr.Loader(data, 7, shuffle=True, seed=3, threads=3, **options) as first:
        first.preload()
        assert first.report().cache.complete
        got = [{name: np.array(column) for name, column in batch.items()} for _ in range(2) for batch in first]
        report = first.report()
        assert_same(got, want)
        assert report.cache.kind == ("shared rows" if store == "a host" else "directory")
        assert report.cache.hits > 0
        if which == "volumes":
            assert report.chunks_decoded == report.cache.all_blocks
        again, second = batches_of(data, **options)
    assert_same(again, want)
    assert which != "volumes" or second.chunks_decoded == 0  # else some chunks are read from their file
    assert second.cache.complete


@pytest.mark.parametrize("store", STORES)
def test_a_store_is_filled_by_the_batches(volumes: hr.Volumes, tmp_path: Path, store: str) -> None:
    """A grid asks for every chunk: after one epoch all are there, whatever the threads."""
    data = volumes.patches(PATCH, stride=PATCH)
    want, _ = batches_of(data, cache="none")
    got, report = batches_of(
        data, **{**in_store(store, tmp_path), "cache": in_store(store, tmp_path).get("cache", "auto")}
    )
    assert_same(got, want)
    assert report.cache.complete
    assert report.chunks_decoded == report.cache.all_blocks


def test_a_directory_goes_on_where_a_run_ended(volumes: hr.Volumes, tmp_path: Path) -> None:
    """What patches have not asked for is decoded by a later run, and what is there is not decoded again."""
    data = volumes.patches(PATCH, stride=PATCH)
    some = data.select(range(0, len(data), 5))  # a data set of its own: it has a folder of its own
    batches_of(some, cache=tmp_path)
    with hr.Loader(data, 7, cache=tmp_path, threads=1) as loader:
        next(iter(loader))
    with hr.Loader(data, 7, cache=tmp_path, threads=1) as loader:
        loader.preload()
        assert loader.report().cache.complete
    assert batches_of(data, cache=tmp_path)[1].chunks_decoded == 0


def test_a_cell_in_a_directory_has_zeros_behind_it(tmp_path: Path) -> None:
    """Rows are as long as the largest cell: what another cell left there would make the files differ by the order."""
    for side in (16, 10, 8):
        with h5py.File(tmp_path / f"{16 - side:02}.h5", "w") as file:
            file.create_dataset("x", data=np.full((20,) * 3, side, "u1"), chunks=(side,) * 3, compression="gzip")
    data = hr.open_volume(sorted(tmp_path.glob("*.h5")), ["x"]).patches((8, 8, 8), stride=(8, 8, 8))
    with hr.Loader(data, 4, cache=tmp_path / "kept", threads=1) as loader:
        loader.preload()
    (stored,) = (tmp_path / "kept").rglob("x.npy")
    rows = np.load(stored)
    assert rows.shape == (2**3 + 2**3 + 3**3, 16**3)
    for side, cells in ((16, rows[:8]), (10, rows[8:16]), (8, rows[16:])):
        assert (cells[:, : side**3] <= side).all()
        assert not cells[:, side**3 :].any()


def test_a_damaged_block_of_a_directory_is_read_from_its_file(volumes: hr.Volumes, tmp_path: Path) -> None:
    data = volumes.patches(PATCH, stride=PATCH)
    want, _ = batches_of(data, cache="none")
    with hr.Loader(data, 7, cache=tmp_path) as loader:
        loader.preload()
    (stored,) = tmp_path.glob("*/raw.npy")
    with stored.open("r+b") as file:
        file.seek(-300, 2)
        file.write(b"damage")
    with pytest.warns(UserWarning, match="own file"):
        got, report = batches_of(data, cache=tmp_path)
    assert_same(got, want)
    assert 0 < report.chunks_decoded <= 4


@pytest.mark.parametrize("store", STORES)
def test_a_damaged_chunk_is_not_stored(tmp_path: Path, store: str) -> None:
    data = write_damaged(tmp_path).patches((8, 8, 8), stride=(8, 8, 8))
    for _ in range(2):
        with hr.Loader(data, 4, threads=3, **in_store(store, tmp_path)) as loader:
            for _ in range(2):
                with pytest.raises(hr.CorruptDataError, match=r"\(1,0,1\)"):
                    list(loader)
            assert not loader.report().cache.complete


def test_a_directory_that_cannot_be_made_keeps_nothing(volumes: hr.Volumes, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with hr.Loader(volumes.patches(PATCH, stride=PATCH), 4, cache=tmp_path / "file" / "kept") as loader:
        with pytest.warns(UserWarning, match="Loading goes on without the cache"):
            list(loader)
        cache = loader.report().cache
        assert (cache.kind, cache.all_blocks, cache.capacity_bytes) == ("nothing", 0, 0)
        assert "could not be used, see the warnings" in str(loader.explain())
        with pytest.raises(hr.WriteFailedError, match="file"):
            loader.preload()


def test_a_directory_is_of_no_use_to_what_is_stored_as_it_is(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.arange(20**3).reshape(20, 20, 20))
    data = hr.open_volume(tmp_path / "v.npy").patches((6, 6, 6), stride=(6, 6, 6))
    with (
        pytest.warns(UserWarning, match="stored as they are delivered"),
        hr.Loader(data, 4, cache=tmp_path / "kept") as loader,
    ):
        list(loader)
        assert loader.report().cache.kind == "nothing"
        loader.preload()  # nothing is decoded, so all of it is done
    assert not (tmp_path / "kept").exists()
