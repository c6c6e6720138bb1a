"""The contestants: what each is called, where it comes from, what it keeps in memory, and how to get its order."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import headrace_order
import numpy as np
import orders
from experiment import Rows, World


@dataclass
class Made:
    """One epoch's order, and what is known of it besides."""

    order: Rows
    rows_in_memory: int
    code: str = "from its source"
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Strategy:
    key: str
    name: str
    source: str
    make: Callable[[int], Made]  # seed -> order
    label: str  # in the picture


@dataclass(frozen=True)
class Sizes:
    """How large the experiment is; `memory_rows` is the memory that contestants get whose memory can be chosen."""

    world: World
    share: float
    batch: int
    large_fit: tuple[int, int]  # streams and pool with which all that the window holds is within the share,
    small_fit: tuple[int, int]  # for large and for small blocks
    large_mixed: tuple[int, int]  # … with which the share is mixed, and the window holds more
    small_mixed: tuple[int, int]

    @property
    def memory_rows(self) -> int:
        return int(self.world.rows * self.share)

    @property
    def large(self) -> int:
        return self.world.rows_per_file // 10

    @property
    def small(self) -> int:
        return self.world.rows_per_file // 100


FULL = Sizes(World(660, 10_000), 0.01, 256, (20, 2), (64, 8), (16, 4), (64, 10))
QUICK = Sizes(World(60, 1000), 0.1, 64, (20, 2), (64, 7), (15, 4), (60, 10))


def rows_alive(order: Rows, shard: int) -> int:
    """Most rows in memory, if a shard is read whole when its first row is due and a row goes when it is delivered."""
    shards = order // shard
    first = np.full(int(shards.max()) + 1, len(order))
    np.minimum.at(first, shards, np.arange(len(order)))
    read = np.zeros(len(order), np.int64)
    np.add.at(read, first, shard)
    return int(np.max(np.cumsum(read) - np.arange(len(order))))


def peers_python() -> str:
    """The interpreter that has the peers: $HEADRACE_PEERS_PYTHON, or this one."""
    return os.environ.get("HEADRACE_PEERS_PYTHON") or sys.executable


