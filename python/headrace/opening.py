"""open: files as one data set."""

from __future__ import annotations

import time
from collections.abc import Mapping

from headrace import _headrace
from headrace._dataset.span_table import opened_by
from headrace._dataset.spans import Spans
from headrace._support.argument_hints import OPEN_KNOBS, names_knobs
from headrace._support.checks import MOST_AXES, broadcast_choices, field_choices, path_list, whole_number
from headrace._support.logging import logger, warn
from headrace._support.progress import Progress, ProgressLine, chosen_progress
from headrace.dataset import Dataset, Fields, Paths


@names_knobs("hr.open", OPEN_KNOBS)
def open(
    paths: Paths,
    fields: Fields = None,
    *,
    sample_axes: int = 1,
    broadcast: Mapping[str, str | tuple[str, int]] | None = None,
    sample_by: str | tuple[str, int] | Spans | None = None,
    targets: Fields = None,
    nulls: str = "error",
    progress: Progress = None,
) -> Dataset:
    """Open files as one data set: the rows of all files, one after the other.

    Takes HDF5, Parquet, ``.npy`` and ``.npz`` files, Zarr stores (directories, v2 and v3) and cache directories. Reads
    metadata only (blocks on storage; the GIL is released).

    Args:
        paths: A path, a glob (``~``, ``*``, ``?``, ``[a-z]``, ``**``; ordered naturally, so ``f2`` before ``f10``),
            or a list of them, which keeps its order. The order of the files is part of the data set's identity.
        fields: Which arrays make up a sample: a dict (name in a batch → path in the file), a list of paths, or None
            for all arrays with the common number of rows in the root, or in the only group. Printing the data set
            shows the arrays that were left out, and why (:attr:`Dataset.left_out`); arrays that are more than half as
            long as the others are never left out, but refused. A compound array gives
            one field for each member, named ``"array.member"``. The array of a ``.npy`` file is named after the file,
            and goes by any name. ``"FILES::PATH"`` is an array of other files, ``fields={"x": "feature_matrix", "y":
            "labels_*.npy::labels"}``: FILES is a path or glob for one file beside each of ``paths``, in order and with
            as many rows; PATH may be empty where they have one array.
        sample_axes: How many leading axes count samples. With 3, an array of shape ``(recordings, long, short, mels,
            frames)`` has recordings x long x short samples of shape ``(mels, frames)``, in the order of
            ``reshape(-1, mels, frames)``; nothing is copied or converted for it. The fields of a file must agree in
            these extents; files may differ. Above 1, ``fields`` is needed. :meth:`Dataset.sample_index` tells where a
            sample lies along these axes.
        broadcast: Fields with one value for many samples, as name → path: the shape of ``labels`` begins as the axes of
            the samples do, with the first of them or more, and every sample below gets that value. What follows in its
            shape is the shape of the value. ``(path, axes)`` says how many of its axes are samples' axes where the
            extents alone would say more. These fields follow ``fields`` in a batch.
        sample_by: What makes a sample where it is not a row: the path of a key, whose equal values stand together
            (``"event_id"``; ``("HitData", 0)`` for a column of a matrix; whole numbers, also stored as floats, or text
            of fixed length), or :class:`headrace.Spans`. Samples then differ in length: the fields are ragged.
        targets: With ``sample_by``: fields with one row for each sample, from other arrays of the same files or, as
            ``"FILES::PATH"``, of others; or with one for each row, of which a sample gets that of its first row. They
            follow ``fields`` in a batch.
        nulls: What is done where a row of a Parquet column has no value: ``"error"`` ends the reading with the row's
            number; ``"fill"`` puts NaN there for floats, and 0 or False for all else; ``"mask"`` does the same, and
            adds a field ``"x.valid"`` of bool for each field ``x``. ``fields`` may name ``"x.valid"`` too.
        progress: Called about twenty times a second with (files open, files in all); returning False stops with a
            ClosedError. Without it, what takes longer than a second shows a line on stderr if that is a terminal;
            False: never.

    Returns:
        The data set. Ctrl-C ends the opening.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        FieldMissingError: A file has no such array; the text lists those there are, nearest name first.
        CorruptDataError: A file is truncated or damaged.
        UnsupportedError: A file or array cannot be read by this build; the text says what would help.
        InvalidArgumentError: Arrays disagree in rows or type, names clash, or an argument is of a wrong kind.
    """
    began = time.perf_counter()
    with ProgressLine("opening", "files") as line:
        call = chosen_progress(line, progress)
        axes = whole_number("sample_axes", sample_axes, least=1, most=MOST_AXES)
        choices, shared = field_choices(fields), broadcast_choices(broadcast)
        files, wanted = path_list(paths), field_choices(targets)
        dataset = Dataset(
            opened_by(
                sample_by,
                wanted,
                lambda words: _headrace.open(
                    files,
                    choices,
                    sample_axes=axes,
                    broadcast=shared,
                    sample_by=words,
                    targets=wanted,
                    nulls=nulls,
                    progress=call,
                ),
            )
        )
    logger.debug("opened in %.3f s: %s", time.perf_counter() - began, dataset)
    for path, reason, is_unknown in dataset._native.left_out():
        if is_unknown:
            warn(f"{dataset.files[0].path}: the array {path!r} is left out: {reason}")
        else:
            logger.info("left out: %s: %s", path, reason)
    for notice in dataset._native.notices():
        warn(notice)
    return dataset
