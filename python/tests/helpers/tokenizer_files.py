"""Tokenizers for tests: the small one of tests/data, in other forms; and text that tokenizers find hard."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SMALL = ROOT / "tests" / "data" / "small_bpe" / "tokenizer.json"
END = "<|endoftext|>"
GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"""
    r"""| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
LLAMA3 = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"""
    r"""| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
PATTERNS = {"gpt2": GPT2, "cl100k": CL100K, "llama3": LLAMA3}
FRAGMENTS = [
    *[
        "the",
        "reader",
        "'s",
        "'S",
        "'ll",
        "'LL",
        "'r",
        "'",
        "''",
        "'ſ",
        '"',
        " ",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
    ],
    *[
        "\t\n",
        " \n ",
        "1024",
        "7",
        "12345678",
        ", ",
        "!?",
        "!\n",
        "...\n\n",
        "é",
        "Ж",
        "中文",
        "𠀀",
        "٣",
        "–",
        "½",
        "Ⅷ",
    ],
    *[
        "\u00a0",
        "\u3000",
        "\u0085",
        "\u2028",
        "\u1680",
        "\u200b",
        "\x0b",
        "\x00",
        "\ufeff",
        "e\u0301",
        "👍🏽",
        "👩‍👩‍👧",
    ],
    *["supercalifragilisticexpialidocious", "tokens\n", " batch", "don't", "WE'VE", "x_y", "</s>", "<|endoftext|", "ﬅ"],
]


def small() -> dict[str, Any]:
    """The small tokenizer.json."""
    return json.loads(SMALL.read_text(encoding="utf-8"))


def with_pattern(made: dict[str, Any], pattern: str) -> dict[str, Any]:
    """The same with another pattern, as Llama 3 writes it."""
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {**made, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]}}


def write_json(path: Path, made: dict[str, Any]) -> Path:
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return path


def byte_names() -> dict[str, int]:
    """GPT-2's names of bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return {chr(b): b for b in plain} | {chr(256 + i): b for i, b in enumerate(others)}


def ranks(made: dict[str, Any]) -> dict[bytes, int]:
    """The vocabulary as ranks of tiktoken's."""
    names = byte_names()
    return {bytes(names[c] for c in name): id for name, id in made["model"]["vocab"].items() if name != END}


def write_ranks(path: Path, made: dict[str, Any]) -> Path:
    lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks(made).items()]
    path.write_bytes(b"".join(lines))
    return path


def odd_texts(seed: int, count: int, most: int = 700) -> list[str]:
    """Texts of fragments in any order, and of characters from all planes."""
    draw = random.Random(seed)
    texts = []
    for number in range(count):
        if number % 3 == 2:
            codes = [draw.choice((draw.randrange(0x250), draw.randrange(0xD800), draw.randrange(0xE000, 0x110000)))]
            codes += [draw.randrange(0x3100) for _ in range(draw.randrange(most // 4))]
            texts.append("".join(map(chr, codes)))
        else:
            texts.append("".join(draw.choice(FRAGMENTS) for _ in range(draw.randrange(most // 4))))
    return texts


def long_runs(length: int = 100_000) -> list[str]:
    return [*(c * length for c in "a^ \n1'中"), "ab" * length, " \n" * length, "a" + " " * length + "b", "!\n" * length]


def own_texts() -> list[str]:
    """This repository's pages and sources."""
    paths = [*ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.cpp"), *ROOT.glob("python/**/*.py"), ROOT / "CHANGELOG.md"]
    return [path.read_text(encoding="utf-8") for path in sorted(paths)]
