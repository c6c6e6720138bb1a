"""The figures of token windows."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, over_best_of, printed, ratio

SMALL = ("--tokens", "20000000")
RATE = {
    "headrace": Contestant("token_windows", "", ("rate",), trial=SMALL),
    "nanoGPT's loop": Contestant("nanogpt_memmap", "", trial=(*SMALL, "--batches", "10")),
}
GRAIN = ("Grain w/o threads", "Grain, 1 thread", "Grain, 8 threads")
WITH_GRAIN = {"headrace": RATE["headrace"]} | {
    name: Contestant("grain_tokens", "", ("--read-threads", threads), trial=(*SMALL, "--batches", "10"))
    for name, threads in zip(GRAIN, ("0", "1", "8"), strict=True)
}
FIRST = {"headrace": Contestant("token_windows", "", ("first",), trial=("--windows", "1000000"))}
GLOBAL = {"headrace": Contestant("jax_batches", "", trial=(*SMALL, "--steps", "10", "--rounds", "1"))}
MANY = {"headrace": Contestant("token_windows", "", ("many",), trial=("--windows", "1000000"))}


def as_int64(runs: Runs) -> list[float]:
    """Through map(Cast): int64, as what the rival's loop makes."""
    pairs = zip(runs["headrace"], runs["nanoGPT's loop"], strict=True)
    return [ours["int64_rows_per_s"] / theirs["rows_per_s"] for ours, theirs in pairs]


TOKEN_FIGURES = [
    Figure(
        "token_windows_rate",
        "windows of 1,024 `uint16` tokens from `.npy`, batches of 512, shuffled, one thread",
        0.6,
        True,
        RATE,
        printed("tokens_per_s", 1e-9),
        "Gtok/s",
        rows="windows",
        beside={"first epoch": (printed("first_tokens_per_s", 1e-9), "Gtok/s")},
    ),
    Figure(
        "token_windows_nanogpt",
        "the same against nanoGPT's loop over `np.memmap`",
        10,
        True,
        RATE,
        partial(ratio, "headrace", "nanoGPT's loop"),
        "x",
        rows="windows",
        beside={"as `int64`, by `map(Cast)`": (as_int64, "x")},
    ),
    Figure(
        "token_windows_grain",
        "the same against Grain: a source of slices of a memmap, `shuffle`, `batch`, 0, 1 or 8 reading threads",
        10,
        True,
        WITH_GRAIN,
        partial(over_best_of, list(GRAIN)),
        "x",
        rows="windows",
    ),
    Figure(
        "token_windows_first",
        "a raw file of 10^10 tokens: `open_tokens()`, `windows()`, a `Loader` and its first batch",
        100,
        False,
        FIRST,
        printed("first_ms"),
        "ms",
        rows="windows",
        beside={"load_state_dict()": (printed("resume_ms"), "ms")},
    ),
    Figure(
        "token_windows_jax",
        "a global `jax.Array` of 512 x 1,024 `int32` on two CPU devices, over handing JAX a NumPy batch that is ready",
        1.15,
        False,
        GLOBAL,
        printed("ratio"),
        "x",
        rows="windows",
        beside={"a step": (printed("step_us"), "us")},
    ),
    Figure(
        "token_windows_open",
        "a billion windows: `windows()` of an open data set",
        50,
        False,
        MANY,
        printed("open_ms"),
        "ms",
        rows="windows",
        beside={"memory, with a Loader": (printed("above_mib"), "MiB")},
    ),
    Figure(
        "token_windows_resume",
        "the same: a `Loader` and `load_state_dict()`",
        50,
        False,
        MANY,
        printed("resume_ms"),
        "ms",
        rows="windows",
    ),
]
