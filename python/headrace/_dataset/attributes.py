"""Attributes: what files say of an array, or of themselves."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

Value = bool | int | float | str | list[int] | list[float] | list[str]


class Attributes(dict[str, Value]):
    """Attributes by name: numbers, texts, and lists of them. A list of one is its only entry.

    Those that files disagree in, or that are too large or of an odd type, are in ``left_out``.
    """

    def __init__(self, values: Mapping[str, Value], left_out: Mapping[str, str]) -> None:
        super().__init__(values)
        self._left_out = dict(left_out)

    @property
    def left_out(self) -> Mapping[str, str]:
        """Name → reason, of the attributes that are there and not in this dict."""
        return MappingProxyType(self._left_out)

    def __missing__(self, name: str) -> Value:
        if name in self._left_out:
            raise KeyError(f"{name}: {self._left_out[name]}")
        raise KeyError(name)

    def __reduce__(self) -> tuple[type[Attributes], tuple[dict[str, Value], dict[str, str]]]:
        return Attributes, (dict(self), self._left_out)
