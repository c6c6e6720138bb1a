"""The experiment of docs/shuffling.md in small: what Headrace delivers trains as well as a global shuffle."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "bench/shuffle_quality/run.py"
KEYS = "none,file,sliding,interleave,corgipile_small,headrace_large_fit,headrace_small_fit,headrace_large_default"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """By key; a strategy that does not give every row once would have ended the script."""
    pytest.importorskip("headrace", reason="headrace is not installed")
    out = tmp_path_factory.mktemp("shuffle_quality")
    command = [sys.executable, str(SCRIPT), "--quick", "--only", KEYS]
    command += ["--out", str(out / "results.json"), "--plot", str(out / "picture.svg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    picture = (out / "picture.svg").read_text()
    assert picture.startswith("<svg")
    assert "Headrace" in picture
    return {result["key"]: result for result in json.loads((out / "results.json").read_text())["results"]}


def lost(results: dict[str, Any], key: str, world: str = "sorted") -> float:
    return results[key]["lost_points"][world]["mean"]


def test_the_experiment_tells_good_from_bad(results: dict[str, Any]) -> None:
    assert lost(results, "global") == 0
    assert lost(results, "none") > 20
    assert lost(results, "file") > 3
    assert lost(results, "sliding") > 10
    assert results["global"]["deff_sorted"]["64"] == pytest.approx(1, abs=0.2)
    assert results["none"]["deff_sorted"]["64"] == pytest.approx(64, rel=0.02)


@pytest.mark.parametrize("key", ["headrace_large_fit", "headrace_small_fit", "headrace_large_default"])
def test_as_good_as_a_global_shuffle(results: dict[str, Any], key: str) -> None:
    assert abs(lost(results, key)) < 0.7
    assert results[key]["deff_sorted"]["64"] < 1.5
    # No block was decoded twice. Blocks of the next epoch that were read ahead from memory count as needed too, each
    # once: how many that are by the end of this one is a matter of time.
    assert 0.5 <= results[key]["read_amplification"] <= 1


def test_files_in_no_order(results: dict[str, Any]) -> None:
    assert abs(lost(results, "headrace_small_fit", "scattered")) < 0.7
    assert abs(lost(results, "headrace_large_default", "scattered")) < 0.7


@pytest.mark.parametrize("key", ["headrace_large_fit", "headrace_small_fit", "headrace_large_default"])
def test_the_report_says_what_was_delivered(results: dict[str, Any], key: str) -> None:
    assert results[key]["batches_reported_on"] == 60_000 // 64  # all of them: equal then, not only alike
    for of in ("deff_of_blocks", "deff_of_files"):
        assert results[key][of]["delivered"] == pytest.approx(results[key][of]["reported"], rel=1e-9)
