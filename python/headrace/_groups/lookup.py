"""Tables of whole numbers that arrays and tensors look up alike."""

from __future__ import annotations

from typing import Any

import numpy as np


class Lookup:
    """Keep a table of whole numbers, and a copy of it on each device whose tensors look something up.

    Args:
        numbers: Whole numbers of shape (n,). They are copied, as int64.
    """

    def __init__(self, numbers: Any) -> None:
        self._numbers = np.array(numbers, np.int64)
        self._copies: dict[str, Any] = {}  # by device

    def __getitem__(self, at: Any) -> Any:
        """Return the numbers at the places ``at``, int64 of the same shape.

        Args:
            at: Whole numbers from 0 to n - 1: an array of NumPy, or a tensor; then the result is a tensor on its
                device, and nothing waits for that device.

        Raises:
            IndexError: A place is not there; on a device, torch's own error, when the device gets there.
        """
        if isinstance(at, np.ndarray):
            return self._numbers[at]
        import torch

        device = str(at.device)
        if device not in self._copies:
            self._copies[device] = torch.tensor(self._numbers, device=at.device)
        return self._copies[device][at]
