#!/usr/bin/env python3
"""One measurement of one peer's order, in a process of its own: `order_contestants.py NAME MEASURE ROWS`.

Prints JSON. MEASURE: `start` (until the first index; memory; a sample's cost), `resume` (until the first index after
the middle, from what the peer saves) or `quality` (Deff). Imports are not counted. Status 3: the peer is not installed.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SEED = 7
BATCH = 512
BLOCK_ROWS = 1000  # the label is constant in so many rows
SHARD_ROWS = 10_000  # where a peer shuffles shards
SAMPLES = 1 << 20  # looked at for Deff


class Contestant(ABC):
    """An order of `rows` rows. The constructor imports and makes ready what does not belong to the order."""

    package = ""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.middle = rows // 2 // BATCH * BATCH

    @abstractmethod
    def start(self) -> Iterator[int]:
        """A new epoch's row numbers."""

    @abstractmethod
    def resume(self) -> Iterator[int]:
        """Row numbers from the middle of the epoch, in a process that has only what was saved."""

    @abstractmethod
    def state_bytes(self) -> int | None:
        """Size of what is saved for resuming; None: nothing is."""

    def some(self) -> NDArray[np.int64]:
        """`SAMPLES` of the order, neighbours: from its middle where that is cheap."""
        return np.fromiter(itertools.islice(self.start(), SAMPLES), np.int64)


class Randperm(Contestant):
    """torch.randperm alone, kept as a tensor: the least that an order in an array costs. Saved: seed and position."""

    package = "torch"

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        import torch

        self.torch = torch

    def order(self) -> Any:
        return self.torch.randperm(self.rows, generator=self.torch.Generator().manual_seed(SEED))

    def start(self) -> Iterator[int]:
        order = self.order()
        return (row for part in order.split(4096) for row in part.tolist())

    def resume(self) -> Iterator[int]:
        order = self.order()[self.middle :]
        return (row for part in order.split(4096) for row in part.tolist())

    def state_bytes(self) -> int:
        return len(json.dumps({"seed": SEED, "position": self.middle}))

    def some(self) -> NDArray[np.int64]:
        half: NDArray[np.int64] = self.order()[self.middle : self.middle + SAMPLES].numpy()
        return half


class StatefulLoader(Contestant):
    """torchdata's StatefulDataLoader(shuffle=True) over row numbers, no workers, batches of 512."""

    package = "torchdata"

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        import torch
        from torchdata.stateful_dataloader import StatefulDataLoader

        class Numbers(torch.utils.data.Dataset[int]):
            def __len__(self) -> int:
                return rows

            def __getitem__(self, row: int) -> int:
                return row

        generator = torch.Generator().manual_seed(SEED)
        self.loader = StatefulDataLoader(Numbers(), BATCH, shuffle=True, generator=generator, collate_fn=list)

    def start(self) -> Iterator[int]:
        return itertools.chain.from_iterable(self.loader)

    def resume(self) -> Iterator[int]:
        self.loader.load_state_dict(self.saved())
        return itertools.chain.from_iterable(self.loader)

    def saved(self) -> dict[str, Any]:
        """A state of its first batch with the counters of the middle: going there takes it a second in 10^6 rows."""
        if not hasattr(self, "state"):
            small = type(self)(BATCH * 2)
            next(iter(small.loader))
            self.state: dict[str, Any] = small.loader.state_dict()
            self.state["_sampler_iter_yielded"] = self.state["_num_yielded"] = self.middle // BATCH
            inner = self.state["_sampler_iter_state"]
            inner["samples_yielded"] = inner["sampler_iter_state"]["yielded"] = self.middle
        return self.state

    def state_bytes(self) -> int:
        return len(pickle.dumps(self.saved()))


