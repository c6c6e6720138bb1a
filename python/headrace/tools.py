"""The command line's verbs as functions that return data."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._bench.compare import Settings, compare
from headrace._dataset.span_table import opened_by
from headrace._dataset.spans import Spans
from headrace._loader.arguments import OPTIONS
from headrace._loader.options import resolve
from headrace._support.argument_hints import LOADER_KNOBS, refuse_unknown
from headrace._support.checks import (
    field_choices,
    invalid,
    memory_bytes,
    one_of,
    path_bytes,
    path_list,
    real_number,
    whole_number,
)
from headrace._support.program import command_line
from headrace._support.progress import own_progress
from headrace.dataset import Dataset, Fields, Paths
from headrace.errors import InternalError, WriteFailedError
from headrace.loader import Loader
from headrace.opening import open
from headrace.runs import (
    Source,
    files_of,
    measured,
    open_run,
    opened,
    run_file,
    with_sizes,
    words_of,
    write_text,
)

_USAGE, _OUT_OF_RESOURCES = 2, 4  # exit statuses of the command line
ToolResult = _headrace.ToolResult
Progress = Callable[[int, int], Any]


def inspect(
    paths: Source,
    *,
    sample_by: str | tuple[str, int] | Spans | None = None,
    values: str | Sequence[str] = (),
    picture: str | None = None,
) -> ToolResult:
    """Describe files: layout, chunks, filters, bytes a sample, and which path will decode each array and why.

    Reads metadata only, but for what is asked for by name. ``print(result)`` shows one screen, ``result.to_dict()``
    gives the data.

    Args:
        paths: Files, as in :func:`headrace.open`; or a run file, a data set or a loader, whose files are described.
        sample_by: What makes a sample, as in :func:`headrace.open`, or ``"data/demo_*/actions"``: the result then tells
            how long samples are. Reads the key or the offsets.
        values: Arrays whose values are counted, in all files together: what share of the voxels each class has. Reads
            them whole, on every processor; the GIL is released.
        picture: An array whose slice in the middle is drawn: ``result.png``, bytes of a PNG.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        FieldMissingError: A file has no array of a name in ``sample_by``, ``values`` or ``picture``.
        UnsupportedError: A file is of no known format; the text says what it looks like.
        CorruptDataError: A file's metadata, or an array that is read, is damaged.
    """
    names = [values] if isinstance(values, str) else list(values)
    files = files_of("paths", paths)
    return opened_by(sample_by, (), lambda words: _headrace.inspect(files, words, names, picture or ""))


def verify(paths: Source, *, threads: int | None = None, progress: Progress | None = None) -> ToolResult:
    """Decode and check every chunk of every readable array, and list what is bad (``result.findings``).

    Blocks until done; the GIL is released. Ctrl-C stops it.

    Args:
        paths: Files, as in :func:`headrace.open`; or a run file, a data set or a loader, whose files are checked.
        threads: Decode threads. Default: as many as this process may use.
        progress: Called now and then with (bytes done, bytes in all); returning False stops with a ClosedError.

    Returns:
        What is bad, by file, array and chunk. Damage is no exception: also a file that cannot be opened is listed.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        InvalidArgumentError: ``threads`` is no number from 1 to 4096.
        ClosedError: ``progress`` returned False.
    """
    count = 0 if threads is None else whole_number("threads", threads, least=1, most=4096)
    return _headrace.verify(files_of("paths", paths), count, own_progress(progress))


def bench(
    source: Source,
    *,
    fields: Fields = None,
    epochs: int | None = None,
    max_seconds: float | None = None,
    max_batches: int | None = None,
    against: str | Sequence[str] | None = None,
    batch_sizes: Sequence[int] | None = None,
    validation: Paths | None = None,
    workers: Sequence[int] = (0, 1, 2),
    rounds: int = 3,
    baseline: str | os.PathLike[str] | None = None,
    max_slowdown: float | None = None,
    progress: Progress | None = None,
    **loader: Any,
) -> ToolResult:
    """Iterate without a consumer and report the throughput; with ``against=`` beside other ways to load the same rows.

    Blocks until done; the GIL is released. Ctrl-C stops it. With ``against``, ``batch_sizes`` or ``validation`` each
    contestant is measured in turns, in a fresh process; ``result.markdown`` is then the table, ``result.plot`` a
    picture (SVG).

    Args:
        source: A loader, a data set, a run file (``.yaml``), or files to open.
        fields: Fields to open (with files only).
        epochs: How many epochs. Default: 1; 3 where several are measured.
        max_seconds: Stop after this long. Default: no limit; 120 s in all where several are measured.
        max_batches: Cut an epoch short after so many batches.
        against: Rivals: ``"h5py"``, ``"torch"`` (``"torch-slices"`` and ``"torch-lru"``), ``"torch-rows"``. One whose
            package is absent, or that cannot load these data, is skipped, and the result says why.
        batch_sizes: Measure each of these (not with a loader).
        validation: Files to measure in file order besides (not with a loader).
        workers: Numbers of worker processes that rivals of torch are tried with; the fastest counts.
        rounds: How often each is measured.
        baseline: JSON of an earlier result, as ``to_json()`` gives it: the result names what is slower.
        max_slowdown: Percent that may be lost against the baseline before ``result.findings`` is set.
        progress: Called now and then with (samples done, samples in all), or with turns where several are measured;
            returning False stops with a ClosedError.
        **loader: Arguments of Loader (not with a loader); they go before those of a run file. Default: batches of 512,
            shuffled.

    Raises:
        InvalidArgumentError: There is no such rival, the baseline is no result of bench, or ``source`` is none of
            these.
        FileMissingError: There is no such baseline.
    """
    several = bool(against or batch_sizes or validation)
    epochs = whole_number("epochs", (3 if several else 1) if epochs is None else epochs, least=1)
    batches = 0 if max_batches is None else whole_number("max_batches", max_batches, least=1)
    slowdown = 0.0 if max_slowdown is None else real_number("max_slowdown", max_slowdown)
    base = b"" if baseline is None else path_bytes(baseline, "baseline")
    call = own_progress(progress)
    if isinstance(source, Loader) and (fields is not None or loader or batch_sizes or validation):
        raise TypeError("fields, files and loader arguments are those of the given loader already")
    with ExitStack() as stack:
        loaders = [("train", source)] if isinstance(source, Loader) else []
        if not isinstance(source, Loader):
            train, words = stack.enter_context(opened("source", source, fields, loader))
            others = None if validation is None else stack.enter_context(_validation(source, validation, fields))
            for own in [with_sizes(words, {"batch_size": size}) for size in batch_sizes or ()] or [words]:
                loaders.append(("train", stack.enter_context(Loader(train, **own))))
                if others is not None:
                    in_order = {**own, "shuffle": False, "shuffle_buffer": None}
                    loaders.append(("validation", stack.enter_context(Loader(others, **in_order))))
        if not several:
            return _headrace.bench(loaders[0][1]._native, epochs, max_seconds or 0.0, batches, base, slowdown, call)
        settings = Settings(
            against=(against,) if isinstance(against, str) else tuple(against or ()),
            workers=tuple(whole_number("workers", count, least=0, most=1024) for count in workers),
            epochs=epochs,
            rounds=whole_number("rounds", rounds, least=1),
            seconds=max_seconds or 120.0,
            num_batches=batches,
            baseline=os.fspath(baseline) if baseline is not None else "",
            max_slowdown=slowdown,
        )
        return compare(loaders, settings, call)


def _validation(source: Any, files: Paths | Dataset, fields: Fields) -> AbstractContextManager[Dataset]:
    """Return the validation data: these files, read as those of a run file are, or a data set."""
    if isinstance(files, Dataset):
        return nullcontext(files)
    run = run_file(source)
    return open(files, fields) if run is None else open_run(run, files)


def order(source: Source, *, by: str | None = None, epoch: int = 0, fields: Fields = None, **loader: Any) -> ToolResult:
    """Say how well an order mixes, what it needs in memory, and what another would change; from the plan alone.

    ``print(result)`` shows one screen with a picture of where batches come from, ``result.plot`` is that as SVG, and
    ``result.to_dict()`` the data: the design effect Deff (1: batches are as good as independent draws) for what is
    constant in a block or in a file, and for a label.

    Args:
        source: A loader, a data set, a run file (``.yaml``), or files to open.
        by: Field with a label (a number a sample, or one-hot), which is then read whole.
        epoch: Which epoch to look at.
        fields: Fields to open (with files only).
        **loader: Arguments of Loader (not with a loader); they go before those of a run file. Default: batches of 512,
            shuffled.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        FieldMissingError: There is no field ``by``.
        InvalidArgumentError: An argument is wrong; an epoch has no full batch; ``by`` is no label; or the order is not
            known beforehand, as with ``lookahead=``.
        TypeError: A loader is given, and ``fields`` or arguments of Loader besides.
    """
    epoch = whole_number("epoch", epoch, least=0)
    if isinstance(source, Loader):
        if fields is not None or loader:
            raise TypeError("fields and loader arguments are those of the given loader already")
        return source.order_report(by=by, epoch=epoch)
    with opened("source", source, fields, loader) as (dataset, words), Loader(dataset, **words) as made:
        return made.order_report(by=by, epoch=epoch)


def replay(source: Source, *, epoch: int, step: int, fields: Fields = None, **loader: Any) -> ToolResult:
    """Make a batch of any epoch again and list its rows, by file, and what its values are.

    For hunting a loss spike. ``print(result)`` shows one screen, ``result.to_dict()`` has every row, and
    ``result.findings`` says that values are not finite. The batch itself is :meth:`Loader.batch`.

    Args:
        source: A loader, a data set, a run file (``.yaml``), or files to open.
        epoch: Number of the epoch, from 0.
        step: Number of the batch, from the start of the epoch.
        fields: Fields to open (with files only).
        **loader: Arguments of Loader (not with a loader): those of the training. They go before those of a run file.

    Raises:
        InvalidArgumentError: No such batch, or an order that cannot be worked out; see :meth:`Loader.batch`.
    """
    if isinstance(source, Loader):
        if fields is not None or loader:
            raise TypeError("fields and loader arguments are those of the given loader already")
        return source._replay(epoch, step)
    with opened("source", source, fields, loader, {}) as (dataset, words), Loader(dataset, **words) as made:
        return made._replay(epoch, step)


def cache_build(
    paths: Paths,
    to: str | os.PathLike[str],
    *,
    fields: Fields = None,
    threads: int | None = None,
    memory: int | str | None = None,
    progress: Progress | None = None,
) -> ToolResult:
    """Decode files once, into a cache directory that ``Loader(cache=to)`` maps. Blocks until done; Ctrl-C stops it.

    Args:
        paths: Files, as in :func:`headrace.open`.
        to: The directory; made if need be.
        fields: Fields to open.
        threads: Decode threads. Default: as many as this process may use.
        memory: Bytes to hold while it works.
        progress: Called now and then with (blocks done, blocks in all); returning False stops with a ClosedError.

    Raises:
        WriteFailedError: The directory cannot be written, or has no room.
        CorruptDataError: A block of the files is damaged.
    """
    folder = os.fsdecode(path_bytes(to, "to"))
    if not folder:
        raise invalid("to is empty: name the directory of the cache")
    call = own_progress(progress)
    with open(paths, fields) as dataset:
        loader = Loader(dataset, batch_size=512, cache=Path(folder), threads=threads, memory=memory)
        return _headrace.cache_build(loader._native, call)


def cache_list(directory: str | os.PathLike[str] | None = None) -> ToolResult:
    """List the caches of decoded rows in a directory: what they hold, of which files, and whether they can be used.

    Reads no rows. ``result.findings`` if a source has changed or a build was abandoned, ``result.bad_data`` if files
    of a cache are damaged. Without a directory it lists the data sets that are remembered since they were opened
    (``HEADRACE_CACHE``, by default ``~/.cache/headrace``).

    Raises:
        FileMissingError: There is no such directory, or remembering is switched off.
    """
    return _headrace.cache_list(b"" if directory is None else path_bytes(directory))


def cache_verify(
    directory: str | os.PathLike[str], name: str | None = None, *, progress: Progress | None = None
) -> ToolResult:
    """Compare every row of a cache with its checksums (``result.bad_data``). Blocks until done; Ctrl-C stops it.

    Args:
        directory: A directory of caches.
        name: One of them, as in the list. Default: all.
        progress: Called now and then with (bytes done, bytes in all); returning False stops with a ClosedError.

    Raises:
        FileMissingError: There is no such directory or cache.
    """
    return _headrace.cache_verify(path_bytes(directory), name or "", own_progress(progress))


def cache_remove(directory: str | os.PathLike[str] | None, name: str) -> ToolResult:
    """Delete a cache, or what a killed process left of one. Processes that have it open can keep reading.

    Args:
        directory: A directory of caches of decoded rows. None: what is remembered of data sets that were opened
            (``HEADRACE_CACHE``, by default ``~/.cache/headrace``); the next opening of that one reads its files again.
        name: One of them, as :func:`cache_list` lists it.

    Returns:
        What was removed, and how many bytes that frees.

    Raises:
        FileMissingError: There is no such directory or cache.
        InvalidArgumentError: A process is filling it.
    """
    return _headrace.cache_remove(b"" if directory is None else path_bytes(directory), name)


def rewrite(
    paths: Paths,
    to: str | os.PathLike[str],
    *,
    codec: str = "auto",
    chunk_rows: int | None = None,
    shuffle: bool = False,
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ToolResult:
    """Write HDF5 and ``.npy`` files anew, in chunks and with a codec that load faster, into another directory.

    Groups, attributes, types, shapes and values stay as they are; every row is compared with its source before a file
    gets its name. A call that was killed leaves no half-written file under such a name, and the same call goes on
    where it stopped. ``print(result)`` shows cost, gain and what was done. Blocks until done; Ctrl-C stops it.

    Args:
        paths: Files, as in :func:`headrace.open`.
        to: Directory of the new files, which get the names of the old ones; made if need be.
        codec: ``"lz4"``, ``"zstd"``, ``"blosc"``, ``"gzip"``, ``"none"``, or ``"auto"``: chosen from a measurement.
        chunk_rows: Rows of a chunk. Default: as many as make about 2 MiB in the largest array.
        shuffle: Write the rows of all files in a random order, the same for all arrays.
        seed: Seed of that order.
        threads: How many threads work. Default: as many as this process may use.
        memory: Bytes to hold while it works. Default: what the process's budget has free.
        dry_run: Say what it would cost and gain, and write nothing.
        progress: Called now and then with (bytes done, bytes in all); returning False stops with a ClosedError.

    Raises:
        InvalidArgumentError: An output exists and is another file, or is one of the sources.
        WriteFailedError: There is no room, or the disk fails.
        CorruptDataError: A source is damaged, or what was written is not what was read.
    """
    one_of("codec", codec, ("auto", "lz4", "zstd", "blosc", "gzip", "none"))
    return _headrace.rewrite(
        path_list(paths),
        path_bytes(to, "to"),
        codec,
        0 if chunk_rows is None else whole_number("chunk_rows", chunk_rows, least=1, most=2**32),
        bool(shuffle),
        whole_number("seed", seed, least=0),
        0 if threads is None else whole_number("threads", threads, least=1, most=4096),
        0 if memory is None else memory_bytes("memory", memory),
        bool(dry_run),
        own_progress(progress),
    )


def advise(
    paths: Source,
    *,
    fields: Fields = None,
    target: float | str | None = None,
    epochs: int | None = None,
    write: str | os.PathLike[str] | None = None,
    **loader: Any,
) -> ToolResult:
    """Say which settings suit this machine and these files, and why; measures for 2 s, or more where files answer late.

    ``print(result)`` shows one screen, ``result.to_dict()`` gives the data, ``result.run_file`` the settings as the
    text of a run file with the reasons as comments. The GIL is released.

    Args:
        paths: Files, as in :func:`headrace.open`, a data set, a run file (``.yaml``), or a loader: its arguments are
            then settled already, but for what is advised.
        fields: Fields to open (with files only).
        target: Samples per second that the training needs, as a number or text (``"20000/s"``, ``"20k/s"``).
        epochs: Epochs of the training: a cache must pay in these. Default: 10 are assumed, and the advice says so.
        write: Write the run file there.
        **loader: Arguments of Loader that are settled already; they go before those of a run file or a loader.
            Default: batches of 512, shuffled.

    Raises:
        OutOfBudgetError: One batch and one block do not fit; the text names the smallest budget that would do.
        InvalidArgumentError: An argument is wrong, or the loader has a ``sampler=`` of its own.
        WriteFailedError: The run file cannot be written there.
    """
    wanted = "" if target is None else str(target)
    count = 0 if epochs is None else whole_number("epochs", epochs, least=1)
    data, words = measured("paths", paths, fields, loader)
    to = None if write is None else Path(os.fsdecode(path_bytes(write, "write")))
    result = _headrace.advise(data, field_choices(fields), _settled(words), wanted, count)
    if to is not None:
        write_text(to, result.run_file)
    return result


def check_memory(
    data: Source, *, fields: Fields = None, machine_memory: int | str | None = None, **loader: Any
) -> ToolResult:
    """Say whether a loader of these settings fits into memory here, and which limit decides; from metadata alone.

    ``print(result)`` shows one screen: every limit (machine, control groups, ulimit), the predicted peak by component
    and three presets. ``result.exit_status`` is 0 if it fits, 10 if it is tight (above 70 % of what is really
    available), 11 if the process would be killed (above 90 %) or the loader cannot be made.

    Args:
        data: Files, as in :func:`headrace.open`, a run file (``.yaml``), a loader, or a data set: its transforms count,
            since it is what they make that is held. Functions of Python in its :meth:`~headrace.Dataset.map` do not.
        fields: Fields to open (with files only).
        machine_memory: Memory of another machine to judge by (``"64GiB"``), taken as free. Default: this machine.
        **loader: Arguments of Loader. Default: batches of 512, shuffled. ``memory`` is taken as if
            :func:`headrace.set_memory` had allowed it.

    Raises:
        InvalidArgumentError: An argument is wrong, or the loader has a ``sampler=`` of its own.
    """
    machine = 0 if machine_memory is None else memory_bytes("machine_memory", machine_memory)
    if isinstance(data, Loader):
        dataset, words = data.dataset, words_of(data, loader)
        return _headrace.check_memory(dataset._native, _settled(words), machine)
    with opened("data", data, fields, loader) as (dataset, words):
        return _headrace.check_memory(dataset._native, _settled(words), machine)


def _settled(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments of Loader, checked, with the defaults of Loader for what is not given."""
    for name in ("sampler", "batch_sampler", "lookahead"):
        if given.get(name) is not None:
            raise invalid(f"{name}= gives an order that is not known before it runs", "Leave it out.")
    refuse_unknown("Loader", given, OPTIONS, LOADER_KNOBS)
    return resolve(given)


