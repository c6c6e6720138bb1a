"""The picture of docs/shuffling.md: what each shuffle loses against the memory it takes. Plain SVG, written by hand."""

from __future__ import annotations

import html
import math
from typing import Any

WIDTH, HEIGHT = 1160, 560
TOP, BOTTOM = 64, 500
PANELS = {"sorted": (70, 560), "scattered": (650, 1140)}
TITLES = {"sorted": "files ordered by class", "scattered": "files in random order"}
LEAST_LOST, MOST_LOST = 0.03, 90.0  # less than the first is drawn as that: no difference that could be seen
OURS, OTHERS, GREY = "#c2410c", "#1d4ed8", "#6b7280"
LETTER = 6.0  # width of a letter of the labels


def place(panel: tuple[float, float], share: float, lost: float) -> tuple[float, float]:
    """Memory to the right, from 0.01 % to all; loss downwards, both logarithmic."""
    x = (math.log10(min(max(share, 1e-4), 1)) + 4) / 4
    y = math.log(min(max(lost, LEAST_LOST), MOST_LOST) / LEAST_LOST) / math.log(MOST_LOST / LEAST_LOST)
    return panel[0] + 12 + x * (panel[1] - panel[0] - 24), TOP + 34 + y * (BOTTOM - TOP - 46)


def text(x: float, y: float, words: str, *, colour: str = "#111827", size: float = 12, anchor: str = "start") -> str:
    style = f'fill="{colour}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{html.escape(words)}</text>'


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(wide, 0) * max(high, 0)


def label_place(
    x: float, y: float, words: str, taken: list[tuple[float, ...]], panel: tuple[float, float]
) -> tuple[float, float]:
    """Where a label hides least: beside the point, a little above or below."""
    width = LETTER * len(words)
    best: tuple[float, float, float] | None = None
    for rise in (0, -13, 13, -20, 20, -30, 30, -40, 40, -52, 52):
        for left in (x - width / 2, x + 8, x - 8 - width):
            box = (left, y + rise - 6, left + width, y + rise + 6)
            outside = max(panel[0] - box[0], 0) + max(box[2] - panel[1], 0) + max(TOP - box[1], 0)
            beside = left == x - width / 2 and abs(rise) < 11
            cost = 3 * sum(overlap(box, other) for other in taken) + 40 * outside + abs(rise) * 0.4 + 1e6 * beside
            if best is None or cost < best[0]:
                best = (cost, left, y + rise)
    assert best is not None
    taken.append((best[1], best[2] - 6, best[1] + width, best[2] + 6))
    return best[1], best[2]


def axes(panel: tuple[float, float], title: str, first: bool) -> list[str]:
    left, right = panel
    out = [f'<rect x="{left}" y="{TOP}" width="{right - left}" height="{BOTTOM - TOP}" fill="none" stroke="#d1d5db"/>']
    out.append(text((left + right) / 2, TOP - 12, title, size=14, anchor="middle"))
    for share, words in ((1e-4, "0.01 %"), (1e-3, "0.1 %"), (1e-2, "1 %"), (0.1, "10 %"), (1, "all")):
        x, _ = place(panel, share, 1)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{BOTTOM}" stroke="#f3f4f6"/>')
        out.append(text(x, BOTTOM + 18, words, colour=GREY, anchor="middle"))
    for lost, words in ((LEAST_LOST, "0"), (0.1, "0.1"), (0.5, "0.5"), (1, "1"), (5, "5"), (10, "10"), (50, "50")):
        _, y = place(panel, 1, lost)
        dash = ' stroke-dasharray="4 3"' if lost == 0.5 else ""
        colour = "#9ca3af" if lost == 0.5 else "#f3f4f6"
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="{colour}"{dash}/>')
        out.append(text(left - 6, y + 4, words, colour=GREY, anchor="end"))
    out.append(text((left + right) / 2, BOTTOM + 38, "rows in memory", colour=GREY, anchor="middle"))
    if first:
        middle = (TOP + BOTTOM) / 2
        turned = text(
            18, middle, "points of accuracy lost after one epoch (up is better)", colour=GREY, anchor="middle"
        )
        out.append(turned.replace("<text", f'<text transform="rotate(-90 18 {middle})"'))
    return out


def points(report: dict[str, Any], world: str, panel: tuple[float, float]) -> list[str]:
    placed = []
    for result in report["results"]:
        lost = result["lost_points"][world]
        x, y = place(panel, result["rows_in_memory"] / report["rows"], lost["mean"])
        placed.append((x, y, result, lost))
    placed = [p for p in placed if not p[2]["key"].endswith("_mixed")]  # nearly where those that fit are
    taken: list[tuple[float, ...]] = [(x - 5, y - 5, x + 5, y + 5) for x, y, *_ in placed]
    marks, labels = [], []
    for x, y, result, lost in sorted(
        placed, key=lambda p: (p[2]["key"] != "global", p[2]["source"] != "Headrace", p[1])
    ):
        colour = OURS if result["source"] == "Headrace" else OTHERS
        upper = place(panel, 1, lost["mean"] - lost["spread"])[1]
        lower = place(panel, 1, lost["mean"] + lost["spread"])[1]
        marks.append(
            f'<line x1="{x:.1f}" y1="{upper:.1f}" x2="{x:.1f}" y2="{lower:.1f}" stroke="{colour}" opacity=".4"/>'
        )
        marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>')
        words = result["label"]
        left, middle = label_place(x, y, words, taken, panel)
        if left + LETTER * len(words) < x:  # its end is what stands beside the point
            labels.append(text(x - 8, middle + 4, words, colour=colour, size=11, anchor="end"))
        else:
            labels.append(text(left, middle + 4, words, colour=colour, size=11))
    return marks + labels


def draw(report: dict[str, Any]) -> str:
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    about = f"{report['files']} files, every row of a file of one class; batches of {report['batch']}, one epoch"
    out.append(text(WIDTH / 2, 24, about, size=15, anchor="middle"))
    for world, panel in PANELS.items():
        out += axes(panel, TITLES[world], world == "sorted")
        out += points(report, world, panel)
    return "\n".join([*out, "</svg>"]) + "\n"
