"""The figures of volumes in Zarr stores."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, over_best_of, printed, ratio

SMALL = ("--side", "128")
WORKERS = ("zarr w0", "zarr w1", "zarr w2")
STORAGES = {
    "zstd64": "zstd in 64^3",
    "shard64": "zstd in 64^3 inside shards of 256^3",
    "blosc128": "Blosc (LZ4, bitshuffle) in 128^3",
}


def reader(what: str, storage: str, by: str, *options: str) -> Contestant:
    trial = (*SMALL, "--seconds", "1", "--warm-up", "2") if what == "crops" else SMALL
    return Contestant("zarr_samples", "", (what, "--storage", storage, "--by", by, *options), trial=trial)


def whole(storage: str) -> dict[str, Contestant]:
    return {by: reader("whole", storage, by) for by in ("headrace", "verify", "tensorstore", "zarr", "zarrs")}


def crops(storage: str) -> dict[str, Contestant]:
    rivals = {name: reader("crops", storage, "zarr", "--workers", str(n)) for n, name in enumerate(WORKERS)}
    return {by: reader("crops", storage, by) for by in ("headrace", "tensorstore")} | rivals


IN_MEMORY = ("--memory-mib", "2048", "--in-memory")  # both arrays have 1 GiB


def amplification(runs: Runs) -> list[float]:
    return [float(run["report"]["read_amplification"]) for run in runs["headrace"]]


def stages(runs: Runs) -> str:
    """Say where the threads' time went in the last repetition, and what explain() had said."""
    report = runs["headrace"][-1]["report"]
    whole_seconds = report["threads"] * report["wall_seconds"]
    busy = {name: stage["seconds"] for name, stage in report["stages"].items()}
    told = ", ".join(f"{name} {100 * seconds / whole_seconds:.0f} %" for name, seconds in busy.items() if seconds > 0)
    return f"time of the threads: {told}; said before: {runs['headrace'][-1]['predicted']:.2f} decoded bytes a byte"


ZARR_FIGURES = [
    *(
        Figure(
            f"zarr_whole_{storage}",
            f"whole arrays of {words}: over the best of TensorStore, zarr-python and zarrs",
            1.0,
            True,
            whole(storage),
            partial(over_best_of, ["tensorstore", "zarr", "zarrs"]),
            "x",
            rows="bytes",
            repetitions=3,
            beside={
                "decoding alone": (partial(ratio, "headrace", "verify"), "x"),
                "rate": (printed("rows_per_s", 1e-9), "GB/s"),
            },
        )
        for storage, words in STORAGES.items()
    ),
    *(
        Figure(
            f"zarr_crops_{storage}",
            f"random 128^3 of {STORAGES[storage]}, memory for a quarter: over TensorStore's cache",
            2.0,
            True,
            crops(storage),
            partial(ratio, "headrace", "tensorstore"),
            "x",
            rows="crops",
            repetitions=3,
            detail=stages,
            beside={
                "zarr-python in 0 to 2 workers": (partial(over_best_of, list(WORKERS)), "x"),
                "amplification": (amplification, ""),
                "rate": (printed("rows_per_s"), "crops/s"),
            },
        )
        for storage in ("zstd64", "blosc128")
    ),
    Figure(
        "zarr_crops_memory",
        "random 128^3 out of decoded 64^3, all in memory: over TensorStore's cache",
        1.2,
        True,
        {by: reader("crops", "zstd64", by, *IN_MEMORY) for by in ("headrace", "tensorstore")},
        partial(ratio, "headrace", "tensorstore"),
        "x",
        rows="crops",
        repetitions=3,
        beside={"rate": (printed("rows_per_s"), "crops/s")},
    ),
]
