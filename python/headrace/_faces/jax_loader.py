"""Loader for JAX: which rows this process loads, in which order, and where global batches of them lie."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import jax

from headrace import loader as engine
from headrace._faces.jax_columns import Columns
from headrace._faces.jax_iterator import FINISHED, BatchIterator, IteratorState
from headrace._faces.jax_shards import Shards, sharding_of
from headrace._headrace import Report
from headrace._loader.arguments import takes_options
from headrace._support.argument_hints import JAX_KNOBS
from headrace._support.checks import invalid, one_of, whole_number
from headrace._support.logging import logger
from headrace.dataset import Dataset, Paths
from headrace.opening import open

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from headrace._headrace import JaxLoaderWords


@takes_options("Loader", JAX_KNOBS)
class Loader:
    """Delivers the samples of a data set as global ``jax.Array``s, at the speed of :class:`headrace.Loader`.

    ``for batch in loader:`` is one epoch; a batch is a dict in field order. Each process loads the rows that its own
    devices need, as the sharding says: processes that hold other parts of a model for the same rows load the same rows.
    The global batches do not depend on the number of processes. Fields with fewer axes than ``spec`` names take its
    first ones. All batches have the same shapes, so that jit compiles once, unless ``tail="partial"``.

    64-bit types become 32 bits unless ``jax_enable_x64`` is set, as everywhere in JAX; a whole number that does not fit
    is an error. On CPU devices arrays may lie in the memory that was loaded into, which stays theirs as long as they
    live.

    Args:
        dataset: A data set, or paths to open with all their fields.
        batch_size: Samples of a global batch, of all processes together.
        mesh: The devices, as ``jax.make_mesh`` makes it. Without ``mesh`` and ``sharding``: jax's default device.
        spec: The PartitionSpec of a batch, or the name of one axis: ``P("data")`` divides rows over that axis and
            repeats them over all others.
        sharding: A sharding in place of ``mesh`` and ``spec``.
        drop_last: Drop the samples that do not fill the last batch: the default. False: the same as
            ``tail="partial"``.
        tail: ``"drop"``, ``"pad"`` (the last batch is filled with repeats, and every batch has a field ``_weight``, 0
            for these), or ``"partial"``: a smaller last batch, which compiles once more, and which the devices must
            divide.
        width: Where samples differ in length: rows that each is filled up to. Batches then have ``mask`` and
            ``lengths`` too. A longer sample is an error; ``T.Truncate(width)`` shortens it.
        num_epochs: Epochs of one ``iter(loader)``; None: without end.
        ahead: Batches whose copy to the devices begins before they are asked for. Default: 1, and 0 on CPU devices.
        **options: Those of :class:`headrace.Loader`; of this process.

    Attributes:
        loader: The :class:`headrace.Loader` that does the work in this process.
        batch_size: Samples of a global batch.
        num_epochs: Epochs of one ``iter(loader)``; None: without end.
        ahead: Batches whose copy to the devices begins before they are asked for.

    Raises:
        InvalidArgumentError: An argument is wrong, arguments contradict each other, the devices do not divide a batch,
            or a field is of a type that JAX has not (a ValueError).
        UnknownArgumentError: An argument is another loader's; the text says what replaces it (a TypeError too).
    """

    def __init__(
        self,
        dataset: Dataset | Paths,
        batch_size: int,
        *,
        mesh: jax.sharding.Mesh | None = None,
        spec: jax.sharding.PartitionSpec | str | None = None,
        sharding: jax.sharding.Sharding | None = None,
        drop_last: bool | None = None,
        tail: str | None = None,
        width: int | None = None,
        num_epochs: int | None = 1,
        ahead: int | None = None,
        **options: Unpack[JaxLoaderWords],
    ) -> None:
        one_of("drop_last", drop_last, (None, True, False))
        one_of("tail", tail, (None, "drop", "pad", "partial"))
        if drop_last and tail not in (None, "drop"):
            raise invalid(f'drop_last=True is tail="drop", and tail={tail!r} was given', "Give one of them.")
        self.batch_size = whole_number("batch_size", batch_size, least=1)
        self.num_epochs = None if num_epochs is None else whole_number("num_epochs", num_epochs, least=1)
        self._shards = Shards(sharding_of(mesh, spec, sharding), self.batch_size)
        devices = (
            jax.local_devices()[:1] if self._shards.sharding is None else self._shards.sharding.addressable_devices
        )
        usual = int(any(device.platform != "cpu" for device in devices))
        self.ahead = usual if ahead is None else whole_number("ahead", ahead, least=0)
        self._owns_dataset = not isinstance(dataset, Dataset)
        data = dataset if isinstance(dataset, Dataset) else open(dataset)
        self._columns = Columns(data, width, options.get("fill", 0))
        for name, shape in self._columns.shapes.items():
            self._shards.check_field(name, (self.batch_size, *shape))
        self.loader = engine.Loader(
            data,
            global_batch_size=self.batch_size,
            tail=tail or ("partial" if drop_last is False else "drop"),
            rank=self._shards.block,
            world_size=self._shards.num_blocks,
            layout="ragged" if width is None else "padded",
            **options,
        )
        self._tail = str(self.loader._options["tail"] or "partial")
        self._state: IteratorState | None = None  # of what was delivered last
        self._finished = False  # the state that was loaded is behind the last epoch
        self._became = ""  # what load_text_dataset made of a program's settings
        self._iterator: weakref.ref[BatchIterator] | None = None
        if getattr(self.loader._listing, "own_rank", False):
            raise invalid("this sampler divides by itself, and rows are divided by the sharding", "Give it undivided.")
        self._check_tail(0)
        logger.info("batches of %d, %s", self.batch_size, self._shards)

    @property
    def dataset(self) -> Dataset:
        """The data set it delivers."""
        return self.loader.dataset

    @property
    def sharding(self) -> jax.sharding.Sharding | None:
        """How batches lie over devices; None: on jax's default device."""
        return self._shards.sharding

    @property
    def steps_per_epoch(self) -> int:
        """Exact number of batches of an epoch, the same in every process."""
        return len(self.loader)

    def __len__(self) -> int:
        """Return the exact number of batches of a whole ``iter(loader)``.

        Raises:
            InvalidArgumentError: There is no end to them.
        """
        if self.num_epochs is None:
            raise invalid("num_epochs=None has no length", "There is loader.steps_per_epoch.")
        return self.steps_per_epoch * self.num_epochs

    def __iter__(self) -> BatchIterator:
        """Return an iterator of the next epochs, also after a ``break``, or of the rest after :meth:`load_state_dict`.

        It has ``get_state()`` and ``set_state(state)``, as Grain's iterators do. An earlier one ends with ClosedError.
        """
        iterator = BatchIterator(self)
        self._iterator = weakref.ref(iterator)
        return iterator

    def batch(self, epoch: int, step: int) -> dict[str, jax.Array]:
        """Make a batch of any epoch again, as iterating delivers it. Every process has to call it.

        Args:
            epoch: Number of the epoch, from 0.
            step: Number of the batch, from the start of the epoch.

        Raises: what :meth:`headrace.Loader.batch` names.
        """
        return self._placed(self.loader.batch(epoch, step))

    def set_epoch(self, epoch: int) -> None:
        """Name the epoch that the next ``iter()`` begins with (from 0)."""
        self.loader.set_epoch(epoch)
        self._state, self._finished = None, False

    def state_dict(self) -> dict[str, Any]:
        """Return where the loader is, as :meth:`headrace.Loader.state_dict` does; the iterator's ``get_state()``.

        Counts what was delivered. The same in every process, and for any number of processes.
        """
        return IteratorState(self._state if self._state is not None else self.loader.state_dict())

    def load_state_dict(self, state: Mapping[str, Any], *, accept_changed_data: bool = False) -> None:
        """Go to where :meth:`state_dict` was called, see :meth:`headrace.Loader.load_state_dict`.

        The next ``iter()`` goes on there, and so does an iterator that is live.
        """
        self.loader.load_state_dict(state, accept_changed_data=accept_changed_data)
        self._check_tail(int(state["samples"]))
        self._state = IteratorState(state)
        finished = int(state.get(FINISHED, 0))
        # With num_epochs=1 a program counts epochs by itself: the state behind one is the beginning of the next.
        self._finished = (self.num_epochs or 1) > 1 and finished > 0 and finished % (self.num_epochs or 1) == 0
        if (iterator := self._live()) is not None:
            iterator._moved(self._state)

    def explain(self) -> str:
        """Return every automatic setting with its resolved value and the reason. Reads nothing."""
        return f"{self.loader.explain().rstrip()}\n{self._text()}\n"

    def report(self) -> Report:
        """Return what was delivered in this process, where the time went, memory against budget, and a verdict."""
        return self.loader.report()

    @property
    def closed(self) -> bool:
        """True if it was closed."""
        return self.loader.closed

    def close(self) -> None:
        """Stop the threads and give memory back. Batches that are held stay valid."""
        if (iterator := self._live()) is not None:
            iterator.close()
        self.loader.close()
        if self._owns_dataset:
            self.dataset.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        epochs = "without end" if self.num_epochs is None else f"times {self.num_epochs}"
        return f"<headrace.jax.Loader of {self.steps_per_epoch:,} global batches {epochs}: {self._text()}>"

    def __str__(self) -> str:
        return f"{self._became}\n{self!r}" if self._became else repr(self)

    def _text(self) -> str:
        return f"batches of {self.batch_size}, {self._shards}; {self.ahead} copied ahead"

    def _live(self) -> BatchIterator | None:
        """Return the iterator that is live."""
        return None if self._iterator is None else self._iterator()

    def _take_finished(self) -> bool:
        """Return, once, whether the state that was loaded is behind the last epoch."""
        finished, self._finished = self._finished, False
        return finished

    def _next_state(self) -> IteratorState:
        """Return where the next ``iter()`` begins."""
        epoch, first, _, _ = self.loader._next_samples()
        return IteratorState({**self.loader.state_dict(), "epoch": epoch, "samples": first})

    def _placed(self, columns: Mapping[str, Any]) -> dict[str, jax.Array]:
        return self._shards.place(self._columns.ready(columns))

    def _check_tail(self, first: int) -> None:
        """Check that the devices divide the last batch of an epoch that goes on after ``first`` samples."""
        if self._tail == "partial":
            self._shards.check_rows((self.loader._next_samples()[2] - first) % self.batch_size)
