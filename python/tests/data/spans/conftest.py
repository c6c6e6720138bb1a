"""Fixtures of the tests of spans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from meta_files import Events


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    from meta_files import make_events  # with pyarrow, which some tests of this room do without

    return make_events(tmp_path_factory.mktemp("events"), gaps=True, empty=True, shuffled=True)
