"""``headrace.cellmap``: the batches of cellmap-data, compared with slices of the same places."""

from __future__ import annotations

import itertools
import pickle
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ome_files import Array, numbers, write_image
from zarr_stores import group2, group3

import headrace as hr
from headrace import transforms as T

torch = pytest.importorskip("torch", reason="torch is not installed")
from headrace.cellmap import (  # noqa: E402
    CellMapDataLoader,
    CellMapDataset,
    CellMapDataSplit,
    CellMapMultiDataset,
    ClassBalancedSampler,
)

pytestmark = pytest.mark.fast
BOX = {"shape": (8, 8, 8), "scale": (8, 8, 8)}
CLASSES = ["mito", "er"]
MIRRORED = {"axes": ["x", "y"]}
EACH = ["".join(some) for n in range(4) for some in itertools.combinations("zyx", n)]


@dataclass
class World:
    """Two crops of different stores, groups and places; the second has no mitochondria."""

    raw: list[Array]
    labels: list[dict[str, Array]]
    begin: list[Array]  # of the labels, in voxels of the grey values
    paths: list[tuple[str, str]]

    def dataset(self, number: int = 0, **words: Any) -> CellMapDataset:
        raw, target = self.paths[number]
        words = {"classes": CLASSES, "input_arrays": {"raw": BOX}, "target_arrays": {"gt": BOX}, **words}
        return CellMapDataset(raw, target, **words)

    def both(self, **words: Any) -> CellMapMultiDataset:
        return CellMapMultiDataset([self.dataset(0, **words), self.dataset(1, **words)])

    def sample(self, idx: int, shape: tuple[int, ...] = (8, 8, 8)) -> tuple[Array, Array]:
        """The grey values, and the labels of each class, of a place that is counted crop by crop."""
        for raw, labels, begin in zip(self.raw, self.labels, self.begin, strict=True):
            extents = next(iter(labels.values())).shape
            starts = [n - p + 1 for n, p in zip(extents, shape, strict=True)]
            if idx < np.prod(starts):
                at = np.array(np.unravel_index(idx, starts))
                box = tuple(slice(a, a + p) for a, p in zip(at, shape, strict=True))
                there = tuple(slice(a, a + p) for a, p in zip(at + begin, shape, strict=True))
                unknown = np.full(shape, np.nan)
                return raw[there], np.stack([labels[c][box] if c in labels else unknown for c in CLASSES])
            idx -= int(np.prod(starts))
        raise IndexError(idx)


@pytest.fixture(params=[2, 3])
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    version = request.param
    group = group2 if version == 2 else group3
    made = World([], [], [], [])
    for number, classes in enumerate((CLASSES, ["er"])):
        raw = numbers((50, 44, 60), number)
        labels = {name: numbers((20, 24, 30), 10 + i) % 3 for i, name in enumerate(classes)}
        begin = np.array([6 + number, 10, 12])
        image = tmp_path / "raw.zarr" if number else group(tmp_path / "crop_0.zarr") / "recon-1" / "em"
        write_image(image, version, {"s0": (raw, 8, [0, 0, 0]), "s1": (numbers((25, 22, 30), 5), 16, [4, 4, 4])})
        base = group(tmp_path / f"crop_{number}.zarr") / "labels" / f"crop{number}"
        for name, values in labels.items():
            write_image(base / name, version, {"s0": (values, 8, [8.0 * a for a in begin])})
        made.raw.append(raw)
        made.labels.append(labels)
        made.begin.append(begin)
        made.paths.append((str(image), f"{base}/[mito,er]"))
    return made


def check(world: World, batch: dict[str, Any], **how: Any) -> None:
    assert list(batch) == ["idx", "raw", "gt"]
    for idx, raw, gt in zip(batch["idx"].tolist(), batch["raw"], batch["gt"], strict=True):
        want_raw, want_gt = world.sample(idx, **how)
        np.testing.assert_array_equal(raw, want_raw.squeeze()[None])
        np.testing.assert_array_equal(gt, np.stack([one.squeeze() for one in want_gt]))


