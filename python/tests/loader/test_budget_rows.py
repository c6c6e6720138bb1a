"""Nothing that grows with the number of rows, batches or processes is left out of the budget."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from memory_files import MIB, PEAK_BYTES, run_child, write_rows


def test_a_forked_child_has_the_whole_budget(tmp_path: Path) -> None:
    """What the parent's loaders hold can be neither used nor given back in a child: it is not charged there."""
    path = write_rows(tmp_path / "rows.h5", 96, noise=False)
    run_child(
        """
import os
hr.set_memory(100 << 20)
data = hr.open(path)
loader = hr.Loader(data, 64, shuffle="exact", memory="80MiB")
batches = iter(loader)
next(batches)
child = os.fork()
if child == 0:
    own = hr.Loader(data, 64, shuffle="exact", memory="80MiB")
    rows = sum(len(batch["y"]) for batch in own)
    budget = own.report().memory.budget_bytes
    os._exit(0 if rows == len(data) and budget == 80 << 20 else 3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert sum(len(batch["y"]) for batch in batches) == len(data) - 64
""",
        path=str(path),
    )


SMALL_ROWS = f"""
{PEAK_BYTES}
data = hr.open(path)
loader = hr.Loader(data, batch_size, shuffle=shuffle, memory=budget, cache="none", threads=2)
open("/proc/self/clear_refs", "w").write("5")  # the peak is what is held now
before = peak_bytes()
rows = sum(len(batch["y"]) for batch in loader)
above = peak_bytes() - before
assert rows == len(data), rows
assert above <= budget + spare, f"{{above >> 20}} MiB above, of a budget of {{budget >> 20}} MiB"
"""


def test_rows_of_eight_bytes_stay_within_the_budget(tmp_path: Path) -> None:
    """The order's pools are part of it: eight bytes a mixed row would be 128 MiB here, beside the budget."""
    path = tmp_path / "small.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("y", data=np.arange(16 * MIB, dtype=np.int64), chunks=(65_536,))
    run_child(SMALL_ROWS, path=str(path), budget=24 * MIB, batch_size=4096, shuffle=True, spare=64 * MIB)


def test_a_window_of_many_tiny_batches_stays_within_the_budget(tmp_path: Path) -> None:
    """The objects of a slot are part of it: they weigh a fifth of what ten small rows do, in 60,000 slots."""
    path = tmp_path / "small.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("y", data=np.arange(MIB, dtype=np.int64), chunks=(65_536,))
    run_child(SMALL_ROWS, path=str(path), budget=256 * MIB, batch_size=10, shuffle="exact", spare=24 * MIB)
