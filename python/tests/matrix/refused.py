"""Which kinds of sample cannot do what, and why. docs/kinds.md is made of these tables by scripts/write_kinds.py.

A cell is a kind and a feature. One that is in no table works; test_matrix.py tries all of them.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """Cells that are refused for one reason."""

    kinds: tuple[str, ...]
    features: tuple[str, ...]
    message: str  # a regular expression of what the program says
    reason: str  # a property of the kind, in plain words


#: Kinds by name, each with its words in the page.
KINDS = {
    "rows": "rows of HDF5",
    "parquet": "rows of Parquet",
    "axes": "places along `sample_axes=`",
    "windows": "windows of rows",
    "token-windows": "windows of tokens, which share one",
    "documents": "documents",
    "events-arrays": "events that are an array each",
    "events-key": "events by a key in each row",
    "events-offsets": "events by offsets in the files",
    "events-array": "events by offsets of the program",
    "events-table": "events by a table",
    "events-lists": "events in lists of Parquet",
    "grid": "patches on a grid",
    "drawn": "drawn patches",
    "mixed-rows": "mixtures of rows",
    "mixed-windows": "mixtures of windows",
    "mixed-grids": "mixtures of patches on a grid",
    "mixed-documents": "mixtures of documents",
    "mixed-events": "mixtures of events",
}

#: Columns of the page: kinds that can do the same.
COLUMNS = {
    "rows": ("rows", "parquet", "axes"),
    "windows": ("windows", "token-windows"),
    "documents": ("documents", "events-arrays"),
    "events": ("events-key", "events-offsets", "events-array", "events-table", "events-lists"),
    "grid": ("grid",),
    "drawn": ("drawn",),
    "mixtures": ("mixed-rows", "mixed-windows", "mixed-grids"),
    "ragged mixtures": ("mixed-documents", "mixed-events"),
}

#: Features by name, each with its words in the page.
FEATURES = {
    "select": "`select`",
    "split": "`split`",
    "split-by": "`split(by=)` a file, a field or an axis",
    "stratify": "`split(stratify=)`",
    "mix": "`hr.mix`",
    "map-function": "`map` with a Python function",
    "transform": "`map` with a transform",
    "join": "`join`",
    "stats": "`stats`",
    "index": "`data[5]`, `data[2:9]`",
    "pickled": "pickling",
    "balanced": "`sampler=hr.Balanced`",
    "weighted": "`sampler=hr.Weighted`",
    "sampler": "`sampler=` of numbers",
    "batch-sampler": "`batch_sampler=`",
    "group-by": "`group_by=`",
    "by-tokens": "`batch=hr.ByTokens`",
    "padded": '`layout="padded"`',
    "provenance": "`provenance=True`",
    "exactly-once": "`report().exactly_once`",
    "resume": "going on in the middle of an epoch",
    "other-ranks": "going on with another number of ranks",
    "random-access": "`loader.batch(epoch, step)`",
    "cache-none": '`cache="none"`',
    "cache-auto": '`cache="auto"`',
    "cache-ram": '`cache="ram"`',
    "cache-directory": "a cache directory",
    "share-host": '`share="host"`',
    "preload": "`preload`",
    "run-file": "run files",
    "replay": "`headrace replay`",
    "bench": "`headrace bench`",
    "advise": "`headrace advise`",
    "check-memory": "`headrace check-memory`",
    "order": "`headrace order`",
    "torch-loader": "`headrace.torch.DataLoader`",
    "lightning": "`headrace.lightning.DataModule`",
    "jax-loader": "`headrace.jax.Loader`",
    "accelerate": "`headrace.accelerate.prepare`",
    "fake-device": "`device=`, tried with a simulated one",
}

_DRAWN, _MIXTURES = COLUMNS["drawn"], (*COLUMNS["mixtures"], *COLUMNS["ragged mixtures"])
_OF_ONE_LENGTH = (*COLUMNS["rows"], *COLUMNS["windows"], *COLUMNS["grid"], *_DRAWN, *COLUMNS["mixtures"])
_BY_NUMBER = ("select", "split", "split-by", "stratify", "index", "balanced", "weighted", "sampler", "batch-sampler")

RULES = (
    Rule(
        _DRAWN,
        (*_BY_NUMBER, "mix", "group-by"),
        "drawn anew in each epoch",
        "Drawn patches have no numbers: each epoch draws others. Patches on a grid have numbers; "
        "`patches(balance=)` draws as many patches for each class; whole volumes are held out by opening them apart.",
    ),
    Rule(
        _DRAWN,
        ("order",),
        "their order is that of independent draws",
        "Drawn patches come in the order of independent draws, which need not be measured.",
    ),
    Rule(
        (*_DRAWN, *_MIXTURES),
        ("exactly-once",),
        r"report\(\) does not say",
        "What is drawn, by chance or by weight, does not come once an epoch: `report().exactly_once` stays False.",
    ),
    Rule(
        _MIXTURES,
        ("select", "split", "split-by", "stratify"),
        "drawn by weight",
        "A mixture draws its samples by weight, and an epoch need not have all of them. Select from its parts, or "
        "split them, and mix then.",
    ),
    Rule(
        _MIXTURES,
        ("weighted", "sampler", "batch-sampler", "group-by", "balanced"),
        "is a mixture, which decides what is drawn",
        "The weights of a mixture say what is drawn, and so would a sampler or groups.",
    ),
    Rule(
        _MIXTURES,
        ("mix",),
        "is a mixture itself",
        "A mixture of mixtures is a mixture of all of their parts: give these to one `hr.mix`.",
    ),
    Rule(
        _MIXTURES,
        ("stats",),
        "stats of a mixture, whose rows are drawn by weight",
        "How often a value of a mixture comes depends on the weights. Ask the parts.",
    ),
    Rule(
        COLUMNS["windows"],
        ("stratify", "balanced"),
        "a label is one number for each sample|runs of samples are kept whole",
        "A window has several rows, and no label of its own.",
    ),
    Rule(
        COLUMNS["documents"],
        ("stratify", "balanced"),
        "a label is one number for each sample",
        "These samples have only fields with several rows, and none with one value for each sample. Events that are "
        "opened with `targets=` have labels.",
    ),
    Rule(
        COLUMNS["grid"],
        ("stratify", "balanced"),
        "a label is a number a sample, or one-hot",
        "A patch has a value for each voxel, and no label of its own.",
    ),
    Rule(
        _OF_ONE_LENGTH,
        ("by-tokens", "padded"),
        "no field is ragged",
        "All samples have one length: there is nothing to fill up, and `batch_size=` is a budget already.",
    ),
)

#: Cell → what the program says, and why.
REFUSED = {
    (kind, feature): (rule.message, rule.reason) for rule in RULES for kind in rule.kinds for feature in rule.features
}
