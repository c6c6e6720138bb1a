"""The other ways to load the same rows that ``bench`` compares with, each as its users would write it at its best."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace._bench.cells import as_rows

_UNIT_ROWS = 1024  # what the recipe reads at once, as whole chunks
_UNIT_BYTES = 64 << 20  # but no more than this
_UNITS = 10  # in a worker's cache
_CHECKED_FILES = 64
_LEAST_CACHE_BYTES = 1 << 20
Columns = dict[str, Any]


def _h5py() -> Any:
    return importlib.import_module("h5py")  # when it is needed: Headrace does without


class CannotError(Exception):
    """A rival cannot load these data; the text is the reason."""


@dataclass(frozen=True)
class Column:
    """A field as the file has it."""

    name: str
    path: str
    dtype: str
    shape: tuple[int, ...]
    chunk_rows: int  # 1 where it is contiguous

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True)
class Rows:
    """The rows to load: files with their numbers of rows, and columns. Plain values, so that it can be pickled."""

    files: tuple[tuple[str, int], ...]
    columns: tuple[Column, ...]
    extents: tuple[tuple[int, ...], ...] = ()  # of the axes that count samples in each file; none: the first axis does

    def array(self, dataset: Any, column: Column, index: int) -> Any:
        """Return a column's array in a file (a dataset of h5py) as one whose entries are samples."""
        return as_rows(dataset, self.extents[index] if self.extents else (), len(column.shape))

    @property
    def row_bytes(self) -> int:
        """Bytes of a sample."""
        return sum(column.row_bytes for column in self.columns)

    def slices(self, size: int) -> list[tuple[int, int, int]]:
        """Contiguous (file, first, end) of at most so many rows; none crosses files."""
        found = []
        for index, (_, rows) in enumerate(self.files):
            found += [(index, start, min(start + size, rows)) for start in range(0, rows, size)]
        return found

    def chunk_cache_bytes(self, size: int) -> int:
        """HDF5's chunk cache: none where slices of ``size`` rows are whole chunks, else room for two of each."""
        cut = [column for column in self.columns if size % column.chunk_rows]
        return max((max(2 * c.chunk_rows * c.row_bytes, _LEAST_CACHE_BYTES) for c in cut), default=0)

    def unit_rows(self) -> int:
        """Rows that the recipe reads at once: whole chunks, about a thousand rows."""
        chunk = max(column.chunk_rows for column in self.columns)
        most = min(_UNIT_ROWS, max(_UNIT_BYTES // max(self.row_bytes, 1), 1))
        return chunk * max(most // chunk, 1)


class Handles:
    """Datasets of each file, opened at first use in a process and kept open: a handle must not cross a fork."""

    def __init__(self, rows: Rows, cache_bytes: int) -> None:
        self.rows, self.cache_bytes = rows, cache_bytes
        self._open: dict[int, dict[str, Any]] = {}

    def of(self, index: int) -> dict[str, Any]:
        """The datasets of a file by field."""
        if index not in self._open:
            file = _h5py().File(self.rows.files[index][0], "r", rdcc_nbytes=self.cache_bytes)
            self._open[index] = {
                column.name: self.rows.array(file[column.path], column, index) for column in self.rows.columns
            }
        return self._open[index]

    def read(self, index: int, start: int, end: int) -> Columns:
        """Rows of one file as fresh arrays."""
        batch = {}
        for name, dataset in self.of(index).items():
            values = np.empty((end - start, *dataset.shape[1:]), dataset.dtype)
            dataset.read_direct(values, np.s_[start:end])
            batch[name] = values
        return batch


def check(rows: Rows) -> None:
    """Raise CannotError unless h5py reads what Headrace delivers: the same arrays, all rows of them."""
    h5py = _h5py()
    step = max(len(rows.files) // _CHECKED_FILES, 1)
    for index in range(0, len(rows.files), step):
        path, count = rows.files[index]
        try:
            with h5py.File(path, "r") as file:
                for column in rows.columns:
                    dataset = file.get(column.path)
                    if not isinstance(dataset, h5py.Dataset):
                        raise CannotError(f"{path} has no array {column.path} that h5py reads by itself")
                    dataset = rows.array(dataset, column, index)
                    if len(dataset) != count or dataset.shape[1:] != column.shape:
                        raise CannotError(
                            f"samples are not the rows of {column.path}: a selection, or an array of another shape"
                        )
                    if dataset.dtype.newbyteorder("=") != np.dtype(column.dtype):
                        raise CannotError(f"{column.path} is {dataset.dtype} to h5py and {column.dtype} to Headrace")
                    if count:
                        dataset[0]  # the filters are there
        except OSError as error:
            raise CannotError(f"h5py cannot read {path}: {error}") from error


def h5py_slices(rows: Rows, batch_size: int, *, shuffled: bool, workers: int, memory: int) -> Iterable[Columns]:
    """Contiguous slices in file order, in a plain loop."""
    del shuffled, workers, memory
    handles = Handles(rows, rows.chunk_cache_bytes(batch_size))
    return _EachEpoch(lambda: (handles.read(*part) for part in rows.slices(batch_size)))


class _EachEpoch:
    """Something to iterate over again and again."""

    def __init__(self, start: Callable[[], Iterator[Columns]]) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Columns]:
        return self._start()


def _tensors(batch: Columns) -> Columns:
    import torch

    return {name: torch.from_numpy(values) for name, values in batch.items()}


class Slices:
    """Item i is the i-th slice of a batch's size: torch's automatic batching is off."""

    def __init__(self, rows: Rows, size: int) -> None:
        self.handles = Handles(rows, rows.chunk_cache_bytes(size))
        self.parts = rows.slices(size)

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, item: int) -> Columns:
        return _tensors(self.handles.read(*self.parts[item]))


def torch_slices(rows: Rows, batch_size: int, *, shuffled: bool, workers: int, memory: int) -> Iterable[Columns]:
    """Slices in random order: which rows share a batch never changes."""
    del memory
    return data_loader(Slices(rows, batch_size), workers, batch_size=None, shuffle=shuffled)


class SingleRows:
    """Item i is row i over all files: the code of most tutorials, with handles kept open."""

    def __init__(self, rows: Rows) -> None:
        chunks = [2 * column.chunk_rows * column.row_bytes for column in rows.columns]
        self.handles = Handles(rows, max(64 << 20, *chunks))
        self.ends = np.cumsum([count for _, count in rows.files])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, item: int) -> Columns:
        import torch

        index = int(np.searchsorted(self.ends, item, side="right"))
        row = item - (int(self.ends[index - 1]) if index > 0 else 0)
        return {name: torch.as_tensor(dataset[row]) for name, dataset in self.handles.of(index).items()}


def torch_rows(rows: Rows, batch_size: int, *, shuffled: bool, workers: int, memory: int) -> Iterable[Columns]:
    """A row at a time, in a wholly random order."""
    del memory
    return data_loader(SingleRows(rows), workers, batch_size=batch_size, shuffle=shuffled)


class CachedUnits:
    """The known recipe for large chunks: an LRU of decoded runs of rows in each worker, a batch fetched at once."""

    def __init__(self, rows: Rows, kept: int) -> None:
        self.handles = Handles(rows, 0)
        self.parts = rows.slices(rows.unit_rows())
        self.starts = np.concatenate([[0], np.cumsum([end - start for _, start, end in self.parts])])
        self.kept = kept
        self.cache: OrderedDict[int, Columns] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def unit(self, index: int) -> Columns:
        """A decoded run: from the cache, or read now in place of the one used longest ago."""
        if index in self.cache:
            self.cache.move_to_end(index)
            return self.cache[index]
        if len(self.cache) >= self.kept:
            self.cache.popitem(last=False)
        self.cache[index] = self.handles.read(*self.parts[index])
        return self.cache[index]

    def __getitems__(self, items: list[int]) -> Columns:
        wanted = np.sort(np.asarray(items))
        units = np.searchsorted(self.starts, wanted, side="right") - 1
        indices, begins = np.unique(units, return_index=True)
        spans = list(zip(indices.tolist(), begins.tolist(), [*begins[1:].tolist(), len(items)], strict=True))
        batch: Columns = {}
        for index, begin, end in sorted(spans, key=lambda span: span[0] not in self.cache):
            at = wanted[begin:end] - self.starts[index]
            for name, values in self.unit(index).items():
                if name not in batch:
                    batch[name] = np.empty((len(items), *values.shape[1:]), values.dtype)
                np.take(values, at, axis=0, out=batch[name][begin:end], mode="clip")
        return _tensors(batch)


class WindowedOrder:
    """Row numbers that stay inside as many runs as the cache holds: no run is decoded twice in a worker."""

    def __init__(self, data: CachedUnits, shuffled: bool) -> None:
        self.data, self.shuffled = data, shuffled
        self.random = np.random.default_rng(7)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[int]:
        starts = self.data.starts
        units = np.arange(len(starts) - 1)
        if self.shuffled:
            units = self.random.permutation(units)
        for at in range(0, len(units), self.data.kept):
            group = [np.arange(starts[unit], starts[unit + 1]) for unit in units[at : at + self.data.kept]]
            rows = np.concatenate(group)
            yield from (self.random.permutation(rows) if self.shuffled else rows).tolist()


def as_it_is(batch: Columns) -> Columns:
    return batch


def lru_units(rows: Rows, workers: int, memory: int) -> int:
    """Return how many units each worker of ``torch_lru`` keeps."""
    room = memory // 4 // max(workers, 1) // max(rows.unit_rows() * rows.row_bytes, 1)
    return min(_UNITS, max(room, 1))


def lru_rows(rows: Rows, workers: int, memory: int) -> int:
    """Return how many rows the workers of ``torch_lru`` keep together."""
    return lru_units(rows, workers, memory) * rows.unit_rows() * max(workers, 1)


def torch_lru(rows: Rows, batch_size: int, *, shuffled: bool, workers: int, memory: int) -> Iterable[Columns]:
    """An LRU of chunks in each worker, and an order that stays inside it."""
    data = CachedUnits(rows, lru_units(rows, workers, memory))
    order = WindowedOrder(data, shuffled)
    return data_loader(data, workers, batch_size=batch_size, sampler=order, collate_fn=as_it_is)


def data_loader(data: Any, workers: int, **options: Any) -> Iterable[Columns]:
    import torch
    from torch.utils.data import DataLoader

    torch.manual_seed(7)
    return DataLoader(data, num_workers=workers, persistent_workers=workers > 0, **options)


@dataclass(frozen=True)
class Rival:
    """One of the contestants beside Headrace."""

    title: str
    packages: tuple[str, ...]
    start: Callable[..., Iterable[Columns]]
    cached_rows: Callable[[Rows, int, int], int] | None = None  # of rows, workers and memory; None: it keeps none

    @property
    def has_workers(self) -> bool:
        """True if it can be tried with several numbers of worker processes."""
        return "torch" in self.packages


RIVALS = {
    "h5py": Rival("h5py slices, in order", ("h5py",), h5py_slices),
    "torch-slices": Rival("torch + h5py slices", ("h5py", "torch"), torch_slices),
    "torch-lru": Rival("torch + LRU of chunks", ("h5py", "torch"), torch_lru, lru_rows),
    "torch-rows": Rival("torch + h5py rows", ("h5py", "torch"), torch_rows),
}
GROUPS = {"torch": ("torch-slices", "torch-lru")}
