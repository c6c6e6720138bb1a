"""Arguments that other loaders have and these functions have not, with what replaces each."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import wraps
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from headrace.errors import UnknownArgumentError

P = ParamSpec("P")
R = TypeVar("R")

_MEMORY = "Use memory=: the larger it is, the more batches are ready in advance."
_THREADS = "Use threads=: C++ threads decode, and there are no worker processes."
_BUFFER = "Use shuffle_buffer= (bytes of data that are mixed at any time), with shuffle=True."
_SHAPE = "Use shuffle_buffer=hr.ShuffleShape(streams, pool_blocks)."
_SEED = "Use seed=: the seed and the epoch number determine every batch."
_RANK = "Use rank=, with world_size=; or neither: then the loader finds both by itself."
_WORLD = "Use world_size=, with rank=; or neither: then the loader finds both by itself."
_RANKS = "Not needed: the loader finds its rank by itself; or give rank= and world_size=."
_IN_LOOP = "Not needed: batches come collated, as a dict of columns; change the columns in the loop."
_MAP = "Use dataset.map(): transforms run in C++, functions get the columns of a whole batch."
_TO_DEVICE = 'Use device="cuda", with framework="torch": batches are copied there ahead, from page-locked memory.'
_PAIRS = "Use dataset.map(T.SymmetricPairs(field)), of headrace.transforms."
_TAIL = 'Use tail="partial", "drop" or "pad".'
_WORKERS = "Not needed: there are no worker processes."
_FIELDS = "Use hr.open(paths, fields=...): fields are chosen when the files are opened."
_LOOP = "Not needed: each `for batch in loader` is one epoch; loop over range(epochs)."
_CACHE = 'Use cache="auto", "ram" or a directory, and memory= for how much.'
_FILES = "Pass the paths to hr.open(); the files are read in place."
_EPOCH_SIZE = "Use sampler=hr.Weighted(weights, num_samples=), or hr.mix(parts, num_samples=)."

#: What to do in place of an argument that ``Loader`` has not, by the loader that has it.
LOADER_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "torch": {
            "num_workers": _THREADS,
            "prefetch_factor": _MEMORY,
            "persistent_workers": "Not needed: threads stay from epoch to epoch, until close().",
            "pin_memory": _TO_DEVICE,
            "pin_memory_device": _TO_DEVICE,
            "collate_fn": _IN_LOOP,
            "worker_init_fn": _WORKERS,
            "multiprocessing_context": _WORKERS,
            "generator": _SEED,
            "in_order": "Not needed: batches always come in order.",
            "num_replicas": _WORLD,
            "snapshot_every_n_steps": "Not needed: state_dict() is exact after every batch.",
        },
        "tf.data": {
            "buffer_size": _BUFFER,
            "prefetch": _MEMORY,
            "num_parallel_calls": _THREADS,
            "num_parallel_reads": _THREADS,
            "drop_remainder": "Use drop_last=.",
            "reshuffle_each_iteration": "Not needed: every epoch has a new order; set_epoch(n) repeats one.",
            "deterministic": "Not needed: the order never depends on timing.",
            "cycle_length": _SHAPE,
            "block_length": _SHAPE,
            "num_epochs": _LOOP,
        },
        "WebDataset": {
            "shardshuffle": "Not needed: shuffle=True mixes over all files.",
            "bufsize": _BUFFER,
            "initial": _BUFFER,
            "resampled": "Use sampler=hr.Weighted(weights), which draws with replacement.",
            "nodesplitter": _RANKS,
            "workersplitter": _WORKERS,
            "cache_dir": "Use cache=: a directory.",
            "cache_size": _CACHE,
            "handler": 'Not supported yet: damaged data is an error (on_error="raise"); run headrace verify first.',
        },
        "MosaicML Streaming": {
            "shuffle_block_size": _BUFFER,
            "shuffle_seed": _SEED,
            "shuffle_algo": 'Use shuffle="block" or "exact".',
            "cache_limit": _CACHE,
            "predownload": _MEMORY,
            "num_canonical_nodes": "Not needed: global batches do not depend on the number of ranks.",
            "partition_algo": _RANKS,
            "batching_method": "Use hr.mix(parts), which draws by weight.",
            "sampling_method": _EPOCH_SIZE,
            "epoch_size": _EPOCH_SIZE,
            "local": _FILES,
            "remote": _FILES,
        },
        "DALI": {
            "num_threads": _THREADS,
            "prefetch_queue_depth": _MEMORY,
            "random_shuffle": "Use shuffle=True.",
            "initial_fill": _BUFFER,
            "shard_id": _RANK,
            "num_shards": _WORLD,
            "last_batch_policy": _TAIL,
            "pad_last_batch": _TAIL,
            "device_id": _TO_DEVICE,
        },
        "FFCV": {
            "order": 'Use shuffle=False, True or "exact", or sampler=.',
            "os_cache": _CACHE,
            "batches_ahead": _MEMORY,
            "distributed": _RANKS,
            "indices": "Use dataset.select(rows).",
            "pipelines": _MAP,
        },
        "Grain": {
            "worker_count": _THREADS,
            "worker_buffer_size": _MEMORY,
            "shard_options": _RANKS,
            "operations": _MAP,
        },
        "h5py": {
            "rdcc_nbytes": "Use memory=: it holds decoded chunks too.",
            "rdcc_nslots": "Use memory=: it holds decoded chunks too.",
            "rdcc_w0": "Use memory=: it holds decoded chunks too.",
        },
        "other words": {
            "bs": "Use batch_size=.",
            "workers": _THREADS,
            "n_jobs": _THREADS,
            "epochs": _LOOP,
            "transform": _MAP,
            "random_state": _SEED,
            "max_cached_chunks": _CACHE,
            "read_chunk_size": "Not needed: the files' own chunks are decoded, each about once an epoch.",
            "preload_to_ram": 'Use cache="ram".',
            "reconstruct_full_adjacency": _PAIRS,
            "fields": _FIELDS,
            "columns": _FIELDS,
        },
    }
)

#: Hints for Loader that name what a DataLoader has not, and what it has in its place.
_OF_DATALOADER: Mapping[str, str] = MappingProxyType(
    {
        _THREADS: "Use num_workers=: so many C++ threads decode, and there are no worker processes.",
        _IN_LOOP: "Use column_fn=: it gets each batch as a dict of whole columns.",
        _TO_DEVICE: "Use device=.",
    }
)

#: The same for ``headrace.torch.DataLoader``, which has torch's arguments.
DATALOADER_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "headrace.Loader": {
            "framework": "Not needed: batches are of tensors.",
        },
        **{
            loader: {name: _OF_DATALOADER.get(text, text) for name, text in group.items()}
            for loader, group in LOADER_KNOBS.items()
            if loader != "torch"
        },
        "torch": {"num_replicas": LOADER_KNOBS["torch"]["num_replicas"]},
    }
)

#: Hints for Loader that name what ``headrace.lightning.DataModule`` has not, and what it has in its place.
_OF_DATA_MODULE: Mapping[str, str] = MappingProxyType(
    {
        _RANK: "Not needed: the Trainer's ranks are used.",
        _WORLD: "Not needed: the Trainer's ranks are used.",
        _RANKS: "Not needed: the Trainer's ranks are used.",
        _TO_DEVICE: 'Use device="auto": batches are copied ahead to the Trainer\'s device.',
        _IN_LOOP: "Use column_fn=, which gets a batch as a dict of whole columns.",
        _MAP: "Use transforms=[…], which change whole batches, for all files; or column_fn=.",
        _FIELDS: "Use fields=.",
        _FILES: "Give train_files=, val_files= and test_files=: paths, globs, or data sets of hr.open().",
        _LOOP: "Give max_epochs to the Trainer.",
        _PAIRS: "Use JetClassLightningDataModule, or transforms=[T.SymmetricPairs(field)].",
    }
)
#: Arguments of other loaders that a data module has.
_OF_BOTH = {"num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "fields"}
_OF_BOTH |= {"max_cached_chunks", "read_chunk_size", "preload_to_ram"}
_LOADERS_OWN = "make a headrace.torch.DataLoader, which has it, and pass it to fit()."
_MAPPED = _OF_DATA_MODULE[_MAP]
_FILES_OF_STAGES = _OF_DATA_MODULE[_FILES]

#: The same for ``headrace.lightning.DataModule``.
DATA_MODULE_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "headrace.Loader": {
            "dataset": _FILES_OF_STAGES,
            "global_batch_size": "Use batch_size=, in samples on each rank, which Lightning's Tuner sets.",
            "batch_sampler": f"Not here: it gives one rank's own batches, and ranks are the Trainer's; {_LOADERS_OWN}",
            "lookahead": f"Not here: checkpoints hold any step, and such an epoch has no middle; {_LOADERS_OWN}",
            "group_by": f"Use eval_group_by=; for training on whole groups {_LOADERS_OWN}",
            "rank": _OF_DATA_MODULE[_RANK],
            "world_size": _OF_DATA_MODULE[_WORLD],
            "framework": "Not needed: batches are of tensors.",
        },
        **{
            loader: {name: _OF_DATA_MODULE.get(text, text) for name, text in group.items() if name not in _OF_BOTH}
            for loader, group in LOADER_KNOBS.items()
        },
        "data modules": {
            "train_sampler": "Use sampler=.",
            "train_transform": _MAPPED,
            "val_transform": _MAPPED,
            "test_transform": _MAPPED,
            "lazy_adjacency": "Not needed: matrices are made a batch at a time, or not at all with "
            "reconstruct_full_adjacency=False.",
            "cache_size_mb": "Use memory=, for example memory='8GiB'.",
            "use_memory_map": "Not needed: files are read with pread.",
            "data_dir": _FILES_OF_STAGES,
            "root": _FILES_OF_STAGES,
            "train_dataset": _FILES_OF_STAGES,
            "val_dataset": _FILES_OF_STAGES,
            "test_dataset": _FILES_OF_STAGES,
            "val_batch_size": "Use eval_batch_size=.",
            "test_batch_size": "Use eval_batch_size=.",
        },
    }
)

_DRAWN = "Use weighted_sampler=True; other orders of patches do not exist yet."
_ONE_SHAPE = "Not for patches, which all have the shape of their array: so many of them are a batch."
_UNGROUPED = "Not needed: batches are of so many patches, and of no groups."

#: The same for the classes of ``headrace.cellmap``, which have cellmap-data's arguments.
CELLMAP_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "headrace.Loader": {
            "threads": "Use num_workers=.",
            "global_batch_size": "Use batch_size=, in patches on each rank.",
            "tail": "Use drop_last=; the last batch is smaller otherwise, and filled up with no repeats.",
            "lookahead": _DRAWN,
            "batch": _ONE_SHAPE,
            "group_by": "Not for patches: is_train=False goes over each crop in order, and 'idx' tells the place.",
            "max_items": _UNGROUPED,
            "max_groups": _UNGROUPED,
            "layout": _ONE_SHAPE,
            "fill": _ONE_SHAPE,
            "share": "Not for patches: each process has its own cache.",
            "batch_format": "Not needed: batches are dicts with cellmap-data's keys.",
            "samples_per_epoch": "Use iterations_per_epoch=.",
            "balance": "Use weighted_sampler=True, and classes= for some of them.",
            "framework": "Not needed: batches are of tensors.",
            "provenance": "Not needed: batches have 'idx', the number of each place: dataset[idx].",
        },
        "torch": {
            "shuffle": "Use is_train=: True draws random patches, False goes over each crop in order.",
            "batch_sampler": _DRAWN,
            "collate_fn": "Not needed: batches come collated, as a dict of tensors; change them in the loop.",
            "generator": "Use rng=.",
        },
        "cellmap-data": {
            "context": "Not needed: files are read by C++ threads, without TensorStore.",
            "max_workers": _THREADS.replace("threads=", "the loader's num_workers="),
            "is_train": "Say it to the CellMapDataLoader: is_train=True draws random patches.",
            "rng": "Use seed=, or the CellMapDataLoader's rng=.",
            "interpolation": "Not needed: nothing is resampled, the level of the scale must be there.",
            "axis_order": "Not supported: arrays lie in the order z, y, x.",
            "empty_store": "Not needed: a class that a crop lacks is NaN.",
        },
    }
)

#: Hints for Loader that name what ``headrace.jax.Loader`` has not, and what it has in its place.
_OF_JAX: Mapping[str, str] = MappingProxyType(
    {
        _TO_DEVICE: "Use mesh= and spec=, or sharding=: batches arrive on their devices.",
        _RANKS: "Not needed: each process finds its rows from mesh= and spec=.",
        _LOOP: "Use num_epochs=: for each iter(loader).",
    }
)
_ROWS = _OF_JAX[_RANKS]
_SIZES = "Not for jit, which compiles anew for batches of other sizes; hr.Loader makes such batches, of NumPy arrays."

#: The same for ``headrace.jax.Loader``.
JAX_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "headrace.Loader": {
            "global_batch_size": "Use batch_size=, which is global.",
            "rank": _ROWS,
            "world_size": _ROWS,
            "batch": _SIZES,
            "batch_sampler": "Use sampler= and batch_size=: rows of a global batch are divided by the sharding.",
            "group_by": _SIZES,
            "max_items": _SIZES,
            "max_groups": _SIZES,
            "lookahead": "Not here: get_state() holds any step, and such an epoch cannot be entered in its middle; "
            "hr.Loader has it.",
            "layout": "Use width=, which fills ragged fields up.",
            "framework": "Not needed: batches are of jax.Arrays.",
            "device": _OF_JAX[_TO_DEVICE],
            "batch_format": "Not needed: a dict is a pytree.",
        },
        **{
            loader: {
                name: _ROWS if "rank" in text else _OF_JAX.get(text, text)
                for name, text in group.items()
                if name != "num_epochs"
            }
            for loader, group in LOADER_KNOBS.items()
        },
        "Grain's Dataset": {
            "cpu_buffer_size": _MEMORY,
            "device_buffer_size": "Use ahead=: batches on the devices before they are asked for.",
            "read_options": _THREADS,
            "prefetch_buffer_size": _MEMORY,
        },
    }
)

#: The same for ``hr.open``.
OPEN_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "h5py": {
            "mode": "Not needed: files are opened for reading.",
            "swmr": "Not supported: open a file after its writer has closed it.",
            "locking": "Not needed: files are opened without locks.",
            "libver": "Not needed: it is for writing.",
            "driver": "Not supported: files are read with pread.",
            "rdcc_nbytes": "Not needed: a Loader keeps decoded chunks within memory=.",
            "rdcc_nslots": "Not needed: a Loader keeps decoded chunks within memory=.",
            "rdcc_w0": "Not needed: a Loader keeps decoded chunks within memory=.",
        },
        "other words": {
            "columns": "Use fields=.",
            "keys": "Use fields=.",
            "split": 'Use hr.open(paths).split({"train": 0.8, "val": 0.2}).',
            "mmap_mode": "Not needed: rows are read when they are asked for.",
        },
    }
)

#: The same for ``transforms.SpecAugment``.
SPEC_AUGMENT_KNOBS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "torchaudio": {
            "time_mask_param": "Use time=: the widest stripe, in frames.",
            "freq_mask_param": "Use freq=: the widest stripe, in frequencies.",
            "n_time_masks": "Use num_time=.",
            "n_freq_masks": "Use num_freq=.",
            "iid_masks": "Not needed: each sample has its own stripes.",
            "zero_masking": "Use fill=, which is 0 by default: that is the mean after T.Standardize.",
            "mask_param": "Use time= (frames) or freq= (frequencies).",
            "mask_value": "Use fill=.",
            "axis": "Use time= for stripes of frames, and freq= for stripes of frequencies.",
        },
    }
)


def refuse_unknown(function: str, given: Iterable[str], known: Iterable[str], knobs: Mapping[str, Any]) -> None:
    """Raise if a name that was given is not known, and say what to use in its place.

    Raises:
        UnknownArgumentError: The hint has a sentence for each such name.
    """
    choices = list(known)
    unknown = [name for name in given if name not in choices]
    if not unknown:
        return
    instead = {name: text for group in knobs.values() for name, text in group.items()}
    hints = {name: instead.get(name) or _nearest(name, choices) for name in unknown}
    told = [text if len(unknown) == 1 else f"{name}: {text}" for name, text in hints.items() if text]
    message = f"{function} has no argument{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}"
    hint = " ".join(told) or None
    raise UnknownArgumentError(f"{message}. {hint}" if hint else message, message=message, hint=hint)


def _nearest(name: str, choices: list[str]) -> str | None:
    near = get_close_matches(name, choices, 1)
    return f"Did you mean {near[0]!r}?" if near else None


def names_knobs(function: str, knobs: Mapping[str, Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a function say what replaces an argument that it has not."""

    def decorate(wrapped: Callable[P, R]) -> Callable[P, R]:
        known = inspect.signature(wrapped).parameters

        @wraps(wrapped)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            refuse_unknown(function, kwargs, known, knobs)
            return wrapped(*args, **kwargs)

        return call

    return decorate
