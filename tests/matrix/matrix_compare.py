"""What h5py reads, split into the fields that Headrace makes of it; and equality down to the last bit."""

from __future__ import annotations

from typing import Any

import h5py
import hdf5plugin  # noqa: F401  (registers the filters that h5py needs for reference)
import numpy as np

import headrace as hr


def columns(name: str, array: np.ndarray) -> dict[str, np.ndarray]:
    """The fields of one dataset: itself, or one for each innermost member of its records."""
    if array.dtype.names is None:
        return {name: array}
    return {
        field: values
        for member in array.dtype.names
        for field, values in columns(f"{name}.{member}", array[member]).items()
    }


def same(a: Any, b: Any) -> bool:
    """Equal shape, dtype (in native byte order) and bytes: NaN and -0.0 included."""
    a, b = np.asarray(a), np.asarray(b)
    b = b.astype("f8" if b.dtype.char == "g" else b.dtype.newbyteorder("="), copy=False)  # long double: as double
    if a.dtype.kind == "S" and a.dtype == b.dtype and a.shape == b.shape:
        return bool(np.array_equal(a, b))
    if b.dtype.kind == "b" or b.dtype.metadata:  # h5py's enum dtypes carry their names
        b = b.astype(np.dtype(b.dtype.str), copy=False)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def reference(path: Any, names: list[str]) -> dict[str, np.ndarray]:
    """Fields of these datasets, as h5py reads them."""
    out: dict[str, np.ndarray] = {}
    with h5py.File(path, "r", locking=False) as file:
        for name in names:
            out |= columns(name, file[name][...])
    return out


def rows_of(arrays: dict[str, np.ndarray]) -> int:
    return len(next(iter(arrays.values())))


def differences(got: dict[str, Any], want: dict[str, np.ndarray], rows: Any) -> list[str]:
    """Names of fields that differ from those rows of the reference."""
    if set(got) != set(want):
        return [f"fields {sorted(got)}, not {sorted(want)}"]
    return [f"{name} at rows {rows!r}" for name in want if not same(got[name], want[name][rows])]


def check_indexing(dataset: hr.Dataset, want: dict[str, np.ndarray], random: np.random.Generator) -> list[str]:
    """Slices, single rows and fancy rows against the reference; returns what differs."""
    total = rows_of(want)
    wrong = [] if len(dataset) == total else [f"{len(dataset)} rows, not {total}"]
    a, b = sorted(int(n) for n in random.integers(0, total + 1, 2))
    fancy = [int(n) for n in random.integers(0, total, 9)]
    one = int(random.integers(total))
    for key in (slice(None), slice(a, b), slice(b, a, -1), slice(None, None, 5), one, -total, fancy):
        wrong += differences(dataset[key], want, key)
    mask = random.random(total) < 0.3
    return wrong + differences(dataset[mask], want, mask)


def check_epoch(loader: hr.Loader, want: dict[str, np.ndarray], key: str, shuffled: bool) -> list[str]:
    """Is an epoch a permutation (or the order) of the reference? ``key`` is a field that holds row numbers."""
    total, size = rows_of(want), loader.batch_size
    seen: list[np.ndarray] = []
    wrong: list[str] = []
    for batch in loader:
        rows = batch[key]
        expected = min(size, total - size * len(seen))
        if len(rows) != expected:
            wrong.append(f"batch {len(seen)} has {len(rows)} rows, not {expected}")
        seen.append(rows.copy())
        wrong += differences(batch, want, rows)
        if wrong:
            return wrong
    order = np.concatenate(seen) if seen else np.empty(0, np.int64)
    if not np.array_equal(np.sort(order), np.arange(total)):
        wrong.append("not a permutation")
    if not shuffled and not np.array_equal(order, np.arange(total)):
        wrong.append("not in order")
    if len(seen) != len(loader):
        wrong.append(f"{len(seen)} batches, len() says {len(loader)}")
    return wrong
