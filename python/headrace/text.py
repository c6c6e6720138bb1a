"""Files of text as tokens: tokenised once, then windows and documents as of any other files of tokens."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace import _headrace
from headrace._support.cache_home import cache_home
from headrace._support.checks import (
    brief,
    engine_text,
    invalid,
    memory_bytes,
    one_of,
    path_bytes,
    path_list,
    whole_number,
)
from headrace._support.logging import logger, warn
from headrace._support.private_folder import PrivateFolder
from headrace._support.progress import Progress, ProgressLine, chosen_progress
from headrace.dataset import Paths
from headrace.errors import Error
from headrace.tokenizer import Tokenizer
from headrace.tokens import Tokens, _type_word, open_tokens

__all__ = ["TokenizedText", "open_text", "tokenize"]
_TOKENS = "tokens"


@dataclass(frozen=True)
class TokenizedText:
    """What :func:`tokenize` has done.

    Attributes:
        files: Number of files that were read.
        documents: Number of documents that were written.
        tokens: Number of tokens that were written, ends of text among them.
        text_bytes: Bytes of text, decompressed.
        skipped_documents: Documents that were left out (``bad_text="skip"``).
        first_skipped: What was wrong with the first of them, and where; empty if there is none.
        resumed_bytes: Bytes of text that an earlier call had done, which was stopped.
        seconds: How long this call took.
    """

    files: int
    documents: int
    tokens: int
    text_bytes: int
    skipped_documents: int
    first_skipped: str
    resumed_bytes: int
    seconds: float


def tokenize(
    paths: Paths,
    to: str | os.PathLike[str],
    tokenizer: Tokenizer | str | os.PathLike[str],
    *,
    format: str = "headrace",
    field: str = "text",
    document: str = "file",
    bad_text: str = "error",
    end_of_text: bool | str = True,
    dtype: Any = None,
    shard_tokens: int = 2**30,
    threads: int | None = None,
    memory: int | str | None = None,
    restart: bool = False,
    checkpoint_seconds: float = 10.0,
    progress: Progress = None,
) -> TokenizedText:
    """Write the tokens of text files: ``hr.tokenize("corpus/*.jsonl.zst", "tokens", "gpt2")``.

    Reads ``.jsonl``, ``.ndjson`` and ``.json`` with an object a line, and other files as text (``.txt``, ``.md``, no
    ending), each also with ``.gz`` or ``.zst`` behind. Files and documents keep their order, and the output is the same
    for any number of threads. While it works, ``to`` is called ``TO.unfinished``; the same call after a kill goes on
    where that was (blocks; the GIL is released). ``headrace tokenize`` is the same on the command line.

    Args:
        paths: A path, a glob or a list of them.
        to: A folder that is not there yet, or as :class:`headrace.tokens.Writer` has it for ``format``.
        tokenizer: A tokenizer, or what :class:`Tokenizer` opens.
        format: ``"headrace"``, ``"megatron"`` or ``"nanogpt"``; as of :class:`headrace.tokens.Writer`.
        field: Key of the text in a line of JSON, or a JSON Pointer: ``"/meta/text"``.
        document: What a document is in files that are text: ``"file"``, or ``"line"``: each that is not blank.
        bad_text: What is done about damaged text: ``"error"``; ``"replace"``: U+FFFD for bytes that are no UTF-8;
            ``"skip"``: the line, or the file that is one document, is left out and counted.
        end_of_text: Write the tokenizer's end of text behind each document; a word such as ``"<|im_end|>"``: that one.
        dtype: As in :class:`headrace.tokens.Writer`.
        shard_tokens: As in :class:`headrace.tokens.Writer`.
        threads: Default: as many as this process may use.
        memory: Most memory to hold, such as ``"2GiB"``. Default: what the process's budget has free.
        restart: Remove what an earlier call left unfinished, and begin anew.
        checkpoint_seconds: How much work a kill may cost.
        progress: As in :func:`headrace.open`; counts bytes of the files.

    Raises:
        CorruptDataError: Damaged text, JSON or compression; the text names the file and the line.
        InvalidArgumentError: Something is at ``to``, or an unfinished output of other settings.
        UnsupportedError: Files of another kind, such as Parquet.
        OutOfBudgetError: A line, or a text that cannot be divided, is too large for the memory.
        WriteFailedError: The system's error.
    """
    one_of("format", format, ("headrace", "nanogpt", "megatron"))
    one_of("restart", restart, (False, True))
    words = {
        **_words(field, document, bad_text, end_of_text, threads, memory),
        "format": format,
        "dtype": _type_word(dtype),
        "shard_tokens": whole_number("shard_tokens", shard_tokens, least=1),
        "restart": restart,
        "checkpoint_seconds": float(checkpoint_seconds),
    }
    return _tokenize(path_list(paths), path_bytes(to), _opened(tokenizer), words, progress)


def open_text(
    paths: Paths,
    tokenizer: Tokenizer | str | os.PathLike[str],
    *,
    field: str = "text",
    document: str = "file",
    bad_text: str = "error",
    end_of_text: bool | str = True,
    threads: int | None = None,
    memory: int | str | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Tokens:
    """Open files of text as tokens: ``hr.open_text("corpus/*.jsonl", tokenizer="gpt2").windows(1024, lookahead=1)``.

    The first call tokenises them into a folder of ``cache``, as :func:`tokenize` does, and says how much that is; each
    later one, of the same files, tokenizer and words, opens what is there. Several processes that ask at once wait for
    the one that writes. A call that was stopped goes on at the next. The folder is this user's alone; where its files
    have changed since (copied, damaged), they are compared with their checksums first, and made anew if they differ.

    Args:
        paths: As in :func:`tokenize`. A file that has changed is tokenised anew, with all others.
        tokenizer: As in :func:`tokenize`.
        field: As in :func:`tokenize`.
        document: As in :func:`tokenize`.
        bad_text: As in :func:`tokenize`.
        end_of_text: As in :func:`tokenize`.
        threads: As in :func:`tokenize`.
        memory: As in :func:`tokenize`.
        cache: A folder. Default: ``text`` in the user's cache directory (``HEADRACE_CACHE``, by default
            ``~/.cache/headrace``). What is in it may be deleted; it takes 2 or 4 bytes a token.
        progress: As in :func:`headrace.open`.

    Raises:
        PermissionDeniedError: The folder for these tokens belongs to another user, or cannot be made.
        CorruptDataError: As in :func:`tokenize`, as all others are.
    """
    words = {
        **_words(field, document, bad_text, end_of_text, threads, memory),
        **{"format": "headrace", "dtype": "", "shard_tokens": 2**30, "restart": False, "checkpoint_seconds": 10.0},
    }
    opened, files = _opened(tokenizer), path_list(paths)
    settings = _headrace.tokenize_settings(files, opened._native, words)
    if isinstance(cache, str) and cache in ("none", "ram", "auto", "off"):
        raise invalid(f"cache={cache!r} is no folder", "Tokens are kept in a folder: give one, or leave cache out.")
    home = cache_home("text") if cache is None else Path(os.fsdecode(path_bytes(cache)))
    folder, digest = PrivateFolder(home / _folder_name(settings)), _digest(settings.encode())
    if not _is_known(folder, digest):
        with folder.alone():
            if not _is_known(folder, digest):
                _make(
                    folder,
                    digest,
                    lambda restart: _tokenize(
                        files, os.fsencode(folder.path / _TOKENS), opened, {**words, "restart": restart}, progress
                    ),
                )
    if note := folder.note().get("skipped"):
        warn(str(note))
    return open_tokens(folder.path / _TOKENS, progress=progress)


def _is_known(folder: PrivateFolder, settings: str) -> bool:
    """Return whether the tokens of the settings of this digest are there, as they were left."""
    note = folder.note()
    return note.get("settings") == settings and note.get("version") == folder.version(_TOKENS) is not None


def _make(folder: PrivateFolder, settings: str, tokenise: Callable[[bool], TokenizedText]) -> None:
    """Make tokens, or take those that are there if they are the ones that were made."""
    note, tokens = folder.note(), folder.path / _TOKENS
    if tokens.exists() and not _are_those(tokens, note if note.get("settings") == settings else {}):
        folder.remove(_TOKENS)
    if not tokens.exists():
        folder.remove(_TOKENS)  # a link that leads nowhere
        note = {"settings": settings}
        done = _tokenised(folder, tokenise)
        if done.skipped_documents:
            note["skipped"] = f"{done.skipped_documents:,} documents were left out, the first: {done.first_skipped}"
    folder.leave(**{**note, "version": folder.version(_TOKENS), "manifest": _manifest_digest(tokens)})


def _tokenised(folder: PrivateFolder, tokenise: Callable[[bool], TokenizedText]) -> TokenizedText:
    """Tokenise, and begin anew where what an earlier call left cannot be gone on with."""
    try:
        return tokenise(False)
    except Error as error:
        if not str(error.file or "").startswith(str(folder.path)) or not (folder.path / f"{_TOKENS}.progress").exists():
            raise
        warn(f"unfinished tokens are damaged, and are made anew: {error.file}: {error.message}")
    return tokenise(True)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _manifest_digest(tokens: Path) -> str | None:
    """Return a digest of the manifest, which has the checksums of all other files; None where there is none."""
    with contextlib.suppress(OSError):
        return _digest((tokens / "manifest.json").read_bytes())
    return None


def _are_those(tokens: Path, note: dict[str, Any]) -> bool:
    """Return whether tokens are the ones of a note: by the manifest's digest, and by the checksums that it has."""
    if note.get("manifest") is None or note["manifest"] != _manifest_digest(tokens):
        warn(f"tokens that were kept are damaged, or of another text, and are made anew: {tokens}")
        return False
    try:
        open_tokens(tokens, check=True)
    except Error as error:
        warn(f"tokens that were kept are damaged, and are made anew: {error.file or tokens}: {error.message}")
        return False
    return True


