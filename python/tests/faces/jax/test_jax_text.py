"""load_text_dataset: a program's settings for Grain, over files of tokens."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tokenizer_files as files
from jax_batches import LENGTH, WINDOWS

import headrace as hr

jax = pytest.importorskip("jax", reason="jax is not installed")
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_num_cpu_devices", 4)  # before anything computes, as in test_jax.py
from headrace.jax import load_text_dataset, load_text_dataset_tf_fallback  # noqa: E402


def test_a_program_for_grain_keeps_its_settings(corpus: Path) -> None:
    settings = {"path": str(corpus), "batch_size": 8, "tokenizer_name": "gpt2", "worker_count": 4, "cache_size": 50_000}
    settings |= {"worker_buffer_size": 100, "prefetch_buffer_size": 50}
    model = SimpleNamespace(block_size=LENGTH, vocab_size=50_257, layers=4)
    for load in (load_text_dataset, load_text_dataset_tf_fallback):
        loader = load(settings, model, {"seed": 7, "learning_rate": 1e-3}, "gpt2", 0)
        batch = next(iter(loader))
        assert {name: (array.shape, array.dtype.name) for name, array in batch.items()} == {
            "input": ((8, LENGTH), "int32"),
            "target": ((8, LENGTH), "int32"),
        }
        np.testing.assert_array_equal(batch["input"][:, 1:], batch["target"][:, :-1])
        for name in (*settings, "seed", "block_size", "vocab_size", "pad_token_id"):
            assert f"\n  {name} " in str(loader)
        assert loader.loader.seed == 7
        assert len(loader) == WINDOWS // 8


def test_settings_may_be_attributes_of_a_class(corpus: Path) -> None:
    class Data:
        path = str(corpus)
        batch_size = 8

        def __init__(self) -> None:
            self.vocab_size = 50_257

        def shuffled(self) -> bool:
            return False

    for data in (Data(), SimpleNamespace(path=corpus, batch_size=8, vocab_size=50_257)):
        assert len(load_text_dataset(data, {"block_size": LENGTH}, None)) == WINDOWS // 8


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("epochs", [None, 1, 3])
def test_epochs_are_those_that_the_settings_name(corpus: Path, place: int, epochs: int | None) -> None:
    configs: list[dict[str, Any]] = [{"path": corpus, "batch_size": 8, "vocab_size": 50_257}, {"maxlen": LENGTH}, {}]
    assert load_text_dataset(*configs).num_epochs == 1 and "num_epochs" not in load_text_dataset(*configs)._became
    configs[place]["num_epochs"] = epochs
    loader = load_text_dataset(*configs)
    assert loader.num_epochs == epochs
    assert re.search(rf"\n  num_epochs +{epochs} +num_epochs={epochs}", str(loader))
    batches, several = iter(loader), 3 * (WINDOWS // 8)
    assert len(list(itertools.islice(batches, several + 1))) == {None: several + 1, 1: WINDOWS // 8, 3: several}[epochs]
    configs[place - 1]["num_epochs"] = 2
    with pytest.raises(hr.InvalidArgumentError, match=r"num_epochs=\w+ and num_epochs=\w+ contradict each other"):
        load_text_dataset(*configs)


@pytest.mark.parametrize("name", ["epochs", "max_epochs", "n_epochs", "num_train_epochs", "total_epochs"])
def test_epochs_of_the_training_loop_are_told_as_ignored(corpus: Path, name: str) -> None:
    data = {"path": corpus, "batch_size": 8, "vocab_size": 50_257}
    told = rf"\n  {name} +3 +no effect: an iter\(loader\) is num_epochs=1, and the program loops"
    for training in ({name: 3}, SimpleNamespace(**{name: 3}), type("Training", (), {name: 3})()):
        loader = load_text_dataset(data, {"maxlen": LENGTH}, training)
        assert loader.num_epochs == 1 and re.search(told, str(loader))
    with pytest.raises(hr.UnknownArgumentError, match=name):
        load_text_dataset({**data, name: 3}, {"maxlen": LENGTH}, {})


def test_settings_that_are_wrong_are_named(corpus: Path, tmp_path: Path) -> None:
    good: dict[str, Any] = {"data_path": corpus, "batch_size": 8, "vocab_size": 50_257}
    model = {"maxlen": LENGTH}
    with pytest.raises(
        hr.UnknownArgumentError, match=r"no setting 'batchsize' in d_config\. Did you mean 'batch_size'"
    ):
        load_text_dataset({**good, "batchsize": 9}, model, {}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match=r"the sequence length is missing.*maxlen"):
        load_text_dataset(good, {}, {}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match="maxlen=16 and seq_len=8 contradict"):
        load_text_dataset(good, model, {"seq_len": 8}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match="the path of the data is missing"):
        load_text_dataset({"batch_size": 8}, model, {}, "gpt2", 0)
    with pytest.raises(hr.InvalidArgumentError, match=r"stories\.txt is text, and tokenizer_name is missing"):
        load_text_dataset({**good, "data_path": tmp_path / "stories.txt"}, model, {})
    with hr.tokens.Writer(tmp_path / "own", vocab_size=50_257, tokenizer="gpt2") as writer:
        writer.write(np.arange(300))
    own = {"path": tmp_path / "own", "batch_size": 8}
    assert "what the files say" in str(load_text_dataset(own, model, None, "gpt2", 0))
    with pytest.raises(hr.InvalidArgumentError, match="tokenised by 'gpt2', and tokenizer_name is 'llama'"):
        load_text_dataset(own, model, None, "llama", 0)


def test_tokenizers_are_compared_by_what_they_are(tmp_path: Path) -> None:
    """One tokenizer may have several names, and several tokenizers one."""
    text = tmp_path / "a.txt"
    text.write_text("the reader of the file " * 200)
    for name in ("gpt2", "mine"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine" / "k8.json").write_bytes(files.SMALL.read_bytes())
    files.write_json(tmp_path / "gpt2" / "tokenizer.json", files.with_pattern(files.small(), files.LLAMA3))
    hr.tokenize(text, tmp_path / "tokens", tmp_path / "mine" / "k8.json")
    assert hr.open_tokens(tmp_path / "tokens").tokenizer == "k8"
    own = {"path": tmp_path / "tokens", "batch_size": 8}
    loader = load_text_dataset(own, {"maxlen": 16}, None, str(files.SMALL), 0)
    assert "by its hash" in str(loader)
    with pytest.raises(hr.InvalidArgumentError, match=r"another tokenizer than .*gpt2.*: theirs is 'k8' with hash"):
        load_text_dataset(own, {"maxlen": 16}, None, str(tmp_path / "gpt2"), 0)


def test_headrace_does_not_import_jax() -> None:
    code = "import sys, headrace; sys.exit('jax' in sys.modules or 'grain' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_text_is_tokenised_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "stories.txt"
    path.write_text("The reader loads the file. " * 500)
    tokenizer = str(files.SMALL)
    config = {"path": path, "batch_size": 4, "tokenizer_name": tokenizer, "shuffle": False}
    loader = load_text_dataset(config, {"maxlen": 16}, {})
    want = hr.Tokenizer(tokenizer).encode(path.read_text())[: 4 * 16].reshape(4, 16)
    assert np.array_equal(np.asarray(next(iter(loader))["input"]), want)
    assert len(list((tmp_path / "cache/text").iterdir())) == 1
    with pytest.raises(hr.InvalidArgumentError, match=r"vocab_size is 100, and .* has 5000 ids"):
        load_text_dataset({**config, "vocab_size": 100}, {"maxlen": 16}, {})


@pytest.mark.parametrize(
    "given", ["part_*.jsonl", "*", "x.ndjson", "x.md", "*.json*", "p[a]rt_0.jsonl", ["x.ndjson", "part_0*"], "**/*"]
)
def test_text_is_known_by_its_files(tmp_path: Path, given: str | list[str]) -> None:
    line = '{"text": "It was a bright cold day in April."}\n'
    patterns = [given] if isinstance(given, str) else given
    names = {"x.md"} if given == "x.md" else {"part_0.jsonl", "part_1.jsonl", "x.ndjson"}
    for name in names:
        (tmp_path / name).write_text(line * 40)
    data = {"path": [str(tmp_path / one) for one in patterns], "batch_size": 2}
    with pytest.raises(hr.InvalidArgumentError, match="is text, and tokenizer_name is missing"):
        load_text_dataset(data, {"block_size": 8}, None)


def test_text_without_an_ending_is_refused_by_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "part_0").write_text('{"text": "It was a bright cold day in April."}\n' * 40)
    with pytest.raises(hr.InvalidArgumentError, match="this is text"):
        load_text_dataset(
            {"path": str(tmp_path / "part_*"), "batch_size": 2, "vocab_size": 50_257}, {"block_size": 8}, None
        )


def test_text_beside_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"text": "cold"}\n')
    np.zeros(1000, "u2").tofile(tmp_path / "y.bin")
    with pytest.raises(hr.InvalidArgumentError, match=r"x\.jsonl is text, and .*y\.bin is not"):
        load_text_dataset({"path": str(tmp_path / "*"), "batch_size": 2, "vocab_size": 50_257}, {"block_size": 8}, None)


def test_the_key_of_the_text_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the error says that misses it; what a model calls its field is its own."""
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "x.jsonl").write_text('{"story": "The reader loads the file.", "other": "x"}\n' * 99)
    config = {"path": tmp_path / "x.jsonl", "batch_size": 4, "tokenizer_name": str(files.SMALL), "shuffle": False}
    with pytest.raises(hr.CorruptDataError, match="with field="):
        load_text_dataset(config, {"maxlen": 16, "field": "story"}, {})
    loader = load_text_dataset({**config, "field": "story"}, {"maxlen": 16, "field": 3}, {})
    ids = hr.Tokenizer(files.SMALL).encode("The reader loads the file.")
    assert np.array_equal(np.asarray(next(iter(loader))["input"])[0, : len(ids)], ids[:16])
    assert "the key of the text in a line of JSON" in str(loader)
    hr.tokenize(tmp_path / "x.jsonl", tmp_path / "tokens", files.SMALL, field="story")
    own = load_text_dataset({"path": tmp_path / "tokens", "batch_size": 4, "field": "story"}, {"maxlen": 16}, {})
    assert "not needed: the files are tokens" in str(own)


def test_an_object_that_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="the path of the data must be a str, a Path or a list"):
        load_text_dataset({"path": object(), "batch_size": 2}, {"maxlen": 8}, {})
