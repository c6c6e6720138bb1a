"""``headrace bench text``: its options, and what it does with them."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from headrace._programs.text_bench import report
from headrace._programs.text_bench.corpus import MOST_BYTES, blocks, made_documents, read_documents, write_lines
from headrace._programs.text_bench.plan import LOADERS, NAMES, Settings, chosen
from headrace._programs.text_bench.rounds import Sample, Turns, write_sample
from headrace._programs.text_bench.store import Store, write_tokens
from headrace._programs.text_bench.vocabulary import Vocabulary, find
from headrace._support.checks import invalid
from headrace._support.progress import ProgressLine
from headrace.errors import WriteFailedError

_SAMPLE_BYTES = 8_000_000  # of text, for the tokenisers: the slowest takes some seconds
_EPILOG = """examples:
  headrace bench text --num_batches 100 --batch_size 512 --seq_len 1024
  headrace bench text --path 'corpus/*.jsonl' --field text --tokenizer tokenizer.json --step_ms 250
  headrace bench text --impl headrace,grain,torch --worker_count 8 --save before"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise invalid(message, "headrace bench text --help lists the options.")


def parser() -> argparse.ArgumentParser:
    """Return the options. Underscores may be hyphens."""
    made = _Parser(
        prog="headrace bench text",
        description="Measure text to ids, and ids to batches of input and target, beside other libraries.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    start = Settings()

    def add(name: str, told: str, **more: Any) -> None:
        made.add_argument(f"--{name}", help=told, **more)

    for name, kind, told in (
        ("num_batches", _positive, "batches that are taken of each loader"),
        ("batch_size", _positive, "windows in a batch"),
        ("seq_len", _positive, "tokens in a window"),
        ("worker_count", _count, "worker processes, or threads, of Grain and torch; none is tried too"),
        ("worker_buffer_size", _positive, "batches ahead for each worker; at most a quarter of num_batches in all"),
        ("rounds", _positive, "turns of each contestant; the figures are medians"),
        ("seconds", _seconds, "longest time of a turn"),
        ("seed", _count, "of the text that is made without --path"),
    ):
        add(name, f"{told} (default: {getattr(start, name):g})", type=kind, default=getattr(start, name), metavar="N")
    add(
        "path",
        "JSONL files (.gz too) or .txt files, a glob; default: text made from a seed",
        action="append",
        default=[],
    )
    add("field", "the name of the text in a line of JSON (default: text)", default="text")
    add(
        "tokenizer",
        "a tokenizer.json, a folder, a name; default: gpt2 where it is on the machine, else one trained now",
    )
    add("impl", f"contestants, default all: {', '.join(NAMES)}", type=lambda text: text.split(","), default=None)
    add("skip_grain", "leave Grain out", action="store_true")
    add("skip_tf", "leave tf.data out", action="store_true")
    add("step_ms", "how long a step of your training takes: says how much of it waits", type=_seconds, metavar="N")
    add("json", "print the figures as one JSON document", action="store_true")
    add("save", "write NAME.json and NAME.md", metavar="NAME")
    add("quiet", "no progress line", action="store_true")
    return made


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must be at least 0, not {number}")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError(f"must be above 0, not {text}")
    return number


def options(arguments: Sequence[str]) -> argparse.Namespace:
    """Return the options.

    Raises:
        InvalidArgumentError: One is not known, or has a wrong value.
    """
    known = parser()
    asked, unknown = known.parse_known_args([_underscored(word) for word in arguments])
    if unknown:
        names = [name for action in known._actions for name in action.option_strings]
        near = get_close_matches(unknown[0].split("=")[0], names, 1)
        hint = f"Did you mean {near[0]}?" if near else "headrace bench text --help lists the options."
        raise invalid(f"bench text does not know {unknown[0]}", hint)
    return asked


def _underscored(word: str) -> str:
    """Return an option as it is listed: ``--num-batches`` is ``--num_batches``."""
    if not word.startswith("--"):
        return word
    name, equals, value = word.partition("=")
    return "--" + name[2:].replace("-", "_") + equals + value


def settings_of(asked: argparse.Namespace) -> Settings:
    """Return what is asked for.

    Raises:
        InvalidArgumentError: There is no such contestant, or none is left.
    """
    left_out = {name for name in ("grain", "tf") if getattr(asked, f"skip_{name}")}
    names = tuple(name for name in chosen(asked.impl or NAMES) if name not in left_out)
    if not names:
        raise invalid("no contestant is left", f"There are: {', '.join(NAMES)}.")
    same = ("num_batches", "batch_size", "seq_len", "field", "tokenizer", "worker_count", "worker_buffer_size")
    words = {name: getattr(asked, name) for name in (*same, "step_ms", "rounds", "seconds", "seed")}
    return Settings(paths=tuple(asked.path), impl=names, **words)


def run(asked: argparse.Namespace) -> int:
    """Measure, print, and return the exit status: 1 if a contestant failed."""
    settings = settings_of(asked)
    with ProgressLine("measuring", "turns") as line:
        made = measure(settings, line if sys.stderr.isatty() and not asked.quiet else None)
    if asked.save:
        save(made, asked.save)
    print(json.dumps(made, indent=2) if asked.json else report.screen(made))
    return 1 if made["failed"] else 0


def measure(settings: Settings, progress: Any = None) -> dict[str, Any]:
    """Return all figures of a run; the schema is in docs/command-line.md."""
    with tempfile.TemporaryDirectory(prefix="headrace-bench-text-") as name:
        folder = Path(name)
        vocabulary, sample, store = prepared(settings, folder)
        turns = Turns(settings, vocabulary, store, sample, progress)
        turns.measure()
        return report.data(settings, vocabulary, sample, store, turns.entries)


def prepared(settings: Settings, folder: Path) -> tuple[Vocabulary, Sample, Store | None]:
    """Find the text and the vocabulary, and write the tokens if there are loaders to measure."""
    if settings.paths:
        documents = read_documents(settings.paths, settings.field)
    else:
        documents = made_documents(settings.seed, min(8 * settings.tokens_needed + (1 << 20), MOST_BYTES))
    parts = blocks(documents)
    first: list[list[str]] = []
    for part in parts:
        first.append(part)
        if sum(len(text) for texts in first for text in texts) >= _SAMPLE_BYTES:
            break
    if not first:
        raise invalid("--path: there is no text in these files")
    vocabulary = find(settings.tokenizer, folder, first[0])
    texts = [text for block in first for text in block]
    write_lines(folder / "sample.jsonl", texts)
    sample = write_sample(texts, vocabulary, str(folder / "sample.jsonl"), str(folder / "sample.npy"))
    store = None
    if any(name in LOADERS for name in settings.impl):
        store = write_tokens(itertools.chain(first, parts), vocabulary, settings, folder)
    return vocabulary, sample, store


def save(made: dict[str, Any], name: str) -> None:
    """Write NAME.json and NAME.md.

    Raises:
        WriteFailedError: A file cannot be written.
    """
    for ending, text in ((".json", json.dumps(made, indent=2) + "\n"), (".md", report.markdown(made))):
        try:
            Path(name + ending).write_text(text, encoding="utf-8")
        except OSError as error:
            raise WriteFailedError(f"{name + ending}: {error.strerror}", file=name + ending) from error
    print(f"saved {name}.json and {name}.md", file=sys.stderr)
