"""Run files: how a data set is made and how it is delivered, as a file of YAML."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headrace import _headrace
from headrace._dataset.functions import name_of
from headrace._support.checks import brief, invalid, path_bytes, path_list
from headrace._support.logging import warn
from headrace.dataset import Dataset, Fields, Paths
from headrace.errors import WriteFailedError
from headrace.loader import Loader
from headrace.opening import open

#: What tools take: a loader, a data set, a run file, or files.
Source = Loader | Dataset | Paths

#: What says how many samples a batch has: one of these.
_DEFAULTS: Mapping[str, Any] = MappingProxyType({"batch_size": 512, "shuffle": True})


def open_run(path: str | os.PathLike[str], files: Paths | None = None) -> Dataset:
    """Return the data set that a run file describes; of ``files`` where they are given."""
    native = _headrace.open_run(path_bytes(path), path_list(files) if files is not None else [])
    for notice in native.notices():
        warn(notice)
    return Dataset(native)


def load_run(path: str | os.PathLike[str], **loader: Any) -> Loader:
    """Make the loader that a run file describes (the same words as the arguments, in YAML).

    Args:
        path: The run file.
        **loader: Arguments of Loader that go before those of the run file.

    Raises:
        FileMissingError: There is no such file.
        InvalidArgumentError: A key or value is wrong; an unknown key names the nearest one.
    """
    run = _expanded(path)
    options = with_sizes(_headrace.load_run(path_bytes(run)), loader)
    return Loader(open_run(run), **options)


def _expanded(path: str | os.PathLike[str]) -> Path:
    return Path(os.fsdecode(path_bytes(path))).expanduser()


def with_sizes(words: Mapping[str, Any], loader: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of Loader with others over them; what those exclude gives way."""
    values = {"shuffle", "cache"}  # by which it is told what gives way
    given = {name: value if name in values else True for name, value in loader.items() if value is not None}
    replaced = _headrace.options_replaced_by(given)
    return {**{name: value for name, value in words.items() if name not in replaced}, **loader}


def run_file(source: Any) -> Path | None:
    """Return the path of a run file, if that is what is given."""
    if not isinstance(source, (str, bytes, os.PathLike)):
        return None
    path = Path(os.fsdecode(source)).expanduser()
    return path if path.suffix in (".yaml", ".yml") else None


def words_of(loader: Loader, others: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a loader with others over them.

    Raises:
        InvalidArgumentError: It has a sampler.
    """
    if loader._order is not None:
        raise invalid("the loader has a sampler, an order that is not known before it runs", "Leave it out.")
    device = loader._device if loader._delivery is not None else "cpu"
    return with_sizes({**loader._options, "device": device}, others)


@contextmanager
def opened(
    name: str,
    source: Dataset | Paths,
    fields: Fields,
    loader: Mapping[str, Any],
    defaults: Mapping[str, Any] = _DEFAULTS,
) -> Iterator[tuple[Dataset, dict[str, Any]]]:
    """Open what a tool was given, for as long as it works.

    Args:
        name: The argument's name.
        source: A data set, which stays open; a run file, or files.
        fields: Fields to open, of files.
        loader: Arguments of Loader that were given.
        defaults: Those that hold where neither they nor a run file say so.

    Yields:
        The data set and the arguments of Loader.

    Raises:
        InvalidArgumentError: Fields are given with what has its own.
    """
    run = run_file(source)
    _no_fields(source, run, fields)
    if isinstance(source, Dataset):
        yield source, with_sizes(defaults, loader)
        return
    if run is not None:
        words = with_sizes(_headrace.load_run(path_bytes(run)), loader)
        with open_run(run) as dataset:
            yield dataset, words
        return
    with open([os.fsdecode(path) for path in path_list(source, name)], fields) as dataset:
        yield dataset, with_sizes(defaults, loader)


def measured(
    name: str, source: Source, fields: Fields, loader: Mapping[str, Any]
) -> tuple[_headrace.Dataset | bytes | list[bytes], dict[str, Any]]:
    """Return what :func:`headrace.advise` measures, as the engine takes it, and the arguments of Loader."""
    run = run_file(source)
    _no_fields(source, run, fields)
    if isinstance(source, Loader):
        return source.dataset._native, words_of(source, loader)
    if isinstance(source, Dataset):
        return source._native, with_sizes(_DEFAULTS, loader)
    if run is not None:
        return path_bytes(run), with_sizes(_headrace.load_run(path_bytes(run)), loader)
    return path_list(source, name), with_sizes(_DEFAULTS, loader)


def files_of(name: str, source: Source) -> list[bytes]:
    """Return the files of what a tool was given."""
    if isinstance(source, Loader):
        source = source.dataset
    if isinstance(source, Dataset):
        return source._native.tree_files() or [os.fsencode(file.path) for file in source.files]
    run = run_file(source)
    if run is not None:
        return _headrace.files_of_run(path_bytes(run))
    paths = path_list(source, name)
    if any(run_file(path) for path in paths):
        raise invalid("give one run file, or data files, but not both", "A run file names its data files.")
    return paths


def _no_fields(source: Any, run: Path | None, fields: Fields) -> None:
    if fields is not None and (run is not None or isinstance(source, (Dataset, Loader))):
        raise invalid("fields= is for files; this has its fields already", "Leave fields= out.")


def save_run(loader: Loader, path: str | os.PathLike[str]) -> None:
    """Write how a loader and its data set are made into a run file; :func:`load_run` makes the same of it again.

    Every verb of the data set is in it, with absolute paths, and every argument of ``Loader`` that is not its default:
    the file means the same wherever it lies, and ``headrace bench`` and the other commands take it.

    Args:
        loader: The loader.
        path: The run file, which is made or replaced.

    Raises:
        InvalidArgumentError: What no file says: a Python function in :meth:`Dataset.map`, a sampler; or a path that is
            not UTF-8.
        UnsupportedError: The data set was made in memory.
        WriteFailedError: The file cannot be written.
    """
    to = _expanded(path)
    if not isinstance(loader, Loader):
        raise invalid(
            f"save_run takes a Loader, not {brief(loader)}",
            "Make one of a data set: hr.Loader(dataset, batch_size). Other loaders have theirs as .loader.",
        )
    functions = loader.dataset._functions
    if functions:
        raise invalid(
            f"the samples go through a Python function ({name_of(functions[0])}), which a run file cannot say",
            "Save a loader of the data set before map(), and map the data set of load_run().",
        )
    if loader._order is not None:
        raise invalid(
            "the loader has a sampler of its own, which a run file cannot say",
            "Save a loader without it, and give it to load_run(path, sampler=...).",
        )
    device = loader._device if loader._delivery is not None else "cpu"
    write_text(to, _headrace.run_text(loader.dataset._native, {**loader._options, "device": str(device)}))


def write_text(path: Path, text: str) -> None:
    """Write a file of UTF-8, or raise WriteFailedError."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        what = f"it cannot be written: {error.strerror}"
        raise WriteFailedError(f"{path}: {what}", message=what, file=str(path)) from None
