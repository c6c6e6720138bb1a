"""Containers: the tensors of a batch, in whatever a program's functions keep them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import torch

Change = Callable[[Any], Any]


def goes_by_itself(value: Any) -> bool:
    """Return True for an object that knows how it goes to a device: PackedSequence, PyG's batches, BatchEncoding.

    What lies in it, and what of it stays in the host's memory, is its own matter.
    """
    return not isinstance(value, (torch.Tensor, type)) and callable(getattr(value, "to", None))


def tensors_in(batch: Any) -> Iterator[torch.Tensor]:
    """Return the tensors of a batch, but those of objects that go by themselves; in the order of :func:`changed`."""
    if isinstance(batch, torch.Tensor):
        yield batch
    elif not goes_by_itself(batch):
        for value in _values_of(batch):
            yield from tensors_in(value)


def has_own_way(batch: Any) -> bool:
    """Return True if a batch has objects that go by themselves."""
    return goes_by_itself(batch) or any(map(has_own_way, _values_of(batch)))


def changed(batch: Any, change: Change, move: Change = lambda value: value) -> Any:
    """Return a batch with other tensors, in containers of the same kinds; what else lies there stays.

    Args:
        batch: A batch. Containers that keep their values in others, and share these with a copy, are changed too.
        change: Makes another tensor of each.
        move: Makes another object of each that goes by itself.
    """
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if goes_by_itself(batch):
        return move(batch)
    values = _values_of(batch)
    made = [changed(value, change, move) for value in values]
    if all(new is old for new, old in zip(made, values, strict=True)):
        return batch
    return _like(batch, made)


def _values_of(batch: Any) -> list[Any]:
    if isinstance(batch, Mapping):
        return list(batch.values())
    if isinstance(batch, Sequence) and not isinstance(batch, (str, bytes, bytearray, memoryview, range)):
        return list(batch)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        return [getattr(batch, field.name) for field in dataclasses.fields(batch) if hasattr(batch, field.name)]
    return []


def _like(batch: Any, values: list[Any]) -> Any:
    """Make a container as torch's ``pin_memory`` does: a copy with other values, or one made of them, or a plain one.

    A copy does not go through a constructor, which may take other arguments than values.
    """
    if type(batch) is dict:
        return dict(zip(batch, values, strict=True))
    if type(batch) in (list, tuple):
        return type(batch)(values)
    if isinstance(batch, Mapping):
        named = dict(zip(batch, values, strict=True))
        try:
            if not isinstance(batch, MutableMapping):
                return type(batch)(named)  # type: ignore[call-arg]
            clone = copy.copy(batch)
            clone.update(named)
        except TypeError:
            return named
        return clone
    if not isinstance(batch, Sequence):
        return _dataclass_like(batch, values)
    try:
        if hasattr(batch, "_fields"):
            return type(batch)(*values)
        if not isinstance(batch, MutableSequence):
            return type(batch)(values)  # type: ignore[call-arg]
        sequence = copy.copy(batch)
        for place, value in enumerate(values):
            sequence[place] = value
    except TypeError:
        return values
    return sequence


def _dataclass_like(batch: Any, values: list[Any]) -> Any:
    made = copy.copy(batch)
    names = [field.name for field in dataclasses.fields(batch) if hasattr(batch, field.name)]
    for name, value in zip(names, values, strict=True):
        object.__setattr__(made, name, value)  # also where it is frozen
    return made
