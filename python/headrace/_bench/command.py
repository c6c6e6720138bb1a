"""``headrace bench`` where contestants run in Python.

With --compare or --against the C++ program reads the options; ``bench text`` is Python's from the beginning.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headrace import _headrace
from headrace._bench.compare import Settings, compare
from headrace._support.checks import path_bytes
from headrace._support.progress import ProgressLine
from headrace.errors import Error, WriteFailedError
from headrace.loader import Loader
from headrace.runs import open_run

_FINDINGS, _USAGE, _BAD_DATA, _RESOURCES, _BUG, _INTERRUPTED = 1, 2, 3, 4, 70, 130
_CLOSED = 141  # as a shell reports what SIGPIPE ended
_TEXT = ("bench", "text")  # a file of this name is ./text
_STATUS = {
    **dict.fromkeys(("invalid_argument", "not_found", "permission", "field_missing"), _USAGE),
    **dict.fromkeys(("corrupt_data", "unsupported", "read_failed", "file_changed"), _BAD_DATA),
    **dict.fromkeys(("out_of_budget", "write_failed", "timeout"), _RESOURCES),
    "cancelled": _INTERRUPTED,
}


def is_for_python(arguments: Sequence[str]) -> bool:
    """True if these arguments of the command line ask for contestants that run in Python."""
    if tuple(arguments[:2]) == _TEXT:
        return True
    words = [word for word in arguments if not word.startswith("-")]
    if words[:1] != ["bench"] or any(word in ("-h", "--help", "--describe") for word in arguments):
        return False
    return any(word.split("=")[0] in ("--compare", "--against") for word in arguments)


def run(program: str, arguments: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    if tuple(arguments[:2]) == _TEXT:
        return _run_text(arguments[2:])
    described = subprocess.run([program, *arguments, "--describe"], stdout=subprocess.PIPE, text=True, check=False)
    if described.returncode != 0:
        sys.stdout.write(described.stdout)
        return described.returncode
    asked = json.loads(described.stdout)
    try:
        result = _measure(asked)
        if asked["save"]:
            save(result, asked["save"])
    except Error as error:
        return _show_error(error, asked["json"])
    except KeyboardInterrupt:
        print("error: stopped before the end.", file=sys.stderr)
        return _INTERRUPTED
    if not show(result.to_json() if asked["json"] else str(result)):
        return _CLOSED
    if asked["save"]:
        print(f"saved {asked['save']}.md, {asked['save']}.json and {asked['save']}.svg", file=sys.stderr)
    return _FINDINGS if result.findings else 0


def _run_text(arguments: Sequence[str]) -> int:
    """Run ``bench text`` and return its exit status."""
    from headrace._programs.text_bench.command import options
    from headrace._programs.text_bench.command import run as run_text

    try:
        return run_text(options(arguments))
    except Error as error:
        return _show_error(error, "--json" in arguments)
    except KeyboardInterrupt:
        print("error: stopped before the end.", file=sys.stderr)
        return _INTERRUPTED


def show(text: str) -> bool:
    """Print the result; False if its reader has gone, as in ``… | head``."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what Python flushes at its end goes there
        return False
    return True


def save(result: _headrace.ToolResult, name: str) -> None:
    """Write NAME.md, NAME.json and NAME.svg.

    Raises:
        WriteFailedError: A file cannot be written.
    """
    for ending, text in ((".md", result.markdown), (".json", result.to_json()), (".svg", result.plot)):
        try:
            Path(name + ending).write_text(text, encoding="utf-8")
        except OSError as error:
            raise WriteFailedError(f"{name + ending}: {error.strerror}", file=name + ending) from error


def _measure(asked: dict[str, Any]) -> _headrace.ToolResult:
    settings = Settings(
        against=tuple(asked["against"]),
        workers=tuple(asked["workers"]),
        epochs=asked["epochs"],
        rounds=asked["rounds"],
        seconds=asked["seconds"],
        num_batches=asked["num_batches"],
        baseline=asked["baseline"],
        max_slowdown=asked["max_slowdown"],
    )
    loaders = _loaders(asked)
    if asked["explain"]:
        print(loaders[0][1].explain(), file=sys.stderr)
    shown = sys.stderr.isatty() and not asked["quiet"]
    with ProgressLine("measuring", "turns") as line:
        return compare(loaders, settings, line if shown else None)


def _loaders(asked: dict[str, Any]) -> list[tuple[str, Loader]]:
    """Split and loader, for each batch size."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(asked["run_file"], encoding="utf-8")
        options = _headrace.load_run(path_bytes(path))
        train = open_run(path)
        validation = open_run(path, asked["val_files"]) if asked["val_files"] else None
    loaders = []
    for size in asked["batch_sizes"] or [None]:
        words = options
        if size is not None:
            words = {**{name: value for name, value in options.items() if "batch_size" not in name}, "batch_size": size}
        loaders.append(("train", Loader(train, **words)))
        if validation is not None:
            in_order = {name: value for name, value in words.items() if name != "shuffle_buffer"}
            loaders.append(("validation", Loader(validation, **{**in_order, "shuffle": False})))
    return loaders


def _show_error(error: Error, as_json: bool) -> int:
    """Show an error as the C++ program does."""
    status = _STATUS.get(error.code, _BUG)
    if as_json:
        parts = {"code": error.code, "message": error.message, "file": error.file, "hint": error.hint}
        told = {name: value for name, value in parts.items() if value}
        print(json.dumps({"error": {**told, "text": str(error)}, "exit_status": status}, indent=2))
        return status
    text, hint = str(error), error.hint or ""
    if hint and text.endswith(hint):
        text = text[: -len(hint)].rstrip()
    print(f"error: {text}", file=sys.stderr)
    if hint:
        print(f"hint:  {hint}", file=sys.stderr)
    return status
