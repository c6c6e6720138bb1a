"""BatchRows: row numbers of a data set that stand for a batch which is made elsewhere."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any


class BatchRows(Sequence[int]):
    """The row numbers of one batch, in order, which a data set that is asked for them need not read."""

    @abstractmethod
    def delivered(self, dataset: object) -> Sequence[Any] | None:
        """Return the samples of the batch, as its maker delivers them; None: it is a batch of another data set."""
