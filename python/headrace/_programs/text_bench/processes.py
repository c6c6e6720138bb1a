"""A fresh process for each measurement: started, watched for its memory, and ended with all that it started."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from headrace._programs.text_bench.memory import resident_bytes, tree

_CODE = "import sys; sys.path[:] = {path!r}; from headrace._programs.text_bench.child import main; main()"
_START_SECONDS = 120.0  # importing from a slow file system, and starting workers
_LOOK_SECONDS = 0.25
_MOST_ERROR = 400


def measured(request: dict[str, Any], environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the answer of a process of its own; ``failed`` says what became of one that gave none."""
    path = [os.path.realpath(entry) if entry else os.fspath(os.getcwd()) for entry in sys.path]  # noqa: PTH109
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "contestant.json"
        done = Path(folder) / "measured"
        asked.write_text(json.dumps({**request, "measured": str(done)}), encoding="utf-8")
        with (Path(folder) / "output").open("w+b") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", _CODE.format(path=path), str(asked)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "PYTHONWARNINGS": "ignore", **(environment or {})},
            )
            try:
                peak = _watch(process, done, 3 * request["seconds"] + _START_SECONDS)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                status = process.wait()
            return _answer(asked.with_suffix(".answer"), peak, status, output)


def _watch(process: subprocess.Popen[bytes], done: Path, seconds: float) -> int:
    """Wait for the end of a process, and return the most memory that it had while it measured."""
    until, peak = time.monotonic() + seconds, 0
    while process.poll() is None and time.monotonic() < until:
        now = resident_bytes(tree(process.pid))
        if not done.exists():
            peak = max(peak, now)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_SECONDS)
    return peak


def _answer(path: Path, peak: int, status: int, output: Any) -> dict[str, Any]:
    if path.exists():
        answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "peak_rss_bytes" in answer:
            answer["peak_rss_bytes"] = max(answer["peak_rss_bytes"], peak)
        return answer
    output.seek(0)
    lines = output.read().decode("utf-8", "replace").strip().splitlines()
    told = f": {lines[-1][:_MOST_ERROR]}" if lines else ""
    if status < 0:
        return {"failed": f"its process was ended by {signal.Signals(-status).name} (time, or memory?){told}"}
    return {"failed": f"its process ended with status {status}{told}"}
