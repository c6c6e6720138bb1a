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
