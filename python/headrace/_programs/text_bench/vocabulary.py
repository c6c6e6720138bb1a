"""The vocabulary that all contestants share, and their tokenizers of it."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from headrace._programs.text_bench.plan import absent
from headrace._support.checks import invalid
from headrace.errors import FileMissingError, InvalidArgumentError, UnsupportedError
from headrace.tokenizer import Tokenizer

_TRAINED_IDS = 8192
_PATTERNS = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
        r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
    ),
    "llama3": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"""
        r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
}
Ids = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Vocabulary:
    """Where the vocabulary is. Plain values, so that it can be sent to another process."""

    path: str  # what hr.Tokenizer opens
    name: str
    json: str | None  # a tokenizer.json, for tokenizers
    refused: str = ""  # why hr.Tokenizer does not open it

    def encoder(self, name: str, threads: int) -> Encoder:
        """Return the tokenizer of a contestant. Raises LookupError where it cannot have this vocabulary."""
        if name == "headrace":
            if self.refused:
                raise LookupError(self.refused)
            tokenizer = Tokenizer(self.path)
            return Encoder(lambda texts: tokenizer.encode_batch(texts, threads=threads), lambda made: made[0])
        return self._tiktoken(threads) if name == "tiktoken" else self._tokenizers()

    def own(self) -> Encoder:
        """Return the tokenizer that makes the ids: Headrace's; that of tokenizers where Headrace refuses the file."""
        return self.encoder("tokenizers" if self.refused else "headrace", 0 if self.refused else processors())

    def _tiktoken(self, threads: int) -> Encoder:
        if self.refused:
            raise LookupError("its ranks are read through hr.Tokenizer, which refuses this file")
        tiktoken = importlib.import_module("tiktoken")
        tokenizer = Tokenizer(self.path)
        encoding = tiktoken.Encoding(
            "bench_text",
            pat_str=_PATTERNS[tokenizer.grammar],
            mergeable_ranks=ranks_of(tokenizer),
            special_tokens=tokenizer.special,
        )
        return Encoder(lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads), _joined)

    def _tokenizers(self) -> Encoder:
        if self.json is None:
            raise LookupError("it reads tokenizer.json, and this vocabulary is none: give one by --tokenizer")
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(self.json)
        tokenizer.encode_special_tokens = True  # special words are ordinary text, as everywhere here
        encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
        return Encoder(
            lambda texts: encode(texts, add_special_tokens=False), lambda made: _joined([one.ids for one in made])
        )


@dataclass(frozen=True)
class Encoder:
    """A tokenizer: what it makes of texts, as its users have it, and that as one array of ids."""

    encode: Callable[[Sequence[str]], Any]
    joined: Callable[[Any], Ids]


def _joined(lists: Sequence[Sequence[int]]) -> Ids:
    return np.concatenate([np.zeros(0, np.uint32), *(np.array(ids, np.uint32) for ids in lists)])


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0))


def ranks_of(tokenizer: Tokenizer) -> dict[bytes, int]:
    """Return the tokens that are not special as ranks of tiktoken's."""
    special = set(tokenizer.special.values())
    found: dict[bytes, int] = {}
    for number in range(tokenizer.vocab_size):
        if number not in special:
            with suppress(InvalidArgumentError):  # a number between ids
                found.setdefault(tokenizer.decode_bytes([number]), number)
    found.pop(b"", None)
    return found


def find(asked: str | None, folder: Path, sample: Sequence[str]) -> Vocabulary:
    """Return the vocabulary that was asked for; by default GPT-2's where it is on the machine, else one trained now.

    Raises:
        InvalidArgumentError: None was asked for, GPT-2's is not here, and nothing can train one.
        Error: What ``hr.Tokenizer`` says of a file that was asked for.
    """
    if asked is not None:
        return _opened(asked, folder)
    try:
        return _opened("gpt2", folder)
    except FileMissingError as error:
        if absent(("tokenizers",)):
            raise invalid(
                "there is no tokenizer: gpt2 is not on this machine, and tokenizers, which would train one, is not "
                "installed",
                f"Give --tokenizer PATH, or pip install tokenizers. {error.hint or ''}".strip(),
            ) from None
    return _trained(folder, sample)


def _opened(asked: str, folder: Path) -> Vocabulary:
    given = Path(asked) / "tokenizer.json" if Path(asked).is_dir() else Path(asked)
    as_json = str(given.resolve()) if given.suffix == ".json" and given.is_file() else None
    try:
        tokenizer = Tokenizer(asked)
    except UnsupportedError as error:
        if as_json is None or absent(("tokenizers",)):
            raise
        return Vocabulary(asked, given.parent.name, as_json, refused=f"hr.Tokenizer refuses it: {error}")
    if as_json is None and not absent(("tokenizers",)):
        as_json = _written(tokenizer, folder)
    return Vocabulary(asked, tokenizer.name, as_json)


def _written(tokenizer: Tokenizer, folder: Path) -> str | None:
    """Write ranks as a tokenizer.json: each token is merged of the two parts that its bytes come to just before."""
    if tokenizer.grammar != "gpt2":
        return None
    ranks = ranks_of(tokenizer)
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    names = {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    named = {token: "".join(names[byte] for byte in token) for token in ranks}
    merges = [[named[part] for part in _parts(ranks, token)] for token in sorted(ranks, key=ranks.__getitem__)]
    made = {
        "version": "1.0",
        "added_tokens": [_added(word, number) for word, number in tokenizer.special.items()],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "decoder": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "vocab": {named[token]: rank for token, rank in ranks.items()} | tokenizer.special,
            "merges": [merge for merge in merges if len(merge) == 2],
        },
    }
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return str(path)


def _added(word: str, number: int) -> dict[str, Any]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": word, "special": True, **flags}


def _parts(ranks: dict[bytes, int], token: bytes) -> list[bytes]:
    """Return what a token's bytes come to by the merges before its own."""
    parts = [token[i : i + 1] for i in range(len(token))]
    while len(parts) > 2:
        found = [(ranks.get(a + b, 1 << 32), i) for i, (a, b) in enumerate(pairwise(parts))]
        rank, at = min(found)
        if rank >= ranks[token]:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _trained(folder: Path, sample: Sequence[str]) -> Vocabulary:
    tokenizers = importlib.import_module("tokenizers")
    trained = tokenizers.Tokenizer(tokenizers.models.BPE())
    trained.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=_TRAINED_IDS,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(sample, trainer)
    path = folder / "tokenizer.json"
    trained.save(str(path))
    return Vocabulary(str(path), f"trained now, {trained.get_vocab_size():,} ids", str(path))
