"""JetClassLightningDataModule: the data module of the JetClass scripts, under the name that they import."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from headrace._faces.data_module import DataModule
from headrace._support.argument_hints import DATA_MODULE_KNOBS, refuse_unknown
from headrace._support.checks import invalid, one_of
from headrace.dataset import Dataset, Paths
from headrace.transforms import Cast, Drop, Mask, SymmetricPairs, Transform
from headrace.transforms._shapes import LAYOUTS

#: Key of a batch → array in the files, as the scripts of JetClass write them.
JET_FIELDS = {"node_features": "feature_matrix", "edge_features": "adjacency_matrix", "labels": "labels"}

#: The configurations that the scripts of JetClass publish, by the size of the data.
PRESETS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "small": {"preload_to_ram": True, "batch_size": 2048, "num_workers": 4},
        "medium": {
            "read_chunk_size": 4096,
            "max_cached_chunks": 50,
            "batch_size": 512,
            "num_workers": 12,
            "prefetch_factor": 6,
        },
        "large": {
            "read_chunk_size": 8192,
            "max_cached_chunks": 30,
            "batch_size": 1024,
            "num_workers": 16,
            "prefetch_factor": 8,
        },
    }
)

_OF_JETS = "Not for jets: all have as many particles in the files, and are no ragged samples."
#: What a data module has, and this one has not.
_NOT_FOR_JETS = {"batch": _OF_JETS, "fill": _OF_JETS}


class JetClassLightningDataModule(DataModule):
    """Deliver JetClass files as the scripts of JetClass expect them, by changing an import.

    Batches are dicts of ``node_features`` (jets, particles, features), ``edge_features`` (jets, particles, particles[,
    features]), ``labels`` (int64) and ``n_particles`` (int64: particles of which a feature is not 0). Files have
    ``feature_matrix``, ``adjacency_matrix`` (the flat triangle above the diagonal, ``sentinel`` where a pair is absent)
    and ``labels``. All else is as :class:`DataModule` has it.

    Args:
        train_files: A path, glob or list of paths.
        val_files: The same for validation; None: no validation.
        test_files: The same for ``test()``.
        batch_size: Jets a batch, on each rank. Default: the preset's, else 256, as in those scripts.
        read_chunk_size: Jets of a cached chunk: with ``max_cached_chunks``, a limit of the memory. The scripts' own
            defaults (1024, 10, 4 workers, prefetch 2) are taken where you write them: they could only slow it down.
        max_cached_chunks: Chunks that each worker would keep: so many bytes at most are held.
        num_workers: Above 0: so many decode threads at most. There are no worker processes.
        prefetch_factor: Accepted, without effect: as many batches are ready ahead as the memory holds.
        preload_to_ram: True: all jets are decoded before the first batch, if they fit the memory.
        reconstruct_full_adjacency: False: ``edge_features`` are delivered as stored. Default: True.
        persistent_workers: Accepted, without effect: threads stay as long as their loader.
        pin_memory: Batches lie in page-locked memory, if torch has an accelerator. Default: True.
        preset: ``"small"``, ``"medium"`` or ``"large"``: the configurations that those scripts give for data below 10
            GB, up to 100 GB, and above. What you give beside it goes first.
        fields: Other names in the files, for example ``{"node_features": "part_features"}``; further fields are added.
        sentinel: Value of pairs that are absent.
        layout: ``"triu_n"``: the pairs of the particles that are there come first, as JetClass scripts write them;
            ``"triu_max"``: each pair lies where it is of all particles. Default: as the first jets have it.
        predict_files: Files for ``predict()``. Default: ``test_files``.
        others: Further arguments of :class:`DataModule`, with their defaults there: ``batch_format``, ``cache``,
            ``column_fn``, ``device``, ``drop_last``, ``eval_batch_size``, ``eval_group_by``, ``max_groups``,
            ``max_items``, ``memory``, ``on_error``, ``provenance``, ``sampler``, ``seed``, ``share``, ``shuffle``,
            ``shuffle_buffer``, ``tail``, ``threads``, ``timeout``, ``transforms``.

    Raises:
        InvalidArgumentError: An argument is wrong, or (when files are opened) the pairs are no triangle.
        UnknownArgumentError: There is no such argument; the text names the nearest one, or what replaces it.
    """

    def __init__(
        self,
        train_files: Paths | Dataset | None = None,
        val_files: Paths | Dataset | None = None,
        test_files: Paths | Dataset | None = None,
        *,
        batch_size: int | None = None,
        read_chunk_size: int | None = None,
        max_cached_chunks: int | None = None,
        num_workers: int | None = None,
        prefetch_factor: int | None = None,
        preload_to_ram: bool | None = None,
        reconstruct_full_adjacency: bool | None = None,
        persistent_workers: bool | None = None,
        pin_memory: bool | None = None,
        preset: str | None = None,
        fields: Mapping[str, str] | None = None,
        sentinel: float = -999.0,
        layout: str | None = None,
        predict_files: Paths | Dataset | None = None,
        **others: Any,
    ) -> None:
        names = {name for cls in (DataModule, type(self)) for name in inspect.signature(cls.__init__).parameters}
        knobs = {**DATA_MODULE_KNOBS, "DataModule": _NOT_FOR_JETS}
        refuse_unknown("JetClassLightningDataModule", others, sorted(names - _NOT_FOR_JETS.keys()), knobs)
        one_of("preset", preset, (None, *PRESETS))
        one_of("layout", layout, (None, *LAYOUTS))
        given = {
            "batch_size": batch_size,
            "read_chunk_size": read_chunk_size,
            "max_cached_chunks": max_cached_chunks,
            "num_workers": num_workers,
            "prefetch_factor": prefetch_factor,
            "preload_to_ram": preload_to_ram,
        }
        words = {name: value for name, value in given.items() if value is not None}
        chosen = PRESETS.get(preset or "", {})
        super().__init__(
            train_files,
            val_files,
            test_files,
            predict_files,
            **{"batch_size": 256, **chosen, **words},
            fields={**JET_FIELDS, **(fields or {})},
            persistent_workers=persistent_workers,
            pin_memory=pin_memory is not False,
            **others,
        )
        self._of_preset = {name: f'{value} (preset="{preset}")' for name, value in chosen.items() if name not in words}
        self._pin_given = pin_memory is not None
        self._fields_given = fields is not None
        self._reconstruct_given = reconstruct_full_adjacency is not None
        self._reconstruct = reconstruct_full_adjacency is not False
        self._sentinel = sentinel
        self._layout = layout

    def _prepare(self, dataset: Dataset) -> Dataset:
        fields = dataset.fields
        if "node_features" not in fields:
            raise invalid(
                f"a batch of jets needs a field node_features; this data set has {', '.join(fields)}",
                'Open it with fields={"node_features": "feature_matrix", …}.',
            )
        steps: list[Transform] = [Mask("node_features", to="_present", count="n_particles"), Drop("_present")]
        if self._reconstruct and "edge_features" in fields and is_flat(fields["edge_features"].shape):
            particles = fields["node_features"].shape[0]
            layout = self._layout or _find_layout(dataset, particles, self._sentinel)
            steps.append(SymmetricPairs("edge_features", layout, particles, self._sentinel))
        if "labels" in fields and fields["labels"].dtype != np.int64:
            steps.append(Cast("labels", "int64", exact=True))
        return super()._prepare(dataset.map(*steps))

    def _lines(self, knobs: list[tuple[str, str, str]], *, pins: bool) -> list[tuple[str, str, str]]:
        """Say of each knob whether the program gave it, or the preset."""
        lines = [
            (name, self._of_preset.get(name, value), text) for name, value, text in super()._lines(knobs, pins=pins)
        ]
        if not self._pin_given:
            lines = [line for line in lines if line[0] != "pin_memory"]
        given = str(self._reconstruct) if self._reconstruct_given else "(default)"
        text = "edge_features are symmetric matrices" if self._reconstruct else "edge_features are as stored"
        return [*lines, ("reconstruct_full_adjacency", given, text)]


def is_flat(shape: tuple[int, ...]) -> bool:
    """True if pairs of this shape a jet are a flat triangle, (pairs,) or (pairs, features); False for a matrix."""
    return len(shape) == 1 or (len(shape) == 2 and shape[0] != shape[1])


def _find_layout(dataset: Dataset, particles: int, sentinel: float) -> str:
    """Look at a few jets whether their pairs are packed. Decodes the chunk that they are in."""
    pairs = dataset.fields["edge_features"].shape[0]
    if pairs != particles * (particles - 1) // 2:
        return "triu_max"  # SymmetricPairs says what is wrong
    second = np.triu_indices(particles, k=1)[1]
    for first in range(0, min(len(dataset), 1024), 64):
        flat = dataset["edge_features"][first : first + 64]
        there = (flat if flat.ndim == 2 else flat[..., 0]) != sentinel
        count = there.sum(1)
        present = ((1 + np.sqrt(1 + 8 * count)) / 2).round()  # particles that have so many pairs
        packed = there == (np.arange(pairs) < count[:, None])
        in_place = there == (second < present[:, None])
        if np.any(packed.all(1) != in_place.all(1)):  # where neither all nor very few particles are there
            return "triu_n" if np.any(packed.all(1) & ~in_place.all(1)) else "triu_max"
    return "triu_n"
