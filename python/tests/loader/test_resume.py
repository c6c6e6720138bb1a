"""State, ranks and tails: every sample once, over stops, restarts and processes."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr


def rows_of(batches: Any) -> list[list[int]]:
    return [batch["y"].tolist() for batch in batches]


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_resume_at_every_step(jets, shuffle) -> None:
    data = jets.open()
    want = rows_of(hr.Loader(data, 50, shuffle=shuffle, seed=3))
    for step in range(len(want)):
        loader = hr.Loader(data, 50, shuffle=shuffle, seed=3)
        batches = iter(loader)
        got = [next(batches)["y"].tolist() for _ in range(step)]
        state = json.loads(json.dumps(loader.state_dict()))
        assert len(json.dumps(state)) < 200
        other = hr.Loader(data, 50, shuffle=shuffle, seed=3, threads=1, memory="1MiB")
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert len(other) == len(want)
        assert got + rows_of(other) == want
        assert other.state_dict() == {**state, "epoch": 1, "samples": 0}


def test_an_iterator_is_rewound(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    second = next(batches)["y"].tolist()
    loader.load_state_dict(state)
    assert next(batches)["y"].tolist() == second


def test_a_loader_is_pickled_with_its_state(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True)
    batches = iter(loader)
    next(batches)
    copy = pickle.loads(pickle.dumps(loader))
    assert rows_of(copy) == rows_of(batches)


def test_states_of_something_else(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True)
    state = loader.state_dict()
    for wrong, named in (
        ({**state, "seed": 5}, "seed"),
        ({**state, "rows": 5}, "number of samples"),
        ({**state, "data": "0" * 16}, "data"),
        ({**state, "order": "files"}, "order"),
        ({**state, "samples": 10**9}, "samples"),
        ({"epoch": 0}, "'v'"),
        ({}, "'v'"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=named):
            loader.load_state_dict(wrong)
        assert loader.state_dict() == state


class Asked:
    """A sampler whose rows follow from the epoch, and which remembers the epochs it was asked for."""

    def __init__(self, rows: int) -> None:
        self.rows, self.epochs = rows, []

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)

    def __iter__(self) -> Any:
        order = np.random.default_rng(self.epochs[-1]).permutation(self.rows)
        return iter((order if self.epochs[-1] < 5 else order[: self.rows - 100]).tolist())

    def __len__(self) -> int:
        return self.rows


def test_a_refused_state_changes_nothing(jets) -> None:
    sampler = Asked(len(jets))
    loader = hr.Loader(jets.open(), 50, sampler=sampler)
    want = rows_of(hr.Loader(jets.open(), 50, sampler=Asked(len(jets))))
    batches = iter(loader)
    got = rows_of([next(batches)])
    state = loader.state_dict()
    asked = list(sampler.epochs)
    for wrong in (
        {**state, "epoch": 3, "seed": 5},
        {**state, "epoch": 7, "order": "files"},
        {**state, "epoch": 2**63},
        {**state, "epoch": 2**64 - 1},
        {**state, "epoch": -1},
        {**state, "epoch": True},
        {"epoch": 7},
    ):
        with pytest.raises(hr.InvalidArgumentError):
            loader.load_state_dict(wrong)
        assert sampler.epochs == asked
        assert loader.state_dict() == state
    # The sampler has to be asked before the number of rows is known; the loader is as it was all the same.
    with pytest.raises(hr.InvalidArgumentError, match="number of samples"):
        loader.load_state_dict({**state, "epoch": 6})
    assert loader.state_dict() == state
    assert got + rows_of(batches) == want


def test_a_state_with_an_order_of_another_length(jets) -> None:
    """It comes with the state, for an epoch whose rows are fewer than those of the one at hand."""
    first = hr.Loader(jets.open(), 50, sampler=Asked(len(jets)))
    first.set_epoch(6)
    batches = iter(first)
    next(batches)
    state = first.state_dict()
    assert state["rows"] == len(jets) - 100
    second = hr.Loader(jets.open(), 50, sampler=Asked(len(jets)))
    live = iter(second)
    next(live)
    second.load_state_dict(state)
    assert second.state_dict() == state
    assert rows_of(second) == rows_of(batches)
    with pytest.raises(hr.ClosedError):
        next(live)


@pytest.mark.parametrize("epoch", [2**63 - 1, 2**63 - 2])
def test_the_last_epochs(jets, epoch: int) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True)
    loader.load_state_dict({**loader.state_dict(), "epoch": epoch})
    assert sorted(row for rows in rows_of(loader) for row in rows) == list(range(len(jets)))


def write_rows(path: Path, first: int, *, compression: str | None = None, rows: int = 1000) -> Path:
    path.parent.mkdir(exist_ok=True)
    with h5py.File(path, "w") as file:
        file.create_dataset("y", data=np.arange(first, first + rows), chunks=(10,), compression=compression)
    return path


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_state_knows_its_files(tmp_path, compression) -> None:
    def files(folder: str, firsts: dict[str, int]) -> list[Path]:
        return [write_rows(tmp_path / folder / name, first, compression=compression) for name, first in firsts.items()]

    here = files("here", {"a.h5": 0, "b.h5": 1000})
    loader = hr.Loader(here, 50, shuffle=True)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    assert len(json.dumps(state)) < 200
    rest = rows_of(batches)

    moved = [Path(shutil.copy(path, tmp_path / f"moved_{path.name}")) for path in here]  # times of today, other names
    (tmp_path / "there").mkdir()
    copies = [Path(shutil.copyfile(path, tmp_path / "there" / path.name)) for path in here]
    again = hr.Loader(copies, 50, shuffle=True)
    again.load_state_dict(state)
    assert rows_of(again) == rest

    for other, text in (
        (here[::-1], "the same files in another order"),
        (moved, "other names"),
        (files("changed", {"a.h5": 0, "b.h5": 5000}), "another content"),
        (files("strange", {"c.h5": 7, "d.h5": 9}), "the files are others"),
    ):
        loader = hr.Loader(other, 50, shuffle=True)
        before = loader.state_dict()
        with pytest.raises(hr.InvalidArgumentError, match=text) as error:
            loader.load_state_dict(state)
        assert "accept_changed_data=True" in error.value.hint
        assert loader.state_dict() == before
        loader.load_state_dict(state, accept_changed_data=True)
        assert len(rows_of(loader)) == len(rest)
    with pytest.raises(hr.InvalidArgumentError, match="accept_changed_data must be"):
        loader.load_state_dict(state, accept_changed_data="yes")


def test_a_state_of_one_file_names_it(tmp_path) -> None:
    state = hr.Loader(write_rows(tmp_path / "a" / "x.h5", 0), 50).state_dict()
    other = write_rows(tmp_path / "b" / "x.h5", 1)
    with pytest.raises(hr.InvalidArgumentError, match=r"another content") as error:
        hr.Loader(other, 50).load_state_dict(state)
    assert error.value.file == str(other)
    longer = write_rows(tmp_path / "c" / "x.h5", 0, rows=1200)
    with pytest.raises(hr.InvalidArgumentError, match="number of samples"):
        hr.Loader(longer, 50).load_state_dict(state, accept_changed_data=True)


def test_ranks_join_to_the_global_batches(jets) -> None:
    data = jets.open()
    want = rows_of(hr.Loader(data, global_batch_size=60, shuffle=True))
    for world in (2, 3, 4):
        ranks = [
            rows_of(hr.Loader(data, global_batch_size=60, shuffle=True, rank=r, world_size=world)) for r in range(world)
        ]
        assert [[row for part in parts for row in part] for parts in zip(*ranks, strict=True)] == want


def test_row_sums_of_ranks_add_up(jets) -> None:
    data = jets.open()
    sums = np.zeros(3, np.uint64)
    for rank in range(2):
        loader = hr.Loader(data, 25, shuffle=True, rank=rank, world_size=2)
        for _ in loader:
            pass
        part = loader.report().row_sums
        sums += np.array([part.rows, part.sum_of_rows, part.sum_of_squares], np.uint64)
    rows = np.arange(len(data), dtype=np.uint64)
    assert sums.tolist() == [len(data), rows.sum(), (rows * rows).sum()]


def test_one_rank_is_checked_to_be_exactly_once(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True)
    assert not loader.report().to_dict()["exactly_once"]
    for _ in loader:
        pass
    assert loader.report().to_dict()["exactly_once"]
    assert "exactly once" in str(loader.report())


def test_padding(jets) -> None:
    data = jets.open()
    seen = []
    for rank in range(3):
        for batch in hr.Loader(data, 32, shuffle=True, tail="pad", rank=rank, world_size=3):
            assert len(batch["y"]) == 32
            assert batch["_weight"].dtype == np.float32
            seen += batch["y"][batch["_weight"] > 0].tolist()
    assert sorted(seen) == list(range(len(data)))


def test_provenance(jets) -> None:
    data = jets.open()
    first = np.cumsum([0] + [file.rows for file in data.files])
    for batch in hr.Loader(data, 50, shuffle=True, provenance=True):
        file, row = batch["_rows"].T
        assert np.array_equal(first[file] + row, batch["y"])


def test_the_ranks_of_a_host_divide_its_processors(run_python, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4096")
    done = run_python("""
        import os
        loader = hr.Loader(PATHS, 50)
        for batch in loader:
            pass
        print(loader.report().threads)
        if len(os.sched_getaffinity(0)) > 1:
            assert "4096 processes on this host, says LOCAL_WORLD_SIZE" in loader.explain(), loader.explain()
        print("threads        3 (threads=)" in hr.Loader(PATHS, 50, threads=3).explain())
    """)
    assert done.stdout.split() == ["1", "True"]


def test_the_rank_comes_from_the_launcher(run_python) -> None:
    run_python("""
        import os
        loader = hr.Loader(PATHS, 20)
        whole = len(loader)
        os.environ.update(RANK="1", WORLD_SIZE="2")
        first = next(iter(loader))
        assert first["labels"][0] == 20, first["labels"]
        assert len(loader) < whole
        assert "1 of 2 (RANK and WORLD_SIZE (torchrun))" in loader.explain(), loader.explain()
    """)


PROGRAM = """
import os, signal, sys
import headrace as hr
import torch.distributed as dist

