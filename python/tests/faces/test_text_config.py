"""The configuration of a program that trains on text with Grain, as a run file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cli_program import program

import headrace as hr

pytestmark = pytest.mark.fast

CONFIG = """
data_config:
  data_path: corpus.bin
  tokenizer_name: gpt2
  batch_size: 8
  worker_count: 4
  worker_buffer_size: 100
  prefetch_buffer_size: 50
  cache_size: 100000
model_config:
  block_size: 64
  vocab_size: 50257
  num_layers: 4
training:
  seed: 3
  num_epochs: 2
  learning_rate: 0.001
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    np.random.default_rng(0).integers(0, 50_257, 10_000).astype(np.uint16).tofile(tmp_path / "corpus.bin")
    path = tmp_path / "config.yaml"
    path.write_text(CONFIG)
    return path


def test_bench_says_what_each_setting_became(config: Path) -> None:
    command = [program(), "bench", str(config), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    told = json.loads(done.stdout)
    assert (told["samples"], told["batches"], told["batch_size"]) == (156, 20, 8)
    for text in (
        "note: data_config.data_path corpus.bin: files of tokens",
        "note: model_config.block_size 64: windows",
        "note: data_config.batch_size 8: windows in a batch",
        "note: data_config.worker_count 4:",
        "note: data_config.worker_buffer_size 100: without effect",
        "note: data_config.cache_size 100000: not needed",
        "note: data_config.tokenizer_name gpt2:",
        "note: training.num_epochs 2:",
    ):
        assert text in done.stderr, text


def test_the_loader_has_the_windows(config: Path) -> None:
    loader = hr.load_run(config)
    tokens = np.fromfile(config.parent / "corpus.bin", np.uint16)
    windows = tokens[: len(tokens) // 64 * 64].reshape(-1, 64)
    first = np.concatenate([batch["tokens"] for batch in loader])
    assert first.shape == (156, 65) and loader.batch_size == 8
    order = [int(np.flatnonzero((windows == row[:64]).all(axis=1))[0]) for row in first]
    assert sorted(order) == list(range(156)) and order != sorted(order)
    again = np.concatenate([batch["tokens"] for batch in hr.load_run(config, seed=3)])
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("worker_count", "worker_cuont", r"line 6: data_config.worker_cuont: there is no such setting.*worker_count"),
        ("data_path", "data_pth", "the path of the data is missing"),
        ("  block_size: 64\n", "", "the sequence length is missing"),
        ("  batch_size: 8\n", "", "the batch size is missing"),
        ("  seed: 3", "  batch_size: 9", "data_config.batch_size and training.batch_size contradict each other"),
        ("batch_size: 8", "batch_size: many", "must be a whole number"),
        ("batch_size: 8", "batch_size: 0", "at least 1"),
        ("block_size: 64", "block_size: 0", "at least 1"),
    ],
)
def test_what_is_refused(config: Path, old: str, new: str, words: str) -> None:
    assert old in CONFIG
    config.write_text(CONFIG.replace(old, new))
    with pytest.raises(hr.InvalidArgumentError, match=words):
        hr.load_run(config)


def test_text_that_is_not_tokenised_is_refused(config: Path) -> None:
    config.write_text(CONFIG.replace("corpus.bin", "corpus.jsonl"))
    with pytest.raises(hr.UnsupportedError, match=r"is text, and a run file reads tokens.*headrace tokenize"):
        hr.load_run(config)


def test_a_run_file_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data:\n  files: a.bin\n  seq_len: 5\nloader:\n  batch_size: 3\n")
    with pytest.raises(hr.InvalidArgumentError, match=r"data\.seq_len: there is no such key"):
        hr.load_run(path)


def test_words_are_those_of_python(tmp_path: Path) -> None:
    text = pytest.importorskip("headrace._programs.jax_text", reason="jax is not installed")
    others = [name for name in text.KNOWN if name not in (*text.PATHS, *text.LENGTHS, "batch_size")]
    values = {"shuffle": "true", "tokenizer_name": "gpt2"}
    for path, length in [(path, text.LENGTHS[0]) for path in text.PATHS] + [("path", name) for name in text.LENGTHS]:
        lines = [f"  {path}: a.npy", f"  {length}: 8", "  batch_size: 4"]
        lines += [f"  {name}: {values.get(name, 9)}" for name in others]
        np.save(tmp_path / "a.npy", np.zeros(100, np.uint16))
        (tmp_path / "config.yaml").write_text("\n".join(["data:", *lines, ""]))
        assert len(hr.load_run(tmp_path / "config.yaml").dataset) == 12
