"""Dataset: what a sample is. Opening reads metadata only; rows are read when asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, overload

import numpy as np

from headrace import _display, _headrace
from headrace._checks import field_choices, path_list
from headrace._index import is_row_number, row_number, row_numbers
from headrace.column import Column
from headrace.errors import ClosedError
from headrace.fields import FieldInfo, FileInfo

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Fields = Mapping[str, str] | Sequence[str] | None
Sample = dict[str, Any]


def open(paths: Paths, fields: Fields = None) -> Dataset:
    """Open HDF5 files as one data set: the rows of all files, one after the other.

    Reads metadata only (blocks on storage; the GIL is released).

    Args:
        paths: A path, a glob (``~``, ``*``, ``?``, ``[a-z]``, ``**``; ordered naturally, so ``f2`` before ``f10``),
            or a list of them, which keeps its order. The order of the files is part of the data set's identity.
        fields: Which arrays make up a sample: a dict (name in a batch → path in the file), a list of paths, or None
            for all arrays with the common number of rows in the root, or in the only group. A compound array gives
            one field for each member, named ``"array.member"``.

    Returns:
        The data set.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        FieldMissingError: A file has no such array; the text lists those there are, nearest name first.
        CorruptDataError: A file is not HDF5, truncated, or damaged.
        UnsupportedError: A file or array cannot be read by this build; the text says what would help.
        InvalidArgumentError: Arrays disagree in rows or type, names clash, or an argument is of a wrong kind.
    """
    return Dataset(path_list(paths), field_choices(fields))


class Dataset:
    """Samples in files, by number. Made by :func:`headrace.open`.

    ``ds[5]`` and ``ds[-1]`` are samples: a dict with one array for each field, of that field's ``shape`` (a NumPy
    scalar where the shape is empty). ``ds[100:200]``, ``ds[::10]``, ``ds[[7, 3, 3]]`` and ``ds[mask]`` are several:
    arrays of shape ``(n, *shape)``, in the order asked for. ``ds["x"]`` is a column that is read when sliced. Iterating
    yields samples and reads block by block. Arrays are the caller's own and writable; dtypes are as stored, in native
    byte order.

    Use as a context manager or call :meth:`close`; it is also closed when nothing refers to it. Pickles as its recipe
    (absolute paths and fields), and opens the files again on first use. May be used from any thread. Reading blocks;
    the GIL is released meanwhile.
    """

    def __init__(self, paths: list[bytes], choices: list[tuple[str, str]], *, lazy: bool = False) -> None:
        """Use :func:`headrace.open`."""
        self._paths = paths
        self._choices = choices
        self._columns: dict[str, Dataset] = {}
        self._closed = False
        self._opened: _headrace.Dataset | None = None if lazy else _headrace.open(paths, choices)

    @property
    def _native(self) -> _headrace.Dataset:
        if self._opened is None:
            if self._closed:
                raise ClosedError("the data set was closed")
            self._opened = _headrace.open(self._paths, self._choices)
        return self._opened

    def __len__(self) -> int:
        return len(self._native)

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """Name → :class:`FieldInfo`, in batch order."""
        entries = (dict(entry) for entry in self._native.fields())
        infos = (FieldInfo(dtype=np.dtype(entry.pop("typestr")), **entry) for entry in entries)
        return MappingProxyType({info.name: info for info in infos})

    @property
    def attrs(self) -> Mapping[str, Mapping[str, str]]:
        """Name → attributes of that field's array in the first file, as text."""
        native = self._native
        return MappingProxyType({name: native.attributes(i) for i, name in enumerate(self.fields)})

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """Path and number of rows of each file, in order."""
        return tuple(FileInfo(os.fsdecode(path), rows) for path, rows in self._native.files())

    @property
    def sample_bytes(self) -> int:
        """Bytes a sample, over all fields."""
        return self._native.sample_bytes()

    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: Any) -> Sample: ...
    def __getitem__(self, key: Any) -> Column | Sample:
        if isinstance(key, str):
            return self._column(key)
        native = self._native
        total = len(native)
        if is_row_number(key):
            return {name: values[0] for name, values in native.rows(row_number(key, total), 1).items()}
        if isinstance(key, slice):
            first, stop, step = key.indices(total)
            if step == 1:
                return native.rows(first, max(0, stop - first))
            return native.take(np.arange(first, stop, step).astype(np.uint64))
        return native.take(row_numbers(key, total))

    def __iter__(self) -> Iterator[Sample]:
        native = self._native
        step = max(1, native.block_rows())
        begin = 0
        for _, rows in native.files():  # blocks do not cross files
            for first in range(begin, begin + rows, step):
                count = min(step, begin + rows - first)
                block = native.rows(first, count)
                for i in range(count):
                    yield {name: values[i] for name, values in block.items()}
            begin += rows

    def _column(self, name: str) -> Column:
        if name not in self._columns:
            one = Dataset(self._paths, [(name, self.fields[name].path)] if name in self.fields else [], lazy=True)
            one._opened = self._native.choose([name])  # the engine's error lists the names there are
            self._columns[name] = one
        one = self._columns[name]
        return Column(one, one.fields[name], dict(one.attrs[name]))

    @property
    def closed(self) -> bool:
        """Was it closed?"""
        return self._closed

    def close(self) -> None:
        """Close the files. Later reads raise :class:`ClosedError`; loaders made from it go on. May be called twice."""
        self._closed = True
        if self._opened is not None:
            self._opened.close()
        for column in self._columns.values():
            column.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.closed:
            raise ClosedError("a closed data set cannot be pickled")
        if self._opened is None:
            return _reopen_later, (self._paths, self._choices)
        paths = [os.fsencode(Path(info.path).absolute()) for info in self.files]
        return _reopen_later, (paths, [(info.name, info.path) for info in self.fields.values()])

    def __repr__(self) -> str:
        return "<headrace.Dataset, closed>" if self.closed else self._native.describe()

    def _repr_html_(self) -> str:
        return _display.dataset_html(self)


def _reopen_later(paths: list[bytes], choices: list[tuple[str, str]]) -> Dataset:
    return Dataset(paths, choices, lazy=True)
