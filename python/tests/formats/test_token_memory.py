"""Memory of documents that are read by number."""

from pathlib import Path

import numpy as np
from token_files import write_megatron


def test_what_is_read_at_once_is_counted_by_its_own_length(tmp_path: Path, run_python) -> None:
    """Not by the mean of all: one short document of many long ones, and one long of many short ones."""
    rng = np.random.default_rng(3)
    long, short = rng.integers(0, 9, 8_000_000).astype("u2"), np.arange(10, dtype="u2")
    write_megatron(tmp_path / "long", [[long], [long], [short]])
    write_megatron(tmp_path / "short", [[short], [long], *[[short]] * 30])
    script = f"""
        hr.set_memory("12MB")
        for name, small, large in [("long", 2, 1), ("short", 0, 1)]:
            documents = hr.open_tokens({str(tmp_path)!r} + "/" + name).documents()
            print(len(documents[small]["tokens"]))
            try:
                documents[large]
            except hr.OutOfBudgetError as error:
                print("1 row of 15.3 MiB does not fit the 11.4 MiB" in str(error))
    """
    assert run_python(script).stdout == "10\nTrue\n10\nTrue\n"
