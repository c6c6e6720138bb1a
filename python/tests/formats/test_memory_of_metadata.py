"""What files and tables announce costs no memory beyond the budget: types of elements, classes of voxels, joins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from zarr_stores import array2, group2, write_json

import headrace as hr

PEAK = """
import os, resource, sys
import numpy as np
import headrace as hr
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
hr.set_memory(os.environ["BUDGET"])
WHERE = sys.argv[1]
"""


def peak_of(script: str, where: Path, budget: str) -> list[str]:
    words = [sys.executable, "-c", PEAK + script, str(where)]
    environment = os.environ | {"BUDGET": budget, "HEADRACE_CACHE": str(where) + ".cache"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_element_of_any_size_takes_no_memory_by_its_name(tmp_path: Path) -> None:
    store = group2(tmp_path / "a.zarr")
    for name in "abcd":
        form = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|S500000000", "fill_value": None}
        write_json(store / name / ".zarray", form | {"compressor": None, "order": "C", "filters": None})
    (used,) = peak_of("base = peak(); hr.inspect(WHERE); print(peak() - base)", store, "200MB")
    assert int(used) < 64


def test_texts_that_were_never_written(tmp_path: Path) -> None:
    """The fill value of a text is shorter than its elements: the rest is zeros, of which NumPy makes nothing."""
    store = group2(tmp_path / "a.zarr")
    texts = np.array([b"ab", b"", b"ab", b"cde"], "S5")
    array2(store / "t", texts, (2,), fill="YWI=")
    (store / "t" / "0").unlink(missing_ok=True)
    assert hr.open(store, "t")["t"][:].tolist() == [b"ab", b"ab", b"ab", b"cde"]
    form = json.loads((store / "t/.zarray").read_text())
    write_json(store / "t/.zarray", form | {"fill_value": None})
    assert hr.open(store, "t")["t"][:2].tolist() == [b"", b""]


CLASSES = """
patches = hr.open_volume(WHERE).patches((4, 4, 4), 1000, balance=["labels"])
base = peak()
patches = hr.open_volume(WHERE).patches((2, 4, 4), 1000, balance=["labels"])
rows = sum(len(batch["labels"]) for batch in hr.Loader(patches, 100))
print(rows, peak() - base)
"""


def test_classes_in_small_blocks(tmp_path: Path) -> None:
    """A block of a voxel each would have been 28 million of them, at 44 bytes."""
    store = group2(tmp_path / "a.zarr")
    labels = (np.arange(304**3, dtype=np.uint32) * 2654435761 >> 29 == 0).astype(np.uint8).reshape(304, 304, 304)
    array2(store / "labels", labels, (76, 76, 76))
    rows, used = peak_of(CLASSES, store, "160MB")
    assert int(rows) == 1000
    assert int(used) < 160


JOIN = """
random = np.random.default_rng(0)
table = {"k": random.permutation(1_000_000), **{f"c{i}": random.random(1_000_000, np.float32) for i in range(8)}}
rows = hr.open(WHERE)
base = peak()
made = rows.join(table, "k", [f"c{i}" for i in range(8)])
total = sum(float(batch["c3"].sum()) for batch in hr.Loader(made, 512))
assert abs(total - float(table["c3"][np.argsort(table["k"])[:5000]].sum())) < 1e-2 * total
print(peak() - base)
try:
    hr.set_memory("32MiB")
    rows.join(table, "k", [f"c{i}" for i in range(8)])
except hr.OutOfBudgetError:
    print("refused")
"""


def test_a_joined_table_takes_what_it_has(tmp_path: Path) -> None:
    """A table of 40 MB. As lists of Python's numbers it had taken 17 times as much, and no part of any budget."""
    np.savez(tmp_path / "k.npz", k=np.arange(5000))
    used, refused = peak_of(JOIN, tmp_path / "k.npz", "160MiB")
    assert int(used) < 160
    assert refused == "refused"


GROUPS = """
data = hr.open(WHERE)
base = peak()
try:
    hr.Loader(data, group_by="k", max_items=1024)
except hr.OutOfBudgetError as error:
    print(peak() - base, "many" if "runs of equal keys already" in str(error) else error)
"""


def test_groups_without_number_are_refused_while_they_are_found(tmp_path: Path) -> None:
    """A key that differs from row to row: each run takes memory, which is asked for as they are found."""
    np.savez(tmp_path / "k.npz", k=np.arange(8_000_000), x=np.zeros(8_000_000, np.int8))
    used, why = peak_of(GROUPS, tmp_path / "k.npz", "64MiB")
    assert why == "many"
    assert int(used) < 128
