"""The figures about memory: budgets, windows, and the tiers that a cache has."""

from __future__ import annotations

import math
from functools import partial

from figure import Contestant, Figure, Runs, Value, only, over_best_of, ratio

JETS, ROW_BYTES = 65_536, 40_712
DATA_BYTES = JETS * ROW_BYTES
TEN_CHUNKS = 10 * 1024 * ROW_BYTES  # of the 64 of gzip_1024_rows
THIRD = DATA_BYTES // 3
ALL_IN_RAM = "3584MiB"


def epochs(variant: str = "gzip", *options: str, files: int | None = None) -> Contestant:
    return Contestant("headrace epochs", variant, options, files)


def later_over_first(runs: Runs) -> list[float]:
    return [run["rows_per_s"] / run["cold_rows_per_s"] for run in runs["headrace"]]


def sweep_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    return (
        f"{run['ran']} ran, {run['refused']} refused, {len(run['over_reach'])} above the reach (seed {run['seed']}); "
        f"worst: {run['worst_overshoot_of']}"
    )


def large_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    return f"of {run['large_budgets']}; worst: {run['worst_large_of']}"


def predicted_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    return (
        f"median {run['predicted_median_percent']:.1f} %, "
        f"{run['predicted_within_15']} of {run['settled']} within 15 %; "
        f"worst {run['predicted_worst_sign']} the prediction: {run['predicted_worst_of']}"
    )


def decodes_over_rule(runs: Runs) -> list[float]:
    """Decodes a block over ceil(data / window)."""
    return [run["decodes"] / math.ceil(run["data_bytes"] / run["window_bytes"]) for run in runs["headrace"]]


def decodes_detail(runs: Runs) -> str:
    run, simulated = runs["headrace"][-1], runs["simulated"][-1]["shares"][0]
    predicted = f", predicted {run['predicted']:.3g}" if run["predicted"] else ""
    return (
        f"{run['decodes']:.2f} decodes a block with {run['slots']} slots{predicted}; simulated in all of the memory: "
        f"Belady {simulated['belady']:.1f}, LRU {simulated['lru']:.1f}, a batch's blocks once "
        f"{simulated['grouped_belady']:.1f} and {simulated['grouped_lru']:.1f}, the window {simulated['window']:.2f}"
    )


def worst_off_rule(runs: Runs) -> list[float]:
    """Largest deviation of decodes a block from the window's rule, relative, over the budgets."""
    return [max(abs(b["decodes"] / b["rule"] - 1) for b in run["budgets"]) * 100 for run in runs["headrace"]]


def slots_detail(runs: Runs) -> str:
    budgets = runs["headrace"][-1]["budgets"][1:]
    told = [
        f"{b['slots']} slots {b['decodes']:.2f} (rule {b['rule']:.2f}"
        + (f", report {b['predicted']:.3g})" if b["predicted"] else ")")
        for b in budgets
    ]
    return "same batches at every budget; decodes a block with " + ", ".join(told)


def preload_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    there = "memory that the machine has" if run["present"] else "memory that the machine had to get from its host"
    return f"into {there}; first batch after {run['first_batch_seconds']:.2f} s"


EXACT_FIGURES = [
    Figure(
        f"exact_decodes_{percent}",
        f"decodes a block under `exact`, budget {percent} % of the data, over ceil(data / window)",
        1.1,
        False,
        {
            "headrace": Contestant("memory decodes", options=("--shuffle", "exact", "--share", str(percent / 100))),
            "simulated": Contestant("cache_simulation", "", options=("--share", str(percent / 100))),
        },
        decodes_over_rule,
        "x",
        repetitions=3,
        warm_up=False,
        detail=decodes_detail,
    )
    for percent in (10, 30, 60)
]

