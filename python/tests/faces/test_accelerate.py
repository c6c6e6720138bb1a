"""``headrace.accelerate.prepare``: epochs' ends, devices and checkpoints in an Accelerate loop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jet_files import FIELDS

import headrace as hr

accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
import torch  # noqa: E402

from headrace.accelerate import prepare  # noqa: E402
from headrace.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore", "error::headrace.HeadraceWarning")
ROWS, BATCH = 633, 50


def make(jets: Any, **words: Any) -> hr.Loader:
    return hr.Loader(jets.open(), **{"batch_size": BATCH, "shuffle": True, "seed": 3, "framework": "torch", **words})


def accelerator(**words: Any) -> Any:
    return accelerate.Accelerator(cpu=True, **words)


@pytest.mark.parametrize("drop", [False, True], ids=["partial", "drop"])
@pytest.mark.parametrize("face", [False, True], ids=["Loader", "DataLoader"])
def test_gradients_are_applied_at_the_epochs_end(jets, face: bool, drop: bool) -> None:
    """13 batches, or 12, by 5: the last step of an epoch has what is left, and nothing stays for the next epoch."""
    run = accelerator(gradient_accumulation_steps=5)
    model = torch.nn.Linear(4, 1)
    model, optimizer = run.prepare(model, torch.optim.SGD(model.parameters(), 0.1))
    if face:
        loader = DataLoader(
            jets.open(), BATCH, shuffle=True, generator=torch.Generator().manual_seed(3), drop_last=drop
        )
    else:
        loader = make(jets, drop_last=drop)
    batches = prepare(loader, run)
    want = make(jets, drop_last=drop)
    for epoch in range(2):
        stepped = []
        rows = []
        for number, batch in enumerate(batches):
            rows.append(batch["y"].tolist())
            with run.accumulate(model):
                run.backward(model(batch["x"]).mean())
                optimizer.step()
                optimizer.zero_grad()
            if run.sync_gradients:
                stepped.append(number)
        assert stepped == [4, 9, len(batches) - 1]
        assert rows == [want.batch(epoch, step)["y"].tolist() for step in range(len(want))]
        assert not run.gradient_state.in_dataloader


def test_an_epoch_that_is_given_up_is_forgotten(jets) -> None:
    run = accelerator()
    batches = prepare(make(jets), run)
    for _ in batches:
        assert run.gradient_state.in_dataloader and not run.gradient_state.end_of_dataloader
        break
    assert not run.gradient_state.in_dataloader
    assert sum(len(batch["y"]) for batch in batches) == ROWS


def test_save_state_holds_the_place(jets, tmp_path: Path) -> None:
    run = accelerator()
    batches = prepare(make(jets), run)
    list(batches)
    rest: list[list[int]] = []
    for number, batch in enumerate(batches):
        if number == 4:
            run.save_state(tmp_path / "state")
        if number > 4:
            rest.append(batch["y"].tolist())
    again = accelerator(gradient_accumulation_steps=100)
    resumed = prepare(make(jets), again)
    again.load_state(tmp_path / "state")
    rows, ends = [], []
    for batch in resumed:
        rows.append(batch["y"].tolist())
        ends.append(again.gradient_state.end_of_dataloader)
    assert rows == rest
    assert ends == [False] * 7 + [True]


BATCHES = [list(range(first, first + rows)) for first, rows in ((0, 3), (3, 100), (103, 50), (153, 1), (154, 9))]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ({"batch_size": None, "shuffle": False, "batch_sampler": BATCHES}, 5),
        ({"batch_size": None, "group_by": "file", "max_items": 200}, None),
    ],
    ids=["batch_sampler", "group_by"],
)
def test_batches_of_any_lengths_end_with_the_last(jets, words: dict[str, Any], number: int | None) -> None:
    run = accelerator()
    batches = prepare(make(jets, **words), run)
    number = number or len(batches)
    for first in (0, 2):
        state = None
        ends = []
        for step, _ in enumerate(batches, first):
            ends.append(run.gradient_state.end_of_dataloader)
            assert run.gradient_state.remainder == 0
            if step == 1:
                state = batches.state_dict()
        assert ends == [False] * (number - first - 1) + [True]
        if state is not None:
            batches.load_state_dict(state)


def test_what_is_left_after_a_resume_with_another_batch_size(jets) -> None:
    run = accelerator()
    before = make(jets, tail="pad")
    iterator = iter(before)
    for _ in range(3):
        next(iterator)
    batches = prepare(make(jets, tail="pad", batch_size=40), run)
    batches.load_state_dict(before.state_dict())
    weights, left = [], []
    for batch in batches:
        weights.append(int(batch["_weight"].sum()))
        left.append(run.gradient_state.remainder)
    assert weights == [40] * 12 + [3] and left == [3] * 13  # 633 - 3 * 50 = 12 * 40 + 3


def test_batches_of_a_rank_of_its_own_are_not_cut(jets) -> None:
    """The other ranks' samples are not known: gather_for_metrics may leave none out."""
    sampler = torch.utils.data.DistributedSampler(range(ROWS), num_replicas=2, rank=1, shuffle=False)
    run = accelerator()
    batches = prepare(make(jets, sampler=sampler, shuffle=False), run)
    assert [run.gradient_state.remainder for _ in batches] == [0] * 7


