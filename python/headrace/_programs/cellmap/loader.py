"""CellMapDataLoader: the arguments of cellmap-data's loader, what each becomes, and batches in its form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from headrace._faces.cached_chunk_knobs import table
from headrace._loader.arguments import takes_options
from headrace._programs.cellmap.patches import CellMapCrops
from headrace._programs.cellmap.theirs import balanced_sampler, crops_of
from headrace._support.argument_hints import CELLMAP_KNOBS
from headrace._support.checks import invalid, whole_number
from headrace._support.logging import logger
from headrace.dataset import Dataset
from headrace.torch import DataLoader

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace._headrace import CellMapLoaderWords

#: What is said of arguments that are accepted and change nothing.
_WITHOUT_EFFECT = {
    "prefetch_factor": "as many batches ahead as the memory holds",
    "persistent_workers": "threads, which stay as long as the loader",
    "multiprocessing_context": "no effect: there are no worker processes",
    "worker_init_fn": "never called: there are no worker processes",
    "pin_memory_device": "no effect, as in torch",
    "in_order": "no effect: batches always come in order",
}


@takes_options("CellMapDataLoader", CELLMAP_KNOBS)
class CellMapDataLoader:
    """Deliver patches as cellmap-data's loader of this name does, by C++ threads: the same arguments, keys and shapes.

    A batch is a dict: each input array ``[B, 1, z, y, x]``, each target array ``[B, C, z, y, x]`` with the classes in
    order, and ``idx``, the number of each patch's place (``dataset[idx]``). Axes of one voxel are left out. If the last
    step of an epoch has fewer patches than there are ranks, a rank without one gets a repeat, and every batch of the
    epoch has ``_weight`` too, float32 of shape ``[B]``, 0 for repeats: multiply losses and sums by it. What each
    argument became is logged, and ``print(loader)`` says it.

    Args:
        dataset: :class:`CellMapDataset`, :class:`CellMapMultiDataset`, or a list of the former; cellmap-data's own
            objects, whose crops and arrays are taken over; or a Headrace data set, whose batches come as they are.
        classes: Classes that ``weighted_sampler`` draws alike. Default: those of the data set that any crop has.
        batch_size: Patches a batch, on each rank.
        num_workers: Above 0: so many C++ decode threads at most. 0: as many as this process may use.
        weighted_sampler: True: each class gets as many patches, if ``is_train``.
        sampler: A :class:`ClassBalancedSampler`, or cellmap-data's; others are refused. Its ``samples_per_epoch``
            counts, and ``iterations_per_epoch`` does not.
        is_train: True: random patches. False: the tiles that cover each crop, in order, not turned.
        rng: Its ``initial_seed()`` is the seed, if ``seed`` is not given. Default: the sampler's seed (42 if it was not
            told), else the data set's, else 0.
        device: Where batches are delivered. None: on the CPU.
        iterations_per_epoch: Patches of an epoch, also without ``weighted_sampler``. Default: ``len(dataset)``.
        pin_memory: Batches lie in page-locked memory, if torch has an accelerator.
        prefetch_factor: Accepted, without effect: as many batches are ready ahead as ``memory`` holds.
        persistent_workers: Accepted, without effect: threads stay as long as the loader.
        multiprocessing_context: Accepted, without effect: there are no worker processes.
        worker_init_fn: Accepted, never called, for the same reason.
        pin_memory_device: Accepted, without effect, as in torch.
        in_order: Accepted, without effect: batches always come in order.
        **options: Those of :class:`headrace.Loader`; ``seed`` goes before ``rng``.

    Attributes:
        loader: The :class:`headrace.torch.DataLoader` that does the work.

    Raises:
        InvalidArgumentError: An argument is wrong, or a class has no voxel that could be drawn.
        UnknownArgumentError: There is no such argument; the text says what replaces it.
        UnsupportedError: Something that cellmap-data has and Headrace has not; the text says what to do.
    """

    def __init__(
        self,
        dataset: Any,
        classes: Any = None,
        batch_size: int = 1,
        num_workers: int = 0,
        weighted_sampler: bool = False,
        sampler: Any = None,
        is_train: bool = True,
        rng: torch.Generator | None = None,
        device: str | torch.device | None = None,
        iterations_per_epoch: int | None = None,
        *,
        pin_memory: bool = False,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        multiprocessing_context: Any = None,
        worker_init_fn: Any = None,
        pin_memory_device: str = "",
        in_order: bool = True,
        **options: Unpack[CellMapLoaderWords],
    ) -> None:
        words: dict[str, Any] = dict(options)
        seed = words.pop("seed", None)
        self.dataset = dataset if isinstance(dataset, Dataset) else crops_of(dataset)
        self.classes = list(classes) if classes is not None else list(getattr(self.dataset, "classes", []))
        self.batch_size, self.num_workers, self.is_train = batch_size, num_workers, is_train
        self.iterations_per_epoch = iterations_per_epoch
        self._lines: list[tuple[str, str, str]] = []
        if sampler is not None:
            sampler = balanced_sampler(sampler)
            weighted_sampler, iterations_per_epoch = True, sampler.samples_per_epoch
            self._tell("sampler", type(sampler).__name__, "weighted_sampler=True")
            if seed is None and rng is None:
                seed = getattr(sampler, "seed", None)
        if seed is None and rng is None:
            seed = getattr(self.dataset, "seed", None)
        if rng is not None:
            self._tell("rng", "a generator", f"seed={rng.initial_seed() if seed is None else seed}")
        if "shuffle_buffer" in words and not is_train:
            raise invalid(
                "shuffle_buffer is for random patches, and is_train=False gives tiles in order", "Leave it out."
            )
        patches = self._patches(bool(weighted_sampler), iterations_per_epoch)
        self._device = "cpu" if device is None else device
        self.loader = DataLoader(
            patches,
            batch_size,
            shuffle=is_train,
            num_workers=num_workers,
            pin_memory=pin_memory,
            worker_init_fn=worker_init_fn,
            multiprocessing_context=multiprocessing_context,
            generator=rng,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            in_order=in_order,
            column_fn=self.dataset.form if isinstance(self.dataset, CellMapCrops) else None,
            device=self._device,
            seed=seed,
            provenance=isinstance(self.dataset, CellMapCrops),
            **words,
        )
        self._tell_of_workers(
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers or None,
            multiprocessing_context=multiprocessing_context,
            worker_init_fn=worker_init_fn,
            pin_memory_device=pin_memory_device or None,
            in_order=None if in_order else False,
        )
        if pin_memory:
            pins = self.loader.loader._delivery is not None
            self._tell("pin_memory", "True", "page-locked batches" if pins else "no effect: torch has no accelerator")
        if device is not None:
            self._tell("device", str(device), f"batches are delivered on {self.device}")
        self._table = table(
            "CellMapDataLoader", self._lines, self.loader.loader.report(), keeps=words.get("cache", "auto") == "auto"
        )
        logger.info("%s", self._table)

    def _patches(self, weighted: bool, samples: int | None) -> Dataset:
        if isinstance(self.dataset, Dataset):
            if weighted or samples is not None:
                raise invalid(
                    "weighted_sampler=, sampler= and iterations_per_epoch= are for a CellMapDataset",
                    "For a Headrace data set use volume.patches(shape, samples_per_epoch, balance=classes).",
                )
            return self.dataset
        if not self.is_train:
            self._tell("is_train", "False", f"tiles of {self.dataset.box.shape}, in order, not turned")
            return self.dataset.tiles()
        if samples is not None:
            samples = whole_number("iterations_per_epoch", samples, least=1)
            self._tell("iterations_per_epoch", str(samples), f"samples_per_epoch={samples}")
        balance: list[str] = []
        if weighted:
            annotated = {name for crop in self.dataset.crops for name, path in crop.labels.items() if path is not None}
            balance = [name for name in self.classes if name in annotated]
            if not balance:
                raise invalid("weighted_sampler: no crop has any of the classes", "Look at target_path= and classes=.")
            self._tell("weighted_sampler", "True", f"balance={balance}")
        return self.dataset.patches(len(self.dataset) if samples is None else samples, balance)

    def _tell(self, argument: str, given: str, became: str) -> None:
        self._lines.append((argument, given, became))

    def _tell_of_workers(self, **given: Any) -> None:
        if self.num_workers:
            self._tell("num_workers", str(self.num_workers), f"{self.loader.loader.report().threads} decode threads")
        for name, value in given.items():
            if value is not None:
                self._tell(name, "a function" if callable(value) else str(value), _WITHOUT_EFFECT[name])
        if getattr(self.dataset, "pad", False):
            self._tell("pad", "True", "patches lie within a crop, and none is smaller than a patch")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Start the next epoch."""
        return iter(self.loader)

    def __len__(self) -> int:
        """Return the exact number of batches of an epoch."""
        return len(self.loader)

    @property
    def device(self) -> torch.device:
        """Where batches are delivered."""
        delivery = self.loader.loader._delivery
        return delivery.to if delivery is not None and isinstance(delivery.to, torch.device) else torch.device("cpu")

    def refresh(self) -> None:
        """Do nothing: each epoch draws anew."""

    def to(self, device: str | torch.device, non_blocking: bool = True) -> CellMapDataLoader:
        """Deliver batches on this device from the next ``iter()`` on; an epoch that runs ends with a ClosedError.

        Args:
            device: One of torch's: ``"cuda:1"``, ``torch.device("cpu")``. A device that this machine does not have is
                an error of torch's at the next ``iter()``.
            non_blocking: Accepted, without effect: batches are always copied ahead, and the program never waits longer
                than for its own batch.

        Returns:
            This loader.

        Raises:
            InvalidArgumentError: Torch has no such kind of device.
        """
        self.loader.loader._deliver_on(device)
        self._device = device
        return self

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next ``iter()`` delivers (from 0)."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is, exact after each batch."""
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where :meth:`state_dict` was taken."""
        self.loader.load_state_dict(state)

    def close(self) -> None:
        """Stop the threads and give memory back."""
        self.loader.close()

    def __repr__(self) -> str:
        return f"<CellMapDataLoader of {self.dataset!r}, batch_size={self.batch_size}>"

    def __str__(self) -> str:
        return self._table
