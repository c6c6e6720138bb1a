"""A JetClass classifier in Lightning: the data module of the JetClass scripts, with another import.

jetclass_lightning.py 'train_*.h5' [--epochs N] [--amp] [--accumulate 4] [--compile] [--batches N] [--device D]
"""

import argparse

import lightning.pytorch as pl
import torch
from jet_transformer import JetTransformer

import headrace as hr
from headrace.lightning import JetClassLightningDataModule

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("files")
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--batches", type=int, help="at most so many batches an epoch")
parser.add_argument("--amp", action="store_true", help="bfloat16 where it is enough")
parser.add_argument("--accumulate", type=int, default=1, metavar="N", help="a step of the optimizer every N batches")
parser.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help="torch.compile")
parser.add_argument("--device", default="auto", help='"auto": the Trainer\'s; "fake": as if there were one')
words = parser.parse_args()

fields = {"node_features": "feature_matrix", "edge_features": "adjacency_matrix", "labels": "labels"}
parts = hr.open(words.files, fields).split({"train": 0.8, "val": 0.2}, seed=1)
data = JetClassLightningDataModule(
    train_files=parts["train"],  # or paths, if the files are divided already
    val_files=parts["val"],
    batch_size=128,
    read_chunk_size=2048,  # the familiar knobs: the run says what each became
    max_cached_chunks=20,
    num_workers=8,
    device=words.device,
)


class Classifier(pl.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        network = JetTransformer(features=parts["train"].fields["node_features"].shape[1])
        self.network = torch.compile(network, backend=words.compile) if words.compile else network

    def scores(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.network(batch["node_features"], batch["edge_features"], batch["n_particles"])

    def training_step(self, batch: dict[str, torch.Tensor], _number: int) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(self.scores(batch), batch["labels"])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch: dict[str, torch.Tensor], _number: int) -> None:
        right = self.scores(batch).argmax(1) == batch["labels"]
        self.log("accuracy", right.float().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


trainer = pl.Trainer(
    max_epochs=words.epochs,
    limit_train_batches=words.batches,
    limit_val_batches=words.batches,
    accumulate_grad_batches=words.accumulate,
    precision="bf16-mixed" if words.amp else "32-true",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Classifier(), data)
figures = {name: round(float(value), 3) for name, value in trainer.callback_metrics.items()}
print(trainer.train_dataloader.report().verdict)
print(f"after {trainer.current_epoch} epochs and {trainer.global_step} steps: {figures}")
