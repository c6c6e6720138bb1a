"""The figures of how well shuffle=True mixes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from figure import Contestant, Figure, Runs, Value

LAYOUTS = {"headrace": Contestant("mixing", "", ("--seeds", "8"), trial=("two files",))}
PATCHES = "patches on a grid"  # share their chunks with neighbours that come at another time
LARGE = "jets, 10 x 100,000, chunks of 8192"  # a gibibyte holds three blocks, of ten files


def worst(keys: tuple[str, ...], runs: Runs) -> list[float]:
    """The largest Deff of all layouts, by any of `keys`."""
    return [float(max(deff(layout, keys) for layout in judged(run))) for run in runs["headrace"]]


def worst_layout(keys: tuple[str, ...], runs: Runs) -> str:
    layout = max(judged(runs["headrace"][-1]), key=lambda layout: deff(layout, keys))
    return f"{layout['layout']}, batch {layout['batch']}, {layout['order']}"


def judged(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [layout for layout in run["layouts"] if layout["layout"] != LARGE]


def deff(layout: dict[str, Any], keys: tuple[str, ...]) -> float:
    return max(layout[key] or 0.0 for key in keys)


def allowed_blocks(runs: Runs) -> list[float]:
    """The largest Deff by block of the layouts for which no notice said before anything was read that it is larger."""
    return [
        float(max(layout["deff_blocks"] for layout in run["layouts"] if not layout["notice"]))
        for run in runs["headrace"]
    ]


def amplification(runs: Runs) -> list[float]:
    shares = [[layout for layout in run["layouts"] if layout["layout"] != PATCHES] for run in runs["headrace"]]
    return [max(float(layout["amplification"] or 0) for layout in layouts) for layouts in shares]


def said_before(runs: Runs) -> str:
    layouts = [layout for layout in runs["headrace"][-1]["layouts"] if layout["notice"]]
    each = (f"{layout['layout']}, batch {layout['batch']}: {layout['deff_blocks']:.2f}" for layout in layouts)
    return "a notice said so of " + "; ".join(each)


def figure(
    key: str,
    what: str,
    reach: float,
    value: Value,
    detail: Callable[[Runs], str] | None = None,
    unit: str = "",
) -> Figure:
    """A figure of one run over all layouts: they are the same for any machine."""
    return Figure(
        key, what, reach, False, LAYOUTS, value, unit, rows="samples", repetitions=1, timeout=1800, detail=detail
    )


FILES, PLACE = ("deff_files", "delivered_files"), ("delivered_place",)
MIXING_FIGURES = [
    figure(
        "mixing_files",
        "Deff of a label constant in each file: the worst layout, mean of 8 seeds, without blocks of 318 MiB",
        1.1,
        partial(worst, FILES),
        partial(worst_layout, FILES),
    ),
    figure(
        "mixing_place",
        "of a number that grows along the files: the worst layout of those that are delivered, mean of 8 seeds",
        1.1,
        partial(worst, PLACE),
        partial(worst_layout, PLACE),
    ),
    figure(
        "mixing_blocks",
        "of a label that is constant in each block: the worst layout of which nothing else was said before",
        1.1,
        allowed_blocks,
        said_before,
    ),
    figure(
        "mixing_amplification",
        "decodes of a block in the first epoch of those that are delivered, default memory: the worst layout "
        "but for patches",
        1.05,
        amplification,
        unit="x",
    ),
]
