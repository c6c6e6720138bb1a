"""Checks of arguments, and the errors they raise."""

from __future__ import annotations

import contextlib
import operator
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from difflib import get_close_matches
from typing import Any

from headrace import _headrace
from headrace.errors import FileMissingError, InvalidArgumentError, UnsupportedError

#: HDF5 and NumPy arrays have no more.
MOST_AXES = 64
_LONGEST_REPR = 200  # characters of a value in an error


def invalid(message: str, hint: str | None = None) -> InvalidArgumentError:
    """An argument is wrong."""
    return InvalidArgumentError(_text(message, hint), message=message, hint=hint)


def unsupported(message: str, hint: str) -> UnsupportedError:
    """An argument is right, but what it asks for does not exist yet; ``hint`` says what to use instead."""
    return UnsupportedError(_text(message, hint), message=message, hint=hint)


def _text(message: str, hint: str | None) -> str:
    return f"{message.removesuffix('.')}. {hint}" if hint else message


def brief(value: Any) -> str:
    """Return what a value is, for an error: its repr where that is short text or a number, else its type."""
    if value is None or isinstance(value, (str, bytes, int, float, complex)):
        text = repr(value)
        return text if len(text) <= _LONGEST_REPR else f"{text[:_LONGEST_REPR]}…"
    kind = type(value)
    module = "headrace" if kind.__module__.startswith("headrace.") else kind.__module__
    return f"an object of the class {kind.__qualname__ if module == 'builtins' else f'{module}.{kind.__qualname__}'}"


def integer(name: str, value: Any, hint: str | None = None) -> int:
    """Return ``value`` as an int; any integer type is welcome, bool is not."""
    if isinstance(value, bool):
        raise invalid(f"{name} must be a whole number, not {value!r}", hint)
    try:
        return operator.index(value)
    except TypeError:
        raise invalid(f"{name} must be a whole number, not {value!r}", hint) from None


def whole_number(name: str, value: Any, *, least: int, most: int = 2**63 - 1, hint: str | None = None) -> int:
    """Return ``value`` as an int within [least, most]; any integer type is welcome, bool is not."""
    number = integer(name, value, hint)
    if not least <= number <= most:
        bound = f"at least {least}" if number < least else f"at most {most}"
        raise invalid(f"{name} must be {bound}, not {number}", hint)
    return number


def real_number(name: str, value: Any) -> float:
    """``value`` as a float; any real number is welcome, bool is not."""
    if not isinstance(value, bool) and hasattr(value, "__float__") and not isinstance(value, str):
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return float(value)
    raise invalid(f"{name} must be a number, not {value!r}")


