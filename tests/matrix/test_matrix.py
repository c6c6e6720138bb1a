"""Equality with h5py over some five hundred datasets: dtype x layout x chunking x filters x state x format version."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_files import MatrixFile, make_all
from matrix_axes import FILTERS, LIBVERS, Case
from matrix_compare import check_epoch, check_indexing, reference

import headrace as hr
from headrace import _headrace

LIBHDF5 = tuple(int(n) for n in re.findall(r"\d+", dict(_headrace.versions())["libhdf5"])[:3])
NEEDS = {
    None: (1, 8, 0),
    "v108": (1, 8, 0),
    "v110": (1, 10, 0),
    "v112": (1, 12, 0),
    "v114": (1, 14, 0),
    "latest": (2, 0, 0),
}


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> list[MatrixFile]:
    files, summary = make_all(tmp_path_factory.mktemp("matrix"))
    print(summary)
    return files


@pytest.fixture(params=LIBVERS, ids=str)
def files(matrix: list[MatrixFile], request: pytest.FixtureRequest) -> list[MatrixFile]:
    """The files of one format version."""
    return [file for file in matrix if file.libver == request.param]


def too_new(case: Case) -> bool:
    """Is this dataset written in a form that the linked libhdf5 cannot open?

    libver 2.0 changes every chunked layout; 1.12 and later change the types that h5py derives from others.
    """
    return NEEDS[case.libver] > LIBHDF5


@functools.cache
def chosen_fields(file: MatrixFile) -> list[str]:
    """Datasets of the file that Headrace opens."""
    names = []
    for entry in file.datasets:
        try:
            hr.open(file.path, fields=[entry.name]).close()
        except hr.UnsupportedError:
            continue
        names.append(entry.name)
    return names


def check_refusal(error: hr.Error, case: Case, path: Path) -> list[str]:
    """Is a dataset refused for one of the two good reasons, and does the text help?"""
    text = str(error)
    wrong = [] if error.file == str(path) else [f"{case}: error.file is {error.file}"]
    version = ".".join(map(str, LIBHDF5))
    if too_new(case) and f"libhdf5 {version} cannot" in text:
        for words in ("libver", "h5repack"):
            if words not in text:
                wrong.append(f"{case}: the text lacks '{words}': {text}")
    elif FILTERS[case.filter].path == "refused":
        number = FILTERS[case.filter].options["compression"]
        if not re.search(rf"filter {number}\b", text):
            wrong.append(f"{case}: the text does not name filter {number}: {text}")
    else:
        wrong.append(f"{case}: refused: {text}")
    return wrong


def summary_of(wrong: list[str]) -> str:
    return f"{len(wrong)} are wrong:\n" + "\n".join(wrong[:15])


def check_rows(file: MatrixFile) -> list[str]:
    """Every dataset by itself: equal to h5py, or refused for a good reason."""
    random = np.random.default_rng(7)
    wrong: list[str] = []
    for entry in file.datasets:
        case = entry.case
        try:
            dataset = hr.open(file.path, fields=[entry.name])
        except hr.UnsupportedError as error:
            wrong += check_refusal(error, case, file.path)
            continue
        if FILTERS[case.filter].path == "refused":
            wrong.append(f"{case}: not refused")
            continue
        want = reference(file.path, [entry.name])
        paths = {info.read_path for info in dataset.fields.values()}
        if paths != {FILTERS[case.filter].path}:
            wrong.append(f"{case}: read by {paths}")
        try:
            wrong += [f"{case}: {text}" for text in check_indexing(dataset, want, random)]
        except hr.Error as error:
            wrong.append(f"{case}: {error}")
        dataset.close()
    return [f"{file.path.name} ({file.rows} rows) {text}" for text in wrong]


def test_rows_equal_h5py(files: list[MatrixFile]) -> None:
    wrong = [text for file in files for text in check_rows(file)]
    assert not wrong, summary_of(wrong)


def test_old_formats_are_never_refused(matrix: list[MatrixFile]) -> None:
    refused = [
        str(entry.case)
        for file in matrix
        if file.libver in (None, "v108", "v110")
        for entry in file.datasets
        if FILTERS[entry.case.filter].path != "refused" and entry.name not in chosen_fields(file)
    ]
    assert not refused


SETTINGS: list[dict[str, Any]] = [
    {"batch_size": 7, "threads": 1, "memory": "1GiB"},
    {"batch_size": 16, "threads": 3, "memory": "1GiB"},
    {"batch_size": 1000, "threads": 3, "memory": "1GiB"},
    {"batch_size": 5, "threads": 3, "memory": "smallest"},
    {"batch_size": 1, "threads": 1, "memory": "smallest"},
]


def smallest_memory(dataset: hr.Dataset, **options: Any) -> int:
    """The smallest budget, in bytes, that the error names."""
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(dataset, memory=1, **options)
    assert caught.value.needed_bytes, str(caught.value)
    return caught.value.needed_bytes


def check_epochs(file: MatrixFile, number: int, shuffle: bool) -> list[str]:
    """Epochs of all datasets of a file together."""
    names = ["row", *chosen_fields(file)]
    want = reference(file.path, names)
    wrong: list[str] = []
    with hr.open(file.path, fields=names) as dataset:
        for i, setting in enumerate(SETTINGS):
            if not shuffle and (i + number) % 2:
                continue
            options = {**setting, "shuffle": shuffle, "seed": number}
            if options["memory"] == "smallest":
                del options["memory"]
                options["memory"] = smallest_memory(dataset, **options)
            try:
                with hr.Loader(dataset, timeout=60, **options) as loader:
                    for _ in range(1 + i % 2):
                        wrong += [f"{options}: {text}" for text in check_epoch(loader, want, "row", shuffle)]
            except hr.Error as error:
                wrong.append(f"{options}: {error}")
    return [f"{file.path.name} ({file.rows} rows) {text}" for text in wrong]


@pytest.mark.parametrize("shuffle", [False, True])
def test_epochs(files: list[MatrixFile], shuffle: bool) -> None:
    wrong = [text for number, file in enumerate(files) for text in check_epochs(file, number, shuffle)]
    assert not wrong, summary_of(wrong)


def test_all_files_as_one_set(matrix: list[MatrixFile]) -> None:
    paths = [file.path for file in matrix]
    total = sum(file.rows for file in matrix)
    dataset = hr.open(paths, fields=["row"])
    assert len(dataset) == total
    want = np.concatenate([np.arange(file.rows) for file in matrix])
    assert np.array_equal(dataset[:]["row"], want)
    with hr.Loader(dataset, 64, shuffle=True, threads=3) as loader:
        got = np.concatenate([batch["row"] for batch in loader])
    assert not np.array_equal(got, want)
    assert np.array_equal(np.sort(got), np.sort(want))
