"""Where the rows of a global batch lie: the part of it that this process needs, and the device of each piece."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from headrace._support.checks import invalid
from headrace._support.logging import warn
from headrace.errors import InvalidArgumentError

#: Slices of a global array, one for each axis.
Index = tuple[slice, ...]


def sharding_of(mesh: Any, spec: Any, sharding: Any) -> Sharding | None:
    """Return the sharding that the arguments name; None is the default device.

    Raises:
        InvalidArgumentError: They contradict each other, or are of a wrong kind.
    """
    if sharding is not None:
        if mesh is not None or spec is not None:
            raise invalid(
                "sharding= and mesh= with spec= exclude each other", "Give sharding= alone, or mesh= with spec=."
            )
        if not isinstance(sharding, Sharding):
            raise invalid(f"sharding must be a jax.sharding.Sharding, not {sharding!r}", "Such as a NamedSharding.")
        return sharding
    if mesh is None and spec is None:
        if jax.process_count() > 1:
            raise invalid(
                f"there are {jax.process_count()} processes, and neither mesh= nor sharding= is given",
                'Give mesh= and spec=, such as P("data"), or sharding=.',
            )
        return None
    if not isinstance(mesh, Mesh):
        raise invalid(f"mesh must be a jax.sharding.Mesh, not {mesh!r}", "jax.make_mesh makes one.")
    if isinstance(spec, str):
        spec = PartitionSpec(spec)  # type: ignore[no-untyped-call]
    if not isinstance(spec, PartitionSpec):
        raise invalid(
            f"spec must be a jax.sharding.PartitionSpec, not {spec!r}",
            f"Name the axes of the mesh that divide a batch, such as P({mesh.axis_names[0]!r}).",
        )
    try:
        return NamedSharding(mesh, spec)
    except ValueError as error:
        raise invalid(f"mesh and spec do not fit each other: {error}") from error


class Shards:
    """How global batches of ``batch_size`` rows lie over devices, and which block of rows this process loads.

    Attributes:
        sharding: As it was given; None: the default device.
        block: Number of the block of rows that this process loads.
        num_blocks: Number of such blocks in a global batch: 1 where this process loads all of it.
    """

    def __init__(self, sharding: Sharding | None, batch_size: int) -> None:
        self.sharding = sharding
        self.block, self.num_blocks = 0, 1
        self._places: dict[tuple[int, ...], tuple[Sharding, dict[Any, Index]]] = {}
        if sharding is None:
            return
        spans = sorted({_span(index[0], batch_size) for index in self._indices((batch_size,), "a batch").values()})
        if not spans:
            raise invalid(
                f"process {jax.process_index()} has no device of the sharding's", "Start it on the devices it has."
            )
        first, end = spans[0][0], max(span[1] for span in spans)
        self.num_blocks = next(
            blocks
            for blocks in range(batch_size // (end - first), 0, -1)
            if batch_size % blocks == 0 and first * blocks // batch_size == (end - 1) * blocks // batch_size
        )
        self.block = first * self.num_blocks // batch_size
        needed, loaded = sum(stop - start for start, stop in spans), batch_size // self.num_blocks
        if needed < loaded:
            warn(
                f"the devices of process {jax.process_index()} need {needed} of the {batch_size} rows of a batch, "
                f"which are not one block of equal ones: it loads {loaded}",
                rank=jax.process_index(),
            )

    def check_field(self, name: str, shape: tuple[int, ...]) -> None:
        """Check that a field can be divided whose global arrays have this shape.

        Raises:
            InvalidArgumentError: It cannot be.
        """
        if self.sharding is not None:
            self._indices(shape, f"the field {name!r}")

    def check_rows(self, rows: int) -> None:
        """Check that a last batch of ``rows`` rows can be divided.

        Raises:
            InvalidArgumentError: It cannot be.
        """
        if self.sharding is None or rows == 0:
            return
        try:
            self._indices((rows,), "the last batch")
        except InvalidArgumentError as error:
            raise invalid(
                f"the last batch of the epoch has {rows} samples, which the devices do not divide",
                'Use tail="drop" (the default), or tail="pad", which fills it with samples of `_weight` 0.',
            ) from error

    def place(self, columns: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, jax.Array]:
        """Return this process's rows as global arrays; the copies to accelerators go on after it returns."""
        if self.sharding is None:
            alone: dict[str, jax.Array] = jax.device_put(dict(columns))
            return alone
        whole: dict[str, Any] = {}
        for name, column in columns.items():
            shape = (column.shape[0] * self.num_blocks, *column.shape[1:])
            if shape not in self._places:
                self._places[shape] = (self._cut(len(shape)), self._indices(shape, f"the field {name!r}"))
            whole[name] = self._places[shape]
        if self.sharding.is_fully_addressable:
            put: dict[str, jax.Array] = jax.device_put(dict(columns), {name: place[0] for name, place in whole.items()})
            return put
        return {name: self._assembled(columns[name], *whole[name]) for name in columns}

    def _assembled(self, column: np.ndarray[Any, Any], sharding: Sharding, indices: dict[Any, Index]) -> jax.Array:
        """Make a global array of the pieces that this process's devices have."""
        rows = column.shape[0]
        before = self.block * rows
        pieces = []
        for first, *others in indices.values():
            start, stop = _span(first, rows * self.num_blocks)
            pieces.append(column[(slice(start - before, stop - before), *others)])
        arrays = jax.device_put(pieces, list(indices))
        shape = (rows * self.num_blocks, *column.shape[1:])
        return jax.make_array_from_single_device_arrays(shape, sharding, arrays)

    def _cut(self, axes: int) -> Sharding:
        """Return the sharding of a field of so many axes: the spec says nothing of those that it has not."""
        if isinstance(self.sharding, NamedSharding) and len(self.sharding.spec) > axes:
            spec = PartitionSpec(*self.sharding.spec[:axes])  # type: ignore[no-untyped-call]
            return NamedSharding(self.sharding.mesh, spec, memory_kind=self.sharding.memory_kind)
        assert self.sharding is not None
        return self.sharding

    def _indices(self, shape: tuple[int, ...], what: str) -> dict[Any, Index]:
        """Return the piece of a global array that each device of this process has."""
        try:
            found: Any = self._cut(len(shape)).addressable_devices_indices_map(shape)
        except ValueError as error:
            text = f"{what} of global shape {shape} cannot be divided over {_shown(self.sharding)}"
            hint = "Windows with lookahead=1 are one longer: cut inputs and targets by dataset.map(function)."
            is_first = len(shape) == 1 or shape[0] % self.num_blocks
            hint = "Give a batch_size that the axes of the mesh divide." if is_first else hint
            raise invalid(text, f"{hint} JAX says: {error}") from error
        return dict(found)

    def __str__(self) -> str:
        if self.sharding is None:
            return "on jax's default device"
        devices = len(self.sharding.addressable_devices)
        part = f"block {self.block} of {self.num_blocks}" if self.num_blocks > 1 else "all"
        return f"{_shown(self.sharding)}; this process loads {part} of each batch for {devices} devices"


def _shown(sharding: Sharding | None) -> str:
    if not isinstance(sharding, NamedSharding):
        return str(sharding)
    axes = ", ".join(f"{name}: {size}" for name, size in sharding.mesh.shape.items())
    return f"mesh ({axes}) as {sharding.spec}"


def _span(rows: slice, total: int) -> tuple[int, int]:
    start, stop, _ = rows.indices(total)
    return start, stop
