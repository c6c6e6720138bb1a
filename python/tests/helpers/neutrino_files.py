"""Files of the data pack of neutrino telescopes, and their events by pyarrow."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from real_data import folders

import headrace as hr

PACK = "neutrino/data"


def pack(name: str) -> str:
    """A file or a glob of the data pack; the test is skipped, with a reason, where it is absent."""
    for folder in folders():
        if list((folder / PACK).glob(name)):
            return str(folder / PACK / name)
    pytest.skip(f"the data pack is not here: neutrino ({name}); HEADRACE_SHARED_DATA says where")


def files_of(pattern: str) -> list[Path]:
    """In natural order."""
    found = Path(pattern).parent.glob(Path(pattern).name)
    return sorted(found, key=lambda path: [int(number) for number in re.findall(r"\d+", path.stem)])


def numbers_of(table: pa.Table) -> dict[str, np.ndarray]:
    """Columns of a table that are numbers or booleans."""
    kept = [f.name for f in table.schema if not pa.types.is_string(f.type) and not pa.types.is_nested(f.type)]
    return {name: table[name].combine_chunks().to_numpy(zero_copy_only=False) for name in kept}


def runs_of(numbers: np.ndarray) -> list[slice]:
    """Runs of equal numbers, of which none comes back."""
    starts = [*np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1)).tolist(), len(numbers)]
    runs = [slice(a, b) for a, b in itertools.pairwise(starts)]
    assert len({int(numbers[run.start]) for run in runs}) == len(runs)
    return runs


def events_of(rows: str, truth: str, names: list[str]) -> list[dict[str, np.ndarray]]:
    """By pyarrow: the rows of each event, and its row of the truth as NAME."""
    events = []
    for path, beside in zip(files_of(rows), files_of(truth), strict=True):
        columns, one = numbers_of(pq.read_table(path)), numbers_of(pq.read_table(beside))
        runs = runs_of(columns["event_no"])
        assert columns["event_no"][[run.start for run in runs]].tolist() == one["event_no"].tolist()
        for number, run in enumerate(runs):
            event = {name: values[run] for name, values in columns.items()}
            events.append(event | {f"true_{name}": one[name][number] for name in names})
    return events


def same(got: dict[str, Any], want: dict[str, Any]) -> None:
    assert set(got) == set(want)
    for name in want:
        have, should = np.asarray(got[name]), np.asarray(want[name])
        assert (have.dtype, have.shape) == (should.dtype, should.shape), name
        np.testing.assert_array_equal(have, should, err_msg=name)


def split_up(batch: Any, ragged: list[str]) -> list[dict[str, Any]]:
    out = []
    for i in range(len(batch["true_event_no"])):
        event = {name: batch[name][i] for name in batch if name.startswith("true_")}
        for name in ragged:
            event[name] = batch[name][batch[f"{name}.offsets"][i] : batch[f"{name}.offsets"][i + 1]]
        out.append(event)
    return out


def opened(rows: str, truth: str, names: list[str], sample_by: Any = "event_no", fields: Any = None) -> hr.Dataset:
    columns = fields or list(numbers_of(pq.read_table(files_of(rows)[0])))
    targets = {f"true_{name}": f"{truth}::{name}" for name in names}
    return hr.open(rows, columns, sample_by=sample_by, targets=targets)
