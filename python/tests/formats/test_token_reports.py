"""Token files of which users reported that they were read as another width, or wrapped when they were written.

princeton-nlp/LLM-Shearing#65, huggingface/transformers#2825 and urvashik/knnlm#6: ids over 65,535 wrap in uint16.
allenai/dolma#142: a uint32 file read as another type. Abel2076/json2binidx_tool#5: 65,500 as the limit.
maderix/ANE#17: a file shorter than one window.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("reports")
    random = np.random.default_rng(51)
    big = random.integers(0, 119_547, 50_000).astype("u4")
    small = random.integers(0, 50_257, 50_000).astype("u2")
    small.tofile(at / "small_u2.bin")
    big.tofile(at / "big_u4.bin")
    np.array([0, 1, 65_499, 65_500, 65_534, 65_535], "u2").repeat(100).tofile(at / "edge_u2.bin")
    small.astype(">u2").tofile(at / "big_endian_u2.bin")
    (at / "odd_size_u2.bin").write_bytes(small.tobytes()[:-1])
    (at / "three_tokens_u2.bin").write_bytes(small[:3].tobytes())
    (at / "empty_u2.bin").write_bytes(b"")
    np.save(at / "as_npy.npy", small)
    small.astype("i4").tofile(at / "signed_i4.bin")
    return at


@pytest.mark.parametrize(
    ("name", "dtype", "vocab"),
    [
        ("small_u2.bin", "u2", 50_257),
        ("big_u4.bin", "u4", 119_547),
        ("edge_u2.bin", "u2", 65_536),
        ("as_npy.npy", None, 50_257),
        ("signed_i4.bin", "i4", 50_257),
    ],
)
def test_what_is_said_right_is_read_right(folder: Path, name: str, dtype: str | None, vocab: int) -> None:
    tokens = hr.open_tokens(folder / name, dtype=dtype, vocab_size=vocab, check=True)
    want = np.load(folder / name) if dtype is None else np.fromfile(folder / name, dtype)
    np.testing.assert_array_equal(tokens[:], want)
    assert int(tokens[:].sum(dtype="u8")) == int(want.sum(dtype="u8"))


@pytest.mark.parametrize(
    ("name", "dtype", "vocab", "match"),
    [
        ("big_u4.bin", "u2", 119_547, "does not fit in uint16"),
        ("big_u4.bin", "u2", 50_257, "token {first} is {id}, and ids end at 50256"),
        ("small_u2.bin", "u4", 50_257, "token 0 is {id}, and ids end at 50256"),
        ("big_endian_u2.bin", "u2", 50_257, "and ids end at 50256"),
        ("edge_u2.bin", "u2", 65_500, "token 300 is 65500, and ids end at 65499"),
        ("odd_size_u2.bin", "u2", 50_257, "99999 bytes are no whole number of uint16 tokens"),
        ("empty_u2.bin", "u2", 50_257, "the file is empty"),
        ("as_npy.npy", "u4", None, "the file says uint16"),
        ("small_u2.bin", None, None, "the size of its tokens is unknown"),
    ],
)
def test_what_is_said_wrong_is_refused(
    folder: Path, name: str, dtype: str | None, vocab: int | None, match: str
) -> None:
    said: dict[str, Any] = {"dtype": dtype, "vocab_size": vocab}
    if "{" in match and dtype is not None and vocab is not None:
        ids = np.fromfile(folder / name, dtype)
        first = int(np.argmax(ids >= vocab))
        match = match.format(first=first, id=ids[first])
    with pytest.raises(hr.Error, match=match) as raised:
        hr.open_tokens(folder / name, **said)
    assert raised.value.file == str(folder / name)


def test_a_file_that_is_shorter_than_a_window(folder: Path) -> None:
    tokens = hr.open_tokens(folder / "three_tokens_u2.bin", dtype="u2")
    with pytest.raises(hr.InvalidArgumentError, match="a window of 1,024 rows is longer than the data: 3 rows"):
        tokens.windows(1024)


def test_ids_that_would_wrap_are_not_written(tmp_path: Path) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="ids would wrap"):
        hr.tokens.Writer(tmp_path / "a.bin", format="nanogpt", dtype="u2", vocab_size=119_547)
    writer = hr.tokens.Writer(tmp_path / "a.bin", format="nanogpt", dtype="u2")
    with pytest.raises(hr.InvalidArgumentError, match="token 1 of document 0 is 65536, and ids end at 65535"):
        writer.write([65_535, 65_536])
    for vocab, dtype in ((65_499, "u2"), (65_500, "i4"), (65_536, "i4")):
        with hr.tokens.Writer(tmp_path / f"m{vocab}", format="megatron", vocab_size=vocab) as pair:
            pair.write([vocab - 1])
        assert hr.open_tokens(tmp_path / f"m{vocab}").dtype == np.dtype(dtype)
    for vocab, dtype in ((65_535, "u2"), (65_536, "u4")):
        with hr.tokens.Writer(tmp_path / f"h{vocab}", vocab_size=vocab) as own:
            own.write([vocab - 1])
        assert hr.open_tokens(tmp_path / f"h{vocab}").dtype == np.dtype(dtype)
