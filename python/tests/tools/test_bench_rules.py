"""The rules by which rates of rivals are made, on timings that are made up."""

from __future__ import annotations

import subprocess
import sys

from headrace._bench.compare import from_cache
from headrace._bench.rivals import Column, Rows, lru_rows
from headrace._bench.timing import Pass


def _pass(*, counts_first: bool = False, complete: bool = False) -> Pass:
    # 1,000 samples in 10 s, which fill a cache; 9,000 from it in 1 s.
    return Pass(10_000, 10, 11.0, 1_000, 10.0, [0.1] * 9, complete, counts_first)


def test_the_batch_that_fills_a_cache_counts() -> None:
    assert _pass(counts_first=True).samples_per_second == 10_000 / 11
    assert _pass().samples_per_second == 9_000  # cut short: start-up apart
    assert _pass(complete=True).samples_per_second == 10_000 / 11  # what a stopwatch says of the epoch


def test_a_cache_that_did_not_turn_over_has_no_rate() -> None:
    assert "filled once" in from_cache(10_240, 10_240, 1_000_000)
    assert from_cache(20_480, 10_240, 1_000_000) == ""
    assert from_cache(5_000, 10_240, 5_000) == ""  # the whole epoch: that is what it does
    assert from_cache(100, 0, 1_000_000) == ""  # it keeps nothing


def test_rows_that_the_lru_keeps() -> None:
    rows = Rows((("a.h5", 100_000),), (Column("x", "x", "<f4", (8,), 128),))
    assert lru_rows(rows, 0, 1 << 30) == lru_rows(rows, 1, 1 << 30) == 10_240
    assert lru_rows(rows, 2, 1 << 30) == 20_480
    assert lru_rows(rows, 0, 4 * 3 * 1024 * 32) == 3 * 1024


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    code = (
        "import sys; from headrace._bench.command import show; sys.stdin.read(); sys.exit(0 if show('x' * 9) else 141)"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
