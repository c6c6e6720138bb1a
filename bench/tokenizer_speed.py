#!/usr/bin/env python3
"""Tokenizers side by side on one thread: Headrace, gigatoken, tokenizers and tiktoken, on text of several scripts.

A script is a file NAME.txt of a folder; it is divided into documents of about 32 KB where lines end. Ids are checked to
be the same before anything is timed. Cold is the first time that a tokenizer sees the text, warm is the next one. All
take turns, and figures are medians. Those which take minutes (tokenizers, tiktoken) get the first MB alone. What is not
installed is left out, and its reason is told. Prints a table, and JSON on the last line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

os.environ.update(RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="0")  # before they are imported

import numpy as np

Ids = np.ndarray[Any, Any]
Encode = Callable[[Sequence[bytes]], Any]
DOCUMENT_BYTES = 32 << 10
SLOW_BYTES = 1 << 20
SLOW = ("tokenizers", "tiktoken")


def headrace(path: Path, spec: dict[str, Any]) -> tuple[Encode, Callable[[Any], Ids]]:
    """Ours: one flat array."""
    import headrace as hr

    tokenizer = hr.Tokenizer(path)
    return lambda texts: tokenizer.encode_batch(texts, threads=1)[0], lambda ids: ids


def gigatoken(path: Path, spec: dict[str, Any]) -> tuple[Encode, Callable[[Any], Ids]]:
    """Returns a ragged array, whose content is flat."""
    import gigatoken as giga

    tokenizer = giga.Tokenizer(path)
    return tokenizer.encode_batch, lambda found: np.concatenate([np.asarray(ids) for ids in found])


def tokenizers(path: Path, spec: dict[str, Any]) -> tuple[Encode, Callable[[Any], Ids]]:
    """Takes str; added words are taken out, since it would look for them in every text."""
    import tokenizers as hugging_face

    tokenizer = hugging_face.Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    return lambda texts: encode([text.decode() for text in texts]), lambda found: np.concatenate([x.ids for x in found])


def bytes_of_letters() -> dict[str, int]:
    """Which letter stands for which byte in a tokenizer.json."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + i): byte for i, byte in enumerate(others)}


def tiktoken(path: Path, spec: dict[str, Any]) -> tuple[Encode, Callable[[Any], Ids]]:
    """The vocabulary as ranks, which is the same where merges are in the order of ids."""
    import tiktoken as openai

    letters = bytes_of_letters()
    added = {word["content"] for word in spec["added_tokens"]}
    words = {word: i for word, i in spec["model"]["vocab"].items() if word not in added}
    ranks = {bytes(letters[letter] for letter in word): i for word, i in words.items()}
    split = spec["pre_tokenizer"]
    parts = split.get("pretokenizers", [split])
    patterns = [part["pattern"]["Regex"] for part in parts if part["type"] == "Split"]
    gpt2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
    encoding = openai.Encoding("same", pat_str=(patterns or [gpt2])[0], mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [encoding.encode_ordinary(text.decode()) for text in texts], np.concatenate


CONTESTANTS = {"headrace": headrace, "gigatoken": gigatoken, "tokenizers": tokenizers, "tiktoken": tiktoken}


def documents(path: Path, most: int) -> list[bytes]:
    """The file's lines, joined to documents."""
    made, lines, size = [], [], 0
    for line in path.read_bytes()[:most].decode("utf-8", "ignore").encode().splitlines(keepends=True):
        lines.append(line)
        size += len(line)
        if size >= DOCUMENT_BYTES:
            made.append(b"".join(lines))
            lines, size = [], 0
    return [*made, b"".join(lines)] if lines else made


def first(texts: list[bytes], most: int) -> list[bytes]:
    """The first documents, of about so many bytes."""
    count, size = 0, 0
    while count < len(texts) and size < most:
        size += len(texts[count])
        count += 1
    return texts[:count]


def seconds(encode: Encode, texts: list[bytes]) -> float:
    began = time.perf_counter()
    encode(texts)
    return time.perf_counter() - began


def installed(path: Path, spec: dict[str, Any], names: list[str]) -> tuple[list[str], dict[str, str]]:
    """Which can be made, and why the others cannot."""
    there, reasons = [], {}
    for name in names:
        try:
            CONTESTANTS[name](path, spec)
            there.append(name)
        except (ImportError, ValueError, KeyError) as error:
            reasons[name] = f"{type(error).__name__}: {error}"
    return there, reasons


def different(path: Path, spec: dict[str, Any], names: list[str], texts: list[bytes]) -> list[str]:
    """Those whose ids are not the first one's, on as much text as each is timed with."""
    wrong = []
    encode, flat = CONTESTANTS[names[0]](path, spec)
    for name in names[1:]:
        some = first(texts, SLOW_BYTES) if name in SLOW else texts
        other, other_flat = CONTESTANTS[name](path, spec)
        if not np.array_equal(flat(encode(some)), other_flat(other(some))):
            wrong.append(name)
    return wrong


def measure(path: Path, spec: dict[str, Any], names: list[str], texts: list[bytes], rounds: int) -> dict[str, Any]:
    """MB/s of each, cold and warm, medians over rounds in which all take turns."""
    rates: dict[str, dict[str, list[float]]] = {name: {"cold": [], "warm": []} for name in names}
    for turn in range(rounds):
        for name in names if turn % 2 == 0 else reversed(names):
            some = first(texts, SLOW_BYTES) if name in SLOW else texts
            megabytes = sum(len(text) for text in some) / 1e6
            encode, _ = CONTESTANTS[name](path, spec)
            for state in ("cold", "warm"):
                rates[name][state].append(megabytes / seconds(encode, some))
    return {name: {state: statistics.median(found) for state, found in of.items()} for name, of in rates.items()}


def main() -> int:
    """Prints what was measured; status 1 where ids differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokenizer", type=Path, help="a tokenizer.json")
    parser.add_argument("folder", type=Path, help="a folder of NAME.txt")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="names of contestants, with commas between")
    parser.add_argument("--megabytes", type=float, default=25.0, help="of each script at most")
    args = parser.parse_args()
    spec = json.loads(args.tokenizer.read_text(encoding="utf-8"))
    asked = args.only.split(",") if args.only else list(CONTESTANTS)
    names, skipped = installed(args.tokenizer, spec, asked)
    for name, reason in skipped.items():
        print(f"{name} is left out: {reason}")
    results: dict[str, Any] = {}
    status = 0
    print(f"{'MB/s, cold / warm':20}" + "".join(f"{name:>20}" for name in names))
    for script in sorted(args.folder.glob("*.txt")):
        texts = documents(script, int(args.megabytes * 1e6))
        wrong = different(args.tokenizer, spec, names, texts)
        timed = [name for name in names if name not in wrong]
        rates = measure(args.tokenizer, spec, timed, texts, args.rounds)
        cells = [f"{rates[x]['cold']:.1f} / {rates[x]['warm']:.1f}" if x in rates else "other ids" for x in names]
        print(f"{script.stem:20}" + "".join(f"{cell:>20}" for cell in cells), flush=True)
        results[script.stem] = {"bytes": sum(len(text) for text in texts), "rates": rates, "other_ids": wrong}
        status |= bool(wrong)
    print(json.dumps({"tokenizer": args.tokenizer.name, "skipped": skipped, "scripts": results}))
    return status


if __name__ == "__main__":
    sys.exit(main())
