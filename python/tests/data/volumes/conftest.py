"""Fixtures of the tests of volumes."""

from __future__ import annotations

import pytest
from volume_files import Volume, write_volumes

import headrace as hr


@pytest.fixture(scope="module")
def gzip(tmp_path_factory: pytest.TempPathFactory) -> tuple[hr.Volumes, list[Volume]]:
    return write_volumes(tmp_path_factory.mktemp("gzip"), "gzip")
