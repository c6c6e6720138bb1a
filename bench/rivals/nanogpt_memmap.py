#!/usr/bin/env python3
"""Batches of token windows as nanoGPT makes them: np.memmap, places at random, torch.stack. Prints one JSON object.

Usage: nanogpt_memmap.py [--tokens 200000000] [--length 1024] [--batch-size 512] [--batches 60]

The loop is get_batch() of nanoGPT's train.py, without the copy to a GPU. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import token_windows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=token_windows.TOKENS)
    parser.add_argument("--length", type=int, default=1024)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--batches", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = np.load(token_windows.make(args.tokens), mmap_mode="r")
    length, size = args.length, args.batch_size

    def get_batch() -> tuple[torch.Tensor, torch.Tensor]:
        ix = torch.randint(len(data) - length, (size,))
        x = torch.stack([torch.from_numpy((data[i : i + length]).astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy((data[i + 1 : i + 1 + length]).astype(np.int64)) for i in ix])
        return x, y

    get_batch()
    started = time.perf_counter()
    for _ in range(args.batches):
        get_batch()
    seconds = time.perf_counter() - started
    windows = args.batches * size
    print(json.dumps({"rows_per_s": windows / seconds, "tokens_per_s": windows * length / seconds, "seconds": seconds}))


if __name__ == "__main__":
    main()
