"""The tokens that batches are made of: written once, read by every contestant."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace._programs.text_bench.corpus import write_lines
from headrace._programs.text_bench.plan import Settings
from headrace._programs.text_bench.vocabulary import Vocabulary
from headrace._support.checks import invalid
from headrace.tokenizer import Tokenizer
from headrace.tokens import Writer

Ids = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Store:
    """What was written. Plain values, so that it can be sent to another process."""

    folder: str
    batches: int  # of an epoch
    batch_size: int
    seq_len: int
    documents: int  # whole ones
    text_bytes: int
    seconds: float  # of tokenising and writing
    pad: int
    ends_with_pad: bool  # each document, in the tokens

    @property
    def tokens(self) -> Path:
        """The folder of token files."""
        return Path(self.folder) / "tokens"

    @property
    def texts(self) -> Path:
        """The documents as JSONL."""
        return Path(self.folder) / "texts.jsonl"

    def mapped(self) -> Ids:
        """Return the tokens as a memory map."""
        array: Ids = np.load(self.tokens / "tokens-00000.npy", mmap_mode="r")
        return array

    def ends(self) -> Ids:
        """Return where whole documents end."""
        ends: Ids = np.load(Path(self.folder) / "ends.npy")
        return ends

    @property
    def windows(self) -> int:
        """Windows of an epoch; they fill its batches."""
        return self.batches * self.batch_size


def write_tokens(blocks: Iterator[list[str]], vocabulary: Vocabulary, settings: Settings, folder: Path) -> Store:
    """Encode documents until there are enough for the batches, and write as many tokens as fill whole batches.

    Raises:
        InvalidArgumentError: The corpus does not fill a batch.
    """
    encoder, end, size = _encoder_of(vocabulary)
    texts: list[str] = []
    parts: list[Ids] = []
    total, began = 0, time.perf_counter()
    for block in blocks:
        ids, at = encoder(block)
        for number in range(len(block)):
            document = ids[at[number] : at[number + 1]]
            parts.append(document if end is None else np.append(document, ids.dtype.type(end)))
            total += len(parts[-1])
        texts += block
        if total >= settings.tokens_needed:
            break
    batches = min((total - 1) // (settings.batch_size * settings.seq_len), settings.num_batches)
    if batches < 1:
        raise invalid(
            f"the corpus has {total:,} tokens, which do not fill a batch of {settings.batch_size:,} windows of "
            f"{settings.seq_len:,}",
            "Give more text, or a smaller --batch_size or --seq_len.",
        )
    wanted = batches * settings.batch_size * settings.seq_len + 1
    ends = np.cumsum([len(part) for part in parts])
    whole = int(np.searchsorted(ends, wanted, side="right"))
    with Writer(folder / "tokens", vocab_size=size, tokenizer=vocabulary.name, shard_tokens=2**40) as writer:
        writer.write_all(parts[:whole])
        left = wanted - (int(ends[whole - 1]) if whole else 0)
        if left:
            writer.write(parts[whole][:left])
    seconds = time.perf_counter() - began
    np.save(folder / "ends.npy", ends[:whole])
    kept = texts[: whole + (1 if left else 0)]
    store = Store(
        str(folder),
        batches,
        settings.batch_size,
        settings.seq_len,
        whole,
        sum(len(text.encode("utf-8", "replace")) for text in kept),
        seconds,
        end or 0,
        end is not None,
    )
    write_lines(store.texts, kept)
    return store


def _encoder_of(vocabulary: Vocabulary) -> tuple[Any, int | None, int]:
    """Return a function that encodes several texts, the id between documents, and the number of ids."""
    if not vocabulary.refused:
        tokenizer = Tokenizer(vocabulary.path)
        return tokenizer.encode_batch, tokenizer.end_of_text, tokenizer.vocab_size
    import tokenizers

    theirs = tokenizers.Tokenizer.from_file(str(vocabulary.json))
    theirs.encode_special_tokens = True

    def encode(texts: list[str]) -> tuple[Ids, Ids]:
        made = [np.array(one.ids, np.uint32) for one in theirs.encode_batch(texts, add_special_tokens=False)]
        return np.concatenate(made), np.cumsum([0, *map(len, made)])

    return encode, None, theirs.get_vocab_size()
