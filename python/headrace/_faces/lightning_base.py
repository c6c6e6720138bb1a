"""What Lightning's packages give: the class that a data module derives from, and their way of saying something."""

from __future__ import annotations

import importlib
import importlib.util
import re
from types import ModuleType
from typing import TYPE_CHECKING, Any

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")  # the same library under two names, with classes of their own
_OLDEST = "2.5"  # older ones repeat an epoch whose last batch was saved, and 2.1 skips samples when it goes on


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def _installed() -> list[ModuleType]:
    """Import each that there is: which of them the program's Trainer comes from is not known yet."""
    found = [importlib.import_module(name) for name in _PACKAGES if importlib.util.find_spec(name.partition(".")[0])]
    if not found:
        raise ImportError("headrace.lightning needs Lightning, which is not installed. Run: pip install lightning")
    for module in found:
        version = str(getattr(module, "__version__", _OLDEST))
        if _numbers(version) < _numbers(_OLDEST):
            raise ImportError(f"headrace.lightning needs {module.__name__} {_OLDEST} or later, this is {version}")
    return found


_modules = _installed()

if TYPE_CHECKING:
    from lightning.pytorch import LightningDataModule as LightningDataModule
else:

    class LightningDataModule(*(module.LightningDataModule for module in _modules)):
        """Is a LightningDataModule to the Trainers of both packages."""


def say(text: str) -> None:
    """Say something as Lightning does ("GPU available: …"): through its logger, on rank 0, shown unless silenced."""
    utilities: Any = importlib.import_module(f"{_modules[0].__name__}.utilities")
    utilities.rank_zero_info(text)