@pytest.mark.parametrize("threads", [0, 2])
def test_batches_are_slices_of_the_same_place(world: World, threads: int) -> None:
    loader = CellMapDataLoader(world.both(), batch_size=4, num_workers=threads, iterations_per_epoch=40)
    assert len(loader) == 10
    seen: list[int] = []
    for batch in loader.loader:
        assert batch["raw"].shape == (4, 1, 8, 8, 8) and batch["raw"].dtype == torch.float32
        assert batch["gt"].shape == (4, 2, 8, 8, 8) and batch["gt"].dtype == torch.float32
        check(world, batch)
        seen += batch["idx"].tolist()
    places = 13 * 17 * 23
    assert len(seen) == 40 and min(seen) < places <= max(seen) < 2 * places == len(loader.dataset)
    assert [i for batch in loader for i in batch["idx"].tolist()] != seen, "another epoch draws others"


def test_one_crop_by_number_and_pickled(world: World) -> None:
    dataset = world.dataset()
    assert len(dataset) == 13 * 17 * 23 and "crops" in repr(dataset)
    raw, gt = world.sample(1234)
    np.testing.assert_array_equal(dataset[1234]["raw"], raw[None])
    np.testing.assert_array_equal(dataset[1234]["gt"], gt)
    assert int(dataset[-1]["idx"]) == len(dataset) - 1
    np.testing.assert_array_equal(dataset[torch.tensor(1234)]["raw"], raw[None])
    with pytest.raises(IndexError):
        dataset[len(dataset)]
    loader = CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8, seed=5)
    other = pickle.loads(pickle.dumps(loader))
    for ours, theirs in zip(loader, other, strict=True):
        np.testing.assert_array_equal(ours["idx"], theirs["idx"])
        check(world, theirs)


def test_a_class_that_a_crop_lacks_is_unknown(world: World) -> None:
    one = world.dataset(1)
    assert one[0]["gt"][0].isnan().all() and not one[0]["gt"][1].isnan().any()
    np.testing.assert_array_equal(world.both().get_crop_class_matrix(), [[True, True], [False, True]])
    integers = CellMapDataLoader(world.both(dtype=None), batch_size=4, iterations_per_epoch=8)
    with pytest.raises(hr.InvalidArgumentError, match="uint8"):
        next(iter(integers))
    loader = CellMapDataLoader(world.dataset(0, dtype=None), batch_size=4, iterations_per_epoch=8)
    batch = next(iter(loader))
    assert batch["raw"].dtype == batch["gt"].dtype == torch.uint8
    check(world, batch)


def test_classes_are_drawn_alike(world: World) -> None:
    for labels, (_, target), number in zip(world.labels, world.paths, itertools.count()):
        for name, values in labels.items():
            values[:] = 0
            values[(2, 2, 2) if name == "mito" else (slice(12, 20),) * 3] = 1
            path = Path(target.replace("[mito,er]", name))
            version = 2 if (path / ".zgroup").exists() else 3
            write_image(path, version, {"s0": (values, 8, [8.0 * a for a in world.begin[number]])})
    both = world.both()
    words = {"batch_size": 8, "iterations_per_epoch": 400}
    for loader in (
        CellMapDataLoader(both, weighted_sampler=True, **words),
        CellMapDataLoader(both, sampler=ClassBalancedSampler(both, 400), batch_size=8),
    ):
        batches = list(loader)
        assert sum(len(batch["gt"]) for batch in batches) == 400
        mito = sum(int((batch["gt"][:, 0] == 1).flatten(1).any(1).sum()) for batch in batches)
        assert 180 < mito < 240
    only = CellMapDataLoader(both, classes=["er"], weighted_sampler=True, **words)
    assert all((batch["gt"][:, 1] == 1).flatten(1).any(1).all() for batch in only)
    with pytest.raises(hr.InvalidArgumentError, match="no crop has"):
        CellMapDataLoader(world.dataset(1), classes=["mito"], weighted_sampler=True)