SWEEP = {"headrace": Contestant("memory_sweep", "", ("--always-0",), trial=("--count", "6"))}
JETS_ALONE = ("--always-0", "--kinds", "jets", "--memory", "64-4096")
JETS_SWEEP = {"headrace": Contestant("memory_sweep", "", JETS_ALONE, trial=("--count", "2"))}
SHAPES = ("--always-0", "--kinds", "shapes", "--memory", "16-512", "--seconds", "1.5", "--count", "500")
SHAPES_SWEEP = {"headrace": Contestant("memory_sweep", "", SHAPES, trial=("--count", "6"))}
UNCHARGED: dict[str, tuple[Value, str]] = {"most that no budget counted": (partial(only, "worst_uncharged_mib"), "MiB")}
SWEEP_FIGURES = [
    Figure(
        key,
        what,
        reach,
        False,
        contestants,
        partial(only, value),
        unit,
        rows="rows",
        repetitions=1,
        timeout=5400,
        detail=detail,
        beside=beside,
    )
    for key, what, reach, contestants, value, unit, detail, beside in (
        (
            "rss_overshoot",
            "peak memory less the budget, worst of 100 random configurations of all kinds of samples and all tools",
            64,
            SWEEP,
            "worst_overshoot_mib",
            "MiB",
            sweep_detail,
            {},
        ),
        (
            "predicted_peak",
            "measured peak of the same runs against the predicted one, worst deviation",
            15,
            SWEEP,
            "predicted_worst_percent",
            "%",
            predicted_detail,
            {},
        ),
        (
            "rss_overshoot_2gib",
            "the same above the budget in percent of it, 100 configurations of jets, worst of those of 2 GiB and more",
            5,
            JETS_SWEEP,
            "worst_large_percent",
            "%",
            large_detail,
            {},
        ),
        (
            "budget_overshoot",
            "peak memory less the budget, worst of 500 random configurations over files of random shape, 16 to 512 MiB",
            64,
            SHAPES_SWEEP,
            "worst_overshoot_mib",
            "MiB",
            sweep_detail,
            UNCHARGED,
        ),
    )
]

RAM_RIVALS = {
    "NumPy x[perm]": ("index",),
    "NumPy take": ("take",),
    "NumPy take, 2 threads": ("threads",),
    "torch x[perm]": ("torch",),
    "torch index_select": ("select",),
    "torch index_select, 1 thread": ("select", "--threads", "1"),
}

CHUNKS_1024 = "gzip_1024_rows"


def ours_at_15_percent(shuffle: str, *options: str) -> Contestant:
    return epochs(CHUNKS_1024, "--memory", str(TEN_CHUNKS), "--shuffle", shuffle, "--cache", "auto", *options)


def recipe(order: str, options: tuple[str, ...], grouped_options: tuple[str, ...]) -> dict[str, Contestant]:
    """The recipe with 0 to 2 workers, and with what would make it better."""
    return {
        f"LRU{text} w{workers}": Contestant(
            "torch_h5py", CHUNKS_1024, ("--read", "lru", "--order", order, "--workers", str(workers), *more)
        )
        for text, more in (("", options), (" grouped", ("--group", *grouped_options)))
        for workers in (0, 1, 2)
    }


RECIPE = [f"LRU w{workers}" for workers in (0, 1, 2)]
LRU_FIGURES = [
    Figure(
        "lru_recipe_random",
        "budget of 15 % of the data, 1024-row chunks: against an LRU of 10 chunks a worker in torch DataLoader",
        None,  # it tells how long a random order over large chunks takes that recipe, not how fast Headrace is
        True,
        {
            "headrace": ours_at_15_percent("block"),
            "headrace exact": ours_at_15_percent("exact"),
            "headrace shuffle_buffer=200MiB": ours_at_15_percent("block", "--shuffle-buffer", "200MiB"),
            **recipe(
                "random",
                ("--batch-size", "16", "--seconds", "30", "--rows", "300"),  # a batch of 512 takes minutes
                ("--seconds", "30", "--rows", "4096"),
            ),
        },
        partial(over_best_of, RECIPE),
        "x",
        repetitions=1,
        warm_up=False,
    ),
    Figure(
        "lru_recipe_windowed",
        "the same, an order that stays inside ten cached chunks, through `sampler=`",
        5,
        True,
        {"headrace": ours_at_15_percent("windowed"), **recipe("windowed", ("--skip", "20"), ("--skip", "20"))},
        partial(over_best_of, [*RECIPE, *(f"LRU grouped w{workers}" for workers in (0, 1, 2))]),
        "x",
        repetitions=3,
    ),
]

