"""Lightning: over a stop and a start each epoch delivers each row once, in the order of a run never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pl = pytest.importorskip("lightning.pytorch")
torch = pytest.importorskip("torch")
from lightning.pytorch.callbacks import ModelCheckpoint  # noqa: E402

import headrace as hr  # noqa: E402
from headrace.lightning import DataModule, JetClassLightningDataModule  # noqa: E402

BATCH, STEPS = 64, 10
QUIET = {
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "accelerator": "cpu",
    "devices": 1,
}


class Model(pl.LightningModule):
    """Writes down which rows it is given, and in which epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(6, 1)
        self.ids: list[np.ndarray] = []
        self.epochs: list[int] = []

    def training_step(self, batch: Any, number: int) -> Any:
        self.ids.append(batch["id"].numpy().copy())
        self.epochs.append(self.current_epoch)
        return self.layer(batch["x"]).square().mean()

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), 1e-3)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stops") / "a.h5"
    with h5py.File(path, "w") as f:
        rows = BATCH * STEPS
        f.create_dataset("x", data=np.random.default_rng(1).random((rows, 6), "f4"), chunks=(32, 6), compression="gzip")
        f["id"] = np.arange(rows)
    return path


def _data(kind: str, path: Path) -> Any:
    if kind == "DataModule":
        return DataModule(path, batch_size=BATCH, seed=4)
    if kind == "Weighted":
        return hr.Loader(path, BATCH, sampler=hr.Weighted(np.arange(BATCH * STEPS) + 1.0), seed=4, framework="torch")
    return hr.Loader(path, BATCH, shuffle=True, seed=4, framework="torch")


def _fit(data: Any, ckpt: Path | None = None, callbacks: tuple[Any, ...] = (), **words: Any) -> tuple[Any, Model]:
    model = Model()
    trainer = pl.Trainer(**QUIET, enable_checkpointing=bool(callbacks), callbacks=list(callbacks), **words)
    trainer.fit(model, data, ckpt_path=ckpt)
    return trainer, model


KINDS = ("DataModule", "Loader", "Weighted")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps", [3, 10, 17])
def test_a_run_that_max_steps_stopped_goes_on_in_the_middle_of_its_epoch(
    path: Path, tmp_path: Path, kind: str, steps: int
) -> None:
    _, straight = _fit(_data(kind, path), max_epochs=3)
    trainer, first = _fit(_data(kind, path), max_epochs=3, max_steps=steps)
    trainer.save_checkpoint(tmp_path / "stop.ckpt")
    trainer, rest = _fit(_data(kind, path), tmp_path / "stop.ckpt", max_epochs=3)
    np.testing.assert_array_equal(np.concatenate(first.ids + rest.ids), np.concatenate(straight.ids))
    assert first.epochs + rest.epochs == straight.epochs
    assert trainer.global_step == 3 * STEPS


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_of_an_epochs_end_begins_the_next(path: Path, tmp_path: Path, kind: str) -> None:
    _, straight = _fit(_data(kind, path), max_epochs=3)
    trainer, _ = _fit(_data(kind, path), max_epochs=1)
    trainer.save_checkpoint(tmp_path / "end.ckpt")
    _, rest = _fit(_data(kind, path), tmp_path / "end.ckpt", max_epochs=3)
    np.testing.assert_array_equal(np.concatenate(rest.ids), np.concatenate(straight.ids[STEPS:]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_of_a_callback_goes_on_where_it_was(path: Path, tmp_path: Path, kind: str) -> None:
    _, straight = _fit(_data(kind, path), max_epochs=3)
    keep = ModelCheckpoint(dirpath=tmp_path, filename="{step}", every_n_train_steps=4, save_top_k=-1)
    _fit(_data(kind, path), max_epochs=2, callbacks=(keep,))
    _, rest = _fit(_data(kind, path), next(tmp_path.glob("*16*.ckpt")), max_epochs=3)
    np.testing.assert_array_equal(np.concatenate(rest.ids), np.concatenate(straight.ids[16:]))


def test_a_plain_loader_and_a_data_module_deliver_the_same_epochs(path: Path) -> None:
    _, plain = _fit(_data("Loader", path), max_epochs=2)
    _, module = _fit(_data("DataModule", path), max_epochs=2)
    np.testing.assert_array_equal(np.concatenate(plain.ids), np.concatenate(module.ids))
    with hr.Loader(path, BATCH, shuffle=True, seed=4) as loader:
        for epoch in range(2):
            want = np.concatenate([np.array(b["id"]) for b in loader])
            np.testing.assert_array_equal(np.concatenate(plain.ids[epoch * STEPS : (epoch + 1) * STEPS]), want)


@pytest.mark.parametrize("kind", ["DataModule", "Loader"])
def test_epochs_that_were_delivered_whole_are_finished_and_checked(path: Path, kind: str) -> None:
    data = _data(kind, path)
    model = Model()
    trainer = pl.Trainer(**QUIET, enable_checkpointing=False, max_epochs=2)
    trainer.fit(model, data)
    report = trainer.train_dataloader.report()
    assert (report.epochs_finished, report.epochs_started, report.exactly_once) == (2, 2, True)
    assert "2 of 2 epochs finished" in str(report)


def test_epochs_are_finished_with_their_last_batch(path: Path) -> None:
    with hr.Loader(path, BATCH) as loader:
        batches = iter(loader)
        for _ in range(STEPS):
            assert loader.report().epochs_finished == 0
            next(batches)
        assert loader.report().epochs_finished == 1 and loader.report().exactly_once
        assert list(batches) == []
        assert loader.report().epochs_finished == 1
        next(iter(loader))
        assert (loader.report().epochs_finished, loader.report().epochs_started) == (1, 2)


def test_a_data_module_can_be_printed_in_every_state(path: Path) -> None:
    for module in (
        DataModule(str(path), [str(path)], batch_size=BATCH),
        DataModule(hr.open(path), batch_size=BATCH),
        DataModule([path, path], test_files=path, batch_size=BATCH),
        JetClassLightningDataModule(str(path), str(path)),
    ):
        assert str(path) in str(module) or "1 files" in str(module)
    module = DataModule(path, path, batch_size=BATCH)
    assert "batch_size 64" in str(module)
    module.setup("fit")
    assert str(module) == f"<DataModule: train {path}, 640 samples; val {path}, 640 samples; batch_size 64>"
    pl.Trainer(**QUIET, enable_checkpointing=False, max_epochs=1, limit_val_batches=0).fit(Model(), module)
    assert "640 samples" in str(module)
    module.close()
    assert str(path) in str(module)


def test_the_jetclass_module_has_the_batch_size_of_the_scripts(path: Path) -> None:
    assert JetClassLightningDataModule(str(path)).batch_size == 256
    assert JetClassLightningDataModule(str(path), batch_size=512).batch_size == 512
