"""The figures of batches on a device."""

from __future__ import annotations

from figure import Contestant, Figure, printed

SMALL = ("--rows", "20000")

DEVICE_FIGURES = [
    Figure(
        "device_consumer",
        "processor time of the consumer's thread in `next()`, a batch of three fields, on a fake device",
        60,
        False,
        {"headrace": Contestant("device_batches", "", ("cpu",), trial=SMALL)},
        printed("cpu_us"),
        "us",
        rows="batches",
        beside={
            "device whose calls cost nothing": (printed("own_cpu_us"), "us"),
            "without a device": (printed("host_cpu_us"), "us"),
        },
    ),
    Figure(
        "device_step_wait",
        "a fake device of 2 GB/s, batches of 4.1 MB, a step of 10 ms: the step waits",
        1,
        False,
        {"headrace": Contestant("device_batches", "", ("wait",), trial=SMALL)},
        printed("wait_percent"),
        "%",
        rows="batches",
        beside={"first epoch": (printed("first_percent"), "%")},
    ),
]
