"""The figures of files that answer late."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, ratio

KINDS = {
    "jets": "jets in gzip HDF5",
    "rows": "rows of 200 Parquet files",
    "events": "events of those, padded",
    "tokens": "windows of a token file",
    "crops": "random 128^3 of Zarr in 64^3",
}
REACH = {5: 0.9, 20: 0.75}
OVER_TENSORSTORE = {5: 1.5, 20: 3.0}
MIB = 1 << 20


def reader(kind: str, ms: int, by: str = "headrace") -> Contestant:
    touched = 1536 * MIB if by == "headrace" else 768 * MIB
    options = (kind, "--ms", str(ms), "--by", by)
    return Contestant("late_samples", "", options, trial=("--seconds", "1"), touch_bytes=touched)


def readers(kind: str) -> dict[str, Contestant]:
    all_ms = {str(ms): reader(kind, ms) for ms in (0, *REACH)}
    rivals = {f"tensorstore {ms}": reader(kind, ms, "tensorstore") for ms in REACH} if kind == "crops" else {}
    return all_ms | rivals


def rate(ms: int, runs: Runs) -> list[float]:
    return [float(run["rows_per_s"]) for run in runs[str(ms)]]


def most_above(runs: Runs) -> list[float]:
    return [max(float(run["above_bytes"]) / MIB for run in together) for together in zip(*runs.values(), strict=True)]


def reading(ms: int, runs: Runs) -> str:
    """Say what was read ahead of decoding in the last repetition."""
    last = runs[str(ms)][-1]
    return f"{last['mirror']}; report(): {last['reading']}"


LATE_FIGURES = [
    *(
        Figure(
            f"late_{ms}_{kind}",
            f"{what}: {ms} ms a read and open, over 0 ms",
            reach,
            True,
            readers(kind),
            partial(ratio, str(ms), "0"),
            "x",
            rows="samples",
            repetitions=3,
            warm_up=False,
            detail=partial(reading, ms),
            beside={"rate": (partial(rate, ms), f"{kind}/s")},
        )
        for ms, reach in REACH.items()
        for kind, what in KINDS.items()
    ),
    *(
        Figure(
            f"late_{ms}_tensorstore",
            f"{KINDS['crops']}, {ms} ms: over TensorStore with 32 file operations",
            reach,
            True,
            readers("crops"),
            partial(ratio, str(ms), f"tensorstore {ms}"),
            "x",
            rows="crops",
            repetitions=3,
            warm_up=False,
        )
        for ms, reach in OVER_TENSORSTORE.items()
    ),
    Figure(
        "late_memory",
        "peak above the interpreter's own, less the budget, of all of these kinds at 5 ms",
        64.0,
        False,
        {kind: reader(kind, 5) for kind in KINDS},
        most_above,
        "MiB",
        repetitions=3,
        warm_up=False,
    ),
]
