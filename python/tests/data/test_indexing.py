"""Rows by number, slice, list and mask; columns; iteration. The oracle is NumPy over the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jet_files import FIELDS, ROWS, write_h5
from overwritten_arrays import Overwritten

import headrace as hr

pytestmark = pytest.mark.fast

TOTAL = sum(ROWS)
rows_that_exist = st.integers(-TOTAL, TOTAL - 1)


@pytest.mark.parametrize("row", [0, 5, 299, 300, 632, -1, -633, np.int32(7), np.uint64(600)])
def test_one_row_has_the_shape_of_a_sample(jets, row) -> None:
    sample = jets.open()[row]
    assert isinstance(sample, dict)
    assert {name: np.shape(value) for name, value in sample.items()} == {"x": (8, 4), "adj": (10,), "y": ()}
    assert jets.equals(sample, int(row))
    assert isinstance(sample["y"], np.int64)


@pytest.mark.parametrize("row", [633, -634, 10**9, 2**70, np.uint64(2**63)])
def test_a_row_that_does_not_exist(jets, row) -> None:
    with pytest.raises(IndexError, match="rows 0 to 632") as caught:
        jets.open()[row]
    assert isinstance(caught.value, hr.InvalidArgumentError)
    assert isinstance(caught.value, ValueError)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.slices(TOTAL))
def test_slices(jets, key: slice) -> None:
    assert jets.equals(jets.open()[key], key)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(rows_that_exist, max_size=40), as_array=st.booleans())
def test_lists_and_arrays(jets, rows: list[int], as_array: bool) -> None:
    key = np.array(rows, dtype=np.int64) if as_array else rows
    expected = np.array(rows, dtype=np.int64)
    assert jets.equals(jets.open()[key], expected)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", ">i8", "u8"])
def test_row_numbers_of_any_integer_type(jets, dtype: str) -> None:
    key = np.array([7, 3, 3, 120], dtype=dtype)
    assert jets.equals(jets.open()[key], key.astype(np.int64))
    assert jets.equals(jets.open()[key[::-1]], key[::-1].astype(np.int64))  # not contiguous


@pytest.mark.parametrize("dtype", ["u8", "i8", ">i8", "u4"])
@pytest.mark.parametrize("step", [1, 2])
@pytest.mark.parametrize("value", [5, 1 << 31])
def test_row_numbers_are_copied_before_they_are_checked(jets, dtype: str, step: int, value: int) -> None:
    """Another thread may write into the array while rows are read without the GIL: that was a segmentation fault."""
    rows = np.array([3, 7, 20, 120])
    numbers = np.zeros(len(rows) * step, dtype)
    for how in ("rows", "column", "select", "sample_index"):
        numbers[::step] = rows
        dataset = jets.open()
        inner = dataset["x"]._dataset if how == "column" else dataset
        inner._opened = Overwritten(inner._native, numbers, value)
        key = numbers[::step]
        if how == "rows":
            assert jets.equals(dataset[key], rows)
        elif how == "column":
            assert np.array_equal(inner[key]["x"], jets.x[rows])
        elif how == "select":
            assert dataset.select(key).selected_rows.tolist() == rows.tolist()
        else:
            assert dataset.sample_index(key)[:, 0].tolist() == rows.tolist()
        assert numbers[0] == value


def test_range_counts_as_a_list(jets) -> None:
    assert jets.equals(jets.open()[range(5, 50, 7)], np.arange(5, 50, 7))


def test_mask(jets) -> None:
    mask = jets.y % 3 == 0
    assert jets.equals(jets.open()[mask], mask)
    assert jets.equals(jets.open()[list(map(bool, mask))], mask)
    assert len(jets.open()[np.zeros(TOTAL, bool)]["y"]) == 0
    with pytest.raises(IndexError, match="one value a row"):
        jets.open()[mask[:-1]]


def test_nothing_chosen_still_has_shape_and_dtype(jets) -> None:
    for key in ([], slice(5, 5), slice(9, 3), np.empty(0, np.int64)):
        nothing = jets.open()[key]
        assert {name: value.shape for name, value in nothing.items()} == {"x": (0, 8, 4), "adj": (0, 10), "y": (0,)}
        assert nothing["x"].dtype == np.float32


@pytest.mark.parametrize("key", [1.5, None, (1, 2), {1}, ["a"], [1.5], [[1, 2]], True, np.bool_(True), b"x"])
def test_keys_that_mean_nothing(jets, key) -> None:
    with pytest.raises((TypeError, IndexError)):
        jets.open()[key]


def test_arrays_are_writable_private_and_outlive_the_data_set(jets) -> None:
    dataset = jets.open()
    first, second = dataset[10:20], dataset[10:20]
    first["x"][:] = 0
    dataset.close()
    del dataset
    assert jets.equals(second, slice(10, 20))
    assert first["x"].flags.writeable
    assert first["x"].flags.c_contiguous


def test_column(jets) -> None:
    dataset = jets.open()
    column = dataset["x"]
    assert (column.shape, column.dtype, column.ndim, len(column), column.name) == ((633, 8, 4), np.float32, 3, 633, "x")
    assert column.attrs == {"unit": "GeV"}
    assert "633" in repr(column)
    for key in (
        np.s_[3],
        np.s_[-1],
        np.s_[10:20],
        np.s_[::100],
        np.s_[[5, 1, 5]],
        np.array([5, 1, 5]),  # arrays as keys: what h5py users write
        jets.y % 3 == 0,
        (np.array([5, 1]), 2),
        np.s_[3, 2],
        np.s_[10:20, 2],
        np.s_[10:20, 1:3, ::2],
        np.s_[...],
        np.s_[..., 1],
        np.s_[:, 0, 0],
        np.s_[5, ..., 1],
    ):
        assert np.array_equal(column[key], jets.x[key]), key
    assert np.array_equal(column[()], jets.x)


def test_column_as_array(jets) -> None:
    column = jets.open()["adj"]
    assert np.array_equal(np.asarray(column), jets.adj)
    assert np.asarray(column, dtype=np.float64).dtype == np.float64
    assert np.array(column, copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.asarray(column, copy=False)
    assert np.isclose(np.mean(column), jets.adj.mean())


def test_column_needs_rows(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError):
        jets.open()["x"]["y"]
    with pytest.raises(IndexError):
        jets.open()["x"][633]


def test_iteration_yields_every_sample_in_order(jets) -> None:
    dataset = jets.open()
    seen = 0
    for i, sample in enumerate(dataset):
        assert jets.equals(sample, i)
        seen += 1
    assert seen == TOTAL
    assert [int(y) for y in dataset["y"]] == list(range(TOTAL))


def test_old_iteration_protocols_end(jets) -> None:
    """What only knows __getitem__ and IndexError stops at the end."""
    dataset = hr.open(jets.glob, fields=["labels"])

    class Sequence:
        def __getitem__(self, i: int):
            return dataset[i]

    assert sum(1 for _ in Sequence()) == TOTAL


def test_zero_size_dimension_is_a_typed_error(tmp_path) -> None:
    path = write_h5(tmp_path / "z.h5", x=np.zeros((5, 0), np.float32), y=np.arange(5))
    with pytest.raises(hr.InvalidArgumentError, match="size 0") as caught:
        hr.open(path, fields=["x", "y"])
    assert caught.value.field == "x"
    assert "size 0" in hr.open(path).left_out["x"]
    assert np.array_equal(hr.open(path)[1:3]["y"], [1, 2])


def test_zero_rows_are_a_typed_error(tmp_path) -> None:
    path = write_h5(tmp_path / "z.h5", x=np.zeros((0, 5), np.float32))
    with pytest.raises(hr.InvalidArgumentError, match="0 rows") as caught:
        hr.open(path)
    assert caught.value.file == str(path)


def test_fields_are_read_only(jets) -> None:
    dataset = jets.open()
    with pytest.raises(TypeError):
        dataset.fields["z"] = 1  # type: ignore[index]
    assert set(FIELDS) == set(dataset.fields)
