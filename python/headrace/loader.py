"""Loader: how samples are delivered. Shuffled, collated batches from C++ threads under one memory budget."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from headrace import _headrace
from headrace._dataset.functions import apply, rows_of
from headrace._loader.agreement import Agreement
from headrace._loader.arguments import takes_options
from headrace._loader.begin import BeginsLater, begin
from headrace._loader.options import Words, delivery_to, order_of, resolve
from headrace._loader.order import engine_words, need_numbers
from headrace._loader.steps import Rows, Steps, Walk, collate
from headrace._support.argument_hints import LOADER_KNOBS
from headrace._support.checks import engine_text, invalid, whole_number
from headrace._support.display import preformatted
from headrace._support.logging import logger, quiet_other_ranks, warn
from headrace._support.progress import own_progress
from headrace._support.trainers import calling_trainer, distributed_rank, overfits, reopen_epoch
from headrace.dataset import Dataset, Paths
from headrace.errors import InvalidArgumentError
from headrace.opening import open
from headrace.samplers import Listing, LookAhead

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace._device.delivery import Delivery
    from headrace._headrace import LoaderWords

atexit.register(_headrace.close_all_loaders)


@takes_options("Loader", LOADER_KNOBS)
class Loader:
    """Delivers the samples of a data set as batches, epoch after epoch, decoded by C++ threads.

    ``for batch in loader:`` is one epoch. A batch is a plain dict in field order (or a tuple), of arrays of shape
    ``(rows, *field shape)``: C order, native byte order, the dtype as stored. They are writable, private to the caller,
    and valid as long as held, also after the loader is gone. Held batches never stall the loader (``list(loader)``
    works); their memory is then the caller's, and a HeadraceWarning tells once when it goes beyond the budget.

    The same seed gives the same batches, whatever the number of threads and the budget. Threads start with the first
    epoch and stop in :meth:`close`, or when nothing refers to the loader and its iterators; they never take the GIL.
    Taking a batch that is ready does not release the GIL; waiting for one does, and Ctrl-C ends the wait.

    An argument that is None is as left out.

    Args:
        dataset: A data set, or paths to open with all their fields (see :func:`headrace.open`).
        batch_size: Samples per batch, on each rank; or give ``global_batch_size``.
        **options: Those of the list in src/loader/options/loader_settings.cpp, which docs/reference.md and help() have.

    Raises:
        InvalidArgumentError: An argument is wrong, or arguments contradict each other (a ValueError).
        UnknownArgumentError: An argument is another loader's; the text says what replaces it (a TypeError too).
        UnsupportedError: What does not exist yet, torch where there is none, or a dtype that it does not have.
        OutOfBudgetError: ``memory`` is too small; the text names the smallest that would do.
    """

    num_workers: ClassVar[int] = 0  #: Worker processes, as of a DataLoader: none, the threads are C++.
    prefetch_factor: ClassVar[None] = None  #: Batches ahead of a worker process, as of a DataLoader without any.

    def __init__(self, dataset: Dataset | Paths, batch_size: int | None = None, **options: Unpack[LoaderWords]) -> None:
        given: dict[str, Any] = {"batch_size": batch_size, **options}
        order = order_of(given)
        words, device = resolve(given, order), given.get("device", "cpu")
        if isinstance(dataset, Dataset):
            self._start(dataset, words, owns_dataset=False, order=order, device=device)
        else:
            self._start(open(dataset), words, owns_dataset=True, order=order, device=device)

    def _start(self, dataset: Dataset, options: Words, owns_dataset: bool, order: Any, device: Any) -> None:
        self._dataset = dataset
        self._owns_dataset = owns_dataset
        self._order = order
        self._walk = Walk()  # through steps of batch_sampler
        self._process = os.getpid()
        self._agreement = Agreement()
        self._repeated: int | None = None  # the epoch that an overfitting Trainer gets each time
        need_numbers(dataset, order)
        words, options, self._listing = engine_words(order, options, len(dataset))
        self._options = options
        self._device = device
        self._delivery: Delivery | None = delivery_to(device)
        native: dict[str, object] = {**options, **({"batch_format": "dict"} if dataset._functions else {})}
        self._native = _headrace.Loader(dataset._native, native, words)
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", self._native.explain())
        self._native.warn_of_notices()

    @property
    def dataset(self) -> Dataset:
        """The data set it delivers."""
        return self._dataset

    @property
    def batch_size(self) -> int:
        """Samples of a full batch on this rank; where batches differ in size, of the largest.

        With :class:`ByTokens` no batch has more: as many as the budget holds of the shortest sample.
        """
        return self._native.batch_rows()

    @property
    def drop_last(self) -> bool:
        """True if samples that do not fill the last batch are dropped."""
        return self._options["tail"] == "drop"

    @property
    def sampler(self) -> Any:
        """Return what ``sampler=`` was, else an iterable of the row numbers that the next ``iter()`` would deliver.

        Missing while a Lightning Trainer overfits: Lightning would try to build the loader anew with another one.
        """
        if overfits():
            raise AttributeError("a loader has no sampler that an overfitting Trainer could replace")
        if isinstance(self._order, LookAhead):
            return self._order.sampler
        if self._order is None or isinstance(self._order, Listing) or calling_trainer() is not None:
            return Rows(self)  # through which a trainer names each epoch
        return self._order

    @property
    def batch_sampler(self) -> Steps:
        """Return the batches that the next ``iter()`` would deliver, as lists of row numbers that know their batch.

        ``DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, collate_fn=loader.collate_fn)``, which
        Accelerate's ``skip_first_batches`` makes, delivers what the loader delivers, decoded by its threads. Missing
        with ``lookahead=``: such an epoch cannot be entered in its middle.
        """
        if isinstance(self._order, LookAhead):
            raise AttributeError("a loader with lookahead= has no batch_sampler: rows are known as the epoch goes on")
        return Steps(self)

    def collate_fn(self, samples: Sequence[Any]) -> Any:
        """Make a batch of samples of the data set, or return the batch that they are the samples of."""
        words = self._options
        ragged = {name for name, field in self.dataset.fields.items() if field.ragged}
        as_torch, as_tuple = words["framework"] == "torch", words["batch_format"] == "tuple"
        return collate(samples, ragged=ragged, as_torch=as_torch, as_tuple=as_tuple)

    @property
    def _divides_samples(self) -> bool:
        """True if batches are so many samples, of all ranks; False for batches of others, groups, and a rank's own."""
        own_sizes = self.group_by is not None or self._options["batch"] is not None
        return not own_sizes and not getattr(self._listing or self._order, "own_rank", False)

    @property
    def seed(self) -> int:
        """Seed of the order."""
        return int(self._options["seed"] or 0)

    @property
    def group_by(self) -> str | int | None:
        """What ``group_by=`` was: ``"file"``, a field, or the number of an axis."""
        name = self._options["group_by"]
        if name is None:
            return None
        is_axis = str(name).isdigit() and str(name) not in self._dataset.fields
        return int(str(name)) if is_axis else str(name)

    @property
    def _level(self) -> str:
        """Name of its groups among the results of a :class:`GroupReducer`: ``"file"``, the field, or ``"axis 0"``."""
        return f"axis {self.group_by}" if isinstance(self.group_by, int) else str(self.group_by or "file")

    @property
    def provenance(self) -> bool:
        """True if batches say where their rows come from."""
        return bool(self._options["provenance"])

    @property
    def num_groups(self) -> int:
        """Number of groups with ``group_by=``, files without rows among them; else 0."""
        return self._native.num_groups()

    def __len__(self) -> int:
        """Return the exact number of batches of the epoch that is under way, or else the next.

        An epoch is under way until StopIteration, which comes behind its last batch; and after a ``break`` until the
        next begins.
        """
        reopen_epoch()  # a Lightning Trainer asks for it first of all
        return self._native.num_batches()

    def __getitem__(self, _index: Any) -> NoReturn:
        """Raise TypeError: a loader has batches in an order, not samples by number."""
        raise TypeError(
            "a headrace.Loader makes batches and has no samples by number. Iterate over it in place of a DataLoader: "
            "for batch in loader. To get samples by number, or to give a DataLoader a data set, use loader.dataset."
        )

    def __iter__(self) -> Iterator[Any]:
        """Start the next epoch, also after a ``break``.

        An iterator of this loader that is still live ends with ClosedError.

        Raises (while iterating):
            CorruptDataError, ReadFailedError, FileChangedError: At the first batch that holds the damage.
            LoaderTimeoutError: No batch came within ``timeout``.
            ClosedError: The loader was closed, or a newer iterator took over.
            ForkedError: The loader was started in the parent of this process.
        """
        # A Lightning Trainer calls iter() more often than it iterates, to look whether it can, and names the epoch only
        # afterwards.
        return self._epoch()

    def _epoch(
        self, prepare: Callable[[Any], Any] | None = None, finish: Callable[[Any], Any] | None = None
    ) -> Iterator[Any]:
        """Start the next epoch.

        Args:
            prepare: Called with each batch before it is brought to its device; on another thread, if there is one.
            finish: Called with each batch that is there, on the thread that takes it.
        """
        return (begin if calling_trainer() is None else BeginsLater)(self, prepare, finish)

    def _next_samples(self) -> tuple[int, int, int, int]:
        """Return what the next ``iter()`` delivers over all ranks: epoch, first sample, end, samples a batch."""
        self._ask_framework()
        epoch = self._native.next_epoch()
        self._list_rows(epoch)
        first = self._native.next_epoch_sample()
        return epoch, first, self._native.epoch_samples(), self._native.global_batch_rows()

    def _list_rows(self, epoch: int) -> None:
        """Ask a sampler that is an iterable for the rows of an epoch, once."""
        if self._listing is not None and self._listing.epoch != epoch:
            self._native.set_rows(epoch, self._listing.rows(epoch))
            self._listing.epoch = epoch

    def _list_first_rows(self) -> None:
        """Ask such a sampler for the rows of the epoch that comes next, if it was asked for none so far."""
        if self._listing is not None and self._listing.epoch < 0:
            self._list_rows(self._native.next_epoch())

    def _ask_framework(self) -> None:
        """Tell the engine which rank torch.distributed says this is: it may be known only now."""
        if self._options["rank"] is None and (place := distributed_rank()) is not None:
            self._native.set_rank(*place)
            quiet_other_ranks()

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is: the epoch, and how many of its samples were handed out over all ranks.

        Counts what was handed out, never what was only prefetched. The same on every rank: saving one rank's copy is
        enough. Less than 200 bytes as JSON.
        """
        state: dict[str, Any] = json.loads(self._native.state())
        if isinstance(self._order, LookAhead) and state["samples"] > 0:
            warn("a state from the middle of an epoch with lookahead= cannot be loaded: save at the epoch's end")
        return state

    def load_state_dict(self, state: Mapping[str, Any], *, accept_changed_data: bool = False) -> None:
        """Go to where :meth:`state_dict` was taken; takes milliseconds at any size.

        The next ``iter()`` goes on there, and so does an iterator that is live. Threads, memory, the number of ranks
        and the batch size may be others than those of the run that saved it, and the files may lie elsewhere.

        Args:
            state: What :meth:`state_dict` returned.
            accept_changed_data: Go on although the files have other names, bytes or another order than those of the
                run that saved it. Their lengths, chunks and fields must agree all the same.

        Raises:
            InvalidArgumentError: The state is of other data, another seed or another order; the text says what differs.
                The loader is as it was.
        """
        if not isinstance(accept_changed_data, bool):
            raise invalid(f"accept_changed_data must be True or False, not {accept_changed_data!r}")
        self._go_to(state, accept_changed_data)

    def _go_to(self, state: Mapping[str, Any], accept_changed_data: bool = False, *, is_new: bool = False) -> None:
        """Go to a state. Where the loader is new, its sampler is asked for rows by the next epoch, and not here."""
        if self._listing is not None and state.get("samples") == 0 and "rows" in state:
            state = {**state, "rows": json.loads(self._native.state())["rows"]}  # how many may not have been known
        text = json.dumps(dict(state))
        self._native.check_state(text, accept_changed_data)  # before a sampler hears of it
        self._ask_framework()
        rows = None
        if self._listing is not None and self._listing.epoch != state["epoch"] and (not is_new or state["samples"]):
            rows = self._listing.rows(state["epoch"])
        if rows is not None and state["samples"] == 0 and "rows" in state:
            text = json.dumps({**state, "rows": len(rows[0])})
        with contextlib.nullcontext() if self._delivery is None else self._delivery.moving():
            try:
                self._native.load_state(text, accept_changed_data, rows)
            except InvalidArgumentError as error:
                drawn = rows is not None and not hasattr(getattr(self._listing, "sampler", None), "set_epoch")
                if self._listing is None or not drawn or "the order is listed" not in error.message:
                    raise
                raise self._listing.other_rows(int(state["epoch"]), error.message) from error
        if self._listing is not None and rows is not None:
            self._listing.epoch = int(state["epoch"])
        logger.debug("the next batch is the one after %s samples of epoch %s", state["samples"], state["epoch"])

    def _go_to_samples(self, epoch: int, samples: int) -> None:
        """Go so far into an epoch as the loader itself has it."""
        self._ask_framework()
        self._list_rows(epoch)
        self._go_to(json.loads(self._native.state_at(epoch, samples)), True)

    def batch(self, epoch: int, step: int) -> Any:
        """Make a batch of any epoch again, bit for bit as iterating delivers it on this rank.

        For looking into a loss spike: nothing before it is read, an epoch that is under way is not disturbed, and
        reports do not count it. Blocks while its rows are read, without the GIL.

        Args:
            epoch: Number of the epoch, from 0.
            step: Number of the batch, from the start of the epoch.

        Returns:
            The batch, as iterating gives it.

        Raises:
            InvalidArgumentError: No such batch; or the sampler gives rows during the epoch (``lookahead=``), or gives
                other rows each time it is asked.
            CorruptDataError, ReadFailedError, FileChangedError: The data is damaged, unreadable or has changed.
        """
        batch = self._native.batch(*self._place(epoch, step))
        functions = self._dataset._functions
        if functions:
            columns = apply(functions, batch, rows_of(batch), f"batch {step} of epoch {epoch}")
            batch = tuple(columns.values()) if self._options["batch_format"] == "tuple" else columns
        return batch if self._delivery is None else self._delivery.at_once(batch)

    def _replay(self, epoch: int, step: int) -> _headrace.ToolResult:
        return _headrace.replay(self._native, *self._place(epoch, step))

    def _place(self, epoch: int, step: int) -> tuple[int, int, Any]:
        """Epoch, step, and the epoch's rows where only the sampler knows them."""
        self._ask_framework()
        number = whole_number("epoch", epoch, least=0)
        rows = None if self._listing is None else self._listing.rows_again(number)
        if rows is None:
            self._list_first_rows()
        return number, whole_number("step", step, least=0), rows

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next ``iter()`` delivers (from 0). Calling it twice is the same as once.

        Args:
            epoch: Number of the epoch, below 2^63.

        Raises:
            InvalidArgumentError: It is no whole number from 0.
        """
        self._native.set_epoch(whole_number("epoch", epoch, least=0))

    def preload(self, progress: Callable[[int, int], Any] | None = None) -> None:
        """Decode now all rows that are kept, which happens in the first epoch else.

        Those of ``cache="ram"`` or a directory, and of windows and spans whose rows all fit in memory.

        Chunks of volumes that are stored as they are delivered have nothing to decode: it returns at once.

        Blocks until done, without the GIL; Ctrl-C stops it.

        Args:
            progress: Called now and then with (blocks done, blocks in all); returning False stops with a ClosedError.

        Raises:
            InvalidArgumentError: This loader keeps nothing whole.
            OutOfBudgetError: The memory that was planned for has gone to others.
        """
        call = own_progress(progress)
        self._ask_framework()
        self._list_rows(self._native.next_epoch())
        self._native.preload(call)

    def explain(self) -> str:
        """Return every automatic setting with its resolved value and the reason. Reads nothing.

        A sampler that was not asked for its rows so far counts with its ``len()``.
        """
        return self._native.explain()

    def order_report(self, by: str | None = None, *, epoch: int = 0) -> _headrace.ToolResult:
        """Say how well this order mixes; see :func:`headrace.order`. Reads the field ``by`` whole, and nothing else.

        Args:
            by: Field with a class of each sample, whose mixing is told. Default: that of the blocks.
            epoch: Number of the epoch, from 0.

        Raises:
            InvalidArgumentError: There is no such field, or it holds no classes.
        """
        self._list_first_rows()
        label = "" if by is None else engine_text("by", by)
        return _headrace.order(self._native, label, whole_number("epoch", epoch, least=0))

    def report(self) -> _headrace.Report:
        """Return what was delivered, where the time went, memory against budget, and a verdict; at any time."""
        return self._native.report(None if self._delivery is None else self._delivery.figures())

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self._native.closed()

    def close(self) -> None:
        """Stop the threads and give memory back. Batches that are held stay valid.

        May be called twice, and from any thread.
        """
        if logger.isEnabledFor(logging.DEBUG) and not self.closed and self._process == os.getpid():
            logger.debug("closing after\n%s", self.report())
        self._close_engine()
        if self._owns_dataset:
            self._dataset.close()

    @property
    def _stays_on_host(self) -> bool:
        """True if batches are delivered in the host's memory, page-locked perhaps."""
        return self._delivery is None or self._delivery.is_on_host

    def _close_engine(self) -> None:
        if self._delivery is None:
            self._native.close()
        else:
            self._delivery.close(self._native.close)

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        words = (self._dataset, self._options, self._owns_dataset, self._order, self._device)
        return _remake, (*words, self.state_dict())

    def _deliver_on(self, device: Any) -> None:
        """Deliver on another device from now on: the plan is made anew, and goes on where the loader is."""
        state = self.state_dict()
        self._close_engine()
        options = {**self._options, "device": "cpu" if delivery_to(device) is None else "device"}
        self._start(self._dataset, options, self._owns_dataset, self._order, device)
        self._go_to(state, is_new=True)

    def __repr__(self) -> str:
        device = None if self._delivery is None else self._device
        given = ", ".join(f"{name}={value!r}" for name, value in {**self._options, "device": device}.items() if value)
        state = ", closed" if self.closed else ""
        return f"<headrace.Loader of {len(self):,} batches: {given}{state}>"

    def _repr_html_(self) -> str:
        return preformatted(self.explain())


def _remake(
    dataset: Dataset, options: Words, owns_dataset: bool, order: Any, device: Any, state: dict[str, Any]
) -> Loader:
    loader = Loader.__new__(Loader)
    loader._start(dataset, options, owns_dataset, order, device)
    loader._go_to(state, is_new=True)
    return loader