def one_of(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless ``value`` is one of ``choices``, the first of which is the default; the hint names the nearest."""
    if any(value is choice or (isinstance(value, str) and value == choice) for choice in choices):
        return
    near = get_close_matches(value, [c for c in choices if isinstance(c, str)], 1) if isinstance(value, str) else []
    listed = ", ".join(repr(choice) for choice in choices)
    hint = f"Did you mean {near[0]!r}?" if near else f"Leave it out for {choices[0]!r}."
    raise invalid(f"{name} must be one of {listed}, not {value!r}", hint)


def memory_bytes(name: str, value: Any) -> int:
    """A size given as bytes (int) or as text: ``"2GiB"``, ``"512MiB"``, ``"8GB"``."""
    if isinstance(value, str):
        if not _is_plain_text(value):
            raise invalid(f"{name} must be a size such as '2GiB', not {value!r}")
        size = _headrace.parse_bytes(value)
        if size == 0:
            raise invalid(f"{name} must be above 0, not {value!r}")
        return size
    return whole_number(name, value, least=1)


def path_bytes(path: Any, name: str = "a path") -> bytes:
    """A path or glob (str, bytes or os.PathLike) as the operating system's bytes; ``name`` is the argument's."""
    try:
        text = os.fsencode(path)
    except TypeError:
        raise invalid(f"{name} must be a str or a Path, not {brief(path)}", _instead_of_path(path)) from None
    except UnicodeEncodeError:
        raise invalid(f"{name} must be text that the file system can hold, not {path!r}") from None
    if b"\0" in text:
        raise invalid(f"a path ends at its first zero byte, and there is one in {path!r}", "Leave it out.")
    if text and text[:1] not in b"/~" and b"://" not in text:
        _need_current_directory(text)
    return text


def _need_current_directory(path: bytes) -> None:
    """Raise FileMissingError if a path is relative to a directory that was deleted."""
    try:
        os.getcwd()  # noqa: PTH109 (a Path of it is not needed)
    except FileNotFoundError:
        what, hint = "the current directory was deleted, and the path is relative to it", "Give an absolute path."
        file = os.fsdecode(path)
        raise FileMissingError(f"{file}: {what}. {hint}", message=what, file=file, hint=hint) from None


def _is_own(value: Any) -> bool:
    """Return whether an object is one of Headrace's, or of a class that is derived from one."""
    return any(kind.__module__.partition(".")[0] == "headrace" for kind in type(value).__mro__)


def _instead_of_path(value: Any) -> str | None:
    """Return what to do with an object that was given for a path, without a look into it."""
    if not _is_own(value):
        return None
    if hasattr(value, "state_dict"):
        return (
            "hr.bench, order, advise, check_memory, replay, inspect and verify take a Loader. For others give the "
            "paths: [file.path for file in loader.dataset.files]."
        )
    if hasattr(value, "sample_bytes"):
        return (
            "It is open already: hr.Loader takes it, and hr.bench, order, advise, check_memory, replay, inspect and "
            "verify. For others give the paths: [file.path for file in dataset.files]."
        )
    return "Give the paths that it was made from."


def engine_text(name: str, value: Any) -> str:
    """Return text as it is, if the engine can have it: no zero byte, which would end it, and bytes that it stands for.

    Names of fields need not be UTF-8: the bytes of others are surrogate escapes, as os.fsdecode makes them.
    """
    if not isinstance(value, str):
        raise invalid(f"{name} must be a str, not {value!r}")
    if "\0" in value:
        raise invalid(f"{name} must be without a zero byte, not {value!r}")
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise invalid(f"{name} must be text that can be encoded, without lone surrogates, not {value!r}") from None
    return value


def _is_plain_text(text: str) -> bool:
    """True for UTF-8 without a zero byte."""
    return "\0" not in text and not any("\ud800" <= letter <= "\udfff" for letter in text)


def path_list(paths: Any, name: str = "paths") -> list[bytes]:
    """One path or several, as a list. An object that may hold samples is refused without a look into it."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        return [path_bytes(paths)]
    is_array = bool(getattr(paths, "shape", ()))  # of names
    is_several = is_array or isinstance(paths, (Sequence, Set, Iterator, ValuesView))
    if _is_own(paths) or not is_several:
        raise invalid(f"{name} must be a str, a Path or a list of them, not {brief(paths)}", _instead_of_path(paths))
    return [path_bytes(path) for path in paths]


def field_choices(fields: Any) -> list[tuple[str, str]]:
    """The ``fields`` argument as (name, path in the file) pairs; none: all fields."""
    if fields is None:
        return []
    if isinstance(fields, str):
        fields = [fields]
    try:
        pairs = list(fields.items()) if isinstance(fields, Mapping) else [(name, name) for name in fields]
    except TypeError:
        raise invalid(f"fields must be a dict, a list of names or None, not {fields!r}") from None
    if not pairs:
        raise invalid("fields is empty", "Leave it out to take every field.")
    for name, path in pairs:
        if not isinstance(name, str) or not isinstance(path, str):
            raise invalid(f"fields must hold names and paths as str, not {name!r}: {path!r}")
        engine_text("a name or path in fields", name)
        engine_text("a name or path in fields", path)
    return pairs


def broadcast_choices(broadcast: Any) -> list[tuple[str, str, int]]:
    """The ``broadcast`` argument as (name, path in the file, axes) triples; axes 0: to be told from the extents."""
    if broadcast is None:
        return []
    if not isinstance(broadcast, Mapping):
        raise invalid(f"broadcast must be a dict such as {{'y': 'labels'}}, not {broadcast!r}")
    choices = []
    for name, path in broadcast.items():
        pair = path if isinstance(path, tuple) else (path, 0)
        if len(pair) != 2 or not isinstance(name, str) or not isinstance(pair[0], str):
            raise invalid(f"broadcast must hold names and paths, or (path, axes), not {name!r}: {path!r}")
        for text in (name, pair[0]):
            engine_text("a name or path in broadcast", text)
        least = 1 if isinstance(path, tuple) else 0
        choices.append((name, pair[0], whole_number(f"the axes of {name!r}", pair[1], least=least, most=MOST_AXES)))
    return choices


def split_shares(parts: Any) -> dict[str, float]:
    """The ``parts`` argument of a split: names and shares."""
    if not isinstance(parts, Mapping):
        raise invalid(f"parts must be a dict such as {{'train': 0.8, 'val': 0.2}}, not {parts!r}")
    shares = {}
    for name, share in parts.items():
        if not isinstance(name, str):
            raise invalid(f"a part's name must be a str, not {name!r}")
        if not name:
            raise invalid("a part has no name", "Name each: {'train': 0.9, 'val': 0.1}.")
        shares[name] = real_number(f"the share of part {name!r}", share)
    total = sum(shares.values())
    if 1 < total < 1 + 1e-6:  # shares of another precision
        shares = {name: share / total for name, share in shares.items()}
    return shares


def checksum(*parts: Any) -> str:
    """Return a text that is equal for equal bytes, of arrays for example; what is None has none."""
    value = 0
    for part in parts:
        if part is not None and len(part):
            value = zlib.crc32(memoryview(part).cast("B"), value)
    return f"{value:08x}"
