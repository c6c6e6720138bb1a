"""load_text_dataset: the settings of a program that trains language models with Grain, over tokens or text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from glob import glob
from pathlib import Path
from typing import Any

from headrace._faces.cached_chunk_knobs import table
from headrace._faces.jax_loader import Loader
from headrace._support.checks import invalid, path_list, whole_number
from headrace._support.logging import logger
from headrace.errors import FileMissingError, InvalidArgumentError, UnknownArgumentError, UnsupportedError
from headrace.text import open_text
from headrace.tokenizer import Tokenizer
from headrace.tokens import Tokens, open_tokens
from headrace.transforms import Cast

PATHS = ("path", "data_path", "train_path", "dataset_path")
LENGTHS = ("block_size", "seq_len", "max_seq_len", "sequence_length", "maxlen", "context_length")
#: What becomes of a setting that decides nothing here.
WITHOUT_EFFECT = {
    "worker_buffer_size": "as many batches ahead as the memory holds; there are no worker processes",
    "prefetch_buffer_size": "as many batches ahead as the memory holds",
    "cache_size": "not needed: windows are read from the files, which the page cache keeps in memory",
}
KNOWN = (*PATHS, *LENGTHS, *WITHOUT_EFFECT, "batch_size", "tokenizer_name", "worker_count", "vocab_size", "seed")
KNOWN += ("shuffle", "num_epochs", "field")
#: What programs call the epochs that they loop over themselves.
EPOCHS = ("epochs", "max_epochs", "n_epochs", "num_train_epochs", "total_epochs")
_TEXT = (".txt", ".md", ".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".arrow", ".gz", ".zst")


def load_text_dataset(
    d_config: Any,
    m_config: Any,
    t_config: Any,
    tokenizer_name: str | None = None,
    pad_token_id: int | None = None,
    *,
    mesh: Any = None,
    spec: Any = None,
    sharding: Any = None,
) -> Loader:
    """Load files of tokens with the settings of a program that used Grain; ``print(loader)`` says what each became.

    Batches are ``{"input": …, "target": …}``, int32 of shape (batch size, sequence length); ``target`` is ``input`` a
    token later. They are windows of the files, shuffled, each once an epoch.

    Args:
        d_config: A dict or an object with ``path`` (or ``data_path``, ``train_path``, ``dataset_path``) of what
            :func:`headrace.open_tokens` opens, or of text, which :func:`headrace.open_text` tokenises once,
            ``batch_size``, and, if wanted, ``shuffle``, ``num_epochs``,
            ``vocab_size``, ``tokenizer_name``, ``field`` (the key of the text in a line of JSON, as
            :func:`headrace.open_text` has it), ``worker_count``, ``worker_buffer_size``, ``prefetch_buffer_size`` and
            ``cache_size``. Others are refused. ``num_epochs`` is 1 if it is not there, and None is without end.
        m_config: The model's, for the sequence length (``block_size``, ``seq_len``, ``max_seq_len``,
            ``sequence_length``, ``maxlen`` or ``context_length``) and ``vocab_size``; others are the program's own.
        t_config: The training's, for the same, ``seed`` and ``num_epochs``; others are the program's own. ``epochs``
            and its like decide nothing here, and ``print(loader)`` says so.
        tokenizer_name: The tokenizer of text; of files of tokens, it is compared with the one that they name.
        pad_token_id: Accepted, without effect: windows have no padding.
        mesh: As :class:`headrace.jax.Loader` has it.
        spec: As :class:`headrace.jax.Loader` has it.
        sharding: As :class:`headrace.jax.Loader` has it.

    Raises:
        UnknownArgumentError: A setting of ``d_config`` is not known; the text names the nearest.
        InvalidArgumentError: One is missing, or two contradict each other.
        UnsupportedError: The path is of files that neither opens.
    """
    configs = _Configs(d_config, m_config, t_config, tokenizer_name)
    where, path = configs.needed("the path of the data", PATHS, (0,))
    is_text = _is_text(path)
    tokens = _tokenised(configs, path) if is_text else open_tokens(path, vocab_size=configs.value("vocab_size"))
    configs.became(where, path, f"{len(tokens):,} tokens of {tokens.dtype}, {tokens.kind} files")
    _compare_tokenizer(configs, tokens, is_text)
    where, length = configs.needed("the sequence length", LENGTHS, (1, 2, 0))
    length = whole_number(where, length, least=1)
    windows = tokens.windows(length, lookahead=1).map(Cast("tokens", dtype="int32"))
    configs.became(where, length, f"{len(windows):,} windows of {length} tokens and the next token")
    loader = Loader(
        windows.map(inputs_and_targets),
        configs.needed("the batch size", ("batch_size",), (0, 2))[1],
        shuffle=configs.value("shuffle", True),
        seed=configs.value("seed", 0),
        num_epochs=configs.epochs(),
        threads=_threads(configs),
        mesh=mesh,
        spec=spec,
        sharding=sharding,
    )
    configs.became("batch_size", loader.batch_size, "global: of all processes together")
    for name, text in WITHOUT_EFFECT.items():
        if (value := configs.value(name)) is not None:
            configs.became(name, value, text)
    for name in ("shuffle", "seed", "vocab_size"):
        if (value := configs.value(name)) is not None:
            configs.became(name, value, f"{name}={value!r}")
    _tell_epochs(configs, loader)
    if not is_text and (field := configs.field()) is not None:
        configs.became("field", field, "not needed: the files are tokens")
    if pad_token_id is not None:
        configs.became("pad_token_id", pad_token_id, "not needed: windows have no padding")
    loader._became = table("load_text_dataset", configs.lines, loader.report(), keeps=True)
    logger.info("%s", loader._became)
    return loader


def load_text_dataset_tf_fallback(
    d_config: Any,
    m_config: Any,
    t_config: Any,
    tokenizer_name: str | None = None,
    pad_token_id: int | None = None,
    *,
    mesh: Any = None,
    spec: Any = None,
    sharding: Any = None,
) -> Loader:
    """Load as :func:`load_text_dataset` does, which needs no fallback: neither TensorFlow nor Grain is imported."""
    return load_text_dataset(
        d_config, m_config, t_config, tokenizer_name, pad_token_id, mesh=mesh, spec=spec, sharding=sharding
    )


def inputs_and_targets(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return windows as inputs and, a token later, targets."""
    return {"input": columns["tokens"][:, :-1], "target": columns["tokens"][:, 1:]}


