"""The parent's side of ``server``: asks it, waits no longer than allowed, and leaves no process behind."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from types import TracebackType
from typing import Any

from headrace.errors import Error, InternalError

_START_SECONDS = 120.0  # importing torch from a slow file system
_CODE = "import sys; sys.path[:] = {path!r}; from headrace._bench.server import main; main()"


class TooSlowError(Exception):
    """A contestant has not answered in its time."""


class Server:
    """A process that forks one for each measurement; with what they start in a process group of its own."""

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages
        self._process: subprocess.Popen[bytes] | None = None
        self.missing: dict[str, str] = {}
        self._buffer = b""
        self._start()

    def _start(self) -> None:
        path = [os.path.realpath(entry) if entry else os.fspath(os.getcwd()) for entry in sys.path]  # noqa: PTH109
        command = [sys.executable, "-c", _CODE.format(path=path), *self._packages]
        self._buffer = b""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        try:
            self.missing = self._answer(_START_SECONDS)["missing"]
        except TooSlowError:
            self.close()
            raise InternalError(f"the measuring process did not start within {_START_SECONDS:.0f} s") from None
        except BaseException:  # Ctrl-C while it imports
            self.close()
            raise

    def measure(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        """Return the answer to a request.

        Raises:
            TooSlowError: There is none after ``seconds``; the process was ended.
            Error: What Headrace itself raised.
        """
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        try:
            answer = self._answer(seconds)
        except TooSlowError:
            self.close()
            raise
        if "exception" in answer:
            error: Error = pickle.loads(base64.b64decode(answer["exception"]))
            raise error
        return answer

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process is not None and self._process.stdout is not None
        until = time.monotonic() + seconds
        while b"\n" not in self._buffer:
            left = until - time.monotonic()
            if left <= 0:
                raise TooSlowError
            if not select.select([self._process.stdout], [], [], left)[0]:
                continue
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                raise InternalError(f"the measuring process ended with status {self._process.wait()}")
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """End it, what it measures, and the workers of that."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._process = None

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
