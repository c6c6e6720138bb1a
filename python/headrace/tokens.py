"""Tokens: files of token numbers, as windows and as documents; and a writer of such files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._support.checks import engine_text, invalid, one_of, path_list, whole_number
from headrace._support.logging import logger, warn
from headrace._support.progress import Progress, ProgressLine, chosen_progress
from headrace.dataset import Dataset, Paths
from headrace.errors import ClosedError
from headrace.fields import FileInfo

__all__ = ["Writer"]  # what `headrace` itself does not have
_MOST_ID = 2**32 - 1


def open_tokens(
    paths: Paths,
    *,
    dtype: Any = None,
    vocab_size: int | None = None,
    check: bool = False,
    progress: Progress = None,
) -> Tokens:
    """Open files of tokens: ``hr.open_tokens("train.bin", vocab_size=50257).windows(1024, lookahead=1)``.

    Takes raw files of numbers, as nanoGPT writes them; ``.npy`` files of one axis; Megatron's ``.bin`` with its
    ``.idx`` (either name, or the name without ending); datatrove's ``.ds`` with its ``.ds.index``; and folders that
    :class:`headrace.tokens.Writer` wrote. Reads headers, the ends of indexes, and the first MiB of each file: the time
    does not depend on how many tokens or documents there are (blocks on storage; the GIL is released).

    Args:
        paths: A path, a glob, a folder or a list of them. Their order is part of the data's identity.
        dtype: Type of the numbers in raw files, little-endian: ``"u2"`` or ``np.uint16``, ``"u4"``. Other files say
            it themselves.
        vocab_size: How many ids the tokenizer has. In raw files it tells the type: ``u2`` below 65,536, else ``u4``.
            The first MiB of each file is compared with it, in which a wrong type nearly always shows. It may be
            more than a folder's manifest says, as a model's is.
        check: Compare all ids with the vocabulary, and not the first MiB only: reads all of the files.
        progress: As in :func:`headrace.open`.

    Raises:
        FileMissingError: A file is absent or a glob matches nothing.
        InvalidArgumentError: A raw file without ``dtype`` and ``vocab_size``; what was said contradicts a file; files
            of several types or vocabularies; text, or a raw file with the header of another format.
        CorruptDataError: A file is empty or cut short, an index is not that of its tokens, an id is outside of the
            vocabulary, or the ids look like those of another type; the text names the file and the bytes.
    """
    began = time.perf_counter()
    one_of("check", check, (False, True))
    size = 0 if vocab_size is None else whole_number("vocab_size", vocab_size, least=1)
    with ProgressLine("opening", "files") as line:
        call = chosen_progress(line, progress)
        word = _type_word(dtype)
        tokens = Tokens(_headrace.open_tokens(path_list(paths), word, size, check, progress=call), (word, size))
    logger.debug("opened in %.3f s: %s", time.perf_counter() - began, tokens)
    for notice in tokens.rows._native.notices():
        warn(notice)
    return tokens


class Tokens:
    """The tokens of one or more files. Made by :func:`headrace.open_tokens`.

    ``len(tokens)`` is their number, and ``tokens[1000:2000]`` reads them as an array. May be used from any thread.
    """

    def __init__(self, native: _headrace.Tokens, said: tuple[str, int]) -> None:
        self._native = native
        self._said = said
        self._rows = Dataset(native.rows())

    def __len__(self) -> int:
        return len(self._native)

    def __getitem__(self, key: Any) -> Any:
        """Read tokens: ``tokens[1000:2000]`` is an array of shape (1000,), of type :attr:`dtype`, of the caller's own.

        Args:
            key: A whole number (one token, a NumPy scalar), a slice, a list or an array of whole numbers, or a mask
                with one value a token. Negative numbers count from the end, over all files.

        Raises:
            IndexOutOfRangeError: A token does not exist, or the mask has another length (also an IndexError).
            InvalidArgumentError: The key is text.
            TypeError: The key is none of these.
            ReadFailedError: The system's error.
        """
        return self._rows["tokens"][key]

    @property
    def rows(self) -> Dataset:
        """The tokens as a data set with one field, ``tokens``, and a token a row."""
        return self._rows

    @property
    def num_documents(self) -> int | None:
        """Number of documents; None where a file does not say where they end."""
        return self._native.num_documents()

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a token, as stored."""
        return np.dtype(self._native.typestr())

    @property
    def kind(self) -> str:
        """How files are stored: ``"raw"``, ``"npy"``, ``"megatron"``, ``"datatrove"``, ``"headrace"``, ``"mixed"``."""
        return self._native.kind()

    @property
    def vocab_size(self) -> int | None:
        """Size of the vocabulary, from ``vocab_size=`` or the files; None if neither has it."""
        return self._native.vocab_size() or None

    @property
    def tokenizer(self) -> str | None:
        """Name of the tokenizer, where the files say one."""
        return self._native.tokenizer() or None

    @property
    def tokenizer_hash(self) -> str | None:
        """What tells the tokenizer from others of its name, as :attr:`Tokenizer.hash`; None where no file says it."""
        return self._native.tokenizer_hash() or None

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """Path and number of tokens of each file, in order."""
        return self._rows.files

    def windows(
        self, length: int, *, stride: int | None = None, lookahead: int = 0, across_files: bool = False
    ) -> Dataset:
        """Return a data set of windows: ``tokens.windows(1024, lookahead=1)`` has a field ``tokens`` of shape (1025,).

        As :meth:`Dataset.windows`, which says what the arguments mean. Windows may begin in one document and end in the
        next. No index is read and no list is made.
        """
        return self._rows.windows(length, stride=stride, lookahead=lookahead, across_files=across_files)

    def documents(self) -> Dataset:
        """Return a data set with a document a sample: one ragged field, ``tokens``.

        Reads the indexes of all files and compares them with the tokens; keeps 8 bytes for each document.

        Raises:
            CorruptDataError: An index contradicts itself or its tokens; the text names the bytes.
            UnsupportedError: A file that does not record where documents end.
        """
        return Dataset(self._native.documents())

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, ([os.fsencode(Path(file.path).absolute()) for file in self.files], *self._said)

    def __repr__(self) -> str:
        text: str = self._native.describe()
        return f"<headrace.Tokens: {text.rstrip()}>"