def test_has_what_the_loader_has_and_its_device(jets) -> None:
    loader = make(jets)
    batches = prepare(loader, accelerator())
    assert batches.dataset is loader.dataset and batches.batch_size == BATCH and len(batches) == 13
    batches.set_epoch(6)
    batch = next(iter(batches))
    assert batch["y"].tolist() == loader.batch(6, 0)["y"].tolist() and batch["x"].device.type == "cpu"
    batches._device = torch.device("meta")
    assert next(iter(batches))["x"].device.type == "meta"
    rest = accelerate.skip_first_batches(batches, 9)
    assert sum(len(batch["y"]) for batch in rest) == ROWS - 9 * BATCH
    with pytest.raises(hr.InvalidArgumentError, match=r"accelerator\.prepare"):
        prepare([1, 2], accelerator())  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidArgumentError, match="The loader comes first"):
        prepare(accelerator(), loader)  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidArgumentError, match='framework="torch"'):
        prepare(make(jets, framework="numpy"), accelerator())
    with pytest.raises(hr.InvalidArgumentError, match="one by one"):
        prepare(DataLoader(jets.open(), None), accelerator())


SCRIPT = """
import json, pathlib, sys
import accelerate, torch
import headrace as hr
from headrace.accelerate import prepare

run = accelerate.Accelerator(cpu=True)
loader = hr.Loader(hr.open(sys.argv[1], {fields!r}), batch_size=25, shuffle=True, seed=3, framework="torch", tail="pad")
rows = []
for batch in prepare(loader, run):
    rows += run.gather_for_metrics(batch["y"]).tolist()
if run.is_main_process:
    pathlib.Path(sys.argv[2]).write_text(json.dumps(rows))
torch.distributed.destroy_process_group()
"""


def test_metrics_of_two_processes_have_each_sample_once(jets, tmp_path: Path) -> None:
    script, out = tmp_path / "gather.py", tmp_path / "rows.json"
    script.write_text(SCRIPT.format(fields=FIELDS))
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone", str(script)]
    done = subprocess.run([*command, jets.glob, str(out)], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text())
    loader = make(jets)
    assert rows == [row for step in range(len(loader)) for row in loader.batch(0, step)["y"].tolist()]


