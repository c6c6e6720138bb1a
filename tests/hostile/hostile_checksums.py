"""Checksums inside small files: where they lie, and how to make them right again after their bytes were changed.

A reader that compares checksums refuses a changed header before it looks at it, so that a fuzzer which leaves checksums
alone tests nothing but that comparison.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass

import numpy as np

WORD = 0xFFFFFFFF
# Signatures of HDF5 structures that end in a lookup3 checksum of all their bytes.
SIGNED = [b"OHDR", b"OCHK", b"FRHP", b"FHIB", b"BTHD", b"BTIN", b"BTLF", b"FAHD", b"FADB", b"EAHD", b"EAIB"]
SIGNED += [b"EASB", b"EADB", b"FSHD", b"FSSE", b"SMTB", b"SMLI", b"\x89HDF\r\n\x1a\n"]


@dataclass(frozen=True)
class Checked:
    """Bytes [start, end) of a file, and the place of their checksum."""

    kind: str  # "lookup3", "lookup3 inside", "adler" or "fletcher32"
    start: int
    end: int
    at: int

    def meets(self, changed: list[tuple[int, int]]) -> bool:
        return any(offset < max(self.end, self.at + 4) and offset + size > self.start for offset, size in changed)

    def _sum(self, data: bytes | bytearray) -> bytes:
        body = bytes(data[self.start : self.end])
        if self.kind == "lookup3 inside":  # counted with zeros in its own place
            at = self.at - self.start
            body = body[:at] + bytes(4) + body[at + 4 :]
        return struct.pack(">I" if self.kind == "adler" else "<I", CHECKSUMS[self.kind](body))

    def fits(self, data: bytes | bytearray) -> bool:
        return bytes(data[self.at : self.at + 4]) == self._sum(data)

    def mend(self, data: bytearray) -> None:
        """Write the checksum that fits the bytes, if the file still reaches that far."""
        if max(self.end, self.at + 4) <= len(data):
            data[self.at : self.at + 4] = self._sum(data)


def _rotate(x: int, k: int) -> int:
    return (x << k | x >> 32 - k) & WORD


def lookup3(data: bytes) -> int:
    """Bob Jenkins's hashlittle with a seed of 0, which HDF5 uses for metadata."""
    a = b = c = (0xDEADBEEF + len(data)) & WORD
    if not data:
        return c
    words = struct.unpack(f"<{-(-len(data) // 12) * 3}I", data + bytes(-len(data) % 12))
    for i in range(0, len(words) - 3, 3):
        a, b, c = (a + words[i]) & WORD, (b + words[i + 1]) & WORD, (c + words[i + 2]) & WORD
        a = (a - c) & WORD ^ _rotate(c, 4)
        c = (c + b) & WORD
        b = (b - a) & WORD ^ _rotate(a, 6)
        a = (a + c) & WORD
        c = (c - b) & WORD ^ _rotate(b, 8)
        b = (b + a) & WORD
        a = (a - c) & WORD ^ _rotate(c, 16)
        c = (c + b) & WORD
        b = (b - a) & WORD ^ _rotate(a, 19)
        a = (a + c) & WORD
        c = (c - b) & WORD ^ _rotate(b, 4)
        b = (b + a) & WORD
    a, b, c = (a + words[-3]) & WORD, (b + words[-2]) & WORD, (c + words[-1]) & WORD
    c = ((c ^ b) - _rotate(b, 14)) & WORD
    a = ((a ^ c) - _rotate(c, 11)) & WORD
    b = ((b ^ a) - _rotate(a, 25)) & WORD
    c = ((c ^ b) - _rotate(b, 16)) & WORD
    a = ((a ^ c) - _rotate(c, 4)) & WORD
    b = ((b ^ a) - _rotate(a, 14)) & WORD
    return ((c ^ b) - _rotate(b, 24)) & WORD


def fletcher32(data: bytes) -> int:
    """Fletcher's checksum of 16-bit big-endian words, as libhdf5 computes it."""
    words = np.frombuffer(data + bytes(len(data) % 2), ">u2").astype(np.int64)
    first = int(words.sum())
    second = int((words * np.arange(len(words), 0, -1)).sum())
    low, high = ((total - 1) % 65535 + 1 if total else 0 for total in (first, second))
    return high << 16 | low


