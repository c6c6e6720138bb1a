"""Published ways to shuffle, each in a few lines after its source, which is named.

All take a `World` and a seed and return the row numbers in the order of delivery.
"""

from __future__ import annotations

import numpy as np
from experiment import Rows, World
from numpy.typing import NDArray


def in_file_order(world: World, seed: int) -> Rows:
    return np.arange(world.rows)


def all_rows(world: World, seed: int) -> Rows:
    """One permutation of all rows: torch's RandomSampler."""
    return np.random.default_rng(seed).permutation(world.rows)


def batches_in_random_order(world: World, seed: int, batch: int = 256) -> Rows:
    """Contiguous batches whose order alone is random, as PolarBERT's IceCube loader does."""
    rows = runs(world, batch, np.random.default_rng(seed)).ravel()
    return np.concatenate([rows, np.arange(len(rows), world.rows)])  # what fills no batch comes last


def runs(world: World, run: int, random: np.random.Generator) -> Rows:
    """(runs, run): all rows as runs of neighbours in random order."""
    starts = random.permutation(world.rows // run) * run
    return starts[:, None] + np.arange(run)


def file_by_file(world: World, seed: int) -> Rows:
    """Files in random order, each one's rows permuted: a sampler over whole files in memory."""
    return corgipile(world, seed, world.rows_per_file, 1)


def corgipile(world: World, seed: int, block: int, blocks: int) -> Rows:
    """Random blocks fill a buffer, which is permuted and emptied.

    Xu et al., In-Database Machine Learning with CorgiPile, SIGMOD 2022, algorithm 1.
    """
    random = np.random.default_rng(seed)
    order = runs(world, block, random)
    parts = [order[first : first + blocks].ravel() for first in range(0, len(order), blocks)]
    return np.concatenate([random.permutation(part) for part in parts])


def through_buffer(stream: Rows, buffer: int, seed: int) -> Rows:
    """Replacement buffer: a random one of `buffer` rows leaves, the next of the stream takes its place.

    tf.data's Dataset.shuffle, torchdata's Shuffler, Hugging Face's IterableDataset.shuffle. All at once: what leaves a
    slot is what entered it when it was last drawn.
    """
    random = np.random.default_rng(seed)
    moves = max(len(stream) - buffer, 0)
    slots = random.integers(buffer, size=moves, dtype=np.int32)
    visits = np.concatenate([np.arange(buffer, dtype=np.int32), slots])  # row i of the stream enters slot visits[i]
    by_slot = np.argsort(visits, kind="stable")
    followed = visits[by_slot[1:]] == visits[by_slot[:-1]]
    out = np.empty_like(stream)
    out[by_slot[1:][followed] - buffer] = stream[by_slot[:-1][followed]]
    last = np.append(~followed, True)
    out[moves:] = random.permutation(stream[by_slot[last]])
    return out


def sliding_buffer(world: World, seed: int, buffer: int) -> Rows:
    """Files in fixed order through a replacement buffer: Dataset.shuffle(buffer) alone."""
    return through_buffer(np.arange(world.rows), buffer, seed)


def shards_and_buffer(world: World, seed: int, buffer: int) -> Rows:
    """Files in random order through a replacement buffer: WebDataset, tf.data with shuffled files."""
    return through_buffer(runs(world, world.rows_per_file, np.random.default_rng(seed)).ravel(), buffer, seed + 1)


def interleaved(world: World, seed: int, open_files: int, buffer: int) -> Rows:
    """Files in random order, so many of them read in turns, one row each, through a replacement buffer.

    tf.data's interleave(cycle_length) with shuffle; with 10 files and 1000 rows Hugging Face datasets 5's
    IterableDataset.shuffle(buffer_size=1000, max_buffer_input_shards=10).
    """
    files = runs(world, world.rows_per_file, np.random.default_rng(seed))
    parts = [files[first : first + open_files].T.ravel() for first in range(0, len(files), open_files)]
    return through_buffer(np.concatenate(parts), buffer, seed + 1)


def py1e(world: World, seed: int, block: int) -> Rows:
    """Files in random order; every row moves by a random amount, at most half of `block` less a file.

    MosaicML streaming, streaming/base/shuffle/py1e.py, for one canonical node.
    """
    random = np.random.default_rng(seed)
    rows = runs(world, world.rows_per_file, random).ravel()
    reach = max(block - world.rows_per_file, 0) / 2
    moved: NDArray[np.float64] = np.arange(world.rows) + random.uniform(-reach, reach, world.rows)
    return rows[np.argsort(moved, kind="stable")]


def quasi_random(world: World, seed: int, page: int, pages: int) -> Rows:
    """Pages in random order, so many of them open; each sample from a random open page.

    FFCV, ffcv/traversal_order/quasi_random.py, where `pages` is twice the batch.
    """
    random = np.random.default_rng(seed)
    order = runs(world, page, random)
    waiting = iter([random.permutation(rows).tolist() for rows in order])
    opened = [rows for _, rows in zip(range(pages), waiting, strict=False)]
    out = np.empty(world.rows, np.int64)
    draws = random.random(world.rows).tolist()
    for i, draw in enumerate(draws):
        chosen = int(draw * len(opened))
        rows = opened[chosen]
        out[i] = rows.pop()
        if not rows:
            following = next(waiting, None)
            if following is None:
                opened[chosen] = opened[-1]
                opened.pop()
            else:
                opened[chosen] = following
    return out


def in_windows(world: World, seed: int, window: int) -> Rows:
    """Every window of neighbours permuted, windows in file order: Grain's WindowShuffleMapDataset."""
    random = np.random.default_rng(seed)
    starts = range(0, world.rows, window)
    return np.concatenate([first + random.permutation(min(window, world.rows - first)) for first in starts])
