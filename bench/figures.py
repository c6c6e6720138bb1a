"""The figures of the benchmark: what is compared with what, and what each should reach."""

from __future__ import annotations

from functools import partial

from figure import (
    Contestant,
    Figure,
    Runs,
    first_epoch_over,
    first_epoch_over_best_rival,
    only,
    over_best_rival,
    ratio,
)


def amplification(runs: Runs) -> list[float]:
    return [round(float(run["report"]["read_amplification"]), 3) for run in runs["headrace"]]


def above_budget_mib(budget_mib: int, runs: Runs) -> list[float]:
    return [run["above_bytes"] / 2**20 - budget_mib for run in runs["headrace"]]


def against_limit(variant: str) -> dict[str, Contestant]:
    return {"headrace": Contestant("headrace epochs", variant), "limit": Contestant("limit", variant)}


def workers(read: str) -> dict[str, Contestant]:
    rivals = {f"torch w{n}": Contestant("torch_h5py", options=("--read", read, "--workers", str(n))) for n in (0, 1, 2)}
    return {"headrace": Contestant("headrace epochs", options=("--framework", "torch")), **rivals}


def against_limit_figure(
    key: str, what: str, variant: str, reach: float, headline: bool = False, never_below: float | None = None
) -> Figure:
    return Figure(
        key,
        what,
        reach,
        True,
        against_limit(variant),
        partial(ratio, "headrace", "limit"),
        "x",
        headline=headline,
        never_below=never_below,
        beside={"first epoch": (partial(first_epoch_over, "limit"), "x")},
    )


def headrace(measure: str, *options: str, variant: str = "gzip") -> dict[str, Contestant]:
    return {"headrace": Contestant(f"headrace {measure}", variant, options)}


def order(name: str, key: str, scale: float, runs: Runs) -> list[float]:
    """A figure of one order that bench_order measured."""
    return [next(o[key] for o in run["orders"] if o["order"] == name) * scale for run in runs["headrace"]]


def worst_deviation(runs: Runs) -> list[float]:
    """Largest difference of Deff by the plan and from the rows that were delivered, relative."""
    return [
        max(abs(run[f"delivered_{key}"] - run[key]) / run[key] for key in ("file_effect", "block_effect"))
        for run in runs["headrace"]
    ]


EQUAL_BLOCKS = {"headrace": Contestant("order", "")}
UNEQUAL_BLOCKS = {"headrace": Contestant("order", "", ("--unequal",))}
MAPS = {"headrace": Contestant("maps", "")}
MAP_FIGURES = [
    Figure(
        "ragged_rows",
        "ragged rows (heavy-tailed, mean 150 x 12 bytes) from memory, against one thread's memcpy",
        0.6,
        True,
        MAPS,
        partial(only, "ragged_share"),
        "x",
    ),
    Figure(
        "boxes",
        "boxes of 64^3 bytes from resident cells of 64^3, against copying the same boxes in plain C++",
        0.8,
        True,
        MAPS,
        partial(only, "box_share"),
        "x",
    ),
    Figure("span_map", "parts of a sample that is a run of rows", 15, False, MAPS, partial(only, "span_map_ns"), "ns"),
    Figure("box_map", "a part of a sample that is a box", 30, False, MAPS, partial(only, "box_map_ns"), "ns"),
]

ORDER_FIGURES = (
    [
        Figure(
            f"order_{what}{'' if equal else '_unequal'}",
            f"{text}, 10^9 rows in 10^6 {'equal blocks' if equal else 'blocks of unequal size'}",
            50 if equal else 150,
            False,
            EQUAL_BLOCKS if equal else UNEQUAL_BLOCKS,
            partial(order, "block", f"{what}_seconds", 1e3),
            "ms",
        )
        for equal in (True, False)
        for what, text in (("ready", "plan ready and its first step made"), ("resume", "state restored at the middle"))
    ]
    + [
        Figure(
            f"order_{name}_ns",
            f"cost of the order a sample, one core, 10^9 rows: {text}",
            None,  # a jet takes 15,000 to decode, a token 0.4 to copy: neither bound would say something to a user
            False,
            EQUAL_BLOCKS,
            partial(order, name, "ns_a_sample", 1.0),
            "ns",
        )
        for name, text in (("block", "block shuffle"), ("exact", "exact"))
    ]
    + [
        Figure(
            f"order_{name}_memory",
            f"peak memory of the order, 10^9 rows: {text}",
            16,
            False,
            EQUAL_BLOCKS,
            partial(order, name, "above_kib", 1 / 1024),
            "MiB",
        )
        for name, text in (("block", "block shuffle"), ("exact", "exact"))
    ]
)
QUALITY_FIGURES = [
    Figure(
        "deff_file",
        "Deff at 512 of a label that is tied to its file, by the plan",
        1.1,
        False,
        headrace("quality"),
        partial(only, "file_effect"),
    ),
    Figure(
        "deff_block",
        "Deff at 512 of a label that is constant in a block of 128 rows, by the plan",
        None,  # no file of jets has such a label; `headrace order --by` tells that of the user's own
        False,
        headrace("quality"),
        partial(only, "block_effect"),
    ),
    Figure(
        "deff_delivered",
        "Deff by the plan against that of the delivered rows: largest relative difference",
        1e-9,
        False,
        headrace("quality"),
        worst_deviation,
    ),
]

