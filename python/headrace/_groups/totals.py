"""What the rows of each group add up to: in arrays of NumPy by C++, or in tensors of a device by torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._support.checks import invalid

#: What can be computed of a group, and the totals that it follows from.
NEEDS = {"vote": "votes", "mean": "sum", "max": "max", "any_above": "above", "topk_mean": "tops"}
REDUCTIONS = tuple(NEEDS)
#: Group of rows that count for nothing, as ``_group`` has it for samples that fill up a step.
NO_GROUP = -1


class Totals:
    """Totals of ``groups`` groups, as arrays of NumPy; :class:`DeviceTotals` has them as tensors.

    Attributes:
        arrays: ``count`` of shape (groups,), and what the reductions need: ``votes``, ``sum``, ``max`` and ``above``
            (how many rows are above the threshold) of shape (groups, classes), ``tops`` of shape (groups, classes, k);
            where rows have values, ``nan`` of shape (groups,), how many of them have a NaN.
        words: What ranks have to agree on: ``classes``; ``of_labels``: rows say their class; ``binary``: rows have one
            value; ``as_torch``: results are tensors; ``device``.
    """

    def __init__(self, groups: int, reduce: tuple[str, ...], k: int, threshold: float, words: dict[str, Any]) -> None:
        self.groups, self.reduce, self.k, self.threshold, self.words = groups, reduce, k, threshold, words
        classes = words["classes"]
        shapes = {
            "votes": (groups, 2 if words["binary"] else classes),
            "sum": (groups, classes),
            "max": (groups, classes),
            "above": (groups, classes),
            "tops": (groups, classes, k),
        }
        kinds = {NEEDS[name] for name in reduce}
        self.arrays: dict[str, Any] = {"count": self._made((groups,), np.int64, 0)}
        if not words["of_labels"]:
            self.arrays["nan"] = self._made((groups,), np.int64, 0)
        for kind in sorted(kinds):
            empty = -np.inf if kind in ("max", "tops") else 0
            self.arrays[kind] = self._made(shapes[kind], np.int64 if kind == "votes" else np.float64, empty)

    @staticmethod
    def of_words(groups: int, reduce: tuple[str, ...], k: int, threshold: float, words: dict[str, Any]) -> Totals:
        """Return totals of no rows, where ``words`` says they are."""
        made = Totals if words["device"] == "cpu" else DeviceTotals
        return made(groups, reduce, k, threshold, words)

    @property
    def of_labels(self) -> bool:
        """True if rows say their class."""
        return bool(self.words["of_labels"])

    def _made(self, shape: tuple[int, ...], dtype: Any, value: float) -> Any:
        return np.full(shape, value, dtype)

    def add(self, groups: Any, values: Any) -> None:
        """Add rows. Raises InvalidArgumentError for a group or a class that is not there; nothing is added then."""
        groups = np.ascontiguousarray(groups, np.int64)
        totals = self.arrays
        if self.of_labels:
            labels = np.array(values, np.int64)  # a copy, which no other thread writes into once it was checked
            _headrace.add_votes(groups, labels, self._numbers(), totals)
            return
        dtype = np.float32 if values.dtype == np.float32 else np.float64
        add_rows = _headrace.add_rows_float32 if dtype is np.float32 else _headrace.add_rows_float64
        rows = np.ascontiguousarray(values, dtype).reshape(len(values), self.words["classes"])
        if "above" in totals:
            above = np.greater(rows, self.threshold).astype(dtype)
            add_rows(groups, above, self._numbers(), {"sum": totals["above"]})
            totals = {name: array for name, array in totals.items() if name != "above"}
        if self.words["binary"]:
            rest = {name: array for name, array in totals.items() if name != "votes"}
            add_rows(groups, rows, self._numbers(), rest)
            if "votes" in totals:
                labels = np.greater(rows[:, 0], self.threshold).astype(np.int64)
                voters = np.where(np.isnan(rows[:, 0]), NO_GROUP, groups)
                _headrace.add_votes(voters, labels, (self.groups, 2, self.k), {"votes": totals["votes"]})
            return
        add_rows(groups, rows, self._numbers(), totals)

    def _numbers(self) -> tuple[int, int, int]:
        return self.groups, self.words["classes"], self.k

    def computed(self) -> dict[str, Any]:
        """Return each reduction with the axis of the classes.

        NaN where a group has no rows (vote: -1, also where none of them votes).
        """
        count, totals = self.arrays["count"], self.arrays
        empty, out = count == 0, {}
        with np.errstate(divide="ignore", invalid="ignore"):
            for name in self.reduce:
                found = totals[NEEDS[name]]
                if name == "vote":
                    out[name] = np.where(found.any(1), found.argmax(1), -1)
                elif name == "mean":
                    out[name] = found / count[:, None]
                elif name == "max":
                    out[name] = np.where(empty[:, None], np.nan, found)
                elif name == "any_above":
                    out[name] = found > 0
                else:
                    used = np.minimum(count, self.k)[:, None]
                    held = np.arange(self.k) < used[..., None]
                    out[name] = np.where(held, found, 0).sum(-1) / used
        return out

    def results(self) -> dict[str, Any]:
        """Return ``count`` and each reduction, as the user gets them."""
        out = {"count": self.arrays["count"].copy(), **self.computed()}
        if "nan" in self.arrays:
            out["nan"] = self.arrays["nan"].copy()
        if self.words["binary"] or self.of_labels:
            out = {name: found[:, 0] if found.ndim == 2 else found for name, found in out.items()}
        if self.words["as_torch"]:
            import torch

            out = {name: torch.from_numpy(np.ascontiguousarray(found)) for name, found in out.items()}
        return out

    def folded(self, groups: int, parents: Callable[[Any], Any]) -> Totals:
        """Return the totals of the next coarser level, whose groups have these groups as their rows.

        Args:
            groups: How many groups that level has.
            parents: Returns of numbers of these groups, an int64 array of shape (n,), those of the groups of that level
                in which they lie, of the same shape and type.
        """
        made = self.of_words(groups, self.reduce, self.k, self.threshold, {**self.words, "device": "cpu"})
        held = np.flatnonzero(self.arrays["count"])
        outer, found = parents(held), self.computed()
        count = {"count": made.arrays["count"]}
        _headrace.add_votes(outer, np.zeros(len(held), np.int64), (made.groups, 1, 0), count)
        if "nan" in self.arrays:  # of these groups, those that have some
            np.add.at(made.arrays["nan"], outer, self.arrays["nan"][held] > 0)
        for name in self.reduce:
            kind = NEEDS[name]
            values = self.arrays["max"][held] if kind == "max" else np.ascontiguousarray(found[name][held])
            if kind == "votes":
                shape = made.arrays["votes"].shape
                voters = np.where(values < 0, NO_GROUP, outer)  # one without a vote has none to give
                _headrace.add_votes(voters, np.maximum(values, 0), (*shape, self.k), {"votes": made.arrays["votes"]})
            else:
                how = "sum" if kind == "above" else kind
                _headrace.add_rows_float64(outer, values.astype(float), made._numbers(), {how: made.arrays[kind]})
        return made


class DeviceTotals(Totals):
    """The same as tensors of a device. Operations whose result does not depend on the order of threads."""

    def __init__(self, groups: int, reduce: tuple[str, ...], k: int, threshold: float, words: dict[str, Any]) -> None:
        super().__init__(groups, reduce, k, threshold, words)
        self._wrong = self._made((2,), np.int64, 0)  # rows of groups, and labels, that are not there

    def _made(self, shape: tuple[int, ...], dtype: Any, value: float) -> Any:
        import torch

        kind = torch.int64 if dtype is np.int64 else real_type(self.words["device"])
        return torch.full(shape, value, dtype=kind, device=self.words["device"])

    def add(self, groups: Any, values: Any) -> None:
        """Add rows; what is not there is found out by :meth:`results`, so that nothing waits for the device."""
        import torch

        totals = self.arrays
        groups = torch.as_tensor(groups).to(self.words["device"]).long()
        here = (groups >= 0) & (groups < self.groups)
        self._wrong[0] += (~here & (groups != NO_GROUP)).sum()
        label = None
        votes_here = here
        if self.of_labels:
            label = values.long()
            there = (label >= 0) & (label < self.words["classes"])
            self._wrong[1] += (~there).sum()
            here &= there
            votes_here = here
        else:
            nan = values.isnan() if self.words["binary"] else values.isnan().any(1)
            votes_here = here & ~nan
            totals["nan"].index_add_(0, torch.where(here, groups, 0), (here & nan).long())
            if "votes" in totals:
                label = (values > self.threshold).long() if self.words["binary"] else values.argmax(1)
        # Rows that are not there are added to group 0 as nothing: 0 to sums and counts, -inf to maxima.
        at = torch.where(here, groups, 0)
        one = here.long()
        totals["count"].index_add_(0, at, one)
        if "votes" in totals and label is not None:
            votes = totals["votes"]
            cell = torch.where(votes_here, at * votes.shape[1] + label, 0)
            votes.view(-1).index_add_(0, cell, votes_here.long())
        if self.of_labels:
            return
        real = real_type(self.words["device"])
        rows = values.to(real).reshape(len(values), self.words["classes"])
        if "sum" in totals:  # sorted by group, then added in order: no atomics
            totals["sum"].index_put_((at,), torch.where(here[:, None], rows, 0), accumulate=True)
        if "above" in totals:
            above = here[:, None] & (rows > self.threshold)
            totals["above"].index_put_((at,), above.to(real), accumulate=True)
        low = torch.where(here[:, None], rows, -torch.inf)
        if "max" in totals:
            totals["max"].scatter_reduce_(0, at[:, None].expand_as(low), low, "amax")
        if "tops" in totals:
            totals["tops"] = torch.cat([totals["tops"], self._tops_of(at, low)], 2).topk(self.k, 2).values

    def _tops_of(self, groups: Any, rows: Any) -> Any:
        """Return the k largest values of each group and class of these rows alone."""
        import torch

        count, classes = rows.shape
        tops = torch.full((classes, self.groups * self.k + 1), -torch.inf, dtype=rows.dtype, device=rows.device)
        falling, order = rows.t().sort(dim=1, descending=True, stable=True)
        by_group, again = groups[order].sort(dim=1, stable=True)
        falling, by_group = falling.gather(1, again), by_group.contiguous()
        first = torch.searchsorted(by_group, by_group)
        rank = torch.arange(count, device=rows.device) - first
        place = torch.where(rank < self.k, by_group * self.k + rank, self.groups * self.k)
        tops.scatter_(1, place, falling)
        return tops[:, :-1].reshape(classes, self.groups, self.k).transpose(0, 1)

    def checked(self) -> None:
        """Wait for the device. Raises InvalidArgumentError for rows of groups or classes that are not there."""
        groups, labels = self._wrong.tolist()
        if groups:
            raise invalid(f"{groups} rows were of groups that are not there; there are 0 to {self.groups - 1}")
        if labels:
            raise invalid(f"{labels} rows voted for classes that are not there; give a larger num_classes=")

    def on_cpu(self) -> Totals:
        """Return the same totals as arrays of NumPy, checked."""
        self.checked()
        made = Totals(self.groups, self.reduce, self.k, self.threshold, {**self.words, "device": "cpu"})
        for name, array in self.arrays.items():
            made.arrays[name] = array.cpu().numpy().astype(made.arrays[name].dtype, copy=False)
        return made


def real_type(device: str) -> Any:
    """Return torch's type of the sums and maxima on a device: float64 but on Apple's MPS, which does not have it."""
    import torch

    return torch.float32 if device.partition(":")[0] == "mps" else torch.float64
