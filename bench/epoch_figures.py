"""The figures of what a new user meets: first epochs with the default cache, consumers, many files, small budgets."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, Value, printed, ratio

#: The two tiers of the default cache: blocks re-encoded in 1 GiB, all rows decoded in 6 GiB. GiB touched before; what
#: makes a trial on two files take the same tier.
TIERS = {
    "recoded": ("re-encoded tier, 1 GiB", "1GiB", "1", ("--memory", "512MiB")),
    "ram": ("RAM tier, 6 GiB", "6GiB", "4", ("--memory", "1792MiB")),
}
EPOCHS = 10


def fresh(tier: str, *options: str, epochs: int = EPOCHS, touched: bool = True) -> Contestant:
    _, memory, gib, trial = TIERS[tier]
    settings = ("--memory", memory, "--epochs", str(epochs), *(("--touch-gib", gib) if touched else ()), *options)
    return Contestant("first_epochs", options=settings, trial=trial)


def fresh_loaders(tier: str) -> dict[str, Contestant]:
    """The default cache, no cache, and all blocks kept at once; their runs serve all figures of the tier."""
    return {
        "headrace": fresh(tier),
        "no cache": fresh(tier, "--cache", "none", epochs=2),
        "at once": fresh(tier, "--keep-at-once"),
    }


def untouched_loaders(tier: str) -> dict[str, Contestant]:
    return {
        "headrace": fresh(tier, epochs=1, touched=False),
        "no cache": fresh(tier, "--cache", "none", epochs=1, touched=False),
    }


def total_over(other: str, epochs: int, runs: Runs) -> list[float]:
    """Seconds until so many epochs are over, from before the loader is made, over another contestant's."""
    key = str(epochs)
    return [
        ours["total_seconds"][key] / theirs["total_seconds"][key]
        for ours, theirs in zip(runs["headrace"], runs[other], strict=True)
    ]


def kept_after(epoch: int) -> Value:
    return lambda runs: [run["kept_share"][epoch - 1] for run in runs["headrace"]]


def first_epoch_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    told = f"{run['tier']} {run['coding']}, kept by epoch " + ", ".join(f"{share:.2f}" for share in run["kept_share"])
    return told if run["present"] else told + "; the machine did not have the memory that was touched"


def fresh_figures(tier: str) -> list[Figure]:
    name = TIERS[tier][0]
    loaders = fresh_loaders(tier)
    totals = [
        Figure(
            f"total_{epochs}_{tier}",
            f"total time of {epochs} epoch{'s' if epochs > 1 else ''}, {name}, against {words}",
            reach,
            False,
            loaders,
            partial(total_over, other, epochs),
            "x",
            headline=True,  # as the first epoch, whose runs these are
        )
        for epochs, other, words, reach in (
            (1, "no cache", '`cache="none"`', 1.15),
            (2, "no cache", '`cache="none"`', 1.15),
            (EPOCHS, "at once", "keeping everything at once", 1.3),
        )
    ]
    return [
        Figure(
            f"first_epoch_{tier}",
            f'first epoch of a fresh loader, {name}, against `cache="none"`, memory touched',
            0.85,
            True,
            loaders,
            partial(ratio, "headrace", "no cache"),
            "x",
            headline=True,
            never_below=0.7,
            detail=first_epoch_detail,
            beside={"blocks kept after it": (kept_after(1), "")},
        ),
        Figure(
            f"first_epoch_{tier}_untouched",
            "the same, memory not touched before",
            None,
            True,
            untouched_loaders(tier),
            partial(ratio, "headrace", "no cache"),
            "x",
            detail=first_epoch_detail,
        ),
        *totals,
    ]


def consumer(tier: str) -> dict[str, Contestant]:
    _, memory, gib, trial = TIERS[tier]
    options = ("--times-loader", "1.5", "--memory", memory, "--touch-gib", gib, "--epochs", "3")
    return {"headrace": Contestant("paced_consumer", options=options, trial=trial)}


def consumer_figures(tier: str) -> list[Figure]:
    name = TIERS[tier][0]
    return [
        Figure(
            f"consumer_kept_{tier}",
            f"consumer at 1.5 times the loader's time a batch, {name}: share of blocks kept after epoch 1",
            1.0,
            True,
            consumer(tier),
            printed("first_kept_share"),
        ),
        Figure(
            f"consumer_epoch_{tier}",
            "the same: epoch 1 from its first batch on, over the consumer's own time",
            1.03,
            False,
            consumer(tier),
            printed("first_over_consumer"),
            "x",
            beside={"epoch 2": (lambda runs: [run["over_consumer"][1] for run in runs["headrace"]], "x")},
        ),
    ]


def accelerator(*options: str) -> Contestant:
    settings = ("--pace-ms", "10", "--memory", "1GiB", "--touch-gib", "1", "--epochs", "4", *options)
    return Contestant("paced_consumer", options=settings, trial=("--epochs", "2"))


def utilisation(name: str, runs: Runs) -> list[float]:
    return [run["utilisation"] * 100 for run in runs[name]]


