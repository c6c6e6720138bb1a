"""Parquet files of lists that are cut short or have a byte changed: an error, or exactly the right values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import FLIPS, Expected, expected, flipped, footer_start, names_place, same  # noqa: E402
from parquet_lists import check_rows  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")

NAMES = ["a", "hits.t", "hits.q", "y"]
ROWS = 60
Good = tuple[bytes, dict[str, Expected], Path]
WRITTEN = {
    "1.0": {"data_page_version": "1.0", "compression": "none"},
    "2.0": {"data_page_version": "2.0", "compression": "zstd"},
    "full": {"data_page_version": "1.0", "compression": "snappy"},
}


def table(full: bool = False) -> pa.Table:
    """Lists of integers and of structs, with one length in each row: some are empty, and, if not `full`, missing."""
    random = np.random.default_rng(5)
    lengths = random.integers(0, 6, ROWS) * (random.random(ROWS) < 0.8)
    lengths[20] = 70

    def number() -> int | None:
        return None if random.random() < 0.2 and not full else int(random.integers(2**40))

    numbers = [[number() for _ in range(n)] for n in lengths]
    if not full:
        numbers = [row if row or i % 2 else None for i, row in enumerate(numbers)]
    hits = [[{"t": float(random.normal()), "q": int(random.integers(5))} for _ in range(n)] for n in lengths]
    struct = pa.struct([pa.field("t", pa.float64(), nullable=full), pa.field("q", pa.int16())])
    fields = [pa.field("a", pa.list_(pa.int64())), pa.field("hits", pa.list_(struct))]
    schema = pa.schema([*fields, pa.field("y", pa.int64(), nullable=False)])
    return pa.table({"a": numbers, "hits": hits, "y": range(ROWS)}, schema=schema)


@pytest.fixture(scope="module", params=WRITTEN)
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Good:
    """The bytes of a file with checksums, what it holds, and a place for damaged copies."""
    folder = tmp_path_factory.mktemp("damage")
    path = folder / "good.parquet"
    pq.write_table(
        table(request.param == "full"), path, row_group_size=40, use_dictionary=["hits.list.element.q"],
        data_page_size=200,
        write_batch_size=16, write_page_checksum=True, store_schema=False, **WRITTEN[request.param],
    )  # fmt: skip
    want = expected(path)
    assert list(want) == NAMES
    return path.read_bytes(), want, folder / "damaged.parquet"


def read_damaged(path: Path, changed: bytes, want: dict[str, Expected]) -> hr.Error | None:
    """Read what is left of a file: the error, or None if all its values are right. Nothing else may happen."""
    path.unlink(missing_ok=True)
    path.write_bytes(changed)
    try:
        data = hr.open(path, NAMES, nulls="mask")
        got = dict(data[:])
    except hr.Error as error:
        assert type(error) not in (hr.Error, hr.InternalError, hr.OutOfBudgetError), error
        names_place(error, path)
        return error
    if got["hits.q"].dtype == np.int32:  # Only its note of 16 bits is lost, which nothing tells.
        got["hits.q"] = got["hits.q"].astype(np.int16)
    check_rows(got, want, range(ROWS))
    return None


def wrong_values(good: Good, places: Iterable[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Changed bytes after which wrong values were read as if they were right, by their distance from the footer."""
    whole, want, path = good
    wrong = []
    for at, flip in places:
        try:
            read_damaged(path, flipped(whole, at, flip), want)
        except AssertionError as error:
            wrong.append((at - footer_start(whole), flip, str(error)[:300]))
    return wrong


def test_the_file_itself_is_right(good: Good) -> None:
    whole, want, path = good
    assert read_damaged(path, whole, want) is None
    assert (want["a"].lengths == 0).any()
    assert (want["a"].lengths < 0).any() != want["a"].valid.all()


def test_cut_short(good: Good) -> None:
    whole, want, path = good
    for size in range(0, len(whole), 41):
        assert read_damaged(path, whole[:size], want) is not None, size
        assert read_damaged(path, whole[size + 1 :], want) is not None, size


@pytest.mark.parametrize("flip", [FLIPS[:3], FLIPS[3:6], FLIPS[6:]], ids=["all 1 2", "4 8 16", "32 64 128"])
def test_each_byte_of_the_footer(good: Good, flip: list[int]) -> None:
    whole = good[0]
    wrong = wrong_values(good, ((at, f) for at in range(footer_start(whole), len(whole)) for f in flip))
    assert not wrong, "\n".join(map(str, wrong))


def test_bytes_of_the_pages(good: Good) -> None:
    """Headers, repetition levels, definition levels and values."""
    whole = good[0]
    wrong = wrong_values(good, ((at, FLIPS[at % len(FLIPS)]) for at in range(4, footer_start(whole), 3)))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("seed", range(3))
def test_bytes_of_files_without_checksums(tmp_path: Path, seed: int) -> None:
    """Values may be wrong then, but lists and offsets fit each other, and nothing breaks."""
    random = np.random.default_rng(seed)
    good, path = tmp_path / "good.parquet", tmp_path / "damaged.parquet"
    version = {"data_page_version": "2.0" if seed == 1 else "1.0", "compression": "snappy" if seed == 2 else "none"}
    pq.write_table(table(), good, row_group_size=40, data_page_size=200, write_batch_size=16, **version)
    whole = good.read_bytes()
    for _ in range(400):
        changed = bytearray(whole)
        for at in random.integers(4, len(whole), random.integers(1, 4)):
            changed[at] = int(random.integers(256))
        path.unlink(missing_ok=True)
        path.write_bytes(changed)
        try:
            data = hr.open(path, NAMES, nulls="fill")
            got = data[:]
        except hr.Error as error:
            assert type(error) not in (hr.Error, hr.InternalError), error
            continue
        lengths = data.lengths()
        for name in NAMES[:3]:
            assert len(got[name]) == lengths.sum()
            same(np.diff(got[name + ".offsets"]), lengths.astype(np.int64), name)
