"""Parquet files of lists: of primitives, of structs, in structs, large and of a fixed size, in many small pages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from parquet_files import Expected, same, same_lists
from parquet_tables import GROUP, ROWS, TYPES, some_values

import headrace as hr

PRESENCE = ["required", "full", "null_lists", "null_elements", "everything"]
FIXED = 3  # elements of a list of a fixed size
LONG = 400  # elements of one list, which is more than a page has


def elements(name: str, count: int, missing: np.ndarray | None, random: np.random.Generator) -> pa.Array:
    """Values of the type's whole range, of which some may be missing."""
    kind, pool = TYPES[name], some_values(name, random)
    gone = np.zeros(count, bool) if missing is None else missing
    values = [None if hidden else pool[i % len(pool)] for i, hidden in enumerate(gone)]
    if pa.types.is_temporal(kind):
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
    return pa.array(values, kind)


def make_list_table(name: str, presence: str) -> pa.Table:
    """An id, and lists of one length in each row; those of a fixed size have another."""
    random = np.random.default_rng([sorted(TYPES).index(name), PRESENCE.index(presence)])
    kind, required = TYPES[name], presence == "required"
    lengths = random.integers(0, 7, ROWS)
    lengths[random.random(ROWS) < 0.2] = 0
    lengths[[3, GROUP - 1, ROWS - 1]], lengths[60], lengths[GROUP] = 0, LONG, 9
    some = (lengths == 0) & (random.random(ROWS) < 0.6) if presence in ("null_lists", "everything") else None
    starts = np.concatenate(([0], np.cumsum(lengths)))

    def mask(count: int, share: float) -> np.ndarray | None:
        return random.random(count) < share if presence in ("null_elements", "everything") else None

    def masked(made: np.ndarray | None) -> Any:
        return None if made is None else pa.array(made)

    def values(count: int) -> pa.Array:
        return elements(name, count, mask(count, 0.2), random)

    count = int(starts[-1])
    member = [pa.field(key, kind, nullable=not required) for key in ("t", "q")]
    structs = pa.StructArray.from_arrays([values(count), values(count)], fields=member, mask=masked(mask(count, 0.1)))
    item = pa.field("element", kind, nullable=not required)
    offsets, wide = pa.array(starts, pa.int32()), pa.array(starts, pa.int64())
    flat = pa.ListArray.from_arrays(offsets, values(count), type=pa.list_(item), mask=masked(some))
    large = pa.LargeListArray.from_arrays(wide, values(count), type=pa.large_list(item), mask=masked(some))
    hits = pa.ListArray.from_arrays(
        offsets, structs, type=pa.list_(pa.field("element", structs.type, nullable=not required)), mask=masked(some)
    )
    gone = None if some is None else some & (random.random(ROWS) < 0.5)
    inner = [pa.field("v", flat.type, nullable=not required), pa.field("n", kind, nullable=not required)]
    within = pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays(offsets, values(count), type=flat.type, mask=masked(some)), values(ROWS)],
        fields=inner,
        mask=masked(gone),
    )
    fixed = pa.FixedSizeListArray.from_arrays(
        values(FIXED * ROWS), type=pa.list_(item, FIXED), mask=None if some is None else pa.array(some)
    )
    columns = {"flat": flat, "large": large, "hits": hits, "in": within, "fixed": fixed}
    fields = [pa.field("id", pa.int64(), nullable=False)]
    fields += [pa.field(key, array.type, nullable=not required) for key, array in columns.items()]
    return pa.table([pa.array(np.arange(ROWS)), *columns.values()], schema=pa.schema(fields))


def slices(lengths: np.ndarray, rows: Iterable[int]) -> np.ndarray:
    """Which elements the lists of these rows have, one behind the other."""
    ends = np.cumsum(np.maximum(lengths, 0))
    parts = [np.arange(ends[row] - max(lengths[row], 0), ends[row]) for row in rows]
    return np.concatenate([np.zeros(0, np.int64), *parts])


def check_rows(got: Any, want: dict[str, Expected], rows: Iterable[int], what: object = "") -> None:
    """A batch has these rows: lists and offsets of the columns that are lists, and values of the others."""
    rows = list(rows)
    for name, column in want.items():
        for key, values in ((name, column.values), (name + ".valid", column.valid)):
            if key not in got:
                assert key != name, what
            elif column.lengths is None:
                same(got[key], values[rows], (what, key))
            else:
                same_lists(got, key, values[slices(column.lengths, rows)], column.lengths[rows])


def check_everywhere(data: hr.Dataset, want: dict[str, Expected], random: np.random.Generator, what: object) -> None:
    """All rows, single rows, slices and an epoch that is shuffled; `id` tells which row a row is."""
    rows = len(want["id"].values)
    assert len(data) == rows
    check_rows(data[:], want, range(rows), what)
    for row in (0, rows - 1, *random.integers(0, rows, 3).tolist()):
        one = data[row]
        for name, column in want.items():
            part = [row] if column.lengths is None else slices(column.lengths, [row])
            got = np.asarray(one[name])
            same(got if column.lengths is not None else got[None], column.values[part], (what, name, row))
    for first in (GROUP - 5, int(random.integers(0, rows))):
        part = range(rows)[first : first + int(random.integers(1, 2 * GROUP))]
        check_rows(data[part.start : part.stop], want, part, what)
    seen = []
    with hr.Loader(data, batch_size=7, shuffle=True, threads=int(random.integers(1, 4))) as loader:
        for batch in loader:
            check_rows(batch, want, batch["id"].tolist(), what)
            seen += batch["id"].tolist()
    assert sorted(seen) == list(range(rows))


def lists_of(*rows: Any, kind: pa.DataType | None = None) -> pa.Array:
    return pa.array(list(rows), pa.list_(kind or pa.int32()))


def write_columns(path: Path, **columns: Any) -> Path:
    """Write columns as they are, in small pages with checksums, if none else are named."""
    pq.write_table(pa.table(columns), path, row_group_size=13, data_page_size=100, write_page_checksum=True)
    return path
