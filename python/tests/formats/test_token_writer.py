"""Files of tokens that are written: byte for byte as the formats' own programs do, and all or nothing."""

from __future__ import annotations

import gc
import json
import resource
import signal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from overwritten_arrays import Overwritten
from token_files import VOCAB, documents_of, write_megatron, write_raw

import headrace as hr

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("dtype", ["u2", "i4"])
def test_megatrons_files_byte_for_byte(tmp_path: Path, dtype: str) -> None:
    documents = documents_of(dtype)
    write_megatron(tmp_path / "want", [[document] for document in documents])
    for name in ("a", "b.bin", "c.idx"):
        with hr.tokens.Writer(tmp_path / name, format="megatron", dtype=dtype, vocab_size=VOCAB) as writer:
            writer.write_all(documents)
        stem = tmp_path / name[0]
        for ending in (".bin", ".idx"):
            assert stem.with_suffix(ending).read_bytes() == (tmp_path / "want").with_suffix(ending).read_bytes()
    assert not list(tmp_path.glob("*writing*"))


@pytest.mark.parametrize("dtype", ["u2", "u4"])
def test_nanogpts_file_byte_for_byte(tmp_path: Path, dtype: str) -> None:
    documents = documents_of(dtype)
    want = write_raw(tmp_path / "want.bin", [part for one in documents for part in (one, np.array([50256], dtype))])
    with hr.tokens.Writer(tmp_path / "a.bin", format="nanogpt", dtype=dtype, end_of_text=50256) as writer:
        writer.write_all(documents)
        assert (writer.tokens, writer.documents) == (sum(map(len, documents)) + len(documents), len(documents))
    assert (tmp_path / "a.bin").read_bytes() == want.read_bytes()


def test_a_folder_is_what_numpy_reads(tmp_path: Path) -> None:
    documents = documents_of("u4")
    with hr.tokens.Writer(
        tmp_path / "own", vocab_size=100_000, end_of_text=7, tokenizer="gpt", tokenizer_hash="ab", shard_tokens=2000
    ) as writer:
        writer.write_all(documents)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own"]
    manifest = json.loads((tmp_path / "own" / "manifest.json").read_text())
    assert manifest["tokenizer"] == {"name": "gpt", "hash": "ab"}
    assert (manifest["vocab_size"], manifest["end_of_text"], manifest["dtype"]) == (100_000, 7, "uint32")
    shards = [np.load(tmp_path / "own" / shard["file"]) for shard in manifest["shards"]]
    want = np.concatenate([np.append(document, 7) for document in documents])
    np.testing.assert_array_equal(np.concatenate(shards), want)
    assert all((tmp_path / "own" / shard["ends"]).exists() for shard in manifest["shards"])
    found = hr.open_tokens(tmp_path / "own").documents()
    assert [len(found[i]["tokens"]) for i in range(len(found))] == [len(document) + 1 for document in documents]


@pytest.mark.parametrize("form", ["headrace", "nanogpt", "megatron"])
def test_all_or_nothing(tmp_path: Path, form: str) -> None:
    with (
        pytest.raises(RuntimeError, match="stopped"),
        hr.tokens.Writer(tmp_path / "a.bin", format=form, dtype="u2") as writer,
    ):
        writer.write(np.arange(100_000) % 7)
        assert not (tmp_path / "a.bin").exists()
        raise RuntimeError("stopped")
    assert list(tmp_path.iterdir()) == []
    writer = hr.tokens.Writer(tmp_path / "a.bin", format=form, dtype="u2")
    writer.write([1, 2])
    writer.finish()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    for call in (writer.finish, lambda: writer.write([3])):
        with pytest.raises(hr.ClosedError):
            call()
    writer.abandon()
    with pytest.raises(hr.InvalidArgumentError, match="there already"):
        hr.tokens.Writer(tmp_path / "a.bin", format=form, dtype="u2")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    np.testing.assert_array_equal(hr.open_tokens(tmp_path / "a.bin", dtype="u2")[:], [1, 2])


@pytest.mark.parametrize(
    ("ids", "match"),
    [
        ([1.5], "a list of whole numbers"),
        ([[1]], "a list of whole numbers"),
        ([1, -2], "token 1 is -2"),
        ([2**32], "token 0 is 4294967296"),
        ([1, 10], "token 1 of document 0 is 10, and ids end at 9, the vocabulary's last"),
    ],
)
def test_ids_that_are_none(tmp_path: Path, ids: Any, match: str) -> None:
    writer = hr.tokens.Writer(tmp_path / "a", vocab_size=10)
    with pytest.raises(hr.InvalidArgumentError, match=match):
        writer.write(ids)
    assert (writer.tokens, writer.documents) == (0, 0)
    with pytest.raises(hr.InvalidArgumentError, match="no token was written"):
        writer.finish()