def demo(out: str | os.PathLike[str], *, kind: str = "jets", jets: int | None = None, seed: int | None = None) -> Any:
    """Write HDF5 files like those of JetClass into a directory, as ``headrace demo`` does, and return its summary.

    Runs the command line of this installation in a process of its own, and blocks until it has ended.

    Args:
        out: Directory for the files ``train_*.h5``.
        kind: What to write.
        jets: How many samples, over all files.
        seed: Equal seeds give equal files.

    Raises:
        InvalidArgumentError: There is no such kind, or a number is out of range.
        WriteFailedError: The files cannot be written.
        InternalError: The program failed otherwise; the text is what it wrote.
    """
    one_of("kind", kind, ("jets",))
    command = [os.fspath(command_line()), "demo", "--out", os.fspath(out), "--kind", kind, "--json", "--quiet"]
    command += [] if jets is None else ["--jets", str(whole_number("jets", jets, least=1))]
    command += [] if seed is None else ["--seed", str(whole_number("seed", seed, least=0))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        text = done.stderr.strip().removeprefix("error: ") or f"headrace demo ended with status {done.returncode}"
        if done.returncode == _USAGE:
            raise invalid(text, "`headrace demo --help` says what can be asked for.")
        raise WriteFailedError(text) if done.returncode == _OUT_OF_RESOURCES else InternalError(text)
    return json.loads(done.stdout)


def show_versions() -> None:
    """Print the versions of Headrace, of the libraries it runs on, and of Python: what a bug report needs."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, **_headrace.versions()}
    width = max(map(len, versions))
    print("\n".join(f"{name:<{width}}  {version}" for name, version in versions.items()))
