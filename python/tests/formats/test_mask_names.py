"""nulls="mask": no column of a file is taken for the mask of another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headrace as hr

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def _write(path: Path, other: str) -> Path:
    pq.write_table(pa.table({"a": pa.array([1.0, None, 3.0]), other: pa.array([7.0, 8.0, 9.0])}), path)
    return path


@pytest.mark.parametrize("fields", [None, "a", ["a"], ["a", "a.valid"], ["a.valid", "a"], {"b": "a"}])
def test_a_column_of_the_masks_name_is_refused(tmp_path: Path, fields: Any) -> None:
    path = _write(tmp_path / "t.parquet", "a.valid")
    with pytest.raises(hr.InvalidArgumentError, match=r"'a\.valid', as the mask of 'a' would be"):
        hr.open(path, fields, nulls="mask")
    assert hr.open(path, fields, nulls="fill")


def test_a_field_that_is_called_as_a_mask_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path / "t.parquet", "x")
    with pytest.raises(hr.InvalidArgumentError, match="the mask of 'a' would be called so"):
        hr.open(path, {"a": "a", "a.valid": "x"}, nulls="mask")
    for fields in (["a"], ["a", "a.valid"], {"a": "a", "a.valid": "a.valid"}):
        assert hr.open(path, fields, nulls="mask")["a.valid"][:].tolist() == [True, False, True]
