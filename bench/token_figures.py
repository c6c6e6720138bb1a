"""The figures of token windows."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, printed, ratio

SMALL = ("--tokens", "20000000")
RATE = {
    "headrace": Contestant("token_windows", "", ("rate",), trial=SMALL),
    "nanoGPT's loop": Contestant("nanogpt_memmap", "", trial=(*SMALL, "--batches", "10")),
}
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
