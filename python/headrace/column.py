"""Column: one field of a data set, read when sliced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from headrace._dataset.attributes import Attributes
from headrace._dataset.index import is_row_number
from headrace._support.checks import invalid
from headrace.fields import FieldInfo


class _Samples(Protocol):
    """What a column uses of the :class:`Dataset` that has its field alone."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Mapping[str, Any]]: ...
    def __getitem__(self, rows: Any, /) -> Mapping[str, Any]: ...


class Column:
    """One field over all rows, like an h5py dataset: nothing is read before it is sliced.

    The first index chooses rows, in every way that ``Dataset`` understands. Further ones are applied to the array that
    was read, as NumPy does: ``column[rows, 2:5, 0]``. So two lists among them pair up: ``column[:, [0, 1], [2, 3]]``
    has the entries (0, 2) and (1, 3) of each row. A list of rows does not pair with them, as it would in NumPy. Whole
    rows are read, whatever the further indices are. ``np.asarray(column)`` reads everything.

    Blocks while it reads; the GIL is released meanwhile.

    Attributes:
        info: Type, shape and storage of the field.
        attrs: Attributes of the field's array that all files agree in (see :attr:`Dataset.attrs`).
    """

    def __init__(self, dataset: _Samples, info: FieldInfo, attrs: Attributes) -> None:
        self._dataset = dataset
        self.info = info
        self.attrs = attrs

    @property
    def name(self) -> str:
        """Name of the field."""
        return self.info.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the whole column: ``(rows, *shape of a sample)``. A ragged one has none."""
        self._check_dense("has a shape")
        return (len(self._dataset), *self.info.shape)

    @property
    def ndim(self) -> int:
        """Number of axes, rows included."""
        self._check_dense("has axes")
        return 1 + len(self.info.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the values."""
        return self.info.dtype

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, key: Any) -> Any:
        """Read rows, or parts of them. Blocks while it reads.

        Args:
            key: Rows, as :class:`Dataset` takes them; or a tuple of them and of further indices, which are those of
                NumPy for the axes behind: ``column[10:20]``, ``column[[7, 3], ..., 0]``.

        Returns:
            An array of the caller's own, of shape ``(n, *shape)`` before further indices; without the first axis where
            one row is named.

        Raises:
            IndexOutOfRangeError: A row does not exist, or a mask has another length.
            IndexError: A further index is out of range.
            InvalidArgumentError: A text as index; several samples, or parts of one, of a ragged field.
            CorruptDataError: A chunk is damaged.
            ClosedError: The data set was closed.
        """
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) and key else (key, ())
        if first is Ellipsis or (isinstance(first, tuple) and not first):
            first = slice(None)
            rest = (Ellipsis, *rest) if rest else ()
        if self.info.ragged and not (is_row_number(first) and not rest):
            self._check_dense("is an array")
        if isinstance(first, str):
            raise invalid(f"column {self.name!r} is indexed by rows, not by {first!r}")
        values = self._dataset[first][self.name]
        if not rest:
            return values
        whole_row = np.ndim(first) == 0 and not isinstance(first, slice)
        return values[rest] if whole_row else values[(slice(None), *rest)]

    def _check_dense(self, what: str) -> None:
        if self.info.ragged:
            raise invalid(
                f"{self.name!r} is ragged: its samples differ in length, and no column of it {what}",
                f"Take one sample, column[i]; or several of the data set: ds[i:j][{self.name!r}] has their rows and "
                f"ds[i:j][{self.name + '.offsets'!r}] where each begins.",
            )

    def __iter__(self) -> Iterator[Any]:
        """Yield the value of each row, of the field's ``shape``, in order. Reads block by block, each once."""
        return (sample[self.name] for sample in self._dataset)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a column must be read from its file: copy=False is not possible")
        return np.asarray(self[:], dtype=dtype)

    def __repr__(self) -> str:
        if self.info.ragged:
            return f"<headrace.Column {self.name!r}: {len(self)} samples of any length, dtype {self.dtype}>"
        return f"<headrace.Column {self.name!r}: shape {self.shape}, dtype {self.dtype}>"
