"""Windows that cannot be, and what cannot be done with windows: errors that name them."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast


def test_windows_that_cannot_be(corpus: str, tmp_path: Path) -> None:
    data = hr.open(corpus)
    for words, message in (
        ({"length": 0}, "length must be a whole number of at least 1, not 0"),
        ({"length": 8, "stride": 0}, "stride must be a whole number of at least 1"),
        ({"length": 8, "lookahead": -1}, "lookahead must be a whole number from 0 to"),
        ({"length": 1300, "lookahead": 1}, "a window of 1,301 rows is longer than every file; the longest has 1,300"),
        ({"length": 3000, "across_files": True}, "a window of 3,000 rows is longer than the data: 2,248 rows"),
        ({"length": 2**33}, r"longer than 2\^32"),
        ({"length": 8, "rest": "fill"}, "rest must be one of 'drop', not 'fill'"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=message):
            data.windows(**words)
    for other, message in (
        (data.map(T.Cast("corpus", dtype="int64")), "windows of transformed rows"),
        (hr.mix({"a": data, "b": data}), "windows of a mixture"),
        (data.windows(8), r"windows\(\) of windows"),
    ):
        with pytest.raises(hr.UnsupportedError, match=message):
            other.windows(8)
    with pytest.raises(hr.InvalidArgumentError, match="Make windows, then map them"):
        data.map(lambda batch: batch).windows(8)
    with h5py.File(tmp_path / "mel.h5", "w") as file:
        file["mel"] = np.zeros((4, 5, 6))
    with pytest.raises(hr.UnsupportedError, match="several axes"):
        hr.open(tmp_path / "mel.h5", fields=["mel"], sample_axes=2).windows(2)
    closed = hr.open(corpus)
    closed.close()
    with pytest.raises(hr.ClosedError):
        closed.windows(8)


def test_what_windows_cannot_says_so(corpus: str) -> None:
    data = hr.open(corpus).windows(8)
    for call in (
        lambda: data.split({"a": 0.5, "b": 0.5}, stratify="corpus"),
        lambda: data.sample_index(),
        lambda: hr.Loader(data, 4, sampler=hr.Balanced("corpus")),
    ):
        with pytest.raises(hr.Error, match="windows"):
            call()


def test_text_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("name", data=["top", "qcd"] * 20, dtype=h5py.string_dtype())
    with pytest.raises(hr.Error, match="name"):
        hr.open(tmp_path / "a.h5", fields=["name"]).windows(4)


def test_a_file_that_grew_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(20_000), chunks=(100,), maxshape=(None,), compression="gzip")
    loader = hr.Loader(hr.open(path).windows(50), 4, threads=1, memory="300KiB")
    batches = iter(loader)
    next(batches)
    with h5py.File(path, "r+") as file:
        file["x"].resize((30_000,))
        file["x"][20_000:] = 7
    with pytest.raises(hr.FileChangedError):
        list(batches)


def test_ranks_without_a_window(one: hr.Dataset) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="2 samples are too few for 4 ranks"):
        hr.Loader(one.windows(500), 4, rank=0, world_size=4)
    with pytest.warns(hr.HeadraceWarning, match="fewer samples than there are ranks"):
        loaders = [hr.Loader(one.windows(250), 1, rank=rank, world_size=4) for rank in range(4)]
    steps = [list(loader) for loader in loaders]
    assert [sum(float(b["_weight"].sum()) for b in of_rank) for of_rank in steps] == [2, 1, 1, 1]
    assert all(len(batch["tokens"]) == 1 for of_rank in steps for batch in of_rank)
