"""Fixtures of the tests of loaders: files for those of memory and caches."""

from __future__ import annotations

import pytest
from memory_files import SIZE, Shards, memory_group, write_rows, write_shards


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return write_shards(tmp_path_factory.mktemp("shards"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Larger files: of noise, which nothing makes smaller, and of rows that compress to nothing."""
    folder = tmp_path_factory.mktemp("rows")
    return {
        "noise": str(write_rows(folder / "noise.h5", SIZE, noise=True)),
        "contiguous": str(write_rows(folder / "contiguous.h5", SIZE, noise=True, compression=None)),
        "even": str(write_rows(folder / "even.h5", 4 * SIZE, noise=False)),
        "gzip": str(write_rows(folder / "gzip.h5", SIZE // 2, noise=False, compression="gzip")),
    }


@pytest.fixture
def group():
    with memory_group() as made:
        yield made


@pytest.fixture
def kept_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let loaders keep decoded rows and chunks at once."""
    monkeypatch.setenv("HEADRACE_KEEP_SHARE", "inf")
