"""The ways from tokens to batches that are measured, each as its users would write it at its best.

Each is a function of the tokens and of what is set, and returns a function of the epoch's number that returns its
batches: ``input`` and ``target``, int32 of shape (batch size, sequence length).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from headrace._programs.text_bench.plan import Variant
from headrace._programs.text_bench.store import Store

Batch = Mapping[str, Any]
Epochs = Callable[[int], Iterable[Batch]]
_SEED = 7


def inputs_and_targets(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Return windows as inputs and, a token later, targets."""
    return {"input": columns["tokens"][:, :-1], "target": columns["tokens"][:, 1:]}


def _windows(store: Store) -> Any:
    from headrace.tokens import open_tokens
    from headrace.transforms import Cast

    windows = open_tokens(store.tokens).windows(store.seq_len, lookahead=1)
    return windows.map(Cast("tokens", dtype="int32")).map(inputs_and_targets)


def headrace(store: Store, variant: Variant) -> Epochs:
    """Windows from C++ threads, shuffled."""
    from headrace.loader import Loader

    loader = Loader(_windows(store), store.batch_size, shuffle=True, seed=_SEED, drop_last=True)
    return lambda epoch: loader


def headrace_jax(store: Store, variant: Variant) -> Epochs:
    """The same as arrays of JAX's, on its default device."""
    from headrace.jax import Loader

    jax: Any = importlib.import_module("jax")

    loader = Loader(_windows(store), store.batch_size, shuffle=True, seed=_SEED, num_epochs=1)

    def batches(epoch: int) -> Iterator[Batch]:
        for batch in loader:
            yield jax.block_until_ready(batch)

    return batches


class MappedWindows:
    """Item i is window i of a memory map: nanoGPT's slices as the data set of a loader."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.tokens: Any = None  # opened by the process that reads

    def __len__(self) -> int:
        return self.store.windows

    def window(self, item: int) -> tuple[Any, Any]:
        """Return the tokens, and those that come next."""
        if self.tokens is None:
            self.tokens = self.store.mapped()
        length = self.store.seq_len
        at = int(item) * length
        return self.tokens[at : at + length].astype(np.int32), self.tokens[at + 1 : at + 1 + length].astype(np.int32)

    def __getitem__(self, item: int) -> Any:
        return dict(zip(("input", "target"), self.window(item), strict=True))


def grain(store: Store, variant: Variant) -> Epochs:
    """A map data set, shuffled over all, in threads or in worker processes."""
    package: Any = importlib.import_module("grain")
    flags: Any = importlib.import_module("absl.flags")

    flags.FLAGS.mark_as_parsed()  # its workers ask for flags, which only absl's own programs parse
    source: Any = MappedWindows(store)

    def batches(epoch: int) -> Iterable[Batch]:
        rows = (
            package.MapDataset.source(source).shuffle(seed=_SEED + epoch).batch(store.batch_size, drop_remainder=True)
        )
        ahead = max(variant.threads * variant.buffer, 1)
        read = package.ReadOptions(num_threads=variant.threads, prefetch_buffer_size=ahead)
        made = rows.to_iter_dataset(read)
        if variant.workers:
            made = made.mp_prefetch(
                package.MultiprocessingOptions(num_workers=variant.workers, per_worker_buffer_size=variant.buffer)
            )
        result: Iterable[Batch] = made
        return result

    return batches


def _torch_loader(data: Any, store: Store, variant: Variant) -> Epochs:
    import torch
    from torch.utils.data import DataLoader

    torch.manual_seed(_SEED)
    more: dict[str, Any] = {"persistent_workers": True, "prefetch_factor": variant.buffer} if variant.workers else {}
    loader: Any = DataLoader(data, store.batch_size, shuffle=True, drop_last=True, num_workers=variant.workers, **more)
    return lambda epoch: loader


def torch(store: Store, variant: Variant) -> Epochs:
    """A DataLoader over the same windows."""
    return _torch_loader(MappedWindows(store), store, variant)


class TokenisedTexts:
    """Item i is document i, tokenised when it is asked for, cut and padded; the ids are kept in lists."""

    def __init__(self, store: Store, vocabulary: str) -> None:
        from headrace._programs.text_bench.corpus import read_lines

        self.store, self.vocabulary = store, vocabulary
        self.texts = read_lines(store.texts, store.documents)
        self.tokenizer: Any = None  # one in each worker
        self.cache: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, item: int) -> Any:
        if self.tokenizer is None:
            import tokenizers

            self.tokenizer = tokenizers.Tokenizer.from_file(self.vocabulary)
            self.tokenizer.encode_special_tokens = True
        if item not in self.cache:
            whole = self.store.seq_len + 1
            ids = self.tokenizer.encode(self.texts[item], add_special_tokens=False).ids[:whole]
            self.cache[item] = ids + [self.store.pad] * (whole - len(ids))
        ids = np.array(self.cache[item], np.int32)
        return {"input": ids[:-1], "target": ids[1:]}


def torch_text(store: Store, variant: Variant, vocabulary: str | None) -> Epochs:
    """A DataLoader whose workers tokenise. Raises LookupError where there is nothing that they can do it with."""
    if vocabulary is None:
        raise LookupError("its workers read tokenizer.json, and this vocabulary is none: give one by --tokenizer")
    if store.documents < store.batch_size:
        raise LookupError(f"{store.documents:,} documents do not fill a batch of {store.batch_size:,}")
    return _torch_loader(TokenisedTexts(store, vocabulary), store, variant)


def tf(store: Store, variant: Variant) -> Epochs:
    """tf.data: numbers of windows, shuffled over all, and a gather for each batch on its own threads."""
    package: Any = importlib.import_module("tensorflow")
    tokens = package.constant(np.asarray(store.mapped()).astype(np.int32))
    steps = package.range(store.seq_len + 1, dtype=package.int64)

    def cut(items: Any) -> dict[str, Any]:
        rows = package.gather(tokens, items[:, None] * store.seq_len + steps[None, :])
        return {"input": rows[:, :-1], "target": rows[:, 1:]}

    def batches(epoch: int) -> Iterable[Batch]:
        data = package.data.Dataset
        made = data.range(store.windows).shuffle(store.windows, seed=_SEED + epoch)
        made = made.batch(store.batch_size, drop_remainder=True)
        result: Iterable[Batch] = made.map(cut, num_parallel_calls=package.data.AUTOTUNE).prefetch(
            package.data.AUTOTUNE
        )
        return result

    return batches


def fallback(store: Store, variant: Variant) -> Epochs:
    """NumPy alone: a permutation, and the windows of a batch taken out of a memory map at once."""
    tokens = store.mapped()
    shape = (store.windows, store.seq_len + 1)
    windows = np.lib.stride_tricks.as_strided(
        tokens, shape, (tokens.itemsize * store.seq_len, tokens.itemsize), writeable=False
    )

    def batches(epoch: int) -> Iterator[Batch]:
        order = np.random.default_rng(_SEED + epoch).permutation(store.windows)
        for at in range(0, store.windows, store.batch_size):
            yield inputs_and_targets({"tokens": windows[order[at : at + store.batch_size]].astype(np.int32)})

    return batches


def make(name: str, store: Store, variant: Variant, vocabulary: str | None) -> Epochs:
    """Return the epochs of a contestant."""
    if name == "torch-text":
        return torch_text(store, variant, vocabulary)
    loaders = {
        "headrace": headrace,
        "headrace-jax": headrace_jax,
        "grain": grain,
        "torch": torch,
        "tf": tf,
        "fallback": fallback,
    }
    return loaders[name](store, variant)
