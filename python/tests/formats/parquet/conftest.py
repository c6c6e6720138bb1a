"""Fixtures of the tests of Parquet files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from twin_files import Twins


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    from twin_files import write_twins  # with pyarrow, for want of which the tests of this room are skipped

    return write_twins(tmp_path_factory.mktemp("twins"))
