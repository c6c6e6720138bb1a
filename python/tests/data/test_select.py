"""Selections and splits: rows of a data set as data sets of their own."""

from __future__ import annotations

import json
import pickle

import h5py
import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast


def rows_of(loader: hr.Loader) -> list[int]:
    return [row for batch in loader for row in batch["y"][batch.get("_weight", np.ones(len(batch["y"]))) > 0].tolist()]


def random_rows(seed: int, total: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    share = random.choice([0.01, 0.3, 0.9])
    rows = np.flatnonzero(random.random(total) < share)
    return rows if len(rows) else np.array([total // 2])


@pytest.mark.parametrize("seed", range(12))
def test_a_selection_is_what_numpy_would_choose(jets, seed) -> None:
    rows = random_rows(seed, len(jets))
    one = jets.open().select(rows)
    assert len(one) == len(rows)
    assert jets.equals(one[:], rows)
    assert jets.equals(one[::-1], rows[::-1])
    assert one[-1]["y"] == rows[-1]
    assert one["y"][:].tolist() == rows.tolist()
    assert [sample["y"] for sample in one] == rows.tolist()
    assert one.selected_rows.tolist() == rows.tolist()
    assert sum(info.rows for info in one.files) == len(rows)
    again = random_rows(seed + 100, len(rows))
    assert one.select(again)[:]["y"].tolist() == rows[again].tolist()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_loaders_deliver_a_selection_once(jets, seed, shuffle) -> None:
    rows = random_rows(seed, len(jets))
    one = jets.open().select(rows)
    loader = hr.Loader(one, 32, shuffle=shuffle, seed=seed, provenance=True)
    got = []
    for batch in loader:
        assert jets.equals(batch, batch["y"])
        starts = np.array([0, 300, 556])
        assert (starts[batch["_rows"][:, 0]] + batch["_rows"][:, 1] == batch["y"]).all()
        got += batch["y"].tolist()
    assert sorted(got) == rows.tolist()
    assert (got == rows.tolist()) == (not shuffle or len(rows) == 1)
    assert loader.report().to_dict()["exactly_once"] is True
    tiny = hr.Loader(one, 32, shuffle=shuffle, seed=seed, memory="1MiB", threads=1)
    assert rows_of(tiny) == got
    parts = (
        [hr.Loader(one, 8, shuffle=shuffle, seed=seed, rank=r, world_size=4) for r in range(4)] if len(got) > 4 else []
    )
    assert sorted(row for part in parts for row in rows_of(part)) == (rows.tolist() if parts else [])


def test_masks_and_slices(jets) -> None:
    data = jets.open()
    mask = jets.y % 7 == 3
    assert data.select(mask)["y"][:].tolist() == np.flatnonzero(mask).tolist()
    assert data.select(slice(10, 500, 9))["y"][:].tolist() == list(range(10, 500, 9))
    assert "selected from 633 rows" in repr(data.select(mask))
    assert "selection" in hr.Loader(data.select(mask), 8).explain()


def test_what_cannot_be_selected(jets) -> None:
    data = jets.open()
    with pytest.raises(hr.InvalidArgumentError, match="no rows"):
        data.select([])
    for rows in ([5, 2], [3, 3], slice(10, 0, -1)):
        with pytest.raises(hr.InvalidArgumentError, match=r"must ascend.*[\s\S]*sampler"):
            data.select(rows)
    with pytest.raises(hr.IndexOutOfRangeError):
        data.select([0, 633])
    with pytest.raises(hr.IndexOutOfRangeError, match="mask"):
        data.select(np.ones(5, bool))
    with pytest.raises(TypeError):
        data.select("x")


def test_a_state_belongs_to_its_selection(jets) -> None:
    data = jets.open()
    one, other = data.select(jets.y % 2 == 0), data.select(slice(0, 317))
    assert len(one) == len(other) == 317
    loader = hr.Loader(one, 32, shuffle=True)
    batches = iter(loader)
    first = next(batches)["y"].tolist()
    state = json.loads(json.dumps(loader.state_dict()))
    again = hr.Loader(jets.open().select(jets.y % 2 == 0), 32, shuffle=True, threads=1)
    again.load_state_dict(state)
    assert sorted(first + rows_of(again)) == list(range(0, 633, 2))
    with pytest.raises(hr.InvalidArgumentError, match="data"):
        hr.Loader(other, 32, shuffle=True).load_state_dict(state)


def test_selections_are_pickled(jets) -> None:
    one = jets.open().select(jets.y % 5 == 1)
    recipe = pickle.dumps(one)
    assert len(recipe) < 2000
    copy = pickle.loads(recipe)
    assert pickle.loads(pickle.dumps(copy))["y"][:].tolist() == one["y"][:].tolist()
    assert copy["y"][:].tolist() == one["y"][:].tolist()
    assert pickle.loads(pickle.dumps(one["y"]._dataset))[:]["y"].tolist() == one["y"][:].tolist()
    loader = pickle.loads(pickle.dumps(hr.Loader(one, 50, shuffle=True, seed=1)))
    assert sorted(rows_of(loader)) == list(range(1, 633, 5))


def test_a_split_by_rows(jets) -> None:
    data = jets.open()
    parts = data.split({"train": 0.7, "val": 0.2, "test": 0.1}, seed=1)
    assert list(parts) == ["train", "val", "test"]
    rows = {name: set(part.selected_rows.tolist()) for name, part in parts.items()}
    assert [len(r) for r in rows.values()] == [443, 127, 63]
    assert set.union(*rows.values()) == set(range(633))
    again = data.split({"train": 0.7, "val": 0.2, "test": 0.1}, seed=1)
    assert rows == {name: set(part.selected_rows.tolist()) for name, part in again.items()}
    other = data.split({"train": 0.7, "val": 0.2, "test": 0.1}, seed=2)
    assert rows["val"] != set(other["val"].selected_rows.tolist())
    few = data.split({"a": 0.1, "b": 0.2})
    assert (len(few["a"]), len(few["b"])) == (63, 127)
    assert not set(few["a"].selected_rows.tolist()) & set(few["b"].selected_rows.tolist())
    nested = parts["train"].split({"x": 0.5, "y": 0.5})
    assert set(nested["x"].selected_rows.tolist()) | set(nested["y"].selected_rows.tolist()) == rows["train"]


def test_few_rows_are_split_without_a_word_about_files(jets, recwarn) -> None:
    parts = jets.open().select([1, 2, 3]).split({"a": 0.5, "b": 0.5})
    assert sorted(map(len, parts.values())) == [1, 2]
    assert not recwarn.list


def test_a_split_by_classes(tmp_path) -> None:
    random = np.random.default_rng(5)
    classes = np.sort(random.choice([0, 1, 2, 9], size=1000, p=[0.6, 0.3, 0.09, 0.01]))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["row"] = np.arange(1000)
        file["label"] = classes
        file["hot"] = np.eye(10, dtype=np.int8)[classes]
    data = hr.open(tmp_path / "a.h5")
    for field in ("label", "hot"):
        parts = data.split({"train": 0.8, "val": 0.15}, seed=3, stratify=field)
        assert [len(part) for part in parts.values()] == [800, 150]
        for share, part in zip((0.8, 0.15), parts.values(), strict=True):
            counts = np.bincount(classes[part.selected_rows.astype(int)], minlength=10)
            assert np.abs(counts - share * np.bincount(classes, minlength=10)).max() < 2
    with pytest.raises(hr.FieldMissingError, match="label"):
        data.split({"train": 0.8}, stratify="labl")


def test_a_split_by_files(tmp_path) -> None:
    for i in range(20):
        with h5py.File(tmp_path / f"f{i}.h5", "w") as file:
            file["file"] = np.full(10 + i, i)
    data = hr.open(str(tmp_path / "f*.h5"))
    parts = data.split({"train": 0.7, "val": 0.2}, seed=4, by="file")
    files = [set(part["file"][:].tolist()) for part in parts.values()]
    assert not files[0] & files[1]
    for share, part in zip((0.7, 0.2), parts.values(), strict=True):
        assert abs(len(part) - share * len(data)) < 15
        assert all(info.rows in (0, 10 + i) for i, info in enumerate(part.files))
    with pytest.raises(hr.InvalidArgumentError, match="whole"):
        data.split({"train": 0.7}, by="file", stratify="file")
    with pytest.raises(hr.InvalidArgumentError, match="too few"):
        data.split({str(i): 0.04 for i in range(25)}, by="file")


def test_a_split_by_files_of_very_unequal_length(tmp_path) -> None:
    for i, rows in enumerate((1000, 10, 10, 10, 10)):
        with h5py.File(tmp_path / f"f{i}.h5", "w") as file:
            file["file"] = np.full(rows, i)
    data = hr.open(str(tmp_path / "f*.h5"))
    for seed in range(5):
        parts = data.split({"val": 0.03, "train": 0.97}, seed=seed, by="file")
        assert len(parts["val"]) in (30, 40)
    with pytest.warns(hr.HeadraceWarning, match="val 25% instead of 10%"):
        four = data.select(slice(1000, 1040)).split({"train": 0.9, "val": 0.1}, by="file")
    assert [len(part) for part in four.values()] == [30, 10]


@pytest.mark.parametrize(
    ("parts", "words", "match"),
    [
        ({"": 1.0}, {}, "a part has no name"),
        ({}, {}, "no parts"),
        ({"a": 0.8, "b": 0.3}, {}, "add up to 1.1"),
        ({"a": -0.1}, {}, "share of -0.1"),
        ({"a": float("nan")}, {}, "share of nan"),
        ({"a": "much"}, {}, "must be a number"),
        ([0.5, 0.5], {}, "dict"),
        ({"a": 1e-6}, {}, "empty"),
        ({"a": 0.5}, {"seed": -1}, "seed"),
        ({"a": 0.5}, {"stratify": "x"}, "label"),
    ],
)
def test_splits_that_cannot_be(jets, parts, words, match) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=match):
        jets.open().split(parts, **words)


def test_a_part_has_a_name_in_a_run_file_too(jets, tmp_path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        f"data: {{files: '{jets.glob}', split: {{parts: {{'': 0.5, a: 0.5}}, take: a}}}}\nloader: {{batch_size: 8}}\n"
    )
    with pytest.raises(hr.InvalidArgumentError, match="a part has no name"):
        hr.load_run(run)
