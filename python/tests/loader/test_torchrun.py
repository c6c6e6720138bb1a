"""torchrun over real files: killed in the middle, resumed by other numbers of processes, and every row once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from real_data import LIQUIDO, needed

import headrace as hr

SAVED, KILLED = 20, 23  # steps

PROGRAM = """
import json, os, sys
import headrace as hr
import torch.distributed as dist

path, field, folder, saved, run = sys.argv[1:]
dist.init_process_group("gloo")
data = hr.open(path, fields={"x": field})
loader = hr.Loader(data, global_batch_size=2400, shuffle=True, seed=5, provenance=True)
state_file = os.path.join(folder, "state.json")
if os.path.exists(state_file):
    loader.load_state_dict(json.load(open(state_file)))
log = open(os.path.join(folder, f"{run}_{dist.get_rank()}.txt"), "w")
for step, batch in enumerate(loader):
    sums = loader.report().to_dict()["row_sums"]
    print(json.dumps({"rows": batch["_rows"][:, 1].tolist(), "sums": sums}), file=log, flush=True)
    dist.barrier()
    if step + 1 == int(saved) and dist.get_rank() == 0:
        json.dump(loader.state_dict(), open(state_file, "w"))
dist.destroy_process_group()
"""


def steps_of(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")] if log.exists() else []


class Killed(NamedTuple):
    """A run of two processes that was killed after it had saved."""

    program: Path
    folder: Path
    data: Path


def launch(program: Path, processes: int, *arguments: object) -> subprocess.Popen[bytes]:
    """Start the program under torchrun, in a session of its own."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", program]
    return subprocess.Popen(
        [str(word) for word in (*command, *arguments)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """Kill two processes and their launcher in the middle of an epoch. Resuming starts from copies of the folder."""
    pytest.importorskip("torch")
    path = needed(LIQUIDO)
    folder = tmp_path_factory.mktemp("killed")
    program = tmp_path_factory.mktemp("program") / "train.py"
    program.write_text(textwrap.dedent(PROGRAM))
    first = launch(program, 2, path, "HitData", folder, SAVED, "first")
    deadline = time.monotonic() + 120
    while len(steps_of(folder / "first_0.txt")) < KILLED and first.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    os.killpg(first.pid, signal.SIGKILL)  # the launcher; its workers are sessions of their own
    for worker in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(program).encode() in worker.read_bytes():
                os.kill(int(worker.parent.name), signal.SIGKILL)
        except OSError:
            continue  # it is gone
    assert first.wait(60) == -signal.SIGKILL
    return Killed(program, folder, path)


@pytest.mark.parametrize("world", [1, 4])
def test_an_epoch_survives_a_kill(killed: Killed, tmp_path: Path, world: int) -> None:
    folder = tmp_path / "run"
    shutil.copytree(killed.folder, folder)
    total = len(hr.open(killed.data, fields=["HitData"]))
    second = launch(killed.program, world, killed.data, "HitData", folder, 10**6, "second")
    assert second.wait(120) == 0

    before = [steps_of(folder / f"first_{rank}.txt")[:SAVED] for rank in range(2)]
    after = [steps_of(folder / f"second_{rank}.txt") for rank in range(world)]
    assert [len(steps) for steps in before] == [SAVED] * 2
    assert len({len(steps) for steps in after}) == 1
    rows = [row for steps in before + after for step in steps for row in step["rows"]]
    assert sorted(rows) == list(range(total))
    # The same from the digests alone, taken where the rows were scattered.
    ends = [steps[-1]["sums"] for steps in before + after]
    powers = ("rows", "sum_of_rows", "sum_of_squares", "sum_of_cubes")
    whole = {power: sum(row**k for row in range(total)) for k, power in enumerate(powers)}
    for power, sum_of_all in whole.items():
        assert sum(int(end[power]) for end in ends) % 2**64 == sum_of_all % 2**64
