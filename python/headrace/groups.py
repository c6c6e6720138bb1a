"""GroupReducer: what a model says of the rows of a recording, an event or a document, brought together for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from headrace._groups.levels import Levels
from headrace._groups.places import Places
from headrace._groups.ranks import add_up, is_shared
from headrace._groups.totals import NO_GROUP, REDUCTIONS, DeviceTotals, Totals
from headrace._support.checks import invalid, one_of, real_number, whole_number
from headrace._support.logging import warn
from headrace.loader import Loader

__all__ = ["GroupReducer"]

#: A level's results by the name of the reduction, with ``"count"``: arrays whose first axis is the level's groups.
Results = dict[str, Any]

#: Above which a score says yes, by what scores are.
THRESHOLDS = {"probabilities": 0.5, "logits": 0.0}


class GroupReducer:
    """Reduce predictions of rows to predictions of groups, batch by batch: votes, means, maxima.

    Made for ``Loader(dataset, group_by=...)``, whose batches say of each row which group it is of. A group may come in
    several batches and on several ranks, in any order: only totals are kept, of a size that depends on the groups and
    classes alone. The same batches in the same order give the same results bit for bit. NumPy arrays and tensors of the
    CPU are added up in C++; tensors of a device by torch's operations there, and nothing is copied from it before
    :meth:`result`. Sums are in double precision, on Apple's MPS, which has none, in single precision.

    Reductions:

    - ``"vote"``: the class that most rows vote for; the first of several. A row votes for its largest value, the first
      of several; rows of one value vote 1 if it is above ``threshold``, else 0; rows that are whole numbers are votes.
      A row with a NaN does not vote; -1 where no row does.
    - ``"mean"``, ``"max"``: of each class, over the rows.
    - ``"any_above"``: True for a class if any row's value is above ``threshold``; NaN is not.
    - ``"topk_mean"``: of each class the mean of its ``k`` largest values, or of all if there are fewer.

    With several levels each one reduces the results of the level below: ``nested=["long", "file"]`` takes the votes of
    the rows for each long segment, and then the votes of the long segments for the file. To let all rows of a file vote
    directly, leave the other levels out.

    Args:
        groups: The loader whose batches are added (also a :class:`headrace.torch.DataLoader`, or one of a data module),
            or the number of groups; None: ``sizes`` says it. Of a loader whose samples lie along several axes
            (``open(sample_axes=)``), the levels are the first of these axes: it says their sizes, and where each row
            belongs. With ``group_by="file"`` the coarsest of several levels is the file, and the others are the first
            axes. Files may differ in how many segments their recordings have.
        reduce: What to compute, of every level: one name or several.
        nested: Names of the levels, from the finest to the coarsest. Default: the one level of the loader's groups.
        sizes: How many groups of a level there are in one of the next coarser level: a whole number, or, where they
            differ, whole numbers of shape (groups of the next coarser level,). For the coarsest, which ``groups`` says
            else, how many there are in all. As an attribute: a whole number where all are equal, else an int64 array.
        ids: With several levels: the field of a batch, or a function of it, that gives whole numbers of shape (rows,
            levels), the coarsest level first, as sample ids come: (file, long, short).
        num_classes: Number of classes. Default: from the first values; needed where votes are given as whole numbers.
        threshold: For ``"any_above"``, and for votes of rows of one value: a number, ``"probabilities"`` (0.5) or
            ``"logits"`` (0, whose sigmoid is 0.5).
        k: For ``"topk_mean"``.

    Raises:
        InvalidArgumentError: An argument is wrong, or arguments contradict each other (a ValueError).
    """

    def __init__(
        self,
        groups: Any = None,
        *,
        reduce: str | Sequence[str] = ("vote", "mean"),
        nested: Sequence[str] | None = None,
        sizes: Mapping[str, Any] | None = None,
        ids: str | Callable[[Any], Any] | None = None,
        num_classes: int | None = None,
        threshold: float | str = 0.5,
        k: int = 5,
    ) -> None:
        self.reduce = _names("reduce", [reduce] if isinstance(reduce, str) else reduce, REDUCTIONS)
        engine = getattr(groups, "loader", groups)  # of a DataLoader, and of what a DataModule makes
        loader = engine if isinstance(engine, Loader) else None
        self.nested = _names("nested", nested) if nested is not None else (loader._level if loader else "file",)
        by_group = nested is None and loader is not None and bool(loader.group_by)  # not axis 0, the first of Places
        placed = loader is not None and sizes is None and ids is None and not by_group
        self._places = _places(loader, self.nested) if placed and loader else None
        self._group_is_finest = loader is not None and loader.group_by == len(self.nested) - 1
        if self._places is not None:
            sizes, groups = dict(zip(self.nested[::-1], self._places.sizes, strict=True)), None
        elif loader is not None:
            told = ids is not None and self.nested[-1] in (sizes or {})
            if loader.group_by is None and not told:
                raise invalid(
                    "the loader's batches are not of whole groups",
                    'Make it with group_by="file", or a field.'
                    if len(self.nested) == 1
                    else "Give sizes= and ids=: the samples lie along one axis, which does not say the levels.",
                )
            groups = None if loader.group_by is None else loader.num_groups
        self._levels = Levels(self.nested, sizes, groups)
        self.sizes = self._levels.sizes
        if ids is not None and not isinstance(ids, str) and not callable(ids):
            raise invalid(f"ids must be the name of a field or a function of a batch, not {ids!r}")
        self._ids = ids
        self.num_classes = None if num_classes is None else whole_number("num_classes", num_classes, least=1)
        if isinstance(threshold, str):
            one_of("threshold", threshold, tuple(THRESHOLDS))
        self.threshold = real_number("threshold", THRESHOLDS[threshold] if isinstance(threshold, str) else threshold)
        self.k = whole_number("k", k, least=1, most=2**20)
        self._told = False  # of logits
        self._totals: Totals | None = None
        self._shape: tuple[int, ...] | None = None  # of a row's values

    @property
    def num_groups(self) -> int:
        """Number of groups of the finest level, over all coarser ones."""
        return self._levels.counts[self.nested[0]]

    def parents(self, level: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return in which group of the next coarser level each group of ``level`` lies.

        With recordings of different length this says which results of :meth:`result` belong together:
        ``result["long"]["vote"][reducer.parents("long") == 5]`` are the votes of the ``long`` of file 5.

        Args:
            level: Name of a level, but of the coarsest, which lies in no other.

        Returns:
            Numbers of groups of the next coarser level, in rising order: int64 of shape (groups of the level,).

        Raises:
            InvalidArgumentError: There is no such level, or it is the coarsest.
        """
        if level == self.nested[-1]:
            raise invalid(f"{level!r} is the coarsest level: its groups lie in no other", "Name a finer one.")
        one_of("level", level, self.nested[:-1])
        found: np.ndarray[Any, np.dtype[np.int64]] = self._levels.parents(level)
        return found

    def add(self, groups: Any, values: Any) -> None:
        """Add the rows of a batch. On a device nothing waits for it.

        Args:
            groups: The batch, as the loader gave it; or whole numbers of shape (rows,), or of shape (rows, levels) with
                the coarsest level first.
            values: What the model says of each row: numbers of shape (rows, classes), or (rows,) or (rows, 1) for one
                value a row; whole numbers of shape (rows,) are classes that rows vote for. A NumPy array or a tensor.

        Raises:
            InvalidArgumentError: Shapes do not agree with each other or with earlier batches, or a group or class is
                not there; nothing is added then. On a device :meth:`result` raises the latter, so that nothing waits.
        """
        values, as_torch, device = _unwrapped(values)
        labels = _is_whole(values)
        if not labels and values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]  # a score a row, as a head of one output gives it
        if labels and (values.ndim != 1 or self.reduce != ("vote",)):
            raise invalid(
                f"whole numbers of {values.ndim} dimensions are given, for {', '.join(self.reduce)}",
                "Whole numbers of shape (rows,) are votes, for reduce='vote' alone; give logits as floating point.",
            )
        if values.ndim not in (1, 2):
            raise invalid(f"values have {values.ndim} dimensions; (rows, classes) or (rows,) is expected")
        shape = () if labels else tuple(values.shape[1:])
        if self._shape not in (None, shape) or (self._totals is not None and labels != self._totals.of_labels):
            raise invalid(f"rows of shape {shape} follow rows of shape {self._shape}", "reset() begins anew.")
        rows = self._flat_ids(groups)
        if len(rows) != len(values):
            raise invalid(f"there are {len(values)} values for {len(rows)} rows", "Give one for each row of the batch.")
        if self._totals is None:
            self._totals = self._new_totals(shape, labels, {"as_torch": as_torch, "device": device})
        elif self._totals.words["device"] != device:
            raise invalid(f"values on {device} follow values on {self._totals.words['device']}", "Keep to one device.")
        self._totals.add(rows, values)
        self._shape = shape
        if not labels and isinstance(values, np.ndarray):
            self._look_for_logits(values, {"any_above"} if shape else {"any_above", "vote"})

    def _look_for_logits(self, scores: Any, compared: set[str]) -> None:
        """Warn once of scores that are no probabilities, where ``compared`` compares them with one of probabilities."""
        if self._told or not 0 < self.threshold < 1 or not compared & set(self.reduce):
            return
        if ((scores < 0) | (scores > 1)).any():
            self._told = True
            warn(
                f"scores lie below 0 or above 1, as logits do, and threshold= is {self.threshold}, which is one of "
                'probabilities: for logits give threshold="logits"'
            )

    def _new_totals(self, shape: tuple[int, ...], labels: bool, where: dict[str, Any]) -> Totals:
        classes = shape[0] if shape else 1
        if labels:
            if self.num_classes is None:
                raise invalid(
                    "votes are given as whole numbers, and the number of classes is not", "Give num_classes=."
                )
            classes = self.num_classes
        elif shape and self.num_classes not in (None, classes):
            raise invalid(f"values are of {classes} classes; num_classes is {self.num_classes}")
        words = {"classes": classes, "of_labels": labels, "binary": not shape and not labels, **where}
        return Totals.of_words(self.num_groups, self.reduce, self.k, self.threshold, words)

    def _flat_ids(self, groups: Any) -> Any:
        """Return the number of each row's finest group, over all coarser ones."""
        weight = groups.get("_weight") if isinstance(groups, Mapping) else None
        if isinstance(groups, Mapping):
            groups = self._ids_of(groups)
        rows = self._numbered(groups)
        if weight is None or len(weight) != len(rows):
            return rows
        # Repeats that fill up a step count for nothing.
        weight, _, _ = _unwrapped(weight)
        if isinstance(rows, np.ndarray) and isinstance(weight, np.ndarray):
            return np.where(weight == 0, NO_GROUP, rows)
        import torch

        rows = torch.as_tensor(rows)
        return torch.where(torch.as_tensor(weight, device=rows.device) == 0, NO_GROUP, rows)

    def _numbered(self, groups: Any) -> Any:
        """Return the number of each row's finest group where ``groups`` has one for each level, or for all together."""
        ids, _, _ = _unwrapped(groups)
        if not _is_whole(ids):
            raise invalid(f"groups are given by whole numbers, not {ids.dtype}")
        # A number over all levels may be above what the ids' own type holds. Arrays of NumPy are always copied: without
        # the GIL C++ reads them again after it has checked them, and other threads may write into the caller's.
        ids = ids.astype(np.int64, order="C") if isinstance(ids, np.ndarray) else ids.long()
        levels = len(self.nested)
        if ids.ndim == 1 and (levels == 1 or self._places is not None):
            return ids
        if ids.ndim != 2 or ids.shape[1] != levels:
            raise invalid(
                f"ids have shape {tuple(ids.shape)}; (rows, {levels}) is expected, for {', '.join(self.nested[::-1])}",
                "Give one number for each level, the coarsest first.",
            )
        return self._levels.numbers(ids)

    def _ids_of(self, batch: Mapping[str, Any]) -> Any:
        if callable(self._ids):
            return self._ids(batch)
        if self._places is not None and "_rows" in batch:
            return self._places.of_rows(_unwrapped(batch["_rows"])[0])
        if self._places is not None and not self._group_is_finest:  # _group is of another level
            raise invalid(
                f"the batch has no field _rows, which says where rows lie in {', '.join(self.nested[::-1])}; it has "
                f"{', '.join(batch)}",
                "Make the loader whose batches are added with provenance=True.",
            )
        name = self._ids or "_group"
        if name not in batch:
            raise invalid(
                f"the batch has no field {name}; it has {', '.join(batch)}",
                "Make the loader with group_by=, or name the field with ids=.",
            )
        return batch[name]

    def result(self, *, all_ranks: bool | None = None) -> dict[str, Results]:
        """Return what was reduced, of all groups: those of no rows have a count of 0, vote -1 and NaN.

        ``"nan"`` counts the rows of each group in which a value is NaN (in coarser levels, the groups that have some);
        if there are any, a warning says so. Nothing changes: more rows can be added afterwards.

        Args:
            all_ranks: True adds up what the ranks of torch.distributed have, each of which must call this; False does
                not. Default: where torch.distributed is set up.

        Returns:
            By level, then by reduction, and with ``"count"``, the number of things that were reduced: arrays with the
            level's groups on their first axis, and the classes on their last where rows had any. Tensors of the CPU
            where values were tensors. Groups are counted through the coarser levels: the second of the ``long`` of file
            5 has the number ``5 * sizes["long"] + 1``; where files have different numbers of them, ``sizes["long"]`` is
            an array, and the number is ``sizes["long"][:5].sum() + 1``. :meth:`parents` has the way back. A file of
            none has a count of 0.

        Raises:
            InvalidArgumentError: No rows were added, on any rank; ranks reduce other things; or rows that were added on
                a device were of groups or classes that are not there. With several ranks all of them raise, and the
                text says which rank it was.
        """
        if is_shared(all_ranks):
            totals = add_up(self._totals, self._blank)
        else:
            totals = self._totals.on_cpu() if isinstance(self._totals, DeviceTotals) else self._totals
        if totals is None:
            raise invalid("nothing was added yet", "Call add() with each batch first.")
        nan = totals.arrays.get("nan")
        if nan is not None and nan.any():
            warn(
                f"{int(nan.sum())} predictions are NaN, in {int((nan > 0).sum())} groups: they do not vote, and their "
                "groups' means and maxima are NaN (result()[level]['nan'] counts them)"
            )
        out: dict[str, Results] = {}
        for level, name in enumerate(self.nested):
            out[name] = totals.results()
            if level + 1 < len(self.nested):
                groups = self._levels.counts[self.nested[level + 1]]
                totals = totals.folded(groups, partial(self._levels.parents, name))
        return out

    def _blank(self, like: dict[str, Any]) -> Totals:
        """Return totals of no rows, as other ranks have them: this one was given none."""
        return Totals.of_words(self.num_groups, self.reduce, self.k, self.threshold, like)

    def reset(self) -> None:
        """Forget all rows, for another pass."""
        self._totals, self._shape = None, None

    def __repr__(self) -> str:
        return f"<headrace.GroupReducer: {', '.join(self.reduce)} of {self._levels}>"


