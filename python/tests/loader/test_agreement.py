"""Ranks whose loaders differ hear of it, and none waits for another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr

pytest.importorskip("torch", reason="torch is not installed")

PROGRAM = """
import os, sys, warnings
rank, store, paths = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
import torch, headrace as hr
import torch.distributed as dist
from torch.utils.data import RandomSampler, DistributedSampler
from headrace.torch import DataLoader
data = hr.open(paths)
early = hr.Loader(data, 50, sampler=list(range(633))) if rank == 0 else None
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)

def tell(name, make, epochs=2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            loader = make()
            got = [sum(len(batch["labels"]) for batch in loader) for _ in range(epochs)]
        except hr.InvalidArgumentError as error:
            got = str(error)
    print(name, "|", got, "|", *(str(one.message) for one in caught), flush=True)
    dist.barrier()

torch.manual_seed(rank)
tell("drawn", lambda: DataLoader(data, 50, sampler=RandomSampler(range(633))))
generator = torch.Generator().manual_seed(3)
tell("seeded", lambda: DataLoader(data, 50, sampler=RandomSampler(range(633), generator=generator)))
tell("divides", lambda: DataLoader(data, 50, sampler=DistributedSampler(range(633), seed=3)))
tell("shuffle", lambda: hr.Loader(data, 50, shuffle=True))
tell("seed", lambda: hr.Loader(data, 50, shuffle=True, seed=rank))
tell("weights", lambda: hr.Loader(data, 50, sampler=hr.Weighted(range(rank, 633 + rank))))
tell("ranks", lambda: hr.Loader(data, 50, shuffle=True, seed=rank, rank=rank, world_size=2))
tell("own", lambda: hr.Loader(data, 50, shuffle=True, seed=rank, rank=0, world_size=1))
tell("files", lambda: hr.Loader(paths[rank], 50))
if rank == 0:
    loader = hr.Loader(paths[0], 50)  # one rank alone: no wait
    print("alone |", len(list(loader)), flush=True)
tell("early", lambda: early or hr.Loader(data, 50, sampler=list(range(633))))
tell("looks", lambda: hr.Loader(data, 64) if rank == 0 else hr.Loader(data, 50, shuffle=True))
child = os.fork()  # a worker has its parent's process group, and not its connection
if child == 0:
    try:
        list(hr.Loader(data, 50, shuffle=True, seed=100 + rank))
    finally:
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tell("after", lambda: hr.Loader(data, 50, shuffle=True))
dist.destroy_process_group()
"""


def test_ranks_that_differ(jets, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program)]
    runs = [
        subprocess.Popen(
            [*command, str(rank), str(tmp_path / "store"), *map(str, jets.paths)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "HEADRACE_LOG": "warning"},  # where ranks above 0 warn
        )
        for rank in range(2)
    ]
    texts = [run.communicate(timeout=120)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], texts
    lines = [dict(line.split(" | ", 1) for line in text.splitlines() if " | " in line) for text in texts]
    for name, what in {"drawn": "rows", "seed": "seed", "weights": "weights", "ranks": "seed"}.items():
        refused = [line[name] for line in lines if "that this rank goes through" in line[name]]
        assert len(refused) == 1, "the first one hears nothing"
        assert f"has other {what} in epoch 0 than that of rank " in refused[0]
        assert "some samples would come twice, and others not at all" in refused[0]
    assert "RandomSampler(data, generator=" in "".join(line["drawn"] for line in lines)
    for line in lines:
        assert line["seeded"].startswith("[317, 317]") or line["seeded"].startswith("[316, 316]")
        assert line["divides"].startswith("[317, 317]") and line["shuffle"][:4] in ("[316", "[317")
        assert line["own"].startswith("[633, 633]")
        assert not any("has other" in line[name] for name in ("seeded", "divides", "shuffle", "own"))
    assert not any("twice" in line["early"] for line in lines), "a list that was read before there were ranks"
    assert not any("twice" in line["looks"] for line in lines), "one rank alone looks at the same data otherwise"
    assert "loader 6 that this rank goes through has other files than that of rank" in "".join(texts)
    assert lines[0]["alone"] == "3"
    assert not any("twice" in line["after"] for line in lines), (
        "the number of a loader is a guess, other data a warning"
    )


@pytest.mark.parametrize("first", [0, 1])
def test_rows_that_were_read_before_there_were_ranks_are_not_compared(jets, monkeypatch, first: int) -> None:
    """A list is read when its loader is made; of one that was made too early no checksum is known."""
    import torch.distributed as dist

    from headrace._loader import agreement

    store = dist.HashStore()
    rows = [list(range(633)), list(range(633))[::-1]]
    loaders = {rank: hr.Loader(jets.open(), 50, sampler=rows[rank], rank=rank, world_size=2) for rank in range(2)}
    loaders[1]._listing.checksum = "0badcafe"
    monkeypatch.setattr(agreement, "_store", lambda: store)
    for rank in (first, 1 - first):
        monkeypatch.setattr(agreement, "distributed_rank", lambda rank=rank: (rank, 2))
        loaders[rank]._agreement._number = 0  # each rank is a process, which counts for itself
        assert len(list(loaders[rank])) == 7
