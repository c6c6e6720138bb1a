"""Data sets and loaders pickle as recipes, for spawned workers."""

from __future__ import annotations

import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr


def test_dataset(jets) -> None:
    dataset = jets.open()
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy._opened is None  # nothing is opened before it is used
    assert jets.equals(copy[:], slice(None))
    assert list(copy.fields) == list(dataset.fields)
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(dataset))))
    assert len(again) == len(dataset)


def test_recipe_is_small_and_absolute(jets, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(jets.paths[0].parent)
    data = pickle.dumps(hr.open("train_0.h5", fields=["labels"]))
    assert len(data) < 1000
    monkeypatch.chdir(tmp_path)
    assert len(pickle.loads(data)) == 300


def test_the_files_are_those_of_the_original(tmp_path: Path) -> None:
    """A glob is not expanded anew: a file that appears later does not change the data set."""
    write_h5(tmp_path / "a1.h5", v=np.arange(3))
    data = pickle.dumps(hr.open(str(tmp_path / "a*.h5")))
    write_h5(tmp_path / "a2.h5", v=np.arange(3))
    assert len(pickle.loads(data)) == 3


def test_compound_fields(tmp_path: Path) -> None:
    records = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "<i4"), ("e", "<f8")])
    dataset = hr.open(write_h5(tmp_path / "c.h5", hits=records))
    assert np.array_equal(pickle.loads(pickle.dumps(dataset))[:]["hits.e"], [2.5, 4.5])


def test_a_file_that_is_gone_is_an_error_on_first_use(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "a.h5", v=np.arange(3))
    data = pickle.dumps(hr.open(path))
    path.unlink()
    copy = pickle.loads(data)
    with pytest.raises(hr.FileMissingError):
        len(copy)


def test_closed_does_not_pickle(jets) -> None:
    dataset = jets.open()
    dataset.close()
    with pytest.raises(hr.ClosedError):
        pickle.dumps(dataset)


def test_loader_goes_on_with_the_next_epoch(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, seed=5, memory="64MiB", batch_format="tuple")
    for _ in loader:
        pass
    copy = pickle.loads(pickle.dumps(loader))
    for ours, theirs in zip(loader, copy, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _rows_of(loader: hr.Loader) -> np.ndarray:
    return np.concatenate([batch["y"] for batch in loader])


def test_loader_in_a_spawned_process(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, seed=5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows = pool.apply(_rows_of, (loader,))
    assert np.array_equal(rows, _rows_of(loader))


def test_what_was_made_of_a_data_set_is_pickled_with_it(jets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Selections, splits, columns and mixtures, on top of each other: one recipe."""
    dataset = jets.open()
    halves = dataset.split({"a": 0.5, "b": 0.3}, seed=4)
    mixed = hr.mix({"a": (halves["a"].select(slice(10, 200)), 0.7), "b": (halves["b"], 0.3)}, stop="all")
    made = [halves["a"], halves["b"].select([0, 5, 7]), mixed]
    monkeypatch.chdir(tmp_path)
    for one in made:
        copy = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(one))))
        assert type(copy) is hr.Dataset
        assert repr(copy) == repr(one)
        assert "made of" in repr(copy)
        for name, values in one[:].items():
            assert np.array_equal(copy[:][name], values)
        assert np.array_equal(pickle.loads(pickle.dumps(copy["y"]))[:], one["y"][:])
        first = [batch["y"].tolist() for batch in hr.Loader(one, 50, shuffle=True, seed=2)]
        assert [batch["y"].tolist() for batch in hr.Loader(copy, 50, shuffle=True, seed=2)] == first


def test_a_damaged_pickle_is_refused(jets) -> None:
    make, (_, recipe, _) = jets.open().__reduce__()
    for damaged in (b"", recipe[:-1], recipe + b"x", b"something else"):
        with pytest.raises(hr.InvalidArgumentError, match="pickled"):
            len(make(None, damaged))
