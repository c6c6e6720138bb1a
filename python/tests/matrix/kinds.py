"""A small data set of each kind of sample, with all of its samples as NumPy has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

BATCH = 6
Sample = dict[str, np.ndarray[Any, Any]]
Batch = dict[str, Any]


def samples_of(batch: Batch, names: Iterable[str]) -> list[Sample]:
    """The samples of a batch of any framework, ragged or padded."""
    arrays = {name: np.asarray(values) for name, values in batch.items()}
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = arrays[name]
        if f"{name}.offsets" in arrays:
            at = arrays[f"{name}.offsets"]
            columns[name] = [values[a:b] for a, b in pairwise(at)]
        elif "mask" in arrays and values.shape[:2] == arrays["mask"].shape:
            columns[name] = [one[:n] for one, n in zip(values, arrays["lengths"], strict=True)]
        else:
            columns[name] = list(values)
    return [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]


def key_of(sample: Sample) -> Any:
    """What tells one sample from another: types, shapes and values of all fields."""
    arrays = [(name, np.ascontiguousarray(value)) for name, value in sample.items()]
    return tuple((name, value.dtype.str, np.shape(sample[name]), value.tobytes()) for name, value in arrays)


@dataclass
class Kind:
    """A data set, and what each of its samples has to be."""

    data: hr.Dataset
    samples: list[Sample]  # all there can be, in order; no two are equal
    places: list[tuple[int, ...]]  # what provenance says of each
    groups: list[Any]  # what split(by=) and group_by= keep together
    by: str | int = "file"  # what these groups are called
    numbers: str = "x"  # a field of numbers
    cell: str = "cell"  # a field of whole numbers below 4, or of tokens
    label: str = "label"  # a field with one of 3 classes for each sample, if the kind can have one
    once: bool = True  # an epoch has each sample once
    length: int = 0  # samples of an epoch

    def __post_init__(self) -> None:
        self.length = self.length or len(self.data)

    @cached_property
    def number(self) -> dict[Any, int]:
        """Key of a sample → its number."""
        made = {key_of(sample): number for number, sample in enumerate(self.samples)}
        assert len(made) == len(self.samples)
        return made

    @property
    def names(self) -> list[str]:
        """Names of the fields."""
        return list(self.samples[0])

    @property
    def ragged(self) -> bool:
        """True if samples differ in length."""
        return any(info.ragged for info in self.data.fields.values())

    def numbers_of(self, batches: Iterable[Batch]) -> list[list[int]]:
        """Numbers of the samples of each batch; every value is compared, as no sample is like another."""
        return [[self.number[key_of(one)] for one in samples_of(batch, self.names)] for batch in batches]

    def loader(self, data: hr.Dataset | None = None, **words: Any) -> hr.Loader:
        """A loader of the data set that shuffles."""
        how = {"batch_size": BATCH, "shuffle": True, "seed": 5, "threads": 1, "memory": "64MiB", **words}
        return hr.Loader(data or self.data, **{name: value for name, value in how.items() if value is not None})

    @cached_property
    def epoch(self) -> list[Batch]:
        """The first epoch of such a loader that keeps nothing."""
        with self.loader(cache="none") as loader:
            batches = [{name: np.array(values) for name, values in batch.items()} for batch in loader]
        delivered = list(chain(*self.numbers_of(batches)))
        assert len(delivered) == self.length
        assert not self.once or sorted(delivered) == list(range(len(self.samples)))
        assert len(batches) > 2
        return batches


def unique(count: int, *shape: int, first: int = 0) -> np.ndarray[Any, Any]:
    """Numbers of which no two are equal."""
    values = np.arange(first, first + count * int(np.prod(shape, initial=1)), dtype="f4")
    return values.reshape(count, *shape)


def table(count: int, first: int = 0) -> Sample:
    """Fields of rows or of events."""
    number = np.arange(first, first + count)
    return {"label": (number * 7 % 3).astype("i4"), "group": (number // 5).astype("i4")}


def picked(columns: Sample, names: Iterable[str]) -> list[Sample]:
    """Rows of a table."""
    return [{name: columns[name][i] for name in names} for i in range(len(next(iter(columns.values()))))]


def _h5(path: Path, **arrays: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in arrays.items():
            packed = {"chunks": (min(8, len(values)), *values.shape[1:]), "compression": "gzip"}
            file.create_dataset(name, data=values, **packed)
    return path


def rows(folder: Path, ending: str = "h5") -> Kind:
    """Rows of two files."""
    shape = () if ending == "parquet" else (3,)
    names, samples, places = ["x", "cell", "label", "group"], [], []
    for number, count in enumerate((25, 20)):
        columns = {"x": unique(count, *shape, first=1000 * number), "cell": (np.arange(count) % 4).astype("i4")}
        columns |= table(count, 25 * number)
        path = folder / f"rows_{number}.{ending}"
        if ending == "parquet":
            pq.write_table(pa.table(columns), path, row_group_size=10)
        else:
            _h5(path, **columns)
        samples += picked(columns, names)
        places += [(number, row) for row in range(count)]
    groups = [int(one["group"]) for one in samples]
    return Kind(hr.open(folder / f"rows_*.{ending}", names), samples, places, groups, "group")


def parquet(folder: Path) -> Kind:
    """Rows of Parquet files."""
    return rows(folder, "parquet")


def axes(folder: Path) -> Kind:
    """Places along three axes, with labels of whole recordings."""
    samples, places, groups = [], [], []
    for number, count in enumerate((6, 5)):
        x, one = unique(count, 3, 2, 4, first=1000 * number), table(count, 6 * number)
        cell = (np.arange(count) % 4).astype("i4")
        _h5(folder / f"mel_{number}.h5", x=x, cell=cell, label=one["label"])
        every = np.repeat(np.arange(count), 6)
        columns = {"x": x.reshape(-1, 4), "cell": cell[every], "label": one["label"][every]}
        samples += picked(columns, columns)
        places += [(number, row) for row in range(count * 6)]
        groups += (every + 6 * number).tolist()
    data = hr.open(folder / "mel_*.h5", ["x"], sample_axes=3, broadcast={"cell": "cell", "label": "label"})
    return Kind(data, samples, places, groups, 0)


def windows(folder: Path) -> Kind:
    """Windows of 4 rows that do not overlap."""
    samples, places = [], []
    for number, count in enumerate((64, 48)):
        columns = {"x": unique(count, first=1000 * number), "cell": (np.arange(count) % 4).astype("i4")}
        _h5(folder / f"signal_{number}.h5", **columns)
        for at in range(0, count, 4):
            samples.append({name: values[at : at + 4] for name, values in columns.items()})
            places.append((number, at))
    data = hr.open(folder / "signal_*.h5", ["x", "cell"]).windows(4)
    return Kind(data, samples, places, [file for file, _ in places], label="cell")


def _corpus(folder: Path) -> tuple[hr.Tokens, list[np.ndarray[Any, Any]], list[int]]:
    """Documents in two files of tokens, and where in them each begins."""
    lengths = [1 + number * 5 % 11 for number in range(30)]
    begin = np.cumsum([0, *lengths])
    documents = [np.arange(begin[i], begin[i + 1], dtype="u2") for i in range(30)]
    with hr.tokens.Writer(folder / "corpus", vocab_size=5000, shard_tokens=100) as writer:
        writer.write_all(documents)
    return hr.open_tokens(folder / "corpus"), documents, lengths


def token_windows(folder: Path) -> Kind:
    """Windows of 4 tokens and the next one, of a corpus of documents."""
    tokens, documents, _ = _corpus(folder)
    samples, places, ids, first = [], [], np.concatenate(documents), 0
    for number, file in enumerate(tokens.files):
        for at in range(0, file.rows - 4, 4):
            samples.append({"tokens": ids[first + at : first + at + 5]})
            places.append((number, at))
        first += file.rows
    names = {"numbers": "tokens", "cell": "tokens", "label": "tokens"}
    return Kind(tokens.windows(4, lookahead=1), samples, places, [file for file, _ in places], **names)


def documents(folder: Path) -> Kind:
    """Documents, which differ in length."""
    tokens, ids, lengths = _corpus(folder)
    ends = np.cumsum([file.rows for file in tokens.files])
    places = []
    for begin in np.cumsum([0, *lengths])[:-1]:
        file = int(np.searchsorted(ends, begin, side="right"))
        places.append((file, int(begin - (ends[file - 1] if file else 0))))
    names = {"numbers": "tokens", "cell": "tokens", "label": "tokens"}
    samples = [{"tokens": one} for one in ids]
    return Kind(tokens.documents(), samples, places, [file for file, _ in places], **names)
