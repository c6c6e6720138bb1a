#!/usr/bin/env python3
"""Two ranks of one host that share a cache, as two processes, against one rank alone. Prints one JSON object.

What counts is work, not time: bytes decoded by both, over all epochs, over those of one process that does it all.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import Any

import common


def start(rank: int, world_size: int, args: argparse.Namespace) -> subprocess.Popen[str]:
    command = [sys.executable, str(common.BENCH / "headrace_memory.py"), "rank", *args.files]
    command += ["--rank", str(rank), "--world-size", str(world_size), "--epochs", str(args.epochs)]
    command += ["--memory", args.memory, "--threads", str(args.threads), "--batch-size", str(args.batch_size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def results(processes: list[subprocess.Popen[str]]) -> list[dict[str, Any]]:
    try:
        outputs = [process.communicate(timeout=300) for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, errors) in zip(processes, outputs, strict=True):
        if process.returncode != 0:
            raise SystemExit(f"a rank ended with status {process.returncode}: {errors.strip()[-2000:]}")
    return [json.loads(output.strip().splitlines()[-1]) for output, _ in outputs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--memory", default="2GiB", help="of each rank")
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument("--batch-size", type=int, default=256, help="of each rank")
    args = parser.parse_args()
    (alone,) = results([start(0, 1, args)])
    ranks = results([start(rank, args.ranks, args) for rank in range(args.ranks)])
    if sum(rank["rows"] for rank in ranks) != alone["rows"]:
        raise SystemExit("the ranks did not deliver what one rank does")
    together = sum(rank["decoded_bytes"] for rank in ranks)
    work = {"alone_bytes": alone["decoded_bytes"], "rank_bytes": [rank["decoded_bytes"] for rank in ranks]}
    print(json.dumps({"work": together / alone["decoded_bytes"], **work}))


if __name__ == "__main__":
    main()
