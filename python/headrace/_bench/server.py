"""The process that measures contestants: it imports once what they need, and forks a fresh process for each of them.

Requests are lines of JSON on stdin, answers lines of JSON on what was stdout. It ends with its stdin.
"""

from __future__ import annotations

import base64
import ctypes
import importlib
import json
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterable
from typing import Any, BinaryIO

from headrace._bench.rivals import RIVALS, CannotError, Column, Rows, check
from headrace._bench.timing import time_passes
from headrace.errors import Error

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve until stdin ends."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that asked tells this one when to stop
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what contestants print is no answer
    missing = {name: reason for name in sys.argv[1:] if (reason := _import(name))}
    _import("hdf5plugin")
    _answer(answers, {"missing": missing})
    for line in iter(sys.stdin.buffer.readline, b""):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            end_with_parent()
            with os.fdopen(writer, "wb", buffering=0) as to:
                _answer(to, _measured(json.loads(line)))
            return
        os.close(writer)
        with os.fdopen(reader, "rb") as source:
            text = source.readline()
        _, status = os.waitpid(child, 0)
        if not text:
            text = json.dumps({"error": _death(status)}).encode() + b"\n"
        answers.write(text)


def end_with_parent() -> None:
    """Let this process be killed when the one that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _import(name: str) -> str:
    """Import a package; the reason why that is impossible, or nothing."""
    try:
        importlib.import_module(name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _answer(to: BinaryIO | Any, answer: dict[str, Any]) -> None:
    to.write(json.dumps(answer).encode() + b"\n")


def _death(status: int) -> str:
    number = os.waitstatus_to_exitcode(status)
    if number < 0:
        return f"its process was killed by {signal.Signals(-number).name} (memory, or a small /dev/shm?)"
    return f"its process ended with status {number}"


def _measured(request: dict[str, Any]) -> dict[str, Any]:
    limits = {name: request[name] for name in ("epochs", "seconds", "batches")}
    try:
        rival = RIVALS.get(request["name"])  # Headrace is none: its window fills with the first batch
        fills = rival is None or rival.cached_rows is not None
        first, later = time_passes(_starter(request), **limits, counts_first=fills)
    except CannotError as error:
        return {"cannot": str(error)}
    except Error as error:  # of Headrace itself
        return {"exception": base64.b64encode(pickle.dumps(error)).decode()}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"first": first, "later": later}


def _starter(request: dict[str, Any]) -> Callable[[], Iterable[Any]]:
    if request["name"] == "headrace":
        loader = pickle.loads(base64.b64decode(request["loader"]))
        return lambda: loader
    columns = [Column(**{**column, "shape": tuple(column["shape"])}) for column in request["columns"]]
    files = tuple((path, count) for path, count in request["files"])
    rows = Rows(files, tuple(columns), tuple(map(tuple, request["extents"])))
    check(rows)
    rival = RIVALS[request["name"]]
    words = {name: request[name] for name in ("shuffled", "workers", "memory")}
    batches = rival.start(rows, request["batch_size"], **words)
    return lambda: batches
