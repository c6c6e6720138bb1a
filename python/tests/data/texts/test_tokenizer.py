"""Tokenizers: the ids of tokenizers and tiktoken, and what is refused."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizer_files as files
from overwritten_arrays import Overwritten

import headrace as hr

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed: its ids are the truth here")
TEXTS = [*files.own_texts(), *files.odd_texts(1, 1500), *files.long_runs()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


def file_of(folder: Path, grammar: str, **model: Any) -> Path:
    """The small tokenizer.json without added words, which tokenizers would find in every text."""
    made = {**files.small(), "added_tokens": []}
    made["model"] |= model
    if grammar != "gpt2":
        made = files.with_pattern(made, files.PATTERNS[grammar])
    return files.write_json(folder / f"{grammar}{len(model)}.json", made)


def same_ids(tokenizer: hr.Tokenizer, texts: list[str], oracle: Callable[[str], list[int]]) -> int:
    """Compare text by text; the number of tokens."""
    ids, at = tokenizer.encode_batch(texts)
    for i, text in enumerate(texts):
        want = np.array(oracle(text), ids.dtype)
        found = ids[at[i] : at[i + 1]]
        assert np.array_equal(found, want), f"text {i}: {text[:60]!r}"
    assert tokenizer.decode_bytes(ids) == "".join(texts).encode()
    return len(ids)


@pytest.mark.parametrize("grammar", ["gpt2", "llama3"])
def test_ids_are_those_of_tokenizers(folder: Path, grammar: str) -> None:
    path = file_of(folder, grammar)
    other = tokenizers.Tokenizer.from_file(str(path))
    assert same_ids(hr.Tokenizer(path), TEXTS, lambda text: other.encode(text).ids) > 1_000_000


@pytest.mark.parametrize("grammar", ["gpt2", "cl100k", "llama3"])
def test_ids_are_those_of_tiktoken(folder: Path, grammar: str) -> None:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed: its ids are the truth here")
    ranks = files.ranks(files.small())
    other = tiktoken.Encoding("small", pat_str=files.PATTERNS[grammar], mergeable_ranks=ranks, special_tokens={})
    path = files.write_ranks(folder / "small.tiktoken", files.small())
    assert same_ids(hr.Tokenizer(path, grammar=grammar), TEXTS, other.encode_ordinary) > 1_000_000


def test_words_of_the_vocabulary_where_merges_are_ignored(folder: Path) -> None:
    path = file_of(folder, "gpt2", ignore_merges=True, merges=files.small()["model"]["merges"][:2000])
    other = tokenizers.Tokenizer.from_file(str(path))
    same_ids(hr.Tokenizer(path), TEXTS[:150], lambda text: other.encode(text).ids)
    path = file_of(folder, "gpt2", merges=files.small()["model"]["merges"][:2000])
    other = tokenizers.Tokenizer.from_file(str(path))
    same_ids(hr.Tokenizer(path), TEXTS[:150], lambda text: other.encode(text).ids)  # entries that no merge reaches


def test_added_words_are_found_as_tokenizers_does(folder: Path) -> None:
    made = files.small()
    for i, (text, special) in enumerate(
        [("  ", False), ("    ", False), ("<|end", True), ("<|endoftext|>!", True), ("ade of", False), ("étude", True)]
    ):
        common = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": not special}
        made["added_tokens"].append({"id": 5000 + i, "content": text, "special": special, **common})
    path = files.write_json(folder / "added.json", made)
    other = tokenizers.Tokenizer.from_file(str(path))
    tokenizer = hr.Tokenizer(path)
    texts = [
        "a" + " " * 11 + "b <|endoftext|>! <|end of it",
        files.END * 2,
        "made of shade of étude",
        "",
        *files.odd_texts(3, 200),
    ]
    ids, at = tokenizer.encode_batch(texts, allow_special=True)
    for i, text in enumerate(texts):
        assert ids[at[i] : at[i + 1]].tolist() == other.encode(text).ids, text
    assert set(tokenizer.special) == {files.END, "<|end", "<|endoftext|>!", "étude"}


def test_special_words_are_ordinary_text_unless_asked_for() -> None:
    tokenizer = hr.Tokenizer(files.SMALL)
    text = f"GPT-2 ends a text with {files.END} and begins another."
    end = tokenizer.end_of_text
    assert end == tokenizer.special[files.END] == 0
    ordinary = tokenizer.encode(text)
    assert end not in ordinary and tokenizer.decode(ordinary) == text
    for allow in (True, {files.END}):
        asked = tokenizer.encode(text, allow_special=allow)
        assert (asked == end).sum() == 1 and tokenizer.decode(asked) == text
    with pytest.raises(hr.InvalidArgumentError, match="no special word"):
        tokenizer.encode(text, allow_special={"<|pad|>"})
    with pytest.raises(hr.InvalidArgumentError, match="allow_special"):
        tokenizer.encode(text, allow_special=files.END)


def test_threads_change_nothing() -> None:
    tokenizer = hr.Tokenizer(files.SMALL)
    texts = ["".join(files.own_texts()), *files.odd_texts(4, 100), "", "x" * 2_000_000]
    ids, at = tokenizer.encode_batch(texts, threads=1)
    assert ids.dtype == np.uint16 and at.dtype == np.int64 and len(at) == len(texts) + 1
    for threads in (2, 3, 4):
        others, places = tokenizer.encode_batch(texts, threads=threads)
        assert np.array_equal(ids, others) and np.array_equal(at, places)
    one_by_one = np.concatenate([tokenizer.encode(text) for text in texts])
    assert np.array_equal(ids, one_by_one)


def test_bytes_need_not_be_utf8_and_come_back() -> None:
    tokenizer = hr.Tokenizer(files.SMALL)
    for data in (b"", b"\x80", b"caf\xc3", b"\xf5\x80\x80\x80 \xed\xa0\x80", bytes(range(256)) * 300):
        assert tokenizer.decode_bytes(tokenizer.encode(data)) == data
    assert tokenizer.decode(tokenizer.encode(b"caf\xc3")) == "caf\ufffd"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode(tokenizer.encode(b"caf\xc3"), errors="strict")
    assert np.array_equal(tokenizer.encode("Straße"), tokenizer.encode("Straße".encode()))


def test_what_is_no_text_is_refused() -> None:
    tokenizer = hr.Tokenizer(files.SMALL)
    with pytest.raises(hr.InvalidArgumentError, match="text 1 has a surrogate at 2"):
        tokenizer.encode_batch(["fine", "ab\ud800"])
    with pytest.raises(hr.InvalidArgumentError, match="text 1 is int"):
        tokenizer.encode_batch(["fine", 7])  # type: ignore[list-item]
    with pytest.raises(hr.InvalidArgumentError, match="several"):
        tokenizer.encode_batch("fine")
    with pytest.raises(hr.InvalidArgumentError, match="str or bytes"):
        tokenizer.encode(["fine"])  # type: ignore[arg-type]


def test_ids_that_there_are_not_are_refused() -> None:
    tokenizer = hr.Tokenizer(files.SMALL)
    for ids, words in (([1, 5000], "token 1 is 5000"), ([-1], "-1"), ([2**40], str(2**40)), ([0.5], "float64")):
        with pytest.raises(hr.InvalidArgumentError, match=words):
            tokenizer.decode(ids)
    assert tokenizer.decode([]) == ""


def test_ids_are_copied_before_they_are_checked() -> None:
    """Another thread may write into the array while it is decoded without the GIL."""
    tokenizer = hr.Tokenizer(files.SMALL)
    ids = tokenizer.encode("other threads").astype(np.uint32)
    tokenizer._native = Overwritten(tokenizer._native, ids, 2**20)
    assert tokenizer.decode_bytes(ids) == b"other threads"


def test_kinds_of_files_say_the_same(tmp_path: Path) -> None:
    made = files.small()
    (tmp_path / "vocab.json").write_text(json.dumps(made["model"]["vocab"], ensure_ascii=False), encoding="utf-8")
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in made["model"]["merges"]]
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    pair, single = hr.Tokenizer(tmp_path), hr.Tokenizer(files.SMALL.parent)
    assert pair.hash == single.hash and pair.name == tmp_path.name and single.name == "small_bpe"
    assert (pair.vocab_size, pair.end_of_text, pair.grammar) == (5000, 0, "gpt2")
    files.write_ranks(tmp_path / "mine.tiktoken", made)
    with pytest.raises(hr.InvalidArgumentError, match="grammar="):
        hr.Tokenizer(tmp_path / "mine.tiktoken")
    with pytest.raises(hr.InvalidArgumentError, match="leave the argument out"):
        hr.Tokenizer(tmp_path, grammar="gpt2")
    ranks = hr.Tokenizer(tmp_path / "mine.tiktoken", grammar="cl100k", special={files.END: 0})
    assert ranks.end_of_text == 0 and ranks.name == "mine" and ranks.hash != single.hash


def test_names_are_looked_for_and_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "tiktoken"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    with pytest.raises(hr.FileMissingError, match=r"tiktoken\.get_encoding\('gpt2'\)"):
        hr.Tokenizer("gpt2")
    with pytest.raises(hr.FileMissingError, match="Names are gpt2"):
        hr.Tokenizer("gpt5")
    snapshot = tmp_path / "hub" / "models--gpt2" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "tokenizer.json").write_bytes(files.SMALL.read_bytes())
    with pytest.raises(hr.CorruptDataError, match=r'not the vocabulary "gpt2": its hash is .*, of 5000 ids'):
        hr.Tokenizer("gpt2")
    (tmp_path / "tiktoken").mkdir()
    files.write_ranks(tmp_path / "tiktoken" / "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", files.small())
    with pytest.raises(hr.CorruptDataError, match=r"its SHA-256 is [0-9a-f]{64}, that of the file is 223921b7"):
        hr.Tokenizer("cl100k_base")


def test_added_words_with_holes_get_the_ids_of_tokenizers(tmp_path: Path) -> None:
    """Tokenizers numbers words without holes, whatever the file says; it warns, and so does this."""
    rng = random.Random(84)
    for case in range(20):
        made = files.small()
        ids = rng.sample(range(5000, 5040), 4)
        words = [
            rng.choice([word for word in made["model"]["vocab"] if word.isalnum() and word.isascii()]),
            *rng.sample(["<a>", "<bc>", "<d>", "<e>"], 3),
        ]
        for word, i in zip(words, ids, strict=True):
            one = {**made["added_tokens"][0], "content": word, "id": made["model"]["vocab"].get(word, i)}
            if word not in [added["content"] for added in made["added_tokens"]]:
                made["added_tokens"].insert(rng.randrange(len(made["added_tokens"]) + 1), one)
        path = files.write_json(tmp_path / f"{case}.json", made)
        other = tokenizers.Tokenizer.from_file(str(path))
        said = {one["content"]: one["id"] for one in made["added_tokens"]}
        if any(other.token_to_id(text) != i for text, i in said.items()):
            with pytest.warns(hr.HeadraceWarning, match=r"added words leave holes .*where the file says"):
                tokenizer = hr.Tokenizer(path)
        else:
            tokenizer = hr.Tokenizer(path)
        assert tokenizer.special == {text: other.token_to_id(text) for text in said}
        text = "x".join(words)
        assert tokenizer.encode(text, allow_special=True).tolist() == other.encode(text).ids


def test_what_is_not_done_is_refused_by_name(tmp_path: Path) -> None:
    changes: list[tuple[dict[str, Any], str]] = [
        ({"normalizer": {"type": "NFC"}}, "NFC"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "Metaspace"),
        ({"model": {"type": "Unigram", "vocab": []}}, "Unigram"),
        (files.with_pattern({}, r"\p{L}+|\s"), r"\\p\{L\}\+\|\\s"),
    ]
    for change, words in changes:
        path = files.write_json(tmp_path / "tokenizer.json", {**files.small(), **change})
        with pytest.raises(hr.UnsupportedError, match=words) as refused:
            hr.Tokenizer(path)
        assert str(path) in str(refused.value) and "hr.tokens.Writer" in str(refused.value)
    made = files.small()
    made["added_tokens"].append({**made["added_tokens"][0], "content": "<|pad|>"})
    with pytest.raises(hr.CorruptDataError, match="share"):
        hr.Tokenizer(files.write_json(tmp_path / "tokenizer.json", made))


def test_a_tokenizer_pickles_as_its_path(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(files.SMALL.read_bytes())
    tokenizer = hr.Tokenizer(path)
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy.hash == tokenizer.hash and np.array_equal(copy.encode("the reader"), tokenizer.encode("the reader"))
    files.write_json(path, files.with_pattern(files.small(), files.LLAMA3))
    with pytest.raises(hr.InvalidArgumentError, match="another tokenizer"):
        pickle.loads(pickle.dumps(tokenizer))
