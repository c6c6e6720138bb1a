"""The order of a loader in the engine's words: what a sampler of Python's becomes there."""

from __future__ import annotations

from typing import Any

from headrace._loader.options import Words
from headrace._support.checks import invalid
from headrace.dataset import Dataset
from headrace.samplers import Balanced, Listing, LookAhead, Weighted


def need_numbers(dataset: Dataset, order: Any) -> None:
    """Raise unless the samples have numbers that a sampler could give.

    Args:
        dataset: The data set.
        order: As :func:`headrace._loader.options.order_of` returns it.

    Raises:
        InvalidArgumentError: There is a sampler, and samples are patches that are drawn anew in each epoch.
    """
    if order is None or not len(dataset) or any(file.rows for file in dataset.files):
        return
    argument = "batch_sampler" if isinstance(order, Listing) and order.batches else "sampler"
    sampler = order.sampler if isinstance(order, (Listing, LookAhead)) else order
    raise invalid(
        f"{argument}={type(sampler).__name__} chooses samples by their number, and patches of samples_per_epoch= have "
        "none: they are drawn anew in each epoch",
        "Leave it out. patches(balance=) draws as many patches for each class; patches of a grid have numbers: give "
        "stride= instead of samples_per_epoch=.",
    )


def engine_words(order: Any, options: Words, num_rows: int) -> tuple[dict[str, Any] | None, Words, Listing | None]:
    """Return the engine's words for an order, the options that go with it, and the iterable that gives its rows.

    Plain data and what has no length are asked for the rows of epoch 0 here; others when an epoch begins.
    """
    if order is None:
        return None, options, None
    if isinstance(order, Weighted):
        samples = order.num_samples or 0
        return {"weights": order.weights, "replacement": order.replacement, "num_samples": samples}, options, None
    if isinstance(order, Balanced):
        return {"by": order.by, "num_samples": order.num_samples or 0}, options, None
    if isinstance(order, LookAhead):
        words = {"fed_samples": len(order.sampler)}
        return words, {**options, **_one_rank(order)}, None
    batches = isinstance(order, Listing)
    listing = Listing(order.sampler if batches else order, batches, num_rows)
    listed = listing.first()
    if listing.batches and listed[1] is None:
        options = {**options, "batch_size": 1}  # no batches at all: the rows are what is refused
    return {"listed": listed, "every_epoch": listing.every_epoch}, {**options, **_one_rank(listing)}, listing


def _one_rank(order: LookAhead | Listing) -> Words:
    return {"rank": 0, "world_size": 1} if order.own_rank else {}
