"""`headrace verify` over Parquet files: good, cut short, with a changed bit, with and without checksums of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow.parquet as pq
from cli_program import run
from twin_files import Twins, make_columns, told, write_parquet


def test_verify(twins: Twins) -> None:
    done = run("verify", "a_*.parquet", "--threads", 2, cwd=twins.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Good" in done.stdout
    data = told("verify", twins.glob())
    assert (data["files"], data["arrays"], data["bad_pieces"], data["bad_files"]) == (3, 15, 0, 0)
    assert data["without_checksum"] == []
    assert data["decoded_bytes"] == sum(column.nbytes for column in twins.columns.values())


def test_verify_names_columns_without_checksums(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", make_columns(300, 1), write_page_checksum=False)
    assert sorted(told("verify", path)["without_checksum"]) == ["event", "flag", "id", "x", "y"]


def test_nulls_are_no_damage(tmp_path: Path) -> None:
    columns = make_columns(300, 1)
    gone = np.arange(300) % 7 == 1
    for name in ("x", "y", "flag"):
        columns[name] = [None if missing else value for value, missing in zip(columns[name], gone, strict=True)]
    columns["y"] = [None] * 300
    data = told("verify", write_parquet(tmp_path / "a.parquet", columns))
    assert (data["bad_pieces"], data["bad_files"], data["findings"]) == (0, 0, [])


def damaged(folder: Path, group: int, name: str, **options: Any) -> Path:
    """A byte of the values of a row group's page has a bit changed."""
    path = write_parquet(folder / "bad.parquet", make_columns(400, 1), **options)
    found = pq.ParquetFile(path).metadata.row_group(group)
    chunk = next(c for c in map(found.column, range(found.num_columns)) if c.path_in_schema == name)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    data = bytearray(path.read_bytes())
    data[begin + chunk.total_compressed_size - 3] ^= 0x10
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "compression": "none"}, {"compression": "zstd"}])
def test_verify_names_the_page(tmp_path: Path, options: dict[str, Any]) -> None:
    path = damaged(tmp_path, 2, "x", **options)
    data = told("verify", path, status=3)
    assert (data["bad_pieces"], data["bad_files"]) == (1, 1)
    (finding,) = data["findings"]
    assert (finding["code"], finding["field"], finding["file"]) == ("corrupt_data", "x", str(path))
    assert finding["rows"] == {"first": 194, "count": 97}
    assert "row group 2" in finding["chunk"]
    done = run("verify", path)
    assert "rows 194 to 290" in done.stdout
    done = run("bench", path, "--batch-size", 10)
    assert done.returncode == 3
    assert "bad.parquet › x › chunk (row group 2" in done.stderr


def test_verify_without_checksums_finds_what_does_not_decode(tmp_path: Path) -> None:
    """A zstd page with a changed bit decodes to nothing, or to as many values: then no file of its kind tells."""
    path = damaged(tmp_path, 2, "x", write_page_checksum=False)
    done = run("verify", path)
    assert done.returncode in (0, 3)
    cut = bytearray(path.read_bytes())
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    begin = chunk.dictionary_page_offset or chunk.data_page_offset
    cut[begin : begin + 8] = b"\xff" * 8
    path.write_bytes(cut)
    data = told("verify", path, status=3)
    assert "id" in {finding["field"] for finding in data["findings"]}


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99, 0.9999])
def test_verify_a_file_that_is_cut_short(tmp_path: Path, share: float) -> None:
    good, path = tmp_path / "a_1.parquet", tmp_path / "a_2.parquet"
    for one in (good, path):
        write_parquet(one, make_columns(400, 1))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    data = told("verify", tmp_path / "a_*.parquet", status=3)
    assert data["bad_files"] == 1
    assert {Path(finding["file"]).name for finding in data["findings"]} == {"a_2.parquet"}
    assert "a_2.parquet" in run("inspect", path).stdout + run("inspect", path).stderr