SMALL_CHUNKS_FIGURES = [
    Figure(
        f"one_row_chunks_{dtype}_{key}",
        f"{rows:,} rows of {text} in chunks of one row: {what}",
        reach,
        False,
        {
            "headrace": Contestant(
                "small_chunks", "", ("--rows", str(rows), "--dtype", dtype), trial=("--rows", str(rows // 100))
            )
        },
        partial(only, f"{key}_seconds"),
        "s",
        rows="rows",
    )
    for rows, dtype, text, reach in ((100_000, "f4", "4 bytes", 0.5), (1_000_000, "u1", "1 byte", 5))
    for key, what in (("read", "`dataset[:]`"), ("epoch", "a shuffled epoch from the files"))
]

SHUFFLED_AND_IN_ORDER = {
    "headrace": Contestant("headrace epochs"),
    "in order": Contestant("headrace epochs", options=("--sequential",)),
}

FIGURES: list[Figure] = [
    against_limit_figure(
        "shuffled_vs_limit",
        'shuffled, later epochs, `cache="none"`, 1 GiB, against decode threads alone',
        "gzip",
        0.90,
        headline=True,
        never_below=0.75,
    ),
    Figure(
        "vs_torch_slices",
        'later epochs, `cache="none"`, against torch DataLoader + h5py, slices of 512, best of 0-2 workers',
        4.5,
        True,
        workers("slices"),
        over_best_rival,
        "x",
        headline=True,
        never_below=3.5,
        beside={"first epoch": (first_epoch_over_best_rival, "x")},
    ),
    Figure(
        "vs_torch_rows",
        'later epochs, `cache="none"`, against torch DataLoader + h5py, a row at a time, best of 0-2 workers',
        300,
        True,
        workers("rows"),
        over_best_rival,
        "x",
        headline=True,
        never_below=200,
        beside={"first epoch": (first_epoch_over_best_rival, "x")},
    ),
    Figure(
        "shuffled_vs_in_order",
        "shuffled against the same path in file order",
        0.97,
        True,
        SHUFFLED_AND_IN_ORDER,
        partial(ratio, "headrace", "in order"),
        "x",
    ),
    Figure("amplification", "read amplification, shuffled", 1.00, False, headrace("epochs"), amplification),
    against_limit_figure("gzip_shuffle", "gzip-4 + shuffle, against its decode threads alone", "gzip_shuffle", 0.85),
    against_limit_figure("lzf", "LZF, against its decode threads alone", "lzf", 0.85),
    against_limit_figure("blosc_zstd", "Blosc-zstd, against its decode threads alone", "blosc_zstd", 0.85),
    against_limit_figure(
        "gzip_1024_rows", "one file of 1024-row chunks, against its decode threads alone", "gzip_1024_rows", 0.78
    ),
    against_limit_figure(
        "uncompressed", "uncompressed chunks, against parallel pread + memcpy of the same bytes", "uncompressed", 0.80
    ),
    against_limit_figure(
        "contiguous", "contiguous, against parallel pread + memcpy of the same bytes", "contiguous", 0.80
    ),
    Figure(
        "consumer_cpu",
        "consumer's thread, CPU for a batch of three fields that is ready",
        20,
        False,
        {**headrace("consumer"), "torch w0": Contestant("torch_ready")},
        partial(only, "median_us"),
        "us",
        beside={"after 0.1 s of other work": (partial(only, "cold_median_us"), "us")},
    ),
    Figure(
        "index_million",
        "index of 10^6 chunks: open, and read the last row",
        1.0,
        False,
        headrace("index", variant="million_chunks"),
        partial(only, "seconds"),
        "s",
    ),
    *(
        Figure(
            f"first_batch_{gib}gib",
            f"first batch of the workload, `open` included, budget {gib} GiB",
            0.3,
            False,
            headrace("first", "--memory", f"{gib}GiB"),
            partial(only, "seconds"),
            "s",
        )
        for gib in (1, 8)
    ),
    *(
        Figure(
            f"memory_{mib}mib",
            f"peak RSS above the interpreter's own, less the budget of {mib} MiB",
            64,
            False,
            headrace("memory", "--memory", f"{mib}MiB", "--epochs", "2"),
            partial(above_budget_mib, mib),
            "MiB",
        )
        for mib in (256, 512, 1024, 2048)
    ),
    *SMALL_CHUNKS_FIGURES,
    *ORDER_FIGURES,
    *MAP_FIGURES,
    *QUALITY_FIGURES,
]
