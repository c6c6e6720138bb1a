"""Global batches of several processes of JAX: the same for any number of them, also of those that resume."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytest.importorskip("jax", reason="jax is not installed")
PROGRAM = Path(__file__).with_name("jax_process.py")
BATCH, LENGTH, TOKENS = 12, 16, 1700
STEPS = TOKENS // LENGTH // BATCH  # of an epoch, whose rest is dropped


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.npy"
    np.save(path, np.random.default_rng(0).permutation(TOKENS).astype(np.uint16))  # a token tells its window
    return path


@pytest.fixture(scope="module")
def expected(corpus: Path) -> list[np.ndarray]:
    """The batches of two epochs, of one loader without JAX."""
    windows = hr.open_tokens(corpus).windows(LENGTH)
    loader = hr.Loader(windows, BATCH, shuffle=True, seed=5, drop_last=True)
    return [batch["tokens"] for _ in range(2) for batch in loader]


def run(folder: Path, corpus: Path, processes: int, **words: Any) -> list[dict[str, Any]]:
    """What each process saw, of four devices in all."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    told = json.dumps({"data": str(corpus), **words})
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={4 // processes}"
    environment["NPROC"] = "16"  # threads of XLA: with fewer, collectives of several devices can wait for each other
    running = [
        subprocess.Popen(
            [sys.executable, str(PROGRAM), str(folder), str(port), str(processes), str(number), told],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in range(processes)
    ]
    try:
        said = [process.communicate(timeout=240)[0] for process in running]
    finally:
        for process in running:
            process.kill()
    assert [process.returncode for process in running] == [0] * processes, "\n".join(said)
    seen = [json.loads((folder / f"{words['run']}_{number}.json").read_text()) for number in range(processes)]
    return [{**one, "said": text} for one, text in zip(seen, said, strict=True)]


def global_batches(seen: list[dict[str, Any]]) -> list[np.ndarray]:
    """The batches, put together from what lies on all devices. Copies of a piece have to agree."""
    made = []
    for parts in zip(*(one["steps"] for one in seen), strict=True):
        rows = max(shard["spans"][0][1] for part in parts for shard in part["shards"])
        batch = np.full((rows, LENGTH), -1)
        for shard in (shard for part in parts for shard in part["shards"]):
            piece = tuple(slice(*span) for span in shard["spans"])
            values = np.array(shard["values"])
            assert ((batch[piece] == -1) | (batch[piece] == values)).all()
            batch[piece] = values
        assert {part["sum"] for part in parts} == {int(batch.sum())}  # computed over all processes
        made.append(batch)
    return made


def same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
def test_another_number_of_processes_goes_on(
    before: int, after: int, corpus: Path, expected: list[np.ndarray], tmp_path: Path
) -> None:
    """Stopped in the middle of the first epoch, with a batch ahead that was never delivered."""
    words = {"mesh": [2, 2], "spec": ["data"]}
    first = run(tmp_path, corpus, before, run="first", steps=3, **words)
    states = {(tmp_path / f"state_first_{number}.json").read_text() for number in range(before)}
    assert len(states) == 1
    second = run(tmp_path, corpus, after, run="second", restore="state_first_0.json", **words)
    same(global_batches(first) + global_batches(second), expected)
    assert sorted(one["blocks"] for one in second) == [[number, after] for number in range(after)]

    epoch = np.concatenate((global_batches(first) + global_batches(second))[:STEPS]).ravel()
    assert len(set(epoch.tolist())) == STEPS * BATCH * LENGTH  # each token once


@pytest.mark.parametrize(
    ("mesh", "spec", "blocks"),
    [
        ([4, 1], ["data"], [[0, 2], [1, 2]]),  # each process has a half of the rows
        ([2, 2], ["model"], [[0, 1], [0, 1]]),  # both have all rows, each divided over its devices
        ([2, 2], [None, "data"], [[0, 1], [0, 1]]),  # all rows, and a half of each
        ([2, 2], ["data", "model"], [[0, 2], [1, 2]]),
    ],
)
def test_each_process_loads_the_rows_of_its_devices(
    mesh: list[int], spec: list[str | None], blocks: list[list[int]], corpus: Path, expected: Any, tmp_path: Path
) -> None:
    seen = run(tmp_path, corpus, 2, run="all", mesh=mesh, spec=spec)
    same(global_batches(seen), expected)
    assert [one["blocks"] for one in seen] == blocks
    assert not any("HeadraceWarning" in one["said"] for one in seen)


def test_a_smaller_last_batch_is_divided_too(corpus: Path, tmp_path: Path) -> None:
    loader = hr.Loader(hr.open_tokens(corpus).windows(LENGTH), BATCH, shuffle=True, seed=5)
    whole = [batch["tokens"] for _ in range(2) for batch in loader]
    assert len(whole[-1]) == 10
    seen = run(tmp_path, corpus, 2, run="partial", mesh=[2, 2], spec=["data"], tail="partial")
    same(global_batches(seen), whole)


def test_rows_that_are_no_block_are_loaded_with_those_between(corpus: Path, expected: Any, tmp_path: Path) -> None:
    seen = run(tmp_path, corpus, 2, run="mixed", mesh=[4, 1], spec=["data"], order=[0, 2, 1, 3])
    same(global_batches(seen), expected)
    assert [one["blocks"] for one in seen] == [[0, 1], [0, 1]]
    assert seen[0]["said"].count("the devices of process 0 need 6 of the 12 rows of a batch") == 1
