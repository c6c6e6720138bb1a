"""Events by each way to say where they are, patches, and mixtures."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from python.tests.matrix import kinds
from python.tests.matrix.kinds import Kind, Sample

import headrace as hr

EVENTS = (17, 13)  # of each file
TARGETS = ["label", "group"]


def _file_of_events(number: int, empty: bool) -> tuple[list[Sample], Sample]:
    """Events of a file, and the same as columns; ``at`` is where each begins, ``id`` its number in each row."""
    count = EVENTS[number]
    lengths = 1 + np.arange(count) * 5 % 7
    if empty:
        lengths[3] = 0
    at = np.concatenate([[0], np.cumsum(lengths)])
    rows = {"x": kinds.unique(at[-1], 2, first=1000 * number), "cell": (np.arange(at[-1]) % 4).astype("i4")}
    targets = kinds.table(count, 17 * number)
    events = []
    for i in range(count):
        one = {name: values[at[i] : at[i + 1]] for name, values in rows.items()}
        events.append({**one, **{name: values[i] for name, values in targets.items()}})
    return events, {**rows, **targets, "at": at, "id": np.repeat(np.arange(count) + 100 * number, lengths)}


def _events(
    folder: Path, write: Callable[[int, Sample], Any], opened: Callable[[list[Sample]], hr.Dataset], empty: bool = True
) -> Kind:
    samples, places, columns = [], [], []
    for number in range(len(EVENTS)):
        found, made = _file_of_events(number, empty)
        write(number, made)
        columns.append(made)
        samples += found
        places += [(number, int(at)) for at in made["at"][:-1]]
    return Kind(opened(columns), samples, places, [int(one["group"]) for one in samples], "group")


def events_key(folder: Path) -> Kind:
    """A key in each row."""
    return _events(
        folder,
        lambda number, columns: kinds._h5(folder / f"e_{number}.h5", **columns),
        lambda _: hr.open(folder / "e_*.h5", ["x", "cell"], sample_by="id", targets=TARGETS),
        empty=False,
    )


def events_offsets(folder: Path) -> Kind:
    """An array of the files that has where each event begins."""
    spans = hr.Spans(offsets="at")
    return _events(
        folder,
        lambda number, columns: kinds._h5(folder / f"e_{number}.h5", **columns),
        lambda _: hr.open(folder / "e_*.h5", ["x", "cell"], sample_by=spans, targets=TARGETS),
    )


def events_array(folder: Path) -> Kind:
    """An array of the program that has where each event begins, in rows of all files."""

    def write(number: int, columns: Sample) -> None:
        kinds._h5(folder / f"e_{number}.h5", x=columns["x"], cell=columns["cell"])
        np.savez(folder / f"t_{number}.npz", label=columns["label"], group=columns["group"])

    def opened(columns: list[Sample]) -> hr.Dataset:
        at = np.concatenate([columns[0]["at"], columns[0]["at"][-1] + columns[1]["at"][1:]])
        targets = {name: f"{folder}/t_*.npz::{name}" for name in TARGETS}
        return hr.open(folder / "e_*.h5", ["x", "cell"], sample_by=hr.Spans(offsets=at), targets=targets)

    return _events(folder, write, opened)


def _flat(kind: Kind) -> Kind:
    """Parquet has no vectors: x is one number of each row."""
    for one in kind.samples:
        one["x"] = one["x"][:, 0]
    return kind


def events_table(folder: Path) -> Kind:
    """A table with the first row of each event and the row behind its last, beside Parquet files."""

    def write(number: int, columns: Sample) -> None:
        pq.write_table(pa.table({"x": columns["x"][:, 0], "cell": columns["cell"]}), folder / f"e_{number}.parquet")
        meta = {name: columns[name] for name in TARGETS}
        meta |= {"file": np.full(EVENTS[number], number), "first": columns["at"][:-1], "end": columns["at"][1:]}
        pq.write_table(pa.table(meta), folder / f"meta_{number}.parquet")

    words = {"file": "file", "file_template": "e_{file}.parquet"}
    spans = hr.Spans(meta=folder / "meta_*.parquet", first="first", end="end", **words)
    return _flat(
        _events(
            folder,
            write,
            lambda _: hr.open(folder / "e_*.parquet", ["x", "cell"], sample_by=spans, targets=TARGETS),
        )
    )


def _numbered() -> list[tuple[int, ...]]:
    """Places of events that are rows of their file, or arrays of it."""
    return [(number, row) for number, count in enumerate(EVENTS) for row in range(count)]


def events_lists(folder: Path) -> Kind:
    """Lists in Parquet."""

    def write(number: int, columns: Sample) -> None:
        at = pa.array(columns["at"], pa.int32())
        lists = {"x": pa.array(columns["x"][:, 0]), "cell": pa.array(columns["cell"])}
        made = {name: pa.ListArray.from_arrays(at, values) for name, values in lists.items()}
        made |= {name: pa.array(columns[name]) for name in TARGETS}
        pq.write_table(pa.table(made), folder / f"e_{number}.parquet", row_group_size=5)

    kind = _flat(_events(folder, write, lambda _: hr.open(folder / "e_*.parquet")))
    kind.places = _numbered()
    return kind


def events_arrays(folder: Path) -> Kind:
    """An array of each event, as robomimic writes them."""

    def write(number: int, columns: Sample) -> None:
        with h5py.File(folder / f"e_{number}.h5", "w") as file:
            for i, (a, b) in enumerate(pairwise(columns["at"])):
                for name in ("x", "cell"):
                    file[f"data/demo_{i}/{name}"] = columns[name][a:b]

    fields = {name: f"data/demo_*/{name}" for name in ("x", "cell")}
    kind = _events(folder, write, lambda _: hr.open(folder / "e_*.h5", fields), empty=False)
    kind.samples = [{name: one[name] for name in fields} for one in kind.samples]
    kind.places = _numbered()
    kind.groups, kind.by, kind.label = [file for file, _ in kind.places], "file", "cell"
    return kind


PATCH = (4, 4, 4)


def _volumes(folder: Path) -> tuple[hr.Volumes, list[Sample]]:
    held = []
    for number, shape in enumerate([(8, 8, 8), (8, 8, 12)]):
        x = np.arange(np.prod(shape), dtype="f4").reshape(shape) + 1000 * number
        held.append({"x": x, "cell": (x % 4).astype("i4")})
        kinds._h5(folder / f"v_{number}.h5", **held[-1])
    return hr.open_volume(folder / "v_*.h5", ["x", "cell"]), held


def _boxes(held: list[Sample], stride: int) -> tuple[list[Sample], list[tuple[int, ...]]]:
    samples, places = [], []
    for number, volume in enumerate(held):
        counts = [(n - 4) // stride + 1 for n in volume["x"].shape]
        for index in np.ndindex(*counts):
            at = tuple(stride * i for i in index)
            box = tuple(slice(a, a + 4) for a in at)
            samples.append({name: values[box] for name, values in volume.items()})
            places.append((number, *at))
    return samples, places


def grid(folder: Path) -> Kind:
    """Patches on a grid."""
    volumes, held = _volumes(folder)
    samples, places = _boxes(held, 4)
    data = volumes.patches(PATCH, stride=PATCH)
    return Kind(data, samples, places, [place[0] for place in places], label="cell")


def drawn(folder: Path) -> Kind:
    """Patches that are drawn; the samples are all that there can be."""
    volumes, held = _volumes(folder)
    samples, places = _boxes(held, 1)
    data = volumes.patches(PATCH, samples_per_epoch=20)
    return Kind(data, samples, places, [place[0] for place in places], label="cell", once=False)


def _mixture(kind: Kind) -> Kind:
    """Samples of even and of odd numbers, one part as often as the other."""
    chosen = [range(first, len(kind.data), 2) for first in (0, 1)]
    parts = {name: kind.data.select(numbers) for name, numbers in zip("ab", chosen, strict=True)}
    files = len(kind.data.files)
    kind.places = [(files * (i % 2) + place[0], *place[1:]) for i, place in enumerate(kind.places)]
    order = [*chosen[0], *chosen[1]]
    kind.places, kind.samples = [kind.places[i] for i in order], [kind.samples[i] for i in order]
    kind.data = hr.mix({name: (part, 1.0) for name, part in parts.items()}, num_samples=20)
    kind.once, kind.length = False, 20
    return kind


def mixed_rows(folder: Path) -> Kind:
    """A mixture of rows."""
    return _mixture(kinds.rows(folder))


def mixed_windows(folder: Path) -> Kind:
    """A mixture of windows."""
    return _mixture(kinds.windows(folder))


def mixed_events(folder: Path) -> Kind:
    """A mixture of events."""
    return _mixture(events_key(folder))


def mixed_documents(folder: Path) -> Kind:
    """A mixture of documents."""
    return _mixture(kinds.documents(folder))


def mixed_grids(folder: Path) -> Kind:
    """A mixture of patches on a grid."""
    return _mixture(grid(folder))


MADE: dict[str, Callable[[Path], Kind]] = {
    "rows": kinds.rows,
    "parquet": kinds.parquet,
    "axes": kinds.axes,
    "windows": kinds.windows,
    "token-windows": kinds.token_windows,
    "documents": kinds.documents,
    "events-key": events_key,
    "events-offsets": events_offsets,
    "events-array": events_array,
    "events-table": events_table,
    "events-arrays": events_arrays,
    "events-lists": events_lists,
    "grid": grid,
    "drawn": drawn,
    "mixed-rows": mixed_rows,
    "mixed-windows": mixed_windows,
    "mixed-documents": mixed_documents,
    "mixed-events": mixed_events,
    "mixed-grids": mixed_grids,
}