def test_what_a_writer_needs(tmp_path: Path) -> None:
    for words in ({}, {"dtype": "f4"}, {"format": "datatrove", "dtype": "u2"}, {"format": "megatron", "dtype": "u4"}):
        with pytest.raises(hr.InvalidArgumentError):
            hr.tokens.Writer(tmp_path / "a", **words)  # type: ignore[arg-type]
    with pytest.raises(hr.WriteFailedError, match="open") as raised:
        hr.tokens.Writer(tmp_path / "no" / "a.bin", format="nanogpt", dtype="u2")
    assert "no/a.bin" in str(raised.value.file)


def test_the_command_line_looks_at_an_index(tmp_path: Path) -> None:
    write_megatron(tmp_path / "corpus", [[document] for document in documents_of()])
    found = hr.inspect(str(tmp_path / "corpus.idx"))
    assert "Megatron .bin and .idx (7 documents)" in str(found)
    assert "tokens" in str(found)
    rows = hr.open(tmp_path / "corpus.idx")  # its tokens, as rows
    assert len(rows) == 4000
    identity = hr.Loader(rows, 8).state_dict()
    numbers = bytearray((tmp_path / "corpus.bin").read_bytes())
    numbers[100:4000] = bytes(3900)
    (tmp_path / "corpus.bin").write_bytes(numbers)
    assert hr.Loader(hr.open(tmp_path / "corpus.idx"), 8).state_dict() != identity


def test_ids_are_copied_before_they_are_checked(tmp_path: Path) -> None:
    """Another thread may write into the array while it is written without the GIL."""
    ids = np.array([1, 2, 3], np.uint32)
    with hr.tokens.Writer(tmp_path / "a.bin", format="nanogpt", vocab_size=50257) as writer:
        native = writer._native
        writer._native = Overwritten(native, ids, 7)
        writer.write(ids)
        writer._native = native
    assert np.fromfile(tmp_path / "a.bin", "u2").tolist() == [1, 2, 3]


@pytest.mark.parametrize("form", ["headrace", "nanogpt", "megatron"])
def test_a_writer_is_of_no_use_after_a_failed_write(tmp_path: Path, form: str) -> None:
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    kept = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    writer = hr.tokens.Writer(tmp_path / "out", format=form, vocab_size=60_000)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, limit[1]))  # as a disk that is full
        with pytest.raises(hr.Error, match="EFBIG") as first:
            for document in range(12):
                writer.write(np.full(200_000, document, np.uint32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)  # room was made
        signal.signal(signal.SIGXFSZ, kept)
    written = writer.tokens
    for call in (partial(writer.write, np.zeros(9, np.uint32)), writer.finish, writer.finish):
        with pytest.raises(hr.Error) as again:
            call()
        assert str(again.value) == str(first.value)
        assert "a new writer" in str(again.value)
    assert writer.tokens == written
    assert not any((tmp_path / name).exists() for name in ("out", "out.bin", "out.idx"))
    del writer, first, again, call
    gc.collect()
    assert not list(tmp_path.iterdir())
    hr.tokens.Writer(tmp_path / "out", format=form, vocab_size=60_000)


@pytest.mark.parametrize("form", ["headrace", "nanogpt", "megatron"])
def test_two_writers_of_one_name_lose_nothing(tmp_path: Path, form: str) -> None:
    """Each has files of its own; the first to finish has the name, and the other says so."""
    path = tmp_path / ("out.bin" if form == "nanogpt" else "out")
    first = hr.tokens.Writer(path, vocab_size=100, format=form)
    second = hr.tokens.Writer(path, vocab_size=100, format=form)
    first.write(np.arange(50))
    second.write(np.arange(50, 60))
    second.abandon()
    third = hr.tokens.Writer(path, vocab_size=100, format=form)
    third.write(np.arange(60, 70))
    first.finish()
    with pytest.raises(hr.InvalidArgumentError, match="something of this name is there already"):
        third.finish()
    with pytest.raises(hr.InvalidArgumentError, match="something of this name is there already"):
        hr.tokens.Writer(path, vocab_size=100, format=form)
    third.abandon()
    assert np.array_equal(hr.open_tokens(path, vocab_size=100)[:], np.arange(50))
    assert [one.name for one in tmp_path.iterdir() if "writing" in one.name or "unfinished" in one.name] == []


def test_an_output_may_be_an_empty_folder(tmp_path: Path) -> None:
    writer = hr.tokens.Writer(tmp_path / "out", vocab_size=100)
    writer.write(np.arange(5))
    (tmp_path / "out").mkdir()  # made meanwhile
    writer.finish()
    assert len(hr.open_tokens(tmp_path / "out")) == 5
