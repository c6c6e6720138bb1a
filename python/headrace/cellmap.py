"""``headrace.cellmap``: the names of cellmap-data over Headrace's C++ threads, for programs that change one import.

from headrace.cellmap import CellMapDataLoader, CellMapDataSplit

split = CellMapDataSplit(csv_path="datasplit.csv", classes=["mito", "er"], input_arrays=arrays, target_arrays=targets)
for batch in CellMapDataLoader(split.train_datasets_combined, batch_size=4, weighted_sampler=True):
    ...
"""

from headrace._programs.cellmap.dataset import CellMapDataset, CellMapMultiDataset
from headrace._programs.cellmap.loader import CellMapDataLoader
from headrace._programs.cellmap.patches import CellMapCrops
from headrace._programs.cellmap.split import CellMapDataSplit
from headrace._programs.cellmap.theirs import ClassBalancedSampler

__all__ = [
    "CellMapCrops",
    "CellMapDataLoader",
    "CellMapDataSplit",
    "CellMapDataset",
    "CellMapMultiDataset",
    "ClassBalancedSampler",
]