folder, world, stop = sys.argv[2], int(os.environ["WORLD_SIZE"]), int(sys.argv[3])
loader = hr.Loader(sys.argv[1], global_batch_size=24, shuffle=True, seed=5)  # made before the process group is
dist.init_process_group("gloo")
rank = dist.get_rank()
state_file = os.path.join(folder, "state.json")
if os.path.exists(state_file):
    import json
    loader.load_state_dict(json.load(open(state_file)))
log = open(os.path.join(folder, f"seen_{stop}_{rank}.txt"), "a")
for step, batch in enumerate(loader):
    print(*batch["labels"].tolist(), file=log, flush=True)
    dist.barrier()
    if rank == 0 and step + 1 == stop:
        import json
        with open(state_file + ".new", "w") as file:
            json.dump(loader.state_dict(), file)
        os.replace(state_file + ".new", state_file)
    dist.barrier()
    if step + 1 == stop:
        os.kill(os.getpid(), signal.SIGKILL)
dist.destroy_process_group()
"""


@pytest.mark.parametrize("world", [1, 4])
def test_killed_processes_are_resumed_by_others(jets, tmp_path: Path, world: int) -> None:
    """Two processes are killed in the middle of an epoch; one, or four, go on: together they see every sample once."""
    pytest.importorskip("torch")
    program = tmp_path / "train.py"
    program.write_text(textwrap.dedent(PROGRAM))

    def launch(processes: int, stop: int) -> list[int]:
        port = 20000 + os.getpid() % 20000
        environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port + processes)}
        running = [
            subprocess.Popen(
                [sys.executable, str(program), jets.glob, str(tmp_path), str(stop)],
                env={**environment, "RANK": str(rank), "WORLD_SIZE": str(processes)},
            )
            for rank in range(processes)
        ]
        return [process.wait(timeout=300) for process in running]

    assert launch(2, 7) == [-signal.SIGKILL] * 2
    assert launch(world, 10**6) == [0] * world
    seen = [int(word) for path in tmp_path.glob("seen_*.txt") for word in path.read_text().split()]
    assert sorted(seen) == list(range(len(jets.y)))
