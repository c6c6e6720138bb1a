"""What the joined benchmarks make of pulses, in NumPy: six float32 numbers a pulse, ragged or padded. For the rivals.

x, y, z of the sensor, time * SCALE + SHIFT, log10(charge) and auxiliary; the arithmetic is in float32. The forms are
the quickest of those that were tried (gathers by take, by an index and by slices; filling by a mask, by an index and by
slices): a pulse is copied as one item of 24 bytes, and the table has six columns, so that its gather makes the array.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import parquet_files
from parquet_files import JOINED, TARGETS

SCALE, SHIFT = 1 / 3.0e4, -1.0e4 / 3.0e4  # of times
FEATURES = ("x", "y", "z", "time", "charge", "auxiliary")
PULSE = np.dtype("V24")  # six float32

Arrays = dict[str, np.ndarray]


def table_of_sensors() -> np.ndarray:
    """Return an array of (sensors, 6): x, y, z, and zeros where the other features will be."""
    places = parquet_files.geometry()
    table = np.zeros((len(places["sensor_id"]), len(FEATURES)), np.float32)
    for axis, name in enumerate("xyz"):
        table[places["sensor_id"], axis] = places[name]
    return table


def features_of(pulses: Arrays, sensors: np.ndarray) -> np.ndarray:
    """Return the features of pulses, (pulses, 6) float32."""
    made = sensors.take(pulses["sensor_id"], axis=0)
    time = pulses["time"].astype(np.float32)
    time *= np.float32(SCALE)
    time += np.float32(SHIFT)
    made[:, 3] = time
    made[:, 4] = np.log10(pulses["charge"].astype(np.float32))
    made[:, 5] = pulses["auxiliary"]
    return made


def padded(pulses: np.ndarray, lengths: np.ndarray) -> Arrays:
    """Return (events, longest, 6), zero behind each event, with its mask and the lengths."""
    longest = int(lengths.max())
    filled = np.zeros((len(lengths), longest, len(FEATURES)), np.float32)
    mask = np.arange(longest) < lengths[:, None]
    filled.view(PULSE)[..., 0][mask] = pulses.view(PULSE)[:, 0]
    return {"pulses": filled, "mask": mask, "lengths": lengths}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--joined", action="store_true", help="six float32 features a pulse, with the sensors' places")
    parser.add_argument("--padded", type=int, default=0, metavar="N", help="padded batches of the first N pulses")
    parser.add_argument("--sums", action="store_true", help="print the sums of the features too, in a pass of its own")


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """Return the command line; --padded and --sums want --joined."""
    args = parser.parse_args()
    if (args.padded or args.sums) and not args.joined:
        parser.error("--padded and --sums want --joined")
    return args


def kept(lengths: np.ndarray, most: int) -> np.ndarray:
    """Return the lengths that are left when events have `most` pulses at most; 0: all of them."""
    return np.minimum(lengths, most) if most else lengths


def pulses_left(meta: str, most: int) -> int:
    """Return how many pulses are delivered in an epoch."""
    return sum(int(kept(spans["end"] - spans["first"], most).sum()) for spans in parquet_files.spans_of(meta))


def delivered(batch: Any) -> int:
    """Return how many pulses a batch has; it may be anyone's."""
    if "lengths" in batch:
        return int(batch["lengths"].sum())
    return len(batch["pulses" if "pulses" in batch else "time"])


def sums_of(batches: Iterable[Any]) -> dict[str, float]:
    """Return the sums of the features over batches of anyone; padding counts, for it ought to be zero."""
    sums = np.zeros(len(FEATURES))
    for batch in batches:
        pulses = np.asarray(batch["pulses"])
        sums += pulses.reshape(-1, pulses.shape[-1]).sum(0, dtype=np.float64)
    return dict(zip(FEATURES, sums.tolist(), strict=True))


def some_events(files: parquet_files.Files) -> list[int]:
    """Return the numbers of a few events: the first and the last ones, and the longest."""
    each = files.events // len(files.paths)
    return [each // 2, 0, files.events - 1, 1, files.events - each, each - 1]


def expected(files: parquet_files.Files, events: list[int], most: int) -> Iterator[tuple[np.ndarray, float]]:
    """Return pulses and zenith of events, in float64 and without what the rivals use."""
    import pyarrow.parquet as pq

    each, spans, places = files.events // len(files.paths), parquet_files.spans_of(files.meta), parquet_files.geometry()
    columns = {n: pq.read_table(files.paths[n], columns=list(JOINED)) for n in {event // each for event in events}}
    for event in events:
        number, at = divmod(event, each)
        first = spans[number]["first"][at]
        count = kept(spans[number]["end"] - spans[number]["first"], most)[at]
        pulses = {name: columns[number][name].slice(first, count).to_numpy() for name in JOINED}
        made = [places[axis][pulses["sensor_id"]] for axis in "xyz"]
        made += [pulses["time"] * SCALE + SHIFT, np.log10(pulses["charge"]), pulses["auxiliary"]]
        yield np.stack(made, -1), spans[number][TARGETS[1]][at]


def check(batch: Any, files: parquet_files.Files, events: list[int], most: int) -> None:
    """Compare a batch of these events, which may be anyone's, with what `expected` says; raise SystemExit."""
    pulses, zeniths = np.asarray(batch["pulses"]), np.asarray(batch[TARGETS[1]])
    offsets = None if most else np.asarray(batch["pulses.offsets" if "pulses.offsets" in batch else "offsets"])
    for i, (right, zenith) in enumerate(expected(files, events, most)):
        if offsets is None:
            length = int(batch["lengths"][i])
            got, fine = pulses[i, :length], not pulses[i, length:].any()
            fine &= bool((np.asarray(batch["mask"])[i] == (np.arange(pulses.shape[1]) < length)).all())
        else:
            got, fine = pulses[offsets[i] : offsets[i + 1]], True
        same = got.shape == right.shape and np.allclose(got, right, rtol=1e-5, atol=1e-5)
        if not (fine and same and zeniths[i] == zenith and got.dtype == np.float32):
            raise SystemExit(f"event {events[i]} is not what it should be")
