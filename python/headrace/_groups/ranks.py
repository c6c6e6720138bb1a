"""Totals of groups, added up over the ranks of torch.distributed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from headrace._groups.totals import DeviceTotals, Totals
from headrace._support.checks import invalid
from headrace.errors import Error


def is_shared(asked: bool | None) -> bool:
    """Return True if ranks add up what they have: as asked for, else where torch.distributed is set up.

    Raises:
        InvalidArgumentError: It is asked for, and torch.distributed is not set up.
    """
    if asked is not None and not isinstance(asked, bool):
        raise invalid(f"all_ranks must be True, False or None, not {asked!r}")
    torch = sys.modules.get("torch")
    ready = torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized()
    if asked and not ready:
        raise invalid("all_ranks=True needs torch.distributed, which is not set up", "Call init_process_group() first.")
    return ready and asked is not False and bool(torch and torch.distributed.get_world_size() > 1)


def add_up(totals: Totals | None, blank: Callable[[dict[str, Any]], Totals]) -> Totals | None:
    """Return the totals of all ranks on each of them, on the CPU; None where no rank has any.

    Every rank has to call it, also one whose totals turn out to be wrong when they are fetched from its device: a rank
    that raised alone would leave the others waiting for it. Sums are added in the order of the ranks: equal on all of
    them, and the same each time.

    Raises:
        InvalidArgumentError: A rank was given groups or classes that are not there, or ranks were given other things;
            on all ranks, with the number of the rank.
    """
    import torch
    from torch import distributed

    wrong: Exception | None = None
    if isinstance(totals, DeviceTotals):
        try:
            totals = totals.on_cpu()
        except Exception as error:
            totals, wrong = None, error
    all_words: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(all_words, _told(totals, wrong))
    _raise_what_was_told(all_words, wrong)
    given = [words for words in all_words if words is not None]
    if not given:
        return None
    for rank, words in enumerate(all_words):
        if words is not None and words != given[0]:
            raise invalid(f"rank {rank} reduces {words}, others {given[0]}", "Make the same reducer on every rank.")
    words = {name: value for name, value in given[0].items() if name not in ("size", "reduce", "threshold")}
    made = blank(words)
    device = "cuda" if distributed.get_backend() == "nccl" else "cpu"
    for name, array in (made if totals is None else totals).arrays.items():
        own = torch.from_numpy(np.ascontiguousarray(array)).to(device)
        parts = [torch.empty_like(own) for _ in all_words]
        distributed.all_gather(parts, own)
        made.arrays[name] = _together(name, [part.cpu().numpy() for part in parts])
    return made


def _told(totals: Totals | None, wrong: Exception | None) -> dict[str, Any] | None:
    """Return what a rank tells the others: what it reduces, or its error; None if it was given nothing."""
    if wrong is not None:
        return {"error": wrong.message if isinstance(wrong, Error) else f"{type(wrong).__name__}: {wrong}"}
    if totals is None:
        return None
    size = {"size": (totals.groups, totals.k), "reduce": totals.reduce, "threshold": totals.threshold}
    return {**totals.words, "device": "cpu", **size}


def _raise_what_was_told(all_words: list[Any], wrong: Exception | None) -> None:
    """Raise the error of the first rank that has one, on every rank. ``wrong``: this rank's own."""
    errors = [(rank, words["error"]) for rank, words in enumerate(all_words) if words is not None and "error" in words]
    if not errors:
        return
    rank, text = errors[0]
    if len(errors) > 1:
        text += f" (ranks with errors: {', '.join(str(one) for one, _ in errors)})"
    raise invalid(
        f"rank {rank}: {text}", "No rank has a result. Every rank keeps its rows; reset() forgets them."
    ) from wrong


def _together(name: str, parts: list[Any]) -> Any:
    if name == "max":
        return np.maximum.reduce(parts)  # of NaN and a number, NaN
    if name == "tops":  # ascending, NaN last: so the largest are at the end
        whole = np.sort(np.concatenate(parts, axis=2), axis=2)
        return np.ascontiguousarray(whole[..., ::-1][..., : parts[0].shape[2]])
    out = parts[0].copy()
    for part in parts[1:]:
        out += part
    return out
