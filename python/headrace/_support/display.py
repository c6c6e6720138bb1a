"""HTML for notebooks: the same facts as the text, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Protocol

from headrace.fields import FieldInfo, FileInfo


class Described(Protocol):
    """What is shown of a :class:`Dataset`."""

    def __len__(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    @property
    def fields(self) -> Mapping[str, FieldInfo]: ...
    @property
    def files(self) -> tuple[FileInfo, ...]: ...
    @property
    def left_out(self) -> Mapping[str, str]: ...
    @property
    def sample_bytes(self) -> int: ...


def preformatted(text: str) -> str:
    """Text as it is."""
    return f"<pre>{escape(text)}</pre>"


def dataset_html(dataset: Described) -> str:
    """A table with one line a field."""
    if dataset.closed:
        return preformatted(repr(dataset))
    head = ("field", "path", "dtype", "shape", "chunks", "codec", "read by")
    rows = [
        (
            info.name,
            info.path,
            str(info.dtype),
            str(info.shape),
            str(info.chunks or "contiguous"),
            info.codec,
            f"{info.read_path}: {info.reason}" if info.reason else info.read_path,
        )
        for info in dataset.fields.values()
    ]
    files = dataset.files
    caption = f"{len(dataset):,} samples of {dataset.sample_bytes:,} bytes in {len(files)} file{'s'[: len(files) != 1]}"
    lines = ["".join(f"<th>{cell}</th>" for cell in head)]
    lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    left_out = "".join(f"<li>{escape(path)}: {escape(reason)}</li>" for path, reason in dataset.left_out.items())
    below = f"<p>left out:</p><ul>{left_out}</ul>" if left_out else ""
    return f"<table><caption>{escape(caption)}</caption>{body}</table>{below}"
