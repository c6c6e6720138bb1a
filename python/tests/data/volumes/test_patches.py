"""Patches of volumes: on a grid and drawn, through a loader and other faces, against NumPy."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from volume_files import GRIDS, KINDS, PATCH, SHAPES, Volume, check_batch, cut, places, places_of, write_volumes

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
Opened = tuple[hr.Volumes, list[Volume]]


@pytest.fixture(scope="module", params=KINDS)
def each_kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return write_volumes(tmp_path_factory.mktemp("volumes"), request.param)


def all_batches(loader: hr.Loader) -> list[dict[str, Any]]:
    return [dict(batch) for batch in loader]


def same(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> bool:
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(np.array_equal(x[k], y[k]) for k in x) for x, y in zip(a, b, strict=True)
    )


# ----------------------------------------------------------------------------------------------------------- the grid


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_a_grid_is_numpys(each_kind: Opened, grid: dict[str, Any]) -> None:
    volume, held = each_kind
    data, want = volume.patches(PATCH, **grid), places(SHAPES, PATCH, **grid)
    assert len(data) == len(want)
    assert data.fields["raw"].shape == PATCH
    assert [file.rows for file in data.files] == [int((want[:, 0] == v).sum()) for v in range(3)]
    got = data[:]
    for i, place in enumerate(want):
        for name in ("raw", "ids"):
            np.testing.assert_array_equal(got[name][i], cut(held, place, PATCH, name, grid.get("fill", 0)))
    some = [len(want) - 1, 0, len(want) // 2]
    np.testing.assert_array_equal(data[some]["raw"], got["raw"][some])


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("threads", [1, 4])
def test_an_epoch_has_each_patch_once(each_kind: Opened, grid: dict[str, Any], shuffle: Any, threads: int) -> None:
    volume, held = each_kind
    data, want = volume.patches(PATCH, **grid), places(SHAPES, PATCH, **grid)
    loader = hr.Loader(data, 5, shuffle=shuffle, threads=threads, seed=2, provenance=True, memory="16MiB")
    for epoch in range(2):
        got = []
        for batch in loader:
            got.append(places_of(batch))
            if epoch == 1:
                check_batch(batch, held, fill=grid.get("fill", 0))
        rows = np.concatenate(got)
        assert shuffle is not False or np.array_equal(rows, want)
        np.testing.assert_array_equal(rows[np.lexsort(rows.T[::-1])], want[np.lexsort(want.T[::-1])])
    assert np.isfinite(loader.report().read_amplification)


def test_each_voxel_is_covered(gzip: Opened) -> None:
    volume, _held = gzip
    for edge in ("shift", "fill"):
        seen = [np.zeros(shape, int) for shape in SHAPES]
        for batch in hr.Loader(volume.patches(PATCH, stride=PATCH, edge=edge), 4, provenance=True):
            for place in places_of(batch):
                seen[place[0]][tuple(slice(at, at + n) for at, n in zip(place[1:], PATCH, strict=True))] += 1
        assert all((counts > 0).all() for counts in seen)


def test_a_grid_is_selected_and_split(gzip: Opened) -> None:
    volume, held = gzip
    data = volume.patches(PATCH, stride=PATCH, edge="drop")  # which do not overlap
    want = places(SHAPES, PATCH, PATCH, "drop")
    odd = data.select(np.arange(1, len(data), 2))
    np.testing.assert_array_equal(odd.selected_rows, np.arange(1, len(data), 2))
    np.testing.assert_array_equal(odd[2]["ids"], cut(held, want[5], PATCH, "ids"))
    got = np.concatenate([places_of(b) for b in hr.Loader(odd, 3, shuffle=True, provenance=True, memory="4MiB")])
    assert sorted(map(tuple, got)) == sorted(map(tuple, want[1::2]))
    parts = data.split({"train": 0.75, "val": 0.25}, seed=1)
    numbers = np.concatenate([part.selected_rows for part in parts.values()])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(len(data)))
    by_file = data.split({"a": 0.5, "b": 0.5}, by="file")
    assert sum(len(part) for part in by_file.values()) == len(data)
    only = data["raw"]
    np.testing.assert_array_equal(only[3:5], data[3:5]["raw"])


@pytest.mark.parametrize("grid", [{"stride": (4, 9, 20)}, {"stride": PATCH}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_parts_of_patches_that_overlap_share_no_voxel(gzip: Opened, grid: dict[str, Any], seed: int) -> None:
    volume, _ = gzip
    data, want = volume.patches(PATCH, **grid), places(SHAPES, PATCH, **grid)
    parts = data.split({"train": 0.7, "val": 0.3}, seed=seed)
    claimed = [np.zeros((2, *shape), bool) for shape in SHAPES]
    for p, part in enumerate(parts.values()):
        for number in part.selected_rows:
            v, *start = want[number]
            claimed[v][(p, *(slice(at, at + n) for at, n in zip(start, PATCH, strict=True)))] = True
    assert not any((both[0] & both[1]).any() for both in claimed)
    assert sum(len(part) for part in parts.values()) > len(data) // 3
    for edge in ("shift", "drop"):
        with pytest.raises(hr.InvalidArgumentError, match="overlap"):
            volume.patches(PATCH, edge=edge, **grid if edge == "shift" else {"stride": (4, 12, 17)}).split(
                {"train": 0.7, "val": 0.3}, by="row"
            )


# -------------------------------------------------------------------------------------------------------------- drawn


@pytest.mark.parametrize("threads", [1, 4])
def test_drawn_patches_are_boxes_of_the_volumes(each_kind: Opened, threads: int) -> None:
    volume, held = each_kind
    data = volume.patches(PATCH, samples_per_epoch=60)
    assert len(data) == 60
    loader = hr.Loader(data, 8, shuffle=True, threads=threads, seed=1, provenance=True)
    epochs = []
    for _ in range(2):
        batches = all_batches(loader)
        for batch in batches:
            check_batch(batch, held)
        assert sum(len(batch["raw"]) for batch in batches) == 60
        epochs.append(np.concatenate([places_of(batch) for batch in batches]))
    assert not np.array_equal(epochs[0], epochs[1])
    assert len({tuple(place) for place in np.concatenate(epochs)}) > 100


def test_every_start_is_equally_likely(tmp_path: Path) -> None:
    """36 + 8 starts, each drawn 400 times on average over two epochs and two seeds: chi squared of 43 degrees."""
    for i, shape in enumerate([(6, 5, 4), (4, 3, 3)]):
        np.save(tmp_path / f"v_{i}.npy", np.zeros(shape, np.uint8))
    data = hr.open_volume(tmp_path / "v_*.npy").patches((3, 2, 2), samples_per_epoch=4400)
    counts: Counter[tuple[int, ...]] = Counter()
    for seed in (0, 1):
        loader = hr.Loader(data, 64, shuffle=True, seed=seed, provenance=True)
        for _ in range(2):
            counts.update(tuple(place) for batch in loader for place in places_of(batch))
    starts = [(0, z, y, x) for z in range(4) for y in range(4) for x in range(3)]
    starts += [(1, z, y, x) for z in range(2) for y in range(2) for x in range(2)]
    assert set(counts) == set(starts)
    mean = 17600 / len(starts)
    chi2 = sum((counts[start] - mean) ** 2 / mean for start in starts)
    degrees = len(starts) - 1
    assert abs(chi2 - degrees) < 4 * np.sqrt(2 * degrees)


@pytest.mark.parametrize("shuffle", [False, True])
def test_equal_seeds_draw_equal_patches(gzip: Opened, shuffle: bool) -> None:
    volume, _ = gzip
    data = volume.patches(PATCH, samples_per_epoch=30)

    def epoch(**options: Any) -> list[dict[str, Any]]:
        return all_batches(hr.Loader(data, 4, shuffle=shuffle, provenance=True, **options))

    first = epoch(seed=3, threads=1)
    assert same(first, epoch(seed=3, threads=4, memory="8MiB"))
    assert not same(first, epoch(seed=4))


@pytest.mark.parametrize("drawn", [False, True])
@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_ranks_share_the_patches(gzip: Opened, world_size: int, drawn: bool) -> None:
    volume, held = gzip
    how: dict[str, Any] = {"samples_per_epoch": 46} if drawn else {"stride": PATCH}
    data = volume.patches(PATCH, **how)
    alone = [tuple(p) for b in hr.Loader(data, 8, shuffle=True, provenance=True) for p in places_of(b)]
    got = []
    for rank in range(world_size):
        loader = hr.Loader(
            data, 8 // world_size, shuffle=True, provenance=True, rank=rank, world_size=world_size, threads=2
        )
        for batch in loader:
            check_batch(batch, held)
            own = batch.get("_weight", np.ones(len(batch["raw"]))) > 0  # else another rank's once more
            got += [tuple(place) for place in places_of(batch)[own]]
    assert sorted(got) == sorted(alone)


@pytest.mark.parametrize("how", [{"samples_per_epoch": 27}, {"stride": (9, 9, 19)}], ids=str)
@pytest.mark.parametrize(("world_size", "threads"), [(1, 1), (2, 4), (4, 1)])
def test_resumed_at_every_step(gzip: Opened, how: dict[str, Any], world_size: int, threads: int) -> None:
    data = gzip[0].patches(PATCH, **how)
    options: dict[str, Any] = {"shuffle": True, "seed": 9, "threads": threads, "world_size": world_size, "rank": 0}
    options["provenance"] = True
    whole, states = [], []
    loader = hr.Loader(data, 4, **options)
    for _ in range(2):
        for batch in loader:
            whole.append(dict(batch))
            states.append(loader.state_dict())
    per_epoch = len(whole) // 2
    for step, state in enumerate(states[:-1]):
        again = hr.Loader(data, 4, **options)
        again.load_state_dict(state)
        rest = all_batches(again)
        if not rest:  # the state stands at the end of an epoch
            rest = all_batches(again)
        assert same(rest, whole[step + 1 : per_epoch if step + 1 < per_epoch else 2 * per_epoch])


def test_any_batch_again_and_replay(gzip: Opened, tmp_path: Path) -> None:
    data = gzip[0].patches(PATCH, samples_per_epoch=20)
    loader = hr.Loader(data, 6, shuffle=True, seed=5, provenance=True)
    epochs = [all_batches(loader) for _ in range(2)]
    for epoch in range(2):
        for step in range(4):
            assert same([dict(loader.batch(epoch, step))], [epochs[epoch][step]])
    told = hr.replay(loader, epoch=1, step=2).to_dict()
    want = places_of(epochs[1][2])
    assert [(s["file"], *s["start"]) for s in told["samples"]] == [tuple(place) for place in want.tolist()]
    assert f"from ({', '.join(map(str, want[0][1:]))})" in str(hr.replay(loader, epoch=1, step=2))


def test_the_smallest_budget_delivers_the_same(gzip: Opened) -> None:
    for how in ({"samples_per_epoch": 24}, {"stride": PATCH}):
        data = gzip[0].patches(PATCH, **how)
        with pytest.raises(hr.OutOfBudgetError) as refused:
            hr.Loader(data, 4, memory="100KiB", threads=1)
        told = re.search(r"(\d+)\.?\d* MiB", str(refused.value))
        assert told
        least = int(told[1]) + 1
        small = hr.Loader(data, 4, shuffle=True, memory=f"{least}MiB", threads=1)
        assert same(all_batches(small), all_batches(hr.Loader(data, 4, shuffle=True)))


# ------------------------------------------------------------------------------------------------------- other faces


def test_transforms_run_on_patches(gzip: Opened) -> None:
    volume, held = gzip
    for how in ({"samples_per_epoch": 20}, {"stride": PATCH}):
        data = volume.patches(PATCH, **how).map(T.Cast("raw", "f4"), T.Affine("raw", 1 / 255), T.Flip("ids", p=0.0))
        for batch in hr.Loader(data, 4, shuffle=True, provenance=True, threads=3):
            assert batch["raw"].dtype == np.float32
            for i, place in enumerate(places_of(batch)):
                want = cut(held, place, PATCH, "raw").astype("f4") * np.float32(1 / 255)
                np.testing.assert_allclose(batch["raw"][i], want, rtol=1e-6)
                np.testing.assert_array_equal(batch["ids"][i], cut(held, place, PATCH, "ids"))
    grid = volume.patches(PATCH, stride=PATCH).map(T.Cast("raw", "f4")).map(T.Keep("raw"))
    np.testing.assert_array_equal(grid[4]["raw"], cut(held, places(SHAPES, PATCH, PATCH)[4], PATCH, "raw"))
    doubled = volume.patches(PATCH, samples_per_epoch=8).map(lambda batch: {"twice": batch["raw"].astype(int) * 2})
    assert all(batch["twice"].shape[1:] == PATCH for batch in hr.Loader(doubled, 4))


def test_pickles_open_the_same_patches(each_kind: Opened) -> None:
    volume, _held = each_kind
    again = pickle.loads(pickle.dumps(volume))
    assert again.shapes == volume.shapes
    for how in ({"samples_per_epoch": 9}, {"stride": 30, "edge": "fill", "fill": 3}):
        data = volume.patches(PATCH, **how)
        copy = pickle.loads(pickle.dumps(data))
        options: dict[str, Any] = {"shuffle": True, "provenance": True}
        assert same(all_batches(hr.Loader(copy, 3, **options)), all_batches(hr.Loader(data, 3, **options)))


def test_slices(gzip: Opened) -> None:
    volume, held = gzip
    data = volume.patches((1, 16, 20), samples_per_epoch=30)
    for batch in hr.Loader(data, 6, shuffle=True, provenance=True):
        check_batch(batch, held, (1, 16, 20))


@pytest.mark.parametrize(
    ("yaml", "how"),
    [
        ("{shape: [10, 12, 17], samples_per_epoch: 23}", {"samples_per_epoch": 23}),
        (
            "{shape: [10, 12, 17], stride: [10, 12, 17], edge: fill, fill: 7}",
            {"stride": PATCH, "edge": "fill", "fill": 7},
        ),
        ("{shape: [10, 12, 17], stride: [9, 9, 9], edge: drop, small: skip}", {"stride": 9, "edge": "drop"}),
    ],
)
def test_run_files(tmp_path: Path, yaml: str, how: dict[str, Any]) -> None:
    volume, _ = write_volumes(tmp_path, "gzip")
    run = tmp_path / "run.yaml"
    run.write_text(
        "data:\n  files: s_*.h5\n  volume:\n    arrays: {raw: volumes/raw, ids: volumes/ids}\n"
        f"  patches: {yaml}\nloader:\n  batch_size: 4\n  shuffle: true\n"
    )
    with hr.load_run(run) as from_file:
        own = hr.Loader(volume.patches(PATCH, **how), 4, shuffle=True)
        assert same(all_batches(from_file), all_batches(own))


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("  patches: {shape: [4, 4, 4], samples_per_epoch: 3}", "data.patches: volume is missing"),
        ("  volume: {arrays: {raw: volumes/raw}}", "data.patches is missing"),
        ("  volume: {arrays: {raw: volumes/raw}}\n  patches: {stride: [4, 4, 4]}", "data.patches.shape: missing"),
        ("  volume: {}\n  patches: {shape: [4, 4, 4], edge: wrap}", "edge must be shift, drop or fill"),
        ("  volume: {}\n  patches: {shape: [4, 4, 4], fill: much}", "fill must be a number"),
        (
            "  volume: {}\n  windows: {length: 3}\n  patches: {shape: [4, 4, 4], samples_per_epoch: 3}",
            "a volume has no rows",
        ),
    ],
)
def test_run_files_that_are_refused(tmp_path: Path, data: str, text: str) -> None:
    write_volumes(tmp_path, "gzip")
    run = tmp_path / "run.yaml"
    run.write_text(f"data:\n  files: s_*.h5\n{data}\nloader:\n  batch_size: 4\n")
    with pytest.raises(hr.InvalidArgumentError, match=text):
        hr.load_run(run)


def test_tools(gzip: Opened) -> None:
    data = gzip[0].patches(PATCH, samples_per_epoch=40)
    loader = hr.Loader(data, 4, shuffle=True)
    assert "drawn: every start of 3 volumes" in loader.explain()
    assert "made of 3 volumes → patches of 10 x 12 x 17, 40 drawn" in repr(data)
    all_batches(loader)
    assert loader.report().read_amplification > 0.1
    with pytest.raises(hr.InvalidArgumentError, match="drawn one by one"):
        hr.order(loader)
    grid = hr.Loader(gzip[0].patches(PATCH, stride=PATCH), 4, shuffle=True)
    assert json.loads(json.dumps(hr.order(grid).to_dict()))
    assert "patches" in grid.explain()


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("shape", "options", "text"),
    [
        (PATCH, {}, "neither samples_per_epoch .* nor stride"),
        (PATCH, {"samples_per_epoch": 5, "stride": PATCH}, "samples_per_epoch .* and stride .* exclude each other"),
        ((10, 12), {"samples_per_epoch": 5}, "a patch of 2 numbers for volumes of 3 axes"),
        (PATCH, {"stride": (4, 4)}, "a stride of 2 numbers"),
        ((10, 0, 4), {"samples_per_epoch": 5}, "shape.1. must be a whole number of at least 1, not 0"),
        (PATCH, {"samples_per_epoch": 0}, "samples_per_epoch must be a whole number of at least 1"),
        (PATCH, {"samples_per_epoch": 5, "edge": "fill"}, "random patches lie inside"),
        (PATCH, {"stride": PATCH, "fill": 3}, "no patch reaches past it"),
        (
            PATCH,
            {"stride": PATCH, "edge": "fill", "fill": 300},
            "fill=300 is not a value of type uint8, the type of the array 'raw'",
        ),
        (PATCH, {"stride": PATCH, "edge": "wrap"}, "edge must be shift, drop or fill"),
        (PATCH, {"stride": PATCH, "small": "fill"}, "small must be error or skip"),
        ("64", {"samples_per_epoch": 5}, "shape must be a whole number of at least 1.*, not .64."),
    ],
)
def test_what_makes_no_sense_is_refused(gzip: Opened, shape: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        gzip[0].patches(shape, **options)


def test_a_volume_that_is_too_small(gzip: Opened) -> None:
    volume, held = gzip
    large = (10, 22, 17)  # the second volume has 20 rows along the second axis
    for how in ({"samples_per_epoch": 5}, {"stride": large}, {"stride": large, "edge": "drop"}):
        with pytest.raises(hr.InvalidArgumentError, match=r"larger than this volume of 20 x 20 x 20") as refused:
            volume.patches(large, **how)
        assert str(refused.value.file).endswith("s_1.h5")
        with pytest.warns(hr.HeadraceWarning, match="1 of 3 volumes are smaller"):
            data = volume.patches(large, small="skip", **how)
        loader = hr.Loader(data, 3, provenance=True)
        seen = set()
        for batch in loader:
            check_batch(batch, held, large)
            seen |= set(batch["_volume"].tolist())
        assert seen == {0, 2}
    filled = volume.patches(large, stride=large, edge="fill")
    assert filled.files[1].rows == 2 * 1 * 2
    with pytest.raises(hr.InvalidArgumentError, match="larger than each of the 3 volumes"):
        volume.patches((100, 4, 4), samples_per_epoch=3, small="skip")


def test_arrays_that_do_not_lie_over_each_other(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["raw"], file["ids"] = np.zeros((8, 8, 8), "u1"), np.zeros((8, 8, 7), "u1")
        file["flat"], file["table"] = np.zeros((8, 8), "u1"), np.zeros((8, 8, 8), [("a", "u1"), ("b", "u2")])
    with pytest.raises(hr.InvalidArgumentError, match=r"differ in shape:\s+raw: \(8, 8, 8\)\s+ids: \(8, 8, 7\)"):
        hr.open_volume(tmp_path / "a.h5", ["raw", "ids"])
    with pytest.raises(hr.UnsupportedError, match="records"):
        hr.open_volume(tmp_path / "a.h5", ["table"])
    with pytest.raises(hr.FieldMissingError, match="rav"):
        hr.open_volume(tmp_path / "a.h5", ["rav"])
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["raw"], file["flat"] = np.zeros((8, 8, 8), "u2"), np.zeros((8, 8, 8), "u1")
    with pytest.raises(hr.InvalidArgumentError, match="uint16 here, but uint8"):
        hr.open_volume(tmp_path / "[ab].h5", ["raw"])
    with pytest.raises(hr.InvalidArgumentError, match="a volume of 3 axes"):
        hr.open_volume(tmp_path / "[ab].h5", ["flat"])


@pytest.mark.parametrize("how", [{"samples_per_epoch": 400}, {"stride": (8, 8, 8)}], ids=str)
def test_a_damaged_chunk_fails_the_patches_that_touch_it(tmp_path: Path, how: dict[str, Any]) -> None:
    values = np.random.default_rng(1).integers(0, 255, (32, 32, 32), np.uint8)
    with h5py.File(tmp_path / "v.h5", "w") as file:
        made = file.create_dataset("raw", data=values, chunks=(16, 16, 16), compression="gzip")
        where = made.id.get_chunk_info_by_coord((16, 0, 16))
    with (tmp_path / "v.h5").open("r+b") as raw:
        raw.seek(where.byte_offset + 40)
        raw.write(b"\xff" * 400)
    data = hr.open_volume(tmp_path / "v.h5").patches((8, 8, 8), **how)
    loader = hr.Loader(data, 1, provenance=True, threads=2)
    starts = []
    with pytest.raises(hr.CorruptDataError) as damaged:
        for batch in loader:
            starts.append(batch["_start"][0])
    assert damaged.value.chunk == "(1,0,1)"
    assert damaged.value.field == "raw"
    assert str(damaged.value.file).endswith("v.h5")
    for z, y, x in starts:  # of none that was delivered
        assert not (z + 8 > 16 and y < 16 and x + 8 > 16)
    # The batch that failed is the first that touches the chunk.
    if "stride" in how:
        want = places(((32, 32, 32),), (8, 8, 8), (8, 8, 8))
        first = next(i for i, (_, z, y, x) in enumerate(want) if z >= 16 and y < 16 and x >= 16)
        assert len(starts) == first


def test_chunks_that_were_never_written(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "v.h5", "w") as file:
        sparse = file.create_dataset("sparse", (20, 20, 20), "i4", chunks=(8, 8, 8), fillvalue=-5, compression="gzip")
        sparse[:9, :9, :9] = 3
        want = sparse[:]
        file.create_dataset("empty", (20, 20, 20), "u2", fillvalue=9)
    data = hr.open_volume(tmp_path / "v.h5", ["sparse", "empty"]).patches((7, 7, 7), samples_per_epoch=50)
    for batch in hr.Loader(data, 5, provenance=True):
        for i, (z, y, x) in enumerate(batch["_start"]):
            np.testing.assert_array_equal(batch["sparse"][i], want[z : z + 7, y : y + 7, x : x + 7])
        assert (batch["empty"] == 9).all()


@pytest.mark.parametrize("in_place", [False, True])
def test_a_file_that_changes_is_noticed(tmp_path: Path, in_place: bool) -> None:
    path = tmp_path / "v.npy"
    np.save(path, np.zeros((40, 40, 40), np.uint8))
    loader = hr.Loader(hr.open_volume(path).patches((8, 8, 8), samples_per_epoch=4000), 4, memory="4MiB")
    with pytest.raises(hr.FileChangedError):
        for step, _ in enumerate(loader):
            if step == 0 and in_place:  # which no read notices by itself
                with path.open("r+b") as file:
                    file.seek(2000)
                    file.write(bytes(range(100)))
            elif step == 0:
                np.save(path, np.ones((40, 40, 20), np.uint8))


def test_an_epoch_of_very_many_samples(gzip: Opened) -> None:
    data = gzip[0].patches(PATCH, samples_per_epoch=2**50)
    loader = hr.Loader(data, 3, shuffle=True, memory="64MiB")
    assert len(loader) == -(-(2**50) // 3)
    assert same([dict(next(iter(loader)))], [dict(loader.batch(0, 0))])
    loader.load_state_dict({**loader.state_dict()})
    far = loader.batch(0, 2**48)
    assert far["raw"].shape == (3, *PATCH)


def test_mixtures_of_patches_are_refused_by_name(gzip: Opened) -> None:
    data = gzip[0].patches(PATCH, samples_per_epoch=10)
    with pytest.raises((hr.UnsupportedError, hr.InvalidArgumentError), match="patches"):
        hr.mix({"a": (data, 1.0), "b": (data, 1.0)})
