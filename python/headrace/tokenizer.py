"""Tokenizers: text as arrays of ids, and back. Byte-level BPE, exactly as tiktoken and tokenizers encode it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from headrace import _headrace
from headrace._support.checks import brief, engine_text, invalid, one_of, path_bytes, whole_number
from headrace._support.logging import logger, warn

__all__: list[str] = []  # `headrace` itself has it
_GRAMMARS = ("gpt2", "cl100k", "llama3")
_NAMES = ("gpt2", "r50k_base", "p50k_base", "cl100k_base")  # that need no current directory
_MOST_ID = 2**24 - 1


class Tokenizer:
    """A tokenizer: ``hr.Tokenizer("tokenizer.json").encode("text")``. May be used from any thread.

    Ids are those that the library tokenizers makes of a ``tokenizer.json`` with ``add_special_tokens=False``, and
    tiktoken of ranks with ``encode_ordinary``. Nothing is put before or behind a text, and nothing cuts or pads it.

    Args:
        path: A ``tokenizer.json``; ``NAME.tiktoken``; a folder with one, or with ``vocab.json`` and ``merges.txt``,
            or with ``encoder.json`` and ``vocab.bpe``; or a name: ``"gpt2"``, ``"r50k_base"``, ``"p50k_base"``,
            ``"cl100k_base"`` or Hugging Face's ``"org/name"``, which are looked for where tiktoken and Hugging Face
            keep what they fetched. Nothing is fetched.
        grammar: How text is divided into words, for a ``.tiktoken`` file, which does not say it: ``"gpt2"``,
            ``"cl100k"`` or ``"llama3"``. Default: what is known by the file's name.
        special: Special words and their ids, for a ``.tiktoken`` file.

    Raises:
        FileMissingError: Nothing is there; of a name it says the command that fetches it.
        UnsupportedError: The file asks for what is not done here, such as a normalizer or another pattern; the text
            names it, and what to use.
        CorruptDataError: The file contradicts itself.
        InvalidArgumentError: A file of ranks needs ``grammar=``: its name is not a known one.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        grammar: str | None = None,
        special: Mapping[str, int] | None = None,
    ) -> None:
        """Open the vocabulary."""
        began = time.perf_counter()
        one_of("grammar", grammar, (None, *_GRAMMARS))
        words = {
            engine_text("special", text): whole_number("special", id, least=0, most=_MOST_ID)
            for text, id in (special or {}).items()
        }
        if not isinstance(path, (str, bytes, os.PathLike)):
            raise invalid(
                f"path must be the file, the folder or the name of a tokenizer, not {brief(path)}",
                'Give a file such as "tokenizer.json", into which the tokenizers of Hugging Face are saved.',
            )
        name = path.encode() if isinstance(path, str) and path in _NAMES else path_bytes(path)
        self._recipe = (os.path.abspath(name) if os.path.exists(name) else name, grammar, words)  # noqa: PTH100, PTH110
        self._native = _headrace.open_tokenizer(name, grammar or "", words)
        self._dtype = np.dtype(np.uint16 if self._native.vocab_size() <= 65536 else np.uint32)
        for text in self._native.notices():
            warn(f"{os.fsdecode(name)}: {text}")
        logger.debug("opened in %.3f s: %s", time.perf_counter() - began, self)

    def encode_batch(
        self, texts: Iterable[str | bytes], *, allow_special: bool | Iterable[str] = False, threads: int | None = None
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.int64]]]:
        """Return the ids of all texts, one after the other, and where each begins: text i is ``ids[at[i]:at[i + 1]]``.

        Args:
            texts: Text, or UTF-8 as bytes. A byte of ill-formed UTF-8 is kept; it is neither letter, number nor space.
            allow_special: Special words that are one token each: all of them, or those of a set. Others are ordinary
                text, as ``<|endoftext|>`` in an article about tokenizers should be.
            threads: Default: as many as this process may use, for a MiB of text each.

        Returns:
            ``uint16`` where the vocabulary has 65,536 ids or less, else ``uint32``; and ``int64``, one entry more than
            there are texts.

        Raises:
            InvalidArgumentError: What is no text; a text with surrogates, which UTF-8 does not have; no special word.
            UnsupportedError: A special word that takes the whitespace beside it.
        """
        if isinstance(texts, (str, bytes)):
            raise invalid("texts are several; this is one", "Use encode(), or [text].")
        given = tuple(texts)
        all_special, some = _special_words(allow_special)
        count = 0 if threads is None else whole_number("threads", threads, least=1, most=1024)
        for i, text in enumerate(given):
            if not isinstance(text, (str, bytes)):
                raise invalid(f"text {i} is {type(text).__name__}, neither str nor bytes")
        try:
            encoded = self._native.encode_batch(given, all_special, some, count)
        except UnicodeEncodeError as error:
            wrong = next(i for i, text in enumerate(given) if text is error.object or text == error.object)
            raise invalid(
                f"text {wrong} has a surrogate at {error.start}, which UTF-8 does not have",
                'Replace them: text.encode("utf-8", "replace").',
            ) from None
        ids = np.empty(len(encoded), self._dtype)
        (encoded.copy_u2 if self._dtype == np.uint16 else encoded.copy_u4)(ids)
        offsets = np.empty(len(given) + 1, np.int64)
        encoded.copy_offsets(offsets)
        return ids, offsets

    def encode(self, text: str | bytes, *, allow_special: bool | Iterable[str] = False) -> np.ndarray[Any, Any]:
        """Return the ids of one text, without any before or behind them.

        Args:
            text: Text, or UTF-8 as bytes.
            allow_special: As :meth:`encode_batch` has it: special words that are one token each.

        Returns:
            Ids of shape (tokens,): ``uint16`` where the vocabulary has 65,536 ids or less, else ``uint32``.

        Raises:
            InvalidArgumentError: It is no text, or has surrogates, which UTF-8 does not have; no special word.
            UnsupportedError: A special word that takes the whitespace beside it.
        """
        if not isinstance(text, (str, bytes)):
            raise invalid(f"a text is str or bytes, not {type(text).__name__}", "encode_batch() takes several.")
        return self.encode_batch((text,), allow_special=allow_special)[0]

    def decode(self, ids: Any, *, errors: str = "replace") -> str:
        """Return ids as text.

        Args:
            ids: Whole numbers of shape (tokens,): a list, an array or a tensor of the CPU.
            errors: What is done about bytes that are no UTF-8, such as half a character, as :meth:`bytes.decode` has
                it: ``"replace"`` puts U+FFFD there, ``"strict"`` raises, ``"ignore"`` leaves them out.

        Raises:
            InvalidArgumentError: An id that there is not, or no list of whole numbers.
            UnicodeDecodeError: With ``errors="strict"``, bytes that are no UTF-8.
            LookupError: There are such bytes, and Python has no such word for ``errors``.
        """
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Any) -> bytes:
        """Return ids as bytes; those of any text come back as they were.

        Args:
            ids: Whole numbers of shape (tokens,): a list, an array or a tensor of the CPU.

        Raises:
            InvalidArgumentError: An id that there is not, or no list of whole numbers.
        """
        return self._native.decode(_id_array(ids))

    @property
    def vocab_size(self) -> int:
        """The largest id, and one."""
        return self._native.vocab_size()

    @property
    def name(self) -> str:
        """Name of the file or its folder, or the name that was asked for."""
        return self._native.name()

    @property
    def hash(self) -> str:
        """What tells it from others of its name: a hash of vocabulary, merges, grammar and added words."""
        return self._native.hash()

    @property
    def grammar(self) -> str:
        """How text is divided into words: ``"gpt2"``, ``"cl100k"`` or ``"llama3"``."""
        return self._native.grammar()

    @property
    def end_of_text(self) -> int | None:
        """The id that stands between documents, such as that of ``<|endoftext|>``; None where there is none."""
        return self._native.end_of_text()

    @property
    def special(self) -> dict[str, int]:
        """Special words and their ids."""
        return self._native.special()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (*self._recipe, self.hash)

    def __repr__(self) -> str:
        return f"<headrace.Tokenizer: {self.name}, {self.vocab_size:,} ids, {self.grammar}>"


