"""An extension of griffe, for mkdocstrings: roles in docstrings become links where they can."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Roles(griffe.Extension):
    """Rewrites the docstring of each object after the package was read."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Makes ``:meth:`close``` in a class's docstring a link to that class's method."""
        if obj.docstring:
            obj.docstring.value = _ROLE.sub(lambda role: _link(obj, role[1]), obj.docstring.value)


def _link(obj: griffe.Object, name: str) -> str:
    short = name.removeprefix("headrace.")
    try:
        target = obj.resolve(name.split(".")[0]) + name[len(name.split(".")[0]) :]
    except griffe.NameResolutionError:
        target = f"headrace.{short}"
    return f'<autoref identifier="{target}" optional>`{short}`</autoref>'
