"""Files of tokens as other programs write them, byte by byte after their sources."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.integer]
LENGTHS = (700, 0, 1, 333, 2048, 17, 901)
VOCAB = 50_257
#: Codes of types in an .idx file: megatron/core/datasets/indexed_dataset.py, class DType.
CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float64": 6, "float32": 7, "uint16": 8}


def documents_of(dtype: str = "u2", seed: int = 0, vocab: int = VOCAB) -> list[Ids]:
    """Documents of several lengths, one of them empty."""
    random = np.random.default_rng(seed)
    return [random.integers(0, vocab, n).astype(dtype) for n in LENGTHS]


def write_raw(path: Path, documents: Sequence[Ids]) -> Path:
    """The numbers and nothing else, as nanoGPT's prepare.py."""
    np.concatenate(documents).tofile(path)
    return path


def write_megatron(
    stem: Path, documents: Sequence[Sequence[Ids]], *, modes: bool = False, code: int | None = None
) -> Path:
    """Documents of sequences, as IndexedDatasetBuilder and _IndexWriter write them."""
    sequences = [sequence for document in documents for sequence in document]
    numbers = np.concatenate(sequences)
    stem.with_suffix(".bin").write_bytes(numbers.tobytes())
    lengths = np.array([len(sequence) for sequence in sequences], "<i4")
    pointers = (np.cumsum(lengths, dtype="<i8") - lengths) * numbers.itemsize
    marks = np.cumsum([0] + [len(document) for document in documents], dtype="<i8")
    header = b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, CODES[numbers.dtype.name] if code is None else code)
    header += struct.pack("<QQ", len(lengths), len(marks))
    text = header + lengths.tobytes() + pointers.astype("<i8").tobytes() + marks.tobytes()
    stem.with_suffix(".idx").write_bytes(text + (np.zeros(len(lengths), "i1").tobytes() if modes else b""))
    return stem


def write_datatrove(
    path: Path, documents: Sequence[Ids], *, index: bool = True, metadata: str | None = "gpt2|2\n4000\n4.00 kT"
) -> Path:
    """Numbers, ends of documents as u64, and three lines of text, as TokenizedFile writes them."""
    np.concatenate(documents).tofile(path)
    if index:
        ends = np.cumsum([len(document) for document in documents]).tolist()
        Path(f"{path}.index").write_bytes(struct.pack(f"<{len(ends)}Q", *ends))
    if metadata is not None:
        Path(f"{path}.metadata").write_text(metadata)
    return path


def windows_of(numbers: Ids, length: int, stride: int, lookahead: int) -> Ids:
    """The windows of one file, cut by NumPy."""
    whole = length + lookahead
    starts = range(0, len(numbers) - whole + 1, stride)
    return np.stack([numbers[start : start + whole] for start in starts])
