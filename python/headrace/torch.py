"""``headrace.torch.DataLoader``: torch's DataLoader, its arguments and their meaning, over Headrace's C++ threads.

from headrace.torch import DataLoader

loader = DataLoader(hr.open("train_*.h5"), batch_size=512, shuffle=True, num_workers=8, pin_memory=True)
for batch in loader:  # a dict of tensors
    ...
"""

from __future__ import annotations

import inspect
import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import GenericAlias, TracebackType
from typing import TYPE_CHECKING, Any, ClassVar

import torch
import torch.utils.data

from headrace._dataset import ragged
from headrace._device.delivery import Pinned
from headrace._device.fake import FakeDevice
from headrace._faces.bulk_sampler import in_bulk
from headrace._faces.torch_arguments import TorchArguments
from headrace._headrace import Report
from headrace._loader.arguments import takes_options
from headrace._loader.host_epoch import call
from headrace._support.argument_hints import DATALOADER_KNOBS
from headrace._support.checks import invalid
from headrace._support.logging import logger, warn
from headrace.dataset import Dataset, Paths
from headrace.errors import UnsupportedError
from headrace.loader import Loader
from headrace.opening import open

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace._headrace import DataLoaderWords

__all__ = ["DataLoader", "FakeDevice", "nested"]

#: Samples that are decoded together where none are batched: ``batch_size=None``.
_SAMPLES_TOGETHER = 256


class MapStyleDataLoader(torch.utils.data.DataLoader[Any]):
    """What ``headrace.torch.DataLoader`` makes for data sets that are not Headrace's: torch's own DataLoader.

    Its worker processes, its collation, its speed. A HeadraceWarning says once what would make it fast.
    """