def _words(
    field: Any, document: Any, bad_text: Any, end_of_text: Any, threads: Any, memory: Any
) -> dict[str, str | int | bool]:
    """Return what both functions are told, checked."""
    one_of("document", document, ("file", "line"))
    one_of("bad_text", bad_text, ("error", "replace", "skip"))
    word = end_of_text if isinstance(end_of_text, str) else ""
    if not word and not isinstance(end_of_text, bool):
        raise invalid(f"end_of_text must be True, False or a word of the tokenizer, not {brief(end_of_text)}")
    return {
        "field": engine_text("field", field),
        "document": document,
        "bad_text": bad_text,
        "end_of_text": bool(end_of_text),
        "end_of_text_word": engine_text("end_of_text", word),
        "threads": 0 if threads is None else whole_number("threads", threads, least=1, most=4096),
        "memory": 0 if memory is None else memory_bytes("memory", memory),
    }


def _opened(tokenizer: Tokenizer | str | os.PathLike[str]) -> Tokenizer:
    return tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)


def _tokenize(
    files: list[bytes], to: bytes, tokenizer: Tokenizer, words: dict[str, Any], progress: Progress
) -> TokenizedText:
    about = _headrace.estimate_tokenize(files, tokenizer._native, words)
    size = f"{about['stored_bytes'] / 1e6:,.1f} MB in {about['files']:,} files"
    made = f"about {about['tokens']:,} tokens, {about['token_bytes'] / 1e6:,.1f} MB"
    logger.info("tokenising %s into %s: %s, about %.0f s", size, os.fsdecode(to), made, about["seconds"])
    with ProgressLine("tokenising", "bytes") as line:
        return TokenizedText(
            **_headrace.tokenize(files, to, tokenizer._native, words, progress=chosen_progress(line, progress))
        )


def _folder_name(settings: str) -> str:
    """Return a name that tells people which files these are, and a hash of all that decides the tokens."""
    first = Path(json.loads(settings)["files"][0][0]).name
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", first)[:40].strip(".")
    return f"{plain}.{_digest(settings.encode())[:16]}.text"