THIRD_OF_DATA = {
    "headrace": epochs("gzip", "--memory", str(THIRD), "--cache", "auto", "--fill"),
    "uncached": epochs("gzip", "--memory", str(THIRD), "--cache", "none"),
    "RAM tier": epochs("gzip", "--memory", ALL_IN_RAM, "--cache", "ram"),
}
MEL = ("--mel", "--batch-size", "5632", "--threads", "1")
MEL_GATHER = {
    "headrace": epochs("mel", *MEL, "--memory", "1GiB", "--cache", "ram", "--framework", "torch", "--epochs", "30"),
    "C++ gather": Contestant("gather", "", ("--passes", "30")),
    "NumPy x[perm]": Contestant("ram_gather", "mel", ("--how", "index", *MEL)),
    "NumPy take": Contestant("ram_gather", "mel", ("--how", "take", *MEL)),
    "torch index_select": Contestant("ram_gather", "mel", ("--how", "select", *MEL)),
}
MEL_WHAT = "128-byte samples and labels, batches of 5632, shuffled, from RAM, one thread, torch tensors"

PRELOAD = {
    "headrace": Contestant("memory preload", options=("--memory", ALL_IN_RAM)),
    "kept": Contestant("limit", options=("--passes", "1", "--keep"), touch_bytes=int(DATA_BYTES * 1.1)),
    "fresh": Contestant("memory preload", options=("--memory", ALL_IN_RAM, "--fresh")),
    "kept fresh": Contestant("limit", options=("--passes", "1", "--keep")),
    "limit": Contestant("limit", options=("--passes", "1")),
}

MEMORY_FIGURES: list[Figure] = [
    *SWEEP_FIGURES,
    *EXACT_FIGURES,
    Figure(
        "block_two_slots",
        "32,768 jets, budgets below the order's span, down to two slots: decodes a block off the window's rule",
        10,
        False,
        {"headrace": Contestant("memory slots", files=2)},
        worst_off_rule,
        "%",
        repetitions=1,
        detail=slots_detail,
    ),
    Figure(
        "ram_gather",
        "32,768 jets, later epochs from RAM, batches of 512, two threads, against the best of NumPy and torch",
        1.5,
        True,
        {
            "headrace": epochs("gzip", "--memory", "2GiB", "--cache", "ram", files=2),
            **{name: Contestant("ram_gather", options=("--how", *how), files=2) for name, how in RAM_RIVALS.items()},
        },
        partial(over_best_of, list(RAM_RIVALS)),
        "x",
    ),
    *LRU_FIGURES,
    Figure(
        "compressed_tier",
        "budget a third of the decoded data: epochs from the full cache against the first",
        1.8,
        True,
        THIRD_OF_DATA,
        later_over_first,
        "x",
        repetitions=3,
    ),
    Figure(
        "compressed_vs_ram",
        "the same epochs against those of the RAM tier",
        0.6,
        True,
        THIRD_OF_DATA,
        partial(ratio, "headrace", "RAM tier"),
        "x",
        repetitions=3,
    ),
    Figure(
        "disk_tier",
        "epochs from a cache directory, page cache warm, against the RAM tier",
        0.8,
        True,
        {"headrace": Contestant("memory disk"), "RAM tier": epochs("gzip", "--memory", ALL_IN_RAM, "--cache", "ram")},
        partial(ratio, "headrace", "RAM tier"),
        "x",
        repetitions=3,
        warm_up=False,
    ),
    Figure(
        "mel_gather_limit",
        f"{MEL_WHAT}, against a C++ gather alone",
        0.6,
        True,
        MEL_GATHER,
        partial(ratio, "headrace", "C++ gather"),
        "x",
        rows="samples",
    ),
    Figure(
        "mel_gather_numpy",
        "the same against NumPy's `x[perm]`",
        2,
        True,
        MEL_GATHER,
        partial(ratio, "headrace", "NumPy x[perm]"),
        "x",
        rows="samples",
    ),
    Figure(
        "host_shared",
        "two ranks that share a host's cache, two epochs: bytes decoded by both over those of one rank alone",
        1.05,
        False,
        {"headrace": Contestant("two_ranks", files=2)},
        partial(only, "work"),
        "x",
        repetitions=3,
    ),
    Figure(
        "preload",
        "preload into RAM against decode threads that keep what they decode, memory touched before",
        0.9,
        True,
        PRELOAD,
        partial(ratio, "headrace", "kept"),
        "x",
        detail=preload_detail,
        beside={"against threads that keep nothing": (partial(ratio, "headrace", "limit"), "x")},
    ),
    Figure(
        "preload_fresh",
        "the same, memory that the process and its machine have not touched",
        None,
        True,
        PRELOAD,
        partial(ratio, "fresh", "kept fresh"),
        "x",
    ),
]