def test_batches_are_on_the_accelerators_device_ahead(jets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headrace.torch import FakeDevice

    run = accelerator()
    batches = prepare(make(jets, device=FakeDevice(1e9, delay_seconds=0.002)), run)
    rows, ends = [], []
    for number, batch in enumerate(batches):
        if number == 4:
            run.save_state(tmp_path / "state")
        rows.append(batch["y"].tolist())
        ends.append(run.gradient_state.end_of_dataloader)
    want = make(jets)
    assert rows == [want.batch(0, step)["y"].tolist() for step in range(len(want))]
    assert ends == [False] * 12 + [True]
    again = accelerator()
    resumed = prepare(make(jets), again)
    again.load_state(tmp_path / "state")
    assert [batch["y"].tolist() for batch in resumed] == rows[5:]
    monkeypatch.setattr(type(run), "device", torch.device("meta"))
    loader = make(jets)
    loader.load_state_dict(batches.state_dict())
    on_meta = prepare(loader, run)
    assert loader._delivery.to == torch.device("meta") and on_meta.state_dict() == batches.state_dict()
    assert next(iter(on_meta))["x"].device.type == "meta"


class Numbers(torch.utils.data.Dataset):  # type: ignore[type-arg]
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"y": torch.tensor(index)}


@pytest.mark.parametrize("face", [False, True], ids=["Loader", "DataLoader"])
def test_skipped_batches_end_their_epoch(jets, face: bool) -> None:
    """``skip_first_batches`` makes torch's DataLoader of a prepared loader: Accelerate hears of its last batch too."""
    run = accelerator(gradient_accumulation_steps=4)
    model = torch.nn.Linear(1, 1)
    model, _ = run.prepare(model, torch.optim.SGD(model.parameters(), 0.1))

    def syncs(loader: Any) -> list[bool]:
        run.step = 0
        made = []
        for _ in accelerate.skip_first_batches(loader, 3):
            with run.accumulate(model):
                made.append(run.sync_gradients)
        assert not run.gradient_state.in_dataloader
        return made

    ours = DataLoader(jets.open(), BATCH) if face else make(jets, shuffle=False)
    theirs = run.prepare(torch.utils.data.DataLoader(Numbers(), BATCH))
    prepared = prepare(ours, run)
    assert syncs(prepared) == syncs(theirs)
    rows = [row for batch in accelerate.skip_first_batches(prepared, 3) for row in batch["y"].tolist()]
    assert rows == list(range(3 * BATCH, ROWS))
    for batch in accelerate.skip_first_batches(prepared, 5):
        assert run.gradient_state.remainder == ROWS % BATCH
        del batch
        break
    assert not run.gradient_state.in_dataloader


@pytest.mark.parametrize("is_prepared", [False, True])
@pytest.mark.parametrize("words", [{}, {"num_workers": 2, "prefetch_factor": 2, "persistent_workers": True}])
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_skipped_batches_go_through_column_fn(jets, is_prepared: bool, words: dict[str, Any], device: str) -> None:
    """And no worker processes are started, which would read the rows again."""
    loader = DataLoader(
        jets.open(),
        BATCH,
        shuffle=True,
        device=device,
        pin_memory=True,
        timeout=60,
        column_fn=lambda batch: {"y": batch["y"] + 1000},
        **words,
    )
    whole = [batch["y"].tolist() for batch in loader]
    loader.set_epoch(0)
    rest = accelerate.skip_first_batches(prepare(loader, accelerator()) if is_prepared else loader, 2)
    assert rest.num_workers == 0 and (device == "cpu" or not rest.pin_memory)
    assert [batch["y"].tolist() for batch in rest] == whole[2:]
    assert min(map(min, whole)) >= 1000


def test_page_locked_batches_go_to_the_accelerators_device(jets, monkeypatch) -> None:
    """A loader with ``pin_memory=True`` has a way of its own for batches, which stay on the host there."""
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_, **__: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self, *_: self.clone())
    run = accelerator()
    monkeypatch.setattr(type(run), "device", torch.device("meta"))
    for pins in (False, True):
        prepared = prepare(DataLoader(jets.open(), BATCH, pin_memory=pins), run)
        assert next(iter(prepared))["x"].device.type == "meta"
        prepared.close()