CHECKSUMS = {
    "lookup3": lookup3,
    "lookup3 inside": lookup3,
    "adler": zlib.adler32,
    "fletcher32": fletcher32,
}


def prefix_sums(data: bytes) -> np.ndarray:
    """lookup3 of data[:n] for every n from 1, all at once."""
    n = np.arange(1, len(data) + 1, dtype=np.int64)
    state = [(n + 0xDEADBEEF).astype(np.uint32) for _ in range(3)]
    padded = np.frombuffer(data + bytes(12 - len(data) % 12), "<u4")
    last = (n - 1) // 12  # number of the last, perhaps partial, block

    def turn(x: np.ndarray, k: int) -> np.ndarray:
        return x << np.uint32(k) | x >> np.uint32(32 - k)

    for block in range(int(last[-1]) + 1):
        words = padded[3 * block : 3 * block + 3]
        ends = np.flatnonzero(last == block)
        inside = np.flatnonzero(last > block)
        for i in range(3):  # a last block counts its missing bytes as zeros
            there = np.clip(n[ends] - 12 * block - 4 * i, 0, 4)
            mask = (np.uint64(1) << (8 * there).astype(np.uint64)) - np.uint64(1)
            state[i][ends] += (np.uint64(words[i]) & mask).astype(np.uint32)
            state[i][inside] += words[i]
        if not len(inside):
            break
        a, b, c = (part[inside] for part in state)
        for k1, k2, k3 in ((4, 6, 8), (16, 19, 4)):
            a = (a - c) ^ turn(c, k1)
            c = c + b
            b = (b - a) ^ turn(a, k2)
            a = a + c
            c = (c - b) ^ turn(b, k3)
            b = b + a
        for part, value in zip(state, (a, b, c), strict=True):
            part[inside] = value
    a, b, c = state
    c = (c ^ b) - turn(b, 14)
    a = (a ^ c) - turn(c, 11)
    b = (b ^ a) - turn(a, 25)
    c = (c ^ b) - turn(b, 16)
    a = (a ^ c) - turn(c, 4)
    b = (b ^ a) - turn(a, 14)
    return (c ^ b) - turn(b, 24)


def _starts(data: bytes, signature: bytes) -> list[int]:
    found, at = [], data.find(signature)
    while at >= 0:
        found.append(at)
        at = data.find(signature, at + 1)
    return found


def _structure(data: bytes, start: int) -> Checked | None:
    """Bytes from ``start`` up to the first four that are the checksum of those before."""
    for most in (300, 1200, 6000):
        body = data[start : start + most]
        if len(body) > 8:
            stored = np.lib.stride_tricks.sliding_window_view(np.frombuffer(body, "u1"), 4)[1:]
            fits = np.flatnonzero(np.ascontiguousarray(stored).view("<u4").ravel() == prefix_sums(body[:-4]))
            if len(fits):
                end = start + int(fits[0]) + 1
                return Checked("lookup3", start, end, end)
    return None


def _heap_block(data: bytes, start: int) -> Checked | None:
    """A direct block of a fractal heap: its checksum follows an offset of unknown width, in a block of unknown size."""
    for width in range(1, 9):
        at = start + 13 + width
        for log2 in range(6, 17):
            end = start + (1 << log2)
            if end > len(data):
                break
            body = data[start:at] + bytes(4) + data[at + 4 : end]
            if struct.unpack_from("<I", data, at)[0] == lookup3(body):
                return Checked("lookup3 inside", start, end, at)
    return None


def find_metadata_sums(data: bytes) -> list[Checked]:
    """Structures of an HDF5 file with a checksum of lookup3 that fits. Longer ones than 6 KB are not found."""
    found = [_structure(data, start) for signature in SIGNED for start in _starts(data, signature)]
    blocks = [_heap_block(data, start) for start in _starts(data, b"FHDB")]
    return [entry for entry in found + blocks if entry]
