"""Arguments of transforms that were renamed: the old names still work, and warn."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headrace._support.checks import invalid
from headrace._support.logging import warn

#: Layout of the pairs of a jet → its old name.
LAYOUTS: Mapping[str, str] = MappingProxyType({"triu_max": "max", "triu_n": "packed"})

_told: set[str] = set()


def layout_word(function: str, layout: Any) -> Any:
    """Return the name of a layout; an old name warns."""
    for word, before in LAYOUTS.items():
        if isinstance(layout, str) and layout == before:
            _tell(f"{function}(layout={before!r}) is now layout={word!r}, which means the same")
            return word
    return layout


def renamed(function: str, new: str, value: Any, old: str, given: Any, *, default: Any = None) -> Any:
    """Return the value of an argument; its old name warns.

    Raises:
        InvalidArgumentError: Both names are given.
    """
    if given is None:
        return value
    if value is not default and value != default:
        raise invalid(f"{function}: {new}= and its old name {old}= are both given", f"Leave {old}= out.")
    _tell(f"{function}({old}=) is now {new}=, which means the same")
    return given


def _tell(text: str) -> None:
    """Warn, once in a process."""
    if text not in _told:
        _told.add(text)
        warn(f"{text}. The next release removes the old name.")