@takes_options("DataLoader", DATALOADER_KNOBS)
class DataLoader:
    """Load a data set as ``torch.utils.data.DataLoader`` does, at the speed of :class:`headrace.Loader`.

    Batches are dicts of tensors in field order (or tuples), over the loader's memory. They are private to the caller
    and stay valid as long as held. Values that torch refuses are refused with torch's words, as a ValueError; what has
    no effect here is accepted also where torch ties it to other arguments (``prefetch_factor`` without workers). An
    object of another map-style or iterable data set is made into torch's own DataLoader, with a warning.

    One iterator is live at a time: ``iter()`` ends the one before with ClosedError. Ranks are divided here, and
    nowhere else: under torch.distributed each rank gets its part without a DistributedSampler.

    Args:
        dataset: A :class:`headrace.Dataset`, or paths to open with all their fields; or any data set of torch's.
        batch_size: Samples a batch, on each rank. None: samples come one by one, without the axis of the batch. Left
            out with ``batch`` and ``group_by``.
        shuffle: True shuffles so that each block of rows is decoded once (see :class:`headrace.Loader`); ``"exact"`` is
            a global permutation, as torch's RandomSampler draws one.
        sampler: An iterable of row numbers, torch's or another; or :class:`headrace.Weighted` or
            :class:`headrace.Balanced`.
        batch_sampler: An iterable of lists of row numbers, a batch each, of any lengths; the rank's own, as in torch.
        num_workers: Above 0: so many C++ decode threads at most. None or 0: as many as this process may use. There are
            no worker processes.
        collate_fn: Called with a list of samples, as torch calls it; without batches, with each sample. Slow: each
            sample is a dict made in Python. ``column_fn`` gets the batch as a whole.
        pin_memory: Batches lie in page-locked memory, if torch has an accelerator: a thread copies them there ahead.
            Has no effect with ``device``, where the loader keeps page-locked memory of its own.
        drop_last: Drop the samples that do not fill the last batch.
        timeout: Seconds to wait for a batch before LoaderTimeoutError; 0: no limit.
        worker_init_fn: Accepted, never called: there are no worker processes.
        multiprocessing_context: Accepted, without effect, for the same reason.
        generator: Its ``initial_seed()`` is the seed of the order, unless ``seed`` is given.
        prefetch_factor: Accepted, without effect: as many batches are ready ahead as ``memory`` holds.
        persistent_workers: Accepted, without effect: the threads stay until ``close()``.
        pin_memory_device: Accepted, without effect, as in torch.
        in_order: Accepted, without effect: batches always come in order.
        snapshot_every_n_steps: Accepted, as torchdata has it, without effect: ``state_dict()`` is exact after every
            batch.
        column_fn: Called with each batch, and returns what is delivered in its place; on the thread that takes it, with
            tensors that are on ``device``. Not with ``batch_size=None``.
        **options: Those of :class:`headrace.Loader`; ``threads`` is the same as ``num_workers``.

    Attributes:
        loader: The :class:`headrace.Loader` that does the work.

    Raises:
        InvalidArgumentError: An argument is wrong, or arguments contradict each other (a ValueError).
        UnknownArgumentError: An argument is another loader's; the text says what replaces it (a TypeError too).
    """

    # What a DataLoader without worker processes says, whatever was given: libraries that build torch's own of this
    # one's parts, as accelerate.skip_first_batches does, would start some.
    num_workers: ClassVar[int] = 0  #: Worker processes: none, the threads are C++.
    prefetch_factor: ClassVar[None] = None  #: Batches ahead of a worker process: there is none.
    persistent_workers: ClassVar[bool] = False  #: Do worker processes stay? There are none.
    multiprocessing_context: ClassVar[None] = None  #: How worker processes start: there are none.
    timeout: ClassVar[float] = 0  #: Seconds to wait for a worker process: there is none.

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)  # DataLoader[int] is written in annotations

    def __new__(cls, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        """Make torch's own DataLoader where the data set is not Headrace's."""
        if isinstance(dataset, Dataset) or _is_paths(dataset):
            return super().__new__(cls)
        return _map_style(dataset, *args, **kwargs)

    def __init__(
        self,
        dataset: Dataset | Paths,
        batch_size: int | None = 1,
        shuffle: bool | str | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int | None = None,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        snapshot_every_n_steps: int | None = 1,
        column_fn: Callable[[Any], Any] | None = None,
        **options: Unpack[DataLoaderWords],
    ) -> None:
        alone = batch_sampler is None and options.keys().isdisjoint(("batch", "group_by", "lookahead"))
        if batch_size is None and sampler is not None and alone and not shuffle and not drop_last:
            sampler, gives_batches = in_bulk(sampler)
            if gives_batches:  # as in torch, where dataset[rows] makes the batch, which collate_fn gets as it is
                sampler, batch_sampler, batch_size = None, sampler, 1
                collate_fn, column_fn = None, column_fn or collate_fn
        given = TorchArguments(
            batch_size=batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            num_workers=num_workers,
            drop_last=drop_last,
            timeout=timeout,
            prefetch_factor=prefetch_factor,
            generator=generator,
            worker_init_fn=worker_init_fn,
            multiprocessing_context=multiprocessing_context,
            collate_fn=collate_fn,
            column_fn=column_fn,
            options=dict(options),
        )
        device = options.get("device", "cpu")
        self.pin_memory = pin_memory and str(device) == "cpu"
        self.pin_memory_device = pin_memory_device
        self.in_order = in_order
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.column_fn = column_fn
        self._collate_fn = collate_fn
        self._batched = given.batched
        self._lists_batches = given.batch_sampler is not None
        in_samples = collate_fn is not None or not given.batched
        # Samples are made of columns that have names.
        self._as_tuples = in_samples and options.get("batch_format") == "tuple"
        if not given.batched and type(self) is DataLoader:
            self.__class__ = SingleSampleLoader
        self._has_drawn = False  # the seed of workers for the next epoch
        self._in_samples = False  # some samples of an epoch were given out one by one, and others were not
        self._owned = None if isinstance(dataset, Dataset) else open(dataset)
        words = given.loader_words(_SAMPLES_TOGETHER)
        if self._as_tuples:
            words["batch_format"] = "dict"
        if self.pin_memory:
            words["device"] = Pinned()
        self.loader = Loader(
            dataset if self._owned is None else self._owned,
            **words,
            framework="torch",
        )
        for text in given.without_effect():
            logger.info("%s", text)
        if pin_memory and self.loader._delivery is None:
            logger.info("pin_memory has no effect: torch has no accelerator here")
        if collate_fn is not None and self._batched:
            warn(
                "collate_fn is called with a list of samples, made one by one in Python; "
                "column_fn= gets each batch as a dict of whole columns, and costs next to nothing"
            )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset"):
            raise invalid(f"{name} attribute should not be set after DataLoader is initialized", "Make another one.")
        super().__setattr__(name, value)

    @property
    def dataset(self) -> Dataset:
        """The data set it delivers."""
        return self.loader.dataset

    @property
    def batch_size(self) -> int | None:
        """Samples of a full batch on this rank; None where samples come one by one, and with ``batch_sampler``."""
        return self.loader.batch_size if self._batched and not self._lists_batches else None

    @property
    def drop_last(self) -> bool:
        """True if samples that do not fill the last batch are dropped."""
        return self.loader.drop_last

    @property
    def sampler(self) -> Any:
        """Return what ``sampler=`` was, else the row numbers to come (see :attr:`headrace.Loader.sampler`)."""
        return self.loader.sampler

    @property
    def batch_sampler(self) -> Any:
        """Return the batches to come as lists of row numbers; None where samples come one by one."""
        return self.loader.batch_sampler if self._batched else None

    @property
    def collate_fn(self) -> Callable[[Any], Any]:
        """Return what makes a batch of a list of samples; ``column_fn`` is a part of it."""
        collate = self._collate_fn or self.loader.collate_fn
        if self._as_tuples and self._batched:  # it gets samples of the data set, which are dicts
            collate = partial(_in_turn, (_tuples, collate))
        return collate if self.column_fn is None else partial(_in_turn, (collate, self.column_fn))

    def __len__(self) -> int:
        """Return the exact number of batches of an epoch; of samples where none are batched.

        Raises:
            TypeError: Samples come one by one and are divided over ranks: their number on this rank is not known.
        """
        if self._batched:
            return len(self.loader)
        _, _, samples, batch = self.loader._next_samples()
        if batch > self.loader.batch_size:
            raise TypeError("the number of single samples on one of several ranks is not known: give batch_size=")
        return samples

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, also after a ``break``. Raises what :meth:`headrace.Loader.__iter__` names."""
        self._in_samples = False
        self._draw_seed_of_workers()
        self._has_drawn = False
        prepare = None
        if self._collate_fn is not None:
            prepare = partial(_collated if self._batched else _changed_samples, self._collate_fn, self._as_tuples)
        batches = self.loader._epoch(prepare, self.column_fn)
        if self._batched:
            return batches
        return _Samples(
            self, batches, (lambda batch: batch) if prepare else partial(_samples, as_tuples=self._as_tuples)
        )

    def _draw_seed_of_workers(self) -> None:
        """Draw what torch draws for its workers before an epoch's sampler is asked, whatever their number.

        Samplers and models that draw from the same random numbers get the same ones as with torch's.
        """
        if not self._has_drawn:
            device = "cpu" if self.generator is None else self.generator.device
            torch.empty((), dtype=torch.int64, device=device).random_(generator=self.generator)
        self._has_drawn = True

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next ``iter()`` delivers (from 0)."""
        self.loader.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is (see :meth:`headrace.Loader.state_dict`), exact after each batch."""
        if not self._batched:  # of a class of the program's; SingleSampleLoader has no such method
            raise _no_state()
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go to where :meth:`state_dict` was taken; the next ``iter()`` goes on there."""
        self._draw_seed_of_workers()  # a sampler is asked here for the rows of an epoch that goes on
        self.loader.load_state_dict(state)
        self._in_samples = False

    def report(self) -> Report:
        """Return what was delivered, and where the time went (see :meth:`headrace.Loader.report`)."""
        return self.loader.report()

    def explain(self) -> str:
        """Return every automatic setting with its resolved value and the reason."""
        return self.loader.explain()

    def close(self) -> None:
        """Stop the threads and give memory back. Batches that are held stay valid."""
        self.loader.close()
        if self._owned is not None:
            self._owned.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._in_samples:
            raise _no_state()
        return _blank, (type(self),), self.__dict__

    def __enter__(self) -> DataLoader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<headrace.torch.DataLoader: {self.loader!r}>"


def _tuples(samples: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(sample.values()) for sample in samples]


def _in_turn(functions: tuple[Callable[[Any], Any], ...], made: Any) -> Any:
    for function in functions:
        made = function(made)
    return made


class SingleSampleLoader(DataLoader):
    """What a ``DataLoader`` with ``batch_size=None`` is: it has no state that is exact between samples.

    Lightning, torchdata and others ask each loader that has a ``state_dict`` for it.
    """

    state_dict = None  # type: ignore[assignment]


def _blank(kind: type[DataLoader]) -> DataLoader:
    """Make what unpickling fills."""
    return object.__new__(kind)


def _no_state() -> Exception:
    return invalid("a loader of single samples has no state: it is exact between batches only", "Give batch_size=.")


def _is_paths(dataset: Any) -> bool:
    """Return True for a path or a glob, or a list of them: what :func:`headrace.open` takes."""
    if isinstance(dataset, (str, bytes, os.PathLike)):
        return True
    return isinstance(dataset, (list, tuple)) and len(dataset) > 0 and all(map(_is_paths, dataset))


def _map_style(dataset: Any, *args: Any, **kwargs: Any) -> MapStyleDataLoader:
    given = inspect.signature(DataLoader.__init__).bind(None, dataset, *args, **kwargs).arguments
    del given["self"]
    given.pop("snapshot_every_n_steps", None)
    for name in given.keys() - inspect.signature(torch.utils.data.DataLoader).parameters.keys():
        raise invalid(
            f"{name}= needs a data set of headrace's, not a {type(dataset).__name__}", "Open the files with hr.open()."
        )
    if given.get("num_workers", 0) is None:
        del given["num_workers"]
    ways = "headrace.open(paths) reads HDF5 files and .npy files in C++ threads, a batch at a time"
    if isinstance(getattr(dataset, "dataset", None), Dataset):  # torch's Subset, and what random_split() makes
        ways = (
            "dataset.select(rows) and dataset.split() of headrace's data set make parts that are read a batch at a time"
        )
    warn(f"a {type(dataset).__name__} is loaded by torch's own DataLoader: a call of Python for each sample. {ways}")
    return MapStyleDataLoader(**given)


def nested(batch: Mapping[str, torch.Tensor], name: str) -> torch.Tensor:
    """Return a ragged field of a batch as torch's nested tensor of layout jagged. No copy.

    Args:
        batch: A batch of tensors, with the field and its offsets.
        name: Name of the field.
    """
    if name + ragged.SUFFIX not in batch:
        raise invalid(
            f"{name!r} is no ragged field of this batch, which has {', '.join(map(repr, batch))}",
            "A ragged field has its offsets beside it.",
        )
    if not hasattr(torch.nested, "nested_tensor_from_jagged"):
        raise UnsupportedError(
            f"torch {torch.__version__} has no nested tensors of layout jagged",
            hint="A newer torch has them; batch[name] and its offsets are the same numbers without one.",
        )
    made: torch.Tensor = torch.nested.nested_tensor_from_jagged(batch[name], batch[name + ragged.SUFFIX])
    return made


def _samples(batch: Mapping[str, Any], as_tuples: bool) -> list[Any]:
    """Return the samples of a batch, as dicts or as tuples."""
    columns = {name: column for name, column in batch.items() if name != ragged.GROUPS}  # which has a row a group
    if any(ragged.offsets_of(columns, name) is not None for name in columns):
        samples = [ragged.sample(columns, i) for i in range(ragged.num_samples(columns))]
        return _tuples(samples) if as_tuples else samples
    rows = zip(*map(list, columns.values()), strict=True)
    return list(rows) if as_tuples else [dict(zip(columns, values, strict=True)) for values in rows]


def _collated(collate_fn: Callable[[list[Any]], Any], as_tuples: bool, batch: Any) -> Any:
    return collate_fn(_samples(batch, as_tuples))


def _changed_samples(collate_fn: Callable[[Any], Any], as_tuples: bool, batch: Any) -> list[Any]:
    return [_changed(collate_fn, sample) for sample in _samples(batch, as_tuples)]


def _changed(collate_fn: Callable[[Any], Any], sample: Any) -> Any:
    try:
        return call(collate_fn, sample)
    except Exception as error:  # in the sample's place: the others are not its batch's
        return _Failed(error)


@dataclass(frozen=True, eq=False)
class _Failed:
    error: Exception


class _Samples(Iterator[Any]):
    """The samples of an epoch's batches, one by one."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any], samples_of: Callable[[Any], list[Any]]) -> None:
        self._loader = loader
        self._batches = batches
        self._samples_of = samples_of
        self._samples: deque[Any] = deque()

    def __next__(self) -> Any:
        while not self._samples:
            self._loader._in_samples = False
            self._samples.extend(self._samples_of(next(self._batches)))
        self._loader._in_samples = True
        sample = self._samples.popleft()
        if isinstance(sample, _Failed):
            raise sample.error
        return sample
