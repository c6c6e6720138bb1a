"""The figures of patches that are drawn from volumes."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, over_best_of, printed, ratio

SMALL = ("--side", "128", "--samples", "40")
LITTLE = "64MiB"  # a window of some tens of patches: they share few chunks
NO_WORKERS_TO_TWO = ("torch w0", "torch w1", "torch w2")


def patches(storage: str, epochs: int, *options: str) -> Contestant:
    return Contestant(
        "patch_samples", "", ("rate", "--storage", storage, "--epochs", str(epochs), *options), trial=SMALL
    )


def copies(source: str) -> Contestant:
    return Contestant("patch_samples", "", ("copies", "--storage", "plain", "--from", source), trial=SMALL)


def slices(storage: str, epochs: int) -> dict[str, Contestant]:
    options, trial = ("--storage", storage, "--epochs", str(epochs)), (*SMALL, "--seconds", "1")
    return {
        name: Contestant("torch_patches", "", (*options, "--workers", str(n)), trial=trial)
        for n, name in enumerate(NO_WORKERS_TO_TWO)
    }


def stages(runs: Runs) -> str:
    """Say where the threads' time went in the last repetition."""
    report = runs["headrace"][-1]["report"]
    busy = {name: stage["seconds"] for name, stage in report["stages"].items()}
    whole = report["threads"] * report["wall_seconds"]
    told = ", ".join(f"{name} {100 * seconds / whole:.0f} %" for name, seconds in busy.items() if seconds > 0)
    return f"time of the threads: {told}; decoded for each delivered byte: {report['read_amplification']:.2f}"


def little_over_best(runs: Runs) -> list[float]:
    """Headrace in little memory over the best rival."""
    return over_best_of(list(NO_WORKERS_TO_TWO), {**runs, "headrace": runs["little memory"]})


GZIP = {
    "headrace": patches("gzip", 6),
    "little memory": patches("gzip", 3, "--memory", LITTLE),
    **slices("gzip", 3),
}
PLAIN = {
    "headrace": patches("plain", 20),
    "little memory": patches("plain", 6, "--memory", LITTLE),
    "copies": copies("memory"),
    "mapping": copies("mapping"),
    "pread": copies("pread"),
}
NPY = {"headrace": patches("npy", 20), **slices("npy", 20)}

PATCH_FIGURES = [
    Figure(
        "patches_gzip",
        "patches from gzip-4 chunks, two threads, against h5py slices in a torch DataLoader, best of 0 to 2 workers",
        1.5,
        True,
        GZIP,
        partial(over_best_of, list(NO_WORKERS_TO_TWO)),
        "x",
        rows="patches",
        repetitions=3,
        detail=stages,
        beside={
            f"`memory` {LITTLE[:2]} MiB": (little_over_best, "x"),
            "rate": (printed("rows_per_s"), "patches/s"),
        },
    ),
    Figure(
        "patches_plain",
        "patches from chunks without a filter, two threads, against plain C++ threads copying the boxes out of memory",
        0.7,
        True,
        PLAIN,
        partial(ratio, "headrace", "copies"),
        "x",
        rows="patches",
        detail=stages,
        beside={
            f"`memory` {LITTLE[:2]} MiB": (partial(ratio, "little memory", "copies"), "x"),
            "out of mapped files": (partial(ratio, "headrace", "mapping"), "x"),
            "by `pread`": (partial(ratio, "headrace", "pread"), "x"),
            "rate": (printed("rows_per_s"), "patches/s"),
        },
    ),
    Figure(
        "patches_npy",
        "patches from `.npy`, two threads, against `np.memmap` slices in a torch DataLoader, best of 0 to 2 workers",
        None,
        True,
        NPY,
        partial(over_best_of, list(NO_WORKERS_TO_TWO)),
        "x",
        rows="patches",
        detail=stages,
        beside={"rate": (printed("rows_per_s"), "patches/s")},
    ),
]