def budget_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    return f"shuffle_buffer={run['shuffle_buffer']}, named by {run['named_by']}, in {run['budget_bytes']} bytes"


def encode_detail(runs: Runs) -> str:
    run = runs["headrace"][-1]
    told = [
        f"{c['coding']} {c['encode_over_inflate']:.2f} (decoding {c['decode_over_inflate']:.2f})"
        for c in run["codings"]
    ]
    return f"{run['chosen']} is taken; {', '.join(told)}; inflating {run['inflate_gb_per_s']:.2f} GB/s"


MANY_FILES = {"headrace": Contestant("many_files", "", ("--files", "5000"), trial=("--files", "50"))}
TEN_MILLION = {
    "headrace": Contestant(
        "ten_million", options=("--memory", "2GiB"), trial=("--jets", "300000", "--batches", "100"), touch_bytes=2 << 30
    )
}
ADVICE = {"headrace": Contestant("advise_accuracy", "", trial=("--quick", "gzip"))}
ADVICE_FIGURES = [
    Figure(key, what, reach, at_least, ADVICE, printed(value), unit, repetitions=1, timeout=3600, beside=beside)
    for key, what, reach, at_least, value, unit, beside in (
        (
            "advise_rate",
            "`advise`: settings whose later epochs are within 25 % of the forecast",
            90,
            True,
            "rate_within_percent",
            "%",
            {"median error": (printed("rate_median_percent"), "%"), "worst": (printed("rate_worst_percent"), "%")},
        ),
        (
            "advise_first_epoch",
            "`advise`: the first epoch, files not in the page cache, worst factor off the forecast",
            2,
            False,
            "first_epoch_worst_factor",
            "x",
            {},
        ),
        (
            "advise_spread",
            "`advise` asked five times: longest forecast of the first epoch over the shortest",
            1.5,
            False,
            "first_epoch_spread",
            "x",
            {},
        ),
        (
            "forecast_peak",
            "`check-memory`, and `advise` with a cache: settings whose peak is within 15 % of the forecast",
            90,
            True,
            "peak_within_percent",
            "%",
            {"median error": (printed("peak_median_percent"), "%"), "worst": (printed("peak_worst_percent"), "%")},
        ),
    )
]

EPOCH_FIGURES: list[Figure] = [
    *fresh_figures("recoded"),
    *fresh_figures("ram"),
    *consumer_figures("recoded"),
    *consumer_figures("ram"),
    Figure(
        "accelerator",
        'accelerator busy at 10 ms a batch, epochs 2 to 4, `cache="none"`, overslept time taken off',
        99,
        True,
        {"headrace": accelerator("--cache", "none"), "default cache": accelerator()},
        partial(utilisation, "headrace"),
        "%",
        headline=True,
        beside={"with the default cache": (partial(utilisation, "default cache"), "%")},
    ),
    Figure(
        "encode_over_inflate",
        "encoding jets for the re-encoded tier against inflating them, one thread",
        1.8,
        True,
        {"headrace": Contestant("encode", trial=("--blocks", "8", "--repetitions", "2"))},
        printed("encode_over_inflate"),
        "x",
        detail=encode_detail,
        beside={"decoding": (printed("decode_over_inflate"), "x")},
    ),
    Figure(
        "small_budget",
        "budget of 10 % of the data and the `shuffle_buffer=` that is named for it, against the unlimited order",
        0.8,
        True,
        {
            "headrace": Contestant("small_budget", trial=("--share", "0.4", "--epochs", "1")),
            "unlimited": Contestant("headrace epochs", options=("--memory", "2GiB")),
        },
        partial(ratio, "headrace", "unlimited"),
        "x",
        detail=budget_detail,
    ),
    Figure(
        "many_files_memory",
        "5,000 small files: memory a file after `hr.open`, above what the catalog needs",
        20,
        False,
        MANY_FILES,
        printed("above_catalog_kb"),
        "kB",
        repetitions=3,
        beside={"in all, opened from the index store": (printed("from_store_kb"), "kB")},
    ),
    Figure(
        "many_files_descriptors",
        "5,000 small files: descriptors after `hr.open` and an epoch",
        1024,
        False,
        MANY_FILES,
        printed("descriptors"),
        repetitions=3,
    ),
    Figure(
        "ten_million_epoch",
        '10 million jets: an epoch, from the rate of 4,000 batches, `cache="none"`',
        30,
        False,
        TEN_MILLION,
        printed("epoch_minutes"),
        "min",
        repetitions=3,
        beside={"its plan": (printed("plan_seconds", 1e3), "ms")},
    ),
    Figure(
        "ten_million_first_batch",
        "the same: from before `hr.open` to the first batch",
        None,
        False,
        TEN_MILLION,
        printed("from_open_to_first_batch_seconds"),
        "s",
        repetitions=3,
        beside={"`hr.open`": (printed("open_seconds"), "s")},
    ),
    *ADVICE_FIGURES,
]
