"""Tables of spans that the engine does not read itself: they are kept as files of whole numbers, which it does."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headrace._dataset.spans import SampleWords, Spans, sample_words
from headrace._dataset.table import IN_MEMORY, TablePart, is_csv, is_path, read_table
from headrace._support.cache_home import cache_home
from headrace._support.checks import invalid
from headrace._support.private_folder import PrivateFolder
from headrace.errors import Error, InvalidArgumentError, WriteFailedError

Opened = TypeVar("Opened")
_OWN = "Set HEADRACE_CACHE to a folder of your own."
_TABLE = "table"


def opened_by(
    sample_by: Any, targets: Sequence[tuple[str, str]], call: Callable[[SampleWords | None], Opened]
) -> Opened:
    """Return what a call of the engine makes of the words for ``sample_by``.

    Args:
        sample_by: As :func:`headrace.open` has it.
        targets: Names and paths of fields that are looked for in a table of spans.
        call: Gets the words.

    Raises:
        InvalidArgumentError: ``sample_by``, or a table in it, is of a wrong kind; or the table has a number that is no
            whole one, of which the text names the row.
        CorruptDataError: A table is damaged.
        FieldMissingError: A table lacks a column.
        WriteFailedError: A table cannot be kept for the engine.
    """
    words = sample_words(sample_by)
    if words is None or not isinstance(sample_by, Spans) or sample_by.meta is None:
        return call(words)
    _check_words(sample_by)
    if is_path(sample_by.meta) and not is_csv(sample_by.meta):
        try:
            return call(words)
        except InvalidArgumentError as error:
            if error.field not in _columns_of(sample_by):
                raise
            parts = read_table(sample_by.meta, _columns_of(sample_by), _paths_of(targets))
            if not any(part.columns[name].dtype.kind == "f" for part in parts for name in _columns_of(sample_by)):
                raise
    else:
        parts = read_table(sample_by.meta, _columns_of(sample_by), _paths_of(targets))
    if all(len(part.columns[_columns_of(sample_by)[0]]) == 0 for part in parts):
        raise invalid(f"{parts[0].source} has no rows")
    files = _Files([_whole_part(part, _columns_of(sample_by)) for part in parts])
    try:
        return call((*words[:4], (files.path, *words[4][1:])))
    except Error as error:
        files.rename(error)
        raise


def _check_words(spans: Spans) -> None:
    """Raise what the engine would, before a table is read."""
    if not spans.first or bool(spans.last) == bool(spans.end):
        raise invalid(
            "a table of spans has a field for the first row of a sample, and one for the last or the end",
            "Give first=, and one of last= and end=.",
        )


def _columns_of(spans: Spans) -> list[str]:
    return [name for name in (spans.first, spans.last, spans.end, spans.file) if name]


def _paths_of(targets: Sequence[tuple[str, str]]) -> list[str]:
    return [path or name for name, path in targets if "::" not in path]


def _whole_part(part: TablePart, names: Sequence[str]) -> TablePart:
    whole = {name: _whole(part.columns[name], name, part.source) for name in dict.fromkeys(names)}
    columns = {**part.columns, **whole}
    count = len(columns[names[0]])
    for name, column in columns.items():
        if len(column) != count:
            raise invalid(f"{part.source}: '{name}' has {len(column)} rows, and '{names[0]}' {count}")
    return TablePart(columns, part.source)


def _whole(column: NDArray[Any], name: str, source: str) -> NDArray[Any]:
    """Return whole numbers that may be stored as floats as int64."""
    if column.dtype.kind == "b":
        raise invalid(f"{source}: '{name}' is bool; a whole number a row is expected")
    if column.dtype.kind == "f":
        wrong = ~(np.isfinite(column) & (np.floor(column) == column) & (np.abs(column) < 2.0**63))
    else:
        wrong = column > np.iinfo(np.int64).max
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        what = f"row {row}: '{name}' is {column[row]} ({column.dtype}), which is no whole number of 64 bits"
        hint = "Rows and numbers of files are whole numbers, which may be stored as floats."
        file = None if source == IN_MEMORY else source
        text = f"{source}: {what}. {hint}"
        raise InvalidArgumentError(text, message=what, file=file, field=name, hint=hint)
    return column.astype(np.int64)


class _Files:
    """The parts of a table as files in the user's cache directory, named after what is in them."""

    def __init__(self, parts: Sequence[TablePart]) -> None:
        self._sources = [part.source for part in parts]
        self._folder = PrivateFolder(cache_home("tables") / _digest(parts), _OWN)
        if not self._is_known():
            with self._folder.alone():
                if not self._is_known():
                    self._write(parts)
        self.path = str(self._file(0) if len(parts) == 1 else self._folder.path / _TABLE / "*.npz")

    def rename(self, error: Error) -> None:
        """Let an error name the table that the user gave."""
        for i, source in enumerate(self._sources):
            file = str(self._file(i))
            error.args = tuple(arg.replace(file, source) if isinstance(arg, str) else arg for arg in error.args)
            error.message = error.message.replace(file, source)
            if error.file == file:
                error.file = None if source == IN_MEMORY else source

    def _file(self, number: int) -> Any:
        return self._folder.path / _TABLE / f"{number}.npz"

    def _is_known(self) -> bool:
        return self._folder.note().get("version") == self._folder.version(_TABLE) is not None

    def _write(self, parts: Sequence[TablePart]) -> None:
        self._folder.remove(_TABLE)
        try:
            (self._folder.path / _TABLE).mkdir(mode=0o700)
            for i, part in enumerate(parts):
                with zipfile.ZipFile(self._file(i), "w") as file:
                    for name, column in part.columns.items():
                        with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                            np.lib.format.write_array(member, column, allow_pickle=False)
        except OSError as error:
            what = f"the table of spans cannot be kept: {error.strerror}"
            path = str(self._folder.path)
            raise WriteFailedError(f"{path}: {what}. {_OWN}", message=what, file=path, hint=_OWN) from None
        self._folder.leave(version=self._folder.version(_TABLE))


def _digest(parts: Sequence[TablePart]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        digest.update(b"part")
        for name, column in part.columns.items():
            digest.update(f"{name!r} {column.dtype.str} {column.shape} ".encode("utf-8", "surrogateescape"))
            digest.update(column.data)
    return digest.hexdigest()
