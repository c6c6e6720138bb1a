"""Tables that are joined to rows by a number: :meth:`Dataset.join`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace._dataset.table import Table, read_table
from headrace._support.checks import brief, engine_text, invalid, real_number
from headrace.transforms._base import Transform

__all__ = ["Table", "join_of"]


def join_of(table: Any, on: str, fields: Sequence[str], key: str | None, otherwise: float | None) -> Transform:
    """Return the transform that looks up each ``on`` in a table, as :meth:`Dataset.join` says."""
    on = engine_text("on", on)
    if isinstance(fields, (str, bytes)) or not hasattr(fields, "__len__") or len(fields) == 0:
        raise invalid(f"fields must be a list of columns of the table, not {brief(fields)}")
    names = [engine_text("fields", name) for name in fields]
    key = on if key is None else engine_text("key", key)
    parts = read_table(table, [key, *names])
    source = parts[0].source
    columns = {
        name: first if len(parts) == 1 else np.concatenate([part.columns[name] for part in parts])
        for name, first in parts[0].columns.items()
    }
    for name in names:
        if len(columns[name]) != len(columns[key]):
            raise invalid(f"{source}: '{name}' has {len(columns[name])} rows, and '{key}' {len(columns[key])}")
    if len(columns[key]) == 0:
        raise invalid(f"{source} has no rows")
    return Transform(
        "Join",
        on,
        keys=[columns[key]],
        names=names,
        values=[columns[name] for name in names],
        otherwise=None if otherwise is None else real_number("otherwise", otherwise),
    )
