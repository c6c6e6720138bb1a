"""DataModule: the files of a training run, as Lightning's Trainer takes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headrace._faces.cached_chunk_knobs import CachedChunkKnobs, table
from headrace._faces.lightning_base import LightningDataModule, say
from headrace._faces.trainer_loader import TrainerLoader
from headrace._headrace import ToolResult
from headrace._loader.arguments import takes_options
from headrace._loader.options import order_of, resolve
from headrace._support.argument_hints import DATA_MODULE_KNOBS
from headrace._support.checks import invalid, memory_bytes, one_of
from headrace.dataset import Dataset, Fields, Paths
from headrace.opening import open
from headrace.tools import check_memory
from headrace.torch import DataLoader

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace._headrace import DataModuleWords

_STAGES = {"fit": ("train", "val"), "validate": ("val",), "test": ("test",), "predict": ("predict",)}
#: Options of Loader that are of the training files, or of whole groups in validation, test and prediction.
_OF_THE_ORDER, _OF_THE_END = ("shuffle_buffer", "sampler"), ("drop_last", "tail")
_OF_GROUPS = ("max_items", "max_groups")


@takes_options("DataModule", DATA_MODULE_KNOBS)
class DataModule(LightningDataModule):
    """Deliver the files of a training run to a Lightning Trainer, or to a loop of your own.

    ``trainer.fit(model, data)``, ``validate``, ``test`` and ``predict`` use the files of that name. Without a Trainer,
    ``for batch in data.train_dataloader():`` is one epoch; no ``setup()`` is needed. Each rank gets its part of every
    batch from the loader itself, as the Trainer counts ranks: no DistributedSampler is made, whatever
    ``use_distributed_sampler`` says. The Trainer's checkpoints hold the loader's place, so that ``fit(ckpt_path=…)``
    goes on with the next batch, also in the middle of an epoch. With ``overfit_batches`` the training files come in
    order, as Lightning has it.

    The knobs of loaders that cache chunks in worker processes are accepted. They may only lower what is automatic, and
    what each became is said once, by Lightning's logger.

    Args:
        train_files: A path, glob, list of paths, or a :class:`headrace.Dataset`.
        val_files: The same for validation; None: no validation.
        test_files: The same for ``test()``.
        predict_files: The same for ``predict()``. Default: ``test_files``.
        batch_size: Samples a batch, on each rank.
        fields: Which arrays make up a sample, as :func:`headrace.open` has it.
        transforms: What each data set is mapped with, in order, as :meth:`headrace.Dataset.map` takes it.
        column_fn: Called with each batch, on the thread that takes it; what it returns is delivered.
        shuffle: Of the training files: True, False or ``"exact"``, as :class:`headrace.Loader` has it. Default: True,
            unless there is a ``sampler``.
        eval_batch_size: Samples a batch in validation, test and prediction. Default: ``batch_size`` or ``batch``.
        eval_group_by: Batches of whole groups there, as :class:`headrace.Loader` has ``group_by``. A
            :class:`headrace.GroupReducer` takes the loader: ``GroupReducer(data.val_dataloader())``.
        pin_memory: Batches lie in page-locked memory, if torch has an accelerator.
        read_chunk_size: Rows of a cached chunk: with ``max_cached_chunks``, a limit of ``memory``.
        max_cached_chunks: Chunks that each worker would keep: so many bytes at most are held.
        num_workers: Above 0: so many decode threads at most. There are no worker processes.
        prefetch_factor: Accepted, without effect: as many batches are ready ahead as the memory holds.
        preload_to_ram: True: all rows are decoded before the first batch, if they fit the memory.
        persistent_workers: Accepted, without effect: threads stay as long as their loader.
        **options: Those of :class:`headrace.Loader`, which are written here.

    ``shuffle_buffer``, ``sampler``, ``drop_last`` and ``tail`` are of the training files (with ``overfit_batches`` the
    sampler is not asked), ``max_items`` and ``max_groups`` go with ``eval_group_by``; the others are of all files.
    Of ``memory`` training gets three quarters while it shares it with validation. ``device="auto"``: batches are copied
    to the Trainer's device ahead, by the loader; with ``"cpu"`` the Trainer copies each batch when its step begins.

    Raises:
        InvalidArgumentError: An argument is wrong, or arguments contradict each other (a ValueError).
        UnknownArgumentError: There is no such argument; the text names the nearest one, or what replaces it.
    """

    def __init__(
        self,
        train_files: Paths | Dataset | None = None,
        val_files: Paths | Dataset | None = None,
        test_files: Paths | Dataset | None = None,
        predict_files: Paths | Dataset | None = None,
        *,
        batch_size: int | None = None,
        fields: Fields = None,
        transforms: Sequence[Any] = (),
        column_fn: Callable[[Any], Any] | None = None,
        shuffle: bool | str | None = None,
        eval_batch_size: int | None = None,
        eval_group_by: str | int | None = None,
        pin_memory: bool = False,
        read_chunk_size: int | None = None,
        max_cached_chunks: int | None = None,
        num_workers: int | None = None,
        prefetch_factor: int | None = None,
        preload_to_ram: bool | None = None,
        persistent_workers: bool | None = None,
        **options: Unpack[DataModuleWords],
    ) -> None:
        super().__init__()
        self._files = {"train": train_files, "val": val_files, "test": test_files, "predict": predict_files}
        if all(files is None for files in self._files.values()):
            raise invalid("a data module needs files", 'Give train_files=, for example "train_*.h5".')
        words: dict[str, Any] = dict(options)
        batch = words.pop("batch", None)
        if batch_size is None and batch is None:
            raise invalid("batch_size is missing", "Give the number of samples a batch, or batch=hr.ByTokens(tokens).")
        _one_of_two("batch", batch, "batch_size", batch_size)
        _one_of_two("num_workers", num_workers or None, "threads", words.get("threads"))
        _one_of_two("eval_group_by", eval_group_by, "eval_batch_size", eval_batch_size)
        if eval_group_by is None and not words.keys().isdisjoint(_OF_GROUPS):
            raise invalid("max_items and max_groups bound batches of whole groups: give eval_group_by= too")
        self.batch_size = batch_size  # Lightning's Tuner sets it
        self.eval_batch_size = eval_batch_size
        self._fields = fields
        self._fields_given = True  # by the program
        self._transforms = _functions("transforms", transforms)
        self._column_fn = column_fn
        self._batch = batch
        self._groups = {"group_by": eval_group_by, **_taken(words, _OF_GROUPS)}
        self._tail = _taken(words, _OF_THE_END)
        self._order = {
            "shuffle": "sampler" not in words if shuffle is None else shuffle,
            **_taken(words, _OF_THE_ORDER),
        }
        memory = words.pop("memory", None)
        self._threads: int | None = words.pop("threads", None)
        self._cache = words.pop("cache", "auto")
        self._device = words.pop("device", "cpu")
        self._pin_memory = pin_memory
        self._common = words
        self._knobs = CachedChunkKnobs(
            read_chunk_size=read_chunk_size,
            max_cached_chunks=max_cached_chunks,
            num_workers=num_workers,
            prefetch_factor=prefetch_factor,
            preload_to_ram=preload_to_ram,
            persistent_workers=persistent_workers,
        )
        for kind in ("train", "test"):  # what is wrong is said now, not when the training begins
            self._check(kind, memory)
        self._memory = None if memory is None else memory_bytes("memory", memory)
        self._told = False
        self._datasets: dict[str, Dataset] = {}
        self._opened: list[Dataset] = []
        self._loaders: dict[str, tuple[Any, TrainerLoader]] = {}  # what it was made for, and the loader
        self._resume: Mapping[str, Any] | None = None

    # --- what a Trainer calls ---

    def setup(self, stage: str | None = None) -> None:
        """Open the files of a stage of the Trainer: fit, validate, test or predict; None: all. Reads metadata only.

        Raises: what :func:`headrace.open` names.
        """
        one_of("stage", stage, (None, *_STAGES))
        self._count_processes()
        for kind in ("train", "val", "test", "predict") if stage is None else _STAGES[stage]:
            if self._files_of(kind) is not None:
                self._dataset(kind)

    def train_dataloader(self) -> Any:
        """Return the loader of the training files, shuffled: ``for batch in`` it is one epoch."""
        return self._loader("train")

    def val_dataloader(self) -> Any:
        """Return the loader of the validation files, in order; an empty list if there are none."""
        if self._files["val"] is None and self._trainer_function() != "validate":
            return []
        return self._loader("val")

    def test_dataloader(self) -> Any:
        """Return the loader of the test files, in order."""
        return self._loader("test")

    def predict_dataloader(self) -> Any:
        """Return the loader of the files to predict, in order; without any, of the test files."""
        return self._loader("predict")

    def check_memory(self, machine_memory: int | str | None = None) -> ToolResult:
        """Say whether training with these settings fits into memory, as :func:`headrace.check_memory` does.

        Args:
            machine_memory: Memory of another machine to judge by (``"64GiB"``). Default: this machine.

        Raises:
            InvalidArgumentError: There are no ``train_files``, or there is a ``sampler``.
        """
        dataset = self._dataset("train")
        order = self._words_of("train")
        became = self._knobs.resolve(dataset, self._share("train"), self._threads, {**order, "cache": self._cache})
        return check_memory(
            dataset,
            machine_memory=machine_memory,
            **order,
            threads=became.threads,
            memory=became.memory,
            cache=became.cache,
        )

    def teardown(self, stage: str | None = None) -> None:
        """Close the loaders of a stage: their threads stop, their memory is given back."""
        for kind in ("train", "val", "test", "predict") if stage is None else _STAGES.get(stage, ()):
            if kind in self._loaders:
                self._loaders[kind][1].close()

    def on_exception(self, exception: BaseException) -> None:
        """Close all loaders: the Trainer stops."""
        self.teardown()

    def state_dict(self) -> dict[str, Any]:
        """Return where the training loader is: epoch, and samples handed out over all ranks. The same on every rank."""
        if self._resume is not None:  # a loader that there is was closed before
            return {"train": dict(self._resume)}
        return {"train": self._loaders["train"][1].state_dict()} if "train" in self._loaders else {}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go to where :meth:`state_dict` was taken. Only training goes on: evaluating a checkpoint begins at its start.

        Raises:
            InvalidArgumentError: The state is of other data, another seed or another order. It may come when the loader
                is made.
        """
        if "train" not in state_dict or self._trainer_function() not in (None, "fit"):
            return
        if "train" in self._loaders and not self._loaders["train"][1].closed:
            self._loaders["train"][1].load_state_dict(state_dict["train"])
            self._resume = None
        else:
            self._resume = state_dict["train"]

    # --- what a program may ask ---

    @property
    def train_dataset(self) -> Dataset:
        """The training files as a data set, with the transforms."""
        return self._dataset("train")

    @property
    def val_dataset(self) -> Dataset:
        """The validation files as a data set, with the transforms."""
        return self._dataset("val")

    @property
    def test_dataset(self) -> Dataset:
        """The test files as a data set, with the transforms."""
        return self._dataset("test")

    def close(self) -> None:
        """Close all loaders, and the data sets that were opened here."""
        self.teardown()
        for dataset in self._opened:
            dataset.close()
        self._opened.clear()
        self._datasets.clear()

    # --- inside ---

    def _check(self, kind: str, memory: Any) -> None:
        words = {**self._words_of(kind), "threads": self._threads, "memory": memory, "cache": self._cache}
        resolve(words, order_of(words))

    def _files_of(self, kind: str) -> Paths | Dataset | None:
        files = self._files[kind]
        return self._files["test"] if kind == "predict" and files is None else files

    def _dataset(self, kind: str) -> Dataset:
        if kind not in self._datasets:
            files = self._files_of(kind)
            if files is None:
                raise invalid(f"this data module has no {kind}_files", f"Give it {kind}_files= when you make it.")
            if isinstance(files, Dataset) and self._fields is not None and self._fields_given:
                raise invalid("fields= is for files; these are a data set already", "Give fields= to hr.open().")
            if isinstance(files, Dataset):
                dataset = files
            else:
                dataset = open(files, self._fields)
                self._opened.append(dataset)
            self._datasets[kind] = self._prepare(dataset)
        return self._datasets[kind]

    def _prepare(self, dataset: Dataset) -> Dataset:
        """Check a data set, and map it."""
        return dataset.map(*self._transforms) if self._transforms else dataset

    def _loader(self, kind: str) -> TrainerLoader:
        overfits = bool(getattr(self.trainer, "overfit_batches", 0)) and kind in ("train", "val")
        training = kind == "train"
        made_for = (self._place(), overfits, self._batch_size_of(kind))
        known, loader = self._loaders.get(kind, (None, None))
        place: Mapping[str, Any] | None = None
        if loader is not None:
            if known == made_for and not loader.closed:
                return loader
            if training and not loader.closed and known is not None and known[1] == overfits:
                place = loader.next_state()
            loader.close()
        self._count_processes()
        loader = self._make(kind, overfits)
        place = self._resume if training and self._resume is not None else place
        if place is not None:
            loader.load_state_dict(place)
        if training:
            self._resume = None
        self._loaders[kind] = (made_for, loader)
        return loader

    def _batch_size_of(self, kind: str) -> int | None:
        return self.batch_size if kind == "train" or self.eval_batch_size is None else self.eval_batch_size

    def _words_of(self, kind: str, overfits: bool = False) -> dict[str, Any]:
        """Return the arguments of a loader that say which samples its batches have, and how they lie there."""
        words: dict[str, Any] = {**self._common, "shuffle": False}
        if kind == "train":
            words |= self._tail if overfits else {**self._tail, **self._order}
        elif self._groups["group_by"] is not None:
            return {**words, **self._groups}
        size = self._batch_size_of(kind)
        return {**words, "batch": self._batch} if size is None else {**words, "batch_size": size}

    def _make(self, kind: str, overfits: bool) -> TrainerLoader:
        dataset = self._dataset(kind)
        rank, world_size = self._place() or (None, None)
        order = {**self._words_of(kind, overfits), "rank": rank, "world_size": world_size}
        became = self._knobs.resolve(dataset, self._share(kind), self._threads, {**order, "cache": self._cache})
        loader = DataLoader(
            dataset,
            **order,
            num_workers=became.threads,
            memory=became.memory,
            cache=became.cache,
            pin_memory=self._pin_memory,
            device=self._destination(),
            column_fn=self._column_fn,
        )
        if became.lines and not self._told:
            self._told = True
            say(
                table(
                    type(self).__name__,
                    self._lines(became.lines, pins=loader.loader._delivery is not None),
                    loader.loader.report(),
                    keeps=became.cache == "auto",
                )
            )
        return TrainerLoader(loader, training=kind == "train", overfits=overfits)

    def _destination(self) -> Any:
        if not isinstance(self._device, str) or self._device != "auto":
            return self._device
        return "cpu" if self.trainer is None else self.trainer.strategy.root_device

    def _lines(self, knobs: list[tuple[str, str, str]], *, pins: bool) -> list[tuple[str, str, str]]:
        """Return the lines of the table: those of the knobs, and of other arguments that became something else."""
        if not self._pin_memory:
            return knobs
        text = "page-locked batches" if pins else "nothing: torch has no accelerator here"
        return [*knobs, ("pin_memory", "True", text)]

    def _share(self, kind: str) -> int | None:
        if self._memory is None or kind not in ("train", "val") or None in (self._files["train"], self._files["val"]):
            return self._memory
        return self._memory - self._memory // 4 if kind == "train" else self._memory // 4

    def _place(self) -> tuple[int, int] | None:
        """Return rank and number of ranks as the Trainer has them; None without a Trainer."""
        if self.trainer is None:
            return None
        kwargs = self.trainer.distributed_sampler_kwargs
        return (kwargs["rank"], kwargs["num_replicas"]) if kwargs else (0, 1)

    def _count_processes(self) -> None:
        """Say how many processes of this host divide its memory and processors, where only the Trainer knows it."""
        place = self._place()
        if self.trainer is not None and place is not None and place[1] > 1:
            os.environ.setdefault("LOCAL_WORLD_SIZE", str(self.trainer.num_devices))

    def _trainer_function(self) -> str | None:
        return None if self.trainer is None else self.trainer.state.fn

    def __str__(self) -> str:
        """Name the files of each stage, and their samples where they were opened."""
        parts = [self._text_of(kind) for kind in self._files if self._files[kind] is not None]
        size = repr(self._batch) if self.batch_size is None else f"batch_size {self.batch_size}"
        return f"<{type(self).__name__}: {'; '.join(parts)}; {size}>"

    def _text_of(self, kind: str) -> str:
        files = self._files[kind]
        if isinstance(files, Dataset):
            text = f"{len(files.files)} files"
        elif isinstance(files, (list, tuple)):
            text = f"{files[0]} and {len(files) - 1} more" if len(files) > 1 else f"{files[0] if files else 'nothing'}"
        else:
            text = str(files)
        samples = f", {len(self._datasets[kind]):,} samples" if kind in self._datasets else ""
        return f"{kind} {text}{samples}"

    def __getstate__(self) -> dict[str, Any]:
        """Go to another process without threads: it makes its own loaders, which begin where this one's is."""
        return {**self.__dict__, "_loaders": {}, "_resume": self.state_dict().get("train")}


def _taken(words: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Take words of these names out."""
    return {name: words.pop(name) for name in names if name in words}


def _functions(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, (list, tuple)):
        return tuple(given)
    raise invalid(f"{name} must be a list, not {given!r}", f"Write {name}=[…].")


def _one_of_two(name: str, given: Any, other: str, also_given: Any) -> None:
    if given is not None and also_given is not None:
        raise invalid(f"{name} and {other} exclude each other", "Give one of them.")
