"""Parquet files that are cut short or have a byte changed: an error, or exactly the right values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import FLIPS, Expected, expected, flipped, footer_start, names_place, same  # noqa: E402
from parquet_tables import small_table  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")

NAMES = ["id", "x", "small"]
Good = tuple[bytes, dict[str, Expected], Path]


@pytest.fixture(scope="module", params=["1.0", "2.0", "snappy"])
def good(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Good:
    """The bytes of a file with checksums, what it holds, and a place for damaged copies."""
    folder = tmp_path_factory.mktemp("damage")
    path = folder / "good.parquet"
    version = "1.0" if request.param == "snappy" else request.param
    codec = "snappy" if request.param == "snappy" else "none"
    pq.write_table(
        small_table(), path, row_group_size=40, compression=codec, data_page_version=version, use_dictionary=["small"],
        write_page_checksum=True, store_schema=False,
    )  # fmt: skip
    return path.read_bytes(), expected(path), folder / "damaged.parquet"


def read_damaged(path: Path, changed: bytes, want: dict[str, Expected]) -> hr.Error | None:
    """Read what is left of a file: the error, or None if all its values are right. Nothing else may happen."""
    path.unlink(missing_ok=True)
    path.write_bytes(changed)
    try:
        data = hr.open(path, NAMES, nulls="mask")
        got = data[:]
    except hr.Error as error:
        assert type(error) not in (hr.Error, hr.InternalError, hr.OutOfBudgetError), error
        names_place(error, path)
        return error
    for name in NAMES:
        if name == "small" and got[name].dtype == np.int32:  # Only its note of 8 bits is lost, which nothing tells.
            same(got[name], want[name].values.astype(np.int32), name)
        else:
            same(got[name], want[name].values, name)
        if name + ".valid" in got:
            same(got[name + ".valid"], want[name].valid, name)
    return None


def chunks(whole: bytes) -> Iterator[tuple[str, int, int, int]]:
    """Each column chunk: its name, its bounds, and how many of its last bytes surely are values."""
    metadata = pq.ParquetFile(pa.BufferReader(whole)).metadata
    for group in range(metadata.num_row_groups):
        for number, name in enumerate(NAMES):
            chunk = metadata.row_group(group).column(number)
            begin = chunk.dictionary_page_offset or chunk.data_page_offset
            present = chunk.statistics.num_values
            values = 8 * present if chunk.compression == "UNCOMPRESSED" and name != "small" else present // 4
            yield name, begin, begin + chunk.total_compressed_size, values


def test_the_file_itself_is_right(good: Good) -> None:
    whole, want, path = good
    assert read_damaged(path, whole, want) is None


def test_cut_short(good: Good) -> None:
    whole, want, path = good
    for size in range(0, len(whole), 37):
        assert read_damaged(path, whole[:size], want) is not None, size
        assert read_damaged(path, whole[size + 1 :], want) is not None, size


def wrong_values(good: Good, places: Iterator[tuple[int, int]]) -> list[tuple[int, int, str]]:
    """Changed bytes after which wrong values were read as if they were right."""
    whole, want, path = good
    wrong = []
    for at, flip in places:
        try:
            read_damaged(path, flipped(whole, at, flip), want)
        except AssertionError as error:
            wrong.append((at - footer_start(whole), flip, str(error)[:300]))
    return wrong


@pytest.mark.parametrize("flip", [FLIPS[:3], FLIPS[3:6], FLIPS[6:]], ids=["all 1 2", "4 8 16", "32 64 128"])
def test_each_byte_of_the_footer(good: Good, flip: list[int]) -> None:
    whole = good[0]
    wrong = wrong_values(good, ((at, f) for at in range(footer_start(whole), len(whole)) for f in flip))
    assert not wrong, "\n".join(map(str, wrong))


def test_bytes_of_the_pages(good: Good) -> None:
    """A byte of a header may be without effect; one of the values is told by the checksum."""
    whole, want, path = good
    places = [(at, FLIPS[at % len(FLIPS)]) for at in range(4, footer_start(whole), 13)]
    wrong = wrong_values(good, iter(places))
    assert not wrong, "\n".join(map(str, wrong))
    for name, begin, end, values in chunks(whole):
        for at in {*range(begin, end - values, 2), *range(end - values, end, 13), end - 1}:
            error = read_damaged(path, flipped(whole, at, FLIPS[at % len(FLIPS)]), want)
            if at < end - values:
                continue
            assert isinstance(error, hr.CorruptDataError), (name, at)
            assert "CRC" in str(error)
            assert error.field == name


def test_a_column_that_is_nullable_no_more(tmp_path: Path) -> None:
    """One bit of the footer says so; without a missing value, a page of version 1 is long enough for it."""
    path = tmp_path / "a.parquet"
    options = {"compression": "none", "use_dictionary": False, "store_schema": False}
    pq.write_table(pa.table({"y": range(60)}), path, write_page_checksum=True, **options)
    whole = path.read_bytes()
    at = next(i for i in range(footer_start(whole), len(whole)) if is_required(flipped(whole, i, 2)))
    path.unlink()
    path.write_bytes(flipped(whole, at, 2))
    with pytest.raises(hr.CorruptDataError) as refused:
        hr.open(path)[:]
    names_place(refused.value, path, "y")


def is_required(whole: bytes) -> bool:
    """Whether the file can be opened, and its only column has no levels."""
    try:
        return pq.ParquetFile(pa.BufferReader(whole)).schema.column(0).max_definition_level == 0
    except (OSError, pa.ArrowException, IndexError):
        return False
