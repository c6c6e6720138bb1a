"""Fixtures of the tests of windows."""

from __future__ import annotations

import pytest
from window_files import KINDS, write_corpus, write_places

import headrace as hr


@pytest.fixture(scope="module", params=KINDS)
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_corpus(tmp_path_factory.mktemp("corpus"), request.param)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    return write_places(tmp_path_factory.mktemp("one"))
