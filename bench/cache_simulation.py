#!/usr/bin/env python3
"""Decodes a block under an exact order, simulated: Belady's and LRU's block cache, and the request window. Prints JSON.

cache_simulation.py [--share 0.1,0.3,0.6] [--rows 65536] [--order random] [FILE…]

The caches hold whole decoded blocks in all of the memory, without a byte for batches, scratch or anything else; the
window pays for whole batches out of it. `belady` and `lru` are asked row by row. `grouped` are the same caches made as
good as caches of blocks can be: a batch asks for each of its blocks once, those that are there first, since the order
inside a batch does not matter to who decodes. Belady's rule evicts the block whose next use is farthest away, exactly.
"""

from __future__ import annotations

import argparse
import heapq
import json
from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
SEED = 7


def permutation(rows: int) -> Numbers:
    return np.random.default_rng(SEED).permutation(rows).astype(np.int64)


def headrace_order(files: list[str], batch_size: int) -> Numbers:
    """Row numbers in the order that Headrace delivers under shuffle="exact", from its provenance."""
    import headrace as hr

    labels = hr.open(files, fields={"y": "labels"})
    first = np.concatenate([[0], np.cumsum([info.rows for info in labels.files])])
    loader = hr.Loader(labels, batch_size, shuffle="exact", seed=SEED, cache="none", provenance=True)
    order = [first[batch["_rows"][:, 0]] + batch["_rows"][:, 1] for batch in loader]
    return np.concatenate(order).astype(np.int64)


def next_uses(blocks: Numbers) -> list[int]:
    """Position of the next request of the same block; past the end if there is none."""
    later: dict[int, int] = {}
    result = [0] * len(blocks)
    for at in range(len(blocks) - 1, -1, -1):
        block = int(blocks[at])
        result[at] = later.get(block, len(blocks) + at)
        later[block] = at
    return result


def belady(blocks: Numbers, capacity: int) -> int:
    """Decodes with a cache that evicts what is needed last. Also leaves out a block that is needed later than all."""
    following = next_uses(blocks)
    held: dict[int, int] = {}  # block: its next use
    farthest: list[tuple[int, int]] = []  # (-next use, block); entries that are out of date are skipped
    decodes = 0
    for at, block in enumerate(blocks.tolist()):
        if block not in held:
            decodes += 1
            if len(held) >= capacity:
                while held.get(farthest[0][1]) != -farthest[0][0]:
                    heapq.heappop(farthest)
                if -farthest[0][0] < following[at]:
                    continue  # used once, not kept: never worse than evicting something that is needed sooner
                del held[heapq.heappop(farthest)[1]]
        held[block] = following[at]
        heapq.heappush(farthest, (-following[at], block))
    return decodes


def lru(blocks: Numbers, capacity: int) -> int:
    """Decodes with a cache that evicts what was used longest ago."""
    held: OrderedDict[int, None] = OrderedDict()
    decodes = 0
    for block in blocks.tolist():
        if block in held:
            held.move_to_end(block)
            continue
        decodes += 1
        if len(held) >= capacity:
            held.popitem(last=False)
        held[block] = None
    return decodes


def grouped(blocks: Numbers, batch: int, capacity: int, keep_farthest_out: bool) -> int:
    """Decodes when a batch takes what is cached first, and then each other block of it once.

    After the batch the cache keeps, of what it held and what was decoded, the blocks needed soonest (Belady) or used
    most recently (LRU). Nobody who caches blocks knows more or may choose more freely.
    """
    batches = [np.unique(blocks[at : at + batch]) for at in range(0, len(blocks), batch)]
    uses: dict[int, list[int]] = {}
    for number in range(len(batches) - 1, -1, -1):
        for block in batches[number].tolist():
            uses.setdefault(block, []).append(number)  # descending: the next use is last
    held: dict[int, int] = {}  # block: next use, or minus the last use
    decodes = 0
    for number, wanted in enumerate(batches):
        for block in wanted.tolist():
            decodes += block not in held
            uses[block].pop()
            soon = uses[block][-1] if uses[block] else len(batches)
            held[block] = soon if keep_farthest_out else -number
        if len(held) > capacity:
            held = dict(heapq.nsmallest(capacity, held.items(), key=lambda item: item[1]))
    return decodes


def window(blocks: Numbers, batch: int, slots: int) -> int:
    """Decodes by the window's rule: the block that the oldest batch misses, for all its requests in the window."""
    positions: dict[int, list[int]] = {}
    for at in range(len(blocks) - 1, -1, -1):
        positions.setdefault(int(blocks[at]), []).append(at)  # descending: the next request is last
    decodes = 0
    for at, block in enumerate(blocks.tolist()):
        mine = positions[block]
        if not mine or mine[-1] > at:
            continue  # was served
        end = (at // batch + slots) * batch
        while mine and mine[-1] < end:
            mine.pop()
        decodes += 1
    return decodes


def simulate(order: Numbers, share: float, args: argparse.Namespace) -> dict[str, Any]:
    blocks = order // args.block_rows
    count = len(np.unique(blocks))
    capacity = max(int(share * count), 1)
    slots = max(int(share * len(order) / args.batch_size), 1)
    return {
        "share": share,
        "blocks": count,
        "cached_blocks": capacity,
        "slots": slots,
        "belady": belady(blocks, capacity) / count,
        "lru": lru(blocks, capacity) / count,
        "grouped_belady": grouped(blocks, args.batch_size, capacity, True) / count,
        "grouped_lru": grouped(blocks, args.batch_size, capacity, False) / count,
        "window": window(blocks, args.batch_size, slots) / count,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="for --order provenance")
    parser.add_argument("--share", default="0.1,0.3,0.6", help="of the decoded data that the memory holds")
    parser.add_argument("--rows", type=int, default=65_536)
    parser.add_argument("--block-rows", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--order", choices=["random", "provenance"], default="random")
    args = parser.parse_args()
    order = permutation(args.rows) if args.order == "random" else headrace_order(args.files, args.batch_size)
    if not np.array_equal(np.sort(order), np.arange(len(order))):
        raise SystemExit("the order is not a permutation of the rows")
    print(json.dumps({"order": args.order, "shares": [simulate(order, float(s), args) for s in args.share.split(",")]}))


if __name__ == "__main__":
    main()
