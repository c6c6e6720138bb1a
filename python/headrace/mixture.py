"""Mixtures: several data sets as one, drawn in given proportions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace import _headrace
from headrace._support.checks import invalid, one_of, real_number, whole_number
from headrace.dataset import Dataset

Parts = Mapping[str, Dataset | tuple[Dataset, float]]


def mix(parts: Parts, *, temperature: float = 1.0, stop: str = "first", num_samples: int | None = None) -> Dataset:
    """Combine several data sets into one, from which a loader draws in given proportions.

    ``hr.mix({"top": (tops, 0.7), "qcd": (qcd, 0.3)})``: every stretch of a loader's samples holds 70 % of ``tops``, to
    within a few samples. Each part comes in the order that the loader's ``shuffle`` says, and goes on where the epoch
    before ended, so that over the epochs its rows come equally often. Rows by number, fields and ``len`` are those of
    all parts, one after the other. Reads nothing.

    Args:
        parts: Name → data set, or (data set, weight). Only ratios of weights count; without any, a part weighs what it
            has rows. Fields must agree in name, type and shape.
        temperature: Weights are raised to the power of 1/temperature: above 1 evens the parts out.
        stop: When an epoch ends: ``"first"``: when the first part has been gone through; ``"all"``: when each has been
            at least once, smaller ones coming again meanwhile.
        num_samples: Samples of an epoch, in place of ``stop``.

    Raises:
        InvalidArgumentError: Fields that differ, weights that are none, a mixture among the parts.
    """
    if not isinstance(parts, Mapping):
        raise invalid(
            f"parts must be a dict such as {{'a': (data, 0.7), 'b': (other, 0.3)}}, not {type(parts).__name__}"
        )
    list_of_parts = [(str(name), *_part(name, part)) for name, part in parts.items()]
    one_of("stop", stop, ("first", "all"))
    samples = 0 if num_samples is None else whole_number("num_samples", num_samples, least=1)
    native = [(name, data._native, weight) for name, data, weight in list_of_parts]
    return Dataset(_headrace.mix(native, real_number("temperature", temperature), stop, samples))


def _part(name: Any, part: Any) -> tuple[Dataset, float]:
    data, weight = part if isinstance(part, tuple) and len(part) == 2 else (part, 0.0)
    if not isinstance(data, Dataset):
        raise invalid(f"part {name!r} must be a data set or (data set, weight), not {type(part).__name__}")
    if data._functions:
        raise invalid(f"the samples of {name} go through a Python function", "Mix first, then map.")
    if not isinstance(part, tuple):
        return data, 0.0
    value = real_number(f"the weight of part {name!r}", weight)
    if not value > 0:
        raise invalid(f"the weight of part {name!r} must be a positive number, not {weight!r}")
    return data, value
