#!/usr/bin/env python3
"""Mutants of metadata, and what they may give: python python/tests/helpers/metadata_mutants.py zarr --count 2000.

A mutant is a file whose metadata has a few bits or characters changed. Reading it must end in an error of ours that
names the file, give the fields and values of the file as it was, or warn of each field that is left out. Where it gives
something else, another reader (zarr-python, pyarrow, tokenizers or tiktoken) must read the same from the mutant, so
that it is the mutant that says so; what that reader refuses must not come as other values.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from metadata_bases import MAKERS, ROWS, WORD, Base
from tokenizer_files import END, GPT2

import headrace as hr

FIRST_ROWS, MOST_BYTES = 64, 1 << 20
SPECIAL = {END: 70_000}  # a .tiktoken file has none of its own
TEXTS = [
    *("", "the reader reads the data", f"a {END} b", f"{END}{END}", f"one{WORD}two", f" {WORD} {END}\n", "don't we'll"),
    *(
        "1024 ^^ --- ==\n\n\tx",
        "Ж 中文 é 👍🏽",
        "  spaces   and\r\nlines",
        "<|endoftext|",
        "supercalifragilistic tokens",
    ),
]
Values = dict[str, np.ndarray[Any, Any]]


# --------------------------------------------------------------------------------------------------------- mutating


def set_letter(data: bytearray, at: int, random: Random) -> None:
    data[at] = random.choice(b'abcdefghijklmnopqrstuvwxyzABCDEFS0123456789-."_,:[]{}<>| ')


def flip_bit(data: bytearray, at: int, random: Random) -> None:
    data[at] ^= 1 << random.randrange(8)


def set_byte(data: bytearray, at: int, random: Random) -> None:
    data[at] = random.randrange(256)


def misspell(data: bytearray, at: int, random: Random) -> None:
    """Change a letter of a word that begins close by."""
    word = re.compile(rb'"(\w+)"').search(data, max(0, at - 20))
    set_letter(data, at if word is None else random.randrange(word.start(1), word.end(1)), random)


def cut_out(data: bytearray, at: int, random: Random) -> None:
    del data[at : at + random.randint(1, 4)]


def mutate(base: Base, seed: int) -> tuple[dict[str, bytes], str]:
    """Return the file of metadata that is changed, and in words what was done to it."""
    random = Random(f"{base.name} {seed}")
    name = random.choice(list(base.targets))
    before = base.files[name]
    data = bytearray(before)
    ways = (
        [flip_bit, flip_bit, set_letter, misspell, misspell, cut_out] if base.is_text else [flip_bit] * 4 + [set_byte]
    )
    done = []
    while bytes(data) == before:
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            start, end = random.choice(base.targets[name])
            at = random.randrange(start, min(end, len(data)))
            way = random.choice(ways)
            way(data, at, random)
            done.append(f"{way.__name__} {at - start}")
    at = next((i for i, (a, b) in enumerate(zip(before, data, strict=False)) if a != b), len(data))
    place = slice(max(0, at - 24), at + 24)
    return {name: bytes(data)}, f"{name}: {', '.join(done)}: {before[place]!r} -> {bytes(data[place])!r}"


# ---------------------------------------------------------------------------------------------------------- reading


@dataclass
class Outcome:
    """What came of a file: values and attributes by name, the fields that a warning names, and those of no numbers."""

    values: Values = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)  # what another reader says of a field, or of "" for all
    no_field: list[str] = field(default_factory=list)  # what another reader says is text, or of other rows


def plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def read_ours(path: Path) -> Outcome:
    """Open without ``fields=`` and read everything, but of an absurd number of rows the first and the last."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", hr.HeadraceWarning)
        data = hr.open(path, nulls="mask")
    out = Outcome()
    count = max(1, min(FIRST_ROWS, MOST_BYTES // max(data.sample_bytes, 1)))
    out.values = {name: np.asarray(values) for name, values in data[:count].items()}
    if len(data) > count:
        data[-1:]
    named = [re.search(r"the array '(.*?)' is left out: ", str(one.message), re.DOTALL) for one in told]
    out.warned = [match[1] for match in named if match]
    out.attributes = {name: dict(attributes) for name, attributes in data.attrs.items()} | {"": dict(data.file_attrs)}
    data.close()
    return out


def equal(a: Any, b: Any) -> bool:
    if a is None or b is None or (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return a.tobytes() == b.tobytes() or bool(a.dtype.kind in "fc" and np.array_equal(a, b, equal_nan=True))


def is_widened(got: Any, want: Any) -> bool:
    """Whether whole numbers are as they were, in a wider type: only the note that they are narrow was lost."""
    if want is None or got.dtype.kind not in "iu" or want.dtype.kind not in "iu":
        return False
    return got.dtype.itemsize > want.dtype.itemsize and np.array_equal(got, want)


def attributes_equal(a: Any, b: Any) -> bool:
    """Attributes as we give them, and as JSON: what has no value here may be left out, a list of one is its element."""
    for name in {*a, *b}:
        mine, other = plain(a.get(name)), plain(b.get(name))
        if isinstance(other, list) and len(other) == 1:
            other = other[0]
        skipped = mine is None and (isinstance(other, (dict, list)) or other is None)
        if not skipped and repr(mine) != repr(other):
            return False
    return True


def by_zarr(base: Base, path: Path) -> Outcome:
    import zarr

    out = Outcome()
    folders = sorted({path.parent for path in path.rglob("*") if path.name in (".zgroup", ".zarray", "zarr.json")})
    for folder in folders:
        name = folder.name if folder != path or base.name == "only_array3" else ""
        try:
            node = zarr.open(str(folder), mode="r", use_consolidated=False)
            attributes = dict(node.attrs)
            if isinstance(node, zarr.Group):
                out.attributes |= {"": attributes} if folder == path else {}
                out.no_field.append(name)
                continue
            count = max(1, min(FIRST_ROWS, MOST_BYTES // max(node.nbytes // max(node.shape[0], 1), 1)))
            values = np.asarray(node[:count])
        except Exception as error:
            out.refused[name] = f"{type(error).__name__}: {error}"
            continue
        if values.dtype.names:
            parts = {f"{name}.{member}": values[member] for member in values.dtype.names}
        else:
            parts = {name: values}
        for part, one in parts.items():
            out.values[part] = np.ascontiguousarray(one.astype(one.dtype.newbyteorder("=")))
            out.attributes[part] = attributes
            if one.dtype.kind not in "biufcS" or one.size == 0 or node.shape[0] != ROWS:
                out.no_field.append(part)
    return out


def by_pyarrow(base: Base, path: Path) -> Outcome:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from parquet_files import expected, leaves

    out = Outcome()
    try:
        data = path.read_bytes().replace(b"ARROW:schema", b"hidden:key..")  # where Arrow's own damage would be refused
        file = pq.ParquetFile(pa.BufferReader(data))
        found = leaves(file)
    except Exception as error:
        return Outcome(refused={"": f"{type(error).__name__}: {error}"})
    for leaf in found:
        try:
            if not leaf.is_readable:
                file.read(columns=[leaf.column.path])
                out.no_field.append(leaf.name)
                continue
            want = expected(path, file=file, only=[leaf.name])[leaf.name]
        except Exception as error:
            out.refused[leaf.name] = f"{type(error).__name__}: {error}"
            continue
        out.values[leaf.name] = want.values
        out.values[leaf.name + ".valid"] = want.valid
        if want.lengths is not None:
            ends = np.concatenate(([0], np.cumsum(np.maximum(want.lengths, 0)))).astype(np.int64)
            out.values |= {leaf.name + ".offsets": ends, leaf.name + ".valid.offsets": ends}
    return out


def text_ours(path: Path) -> Outcome:
    words = {"grammar": "gpt2", "special": SPECIAL} if path.suffix == ".tiktoken" else {}
    tokenizer = hr.Tokenizer(path, **words)
    out = Outcome(attributes={"special": dict(tokenizer.special)})
    for number, text in enumerate(TEXTS):
        for allow in (True, False):
            out.values[f"{number} {allow}"] = tokenizer.encode(text, allow_special=allow).astype(np.int64)
    return out


def by_tokenizers(base: Base, path: Path) -> Outcome:
    out = Outcome()
    try:
        if path.suffix == ".tiktoken":
            import tiktoken
            from tiktoken.load import load_tiktoken_bpe

            encoding = tiktoken.Encoding(
                "tiny", pat_str=GPT2, mergeable_ranks=load_tiktoken_bpe(str(path)), special_tokens=SPECIAL
            )
            out.attributes = {"special": SPECIAL}
            for number, text in enumerate(TEXTS):
                ids = encoding.encode(text, allowed_special="all"), encoding.encode_ordinary(text)
                out.values |= {f"{number} {a}": np.array(i, np.int64) for a, i in zip((True, False), ids, strict=True)}
            return out
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(path))
        added = tokenizer.get_added_tokens_decoder()
        out.attributes = {"special": {word.content: id for id, word in added.items() if word.special}}
        for allow in (True, False):
            tokenizer.encode_special_tokens = not allow
            for number, text in enumerate(TEXTS):
                ids = tokenizer.encode(text, add_special_tokens=False).ids
                out.values[f"{number} {allow}"] = np.array(ids, np.int64)
    except BaseException as error:  # a panic of Rust's is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome(refused={"": f"{type(error).__name__}: {error}"})
    return out


Reader = Callable[[Path], Outcome]
READERS: dict[str, tuple[Reader, Callable[[Base, Path], Outcome]]] = {
    "zarr": (read_ours, by_zarr),
    "parquet": (read_ours, by_pyarrow),
    "tokenizer": (text_ours, by_tokenizers),
}


# ---------------------------------------------------------------------------------------------------------- judging


def is_named(name: str, paths: list[str]) -> bool:
    """Whether a field is one of these arrays, or a part of one."""
    last = [path.rpartition("/")[2] for path in paths]
    return any(name == path or name.startswith(path + ".") for path in [*paths, *last])


def is_told(name: str, paths: list[str]) -> bool:
    """Whether a warning names a field.

    A column whose own name is lost has that of what it lies in; one that is no list any more has those of its nodes.
    """
    nameless = [path for path in paths if path == "" or path.endswith(".")]
    column = name.removesuffix(".offsets").removesuffix(".valid")
    damaged = any(len(re.sub(r"\\udc..", "?", path)) == len(column) for path in paths if r"\udc" in path)  # no UTF-8
    below = any(path.startswith(column + ".") for path in paths)
    return is_named(name, paths) or damaged or below or any(name.startswith(path) for path in nameless)


def renamed_fields(good: Outcome, got: Outcome) -> dict[str, str]:
    """Fields that are gone, by new ones of the same values: a changed name that is a name says so by itself."""
    lost = {name: values for name, values in good.values.items() if name not in got.values}
    new = sorted((name for name in got.values if name not in good.values), key=lambda name: name.endswith(".valid"))
    found: dict[str, str] = {}
    for name in new:
        is_name = all(part and part.isprintable() and "\ufffd" not in part for part in name.split("."))
        same = [old for old, values in lost.items() if old not in found.values() and equal(values, got.values[name])]
        if own := found.get(name.removesuffix(".valid")) if name.endswith(".valid") else None:  # many masks are equal
            same = [old for old in same if old == own + ".valid"]
        if same and is_name:
            found[name] = same[0]
    return found


def judge(base: Base, good: Outcome, path: Path, *, always_ask: bool = False) -> tuple[str, str]:
    """Return what came of a mutant, as a word, and what is wrong with it."""
    read, other = READERS[base.kind]
    try:
        got = read(path)
    except hr.InternalError as error:
        return "defect", f"an InternalError: {error}"
    except hr.Error as error:
        return ("refused", "") if str(error.file).startswith(str(path)) else ("defect", f"names no file: {error}")
    except Exception as error:
        return "defect", f"{type(error).__name__}: {error}"
    lost = [name for name in good.values if name not in got.values]
    unsaid = [name for name in lost if not is_told(name, got.warned)]
    wrong = [name for name, values in got.values.items() if not equal(values, good.values.get(name))]
    wrong = [name for name in wrong if not is_widened(got.values[name], good.values.get(name))]
    renamed = renamed_fields(good, got) if base.kind == "parquet" else {}
    marks = [
        name for name in got.attributes if not attributes_equal(got.attributes[name], good.attributes.get(name, {}))
    ]
    word = "warned" if lost else "same"
    if not (unsaid or wrong or marks or always_ask):
        return word, ""
    asked = other(base, path)
    if not (unsaid or wrong or marks):
        return (f"{word}, refused by the other" if asked.refused else word), ""
    says: list[str] = []
    for name in set(unsaid) - set(renamed.values()):
        if "" in asked.refused or is_named(name, list(asked.refused)):
            says.append(f"{name} is gone without a warning, and refused by the other: {asked.refused}")
        elif name in asked.values and not is_named(name, asked.no_field):
            says.append(f"{name} is gone without a warning, and read by the other")
    for name in wrong:
        if name not in renamed and not equal(got.values[name], asked.values.get(name)):
            says.append(f"{name} has other values: {got.values[name].ravel()[:6]}; the other: "
                        f"{asked.refused or asked.values.get(name, np.empty(0)).ravel()[:6]}")  # fmt: skip
    for name in marks if base.kind != "parquet" else []:
        if name not in asked.attributes or not attributes_equal(got.attributes[name], asked.attributes[name]):
            says.append(f"attributes of {name!r}: {got.attributes[name]}; the other: "
                        f"{asked.refused or asked.attributes.get(name)}")  # fmt: skip
    if says:
        return "defect", "; ".join(says)
    return "as the mutant says", f"gone: {unsaid}, other values: {wrong}, other attributes: {marks}"


class Mutants:
    """The bases of a kind, written once, and their mutants by number."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.folder = folder
        self.bases = MAKERS[kind](folder / "bases")
        self.good = [READERS[kind][0](base.write(folder / "good" / base.name)) for base in self.bases]

    def try_one(self, number: int, *, always_ask: bool = False) -> tuple[str, str]:
        """Return what came of a mutant, and what was done and is wrong."""
        at = number % len(self.bases)
        base = self.bases[at]
        changed, said = mutate(base, number)
        path = base.write(self.folder / f"{base.name}_{number}", changed)
        word, wrong = judge(base, self.good[at], path, always_ask=always_ask)
        return word, f"{base.name} {number}: {said}: {wrong}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(MAKERS))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", default="defect", help="also those of which this came, such as 'as the mutant says'")
    arguments = parser.parse_args()
    came: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        mutants = Mutants(arguments.kind, Path(folder))
        for number in range(arguments.first, arguments.first + arguments.count):
            word, said = mutants.try_one(number, always_ask=True)
            came[word] += 1
            if word in ("defect", arguments.show):
                print(said, flush=True)
    print(f"{arguments.kind}: {came.total()} mutants: " + ", ".join(f"{n} {word}" for word, n in came.most_common()))
    return 1 if came["defect"] else 0


if __name__ == "__main__":
    sys.exit(main())