class _Configs:
    """The three configurations, and a line for each setting that was taken."""

    def __init__(self, d_config: Any, m_config: Any, t_config: Any, tokenizer_name: str | None) -> None:
        self._all = [
            dict(_settings(name, config))
            for name, config in (("d_config", d_config), ("m_config", m_config), ("t_config", t_config))
        ]
        self.lines: list[tuple[str, str, str]] = []
        self.tokenizer_name = tokenizer_name
        for name in self._all[0]:
            if name not in KNOWN:
                near = get_close_matches(name, KNOWN, 1)
                message = f"load_text_dataset has no setting {name!r} in d_config"
                hint = f"Did you mean {near[0]!r}?" if near else "It takes " + ", ".join(KNOWN) + "."
                raise UnknownArgumentError(f"{message}. {hint}", message=message, hint=hint)

    def value(self, name: str, default: Any = None) -> Any:
        """Return a setting, wherever it is; None is not given."""
        found = self._found((name,), (0, 1, 2))
        return found[0][1] if found else default

    def field(self) -> Any:
        """Return where a line of JSON has its text; None is not given. What the others call so is their own."""
        found = self._found(("field",), (0,))
        return found[0][1] if found else None

    def epochs(self) -> int | None:
        """Return ``num_epochs``, of which None is a value: without end. 1 if it is not there.

        Raises:
            InvalidArgumentError: Two configurations differ.
        """
        given = [config["num_epochs"] for config in self._all if "num_epochs" in config]
        for other in given[1:]:
            if other != given[0]:
                raise invalid(f"num_epochs={given[0]!r} and num_epochs={other!r} contradict each other", "Give one.")
        return given[0] if given else 1

    def has(self, name: str) -> bool:
        """Return True if a configuration has the setting, also as None."""
        return any(name in config for config in self._all)

    def needed(self, what: str, names: tuple[str, ...], places: tuple[int, ...]) -> tuple[str, Any]:
        """Return the name and the value of a setting that has several names.

        Raises:
            InvalidArgumentError: It is missing.
        """
        found = self._found(names, places)
        if not found:
            wanted = " or ".join(("d_config", "m_config", "t_config")[place] for place in places)
            raise invalid(f"{what} is missing", f"Give {wanted} one of these: {', '.join(names)}.")
        return found[0]

    def _found(self, names: tuple[str, ...], places: tuple[int, ...]) -> list[tuple[str, Any]]:
        found = [
            (name, value) for place in places for name in names if (value := self._all[place].get(name)) is not None
        ]
        others = [f"{name}={value!r}" for name, value in found if value != found[0][1]]
        if others:
            raise invalid(f"{found[0][0]}={found[0][1]!r} and {others[0]} contradict each other", "Give one of them.")
        return found

    def became(self, name: str, given: Any, text: str) -> None:
        """Note what became of a setting."""
        self.lines.append((name, str(given), text))