def of_peer(name: str, settings: dict[str, int], otherwise: Callable[[], Rows]) -> tuple[Rows, str]:
    """The order from the peer's own code, or `otherwise` where it is not installed; and whose code it was."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "order.npy"
        script = Path(__file__).with_name("peer_orders.py")
        command = [peers_python(), str(script), name, json.dumps(settings), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 3:
            return otherwise(), "from its source"
        if done.returncode != 0:
            raise RuntimeError(f"{name}: {done.stderr[-2000:]}")
        return np.load(out), done.stdout.strip().splitlines()[-1]


def published(size: Sizes) -> list[Strategy]:
    world, memory, batch = size.world, size.memory_rows, size.batch
    large, small, file_rows = size.large, size.small, size.world.rows_per_file
    percent = f"{100 * size.share:g} %"
    turns, few = min(64, world.files // 2), min(10, world.files)

    def webdataset(buffer: int, seed: int) -> Made:
        settings = {"rows": world.rows, "file_rows": file_rows, "seed": seed, "buffer": buffer}
        order, code = of_peer("webdataset", settings, lambda: orders.shards_and_buffer(world, seed, buffer))
        return Made(order, buffer, code)

    def py1e(shard: int, block: int, seed: int) -> Made:
        settings = {"rows": world.rows, "file_rows": shard, "seed": seed, "block": block}
        shards = World(world.rows // shard, shard)
        order, code = of_peer("py1e", settings, lambda: orders.py1e(shards, seed, block))
        return Made(order, rows_alive(order, shard), code)

    def add(key: str, source: str, name: str, label: str, rows: int, order: Callable[..., Rows], **more: int) -> None:
        found.append(Strategy(key, name, source, lambda seed: Made(order(world, seed, **more), rows), label))

    def add_peer(key: str, source: str, name: str, label: str, make: Callable[..., Made], *more: int) -> None:
        found.append(Strategy(key, name, source, functools.partial(make, *more), label))

    found: list[Strategy] = []
    add("none", "-", "none", "none", 0, orders.in_file_order)
    name, label = "contiguous batches in random order", "batches in random order"
    add("batches", "PolarBERT", name, label, batch, orders.batches_in_random_order, batch=batch)
    add("file", "iceaggr", "one file at a time, permuted", "file by file", file_rows, orders.file_by_file)
    name = f"windows of {percent}, files in order"
    add("grain", "Grain WindowShuffle", name, "Grain windows", memory, orders.in_windows, window=memory)
    name, label = f"buffer of {percent}, files in order", "buffer, files in order"
    add("sliding", "tf.data shuffle", name, label, memory, orders.sliding_buffer, buffer=memory)
    name = "shards shuffled, buffer of 1,000 (default)"
    add_peer("webdataset_default", "WebDataset", name, "WebDataset, default", webdataset, 1000)
    name = f"shards shuffled, buffer of {percent}"
    add_peer("webdataset", "WebDataset", name, f"WebDataset, {percent}", webdataset, memory)
    name, source = f"{few} shards in turns, buffer of 1,000 (default)", "Hugging Face datasets 5"
    add("huggingface", source, name, "Hugging Face, default", 1000, orders.interleaved, open_files=few, buffer=1000)
    name, source = f"{turns} files in turns, buffer of {percent}", "tf.data interleave"
    add("interleave", source, name, "tf.data interleave", memory, orders.interleaved, open_files=turns, buffer=memory)
    name = f"`py1e`, a shard a file, `block_size` {2 * memory:,}"
    add_peer("py1e", "MosaicML streaming", name, "py1e", py1e, file_rows, 2 * memory)
    name = f"`py1e`, shards of {large:,} rows, `block_size` {2 * memory:,}"
    add_peer("py1e_small", "MosaicML streaming", name, f"py1e, shards of {large:,}", py1e, large, 2 * memory)
    for block in (large, small):
        key, label = f"corgipile_{'large' if block == large else 'small'}", f"CorgiPile, {block:,}"
        name, blocks = f"blocks of {block:,} rows, {memory // block} at a time", memory // block
        add(key, "CorgiPile", name, label, memory, orders.corgipile, block=block, blocks=blocks)
    name, pages = f"`QUASI_RANDOM`, pages of {small:,} rows", 2 * batch
    add("ffcv", "FFCV", name, "FFCV quasi-random", pages * small, orders.quasi_random, page=small, pages=pages)
    add("global", "torch RandomSampler", "all rows", "global", world.rows, orders.all_rows)
    return found


def headrace(size: Sizes, folder: Path) -> list[Strategy]:
    percent = f"{100 * size.share:g} %"

    def make(block: int, mix: tuple[int, int] | None, seed: int) -> Made:
        files = folder / f"blocks_of_{block}"
        if not files.exists():
            headrace_order.write_files(files, size.world, block)
        got = headrace_order.deliver(files, block, seed, size.batch, mix)
        facts = {"block": block, "mix": got.mix, "read_amplification": got.read_amplification}
        facts["order_report"] = got.reported["global"]
        return Made(got.order, got.rows_in_memory, "its own", facts)

    found = []
    for block, word, fit, mixed in (
        (size.large, "large", size.large_fit, size.large_mixed),
        (size.small, "small", size.small_fit, size.small_mixed),
    ):
        for key, mix, what in (("fit", fit, "held"), ("mixed", mixed, "mixed"), ("default", None, "")):
            shape = f"`ShuffleShape{mix}`" if mix else "default mix"
            label = f"Headrace, {block:,}: {percent} {what}" if mix else f"Headrace, {block:,}: default"
            name = f"blocks of {block:,} rows, {shape}"
            found.append(
                Strategy(f"headrace_{word}_{key}", name, "Headrace", functools.partial(make, block, mix), label)
            )
    return found


def strategies(size: Sizes, folder: Path) -> list[Strategy]:
    return published(size) + headrace(size, folder)
