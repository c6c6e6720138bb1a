"""Transform: what all transforms of :mod:`headrace.transforms` are, and how their settings are written."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headrace._support.checks import engine_text, invalid


class Transform:
    """One transform: its name, the fields that it reads, and its settings. Use the classes below.

    Attributes:
        name: Name, for example ``"Clip"``.
        fields: Names of the fields that it reads.
        settings: Settings by name; those that are left out have their defaults.
    """

    def __init__(self, name: str, fields: str | Sequence[str], **settings: Any) -> None:
        self.name = name
        self.fields = tuple(
            engine_text(f"{name}: the name of a field", field)
            for field in ([fields] if isinstance(fields, str) else fields)
        )
        self.settings = {key: _setting(name, key, value) for key, value in settings.items() if value is not None}

    def __repr__(self) -> str:
        inside = [*map(repr, self.fields), *(f"{key}={_short(value)}" for key, value in self.settings.items())]
        return f"{self.name}({', '.join(inside)})"

    def _for_engine(self) -> tuple[str, list[str], dict[str, Any]]:
        """Return name, fields and settings as the engine takes them."""
        return self.name, list(self.fields), dict(self.settings)

    def _turned_by_default(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the axes of a sample, counted from the end, that are turned though the caller named none.

        Args:
            shape: Of the sample.
        """
        del shape
        return ()

    def _words(self) -> str:
        """All of it as text."""
        settings = {key: _digests(value) if _are_columns(value) else value for key, value in self.settings.items()}
        return repr((self.name, self.fields, settings))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and self._words() == other._words()

    def __hash__(self) -> int:
        return hash(self._words())


def _are_columns(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and isinstance(value[0], np.ndarray)


def _digests(columns: list[NDArray[Any]]) -> list[tuple[str, int, str]]:
    """What tells columns from others, without their numbers."""
    return [(column.dtype.str, len(column), hashlib.sha256(column.data).hexdigest()) for column in columns]


def _short(value: Any) -> str:
    """A setting as text; a table's column is told by its length, as the engine does."""
    most = 32
    if _are_columns(value):
        return f"[{', '.join(f'{len(column):,} {column.dtype}' for column in value)}]"
    return f"[{len(value):,} numbers]" if isinstance(value, list) and len(value) > most else repr(value)


def _setting(name: str, key: str, value: Any) -> Any:
    """What the engine takes: bool, int, float, text, a list of floats, texts, whole numbers, columns."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str) or _are_columns(value):
        return value
    if isinstance(value, (list, tuple)) and value and all(isinstance(entry, str) for entry in value):
        return list(value)
    try:
        whole = operator.index(value)
    except TypeError:
        pass
    else:
        if not -(2**63) <= whole < 2**63:
            raise invalid(f"{name}: {key} must be from -2**63 to 2**63 - 1, not {whole}")
        return whole
    if (exact := _beyond_floats(name, key, value)) is not None:
        return exact
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise invalid(f"{name}: {key} must be a number or a list of them, not {value!r}") from error
    if array.ndim > 1:
        raise invalid(f"{name}: {key} must be a number or a list of them, not of {array.ndim} dimensions")
    return float(array) if array.ndim == 0 else [float(entry) for entry in array]


def _beyond_floats(name: str, key: str, value: Any) -> list[int] | None:
    """Return a list of whole numbers of which a float would round some; None: it is another list."""
    entries = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(entries, (list, tuple)):
        return None
    whole = [int(entry) for entry in entries if isinstance(entry, (int, np.integer))]
    wrong = next((one for one in whole if not -(2**63) <= one < 2**64), None)
    if wrong is not None:
        raise invalid(f"{name}: {key} must be from -2**63 to 2**64 - 1, not {wrong}")
    rounded = next((one for one in whole if int(float(one)) != one), None)
    if rounded is None:
        return None
    fraction = next((entry for entry in entries if not isinstance(entry, (int, np.integer))), None)
    if fraction is not None and all(isinstance(entry, (int, float, np.number)) for entry in entries):
        raise invalid(
            f"{name}: {key} has {rounded}, which no float is, beside {fraction!r}",
            "Give whole numbers only: between two of them no integer of a field differs.",
        )
    return whole if fraction is None else None


def whole_numbers(name: str, key: str, values: Iterable[Any]) -> list[int]:
    """Return whole numbers as a list; anything else is refused by the setting's name."""
    try:
        return [operator.index(value) for value in values]
    except TypeError as error:
        raise invalid(f"{name}: {key} must be whole numbers, not {values!r}") from error


def type_name(dtype: Any) -> str:
    """Return the name that the engine has for a type of numbers."""
    text = dtype if isinstance(dtype, str) else str(dtype).removeprefix("torch.")
    try:
        return text if text == "bfloat16" else np.dtype(text if "class" not in text else dtype).name
    except TypeError as error:
        raise invalid(f"Cast: {dtype!r} is no type of numbers") from error
