"""Agreement: ranks of a run find out that their loaders differ, and none of them waits for another.

Samples are divided over ranks by their places in an order that all ranks have to have in common. Where one has another
order, from a sampler that draws on each rank by itself, some samples come twice and others not at all.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headrace._support.checks import checksum, invalid
from headrace._support.logging import logger, warn
from headrace._support.trainers import distributed_rank
from headrace.dataset import Dataset
from headrace.samplers import Listing, Weighted

_numbers = itertools.count()
_inherited: Any = None  # the store of the process that this one was forked from: its connection is that one's


def _note_fork() -> None:
    global _inherited
    _inherited = _store()


#: Options that are the same on all ranks where they have the same loader.
_OPTIONS = ("shuffle", "shuffle_buffer", "batch", "group_by", "max_items", "max_groups", "tail")
_SAME_ROWS = (
    "Let the sampler draw the same on all ranks: RandomSampler(data, generator=torch.Generator().manual_seed(0)); "
    "or use shuffle=True, or a DistributedSampler, which divides by itself."
)


class Agreement:
    """What a loader says to the loaders of the other ranks. Not for several threads."""

    def __init__(self) -> None:
        self._number: int | None = None  # among this process's loaders that began an epoch for several ranks
        self._passes = itertools.count()
        self._data: dict[str, Any] | None = None  # made once: there may be a million files
        self._order: dict[str, str] = {}

    def check(self, epoch: int, options: Mapping[str, Any], order: Any, listing: Listing | None, data: Dataset) -> None:
        """Say what this rank delivers in an epoch that begins, and compare it with what the first one said.

        Asks the store of torch.distributed once, which takes about 0.1 ms and waits for no rank. Does nothing where the
        loader's ranks are not those of torch.distributed, and for samplers that divide by themselves.

        Args:
            epoch: Number of the epoch.
            options: The loader's options, as the engine has them.
            order: The loader's sampler; None: the engine's orders.
            listing: The same, where it is asked for its rows.
            data: The loader's data set.

        Raises:
            InvalidArgumentError: The order is another one; the text says which rank's it differs from, and in what.
        """
        ranks = distributed_rank()
        if ranks is None or ranks[1] < 2 or getattr(listing or order, "own_rank", False):
            return
        if options["rank"] is not None and (options["rank"], options["world_size"]) != ranks:
            return
        store = _store()
        if store is None or store is _inherited:
            return
        if self._number is None:
            self._number = next(_numbers)
        key = f"headrace/loader {self._number}/pass {next(self._passes)}/epoch {epoch}"
        if self._data is None:
            self._data = _data_words(data)
            size = options["global_batch_size"] or (options["batch_size"] or 0) * ranks[1]
            self._data |= {"options": {"batch": size, **{name: str(options[name]) for name in _OPTIONS}}}
            self._data["options"]["sampler"] = type(listing.sampler if listing else order).__name__
            self._order = {"seed": str(options["seed"])} | _weights(order)
        words = self._order
        if listing is not None and listing.checksum:  # else it was asked before there were ranks
            words = {**words, "rows": listing.checksum}
        mine: dict[str, Any] = {"rank": ranks[0], "data": self._data, "order": words}
        try:
            theirs = json.loads(store.compare_set(key, "", json.dumps(mine)))
        except Exception as error:  # a store that is gone, or that cannot compare
            logger.debug("the loaders of the ranks are not compared: %s", error)
            return
        what = f"loader {self._number} that this rank goes through has other"
        if (name := _difference(mine["data"], theirs["data"])) is not None:
            warn(
                f"{what} {name} than that of rank {theirs['rank']}: if they are to be the same loader, make them with "
                "the same arguments; if one rank alone goes through a loader, give it rank=0 and world_size=1"
            )
        elif (name := _difference(mine["order"], theirs["order"])) is not None:
            raise invalid(
                f"{what} {name} in epoch {epoch} than that of rank {theirs['rank']} ({mine['order'][name]} here, "
                f"{theirs['order'][name]} there): some samples would come twice, and others not at all",
                _SAME_ROWS if name == "rows" else "Make the loader with the same arguments on all ranks.",
            )


def _data_words(data: Dataset) -> dict[str, Any]:
    """Return what should be alike: a loader that one rank alone goes through shifts the numbers of those behind it."""
    names = "\n".join(Path(file.path).name for file in data.files)
    return {
        "files": checksum(names.encode(errors="surrogateescape")),
        "samples": len(data),
        "fields": list(data.fields),
    }


def _weights(order: Any) -> dict[str, str]:
    return {"weights": checksum(order.weights)} if isinstance(order, Weighted) else {}


def _difference(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> str | None:
    return next((name for name in mine if name in theirs and mine[name] != theirs[name]), None)


def _store() -> Any:
    c10d = sys.modules.get("torch.distributed.distributed_c10d")
    get = getattr(c10d, "_get_default_store", None)
    try:
        return None if get is None else get()
    except (RuntimeError, ValueError):  # no process group is set up
        return None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)