def test_validation_goes_over_each_voxel(world: World) -> None:
    loader = CellMapDataLoader(world.both(), batch_size=4, is_train=False, weighted_sampler=True)
    votes = np.zeros((2, 20, 24, 30))
    for batch in loader:
        check(world, batch)
        for idx in batch["idx"].tolist():
            z, y, x = np.unravel_index(idx % (13 * 17 * 23), (13, 17, 23))
            votes[idx // (13 * 17 * 23), z : z + 8, y : y + 8, x : x + 8] += 1
    assert (votes > 0).all()


def test_a_repeat_on_a_rank_has_no_weight(world: World) -> None:
    words: dict[str, Any] = {"batch_size": 2, "iterations_per_epoch": 13, "world_size": 3, "seed": 4}
    with pytest.warns(hr.HeadraceWarning, match="every batch has a field _weight"):
        ranks = [list(CellMapDataLoader(world.both(), **words, rank=rank)) for rank in range(3)]
    weights = torch.cat([batch["_weight"] for batches in ranks for batch in batches])
    assert weights.dtype == torch.float32 and all(list(b) == ["idx", "raw", "gt", "_weight"] for r in ranks for b in r)
    assert len(weights) == 15 and sorted(weights.tolist()) == [0, 0] + [1] * 13
    alone = CellMapDataLoader(world.both(), **{**words, "world_size": 1, "rank": 0})
    counted = [batch["idx"][batch["_weight"] > 0] for batches in ranks for batch in batches]
    assert sorted(torch.cat(counted).tolist()) == sorted(torch.cat([batch["idx"] for batch in alone]).tolist())
    assert all("_weight" not in batch for batch in alone)


def test_slices_have_no_axis_of_one_voxel(world: World) -> None:
    flat = {"shape": (1, 8, 10), "scale": (8, 8, 8)}
    dataset = world.dataset(input_arrays={"raw": flat, "again": flat}, target_arrays={"gt": flat, "other": flat})
    for batch in CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8):
        assert batch["raw"].shape == (4, 1, 8, 10) and batch["gt"].shape == (4, 2, 8, 10)
        assert batch["again"] is batch["raw"] and batch["other"] is batch["gt"]
        check(world, {name: batch[name] for name in ("idx", "raw", "gt")}, shape=(1, 8, 10))
    two = world.dataset(input_arrays={"raw": {**flat, "shape": (8, 10)}}, target_arrays={"gt": flat})
    assert two[3]["raw"].shape == (1, 8, 10)


@pytest.mark.parametrize(
    ("config", "ways"),
    [
        ({"mirror": {"axes": {"x": 1.0, "y": 0, "z": False}}}, [(0, 1, 2, "x")]),
        ({"mirror": {"x": True, "z": True}}, [(0, 1, 2, "zx")]),
        ({"mirror": {"axes": {"x": 0.5, "y": 0.5}}}, [(0, 1, 2, m) for m in ("", "x", "y", "yx")]),
        *[({"mirror": axes}, [(0, 1, 2, m) for m in ("", "x", "y", "yx")]) for axes in (MIRRORED, MIRRORED["axes"])],
        ({"mirror": {"axes": ("z",)}}, [(0, 1, 2, ""), (0, 1, 2, "z")]),
        ({"mirror": {"axes": []}, "transpose": False}, [(0, 1, 2, "")]),
        *[({"mirror": every}, [(0, 1, 2, m) for m in EACH]) for every in (True, {"axes": True}, {"axes": None})],
        ({"transpose": {"axes": ["x", "y"]}, "rotate": {"z": 0}}, [(0, 1, 2, ""), (0, 2, 1, "")]),
        ({"transpose": ["x", "y"]}, [(0, 1, 2, ""), (0, 2, 1, "")]),
        ({"rotate90": {"axes": ["z"]}}, [(0, 1, 2, ""), (0, 1, 2, "yx"), (0, 2, 1, "y"), (0, 2, 1, "x")]),
    ],
    ids=str,
)
def test_patches_are_turned_as_asked(world: World, config: dict[str, Any], ways: list[Any]) -> None:
    dataset = world.dataset(spatial_transforms=config)
    seen = set()
    for batch in CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=60):
        for idx, raw, gt in zip(batch["idx"].tolist(), batch["raw"], batch["gt"], strict=True):
            want, want_gt = world.sample(idx)
            found = []
            for z, y, x, mirrored in ways:
                turned = [
                    np.flip(array.transpose(z, y, x), ["zyx".index(a) for a in mirrored]) for array in (want, *want_gt)
                ]
                if all(map(np.array_equal, turned, (raw[0], *gt))):
                    found.append((z, y, x, mirrored))
            assert found
            seen.update(found)
    assert seen == set(ways)


