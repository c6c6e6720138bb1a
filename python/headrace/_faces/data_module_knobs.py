"""Arguments of other data modules that ``headrace.lightning`` has not, and configurations that it knows by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from headrace._support.knobs import LOADER_KNOBS

_MAPPED = "Use transforms=[…], which change whole batches, for all files; or column_fn=."
_FILES = "Give train_files=, val_files= and test_files=: paths, globs, or data sets of hr.open()."

#: What to do in place of an argument that a data module has not, by where it comes from.
DATA_MODULE_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        **{name: group for name, group in LOADER_KNOBS.items() if name != "torch"},
        "torch": {
            "collate_fn": "Use column_fn=, which gets a batch as a dict of whole columns.",
            "worker_init_fn": "Not needed: there are no worker processes.",
            "multiprocessing_context": "Not needed: there are no worker processes.",
            "sampler": "Make a headrace.torch.DataLoader(dataset, sampler=…), and pass it to fit().",
            "batch_sampler": "Make a headrace.torch.DataLoader(dataset, batch_sampler=…), and pass it to fit().",
            "generator": "Use seed=: the seed and the epoch number determine every batch.",
            "rank": "Not needed: the Trainer's ranks are used.",
            "world_size": "Not needed: the Trainer's ranks are used.",
        },
        "data modules": {
            "transform": _MAPPED,
            "train_transform": _MAPPED,
            "val_transform": _MAPPED,
            "test_transform": _MAPPED,
            "lazy_adjacency": "Not needed: matrices are made a batch at a time, or not at all with "
            "reconstruct_full_adjacency=False.",
            "reconstruct_full_adjacency": "Use JetClassLightningDataModule, or transforms=[T.SymmetricPairs(field)].",
            "cache_size_mb": "Use memory=, for example memory='8GiB'.",
            "use_memory_map": "Not needed: files are read with pread.",
            "data_dir": _FILES,
            "root": _FILES,
            "train_dataset": _FILES,
            "val_dataset": _FILES,
            "test_dataset": _FILES,
            "val_batch_size": "Use eval_batch_size=.",
            "test_batch_size": "Use eval_batch_size=.",
        },
    }
)

#: The configurations that the scripts of JetClass publish, by the size of the data.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "small": {"preload_to_ram": True, "batch_size": 2048, "num_workers": 4},
        "medium": {
            "read_chunk_size": 4096,
            "max_cached_chunks": 50,
            "batch_size": 512,
            "num_workers": 12,
            "prefetch_factor": 6,
        },
        "large": {
            "read_chunk_size": 8192,
            "max_cached_chunks": 30,
            "batch_size": 1024,
            "num_workers": 16,
            "prefetch_factor": 8,
        },
    }
)
