"""Run read_damaged.py over a list of damages, past crashes and hangs, on two processes."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("read_damaged.py")
WAIT_SECONDS = 300


def _one_process(source: Path, folder: Path, damages: list[str]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < len(damages):
        todo = damages[len(found) :]
        folder.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", str(PROGRAM), str(source), str(folder)],
            input="\n".join(todo) + "\n",
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        lines = done.stdout.splitlines()
        if lines and not lines[-1].endswith("}"):
            lines.pop()  # it died while it wrote
        found += [json.loads(line) for line in lines]
        if len(found) < len(damages):
            how = "hang" if "Timeout" in done.stderr else "crash"
            text = f"status {done.returncode}: {done.stderr[-1500:]}"
            found.append({"damage": damages[len(found)], "result": how, "text": text})
            if sum(entry["result"] in ("hang", "crash") for entry in found) > 20:
                break
    return found


def read_damaged(source: Path, folder: Path, damages: list[str], processes: int = 2) -> list[dict[str, Any]]:
    """Results of all damages, in order of their process. More than 20 crashes of a process end it early."""
    shares = [damages[i::processes] for i in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        parts = pool.map(_one_process, [source] * processes, [folder / str(i) for i in range(processes)], shares)
        return [entry for part in parts for entry in part]
