"""Read damaged copies of one file, in a process of its own: a crash or a hang then ends this process, not the tests.

    python read_damaged.py FILE FOLDER < damages

A line of damages is ``flip OFFSET BIT`` or ``cut LENGTH``. For each, one JSON line is written, before the next one is
tried: ``{"damage": …, "result": "equal" | "differs" | "error" | "bug", …}``. "differs" names the fields
and the rows that differ from the undamaged file; "bug" is anything that is not a headrace.Error.
Nothing may take longer than HANG_SECONDS.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np

import headrace as hr

HANG_SECONDS = 20
ADDRESS_SPACE_BYTES = 8 << 30  # absurd sizes must fail as errors, not fill the machine


def read_all(path: Path, names: list[str], how: int) -> dict[str, np.ndarray]:
    """All fields of a file: at once, by a shuffled loader, or by verify first."""
    with hr.open(path, fields=names) as dataset:
        if how % 8 == 1:
            hr.verify(path, threads=1)
            hr.inspect(path)
            repr(dataset)
        if how % 8 != 2:
            return dataset[:]
        if len(dataset) > 100_000:  # a damaged shape whose rows are all fill values
            return dataset[-5:]
        with hr.Loader(dataset, 16, shuffle=True, threads=2, memory="256MiB", timeout=HANG_SECONDS / 2) as loader:
            batches = [dict(batch) for batch in loader]
        return {name: np.concatenate([batch[name] for batch in batches]) for name in dataset.fields}


def in_order(values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Rows by the field ``row`` where a loader has shuffled them."""
    if "row" not in values:
        return values
    order = np.argsort(values["row"], kind="stable")
    return {name: array[order] for name, array in values.items()}


def compare(got: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> dict[str, Any]:
    if got.keys() != want.keys():
        return {"result": "differs", "shape": f"fields {sorted(got)}"}
    rows = {}
    for name, array in want.items():
        mine = got[name]
        if mine.dtype != array.dtype or mine.shape != array.shape:
            return {"result": "differs", "shape": f"{name}: {mine.dtype} {mine.shape}"}
        a = np.ascontiguousarray(mine).reshape(len(array), -1).view("u1")
        b = np.ascontiguousarray(array).reshape(len(array), -1).view("u1")
        bad = np.flatnonzero((a != b).any(axis=1))
        if len(bad):
            rows[name] = [int(row) for row in bad]
    return {"result": "differs", "rows": rows} if rows else {"result": "equal"}


def damaged_copy(original: bytes, damage: str) -> bytes:
    kind, *numbers = damage.split()
    if kind == "cut":
        return original[: int(numbers[0])]
    offset, bit = map(int, numbers)
    return original[:offset] + bytes([original[offset] ^ 1 << bit]) + original[offset + 1 :]


def main() -> None:
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    original = source.read_bytes()
    names = list(hr.open(source).fields)
    want = in_order(read_all(source, names, 0))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, line in enumerate(sys.stdin):
        damage = line.strip()
        path = folder / f"damaged_{number}.h5"
        path.write_bytes(damaged_copy(original, damage))
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            found = compare(in_order(read_all(path, names, number)), want)
        except hr.InternalError as error:
            found = {"result": "bug", "text": f"InternalError: {error}"}
        except hr.Error as error:
            found = {"result": "error", "class": type(error).__name__, "file": error.file, "text": str(error)[:600]}
            if error.file != str(path):
                found["result"] = "bug"
        except Exception as error:
            found = {"result": "bug", "text": f"{type(error).__name__}: {error}"[:600]}
        faulthandler.cancel_dump_traceback_later()
        path.unlink()
        print(json.dumps({"damage": damage, **found}), flush=True)


if __name__ == "__main__":
    main()
