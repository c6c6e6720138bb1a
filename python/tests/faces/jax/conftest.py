"""Fixtures of the tests of headrace.jax."""

from __future__ import annotations

from pathlib import Path

import pytest
from jax_batches import LENGTH, write_corpus

import headrace as hr


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def windows(corpus: Path) -> hr.Dataset:
    return hr.open_tokens(corpus, vocab_size=50_257).windows(LENGTH)