def test_the_axes_of_thin_crops_are_those_of_space(world: World, tmp_path: Path) -> None:
    thin = tmp_path / "thin" / "er"
    write_image(thin, 2, {"s0": (numbers((8, 24, 30), 0), 8, [0, 0, 0])})
    words: dict[str, Any] = {"classes": ["er"], "input_arrays": {"raw": BOX}, "target_arrays": {"gt": BOX}}
    words["spatial_transforms"] = {"transpose": True, "mirror": True, "rotate90": True}
    dataset = CellMapDataset(world.paths[0][0], str(thin), **words)
    for batch in CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8):
        assert batch["gt"].shape == (4, 1, 8, 8, 8)


def test_values_are_changed_by_functions_and_transforms(world: World) -> None:
    shapes = []

    def scaled(raw: Any) -> Any:
        shapes.append(tuple(raw.shape))
        return raw / 255

    dataset = world.dataset(1, raw_value_transforms=scaled, target_value_transforms=lambda gt: (gt > 1).float())
    batch = next(iter(CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8)))
    assert shapes == [(4, 1, 8, 8, 8)] and batch["raw"].max() <= 1
    assert batch["gt"][:, 0].isnan().all() and set(batch["gt"][:, 1].unique().tolist()) == {0, 1}
    dataset = world.dataset(raw_value_transforms=[T.Affine("raw", 1 / 255)], target_value_transforms={"er": torch.neg})
    raw, gt = world.sample(77)
    np.testing.assert_allclose(dataset[77]["raw"], raw[None] / 255, rtol=1e-6)
    np.testing.assert_array_equal(dataset[77]["gt"], gt * np.array([1.0, -1.0])[:, None, None, None])


def test_an_epoch_of_training(world: World) -> None:
    rng = torch.Generator().manual_seed(3)
    loader = CellMapDataLoader(world.both(), batch_size=4, iterations_per_epoch=32, rng=rng, persistent_workers=True)
    assert "seed=3" in str(loader) and loader.loader.loader.seed == 3
    model = torch.nn.Conv3d(1, 2, 3, padding=1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-6)
    for batch in loader.to("cpu", non_blocking=True):
        known = ~batch["gt"].isnan()
        loss = (model(batch["raw"]) - batch["gt"].nan_to_num())[known].square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert torch.isfinite(loss)
    loader.refresh()
    engine = weakref.ref(loader.loader.loader)
    state = loader.state_dict()
    want = next(iter(loader))["idx"]
    loader.load_state_dict(state)
    np.testing.assert_array_equal(next(iter(loader))["idx"], want)
    del loader
    assert engine() is None, "threads stop when nothing refers to the loader"


def test_batches_come_on_another_device(world: World) -> None:
    loader = CellMapDataLoader(world.dataset(), batch_size=4, iterations_per_epoch=8, device="meta")
    assert {tensor.device.type for tensor in next(iter(loader)).values()} == {"meta"} == {loader.device.type}
    check(world, next(iter(loader.to("cpu"))))


