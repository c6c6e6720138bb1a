"""The process that measures one contestant, once: a request as JSON, and the answer in a file beside it."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from headrace._bench.server import end_with_parent
from headrace._programs.text_bench import checking, loaders
from headrace._programs.text_bench.corpus import read_lines
from headrace._programs.text_bench.memory import resident_bytes, tree
from headrace._programs.text_bench.plan import Variant
from headrace._programs.text_bench.store import Store
from headrace._programs.text_bench.timing import time_batches, time_passes
from headrace._programs.text_bench.vocabulary import Vocabulary


def main() -> None:
    """Read the request that the command line names, measure, and write the answer."""
    end_with_parent()
    path = Path(sys.argv[1])
    answer = answered(json.loads(path.read_text(encoding="utf-8")))
    made = path.with_suffix(".made")
    made.write_text(json.dumps(answer), encoding="utf-8")
    made.rename(path.with_suffix(".answer"))
    sys.stdout.flush()
    os._exit(0)  # worker processes end with it, and are not waited for


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """Return what was measured; or why the contestant is skipped, or what failed."""
    try:
        return _tokenising(request) if request["part"] == "tokenising" else _batches(request)
    except LookupError as error:
        if type(error) is LookupError:
            return {"skipped": str(error)}
        return {"failed": f"{type(error).__name__}: {error}"}
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def _tokenising(request: dict[str, Any]) -> dict[str, Any]:
    texts = read_lines(Path(request["texts"]), request["documents"])
    encoder = Vocabulary(**request["vocabulary"]).encoder(request["name"], request["threads"])
    expected = np.load(request["ids"])
    measured = time_passes(encoder.encode, texts, request["seconds"]) if not request["check"] else {}
    if request["check"]:  # before any is timed; in a process of its own, so that no cache is warm
        ids = encoder.joined(encoder.encode(texts))
        if not np.array_equal(ids, expected):
            raise checking.WrongBatchError(_difference(ids, expected))
    return measured


def _difference(ids: Any, expected: Any) -> str:
    same = min(len(ids), len(expected))
    differ = np.flatnonzero(ids[:same] != expected[:same])
    if len(differ) == 0:
        return f"it makes {len(ids):,} ids of the text, not {len(expected):,}"
    at = int(differ[0])
    return f"its ids differ: token {at:,} is {int(ids[at])}, not {int(expected[at])}"


def _batches(request: dict[str, Any]) -> dict[str, Any]:
    store, variant = Store(**request["store"]), Variant(**request["variant"])
    name, vocabulary = request["name"], request["vocabulary"]["json"]
    kept: list[loaders.Epochs] = []

    def make() -> loaders.Epochs:
        kept.append(loaders.make(name, store, variant, vocabulary))
        return kept[0]

    _import(name)
    measured = time_batches(make, request["count"], request["seconds"], name.startswith("headrace"))
    measured["peak_rss_bytes"] = resident_bytes(tree(os.getpid()))
    Path(request["measured"]).touch()  # what comes now is no part of the peak
    if request["check"]:
        expected = checking.expected_texts(store) if name == "torch-text" else checking.expected_windows(store)
        began = time.perf_counter()
        measured["checked"] = checking.check(kept[0](1), expected, store, request["seconds"])
        measured["checked"]["seconds"] = time.perf_counter() - began
    return measured


def _import(name: str) -> None:
    """Import what a training has imported anyway, outside of the time."""
    packages = {"headrace-jax": "jax", "grain": "grain", "torch": "torch", "torch-text": "torch", "tf": "tensorflow"}
    if name in packages:
        __import__(packages[name])
    if name == "headrace-jax":
        import jax

        jax.devices()
