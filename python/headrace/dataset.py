"""Dataset: what a sample is. Opening reads metadata only; rows are read when asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import Any, overload

import numpy as np

from headrace import _headrace
from headrace._dataset.attributes import Attributes
from headrace._dataset.batch_rows import BatchRows
from headrace._dataset.functions import ColumnFunction, apply, name_of, rows_of
from headrace._dataset.index import is_row_number, row_number, row_numbers
from headrace._dataset.join import Table, join_of
from headrace._dataset.ragged import sample
from headrace._dataset.space import TURNS, Boxes, check_turned
from headrace._support.checks import engine_text, invalid, one_of, split_shares, whole_number
from headrace._support.display import dataset_html
from headrace._support.logging import warn
from headrace.column import Column
from headrace.errors import ClosedError
from headrace.fields import FieldInfo, FileInfo, field_info
from headrace.stats import Stats
from headrace.transforms import SpecAugment, Transform

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Fields = Mapping[str, str] | Sequence[str] | None
Sample = dict[str, Any]
_FAR_SHARE = 0.03  # of a part from what was asked for: worth a word


class Dataset:
    """The samples of one or more files, by number. Made by :func:`headrace.open`.

    ``ds[5]`` and ``ds[-1]`` are samples: a dict with one array for each field, of that field's ``shape`` (a NumPy
    scalar where the shape is empty). ``ds[100:200]``, ``ds[::10]``, ``ds[[7, 3, 3]]`` and ``ds[mask]`` are several:
    arrays of shape ``(n, *shape)``, in the order asked for. ``ds["x"]`` is a column that is read when sliced. Iterating
    yields samples and reads block by block. Arrays are the caller's own and writable; dtypes are as stored, in native
    byte order.

    Use as a context manager or call :meth:`close`; it is also closed when nothing refers to it. Pickles as its recipe
    (absolute paths, fields, selections, proportions), and opens the files again on first use. May be used from any
    thread. Reading blocks; the GIL is released meanwhile.
    """

    def __init__(
        self,
        opened: _headrace.Dataset | None,
        recipe: bytes = b"",
        functions: tuple[ColumnFunction, ...] = (),
        boxes: Boxes = MappingProxyType({}),
    ) -> None:
        """Use :func:`headrace.open`."""
        self._opened = opened
        self._functions = functions  # of map(), after the engine's transforms
        self._boxes = boxes  # of volumes
        self._recipe = recipe  # of a pickled data set, for the first use
        self._columns: dict[str, Dataset] = {}
        self._closed = False

    @property
    def _native(self) -> _headrace.Dataset:
        if self._opened is None:
            if self._closed:
                raise ClosedError("the data set was closed")
            self._opened = _headrace.open_recipe(self._recipe)
        return self._opened

    def __len__(self) -> int:
        return len(self._native)

    @property
    def fields(self) -> Mapping[str, FieldInfo]:
        """Type, shape and storage of each field by its name (a :class:`FieldInfo`), in the order of a batch."""
        return MappingProxyType({entry["name"]: field_info(entry) for entry in self._native.fields()})

    @property
    def attrs(self) -> Mapping[str, Attributes]:
        """Attributes of each field's array by the field's name: ``ds.attrs["x"]["units"]``.

        An :class:`Attributes` is a dict of what all files agree in; its ``left_out`` says what is not in it, and why.
        """
        native = self._native
        return MappingProxyType({name: Attributes(*native.attributes(i)) for i, name in enumerate(self.fields)})

    @property
    def file_attrs(self) -> Attributes:
        """Attributes of the files as a whole (in HDF5, of the root group) that all files agree in.

        Empty for a mixture.
        """
        return Attributes(*self._native.file_attributes())

    @property
    def left_out(self) -> Mapping[str, str]:
        """Path → reason, of the arrays of the first file that are no fields because ``open`` had no ``fields=``.

        Empty where fields were chosen, and in a data set that was unpickled, which names its fields.
        """
        return MappingProxyType({path: reason for path, reason, _ in self._native.left_out()})

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """Path and number of rows of each file, in order."""
        return tuple(FileInfo(os.fsdecode(path), rows) for path, rows in self._native.files())

    @property
    def sample_bytes(self) -> int:
        """Number of bytes of a sample, over all fields."""
        return self._native.sample_bytes()

    @overload
    def __getitem__(self, key: str) -> Column: ...
    @overload
    def __getitem__(self, key: Any) -> Sample: ...
    def __getitem__(self, key: Any) -> Column | Sample:
        """Read one sample or several, or name a column. Blocks while it reads; the GIL is released meanwhile.

        Args:
            key: A whole number (negative ones count from the end): one sample. A slice, a list or an array of whole
                numbers in any order, or a mask with one value a row: several. The name of a field: its :class:`Column`,
                of which nothing is read yet.

        Returns:
            Name → array for each field: of the field's ``shape`` for one sample (a NumPy scalar where that is empty),
            of ``(n, *shape)`` for several. Arrays are the caller's own.

        Raises:
            IndexOutOfRangeError: A row does not exist, or the mask has another length (also an IndexError).
            FieldMissingError: There is no such field (also a KeyError).
            InvalidArgumentError: A field is named, and samples go through a Python function of :meth:`map`.
            TypeError: The key is none of these, such as a tuple.
            CorruptDataError: A chunk is damaged.
            ReadFailedError: The system's error.
            ClosedError: The data set was closed.
        """
        if isinstance(key, str):
            return self._column(key)
        native = self._native
        total = len(native)
        if is_row_number(key):
            return sample(self._mapped(native.rows(row_number(key, total), 1)), 0)
        if isinstance(key, slice):
            first, stop, step = key.indices(total)
            if step == 1:
                return self._mapped(native.rows(first, max(0, stop - first)))
        return self._mapped(native.take(row_numbers(key, total)))

    def _mapped(self, columns: Sample) -> Sample:
        return apply(self._functions, columns, rows_of(columns), "rows by number") if self._functions else columns

    def __getitems__(self, rows: Sequence[int]) -> Sequence[Sample]:
        """Return several samples, each block decoded once: what torch's DataLoader asks for instead of one by one."""
        if isinstance(rows, BatchRows) and (delivered := rows.delivered(self)) is not None:
            return delivered
        columns = self[list(rows)]
        return [sample(columns, i) for i in range(len(rows))]

    def __iter__(self) -> Iterator[Sample]:
        """Yield each sample in order, as ``ds[i]`` gives it. Reads block by block, each once; raises what that raises.

        Samples of a block share its memory: copy what is to outlive the others.
        """
        native = self._native
        total, first = len(native), 0
        while first < total:
            end = native.block_end(first)
            block = self._mapped(native.rows(first, end - first))
            for i in range(end - first):
                yield sample(block, i)
            first = end

    def select(self, rows: Any) -> Dataset:
        """Return a data set of these rows alone.

        They keep the order of the files and are numbered anew. Takes a quarter of a byte for each row of the files, and
        reads nothing. A loader decodes the whole blocks that hold selected rows: see the line ``selection`` of its
        :meth:`Loader.explain`.

        Args:
            rows: A mask with one value a row, a slice, or ascending row numbers (sort them, each once; negative ones
                count from the end). For repeats or an order of your own: ``Loader(sampler=)``.

        Raises:
            InvalidArgumentError: No row, or row numbers that do not ascend.
            IndexOutOfRangeError: A row does not exist, or the mask has another length.
        """
        return Dataset(self._native.select(row_numbers(rows, len(self))), functions=self._functions, boxes=self._boxes)

    def map(self, *transforms: Transform | ColumnFunction) -> Dataset:
        """Return a data set whose samples go through these transforms, one after the other.

        They run in C++ on the loader's threads, where possible while rows are copied into the batch; also for
        ``ds[rows]``. Nothing is read now. Fields that are made replace those of their name; others follow. Columns that
        no field needs any more are not read.

        Args:
            *transforms: Transforms of :mod:`headrace.transforms`; after them, functions. A function gets a dict, name →
                column of a whole batch (what the loader delivers: arrays, or tensors with ``framework="torch"``), and
                returns one; it runs in the thread that takes the batch, and the report says what that costs. It may
                keep and change what it gets.

        Raises:
            InvalidArgumentError: A transform cannot take its fields' types or shapes, or one of its settings, or would
                turn an axis that may be one of channels.
            FieldMissingError: A transform names a field that there is not.
        """
        native, functions = [], self._functions
        for transform in transforms:
            if isinstance(transform, Transform):
                if functions:
                    raise invalid(
                        f"{transform.name} comes after the Python function {name_of(functions[-1])}",
                        "Transforms run before functions: name them first.",
                    )
                native.append(transform._for_engine())
            elif callable(transform) and not isinstance(transform, type):
                functions = (*functions, transform)
            else:
                raise invalid(
                    f"map takes transforms and functions, not {transform!r}",
                    "See headrace.transforms for those there are.",
                )
        made = self._native.map(native)
        for place, transform in enumerate(transforms[: len(native)]):
            if isinstance(transform, (SpecAugment, *TURNS)):
                before = (self._native.map(native[:place]) if place else self._native).fields()
                if isinstance(transform, SpecAugment):
                    [shape] = [entry["shape"] for entry in before if entry["name"] == transform.fields[0]]
                    transform.check_shape(tuple(shape))
                else:
                    check_turned(transform, before, self._boxes)
        return Dataset(made, functions=functions, boxes=self._boxes)

    def join(
        self,
        table: Table,
        on: str,
        fields: Sequence[str],
        *,
        key: str | None = None,
        otherwise: float | None = None,
    ) -> Dataset:
        """Return a data set with fields out of a table, by a number that each row has.

        For example ``events.join("sensor_geometry.csv", on="sensor_id", fields=["x", "y", "z"])``: each pulse gets the
        position of its sensor. The table is read now and kept in memory (and in pickles and recipes); rows are looked
        up in C++ on the loader's threads, also those of ragged fields. The fields follow the others, or replace those
        of their name; they have the table's types.

        Args:
            table: A path or glob: ``.csv`` with the names of its columns in the first line, or any files that
                :func:`open` takes. Or a :class:`Dataset`, or a mapping of names to columns, such as a dict of arrays, a
                data frame of pandas or a table of Arrow.
            on: Field of whole numbers that tells a row of the table.
            fields: Columns of the table.
            key: The table's column of such numbers, each once; None: that of the name of ``on``.
            otherwise: What numbers have that are not in the table; None: they are an error (CorruptDataError, at the
                batch that has the row).

        Raises:
            FieldMissingError: There is no such field or column.
            InvalidArgumentError: A key is there twice, or is no whole number; columns that are no numbers; a CSV file
                with numbers that would be rounded, or that is no regular file.
            OutOfBudgetError: The process gets no memory for the table.
        """
        return self.map(join_of(table, on, fields, key, otherwise))

    def windows(
        self,
        length: int,
        *,
        stride: int | None = None,
        lookahead: int = 0,
        across_files: bool = False,
        rest: str = "drop",
    ) -> Dataset:
        """Return a data set whose samples are runs of consecutive rows: ``tokens.windows(1024, lookahead=1)``.

        For long arrays: tokens of a text, a signal, a series. Fields have the shape ``(length + lookahead, *row)``.
        Reads nothing, and makes no list of windows. Loaders, ``select``, ``split``, :func:`headrace.mix` and run files
        take windows as they take rows.

        Args:
            length: Rows from the start of a window to its end, apart from ``lookahead``.
            stride: Rows from the start of a window to that of the next one; default: ``length``, so that each row is in
                one window, apart from ``lookahead``.
            lookahead: Rows that follow in each window. With 1, a window of tokens holds what a language model is to
                predict: ``x, y = w[:, :-1], w[:, 1:]``.
            across_files: True: the rows of all files are one run, and windows go on from one file to the next.
            rest: ``"drop"``: rows at a file's end that fill no window are left out.

        Raises:
            InvalidArgumentError: A length or stride of 0, or no window fits.
            UnsupportedError: Of selected, mixed or transformed rows, or of samples along several axes.
        """
        one_of("rest", rest, ("drop",))
        if self._functions:
            raise invalid(f"windows of rows that {name_of(self._functions[0])} changes", "Make windows, then map them.")
        native = self._native.apply(
            "windows", length=length, stride=stride, lookahead=lookahead, across_files=across_files
        )
        for notice in native.notices():
            warn(notice)
        return Dataset(native)

    def split(
        self,
        parts: Mapping[str, float],
        *,
        seed: int = 0,
        stratify: str | None = None,
        by: str | int | None = None,
    ) -> dict[str, Dataset]:
        """Split into data sets that share no row: ``jets.split({"train": 0.8, "val": 0.2}, seed=1)``.

        Chosen at random, but the same for the same seed, on every machine. Reads nothing, except for ``stratify``.

        Args:
            parts: Name → share of the rows, together at most 1; what is missing to 1 is left out.
            seed: Another seed gives another split.
            stratify: Field with a class a sample (or one-hot): every part gets its share of each class. It is read
                whole.
            by: ``"row"``: samples are drawn one by one, and shares are exact to one. ``"file"``: whole files, so that
                what belongs together (an event, a patient) never lies in two parts, and no block is decoded for both;
                shares as near as files allow. ``"run"``: each part is one run of samples that follow each other, around
                a circle that the seed turns; windows at its end that reach into the next part are left out. A
                number: whole recordings, the samples of one place along the axes up to that one of
                ``open(sample_axes=)`` (0: the first). Any other text is a field, read whole: samples with an equal
                value stay together, wherever they lie (an event, a patient); one that is named ``run`` needs another
                name. Default: ``"run"`` where samples overlap (:meth:`windows`), else ``"row"``.

        Returns:
            Name → data set, in the order of ``parts``.

        Raises:
            InvalidArgumentError: Shares that are no shares, a part that would be empty, a field without classes.
        """
        if stratify is not None:
            engine_text("stratify", stratify)
        shares = split_shares(parts)
        if by is None:
            by = "auto"
        elif not isinstance(by, str):
            by = str(whole_number("by", by, least=0))
        made = self._native.split(
            list(shares.values()),
            whole_number("seed", seed, least=0),
            stratify or "",
            engine_text("by", by),
            list(shares),
        )
        functions, boxes = self._functions, self._boxes
        split = {name: Dataset(part, b"", functions, boxes) for name, part in zip(shares, made, strict=True)}
        far = [name for name, part in split.items() if abs(len(part) / len(self) - shares[name]) > _FAR_SHARE]
        if by not in ("auto", "row", "run") and far:
            got = ", ".join(f"{name} {len(split[name]) / len(self):.0%} instead of {shares[name]:.0%}" for name in far)
            warn(f"whole {'files' if by == 'file' else 'groups'} do not make these shares: {got}; more of them would")
        return split

    @property
    def selected_rows(self) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Number of each row among all rows of all files: the rows that :meth:`select` or :meth:`split` left.

        ``uint64`` of shape ``(len(dataset),)``, ascending, from 0; an array of the caller's own.
        """
        rows: np.ndarray[Any, np.dtype[np.uint64]] = self._native.selected_rows()
        return rows

    def lengths(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return how many rows each sample has in the fields that are ragged: ``events.select(events.lengths() > 4)``.

        From the index: nothing is read.

        Returns:
            ``int64`` of shape ``(len(dataset),)``, an array of the caller's own.

        Raises:
            InvalidArgumentError: No field is ragged.
        """
        lengths: np.ndarray[Any, np.dtype[np.int64]] = self._native.lengths()
        return lengths

    def stats(self, field: str, where: str | None = None, *, threads: int | None = None) -> Stats:
        """Return the mean, standard deviation and range: ``mean, std = jets.stats("x", where="x[..., 0] != 0")``.

        One number for each entry of the field's last axis, over all samples and all other axes; a field without axes
        is one number. So is an array of patches: each voxel that some patch has counts once, and every voxel of the
        volumes where patches are drawn. Reads the field once, in double precision, on all threads; the result does not
        depend on their number. It is kept in the user's cache directory (``HEADRACE_CACHE``) and found again at once,
        as long as no file has changed. NaNs and infinities are left out, counted and warned about. Blocks; the GIL is
        released; Ctrl-C stops it.

        Args:
            field: Name of a field of integers, booleans or floating-point numbers.
            where: Which values are taken: comparisons (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``) of the field with
                numbers, joined with ``and``, ``or`` and parentheses. ``x[..., 0]`` is entry 0 of the last axis, and
                decides for all entries beside it (here: particles whose first feature is not the padding's 0); ``x`` is
                every value for itself. Numbers are rounded to the field's type first, as NumPy does. None: every value.
                The text is only read as such comparisons and never run.
            threads: None: one for each CPU.

        Raises:
            FieldMissingError: There is no such field.
            UnsupportedError: Its values are no real numbers, or the data set is a mixture, or has transforms.
            InvalidArgumentError: ``where`` makes no sense, or takes no finite value of some feature, or samples go
                through a Python function.
        """
        field = engine_text("field", field)
        if where is not None and not engine_text("where", where).strip():
            raise invalid(f"where must be text such as '{field}[..., 0] != 0', or None, not {where!r}")
        self._need_no_function("statistics", "Ask the data set before map(): statistics are of what the files hold.")
        found = Stats(
            **self._native.stats(
                field, where or "", 0 if threads is None else whole_number("threads", threads, least=1, most=1024)
            )
        )
        left_out = int(found.nan_count.sum() + found.inf_count.sum())
        if left_out:
            warn(f"stats of {field!r} leave out {left_out} values that are NaN or infinite: see .nan_count, .inf_count")
        return found

    @property
    def sample_shape(self) -> tuple[tuple[int, ...], ...]:
        """Extents of the axes that count samples, a tuple for each file: ``((7913, 79, 3),)``.

        As many numbers as ``open(sample_axes=)`` says; their product is the number of samples in the file, selected or
        not.
        """
        return tuple(self._native.sample_shapes())

    def sample_index(self, rows: Any = None) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return where samples lie along the axes of :attr:`sample_shape`: int64 of shape ``(n, sample_axes)``.

        With ``sample_axes=3``, row i is (recording, long, short) of sample ``rows[i]``. The first column counts through
        all files, recordings of the first file, then of the second, so it is a group number that tells recordings
        apart; the other columns count within the recording. Reads nothing.

        Args:
            rows: Sample numbers, a mask or a slice; None: all samples, in order.

        Raises:
            IndexOutOfRangeError: A sample does not exist.
            InvalidArgumentError: The parts of a mixture have different numbers of axes.
        """
        wanted = row_numbers(slice(None) if rows is None else rows, len(self))
        index: np.ndarray[Any, np.dtype[np.int64]] = self._native.sample_index(wanted)
        return index

    def _need_no_function(self, what: str, advice: str) -> None:
        if self._functions:
            name = name_of(self._functions[0])
            raise invalid(f"the samples go through a Python function ({name}), which {what} would leave out", advice)

    def _column(self, name: str) -> Column:
        self._need_no_function("a column", f"Take rows: ds[0:100][{name!r}].")
        if name not in self._columns:
            self._columns[name] = Dataset(self._native.choose([name]))  # the engine's error lists the names there are
        one = self._columns[name]
        return Column(one, one.fields[name], one.attrs[name])

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self._closed

    def close(self) -> None:
        """Close the files. Later reads raise :class:`ClosedError`; loaders made from it go on. May be called twice."""
        self._closed = True
        if self._opened is not None:
            self._opened.close()
        for column in self._columns.values():
            column.close()

    def __enter__(self) -> Dataset:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self.closed:
            raise ClosedError("a closed data set cannot be pickled")
        recipe = self._recipe if self._opened is None else self._opened.recipe()
        return Dataset, (None, recipe, self._functions, *([dict(self._boxes)] if self._boxes else []))

    def __repr__(self) -> str:
        return "<headrace.Dataset, closed>" if self.closed else self._native.describe()

    def _repr_html_(self) -> str:
        return dataset_html(self)
