"""The same rows in Parquet and in HDF5 files, in row groups and chunks of as many rows, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cli_program import run

import headrace as hr

GROUP = 97
ROWS = {1: 300, 2: 150, 10: 3 * GROUP + 1}
TOTAL = sum(ROWS.values())


class Twins(NamedTuple):
    folder: Path
    columns: dict[str, np.ndarray]

    def glob(self, kind: str = "parquet") -> str:
        return str(self.folder / f"a_*.{kind}")

    def check(self, batches: list[dict[str, Any]], names: dict[str, str] | None = None) -> list[int]:
        """Each row is one of the files', whole; their ids."""
        names = names or {name: name for name in self.columns}
        at = {int(number): row for row, number in enumerate(self.columns["id"])}
        own = next(name for name, column in names.items() if column == "id")
        seen: list[int] = []
        for batch in batches:
            assert set(batch) >= set(names)
            rows = [at[int(number)] for number in batch[own]]
            for name, column in names.items():
                assert batch[name].dtype == self.columns[column].dtype
                np.testing.assert_array_equal(batch[name], self.columns[column][rows])
            seen += batch[own].tolist()
        return seen

    def check_epoch(self, batches: list[dict[str, Any]]) -> list[int]:
        seen = self.check(batches)
        assert sorted(seen) == sorted(self.columns["id"].tolist())
        return seen


def make_columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    return {
        "id": np.arange(rows) + 10_000 * seed,
        "x": random.normal(size=rows).astype(np.float32),
        "flag": random.random(rows) < 0.3,
        "event": (np.arange(rows) // 20 + 100 * seed).astype(np.int32),
        "y": random.integers(0, 7, rows),
    }


def write_parquet(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    pq.write_table(pa.table(columns), path, row_group_size=GROUP, **{"write_page_checksum": True, **options})
    return path


def write_h5(path: Path, columns: dict[str, np.ndarray]) -> Path:
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, chunks=(GROUP,), maxshape=(None,), compression="gzip")
    return path


def write_twins(folder: Path) -> Twins:
    parts = [make_columns(rows, number) for number, rows in ROWS.items()]
    for number, part in zip(ROWS, parts, strict=True):
        write_parquet(folder / f"a_{number}.parquet", part)
        write_h5(folder / f"a_{number}.h5", part)
    return Twins(folder, {name: np.concatenate([part[name] for part in parts]) for name in parts[0]})


def batches_of(loader: hr.Loader) -> list[dict[str, Any]]:
    """Copies: a batch that is kept counts as memory of the loader."""
    return [{name: np.array(values) for name, values in batch.items()} for batch in loader]


def same_batches(a: list[dict[str, Any]], b: list[dict[str, Any]]) -> bool:
    return len(a) == len(b) and all(
        x.keys() == y.keys() and all(np.array_equal(x[k], y[k]) and x[k].dtype == y[k].dtype for k in x)
        for x, y in zip(a, b, strict=True)
    )


def told(*arguments: object, status: int = 0) -> dict[str, Any]:
    """What a verb prints as JSON."""
    done = run(*arguments, "--json")
    assert done.returncode == status, done.stdout + done.stderr
    return json.loads(done.stdout)
