"""A data module under DDP: two gloo processes that Lightning starts by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jet_files import FIELDS
from lightning_runs import BATCH, epoch, package, values

package()

SCRIPT = """
import json, pathlib, sys, warnings
warnings.simplefilter("ignore")
import lightning.pytorch as lightning
sys.path.insert(0, {tests!r})
from lightning_runs import noting_model, trainer
from headrace.lightning import DataModule

class Data(DataModule):
    def setup(self, stage=None):
        super().setup(stage)
        assert self.trainer.world_size == 2

def save(model, number):
    if (model.current_epoch, number) == (1, 2):
        model.trainer.save_checkpoint({folder!r} + "/c.ckpt")

def run(name, **words):
    data = Data({train!r}, {val!r}, batch_size={batch} // 2, fields={fields!r}, seed=3, num_workers=1)
    model = noting_model(lightning, save)
    fit = trainer(lightning, devices=2, strategy="ddp", max_epochs=2)
    fit.fit(model, data, **words)
    seen = {{"seen": model.seen, "state": data.state_dict(), "sampler": type(fit.train_dataloader).__name__}}
    import os
    seen["processes"] = os.environ.get("LOCAL_WORLD_SIZE")
    pathlib.Path({folder!r}, f"{{name}}_{{fit.global_rank}}.json").write_text(json.dumps(seen))

if __name__ == "__main__":
    run("whole")
    run("rest", ckpt_path={folder!r} + "/c.ckpt")
"""


@pytest.mark.filterwarnings("ignore")
def test_two_processes_see_each_sample_once(jets, run_python, tmp_path) -> None:
    names = {
        "tests": str(Path(__file__).resolve().parents[1] / "helpers"),
        "folder": str(tmp_path),
        "train": jets.glob,
        "val": str(jets.paths[2]),
        "batch": BATCH,
        "fields": FIELDS,
    }
    run_python(SCRIPT.format(**names), timeout=240)

    def runs(name: str) -> list[dict]:
        return [json.loads((tmp_path / f"{name}_{rank}.json").read_text()) for rank in (0, 1)]

    def together(parts: list[dict], stage: str, number: int) -> list[list[int]]:
        """Rows of each step, rank 0's before rank 1's."""
        rows = [part["seen"][stage][str(number)] for part in parts]
        size = BATCH // 2
        steps = range(0, max(map(len, rows)), size)
        return [rows[0][at : at + size] + rows[1][at : at + size] for at in steps]

    whole, rest = runs("whole"), runs("rest")
    for number in range(2):
        steps = together(whole, "train", number)
        assert sum(steps, []) == epoch(jets, number)  # noqa: RUF017
        assert sorted(sum(steps, [])) == list(range(633))  # noqa: RUF017
        assert sorted(sum(together(whole, "val", number), [])) == values(jets, 2)  # noqa: RUF017
    assert sum(together(rest, "train", 1), []) == epoch(jets, 1)[3 * BATCH :]  # noqa: RUF017
    assert list(rest[0]["seen"]["train"]) == ["1"]
    assert whole[0]["state"] == whole[1]["state"]
    assert {part["sampler"] for part in whole} == {"TrainerLoader"}
    assert {part["processes"] for part in whole} == {"2"}
