"""Caches that several processes fill and share, with kills at any moment. Slow: seconds each."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from memory_files import (
    MIB,
    SIZE,
    Shards,
    child_source,
    run_child,
    start_child,
)

import headrace as hr


def states(directory: Path) -> list[str]:
    return [entry["state"] for entry in hr.cache_list(directory).to_dict()["caches"]]


def test_builds_that_are_killed(rows, tmp_path: Path) -> None:
    """Killed ten times in the first epoch, at random moments: each time a valid cache or none, then a good run."""
    draw = random.Random(1)
    script = """
    print("up", flush=True)
    loader = hr.Loader(PATH, 64, shuffle=True, cache=FOLDER, threads=2)
    run(loader, 1)
    """
    cache = tmp_path / "cache"
    for _ in range(10):
        process = start_child(script, PATH=rows["gzip"], FOLDER=str(cache))
        process.stdout.readline()
        time.sleep(draw.choice([0.01, 0.05, 0.1, 0.2, 0.3, 0.4]) * draw.random())
        process.kill()
        process.communicate()
        for path in cache.glob("*/manifest.json") if cache.exists() else []:
            assert path.parent.suffix == "" or path.parent.name.endswith(".building"), path
    run_child(
        """
        loader = hr.Loader(PATH, 64, shuffle=True, cache=FOLDER)
        assert run(loader, 2) == 2 * len(loader.dataset)
        loader.close()
        """,
        PATH=rows["gzip"],
        FOLDER=str(cache),
    )
    assert states(cache) == ["valid"]
    assert not hr.cache_verify(cache).findings
    loader = hr.Loader(rows["gzip"], 64, cache=cache)
    for batch in loader:
        assert np.array_equal(batch["x"][:, 7], batch["y"].astype(np.uint32))
    assert loader.report().chunks_decoded == 0
    assert len(list(cache.iterdir())) == 1


def test_two_processes_build_together(rows, tmp_path: Path) -> None:
    script = """
    loader = hr.Loader(PATH, 64, shuffle=True, seed=SEED, cache=FOLDER, threads=1)
    sys.stdin.readline()
    assert run(loader, 2) == 2 * len(loader.dataset)
    decoded = {s.name: s.bytes for s in loader.report().stages}["decode"]
    loader.close()
    print(decoded, loader.report().notices)
    """
    counts = run_together(script, 2, {"PATH": rows["gzip"], "FOLDER": str(tmp_path / "cache")})
    assert states(tmp_path / "cache") == ["valid"]
    alone = SIZE // 2 * MIB
    assert sum(counts) <= 1.3 * alone, (counts, alone)  # two threads may decode what the other is about to


def run_together(script: str, processes: int, values: dict[str, Any], per: Any = None) -> list[int]:
    """Start processes, let them go at the same moment; the first word that each says."""
    running = []
    for i in range(processes):
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", child_source(script, SEED=i, RANK=i, WORLD=processes, **values)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    time.sleep(0.7)
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [process.communicate(timeout=120) for process in running]
    for process, (out, err) in zip(running, ends, strict=True):
        assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}"
    return [int(out.split()[0]) for out, _ in ends]


HOST = """
loader = hr.Loader(PATH, 64, shuffle=SHUFFLE, share="host", threads=1, rank=RANK, world_size=WORLD, **OPTIONS)
sys.stdin.readline()
seen = [check(batch).copy() for _ in range(2) for batch in loader]
assert sum(map(len, seen)) == 2 * len(loader.dataset) // WORLD, sum(map(len, seen))
decoded = {s.name: s.bytes for s in loader.report().stages}["decode"]
print(decoded, loader.report().cache.kind, loader.report().notices, flush=True)
sys.stdin.read()
"""


def residue() -> set[str]:
    """What processes may leave behind on this host."""
    left = {str(path) for path in Path("/dev/shm").iterdir()}
    left |= {str(path) for path in Path("/tmp").glob("*headrace*")}
    return left | set(re.findall(r"@\S*headrace\S*", Path("/proc/net/unix").read_text()))


@pytest.mark.parametrize("world", [2, 3])
@pytest.mark.parametrize("shuffle", [True, "exact", False])
def test_ranks_of_a_host_decode_once_together(rows, world: int, shuffle: Any) -> None:
    before = residue()
    data = SIZE // 2 * MIB
    alone = run_together(HOST, 1, {"PATH": rows["gzip"], "SHUFFLE": shuffle, "OPTIONS": {}})
    counts = run_together(HOST, world, {"PATH": rows["gzip"], "SHUFFLE": shuffle, "OPTIONS": {}})
    assert data <= alone[0] <= 1.05 * data
    assert sum(counts) <= 1.05 * alone[0], (counts, alone)
    assert residue() == before


def test_the_creator_of_what_is_shared_is_killed(rows) -> None:
    before = residue()
    script = """
    loader = hr.Loader(PATH, 64, shuffle=True, share="host", threads=1, rank=RANK, world_size=3)
    iterator = iter(loader)
    seen = [check(next(iterator)).copy()]
    print("up", flush=True)
    for batch in iterator:
        seen.append(check(batch).copy())
        time.sleep(0.01)
    for batch in loader: seen.append(check(batch).copy())
    print(sum(map(len, seen)), flush=True)
    """
    running = []
    for rank in range(3):
        running.append(start_child(script, PATH=rows["gzip"], RANK=rank))
        assert running[-1].stdout.readline() == "up\n", running[-1].communicate()[1]
    running[0].send_signal(signal.SIGKILL)
    late = start_child(script, PATH=rows["gzip"], RANK=0)  # it comes back, as launchers do
    for process in [*running[1:], late]:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert int(out.split()[-1]) == 2 * (SIZE // 2 * 64) // 3
        assert "Traceback" not in err
    running[0].communicate()
    assert residue() == before


def test_kills_at_any_moment_leave_the_others_right(rows) -> None:
    before = residue()
    draw = random.Random(3)
    script = """
    print("up", flush=True)
    loader = hr.Loader(PATH, 64, shuffle=True, seed=SEED, share="host", threads=2)
    assert run(loader, 2) == 2 * len(loader.dataset)
    """
    survivors = [start_child(script, PATH=rows["gzip"], SEED=i) for i in range(2)]
    for i in range(6):
        victim = start_child(script, PATH=rows["gzip"], SEED=10 + i)
        victim.stdout.readline()
        time.sleep(0.3 * draw.random())
        victim.kill()
        victim.communicate()
    for process in survivors:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert residue() == before


def test_what_is_shared_keeps_to_the_budget_of_each(rows) -> None:
    """Less than the data: as much as there is room for is shared, and every batch is right."""
    counts = run_together(HOST, 2, {"PATH": rows["gzip"], "SHUFFLE": True, "OPTIONS": {"memory": 60 * MIB}})
    assert sum(counts) < 4 * (SIZE // 2 * MIB)


def test_other_data_and_other_layouts_do_not_share(shards: Shards) -> None:
    """Loaders of one process over other fields, selections and files, at the same time."""
    draw = random.Random(9)
    loaders = []
    for _ in range(8):
        names = [*draw.sample(["x", "adj", "t", "b", "s"], draw.randint(1, 4)), "y"]
        draw.shuffle(names)
        data = hr.open(draw.sample(shards.paths, 2), fields=names)
        if draw.random() < 0.5:
            data = data.select(sorted(draw.sample(range(len(data)), 150)))
        memory = draw.choice([None, None, "3MiB"])
        loaders.append(hr.Loader(data, 50, shuffle=True, share="host", memory=memory, threads=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        for _ in range(2):
            for loader in loaders:
                assert len(shards.check_epoch(loader)) == len(loader.dataset)
