"""The figures of events of different length."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, first_epoch_over, over_best_rival, printed, ratio

SMALL = ("--rows", "2000000")
RATE = {
    "headrace": Contestant("event_samples", "", ("rate",), trial=SMALL),
    "limit": Contestant("event_samples", "", ("limit",), trial=SMALL),
}
H5PY = {
    "headrace": Contestant("event_samples", "", ("rate",), trial=SMALL),
    **{
        f"h5py w{n}": Contestant("h5py_events", "", ("--workers", str(n)), trial=(*SMALL, "--seconds", "1"))
        for n in (0, 1, 2)
    },
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
        "the same against h5py slices by event, best of 0 to 2 workers",
        20,
        True,
        H5PY,
        over_best_rival,
        "x",
        rows="rows",
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
