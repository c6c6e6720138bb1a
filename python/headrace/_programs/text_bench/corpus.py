"""The text that ``headrace bench text`` measures with: the user's JSONL files, or documents made from a seed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from headrace._support.checks import invalid
from headrace.errors import CorruptDataError, FileMissingError

MOST_BYTES = 256_000_000
_BLOCK_BYTES = 1 << 20
_COMMON = """
the of and to in a is that it was for on are as with his they at be this from I have or by one had not but what all
were when we there can an your which their said if do will each about how up out them then she many some so these
would other into has more her two like him see time could no make than first been its who now people my made over did
down only way find use may water long little very after words called just where most know
"""
_PARTS = "ta re mi con su ver lo pre dis en tra ble per sta ment ing ion al er or is um ex pli ca de fo ra ni te"
_ODD = [
    "größer",
    "naïve",
    "数据",
    "Жизнь",
    "don't",
    "we'll",
    "x_y",
    "1024",
    "3.14",
    "https://example.org/",
    "\n",
    "\n\n",
]


def made_documents(seed: int, size: int) -> Iterator[str]:
    """Yield documents of words that fall off as those of languages do, until there are ``size`` bytes of them."""
    random, parts = np.random.default_rng(seed), _PARTS.split()
    rare = {"".join(random.choice(parts, random.integers(2, 6))) for _ in range(30_000)}
    words = np.array([*_COMMON.split(), *_ODD, *sorted(rare)], dtype=object)
    shares = 1 / np.arange(3, len(words) + 3)
    shares /= shares.sum()
    made = 0
    while made < size:
        lengths = np.clip(random.lognormal(5.6, 0.8, 500), 8, 20_000).astype(int)
        drawn = words[random.choice(len(words), lengths.sum(), p=shares)]
        for part in np.split(drawn, np.cumsum(lengths)[:-1]):
            text = " ".join(part.tolist())
            made += len(text.encode())
            yield text
            if made >= size:
                return


def read_documents(paths: Sequence[str], field: str) -> Iterator[str]:
    """Yield the texts of JSONL files (also ``.gz``), a document a line, and of ``.txt`` files, a document each.

    Raises:
        FileMissingError: A path or a glob matches nothing.
        CorruptDataError: A line is no JSON object; the text names it.
        InvalidArgumentError: An object has no text of this name.
    """
    for name in files_of(paths):
        if name.endswith(".txt"):
            yield Path(name).read_text(encoding="utf-8", errors="replace")
            continue
        opened: Any = gzip.open if name.endswith(".gz") else open
        with opened(name, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield _text_of(line, field, f"{name}, line {number}")


def files_of(paths: Sequence[str]) -> list[str]:
    """Return the files of paths and globs, in order.

    Raises:
        FileMissingError: There is none.
    """
    found: list[str] = []
    for path in paths:
        names = [path] if Path(path).is_file() else sorted(glob(path, recursive=True))  # noqa: PTH207
        names = [name for name in names if Path(name).is_file()]
        if not names:
            raise FileMissingError(f"--path: nothing matches {path}", file=path)
        found += names
    return found


def _text_of(line: str, field: str, place: str) -> str:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise CorruptDataError(f"{place} is no JSON: {error}") from None
    if isinstance(row, dict) and isinstance(row.get(field), str):
        return str(row[field])
    if not isinstance(row, dict):
        raise CorruptDataError(f"{place} is no JSON object. bench text takes JSONL: a document a line")
    texts = [name for name, value in row.items() if isinstance(value, str)]
    near = get_close_matches(field, texts, 1) or texts[:1]
    raise invalid(f"{place} has no text {field!r}", f"Try --field {near[0]}." if near else None)


def blocks(documents: Iterator[str]) -> Iterator[list[str]]:
    """Yield documents in lists of about a MiB, and end before there are more than MOST_BYTES of them."""
    block: list[str] = []
    total = size = 0
    for text in documents:
        length = len(text.encode("utf-8", "replace"))
        if total + length > MOST_BYTES:
            break
        block.append(text)
        total, size = total + length, size + length
        if size >= _BLOCK_BYTES:
            yield block
            block, size = [], 0
    if block:
        yield block


def read_lines(path: Path, count: int) -> list[str]:
    """Return the first so many texts of a file that :func:`write_lines` wrote."""
    texts: list[str] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if len(texts) == count:
                break
            texts.append(json.loads(line)["text"])
    return texts


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write texts as JSONL."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in texts)