def test_tables_are_copied_to_a_device_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies from pageable memory, which wait for the device: at the first batch alone, and not in a pickle."""
    form = world.both().form
    copies: list[str] = []

    def batch(device: str) -> dict[str, Any]:
        place = {"_volume": torch.tensor([0, 1]), "_start": torch.zeros(2, 3, dtype=torch.int64)}
        patches = {"raw": torch.zeros(2, 1, 4, 4, 4), "mito": torch.zeros(2, 2, 4, 4, 4)}
        return {name: tensor.to(device) for name, tensor in {**place, **patches}.items()}

    batches = [batch(device) for device in ("cpu", "meta", "cpu", "meta")]
    from_numpy, to = torch.from_numpy, torch.Tensor.to
    monkeypatch.setattr(torch, "from_numpy", lambda array: copies.append("array") or from_numpy(array))
    monkeypatch.setattr(torch.Tensor, "to", lambda *args, **words: copies.append("to") or to(*args, **words))
    made = []
    for each in batches:
        copies.clear()
        made.append(form(each))
        assert len(copies) == (6 if len(made) <= 2 else 0), "three tables, for each device"
    assert [one["idx"].device.type for one in made] == ["cpu", "meta", "cpu", "meta"]
    assert torch.equal(made[0]["idx"], made[2]["idx"])
    assert made[2]["gt"].isnan().flatten(2).all(2).tolist() == [[False, False], [True, False]]
    again = pickle.loads(pickle.dumps(form))
    assert not again._tables and torch.equal(again(batch("cpu"))["idx"], made[0]["idx"])


def test_each_argument_is_told_with_what_it_became(world: World) -> None:
    given: dict[str, Any] = {"num_workers": 2, "prefetch_factor": 4, "persistent_workers": True, "pin_memory": True}
    given |= {
        "in_order": False,
        "multiprocessing_context": "spawn",
        "iterations_per_epoch": 20,
        "weighted_sampler": True,
        "device": "cpu",
    }
    told = str(CellMapDataLoader(world.both(), batch_size=4, **given))
    assert all(name in told for name in given), told
    assert "balance=['mito', 'er']" in told and "samples_per_epoch=20" in told and "decode thread" in told


def test_more_visits_are_mixed(world: World) -> None:
    loader = CellMapDataLoader(world.both(), batch_size=4, iterations_per_epoch=8, shuffle_buffer="64MiB")
    assert sum(len(batch["idx"]) for batch in loader) == 8
    assert loader.loader.loader._options["shuffle_buffer"] == "64MiB"
    with pytest.raises(hr.InvalidArgumentError, match="is_train=False gives tiles in order"):
        CellMapDataLoader(world.both(), batch_size=4, is_train=False, shuffle_buffer="64MiB")


def test_what_there_is_not_is_refused_by_name(world: World) -> None:
    for words, text in (
        ({"collate_fn": list}, "come collated"),
        ({"shuffle": True}, "is_train="),
        ({"num_worker": 2}, "Did you mean 'num_workers'"),
    ):
        with pytest.raises(hr.UnknownArgumentError, match=text):
            CellMapDataLoader(world.dataset(), **words)
    with pytest.raises(hr.UnknownArgumentError, match="CellMapDataLoader"):
        world.dataset(is_train=True)
    large, coarse = {**BOX, "shape": (16, 8, 8)}, {**BOX, "scale": (10, 10, 10)}
    for words, kind, text in (
        ({"target_arrays": {"gt": large}}, hr.UnsupportedError, "no input has the shape"),
        ({"target_arrays": {"gt": BOX, "more": large}}, hr.UnsupportedError, "'gt' and 'more' differ"),
        ({"input_arrays": {"raw": BOX, "large": large}}, hr.UnsupportedError, "at one scale"),
        ({"spatial_transforms": {"rotate": {"axes": {"z": [-30, 30]}}}}, hr.UnsupportedError, "rotate90"),
        ({"spatial_transforms": {"mirror": {"axes": ["x"], "p": 0.1}}}, hr.UnknownArgumentError, "'p'"),
        ({"spatial_transforms": {"mirror": 0.5}}, hr.InvalidArgumentError, "axes are a list of names, not 0.5"),
        ({"spatial_transforms": {"mirror": ["x", "w"]}}, hr.InvalidArgumentError, "not 'w'"),
        ({"spatial_transforms": {"transpose": {"axes": {"x": 0.5}}}}, hr.InvalidArgumentError, "list of names, not {"),
        ({"spatial_transforms": {"rotate90": {"z": 0.5}}}, hr.InvalidArgumentError, "list of names, not {'z': 0.5}"),
        ({"spatial_transforms": {"miror": True}}, hr.UnknownArgumentError, "Did you mean 'mirror'"),
        ({"input_arrays": {"raw": coarse}, "target_arrays": {"gt": coarse}}, hr.FieldMissingError, "8 x 8 x 8"),
        ({"raw_value_transforms": 3}, hr.InvalidArgumentError, "value transforms"),
        ({"input_arrays": {"mito": BOX}}, hr.InvalidArgumentError, "different names"),
        ({"classes": ["ribo"]}, hr.FileMissingError, "ribo"),
        ({"classes": []}, hr.InvalidArgumentError, "needs classes"),
    ):
        with pytest.raises(kind, match=text):
            CellMapDataLoader(world.dataset(**words), batch_size=4, iterations_per_epoch=4)
    with pytest.raises(hr.InvalidArgumentError, match="no OME-NGFF image"):
        CellMapDataset(f"{world.paths[0][0]}/s0", world.paths[0][1], CLASSES, {"raw": BOX}, {"gt": BOX})
    for path in ("s3://bucket/em", "/not/there"):
        with pytest.raises(hr.Error, match=path):
            CellMapDataset(path, "", CLASSES, {"raw": BOX}, {"gt": BOX})
    for sampler in (torch.utils.data.RandomSampler(range(9)), [1, 2]):
        with pytest.raises(hr.UnsupportedError, match="ClassBalancedSampler"):
            CellMapDataLoader(world.dataset(), sampler=sampler)
    with pytest.raises(hr.UnsupportedError, match="is_train=False"):
        CellMapDataLoader(torch.utils.data.Subset(range(9), [1]))
    with pytest.raises(hr.InvalidArgumentError, match="spatial_transforms"):
        CellMapMultiDataset([world.dataset(), world.dataset(1, spatial_transforms={"transpose": True})])


def test_small_crops_are_left_out_or_refused(world: World, tmp_path: Path) -> None:
    small = tmp_path / "small" / "er"
    write_image(small, 2, {"s0": (numbers((5, 24, 30), 0), 8, [0, 0, 0])})
    words: dict[str, Any] = {"classes": CLASSES, "input_arrays": {"raw": BOX}, "target_arrays": {"gt": BOX}}
    one = CellMapDataset(world.paths[0][0], str(small), **words)
    with pytest.raises(hr.InvalidArgumentError, match="larger than this volume"):
        CellMapDataLoader(one, iterations_per_epoch=4)
    with pytest.warns(hr.HeadraceWarning, match="1 of 2 volumes"):
        loader = CellMapDataLoader([one, world.dataset()], batch_size=4, iterations_per_epoch=8)
    for batch in loader:
        check(world, batch)
    padded = [CellMapDataset(world.paths[0][0], str(small), **words, pad=True), world.dataset(pad=True)]
    with pytest.raises(hr.UnsupportedError, match="pad=False"):
        CellMapDataLoader(padded, iterations_per_epoch=8)
    CellMapDataLoader(world.dataset(pad=True), iterations_per_epoch=8)


def test_objects_of_cellmap_data_are_taken_over(world: World) -> None:
    same = {"classes": CLASSES, "input_arrays": {"raw": BOX}, "target_arrays": {"gt": BOX}, "pad": False}
    none = dict.fromkeys(("raw_value_transforms", "target_value_transforms", "spatial_transforms_config"))
    theirs = [
        SimpleNamespace(raw_path=raw, target_path=target, force_has_data=False, **same, **none)
        for raw, target in world.paths
    ]
    for dataset in (SimpleNamespace(datasets=theirs), theirs):
        check(world, next(iter(CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8))))
    check(world, next(iter(CellMapDataLoader(theirs[0], batch_size=4, iterations_per_epoch=8))))
    patches = hr.open_volume(world.paths[0][0], {"raw": "s0"}).patches((8, 8, 8), 12)
    batch = next(iter(CellMapDataLoader(patches, batch_size=4)))
    assert list(batch) == ["raw"] and batch["raw"].dtype == torch.uint8
    with pytest.raises(hr.InvalidArgumentError, match=r"volume\.patches"):
        CellMapDataLoader(patches, weighted_sampler=True)
    with pytest.raises(hr.InvalidArgumentError, match="not a set"):
        CellMapDataLoader({1})


def test_a_split_of_a_table(world: World, tmp_path: Path) -> None:
    (raw, target), (other_raw, other_target) = world.paths
    table = tmp_path / "split.csv"
    store, group = raw.split("/recon-1/")
    rows = [f'train,{store},recon-1/{group},{target.split("/[")[0]},"[mito,er]"', "# a remark", ""]
    table.write_text("\n".join([*rows, f'validate,{other_raw},"{other_target}"']))
    words: dict[str, Any] = {"classes": CLASSES, "input_arrays": {"raw": BOX}, "target_arrays": {"gt": BOX}}
    split = CellMapDataSplit(csv_path=table, target_value_transforms=None, **words)
    loader = CellMapDataLoader(split.train_datasets_combined, batch_size=4, iterations_per_epoch=8)
    check(world, next(iter(loader)))
    for batch in CellMapDataLoader(split.validation_blocks, batch_size=4, is_train=False):
        batch["idx"] += len(loader.dataset)
        check(world, batch)
    binary = CellMapDataSplit(dataset_dict={"train": [{"raw": raw, "gt": target}]}, **words)
    assert set(binary.train_datasets[0][0]["gt"].unique().tolist()) == {0, 1}
    given = CellMapDataSplit(datasets={"train": [world.dataset()]}, **words)
    assert len(given.train_datasets_combined) == len(loader.dataset)
    table.write_text(f"train,{raw},{target}")
    with pytest.raises(hr.InvalidArgumentError, match="line 1: a row has 3 or 5 columns, not 4"):
        CellMapDataSplit(csv_path=table, **words)
    with pytest.raises(hr.InvalidArgumentError, match="Give one"):
        CellMapDataSplit(**words)


def test_links_are_kept_for_the_next_run_unless_there_is_no_cache(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = world.both().volume.files
    assert all(Path(folder).is_relative_to(tmp_path / "cache" / "crops") for folder in folders)
    assert world.both().volume.files == folders
    monkeypatch.setenv("HEADRACE_CACHE", "off")
    dataset = world.both()
    assert not Path(dataset.volume.files[0]).is_relative_to(tmp_path)
    check(world, next(iter(CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=8))))


def test_inputs_of_a_coarser_scale(world: World) -> None:
    wide = {"shape": (6, 8, 6), "scale": (16, 16, 16)}
    inputs = {"wide": wide, "raw": BOX, "again": BOX}
    dataset = world.both(input_arrays=inputs, spatial_transforms={"mirror": {"axes": {"x": 0.5}}})
    coarse = numbers((25, 22, 30), 5)
    turned = 0
    for batch in CellMapDataLoader(dataset, batch_size=4, iterations_per_epoch=40):
        assert list(batch) == ["idx", "wide", "raw", "again", "gt"] and batch["again"] is batch["raw"]
        for idx, raw, seen in zip(batch["idx"].tolist(), batch["raw"], batch["wide"], strict=True):
            number = int(idx >= 13 * 17 * 23)
            at = np.array(np.unravel_index(idx % (13 * 17 * 23), (13, 17, 23))) + world.begin[number]
            start = np.floor((at + 4) / 2 - np.array(wide["shape"]) / 2 + 0.5).astype(int)
            assert (start >= 0).all() and (start + wide["shape"] <= coarse.shape).all()
            want = coarse[tuple(map(slice, start, start + wide["shape"]))]
            is_turned = not np.array_equal(raw[0], world.sample(idx)[0])
            np.testing.assert_array_equal(seen[0], want[..., ::-1] if is_turned else want)
            turned += is_turned
    assert 5 < turned < 35
