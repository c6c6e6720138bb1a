"""An object of the engine's, before each of whose calls another thread seems to write into the caller's array."""

from __future__ import annotations

from typing import Any

import numpy as np


class Overwritten:
    """Passes calls on to ``native`` after ``array`` was filled with ``value``, as a thread could that needs no GIL."""

    def __init__(self, native: Any, array: np.ndarray[Any, Any], value: int) -> None:
        self._native, self._array, self._value = native, array, value

    def __len__(self) -> int:
        return len(self._native)

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **words: Any) -> Any:
            self._array.fill(self._value)
            return getattr(self._native, name)(*args, **words)

        return call
