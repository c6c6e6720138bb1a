"""Mutations of a small file: the n-th one of a seed is the same every time.

Half blind, half informed: places in metadata are preferred, numbers are those that parsers get wrong, addresses are
replaced by other addresses of the file, and checksums are mostly made right again.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from hostile_checksums import Checked

NEAR_BYTES = 8  # zeros this near to something else are part of it
NUMBERS = [0, 1, 2, 3, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000]
NUMBERS += [0xFFFFFFFF, 0x100000000, 1 << 40, (1 << 62) - 1, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 8]
Edits = list[tuple[int, int]]  # (offset, size) of what was changed


@dataclass
class Base:
    """A file to mutate, the files beside it, and what lies where in it."""

    name: str
    opened: str  # what is opened: one of `files`, or the folder that they are in
    target: str  # of `files`: what is mutated
    files: dict[str, bytes]
    raw: list[tuple[int, int]]
    sums: list[Checked]
    fields: list[str]
    guarded: dict[str, int]  # CRC-32 of the values of fields whose chunks carry a checksum
    places: list[int] = field(default_factory=list)  # of metadata
    addresses: list[int] = field(default_factory=list)  # offsets of 8 bytes that look like an address in the file
    values_only: bool = False  # metadata are left alone

    @property
    def data(self) -> bytes:
        return self.files[self.target]

    def index(self) -> None:
        """Find the places of metadata."""
        data, raw = self.data, set()
        for offset, size in self.raw:
            raw.update(range(offset, offset + size))
        last = -NEAR_BYTES - 1
        for i, byte in enumerate(data):
            if byte:
                last = i
            if i not in raw and i - last <= NEAR_BYTES:
                self.places.append(i)
        for i in self.places:
            if i + 8 <= len(data) and 8 <= int.from_bytes(data[i : i + 8], "little") < len(data):
                self.addresses.append(i)
        self.places = self.places or list(range(len(data)))


def load_bases(folder: Path) -> list[Base]:
    """Read what hostile_bases.py wrote."""
    bases = []
    for path in sorted(folder.rglob("base.json")):
        said = json.loads(path.read_text())
        parent = path.parent
        files = {
            str(p.relative_to(parent)): p.read_bytes() for p in sorted(parent.rglob("*")) if p.is_file() and p != path
        }
        opened, target = said["open"], said["target"]
        sums = [Checked(**entry) for entry in said["sums"]]
        raw = [(offset, size) for offset, size in said["raw"]]
        name = str(parent.relative_to(folder))
        bases.append(Base(name, opened, target, files, raw, sums, said["fields"], said["guarded"]))
        bases[-1].index()
    return bases


def _place(base: Base, random: Random) -> int:
    if base.values_only:
        offset, size = random.choice(base.raw)
        return offset + random.randrange(max(size, 1))
    kind = random.random()
    if kind < 0.1 and base.raw:
        offset, size = random.choice(base.raw)
        return offset + random.randrange(max(size, 1))
    if kind < 0.15:
        return random.randrange(len(base.data))
    return random.choice(base.places)


def _write(data: bytearray, at: int, value: bytes) -> Edits:
    value = value[: max(len(data) - at, 0)]
    data[at : at + len(value)] = value
    return [(at, len(value))]


def flip_bit(base: Base, data: bytearray, random: Random) -> Edits:
    at = min(_place(base, random), len(data) - 1)
    return _write(data, at, bytes([data[at] ^ 1 << random.randrange(8)]))


def set_byte(base: Base, data: bytearray, random: Random) -> Edits:
    at = min(_place(base, random), len(data) - 1)
    value = random.choice([0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, data[at] + 1, data[at] - 1, random.randrange(256)])
    return _write(data, at, bytes([value % 256]))


def set_number(base: Base, data: bytearray, random: Random) -> Edits:
    at, width = _place(base, random), random.choice([2, 4, 4, 8, 8])
    now = int.from_bytes(data[at : at + width], "little")
    value = random.choice([*NUMBERS, len(data), len(data) - at, now + 1, now - 1, now * 2, now // 2, now << 8, -now])
    value += random.choice([0, 0, 0, 1, -1])
    return _write(data, at, (value % (1 << 8 * width)).to_bytes(width, "big" if random.random() < 0.1 else "little"))


def set_address(base: Base, data: bytearray, random: Random) -> Edits:
    if not base.addresses:
        return set_number(base, data, random)
    at, other = random.choice(base.addresses), random.choice(base.addresses)
    value = struct.unpack_from("<Q", base.data, other)[0] + random.choice([0, 0, 0, 8, -8, 1])
    return _write(data, at, struct.pack("<Q", random.choice([value, value, value, at, (1 << 64) - 1, len(data)])))


def copy_bytes(base: Base, data: bytearray, random: Random) -> Edits:
    size = random.choice([2, 4, 8, 16, 24, 48, 100])
    start = _place(base, random)
    return _write(data, _place(base, random), bytes(data[start : start + size]))


def fill_bytes(base: Base, data: bytearray, random: Random) -> Edits:
    size = random.choice([4, 8, 16, 40])
    return _write(data, _place(base, random), bytes([random.choice([0, 0xFF, 0x20])]) * size)


def random_bytes(base: Base, data: bytearray, random: Random) -> Edits:
    return _write(data, _place(base, random), random.randbytes(random.choice([2, 4, 16])))


def cut(base: Base, data: bytearray, random: Random) -> Edits:
    size = random.choice([random.randrange(len(data)), len(data) - random.randrange(1, 65)])
    del data[max(size, 1) :]
    return []


def stretch(base: Base, data: bytearray, random: Random) -> Edits:
    """Put a few bytes in, or take some out: everything behind moves."""
    at = min(_place(base, random), len(data) - 1)
    if random.random() < 0.5:
        del data[at : at + random.choice([1, 2, 8])]
    else:
        data[at:at] = random.choice([random.randbytes(1), bytes(8), bytes(data[at : at + 4])])
    data.extend(b" " * (not data))
    return []


def change_stream(base: Base, data: bytearray, random: Random) -> Edits:
    """Put another stream of zlib where one is stored: too short, too long, far too long, or of random bytes."""
    streams = [entry for entry in base.sums if entry.kind == "adler"]
    if not streams:
        return set_number(base, data, random)
    place = random.choice(streams)
    start, room, body = place.start - 7, place.at + 4 - place.start + 7, bytes(data[place.start : place.end])
    inner = random.choice(
        [
            body[: random.randrange(len(body) + 1)],
            bytes(len(body)),
            random.randbytes(random.choice([1, 8, 40])),
            bytes(random.choice([len(body) + 1, 1 << 16, 1 << 20])),
            bytes(room * 1000),
            body[:20] + bytes(len(body)),
        ]
    )
    stream = zlib.compress(inner, 9)
    return _write(data, start, stream) if len(stream) <= room else set_byte(base, data, random)


Operation = Callable[[Base, bytearray, Random], Edits]
OPERATIONS: list[tuple[Operation, int]] = [
    *((flip_bit, 20), (set_byte, 20), (set_number, 25), (set_address, 8), (copy_bytes, 10)),
    *((fill_bytes, 3), (random_bytes, 4), (cut, 2), (stretch, 1), (change_stream, 4)),
]


IN_PLACE: list[Operation] = [flip_bit, set_byte, set_number, random_bytes]


@dataclass
class Mutant:
    """One mutated file."""

    data: bytes
    said: str  # what was done
    guarded: bool  # True if fields with checksums must still deliver their values, or an error


def _mutate_values(base: Base, random: Random) -> Mutant:
    """Change stored values alone, and no checksum."""
    data = bytearray(base.data)
    done = [operation(base, data, random) for operation in random.choices(IN_PLACE, k=random.choice([1, 1, 2, 5]))]
    edits = [edit for some in done for edit in some]
    inside = all(any(o <= at and at + size <= o + n for o, n in base.raw) for at, size in edits)
    sums = [entry for entry in base.sums if entry.kind == "fletcher32" and entry.meets(edits)]
    fits = [entry.fits(data) and data[entry.start : entry.end] != base.data[entry.start : entry.end] for entry in sums]
    return Mutant(bytes(data), f"values at {edits}", inside and not any(fits))


def mutate(base: Base, seed: str) -> Mutant:
    """Make the mutant of a seed."""
    random = Random(seed)
    if base.raw and random.random() < (0.3 if base.guarded else 0.03):
        return _mutate_values(replace(base, values_only=True), random)
    data, edits, words = bytearray(base.data), [], []
    for operation in random.choices(*zip(*OPERATIONS, strict=True), k=random.choice([1, 1, 1, 1, 2, 2, 3, 4, 8])):
        done = operation(base, data, random)
        edits += done
        words.append(f"{operation.__name__}{done[0] if done else ''}")
    if edits and random.random() < 0.85:
        for entry in base.sums:
            if entry.meets(edits):
                entry.mend(data)
                words.append(f"mended {entry.kind} of {entry.start}")
    return Mutant(bytes(data), ", ".join(words), False)
