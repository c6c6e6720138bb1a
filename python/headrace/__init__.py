"""Headrace: training data as shuffled batches, from HDF5, Parquet, Zarr, NumPy and token files as they are.

    import headrace as hr

    jets = hr.open("train_*.h5", fields={"x": "feature_matrix", "y": "labels"})
    loader = hr.Loader(jets, batch_size=512, shuffle=True, seed=7, memory="2GiB")
    for batch in loader:  # a plain dict of NumPy arrays (torch tensors with framework="torch"), one epoch per loop
        ...
    print(loader.report())

``Dataset`` says what a sample is, ``Loader`` how samples are delivered. Opening reads metadata only. The library writes
nothing to stdout unless asked to; it logs to the logger ``"headrace"`` (``HEADRACE_LOG=info`` shows it on stderr).
"""

from importlib import import_module
from types import ModuleType

try:
    from headrace import _headrace
except ImportError as error:
    from headrace._support.compiled import without_module

    raise without_module(error) from None
from headrace._dataset.attributes import Attributes
from headrace._dataset.spans import Spans
from headrace._headrace import Report, ToolResult
from headrace._loader.by_tokens import ByTokens
from headrace._loader.options import ShuffleShape
from headrace._support.logging import configure as _configure_log
from headrace._support.memory import set_memory
from headrace.column import Column
from headrace.dataset import Dataset
from headrace.errors import (
    ClosedError,
    CorruptDataError,
    Error,
    FieldMissingError,
    FileChangedError,
    FileMissingError,
    ForkedError,
    HeadraceWarning,
    IndexOutOfRangeError,
    InternalError,
    InvalidArgumentError,
    LoaderTimeoutError,
    OutOfBudgetError,
    PermissionDeniedError,
    ReadFailedError,
    UnknownArgumentError,
    UnsupportedError,
    WriteFailedError,
)
from headrace.fields import FieldInfo, FileInfo
from headrace.fitting import FittedBatchSize, TriedBatchSize, fit_batch_size
from headrace.groups import GroupReducer
from headrace.loader import Loader
from headrace.mixture import mix
from headrace.opening import open
from headrace.runs import load_run, save_run
from headrace.samplers import Balanced, Weighted
from headrace.stats import Stats
from headrace.text import TokenizedText, open_text, tokenize
from headrace.tokenizer import Tokenizer
from headrace.tokens import Tokens, open_tokens
from headrace.tools import (
    advise,
    bench,
    cache_build,
    cache_list,
    cache_remove,
    cache_verify,
    check_memory,
    demo,
    inspect,
    order,
    replay,
    rewrite,
    show_versions,
    verify,
)
from headrace.volumes import Volumes, open_volume

__all__ = [
    "Attributes",
    "Balanced",
    "ByTokens",
    "ClosedError",
    "Column",
    "CorruptDataError",
    "Dataset",
    "Error",
    "FieldInfo",
    "FieldMissingError",
    "FileChangedError",
    "FileInfo",
    "FileMissingError",
    "FittedBatchSize",
    "ForkedError",
    "GroupReducer",
    "HeadraceWarning",
    "IndexOutOfRangeError",
    "InternalError",
    "InvalidArgumentError",
    "Loader",
    "LoaderTimeoutError",
    "OutOfBudgetError",
    "PermissionDeniedError",
    "ReadFailedError",
    "Report",
    "ShuffleShape",
    "Spans",
    "Stats",
    "TokenizedText",
    "Tokenizer",
    "Tokens",
    "ToolResult",
    "TriedBatchSize",
    "UnknownArgumentError",
    "UnsupportedError",
    "Volumes",
    "Weighted",
    "WriteFailedError",
    "__version__",
    "advise",
    "bench",
    "cache_build",
    "cache_list",
    "cache_remove",
    "cache_verify",
    "check_memory",
    "demo",
    "fit_batch_size",
    "inspect",
    "load_run",
    "mix",
    "open",
    "open_text",
    "open_tokens",
    "open_volume",
    "order",
    "replay",
    "rewrite",
    "save_run",
    "set_memory",
    "show_versions",
    "tokenize",
    "verify",
]

__version__ = _headrace.VERSION

_configure_log()


def __getattr__(name: str) -> ModuleType:
    """Import the faces of other libraries when they are asked for, since not everybody has those."""
    if name in {"accelerate", "cellmap", "jax", "lightning", "torch", "transforms"}:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
