"""What torch says of this machine's accelerator, in the words of each of its releases."""

from __future__ import annotations

from typing import Any

import torch

from headrace._support.checks import unsupported


def current_accelerator(*, check_available: bool = False) -> torch.device | None:
    """Return the kind of accelerator that torch is made for; None where there is none. Initialises no device.

    Args:
        check_available: Return it only if this machine has one.
    """
    accelerator: Any = getattr(torch, "accelerator", None)
    if accelerator is None:  # before torch 2.6
        accelerator = torch.cuda
        found = torch.device("cuda") if torch.version.cuda or torch.version.hip else None
    else:
        try:
            found = accelerator.current_accelerator()
        except RuntimeError:  # torch 2.6, where there is none
            return None
    return found if not check_available or accelerator.is_available() else None


def may_have_accelerator() -> bool:
    """Return whether this machine may have an accelerator that torch is made for: False is certain.

    Initialises no device where the driver can be asked for them, so that a program may fork after it.
    """
    kind = current_accelerator()
    return kind is not None and (kind.type != "cuda" or torch.cuda.device_count() > 0)


def device_module(kind: torch.device) -> Any:
    """Return torch's module of a device's kind, such as ``torch.cuda``; None where torch has none of this kind.

    Raises:
        UnsupportedError: torch is too old.
    """
    if not hasattr(torch, "get_device_module"):
        raise unsupported(
            f"batches on a device need torch 2.4 or later, this is {torch.__version__}",
            "Use a newer torch, or leave device= out and move the batches yourself.",
        )
    try:
        return torch.get_device_module(kind)
    except RuntimeError:
        return None