def _special_words(allow_special: Any) -> tuple[bool, list[str]]:
    """Return whether all special words are allowed, else which."""
    if isinstance(allow_special, (bool, np.bool_)):
        return bool(allow_special), []
    if isinstance(allow_special, (str, bytes)) or not isinstance(allow_special, Iterable):
        raise invalid("allow_special is True, False or a set of special words", 'Such as {"<|endoftext|>"}.')
    return False, [engine_text("allow_special", text) for text in allow_special]


def _id_array(ids: Any) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return ids as the engine takes them."""
    array = np.asarray(ids)
    if array.size == 0 and array.ndim == 1:
        return np.empty(0, np.uint32)
    if array.ndim != 1 or array.dtype.kind not in "ui":
        raise invalid(f"ids are a list of whole numbers, not {array.dtype} of shape {array.shape}")
    if array.dtype.itemsize > 2 and (int(array.min()) < 0 or int(array.max()) > _MOST_ID):
        wrong = int(array.min()) if int(array.min()) < 0 else int(array.max())
        raise invalid(f"token {int(np.flatnonzero(array == wrong)[0])} is {wrong}, which is no id of a vocabulary")
    if array.dtype.kind == "i" and int(array.min()) < 0:
        raise invalid(
            f"token {int(np.flatnonzero(array < 0)[0])} is {int(array.min())}, which is no id of a vocabulary"
        )
    return np.array(array, np.uint32)  # a copy: ids are read without the GIL, after they were checked


def _reopened(path: bytes, grammar: str | None, special: dict[str, int], known_hash: str) -> Tokenizer:
    """Open what was pickled."""
    tokenizer = Tokenizer(os.fsdecode(path), grammar=grammar, special=special or None)
    if tokenizer.hash != known_hash:
        raise invalid(f"{os.fsdecode(path)} is another tokenizer than the one that was pickled")
    return tokenizer