class Writer:
    """Writes files of tokens, a document at a time.

    For example::

        with hr.tokens.Writer("corpus", vocab_size=50257, end_of_text=50256) as writer:
            for text in texts:
                writer.write(tokenizer.encode(text))

    Nothing stands under the final name before :meth:`finish`, which the end of the ``with`` block calls; an exception
    in the block, and :meth:`abandon`, remove what was written.

    Args:
        path: The folder, the ``.bin`` file, or Megatron's name with or without ending. Nothing may be there.
        format: ``"headrace"``: a folder of ``.npy`` files with a manifest; ``"nanogpt"``: a raw ``.bin`` file,
            which does not say where documents end; ``"megatron"``: ``.bin`` and ``.idx`` as Megatron-LM writes
            them.
        dtype: Type of the numbers; default: what readers of the format expect for ``vocab_size``. Give one of both.
        vocab_size: Ids must be below it.
        end_of_text: An id that is written behind each document.
        tokenizer: Name of the tokenizer, for the manifest.
        tokenizer_hash: What tells it from others of the name, for the manifest.
        shard_tokens: A ``.npy`` file of a folder ends with the document that reaches so many tokens.

    Raises:
        InvalidArgumentError: Something is there already; neither ``dtype`` nor ``vocab_size``, or a type that does
            not hold the vocabulary.
        WriteFailedError: The system's error.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        format: str = "headrace",
        dtype: Any = None,
        vocab_size: int | None = None,
        end_of_text: int | None = None,
        tokenizer: str = "",
        tokenizer_hash: str = "",
        shard_tokens: int = 2**30,
    ) -> None:
        """Begin to write."""
        one_of("format", format, ("headrace", "nanogpt", "megatron"))
        self._native: _headrace.TokenWriter | None = _headrace.make_token_writer(
            os.fsencode(path),
            format,
            _type_word(dtype),
            0 if vocab_size is None else whole_number("vocab_size", vocab_size, least=1),
            None if end_of_text is None else whole_number("end_of_text", end_of_text, least=0, most=_MOST_ID),
            engine_text("tokenizer", tokenizer),
            engine_text("tokenizer_hash", tokenizer_hash),
            whole_number("shard_tokens", shard_tokens, least=1),
        )

    def write(self, ids: Any) -> None:
        """Write a document: an array or a list of ids, which may be empty.

        Raises:
            InvalidArgumentError: It is no list of whole numbers, or an id is outside of the vocabulary or the type;
                then nothing of it is written.
        """
        writer = self._open()
        writer.append(_ids(ids))
        writer.end_document()

    def write_all(self, documents: Iterable[Any]) -> None:
        """Write several documents."""
        for ids in documents:
            self.write(ids)

    @property
    def tokens(self) -> int:
        """Number of tokens that were written."""
        return self._open().tokens()

    @property
    def documents(self) -> int:
        """Number of documents that were written."""
        return self._open().documents()

    def finish(self) -> None:
        """Give the files their names. Nothing can be written after it."""
        self._open().finish()
        self._native = None

    def abandon(self) -> None:
        """Remove what was written. May be called twice, and after :meth:`finish`, when it does nothing."""
        self._native = None

    def _open(self) -> _headrace.TokenWriter:
        if self._native is None:
            raise ClosedError("the writer has finished")
        return self._native

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._native is not None:
            self.finish()
        self.abandon()


def _type_word(dtype: Any) -> str:
    """Return NumPy's name of a type of tokens; empty for None."""
    if dtype is None:
        return ""
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise invalid(f"dtype {dtype!r} is no type of NumPy's", 'Such as "u2", "u4" or np.uint16.') from None
    if found.kind not in "ui":
        raise invalid(f"tokens are whole numbers, not {found.name}", 'Such as "u2", "u4" or np.uint16.')
    if found.byteorder == ">":
        raise invalid("raw files of big-endian tokens are not read", "Save them as .npy, which says it: np.save.")
    name: str = found.name
    return name


def _ids(ids: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return ids as the engine takes them."""
    array = np.asarray(ids)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise invalid(f"a document is a list of whole numbers, not {array.dtype} of shape {array.shape}")
    if array.dtype != np.uint32:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high > _MOST_ID:
            wrong = low if low < 0 else high
            raise invalid(f"token {int(np.flatnonzero(array == wrong)[0])} is {wrong}, and ids are 0 to {_MOST_ID}")
    return np.array(array, np.uint32)  # a copy: ids are read without the GIL, after they were checked


def _reopened(paths: list[bytes], dtype: str, vocab_size: int) -> Tokens:
    """Open what was pickled."""
    return Tokens(_headrace.open_tokens(paths, dtype, vocab_size, False), (dtype, vocab_size))
