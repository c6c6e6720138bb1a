"""The figures of events of different length."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, first_epoch_over, over_best_of, over_best_rival, printed, ratio

SMALL = ("--rows", "2000000")
RATE = {
    "headrace": Contestant("event_samples", "", ("rate",), trial=SMALL),
    "limit": Contestant("event_samples", "", ("limit",), trial=SMALL),
}
CACHED_MIB = "64"  # a file's column has 40


def slices(workers: int, *options: str) -> Contestant:
    trial = (*SMALL, "--seconds", "1")
    return Contestant("h5py_events", "", ("--workers", str(workers), "--seconds", "5", *options), trial=trial)


H5PY = {
    "headrace": Contestant("event_samples", "", ("rate", "--threads", "2"), trial=SMALL),
    **{f"h5py w{n}": slices(n) for n in (0, 1, 2)},
    **{f"h5py, all in its cache, w{n}": slices(n, "--cache-mib", CACHED_MIB) for n in (0, 1, 2)},
}
MANY = {"headrace": Contestant("event_samples", "", ("many",), trial=("--events", "1000000"))}

EVENT_FIGURES = [
    Figure(
        "events_decode",
        "events in gzip columns, batches of 512, shuffled, one thread, against decode alone",
        0.75,
        True,
        RATE,
        partial(ratio, "headrace", "limit"),
        "x",
        rows="rows",
        beside={
            "rate": (printed("rows_per_s", 1e-6), "Mrow/s"),
            "first epoch": (partial(first_epoch_over, "limit"), "x"),
        },
    ),
    Figure(
        "events_h5py",
        "the same, two threads, against h5py slices by event, best of 0 to 2 workers",
        20,
        True,
        H5PY,
        partial(over_best_of, ["h5py w0", "h5py w1", "h5py w2"]),
        "x",
        rows="rows",
        repetitions=3,
        beside={"its chunk cache holds all columns": (over_best_rival, "x")},
    ),
    Figure(
        "events_index",
        "100 million events: memory of the index after `hr.open()`",
        9,
        False,
        MANY,
        printed("bytes_an_event"),
        "B an event",
        rows="events",
        beside={"`hr.open()`": (printed("open_ms", 1e-3), "s")},
    ),
    Figure(
        "events_resume",
        "the same: a `Loader` and `load_state_dict()`",
        50,
        False,
        MANY,
        printed("resume_ms"),
        "ms",
        rows="events",
    ),
]
