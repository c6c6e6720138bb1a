"""Zarr metadata, Parquet footers and tokenizer files with a few bits changed: no field is gone without a warning.

What may come of a mutant is said in metadata_mutants.py, which as a program tries as many of them as one likes.
"""

from __future__ import annotations

import collections
from pathlib import Path

import numpy as np
import pytest

for package in ("zarr", "numcodecs", "pyarrow", "tokenizers", "tiktoken"):
    pytest.importorskip(package, reason=f"{package} reads the mutants too, and is not installed")

from metadata_bases import MAKERS  # noqa: E402
from metadata_mutants import Mutants, judge  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = pytest.mark.timeout(120)
COUNT = {"zarr": 80, "parquet": 70, "tokenizer": 50}


@pytest.fixture(scope="module", params=sorted(MAKERS))
def mutants(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Mutants]:
    kind = request.param
    return kind, Mutants(kind, tmp_path_factory.mktemp(kind))


def test_files_as_they_were_are_the_same_to_both_readers(mutants: tuple[str, Mutants], tmp_path: Path) -> None:
    """Neither is wrong by itself."""
    _, made = mutants
    for base, good in zip(made.bases, made.good, strict=True):
        path = base.write(tmp_path / base.name)
        assert judge(base, good, path, always_ask=True) == ("same", "")


def test_mutants_of_fixed_seeds(mutants: tuple[str, Mutants]) -> None:
    kind, made = mutants
    came: collections.Counter[str] = collections.Counter()
    wrong = []
    for number in range(COUNT[kind]):
        word, said = made.try_one(number)
        came[word] += 1
        if word == "defect":
            wrong.append(said)
    assert not wrong, "\n".join(wrong)
    assert came["refused"] and came["same"], came
    assert came["warned"] or kind == "tokenizer", came  # or else nothing here depends on the warning


Example = tuple[str, str, str, bytes, bytes]
EXAMPLES: dict[str, Example] = {
    "v3 codecs misspelt": ("zarr", "plain3", "s.zarr/whole/zarr.json", b'"codecs"', b'"bodecs"'),
    "v2 codec unknown": ("zarr", "packed2", "s.zarr/blosc/.zarray", b'"blosc"', b'"blosd"'),
    "v2 type unknown": ("zarr", "plain2", "s.zarr/whole/.zarray", b'"<i8"', b'"<q8"'),
    "column without its name": ("parquet", "plain", "t.parquet", b"\x18\x01f\x00", b"\x98\x01f\x00"),
    "special misspelt": ("tokenizer", "json", "tokenizer.json", b'"special"', b'"spezial"'),
    "added_tokens misspelt": ("tokenizer", "json", "tokenizer.json", b'"added_tokens"', b'"added_toxens"'),
    "v3 attributes of a group misspelt": ("zarr", "plain3", "s.zarr/zarr.json", b'"attributes"', b'"attrebutes"'),
    "v2 type a8, which NumPy has no more": ("zarr", "plain2", "s.zarr/whole/.zarray", b'"<i8"', b'"<a8"'),
    "v2 text whose fill value is a number": ("zarr", "plain2", "s.zarr/turned/.zarray", b'"<u2"', b'"<U2"'),
    "v2 times of one byte": ("zarr", "only_group2", "s.zarr/run/z/.zarray", b'"|i1"', b'"|m1"'),
    "v2 shuffle of 5 bytes": ("zarr", "packed2", "s.zarr/shuffled/.zarray", b'size": 4', b'size": 5'),
    "numbers become text in the schema": (
        "parquet",
        "plain",
        "t.parquet",
        b"\x15\x04%\x00\x18\x02id",
        b"\x15\x0c%\x00\x18\x02id",
    ),
    "optional becomes required": ("parquet", "dictionary", "t.parquet", b"%\x02\x18\x01x", b"%\x00\x18\x01x"),
    "text becomes decimals without a scale": ("parquet", "plain", "t.parquet", b"text%\x00L\x1c", b"text%\x00L\x5c"),
    "a list becomes a map of nothing": ("parquet", "plain", "t.parquet", b"\x15\x06L<", b"\x15\x06L,"),
    "a member without its name": ("parquet", "plain", "t.parquet", b"\x18\x01a\x00", b"\x98\x01a\x00"),
    "a name that is no UTF-8": ("parquet", "plain", "t.parquet", b"\x18\x05truth", b"\x18\x05tr\xf5th"),
    "added_tokens null": (
        "tokenizer",
        "json",
        "tokenizer.json",
        b'"added_tokens": [',
        b'"added_tokens": null, "truncation": [',
    ),
}


def outcome_of(example: Example, folder: Path) -> tuple[str, str]:
    kind, name, file, before, after = example
    made = Mutants(kind, folder / "made")
    at = next(i for i, base in enumerate(made.bases) if base.name == name)
    base = made.bases[at]
    start = base.targets[file][0][0]
    place = base.files[file].index(before, start)  # no AssertionError where there is none
    changed = base.files[file][:place] + after + base.files[file][place + len(before) :]
    return judge(base, made.good[at], base.write(folder / "mutant", {file: changed}))


@pytest.mark.parametrize("name", EXAMPLES)
def test_changes_that_once_left_out_a_field_or_a_word(tmp_path: Path, name: str) -> None:
    word, wrong = outcome_of(EXAMPLES[name], tmp_path)
    assert word in ("warned", "refused"), (word, wrong)


def test_a_member_of_a_type_that_is_not_read_is_told(tmp_path: Path) -> None:
    np.save(tmp_path / "r.npy", np.zeros(6, [("a", "<f4"), ("b", "<f16")]))
    with pytest.warns(hr.HeadraceWarning, match="'r.b' is left out: floats of 16 bytes"):
        hr.open(tmp_path / "r.npy")
