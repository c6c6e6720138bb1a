"""bench beside rivals where samples lie along several axes: rivals load the same samples, each once."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace._bench import rivals as bench_rivals
from headrace._bench.compare import Contestant, Settings, compare

FIELDS = {"x": "segments"}
EXTENTS = ((7, 5, 3), (2, 4, 3))  # (recordings, long, short) of two files


@pytest.fixture(scope="module", params=[None, (2, 3, 1, 4, 1)], ids=["contiguous", "chunked"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, random = tmp_path_factory.mktemp("cells"), np.random.default_rng(5)
    for number, extents in enumerate(EXTENTS):
        with h5py.File(folder / f"mel_{number}.h5", "w") as file:
            x = random.normal(size=(*extents, 4, 1)).astype(np.float32)
            file.create_dataset("segments", data=x, chunks=request.param)
            file["labels"] = np.arange(extents[0]).astype(np.int32) + 10 * number
            file["long"] = random.integers(0, 99, extents[:2])
    return folder


def opened(folder: Path) -> hr.Dataset:
    broadcast = {"y": "labels", "z": "long"}
    return hr.open(str(folder / "mel_*.h5"), fields=FIELDS, sample_axes=3, broadcast=broadcast)


def rows_of(data: hr.Dataset) -> bench_rivals.Rows:
    return Contestant("h5py", "", "train", hr.Loader(data, 20)).rows()


@pytest.mark.parametrize("name", list(bench_rivals.RIVALS))
@pytest.mark.parametrize("size", [1, 16, 20, 500])
def test_every_rival_delivers_every_sample_once(folder: Path, name: str, size: int) -> None:
    rival = bench_rivals.RIVALS[name]
    for package in rival.packages:
        pytest.importorskip(package, reason=f"the rival {name} needs {package}")
    data = opened(folder)
    rows = rows_of(data)
    bench_rivals.check(rows)
    batches = list(rival.start(rows, size, shuffled=False, workers=0, memory=1 << 30))
    for field, values in data[:].items():
        found = np.concatenate([np.asarray(batch[field]) for batch in batches])
        assert np.array_equal(found, values), field


def test_a_selection_of_samples_is_no_rivals(folder: Path) -> None:
    with pytest.raises(bench_rivals.CannotError, match="a selection"):
        bench_rivals.check(rows_of(opened(folder).select(slice(0, 40))))


def test_a_chunk_is_so_many_samples(folder: Path) -> None:
    chunk_rows = [column.chunk_rows for column in rows_of(opened(folder)).columns]
    chunked = opened(folder).fields["x"].chunks is not None
    assert chunk_rows == [30 if chunked else 15, 15, 15]


def test_rivals_take_part(folder: Path) -> None:
    pytest.importorskip("torch", reason="two of the rivals are torch's")
    settings = Settings(against=("h5py", "torch"), workers=(0,), epochs=2, rounds=1, seconds=4.0)
    data = compare([("train", hr.Loader(opened(folder), 20, shuffle=True, memory="64MiB"))], settings).to_dict()
    names = [contestant["name"] for contestant in data["contestants"]]
    assert {"headrace", "h5py", "torch-slices"} <= set(names), data["skipped"]
    assert all(contestant["samples"] == 129 for contestant in data["contestants"])
