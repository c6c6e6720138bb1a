"""The figures of events in Parquet files."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, over_best_of, over_best_rival, printed, ratio

SMALL = ("--set", "small")
READERS = ("polars", "pyarrow", "duckdb")
WORKERS = (0, 1, 2)
SLICES = [f"torch w{n}" for n in WORKERS]


def headrace(what: str, *options: str) -> Contestant:
    return Contestant("parquet_samples", "", (what, *options), trial=SMALL)


def shuffled(threads: int, *options: str) -> Contestant:
    return headrace("epochs", "--shuffle", "--threads", str(threads), *options)


def rival(program: str, *options: str) -> Contestant:
    return Contestant(program, "", options, trial=SMALL)


def told_by(name: str, key: str, runs: Runs) -> list[float]:
    return [float(run[key]) for run in runs[name]]


def in_order_over_best(runs: Runs) -> list[float]:
    """Events of the Loader, in order, over the best of the readers."""
    return over_best_of(list(READERS), {**runs, "headrace": runs["in order"]})


def one_thread_over_loop(runs: Runs) -> list[float]:
    return ratio("one thread", "loop, one thread", runs)


def over_parts(above: str, parts: tuple[str, ...], runs: Runs) -> list[float]:
    """A contestant over parts done one after the other, each of which printed its own rate."""
    values = []
    for i, run in enumerate(runs[above]):
        values.append(run["rows_per_s"] * sum(1 / runs[part][i]["rows_per_s"] for part in parts))
    return values


def stages(runs: Runs) -> str:
    """Say where the threads' time went in the last repetition."""
    report = runs["headrace"][-1]["report"]
    whole = report["threads"] * report["wall_seconds"]
    busy = {name: stage["seconds"] for name, stage in report["stages"].items() if stage["seconds"] > 0}
    return "time of the threads: " + ", ".join(f"{name} {100 * spent / whole:.0f} %" for name, spent in busy.items())


RATE = {"rate": (printed("rows_per_s", 1e-3), "kevents/s")}
SECOND = ("--epochs", "2")  # the rate is that of the second

DECODE = {
    "headrace": headrace("decode"),
    "in order": headrace("epochs", "--all"),
    **{reader: rival("parquet_decode", reader) for reader in READERS},
}
SHUFFLED = {
    "headrace": shuffled(1, *SECOND),
    "in order": headrace("epochs", *SECOND),
    "two threads": shuffled(2, *SECOND),
    "in order, two threads": headrace("epochs", "--threads", "2", *SECOND),
}
TORCH = {
    "headrace": shuffled(2, "--framework", "torch"),
    **{name: rival("torch_pandas", "--workers", str(n)) for name, n in zip(SLICES, WORKERS, strict=True)},
    **{f"torch arrays w{n}": rival("torch_pandas", "--slices", "arrays", "--workers", str(n)) for n in WORKERS},
}
LOOP = {
    "headrace": shuffled(2),
    "loop": rival("polars_gather", "--threads", "2"),
    "one thread": shuffled(1),
    "loop, one thread": rival("polars_gather", "--threads", "1"),
}
JOIN = ("--joined", *SECOND)
EVENT_BYTES = ",".join(str(151 * size) for size in (2, 8, 8, 1))  # of each column that is read, of an event on average


def gather(threads: int) -> Contestant:
    """Events of equal length, of the stored columns, copied in a random order in memory: no join, no arithmetic."""
    sizes = ("--rows", "400000", "--row-bytes", EVENT_BYTES, "--batch-size", "512")
    return Contestant("gather", "", (*sizes, "--threads", str(threads)))


JOINED = {
    "headrace": shuffled(1, *JOIN),
    "in order": headrace("epochs", *JOIN),
    "plain": shuffled(1, *SECOND),
    "decode": headrace("decode", "--joined"),
    "gather": gather(1),
    "features": headrace("features"),
    "two threads": shuffled(2, *JOIN),
    "decode, two threads": headrace("decode", "--joined", "--threads", "2"),
    "gather, two threads": gather(2),
}
PAD = ("--joined", "--padded", "512")
TORCH_PADDED = {
    "headrace": shuffled(2, "--framework", "torch", *PAD),
    **{name: rival("torch_pandas", "--workers", str(n), *PAD) for name, n in zip(SLICES, WORKERS, strict=True)},
    **{
        f"torch {what} w{n}": rival("torch_pandas", "--slices", what, "--workers", str(n), *PAD)
        for what in ("arrays", "features")
        for n in WORKERS
    },
}
LOOPS = {
    f"loop, features of a {what}, {name}": rival("polars_gather", "--threads", str(n), "--features", what, *PAD)
    for what in ("batch", "file")
    for n, name in ((2, "two threads"), (1, "one thread"))
}
LOOP_PADDED = {"headrace": shuffled(2, *PAD), **LOOPS, "one thread": shuffled(1, *PAD)}


