"""Raw files that are no tokens, or tokens of another width, are never read as tokens without a word."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from token_files import VOCAB

import headrace as hr

TOKENS = np.random.default_rng(3).integers(0, VOCAB, 30_000)


@pytest.mark.parametrize("stored", ["u4", "i4", "i8", "u8"])
@pytest.mark.parametrize("check", [False, True])
def test_another_width_is_noticed_with_a_vocabulary(tmp_path: Path, stored: str, check: bool) -> None:
    for vocab, tokens in ((VOCAB, TOKENS), (65, TOKENS % 65), (VOCAB, np.minimum(TOKENS, 300))):
        tokens.astype(stored).tofile(tmp_path / "t.bin")
        with pytest.raises(hr.CorruptDataError, match="every second id is at most 0: are these 4-byte") as caught:
            hr.open_tokens(tmp_path / "t.bin", vocab_size=vocab, check=check)
        assert caught.value.file == str(tmp_path / "t.bin")
        assert 'dtype="u4"' in str(caught.value.hint)
    with pytest.warns(hr.HeadraceWarning, match="every second id"):
        hr.open_tokens(tmp_path / "t.bin", dtype="u2", vocab_size=VOCAB)
    assert len(hr.open_tokens(tmp_path / "t.bin", dtype=stored, vocab_size=VOCAB)) == len(TOKENS)


def test_eight_bytes_are_noticed_as_four(tmp_path: Path) -> None:
    (TOKENS + 60_000).astype("i8").tofile(tmp_path / "t.bin")
    with pytest.raises(hr.CorruptDataError, match="are these 8-byte tokens, read as uint32"):
        hr.open_tokens(tmp_path / "t.bin", vocab_size=128_000)


def test_tokens_of_the_right_width_are_no_doubt(tmp_path: Path) -> None:
    rare = np.zeros(30_000, "u2")
    rare[1000] = 50_000
    for ids in (TOKENS, TOKENS % 65, TOKENS % 2, np.zeros(30_000), rare, np.full(30_000, 0x5041), TOKENS[:7]):
        ids.astype("u2").tofile(tmp_path / "t.bin")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = hr.open_tokens(tmp_path / "t.bin", vocab_size=VOCAB)
        np.testing.assert_array_equal(got[:], ids.astype("u2"))


def _header(magic: int, version: int, width: str) -> bytes:
    header = np.zeros(256, "<i4")
    header[:3] = magic, version, len(TOKENS)
    return header.tobytes() + TOKENS.astype(width).tobytes()


NAME = b'{"tokens":{"dtype":"U16","shape":[30000],"data_offsets":[0,60000]}} '
FOREIGN = {
    "lit-gpt": b"LITPKDS" + struct.pack("<QBQ", 1, 8, len(TOKENS)) + TOKENS.astype("u2").tobytes(),
    "llm.c": _header(20240520, 1, "u2"),
    "llm.c, whose": _header(20240801, 7, "u4"),
    "safetensors": struct.pack("<Q", len(NAME)) + NAME + TOKENS.astype("u2").tobytes(),
    "gzip": b"\x1f\x8b\x08\x00" + bytes(range(200)),
    "Zstandard": b"\x28\xb5\x2f\xfd" + bytes(range(200)),
}


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("said", [{"vocab_size": VOCAB}, {"vocab_size": 128_256}, {"dtype": "u2"}, {"dtype": "u4"}])
def test_headers_of_other_programs_are_no_tokens(tmp_path: Path, name: str, said: dict) -> None:
    (tmp_path / "t.bin").write_bytes(FOREIGN[name])
    with pytest.raises(hr.InvalidArgumentError, match=f"this is .*{name}"):
        hr.open_tokens(tmp_path / "t.bin", **said)


LINE = json.dumps({"text": "It was a bright cold day in April, and the clocks were striking thirteen. " * 3})
TEXTS = {
    "JSON lines": (LINE + "\n") * 500,
    "one line": LINE,
    "short": "Hello, wide world.",
    "Greek": "Ἄνδρα μοι ἔννεπε, Μοῦσα, πολύτροπον, ὃς μάλα πολλὰ\n" * 2000,
    "Chinese": "道可道,非常道。名可名,非常名。" * 3000,
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("said", [{}, {"vocab_size": VOCAB}, {"dtype": "u2"}, {"dtype": "u4"}])
@pytest.mark.parametrize("ending", ["", ".jsonl", ".bin", ".ds"])
def test_text_is_no_tokens(tmp_path: Path, text: str, odd: bool, said: dict, ending: str) -> None:
    stored = TEXTS[text].encode()
    stored += b"." * ((len(stored) + odd) % 2)
    (tmp_path / f"t{ending}").write_bytes(stored)
    with pytest.raises(hr.InvalidArgumentError, match="this is text") as caught:
        hr.open_tokens(tmp_path / f"t{ending}", **said)
    assert "open_text" in str(caught.value.hint)


def test_latin_1_is_text_and_bytes_are_tokens(tmp_path: Path) -> None:
    text = ("Es war einmal ein Müller, der war arm, aber er hatte eine schöne Tochter.\n" * 200).encode("latin-1")
    (tmp_path / "t.txt").write_bytes(text)
    with pytest.raises(hr.InvalidArgumentError, match="this is text"):
        hr.open_tokens(tmp_path / "t.txt", dtype="u2")
    np.testing.assert_array_equal(hr.open_tokens(tmp_path / "t.txt", dtype="u1")[:], np.frombuffer(text, "u1"))


def test_a_model_may_have_more_ids_than_the_tokenizer(tmp_path: Path) -> None:
    with hr.tokens.Writer(tmp_path / "t", vocab_size=VOCAB) as writer:
        writer.write(TOKENS.astype("u4"))
    assert hr.open_tokens(tmp_path / "t").vocab_size == VOCAB
    for size in (VOCAB, 50_304, 131_072):
        for check in (False, True):
            tokens = hr.open_tokens(tmp_path / "t", vocab_size=size, check=check)
            assert tokens.vocab_size == size
            np.testing.assert_array_equal(tokens[:], TOKENS)
    with pytest.raises(hr.InvalidArgumentError, match="vocab_size is 50256, but the manifest says 50257"):
        hr.open_tokens(tmp_path / "t", vocab_size=50_256)
