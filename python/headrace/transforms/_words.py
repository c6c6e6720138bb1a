"""Words of transforms: what the engine calls their settings, and the words that they had before."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headrace._support.checks import invalid
from headrace._support.logging import warn

#: Where the pairs of a jet lie, and what the engine calls that; the engine's words are those of before.
LAYOUTS: Mapping[str, str] = MappingProxyType({"triu_max": "max", "triu_n": "packed"})

#: Setting → what the engine calls it, by the transform.
_ENGINE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "Mask": {"fill": "pad"},
        "Standardize": {"fill": "pad"},
        "SymmetricPairs": {"n": "particles"},
    }
)
_told: set[str] = set()


def engine_settings(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a transform's settings as the engine takes them."""
    words = _ENGINE.get(name, {})
    made = {words.get(key, key): value for key, value in settings.items()}
    if name == "SymmetricPairs" and made.get("layout") in LAYOUTS:
        made["layout"] = LAYOUTS[made["layout"]]
    return made


def layout_word(function: str, layout: Any) -> Any:
    """Return the word for a layout, where one of before may be given, which warns."""
    for word, before in LAYOUTS.items():
        if isinstance(layout, str) and layout == before:
            _tell(f"{function}(layout={before!r}) is now layout={word!r}, which means the same")
            return word
    return layout


def renamed(function: str, new: str, value: Any, old: str, given: Any, *, default: Any = None) -> Any:
    """Return the value of an argument that may be given by its name of before, which warns.

    Raises:
        InvalidArgumentError: Both names are given.
    """
    if given is None:
        return value
    if value is not default and value != default:
        raise invalid(f"{function}: {new}= and {old}= are given, which are one", f"Leave {old}= out.")
    _tell(f"{function}({old}=) is now {new}=, which means the same")
    return given


def _tell(text: str) -> None:
    """Warn, once in a process."""
    if text not in _told:
        _told.add(text)
        warn(f"{text}. The old word goes with the next release.")
