"""A model that notes which rows it was given, and Trainers that say and write nothing."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
from jet_files import FIELDS

import headrace as hr

PACKAGES = ("lightning.pytorch", "pytorch_lightning")
BATCH = 50


def package(name: str = PACKAGES[0]) -> Any:
    """A package of Lightning's; the test is skipped where it is not installed."""
    return pytest.importorskip(name, reason=f"{name.partition('.')[0]} is not installed")


def noting_model(lightning: Any, after: Callable[[Any, int], None] | None = None, key: str = "y") -> Any:
    """Make a model with ``seen``: stage → epoch → rows; ``after(model, number)`` is called behind each train batch."""
    torch = importlib.import_module("torch")

    class Model(lightning.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4))
            self.seen: dict[str, dict[int, list[int]]] = {}

        def note(self, stage: str, batch: Any) -> list[int]:
            rows = batch[key].tolist()
            self.seen.setdefault(stage, {}).setdefault(self.current_epoch, []).extend(rows)
            return rows

        def training_step(self, batch: Any, number: int) -> Any:
            self.note("train", batch)
            return self.weight.sum() * 0.0

        def on_train_batch_end(self, _outputs: Any, _batch: Any, number: int) -> None:
            if after is not None:
                after(self, number)

        def validation_step(self, batch: Any, number: int) -> None:
            self.note("sanity" if self.trainer.sanity_checking else "val", batch)

        def test_step(self, batch: Any, number: int) -> None:
            self.note("test", batch)

        def predict_step(self, batch: Any, number: int) -> list[int]:
            return self.note("predict", batch)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.001)

    return Model()


def trainer(lightning: Any, **words: Any) -> Any:
    """Make a Trainer for one CPU process."""
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    words = {"accelerator": "cpu", "devices": 1, "enable_checkpointing": False, "max_epochs": 1, **words}
    return lightning.Trainer(**quiet, **words)


def epoch(jets: Any, number: int) -> list[int]:
    """Rows of an epoch in the order of a plain loader."""
    loader = hr.Loader(jets.open(), BATCH, shuffle=True, seed=3)
    return [row for step in range(len(loader)) for row in loader.batch(number, step)["y"].tolist()]


def values(jets: Any, path: int) -> list[int]:
    """Labels of one file, which are row numbers of all."""
    return list(hr.open(jets.paths[path], FIELDS)["y"][:])