class Grain(Contestant):
    """Grain's MapDataset.range(rows).shuffle(seed), read by index; its iterator saves the next index."""

    package = "grain"

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        import grain

        self.grain = grain

    def data(self) -> Any:
        return self.grain.MapDataset.range(self.rows).shuffle(seed=SEED)

    def start(self, first: int = 0) -> Iterator[int]:
        data = self.data()
        return (int(data[i]) for i in range(first, self.rows))

    def iterator(self) -> Any:
        options = self.grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
        return iter(self.data().to_iter_dataset(options))

    def resume(self) -> Iterator[int]:
        iterator = self.iterator()
        iterator.set_state({"next_index": self.middle})
        return iterator

    def state_bytes(self) -> int:
        iterator = self.iterator()
        iterator.set_state({"next_index": self.middle})
        return len(json.dumps(iterator.get_state()))

    def some(self) -> NDArray[np.int64]:
        return np.fromiter(itertools.islice(self.start(self.middle), SAMPLES // 4), np.int64)


class Py1e(Contestant):
    """MosaicML streaming's get_shuffle_py1e with its default block, shards of 10,000 rows, one node.

    Resumed by making it again, as StreamingDataset does, whose state_dict() is what is saved. That it also divides the
    order over nodes, ranks and workers is not counted.
    """

    package = "mosaicml-streaming"

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        from streaming.base.shuffle.py1e import get_shuffle_py1e

        self.shuffle = get_shuffle_py1e
        self.shards = np.full(rows // SHARD_ROWS, SHARD_ROWS, np.int64)

    def order(self) -> NDArray[np.int64]:
        return self.shuffle(self.shards, num_canonical_nodes=1, seed=SEED, epoch=0)

    def start(self) -> Iterator[int]:
        order = self.order()
        return (row for first in range(0, len(order), 4096) for row in order[first : first + 4096].tolist())

    def resume(self) -> Iterator[int]:
        order = self.order()[self.middle :]
        return iter(order)

    def state_bytes(self) -> int:
        state = {"epoch": 0, "sample_in_epoch": self.middle, "num_canonical_nodes": 1, "shuffle_seed": SEED}
        return len(json.dumps({**state, "initial_physical_nodes": 1}))

    def some(self) -> NDArray[np.int64]:
        return self.order()[self.middle : self.middle + SAMPLES]


class WebDataset(Contestant):
    """Shards of 10,000 rows in random order through WebDataset's buffer. Saves nothing; resumed by skipping."""

    package = "webdataset"
    buffer = 1000

    def __init__(self, rows: int) -> None:
        super().__init__(rows)
        from webdataset.filters import _shuffle

        self.shuffle = _shuffle

    def start(self) -> Iterator[int]:
        shards = list(range(self.rows // SHARD_ROWS))
        random.Random(SEED).shuffle(shards)
        stream = (row for shard in shards for row in range(shard * SHARD_ROWS, (shard + 1) * SHARD_ROWS))
        return iter(self.shuffle(stream, bufsize=self.buffer, seed=SEED))

    def resume(self) -> Iterator[int]:
        return itertools.islice(self.start(), self.middle, None)

    def state_bytes(self) -> None:
        return None


class WebDataset10k(WebDataset):
    """The same with a buffer of 10,000."""

    buffer = 10_000


CONTESTANTS = {
    "torch.randperm": Randperm,
    "torchdata StatefulDataLoader": StatefulLoader,
    "Grain shuffle": Grain,
    "MosaicML py1e": Py1e,
    "WebDataset buffer 1000": WebDataset,
    "WebDataset buffer 10000": WebDataset10k,
}


def memory_bytes(key: str) -> int:
    """VmRSS or VmHWM of this process."""
    found = re.search(rf"^{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def timed(begin: Any, samples: int) -> dict[str, Any]:
    """Seconds until the first index, peak memory above what there was before, nanoseconds for each further sample."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory_bytes("VmRSS")
    start = time.perf_counter()
    iterator = begin()
    first = int(next(iterator))
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    count = sum(1 for _ in itertools.islice(iterator, samples))
    further = time.perf_counter() - start
    peak = max(memory_bytes("VmHWM") - before, 0)
    return {"seconds": seconds, "peak_bytes": peak, "ns_a_further_sample": 1e9 * further / count, "first": first}


def deff(order: NDArray[np.int64], rows: int) -> float:
    """Of a label that is constant in blocks and independent between them; see docs/shuffling.md."""
    blocks = np.sort((order[: len(order) // BATCH * BATCH] // BLOCK_ROWS).reshape(-1, BATCH), axis=1)
    starts = np.ones(blocks.shape, bool)
    starts[:, 1:] = blocks[:, 1:] != blocks[:, :-1]
    counts = np.diff(np.append(np.flatnonzero(starts), blocks.size)).astype(np.float64)
    total = rows // BLOCK_ROWS
    squares = float(np.sum(counts**2)) / len(blocks) / BATCH**2
    return BATCH * (squares - 1 / total) * total / (total - 1)


def main() -> int:
    name, measure, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    try:
        contestant = CONTESTANTS[name](rows)
    except ImportError as error:
        print(error, file=sys.stderr)
        return 3
    out: dict[str, Any] = {"code": f"{contestant.package} {metadata.version(contestant.package)}"}
    if measure == "quality":
        order = contestant.some()
        out |= {"deff": deff(order, rows), "samples": len(order)}
    elif measure == "resume":
        size = contestant.state_bytes()
        out |= {**timed(contestant.resume, 1000), "state_bytes": size}
    else:
        out |= timed(contestant.start, 100_000)
    print(json.dumps(out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
