#!/usr/bin/env python3
"""Epochs of Lightning's `Trainer.fit`, or of a plain loop, over a loader of torch batches. Prints one JSON object.

Usage: trainer_fit.py FILE… [--fit] [--epochs 3] [--batch-size 512] [--threads 2]

Either takes a step of an optimizer over one parameter for each batch, so that what differs is Lightning, and what
Headrace does for it. An epoch more comes before the clock starts.

rows_per_s      from the start of the second epoch to the end of the last
"""

from __future__ import annotations

import argparse
import json
import logging
import time
import warnings

import lightning.pytorch as pl
import torch
from headrace_epochs import FIELDS, SEED

import headrace as hr

Batch = dict[str, torch.Tensor]


class Empty(pl.LightningModule):
    """A model of one parameter, which notes when an epoch starts."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.started: list[float] = []

    def on_train_epoch_start(self) -> None:
        self.started.append(time.perf_counter())

    def training_step(self, batch: Batch, _number: int) -> torch.Tensor:
        return self.weight * batch["y"][0]

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.01)


def fit(loader: hr.Loader, epochs: int) -> list[float]:
    model = Empty()
    trainer = pl.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    trainer.fit(model, loader)
    return model.started


def loop(loader: hr.Loader, epochs: int) -> list[float]:
    model, started = Empty(), []
    optimizer = model.configure_optimizers()
    for _ in range(epochs):
        started.append(time.perf_counter())
        for number, batch in enumerate(loader):
            optimizer.zero_grad()
            model.training_step(batch, number).backward()
            optimizer.step()
    return started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with hr.Loader(
        hr.open(args.files, fields=FIELDS),
        args.batch_size,
        shuffle=True,
        seed=SEED,
        memory="1GiB",
        threads=args.threads,
        framework="torch",
        cache="none",
    ) as loader:
        started = (fit if args.fit else loop)(loader, args.epochs + 1)
        seconds = time.perf_counter() - started[1]
        rows = args.epochs * len(loader.dataset)
    print(json.dumps({"rows": rows, "seconds": seconds, "rows_per_s": rows / seconds}))


if __name__ == "__main__":
    main()