def _settings(name: str, config: Any) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a dict, a dataclass, a namespace or another object with attributes."""
    if config is None:
        return
    if hasattr(config, "items"):
        yield from ((str(key), value) for key, value in config.items())
        return
    known = getattr(config, "__dataclass_fields__", None) or getattr(config, "__dict__", None)
    if known is None:
        raise invalid(f"{name} must be a dict or an object with attributes, not {config!r}")
    of_class = [key for made in reversed(type(config).__mro__[:-1]) for key in vars(made) if key in (*KNOWN, *EPOCHS)]
    for key in dict.fromkeys((*of_class, *known)):
        if not key.startswith("_") and not callable(value := getattr(config, key)):
            yield key, value


def _is_text(path: Any) -> bool:
    """True if the names of the files are those of text: a pattern's own ending tells nothing of what it matches.

    Raises:
        InvalidArgumentError: Some are, and others are not.
    """
    names = [name for one in path_list(path, "the path of the data") for name in _files_of(os.fsdecode(one))]
    text = [name for name in names if Path(name).suffix.lower() in _TEXT]
    others = [name for name in names if name not in set(text)]
    if text and others:
        raise invalid(f"{text[0]} is text, and {others[0]} is not", "Give the files of text, or those of tokens.")
    return bool(text)


def _files_of(path: str) -> list[str]:
    """Return the files of a pattern, but for folders and what describes them; a pattern without any is itself."""
    if Path(path).exists():
        return [path]
    found = [name for name in glob(path, recursive=True) if Path(name).is_file()]  # noqa: PTH207 - as the engine has it
    return [name for name in found if Path(name).name != "manifest.json"] or [path]


def _tokenised(configs: _Configs, path: Any) -> Tokens:
    """Tokenise files of text, once."""
    name = configs.tokenizer_name or configs.value("tokenizer_name")
    if not name:
        raise invalid(
            f"{path} is text, and tokenizer_name is missing",
            'Give its name or its file: tokenizer_name="gpt2".',
        )
    field = configs.field()
    if field is not None:
        configs.became("field", field, "the key of the text in a line of JSON")
    tokens = open_text(path, name, field="text" if field is None else field)
    size, ids = configs.value("vocab_size"), tokens.vocab_size or 0
    if size is not None and whole_number("vocab_size", size, least=1) < ids:
        raise invalid(f"vocab_size is {size}, and {name} has {ids} ids", "Give the model as many.")
    return tokens


def _compare_tokenizer(configs: _Configs, tokens: Tokens, is_text: bool) -> None:
    name = configs.value("tokenizer_name")
    if name and configs.tokenizer_name and name != configs.tokenizer_name:
        raise invalid(f"tokenizer_name is {configs.tokenizer_name!r}, and {name!r} in d_config", "Give one of them.")
    name = configs.tokenizer_name or name
    if not name:
        return
    if is_text:
        configs.became("tokenizer_name", name, "the text was tokenised with it, once, into the cache directory")
        return
    configs.became("tokenizer_name", name, _as_files_say(str(name), tokens))


def _as_files_say(name: str, tokens: Tokens) -> str:
    """Compare a tokenizer with the one that files name: by what it is, or, where that is unknown, by its name."""
    hint = "Give the files of that tokenizer, or that tokenizer."
    try:
        opened = Tokenizer(name) if tokens.tokenizer_hash or tokens.tokenizer else None
    except (FileMissingError, InvalidArgumentError, UnsupportedError):
        opened = None  # such as a name of Hugging Face's
    if opened is not None and not tokens.tokenizer_hash and opened.name == tokens.tokenizer:
        return "the name that the files have; they do not say more"
    if opened is not None and tokens.tokenizer_hash:
        if opened.hash == tokens.tokenizer_hash:
            return "the tokenizer of the files, by its hash"
        raise invalid(
            f"the files were tokenised by another tokenizer than {name!r}: theirs is {tokens.tokenizer!r} with hash "
            f"{tokens.tokenizer_hash}, this one's is {opened.hash}",
            hint,
        )
    if tokens.tokenizer and tokens.tokenizer != name:
        raise invalid(f"the files were tokenised by {tokens.tokenizer!r}, and tokenizer_name is {name!r}", hint)
    if tokens.tokenizer_hash:
        return "the name that the files have; it was not found here, so nothing else was compared"
    return "what the files say" if tokens.tokenizer else "the files do not say theirs, so nothing was compared"


def _tell_epochs(configs: _Configs, loader: Loader) -> None:
    """Note what became of the numbers of epochs."""
    if configs.has("num_epochs"):
        text = "num_epochs=None: without end" if loader.num_epochs is None else f"num_epochs={loader.num_epochs}"
        configs.became("num_epochs", loader.num_epochs, text)
    for name in EPOCHS:
        if (value := configs.value(name)) is not None:
            once = "never ends" if loader.num_epochs is None else f"is num_epochs={loader.num_epochs}"
            configs.became(name, value, f"no effect: an iter(loader) {once}, and the program loops over its own epochs")


def _threads(configs: _Configs) -> int | None:
    """Return how many threads ``worker_count`` asks for: as many as this process may use at most."""
    count = configs.value("worker_count")
    if count is None:
        return None
    threads = min(whole_number("worker_count", count, least=0), len(os.sched_getaffinity(0)))
    text = "decode threads, as many as this process may use" if not threads else f"{threads} decode threads at most"
    configs.became("worker_count", count, f"{text}; no worker processes")
    return threads or None
