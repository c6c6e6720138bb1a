"""Read every array of the given HDF5 files with Headrace and h5py; one JSON line a file (a crash ends only this)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import h5py
import numpy as np
from matrix_compare import check_indexing, columns, same

import headrace as hr

ROWS_LIMIT = 300_000  # longer arrays are compared at both ends
EPOCH_BYTES = 8 << 20


def arrays_of(path: str) -> dict[str, Any]:
    """Path → values by h5py (an exception where it fails), of all datasets that have rows."""
    names: list[str] = []

    def visit(name: str, thing: Any) -> None:
        if isinstance(thing, h5py.Dataset) and thing.shape not in (None, ()):
            names.append(name)

    with h5py.File(path, "r", locking=False) as file:
        file.visititems(visit)
    return dict.fromkeys(names)


def check_array(path: str, name: str, random: np.random.Generator) -> tuple[str, str]:
    """("equal" | "slow" | "refused" | "wrong", text)."""
    try:
        dataset = hr.open(path, fields=[name])
    except (hr.UnsupportedError, hr.InvalidArgumentError, hr.CorruptDataError) as error:
        if error.file != path:
            return "wrong", f"error.file is {error.file}: {error}"
        return "refused", f"{type(error).__name__}: {error.message}"
    try:
        with h5py.File(path, "r", locking=False) as file:
            stored = file[name]
            want = columns(name, stored[...] if len(stored) <= ROWS_LIMIT else stored[:1000])
    except (OSError, ValueError, TypeError) as error:
        dataset.close()
        return "refused", f"h5py cannot read it: {error}"
    wrong: list[str] = []
    paths = {info.read_path for info in dataset.fields.values()}
    if set(dataset.fields) != set(want):
        return "wrong", f"{name}: fields {sorted(dataset.fields)}, not {sorted(want)}"
    rows = len(next(iter(want.values())))
    if len(dataset) > rows:
        got = dataset[:rows]
        wrong = [field for field in want if not same(got[field], want[field])]
    elif rows:
        wrong = check_indexing(dataset, want, random)
        if not wrong and sum(array.nbytes for array in want.values()) < EPOCH_BYTES:
            wrong = shuffled_values(dataset, want)
    elif len(dataset):
        wrong = ["rows"]
    dataset.close()
    if wrong:
        return "wrong", f"{name}: {wrong[:3]}"
    return ("equal" if paths == {"native"} else "slow"), ""


def shuffled_values(dataset: hr.Dataset, want: dict[str, np.ndarray]) -> list[str]:
    """Does a shuffled epoch hold the same rows, as a multiset? No field numbers the rows here."""
    rows = len(dataset)
    with hr.Loader(dataset, max(1, rows // 7), shuffle=True, threads=2, timeout=60) as loader:
        batches = [dict(batch) for batch in loader]
    wrong = []
    for name, array in want.items():
        got = np.concatenate([batch[name] for batch in batches])
        a = np.ascontiguousarray(got).reshape(rows, -1).view("u1")
        native = "f8" if array.dtype.char == "g" else array.dtype.newbyteorder("=")  # long double: as double
        b = np.ascontiguousarray(array.astype(native)).reshape(rows, -1).view("u1")
        void = f"V{max(1, a.shape[1])}"
        if a.shape != b.shape or not np.array_equal(np.sort(a.view(void).ravel()), np.sort(b.view(void).ravel())):
            wrong.append(f"{name}: a shuffled epoch has other rows")
    return wrong


def main() -> None:
    random = np.random.default_rng(1)
    for path in sys.argv[1:]:
        counts: Counter[str] = Counter()
        wrong: list[str] = []
        refused: dict[str, str] = {}
        try:
            names = list(arrays_of(path))
        except OSError as error:
            names = []
            try:
                hr.open(path)
                wrong.append(f"h5py cannot open it ({error}), Headrace does")
            except hr.Error as mine:
                refused["/"] = str(mine)
        for name in names:
            try:
                kind, text = check_array(path, name, random)
            except Exception as error:
                kind, text = "wrong", f"{name}: {type(error).__name__}: {error}"
            counts[kind] += 1
            if kind == "wrong":
                wrong.append(text)
            elif kind == "refused":
                refused[name] = text
        for look in (hr.inspect, hr.verify):
            try:
                str(look(path))
            except hr.Error as error:
                if names:
                    wrong.append(f"{look.__name__}: {error}")
        print(json.dumps({"file": path, "counts": counts, "wrong": wrong, "refused": refused}), flush=True)


if __name__ == "__main__":
    main()
