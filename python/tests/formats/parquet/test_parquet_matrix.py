"""Types, encodings, codecs, page versions, nulls and structs of Parquet files of many small pages, against pyarrow."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from parquet_files import Expected, expected, leaf_of, names_place, same  # noqa: E402
from parquet_tables import CASES, GROUP, ROWS, exact_decimal, make_table, write  # noqa: E402

import headrace as hr  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")
CODECS = ["none", "snappy", "gzip", "zstd", "lz4"]


def check(path: Path, want: dict[str, Expected], random: np.random.Generator) -> None:
    """All rows, single rows, slices and a shuffled epoch; what is missing is refused by default."""
    data = hr.open(path, nulls="mask")
    have = {name: column.values for name, column in want.items()}
    have |= {name + ".valid": column.valid for name, column in want.items()}
    assert set(data.fields) == set(have)
    assert len(data) == ROWS
    everything = data[:]
    for name, values in have.items():
        same(everything[name], values, (path.name, name))
    for row in random.integers(0, ROWS, 2).tolist():
        one = data[row]
        for name, values in have.items():
            same(np.asarray(one[name]), values[row], (path.name, name, row))
    for first in (GROUP - 5, int(random.integers(0, ROWS))):
        part = slice(first, first + int(random.integers(1, 2 * GROUP)))
        some = data[part]
        for name, values in have.items():
            same(some[name], values[part], (path.name, name, part))
    batches = [dict(batch) for batch in hr.Loader(data, batch_size=7, shuffle=True, threads=1)]
    ids = np.concatenate([batch["id"] for batch in batches])
    np.testing.assert_array_equal(np.sort(ids), np.arange(ROWS))
    for name, values in have.items():
        same(np.concatenate([batch[name] for batch in batches]), values[ids], (path.name, name, "epoch"))
    full = [name for name, column in want.items() if column.valid.all()]
    for name, values in hr.open(path, full)[:].items():
        same(values, have[name], (path.name, name))
    refuse = hr.open(path)
    for name, column in want.items():
        if name in full or not path.name.startswith("none"):  # Codecs have no part in it.
            continue
        with pytest.raises(hr.Error) as refused:
            refuse[name][:]
        names_place(refused.value, path, name)
        row = int(np.argmin(column.valid))
        assert re.search(rf"\brow {row}\b", str(refused.value)), (name, row, str(refused.value))


@pytest.mark.parametrize(("name", "encoding"), CASES, ids=lambda value: value)
def test_values_are_pyarrows(tmp_path: Path, name: str, encoding: str) -> None:
    random = np.random.default_rng(7)
    table = make_table(name)
    want: dict[str, Expected] = {}
    for version in ("1.0", "2.0"):
        for codec in CODECS:
            path = tmp_path / f"{codec}_{version}.parquet"
            write(table, path, name, encoding, codec, version)
            want = want or expected(path)
            check(path, want, random)
    used = pq.ParquetFile(path).metadata.row_group(0).column(1).encodings
    assert (encoding if encoding != "dictionary" else "RLE_DICTIONARY") in used, used
    for column, held in want.items():  # The file is what was meant to be written.
        valid = leaf_of(table, column)[0].is_valid().to_numpy(zero_copy_only=False)
        np.testing.assert_array_equal(held.valid, valid)


@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize(("precision", "scale"), [(18, 4), (18, 0), (38, 10), (38, 30)])
@pytest.mark.parametrize("as_integer", [False, True])
def test_decimals_of_more_than_53_bits(
    tmp_path: Path, precision: int, scale: int, as_integer: bool, exactly: bool
) -> None:
    """They are within a unit in the last place, and, as the reader's notice says, the nearest float64."""
    random = np.random.default_rng(3)
    whole = [int("".join(map(str, random.integers(0, 10, precision)))) * (-1) ** i for i in range(400)]
    whole += [10**precision - 1, 1 - 10**precision, 2**53 + 1, -(2**53) - 1]
    values = [exact_decimal(value, scale) for value in whole]
    path = tmp_path / "d.parquet"
    table = pa.table({"x": pa.array(values, pa.decimal128(precision, scale))})
    pq.write_table(table, path, store_decimal_as_integer=as_integer)
    got, want = hr.open(path)["x"][:], np.array([float(value) for value in values])
    assert got.dtype == np.float64
    if exactly:
        np.testing.assert_array_equal(got, want)
    else:
        np.testing.assert_array_max_ulp(got, want, 1)


def test_integers_stay_integers_and_nan_is_not_missing(tmp_path: Path) -> None:
    """The rule of uber/petastorm#333: float64 would round ``big``, and a NaN is a value."""
    path = tmp_path / "n.parquet"
    big, weights = [2**53 + 1, None, 2**63 - 1, -(2**63)], [np.nan, None, 1.5, -0.0]
    table = pa.table({
        "big": pa.array(big, pa.int64()),
        "unsigned": pa.array([None, 2**64 - 1, 0, 1], pa.uint64()),
        "flag": pa.array([True, False, None, True], pa.bool_()),
        "w": pa.array(weights, pa.float32()),
        "nan": pa.array([np.nan, 0, 1, np.nan], pa.float64()),
    })  # fmt: skip
    pq.write_table(table, path)
    same(hr.open(path, ["nan"])["nan"][:], np.array([np.nan, 0, 1, np.nan]))
    for nulls in ("fill", "mask"):
        data = hr.open(path, nulls=nulls)
        assert ("w.valid" in data.fields) == (nulls == "mask")
        same(data["big"][:], np.array([2**53 + 1, 0, 2**63 - 1, -(2**63)], np.int64))
        same(data["unsigned"][:], np.array([0, 2**64 - 1, 0, 1], np.uint64))
        same(data["flag"][:], np.array([True, False, False, True]))
        same(data["w"][:], np.array([np.nan, np.nan, 1.5, -0.0], np.float32))
    same(data["w.valid"][:], np.array([True, False, True, True]))
    same(data["nan.valid"][:], np.ones(4, bool))
    with pytest.raises(hr.InvalidArgumentError, match="nulls"):
        hr.open(path, nulls="zero")