def _places(loader: Loader, levels: tuple[str, ...]) -> Places | None:
    """Return where rows belong, if the levels are axes of the loader's samples, or its files and such axes; else None.

    Raises:
        InvalidArgumentError: The levels are axes, and the batches do not have the places of rows along them.
    """
    if min(len(shape) for shape in loader.dataset.sample_shape) == 1:
        return None
    of_files = loader.group_by == "file" and len(levels) > 1
    if isinstance(loader.group_by, str) and not of_files:
        return None
    places = Places(loader.dataset, len(levels), by_file=of_files)
    if loader.provenance or loader.group_by == len(levels) - 1:
        return places
    if loader.group_by is None:
        whole = "the loader's batches are not of whole groups, and"
    else:
        are = "files" if of_files else f"places along axis {loader.group_by}"
        whole = f"the loader's groups are {are}; its batches"
    raise invalid(
        f"{whole} do not have the places of rows in {', '.join(levels[::-1])}",
        "Make the loader with provenance=True"
        + (f", or with group_by={len(levels) - 1}." if loader.group_by is None else "."),
    )


def _names(what: str, given: Any, known: Sequence[str] | None = None) -> tuple[str, ...]:
    names = tuple(given) if isinstance(given, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise invalid(f"{what} must be a list of names, not {given!r}")
    if len(set(names)) < len(names):
        raise invalid(f"{what} has a name twice: {', '.join(names)}")
    for name in names if known is not None else ():
        if name not in known:  # type: ignore[operator]
            raise invalid(f"{what} has no {name!r}; there are {', '.join(known or ())}")
    return names


def _unwrapped(values: Any) -> tuple[Any, bool, str]:
    """Return a NumPy array, or a tensor of a device without its graph; whether it was a tensor; and where it is."""
    if hasattr(values, "detach"):
        values = values.detach()
        if values.device.type != "cpu":
            return values, True, str(values.device)
        if str(values.dtype) in ("torch.bfloat16", "torch.float16"):
            values = values.float()
        return values.numpy(), True, "cpu"
    return np.asarray(values), False, "cpu"


def _is_whole(values: Any) -> bool:
    if isinstance(values, np.ndarray):
        return values.dtype.kind in "iub"
    return not values.dtype.is_floating_point and not values.dtype.is_complex
