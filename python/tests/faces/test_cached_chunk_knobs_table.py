"""The table that a data module prints: what it says of the budget, where something will be kept and where not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace import _headrace
from headrace._faces.cached_chunk_knobs import table

pytestmark = pytest.mark.fast
LINES = [("num_workers", "4", "threads=4")]


@pytest.mark.parametrize("keeps", [False, True])
def test_what_the_first_epoch_may_keep_is_said_to_be_unknown(tmp_path: Path, keeps: bool) -> None:
    np.save(tmp_path / "x.npy", np.arange(4096.0))
    with hr.Loader(tmp_path / "x.npy", 64, cache="none", memory="1MiB", threads=1) as loader:
        plan = loader.report()
    last = table("DataModule", LINES, plan, keeps=keeps).splitlines()[-1]
    told = last.removeprefix("  in all: 1 decode thread, ")
    assert _headrace.format_bytes(plan.memory.planned_bytes) in told
    if keeps:  # what it will hold in the end is not what it begins with
        assert told.startswith("at most 1.00 MiB, the budget: ")
        assert told.endswith(" to work with, and what the first epoch finds worth keeping")
    else:
        assert told.endswith(" planned of a budget of 1.00 MiB")


def test_what_is_kept_is_part_of_the_plan(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(4096.0))
    with hr.Loader(tmp_path / "x.npy", 64, cache="ram", memory="16MiB", threads=1) as loader:
        told = table("DataModule", LINES, loader.report(), keeps=True)
    assert " planned of a budget of 16.0 MiB" in told
