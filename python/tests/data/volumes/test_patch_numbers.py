"""Numbers of patches: those of a grid have some, for samplers too; drawn ones have none, and say so."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from volume_files import PATCH, Volume

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
Opened = tuple[hr.Volumes, list[Volume]]


@pytest.mark.parametrize("draws", ["visits", "independent"])
@pytest.mark.parametrize(
    ("order", "name"),
    [
        (lambda: {"sampler": hr.Weighted(np.ones(40))}, "sampler=Weighted"),
        (lambda: {"sampler": hr.Balanced("ids")}, "sampler=Balanced"),
        (lambda: {"sampler": [3, 3, 1]}, "sampler=list"),
        (lambda: {"sampler": np.arange(40)}, "sampler=ndarray"),
        (lambda: {"sampler": range(40), "lookahead": 2}, "sampler=range"),
        (lambda: {"batch_sampler": [[0, 1], [2]]}, "batch_sampler=list"),
    ],
)
def test_drawn_patches_take_no_sampler(gzip: Opened, order: Any, name: str, draws: str) -> None:
    drawn = gzip[0].patches(PATCH, samples_per_epoch=40, draws=draws)
    makers: list[Any] = [hr.Loader]
    with contextlib.suppress(ImportError):
        makers.append(importlib.import_module("headrace.torch").DataLoader)
    size = {} if "batch_sampler" in name else {"batch_size": 4}
    for make, data in itertools.product(makers, (drawn, pickle.loads(pickle.dumps(drawn)), drawn.map(T.Mirror("raw")))):
        with pytest.raises(hr.InvalidArgumentError, match=f"{name} chooses .* have none.*balance=.*stride="):
            make(data, **size, **order())


def test_patches_of_a_grid_take_samplers(gzip: Opened) -> None:
    grid = gzip[0].patches(PATCH, stride=PATCH)
    [batch] = hr.Loader(grid, 3, sampler=[3, 3, 1])
    np.testing.assert_array_equal(batch["raw"], np.stack([grid[i]["raw"] for i in (3, 3, 1)]))
    weights = np.zeros(len(grid))
    weights[2] = 1
    for batch in hr.Loader(grid, 4, sampler=hr.Weighted(weights)):
        assert (batch["raw"] == grid[2]["raw"]).all()
    first, second = hr.Loader(grid, batch_sampler=[[0, 1], [2]])
    assert len(first["raw"]) == 2 and np.array_equal(second["raw"][0], grid[2]["raw"])


def test_drawn_patches_have_no_numbers(gzip: Opened) -> None:
    data = gzip[0].patches(PATCH, samples_per_epoch=10)
    for call in (
        lambda: data[0],
        lambda: data[2:4],
        lambda: data["raw"][0],
        lambda: next(iter(data)),
        lambda: data.select([1]),
        lambda: data.split({"a": 0.5, "b": 0.5}),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=r"needs numbered samples, and .* are drawn anew"):
            call()
    loader = hr.Loader(data, 4)
    for rows in (lambda: list(loader.sampler), lambda: list(next(iter(loader.batch_sampler)))):
        with pytest.raises(hr.InvalidArgumentError, match="drawn anew in each epoch have no row numbers"):
            rows()
