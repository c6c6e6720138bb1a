"""``headrace.lightning``: data modules for Lightning's Trainer, of ``lightning`` and of ``pytorch_lightning``.

from headrace.lightning import DataModule

data = DataModule("train_*.h5", "val_*.h5", batch_size=512, fields={"x": "feature_matrix", "y": "labels"})
Trainer(max_epochs=10).fit(model, data)
"""

from headrace._faces.data_module import DataModule
from headrace._programs.jetclass import JetClassLightningDataModule

__all__ = ["DataModule", "JetClassLightningDataModule"]
