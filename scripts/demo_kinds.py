"""The other kinds of samples for `make demo`: an epoch of each, checked against h5py or NumPy, beside a plain loop.

Each kind writes small files as its users have them, opens them in one line, and delivers a shuffled epoch. The plain
loop reads a sample at a time in shuffled order, as a map-style Dataset does, for a second and a half.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

import headrace as hr

PLAIN_SECONDS = 1.5


@dataclass
class Kind:
    """Samples of one kind of user."""

    name: str
    open: Callable[[], hr.Dataset]
    batch_size: int
    digest: Callable[[Iterator[dict[str, np.ndarray]]], np.ndarray]  # of an epoch, the same for any order
    expected: np.ndarray  # what h5py or NumPy makes of the whole files
    read_one: Callable[[int], object]  # a sample by h5py or NumPy
    plain: str  # what reads it


@dataclass
class Epoch:
    """What was measured of a kind."""

    kind: Kind
    samples: int
    seconds: float
    plain_rate: float  # samples a second
    good: bool


def mel(folder: Path, rng: np.random.Generator) -> Kind:
    """Mel spectrograms: 94,800 segments of 128 bytes, with the label of the recording that each is cut from."""
    path = folder / "mel.h5"
    labels = rng.integers(0, 10, 400).astype("i4")
    x = rng.standard_normal((400, 79, 3, 32, 1)).astype("f4")
    with h5py.File(path, "w") as file:
        file.create_dataset("segments_mel", data=x, chunks=(1, *x.shape[1:]), compression="gzip")
        file["labels"] = labels
    of_label = np.zeros((10, 32), "f8")
    np.add.at(of_label, np.repeat(labels, 79 * 3), x.reshape(-1, 32))
    stored = h5py.File(path, "r")["segments_mel"]

    def digest(batches: Iterator[dict[str, np.ndarray]]) -> np.ndarray:
        sums = np.zeros((10, 32), "f8")
        for batch in batches:
            np.add.at(sums, batch["y"], batch["x"][:, :, 0])
        return sums

    def open_it() -> hr.Dataset:
        return hr.open(path, fields={"x": "segments_mel"}, sample_axes=3, broadcast={"y": "labels"})

    return Kind("mel spectrograms", open_it, 5632, digest, of_label,
                lambda i: stored[i // 237, i % 237 // 3, i % 3], "h5py")  # fmt: skip


def events(folder: Path, rng: np.random.Generator) -> Kind:
    """Events of very different length, one after another, as neutrino telescopes write pulses."""
    path = folder / "events.h5"
    lengths = np.minimum(1 + rng.pareto(1.5, 20_000) * 20, 3000).astype(int)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    charge, zenith = rng.random(offsets[-1]).astype("f4"), rng.random(len(lengths))
    with h5py.File(path, "w") as file:
        storage = {"chunks": (16_384,), "compression": "gzip"}
        file.create_dataset("event_id", data=np.repeat(np.arange(len(lengths)), lengths), **storage)
        file.create_dataset("charge", data=charge, **storage)
        file["zenith"] = zenith
    stored = h5py.File(path, "r")["charge"]

    def digest(batches: Iterator[dict[str, np.ndarray]]) -> np.ndarray:
        found = [(batch["zenith"], np.add.reduceat(batch["charge"].astype("f8"), batch["charge.offsets"][:-1]))
                 for batch in batches]  # fmt: skip
        of_event = np.column_stack([np.concatenate(column) for column in zip(*found, strict=True)])
        return of_event[np.argsort(of_event[:, 0])]

    of_event = np.column_stack([zenith, np.add.reduceat(charge.astype("f8"), offsets[:-1])])
    return Kind("events",
                lambda: hr.open(path, fields=["charge"], sample_by="event_id", targets=["zenith"]), 256, digest,
                of_event[np.argsort(zenith)], lambda i: stored[offsets[i] : offsets[i + 1]], "h5py")  # fmt: skip


def patches(folder: Path, rng: np.random.Generator) -> Kind:
    """Patches of a volume of electron microscopy, each voxel once."""
    path = folder / "volume.h5"
    raw = (rng.random((256, 256, 256)) ** 3 * 255).astype("u1")
    with h5py.File(path, "w") as file:
        file.create_dataset("raw", data=raw, chunks=(64, 64, 64), compression="gzip")
    stored = h5py.File(path, "r")["raw"]

    def digest(batches: Iterator[dict[str, np.ndarray]]) -> np.ndarray:
        return sum(np.bincount(batch["raw"].ravel(), minlength=256) for batch in batches)

    def read_one(i: int) -> np.ndarray:
        z, y, x = (32 * number for number in np.unravel_index(i, (8, 8, 8)))
        return stored[z : z + 32, y : y + 32, x : x + 32]

    def open_it() -> hr.Dataset:
        return hr.open_volume(path, arrays={"raw": "raw"}).patches((32, 32, 32), stride=(32, 32, 32))

    return Kind("patches of a volume", open_it, 8, digest, np.bincount(raw.ravel(), minlength=256), read_one, "h5py")


def tokens(folder: Path, rng: np.random.Generator) -> Kind:
    """Windows of a token file, as nanoGPT writes them."""
    path = folder / "tokens.bin"
    rng.integers(0, 50_257, 20_000_000, dtype=np.uint16).tofile(path)
    stored = np.memmap(path, np.uint16, "r")

    def digest(batches: Iterator[dict[str, np.ndarray]]) -> np.ndarray:
        return sum(np.bincount(batch["tokens"].ravel(), minlength=50_257) for batch in batches)

    return Kind("windows of tokens",
                lambda: hr.open_tokens(path, vocab_size=50_257).windows(256), 64, digest,
                np.bincount(stored[: len(stored) // 256 * 256], minlength=50_257),
                lambda i: np.array(stored[i * 256 : (i + 1) * 256]), "NumPy's memmap")  # fmt: skip


def run(kind: Kind, memory: str, rng: np.random.Generator) -> Epoch:
    """Deliver an epoch, and read by the plain loop for a while."""
    with kind.open() as samples:
        loader = hr.Loader(samples, batch_size=kind.batch_size, shuffle=True, seed=7, memory=memory, cache="none")
        with loader:
            start = time.perf_counter()
            for _ in loader:
                pass
            seconds = time.perf_counter() - start
            good = bool(np.allclose(kind.digest(iter(loader)), kind.expected))
        count = len(samples)
    done, start = 0, time.perf_counter()
    for i in rng.permutation(count):
        kind.read_one(int(i))
        done += 1
        if time.perf_counter() - start > PLAIN_SECONDS:
            break
    return Epoch(kind, count, seconds, done / (time.perf_counter() - start), good)


def run_all(folder: Path, seed: int, memory: str) -> Iterator[Epoch]:
    """Make and deliver each kind, one after another."""
    rng = np.random.default_rng(seed)
    for make in (mel, events, patches, tokens):
        yield run(make(folder, rng), memory, rng)
