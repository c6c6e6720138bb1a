"""Errors and warnings of Headrace.

Every error derives from :class:`Error` and from the builtin that a caller would catch anyway, so
``except FileNotFoundError`` and ``except headrace.Error`` both work. The text names the place
(file › field › chunk › bytes), what was expected and found, and what to do; the same parts are attributes.
"""

from __future__ import annotations

import errno
from typing import Any, ClassVar

__all__ = [
    "ClosedError",
    "CorruptDataError",
    "Error",
    "FieldMissingError",
    "FileChangedError",
    "FileMissingError",
    "ForkedError",
    "HeadraceWarning",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "LoaderTimeoutError",
    "OutOfBudgetError",
    "PermissionDeniedError",
    "ReadFailedError",
    "UnknownArgumentError",
    "UnsupportedError",
    "WriteFailedError",
]


class HeadraceWarning(UserWarning):
    """Something works, but not as well as it could: the text has the figures."""


class Error(Exception):
    """Base of all errors of Headrace.

    Attributes:
        default_code: Code of the errors of this class that are given none.
        code: Kind of error as a word, for example ``"corrupt_data"``; the same in C++ and in ``--json`` output.
        message: What was expected and what was found, without the place.
        file: Path of the file, or None.
        field: Name of the field or of the array in the file, or None.
        chunk: Chunk coordinates as text, for example ``"(12,0,0)"``, or None.
        byte_range: ``(offset, size)`` in the file, in bytes, or None.
        stage: The step that failed: ``"open"``, ``"index"``, ``"read"``, a filter's name, or None.
        hint: What to do, or None.
        needed_bytes: The smallest budget with which an :class:`OutOfBudgetError` would not have come, in bytes: for
            ``memory=``, or for ``hr.set_memory()`` where the hint names that. None where that is not known, and for
            other errors.
    """

    default_code: ClassVar[str] = "internal"

    def __init__(
        self,
        text: str,
        *,
        code: str | None = None,
        message: str | None = None,
        file: str | None = None,
        field: str | None = None,
        chunk: str | None = None,
        byte_range: tuple[int, int] | None = None,
        stage: str | None = None,
        hint: str | None = None,
        needed_bytes: int | None = None,
    ) -> None:
        super().__init__(text)
        self.code = code or self.default_code
        self.message = message or text
        self.file = file
        self.field = field
        self.chunk = chunk
        self.byte_range = byte_range
        self.stage = stage
        self.hint = hint
        self.needed_bytes = needed_bytes
        if isinstance(self, OSError):
            _fill_os_error(self, self.code, file)

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would show the repr, OSError the errno

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), str(self), _parts(self))


class InvalidArgumentError(Error, ValueError):
    """The caller asked for something contradictory or out of range."""

    default_code = "invalid_argument"


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """A row number lies outside the data set."""


class UnknownArgumentError(InvalidArgumentError, TypeError):
    """A function has no argument of that name; the hint says what to use in its place."""


class FileMissingError(Error, FileNotFoundError):
    """A file, or every file of a glob, is absent."""

    default_code = "not_found"


class PermissionDeniedError(Error, PermissionError):
    """A file may not be read by this user."""

    default_code = "permission"


class FieldMissingError(Error, KeyError):
    """There is no field or array of that name; the text lists those there are, nearest first."""

    default_code = "field_missing"


class CorruptDataError(Error, ValueError):
    """Bytes are damaged, truncated, or inconsistent with their description."""

    default_code = "corrupt_data"


class UnsupportedError(Error, NotImplementedError):
    """The request or the bytes may be fine, but this version cannot serve them; the hint names a way."""

    default_code = "unsupported"


class ReadFailedError(Error, OSError):
    """The operating system failed to read (EIO and the like)."""

    default_code = "read_failed"


class WriteFailedError(Error, OSError):
    """A file could not be written (disk full, no permission and the like)."""

    default_code = "write_failed"


class FileChangedError(Error, OSError):
    """A file changed on disk while it was in use."""

    default_code = "file_changed"


class OutOfBudgetError(Error, MemoryError):
    """The memory budget cannot hold what was asked for; the text names the smallest budget that can."""

    default_code = "out_of_budget"


class ClosedError(Error, RuntimeError):
    """The object was closed, or a newer iterator of the same loader took its place."""

    default_code = "closed"


class ForkedError(Error, RuntimeError):
    """The object was made in the parent process of a fork; make it anew in the child."""

    default_code = "forked"


class LoaderTimeoutError(Error, TimeoutError):
    """No batch came within the loader's ``timeout``."""

    default_code = "timeout"


class InternalError(Error, RuntimeError):
    """A bug in Headrace. Please report the text."""

    default_code = "internal"


_CLASSES: dict[str, type[Error]] = {
    cls.default_code: cls
    for cls in (
        InvalidArgumentError,
        FileMissingError,
        PermissionDeniedError,
        FieldMissingError,
        CorruptDataError,
        UnsupportedError,
        ReadFailedError,
        WriteFailedError,
        FileChangedError,
        OutOfBudgetError,
        ClosedError,
        ForkedError,
        LoaderTimeoutError,
        InternalError,
    )
}
_CLASSES["cancelled"] = ClosedError

_ERRNO = {"not_found": errno.ENOENT, "permission": errno.EACCES, "read_failed": errno.EIO, "timeout": errno.ETIMEDOUT}
_PARTS = ("code", "message", "file", "field", "chunk", "byte_range", "stage", "hint", "needed_bytes")


def _fill_os_error(error: OSError, code: str, file: str | None) -> None:
    error.errno = _ERRNO.get(code)
    error.filename = file


def _parts(error: Error) -> dict[str, Any]:
    return {name: getattr(error, name) for name in _PARTS}


def _rebuild(cls: type[Error], text: str, parts: dict[str, Any]) -> Error:
    return cls(text, **parts)


def from_engine(text: str, code: str, parts: dict[str, Any]) -> Error:
    """Make the Python error for an error of the engine. Called by the C++ module."""
    return _CLASSES.get(code, InternalError)(text, code=code, **parts)