def one_thread_over_loops(runs: Runs) -> list[float]:
    """Headrace's one thread over the best of the loops that have one."""
    return over_best_of([name for name in LOOPS if "one" in name], {**runs, "headrace": runs["one thread"]})


OPEN = {
    "headrace": headrace("open", "--set", "many", "--threads", "2"),
    "warm": headrace("open", "--set", "many", "--threads", "2", "--store", "warm"),
}

PARQUET_FIGURES = [
    Figure(
        "parquet_decode",
        "five columns decoded, one thread, against the best of polars, pyarrow and DuckDB",
        0.9,
        True,
        DECODE,
        partial(over_best_of, list(READERS)),
        "x",
        rows="events",
        beside={
            **{f"over {reader}": (partial(ratio, "headrace", reader), "x") for reader in READERS},
            "as events in order": (in_order_over_best, "x"),
            **RATE,
        },
    ),
    Figure(
        "parquet_shuffled",
        "events in ragged batches of 512, shuffled, one thread, second epoch, against the same in order",
        0.95,
        True,
        SHUFFLED,
        partial(ratio, "headrace", "in order"),
        "x",
        rows="events",
        detail=stages,
        beside={
            "first epoch": (partial(ratio, "headrace", "in order", key="cold_rows_per_s"), "x"),
            "two threads": (partial(ratio, "two threads", "in order, two threads"), "x"),
            "read amplification": (printed("read_amplification"), ""),
            **RATE,
        },
    ),
    Figure(
        "parquet_torch",
        "the same, two threads, against slices of a pandas frame in a torch DataLoader, best of 0 to 2 workers",
        8,
        True,
        TORCH,
        partial(over_best_of, SLICES),
        "x",
        rows="events",
        repetitions=3,
        detail=stages,
        beside={"frames made NumPy arrays": (over_best_rival, "x"), **RATE},
    ),
    Figure(
        "parquet_loop",
        "the same, two threads, against a loop of polars reads and NumPy gathers, shuffled inside each file",
        4,
        True,
        LOOP,
        partial(over_best_of, ["loop", "loop, one thread"]),
        "x",
        rows="events",
        detail=stages,
        beside={"one thread each": (one_thread_over_loop, "x"), **RATE},
    ),
    Figure(
        "parquet_joined",
        "ragged, shuffled, x, y, z joined, six features, one thread, against decoding and then gathering alone",
        0.8,
        True,
        JOINED,
        partial(over_parts, "headrace", ("decode", "gather")),
        "x",
        rows="events",
        detail=stages,
        beside={
            "two threads each": (
                partial(over_parts, "two threads", ("decode, two threads", "gather, two threads")),
                "x",
            ),
            "against both and NumPy's join and features": (
                partial(over_parts, "headrace", ("decode", "gather", "features")),
                "x",
            ),
            "against the same in order": (partial(ratio, "headrace", "in order"), "x"),
            "against three columns as stored, shuffled": (partial(ratio, "headrace", "plain"), "x"),
            **RATE,
        },
    ),
    Figure(
        "parquet_torch_padded",
        "the same padded, 512 pulses at most, two threads, against slices of a pandas frame in a torch DataLoader",
        8,
        True,
        TORCH_PADDED,
        partial(over_best_of, SLICES),
        "x",
        rows="events",
        repetitions=3,
        detail=stages,
        beside={"frames made NumPy arrays, or features, when read": (over_best_rival, "x"), **RATE},
    ),
    Figure(
        "parquet_loop_padded",
        "the same, two threads, against the best loop of polars reads and NumPy gathers, features and filling",
        4,
        True,
        LOOP_PADDED,
        partial(over_best_of, list(LOOPS)),
        "x",
        rows="events",
        detail=stages,
        beside={"one thread each": (one_thread_over_loops, "x"), **RATE},
    ),
    Figure(
        "parquet_open",
        "660 files of 2,000 events and their table, first opened: from `hr.open()` to the first shuffled batch",
        2,
        False,
        OPEN,
        printed("seconds"),
        "s",
        rows="events",
        beside={"`hr.open()`": (printed("open_s"), "s")},
    ),
    Figure(
        "parquet_open_again",
        "the same files opened by another process before: from `hr.open()` to the first shuffled batch",
        0.15,
        False,
        OPEN,
        partial(told_by, "warm", "seconds"),
        "s",
        rows="events",
        beside={"`hr.open()`": (partial(told_by, "warm", "open_s"), "s")},
    ),
]
