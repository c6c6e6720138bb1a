"""BatchIterator: the batches of a loader for JAX, with the protocol of Grain's iterators."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, Protocol

import jax

from headrace import loader as engine
from headrace._support.checks import invalid
from headrace.errors import ClosedError

_FILE = "headrace_loader.json"
#: Key of a state behind the last of ``num_epochs`` epochs: how many that are. The next epoch of such a state is none.
FINISHED = "finished_epochs"


class IteratorState(dict[str, Any]):
    """Where an iterator is: a dict of plain JSON values, which does not say how many processes there are.

    ``decode()`` is what Grain's checkpoint handler calls.
    """

    def decode(self) -> str:
        """Return it as JSON."""
        return json.dumps(self, indent=4)


def state_from(state: Any) -> IteratorState:
    """Return a state that was given as a dict, or as JSON in a str or bytes.

    Raises:
        InvalidArgumentError: It is something else.
    """
    try:
        made = json.loads(state) if isinstance(state, (str, bytes)) else state
    except ValueError as error:
        raise invalid(f"a state is a dict or JSON, and this is not JSON: {error}") from error
    if not isinstance(made, Mapping):
        raise invalid(f"a state is the dict that get_state() returned, not {made!r}")
    return IteratorState(made)


class GlobalLoader(Protocol):
    """What an iterator uses of its :class:`headrace.jax.Loader`."""

    loader: engine.Loader
    num_epochs: int | None
    ahead: int
    _state: IteratorState | None

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...
    def _live(self) -> BatchIterator | None: ...
    def _next_state(self) -> IteratorState: ...
    def _placed(self, columns: Mapping[str, Any]) -> dict[str, jax.Array]: ...
    def _take_finished(self) -> bool: ...


class BatchIterator(Iterator[dict[str, jax.Array]]):
    """The global batches of a loader, one after the other. Made by ``iter(loader)``; use it from one thread.

    The epoch begins with the first ``next()``, or with :meth:`start_prefetch`. A later iterator of the loader ends it
    with ClosedError.
    """

    def __init__(self, loader: GlobalLoader) -> None:
        self._loader = loader
        self._closed = False
        self._state: IteratorState | None = None  # of what was delivered; None: nothing yet
        self._clear()
        self._done = loader._take_finished()

    def _clear(self) -> None:
        self._ready: deque[tuple[dict[str, jax.Array], IteratorState] | Exception] = deque()
        self._batches: Iterator[Any] | None = None
        self._unplaced: Mapping[str, Any] | None = None  # columns that were taken, and lie on no device yet
        self._epoch: int | None = None  # that is read; None: not begun
        self._end: int | None = None
        self._done = False

    def __iter__(self) -> BatchIterator:
        """Return itself."""
        return self

    def __next__(self) -> dict[str, jax.Array]:
        """Return the next batch. Raises what :meth:`headrace.Loader.__iter__` names."""
        self._check_live()
        if not self._ready and not self._pull():
            raise StopIteration
        try:
            while len(self._ready) <= self._loader.ahead and self._pull():
                pass
        except Exception as error:
            self._ready.append(error)  # raised when its batch is asked for
        oldest = self._ready.popleft()  # only now: Ctrl-C loses nothing
        if isinstance(oldest, Exception):
            raise oldest
        batch, self._state = oldest
        self._loader._state = self._state
        return batch

    def _pull(self) -> bool:
        """Take a batch from the engine and begin to copy it to the devices. False: there is none."""
        while not self._done and not (self._ready and isinstance(self._ready[-1], Exception)):
            self.start_prefetch()
            assert self._batches is not None
            if self._unplaced is None:
                self._unplaced = next(self._batches, None)
            if self._unplaced is not None:
                try:
                    batch = self._loader._placed(self._unplaced)
                except Exception:  # Ctrl-C is none: the columns are there for the next call
                    self._unplaced = None
                    raise
                self._ready.append((batch, self._state_behind()))
                self._unplaced = None
                return True
            self._batches = None
            assert self._epoch is not None
            self._done = self._epoch + 1 == self._end
        return False

    def _state_behind(self) -> IteratorState:
        """Return the state behind the batch that was taken last."""
        state = IteratorState(self._loader.loader.state_dict())
        if state["epoch"] == self._end and state["samples"] == 0 and self._loader.num_epochs != 1:
            state[FINISHED] = self._end
        return state

    def start_prefetch(self) -> None:
        """Begin to read, without waiting: while a model is restored, for example. May be called twice."""
        self._check_live()
        if self._batches is not None or self._done:
            return
        begins, self._epoch = self._epoch is None, self._loader.loader._next_samples()[0]
        if begins and (epochs := self._loader.num_epochs) is not None:
            self._end = (self._epoch // epochs + 1) * epochs
        if self._state is None:  # nothing was delivered, and the loader's next epoch is another one from here on
            self._state = self._loader._next_state()
        self._batches = iter(self._loader.loader)

    def get_state(self) -> IteratorState:
        """Return where it is: the epoch, and how many of its samples were delivered to all processes together.

        Counts what ``next()`` returned, never what is under way to the devices. The same in every process, and less
        than 200 bytes of JSON. After the last batch of an epoch it is the beginning of the next; after that of the last
        of ``num_epochs``, an iterator that gets it has no batches.
        """
        self._check_live()
        return self._loader._next_state() if self._state is None else IteratorState(self._state)

    def set_state(self, state: Mapping[str, Any] | str | bytes) -> None:
        """Go to where :meth:`get_state` was called; the number of processes and the batch size may be others.

        Raises:
            InvalidArgumentError: The state is of other data, another seed or another order.
        """
        self._check_live()
        self._loader.load_state_dict(state_from(state))

    def _moved(self, state: IteratorState) -> None:
        """Go on at a state that the engine's loader was given."""
        self._state = state
        self._clear()
        self._done = self._loader._take_finished()

    async def save(self, directory: Any) -> Awaitable[None]:
        """Save the state in a checkpoint of Orbax, which calls this; one process writes it for all."""
        text = self.get_state().decode()

        async def write() -> None:
            folder = await directory.await_creation()
            if jax.process_index() == 0:
                (folder / _FILE).write_text(text)

        return write()

    async def load(self, directory: Any) -> Awaitable[None]:
        """Load the state from a checkpoint of Orbax, which calls this, or from one of Grain's handler."""

        async def read() -> None:
            files = [directory / _FILE] if (directory / _FILE).exists() else sorted(directory.glob("process_*.json"))
            if not files:
                raise invalid(f"{directory} has no state of a loader", f"It would be {_FILE}.")
            self.set_state(files[0].read_text())

        return read()

    def close(self) -> None:
        """Let go of what was read ahead. May be called twice."""
        self._closed = True
        self._ready.clear()
        self._batches = None

    def _check_live(self) -> None:
        if self._closed:
            raise ClosedError("this iterator was closed")
        if self._loader._live() is not self:
            raise ClosedError("a newer iterator of the loader took over")
