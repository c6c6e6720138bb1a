#!/usr/bin/env python3
"""docs/benchmarks.md from bench/results/*.json; run.py calls it, `python bench/table.py` does it alone.

table.py            write the page
table.py --check    write nothing; status 3, and which, where figures describe another version than this one
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import common
import provenance
from device_figures import DEVICE_FIGURES
from epoch_figures import EPOCH_FIGURES
from event_figures import EVENT_FIGURES
from figure import HEADLINE_REPETITIONS, Figure
from figures import FIGURES
from late_figures import LATE_FIGURES
from memory_figures import MEMORY_FIGURES
from mixing_figures import MIXING_FIGURES
from parquet_figures import PARQUET_FIGURES
from patch_figures import PATCH_FIGURES
from reasons import REASONS
from token_figures import TOKEN_FIGURES
from trainer_figures import TRAINER_FIGURES
from zarr_figures import ZARR_FIGURES

Results = dict[str, Any]


class Section(NamedTuple):
    """Figures that stand under one heading and in one file of results."""

    name: str
    path: Path
    title: str
    text: str
    figures: list[Figure]


MIXTURE = """
**This page is a mixture: its figures do not all describe one version. The letters say which they describe.**
"""

PAGE = f"""# Benchmarks
{{mixture}}
Written by `make bench`; do not edit. One figure again: `python bench/run.py --only KEY`. What contestants did, and more
of some figures, is in `bench/results/`.

A figure is the median over its repetitions, in brackets the lowest and the highest. In a repetition the contestants
take turns, a process each, and only they are compared. Figures that are quoted elsewhere have
{HEADLINE_REPETITIONS} repetitions or more. The letter says at which commit, when and on which machine a figure
was [measured](#measured).

The workload, unless the line says otherwise: 65,536 JetClass-like jets in 4 files, `feature_matrix` (N, 128, 16) f4,
`adjacency_matrix` (N, 8128) f4 and `labels`, 40,712 bytes a jet, in chunks of 128 rows, gzip-4; batches of 512, two
threads, files in the page cache.
"""

SPEED = """
`cache="none"`, so that every epoch reads and decodes the files. Rates are those of the epochs after the first, which
stands beside them: in it the window's memory is touched for the first time. *Decode threads alone* is
`bench/decode_alone.cpp`: pread, libdeflate (or the variant's decoder), nothing else. The rivals are in `bench/rivals/`.
"""

EPOCHS = """
What a new user meets: a fresh loader with the default cache. *Memory touched*: the process touched and freed as much
memory before the clock started, so that a virtual machine has it already. A *consumer* and the *accelerator* sleep for
each batch; the sleep is measured, and what was overslept does not count against the loader. The *10 million jets* are
the workload's files 153 times over, by hard links, so they stay in the page cache; users publish epochs of 100 h, 5 h
and 30 min for as many.
"""

MEMORY = """
Budgets count all that Headrace holds. Peaks are VmHWM above what the process held after `open`, of the random
configurations before it; with a cache directory, whose mapped pages are page cache, RssAnon + RssShmem sampled every
4 ms. `bench/memory_sweep.py` draws the random configurations, `bench/cache_simulation.py` simulates block caches,
`bench/gather_alone.cpp` is the gather alone.
"""

TOKENS = """
200 million random tokens in a `.npy` file, in the page cache. Contestants have one thread, but for Grain's reading
threads. The loop is `get_batch()` of nanoGPT's `train.py` without the copy to a GPU (`bench/rivals/nanogpt_memmap.py`):
windows at random places, made `int64`. Headrace delivers each window once an epoch, as stored, and beside it as
`int64`.
"""

EVENTS = """
40 million pulses in 4 files, in the page cache: `time` and `charge` (f4) and `sensor_id` (i4) in gzip chunks of 32,768
rows, events of 165 rows on average, the longest some tens of thousands. Contestants have one thread, or two where h5py
has up to two workers. *Decode alone* is `bench/decode_alone.cpp` over the same chunks. The rival is
`bench/rivals/h5py_events.py`: a slice an event, and `np.concatenate`. The 100 million events have one row each.
"""

PATCHES = """
600 patches of 64^3 an epoch, in batches of 4, drawn from three volumes of 320^3 in the page cache: two `uint8` arrays
in chunks of 64^3, noise that gzip makes 1.4 times smaller and labels; `.npy` files have the noise alone. Headrace has
1 GiB, of which its window takes 256 MiB: there many patches share a chunk. In 64 MiB fewer do, and few would of volumes
that are larger than memory. The rivals take the same patches in the same order: `bench/rivals/torch_patches.py` by
slices, `bench/copy_boxes.cpp` by copies into eight batches that stay in the processor's cache, out of huge pages, out
of mapped files, or by a `pread` of each chunk's planes.
"""

ZARR = """
Two `uint8` arrays of 512 x 1024 x 1024 in Zarr v3, in the page cache: the noise and the labels of *Patches*. Whole
arrays are read by a loader of 1 GiB in batches of 64 rows, by one read of TensorStore 0.1 or zarr-python 3 into memory
of its own, and by zarr-python with the pipeline of zarrs; *decoding alone* is `headrace.tools.verify`. Random crops of
both arrays come in batches of 4: Headrace has 256 MiB, a quarter of the data, and draws visits; TensorStore reads the
crops of a batch at once with a cache pool of 256 MiB; zarr-python slices them in a torch DataLoader. Both rivals draw
crops one by one, as their users do.
"""

PARQUET = """
400,000 events of 151 pulses on average, the longest 178,000, in 8 files that are in the page cache: `sensor_id` (i2),
`time` (i8), `charge` (f8), `auxiliary` (bool) and `event_id` (i8), as pyarrow writes them when nothing is said (snappy,
dictionaries), and a table of each event's file, rows and targets. *Five columns decoded* is `headrace.tools.verify`,
which keeps nothing; polars and pyarrow keep a file or a row group, DuckDB sums. Batches have three columns, offsets and
two targets. Headrace has 1 GiB and `cache="none"`, and shuffles through its whole window; the rivals,
`bench/rivals/torch_pandas.py` and `polars_gather.py`, hold a file at a time (a worker) and shuffle inside it. *Six
features* are x, y and z of each pulse's sensor, joined from a table of 5,160, its time scaled, the logarithm of its
charge, and `auxiliary`, as one field of (pulses, 6) float32 and two targets; the rivals make the same by vectorised
NumPy. *Decoded and gathered alone*: `headrace.tools.verify` over files of those four columns, then
`bench/gather_alone.cpp` over their bytes, events of 151 pulses each; one after the other, without join and arithmetic.
The small files have 1,320,000 events together; a fresh process opens them, with an empty index store or with one that
another process filled.
"""

LATE = """
Files cold, seen through a mirror that waits before every open and every read (`bench/late_mirror.c`), as the server of
a network file system does; what the mirror itself costs is in the base, 0 ms. Default settings, two threads, the first
8 s of a fresh loader's first epoch, its 1 GiB (crops: 512 MiB) touched and freed by the process before it. TensorStore
has a cache pool of as many bytes. Without FUSE these figures are skipped. [Late files](late-files.md) says what is done
about them.
"""

TRAINERS = """
Adjacency of the workload as dense 128 x 128 matrices, what transforms cost on one core, and what trainers add.
*Decoding and expanding alone* takes the time of `bench/decode_alone.cpp` and of `bench/expand_pairs.cpp`, one after
the other. `bench/transforms.py`, `bench/trainer_fit.py` and `bench/grouped_evaluation.py` have what the contestants do.
"""

DEVICE = """
No GPU: `device="fake"` copies in the host's memory, at a rate and behind the program's back, by threads that share its
processors. Its figures say what Headrace's side costs, not what a card does. Samples have three fields of 2 KiB, 40
bytes and 8 bytes, uncompressed in HDF5.
"""

MIXING = """
`bench/mixing.py`: layouts of users' data (jets in files of a class each, mel segments, token windows, events, patches),
in files of holes where nothing has to be delivered. Deff is the variance of batch means over that of independent draws,
by default. [Decision 39](decisions/0039-shuffle-true-mixes-every-data-set.md) has the rule and the bounds.
"""

COLUMNS = "| figure | reach | measured | runs | | key | at |\n| --- | --- | --- | ---: | --- | --- | --- |\n"

SECTIONS = [
    Section("speed", common.RESULTS, "Speed", SPEED, FIGURES),
    Section("epochs", common.EPOCH_RESULTS, "From the first epoch on", EPOCHS, EPOCH_FIGURES),
    Section("memory", common.MEMORY_RESULTS, "Memory", MEMORY, MEMORY_FIGURES),
    Section("tokens", common.TOKEN_RESULTS, "Token windows", TOKENS, TOKEN_FIGURES),
    Section("mixing", common.MIXING_RESULTS, "Mixing", MIXING, MIXING_FIGURES),
    Section("events", common.EVENT_RESULTS, "Events of different length", EVENTS, EVENT_FIGURES),
    Section("patches", common.PATCH_RESULTS, "Patches of volumes", PATCHES, PATCH_FIGURES),
    Section("zarr", common.ZARR_RESULTS, "Volumes in Zarr stores", ZARR, ZARR_FIGURES),
    Section("parquet", common.PARQUET_RESULTS, "Events in Parquet files", PARQUET, PARQUET_FIGURES),
    Section("late", common.LATE_RESULTS, "Files that answer late", LATE, LATE_FIGURES),
    Section("trainers", common.TRAINER_RESULTS, "Transforms, trainers and evaluation", TRAINERS, TRAINER_FIGURES),
    Section("device", common.DEVICE_RESULTS, "Batches on a device", DEVICE, DEVICE_FIGURES),
]

SECTIONS = [
    section._replace(figures=[replace(f, reason=REASONS.get(f.key, "")) for f in section.figures])
    for section in SECTIONS
]

#: Results that docs/shuffling.md quotes, and what measures them.
ORDERS = {
    "order_peers.json": "python bench/order_peers.py --headrace-only",
    "shuffling.json": "python bench/shuffle_quality/run.py",
}


def read(path: Path) -> Results:
    """The results in a file; empty ones where there is none."""
    if not path.exists():
        return {"machines": {}, "figures": {}}
    results: Results = json.loads(path.read_text())
    return {"machines": {}} | results


def save(path: Path, results: Results) -> None:
    """Write results, without the cards of machines that no figure was measured on."""
    used = {entry.get("machine") for entry in results["figures"].values()}
    results["machines"] = {name: card for name, card in results["machines"].items() if name in used}
    results.pop("machine", None)  # of results from before every figure had its own
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def all_entries(sections: list[Section]) -> dict[str, dict[str, Any]]:
    """The results of all figures that are declared and measured."""
    entries = {}
    for section in sections:
        measured = read(section.path)["figures"]
        entries |= {figure.key: measured[figure.key] for figure in section.figures if figure.key in measured}
    return entries


def judged(figure: Figure, entry: dict[str, Any]) -> dict[str, Any]:
    """The result, judged by what the figure should reach today."""
    judgement = {"reach": figure.reach, "at_least": figure.at_least, "met": figure.met(entry["median"])}
    if figure.never_below is not None:
        judgement |= {"never_below": figure.never_below, "never_met": figure.never_met(entry["values"])}
    return entry | judgement


def number(value: float, unit: str) -> str:
    """Three decimals for ratios, three significant digits for the rest."""
    text = f"{value:.3f}" if unit == "x" and value < 10 else f"{value:.3g}"
    return text + ("" if unit in ("", "x") else f" {unit}")


def bound(sign: str, value: float, unit: str) -> str:
    return f"{sign} {value:g}{'x' if unit == 'x' else (' ' + unit if unit else '')}"


def verdict(met: bool | None) -> str:
    return "" if met is None else "met" if met else "missed"


def reach_of(entry: dict[str, Any]) -> str:
    return "" if entry["reach"] is None else bound(">=" if entry["at_least"] else "<=", entry["reach"], entry["unit"])


def measured_of(entry: dict[str, Any]) -> str:
    unit, values = entry["unit"], entry["values"]
    text = f"**{number(entry['median'], unit)}**"
    if max(values) > min(values):
        text += f" ({number(min(values), unit)} to {number(max(values), unit)})"
    return text + "".join(f"; {name} {number(*value)}" for name, value in entry.get("beside", {}).items())


def one_line(entry: dict[str, Any]) -> str:
    """For whoever waits at the terminal."""
    told = " ".join(part for part in (reach_of(entry) and f"(reach {reach_of(entry)})", verdict(entry["met"])) if part)
    fell = "" if entry.get("never_met", True) else f"; its lowest is below {entry['never_below']:g}: missed"
    return f"{measured_of(entry).replace('*', '')} {told}{fell}"


class Places:
    """Letters for each commit, date and machine, and numbers for machines, in the order in which they come."""

    def __init__(self) -> None:
        self.letters: dict[tuple[str, str, str, str], str] = {}
        self.machines: dict[str, dict[str, Any]] = {}

    def letter(self, entry: dict[str, Any], machines: dict[str, Any]) -> str:
        machine = str(entry.get("machine", provenance.UNKNOWN))
        if machine in machines:
            self.machines.setdefault(machine, machines[machine])
        engine = str(entry.get("engine_commit", provenance.UNKNOWN))
        place = (provenance.commit_of(entry), engine, entry["measured_at"], machine)
        n = len(self.letters)
        return self.letters.setdefault(place, chr(ord("a") + n) if n < 26 else f"a{n}")

    def table(self) -> str:
        numbers = {name: str(i + 1) for i, name in enumerate(self.machines)}
        text = "\n## Measured\n\n| at | commit | last commit that changed the engine | date | machine |\n"
        text += "| --- | --- | --- | --- | --- |\n"
        for (commit, engine, date, machine), letter in self.letters.items():
            text += f"| {letter} | {commit} | {engine} | {date} | {numbers.get(machine, provenance.UNKNOWN)} |\n"
        return text + "".join(f"\nMachine {numbers[name]}: {card_line(c)}\n" for name, c in self.machines.items())


def card_line(card: dict[str, Any]) -> str:
    simd = ", ".join(card["simd"]) or "no AVX2"
    kind = "virtual machine" if card["virtual"] else "machine"
    versions = ", ".join(f"{name} {version}" for name, version in card["versions"].items())
    return (
        f"{card['cpu']}, {card['cores']} cores ({kind}; {simd}), {card['memory_gib']} GiB, Linux {card['kernel']}, "
        f"Python {card['python']}. Versions: {versions}."
    )


def is_missed(entry: dict[str, Any]) -> bool:
    """True if the figure, or its lowest repetition, does not reach what it should."""
    return entry["met"] is False or entry.get("never_met") is False


def lines(key: str, entry: dict[str, Any], letter: str, reason: str = "") -> str:
    """The line of a figure; one more where its lowest repetition is judged, and where it is missed for a reason."""
    cells = [entry["what"], reach_of(entry), measured_of(entry), str(len(entry["values"])), verdict(entry["met"])]
    text = f"| {' | '.join(cells)} | `{key}` | {letter} |\n"
    if entry.get("never_below") is not None:
        bound, lowest = (number(value, entry["unit"]) for value in (entry["never_below"], min(entry["values"])))
        mark = verdict(entry["never_met"])
        text += f"| … its lowest repetition | never below {bound} | **{lowest}** | | {mark} | | {letter} |\n"
    if reason and is_missed(entry):
        text += f"| … why: {reason} | | | | | | |\n"
    return text


def page(sections: list[Section]) -> str:
    """The whole page, from what is on disk."""
    places = Places()
    entries = all_entries(sections)
    tables = ""
    for section in sections:
        results = read(section.path)
        measured = [figure for figure in section.figures if figure.key in results["figures"]]
        if not measured:
            continue
        tables += f"\n## {section.title}\n{section.text}\n{COLUMNS}"
        for figure in measured:
            entry = judged(figure, results["figures"][figure.key])
            tables += lines(figure.key, entry, places.letter(entry, results["machines"]), figure.reason)
        missing = [f"`{figure.key}`" for figure in section.figures if figure.key not in results["figures"]]
        if missing:
            tables += f"\nNot measured yet: {', '.join(missing)}.\n"
    mixture = MIXTURE if provenance.is_mixture(entries) else ""
    return PAGE.format(mixture=mixture) + tables + places.table()


def write() -> None:
    common.TABLE.parent.mkdir(exist_ok=True)
    common.TABLE.write_text(page(SECTIONS))


def check() -> int:
    """Say which figures describe another version than the working tree; status 3 if there are any."""
    now = provenance.version(common.ROOT)
    orders = {
        f"{name} ({how})": read(common.RESULTS.with_name(name)).get("version", {}) for name, how in ORDERS.items()
    }
    left = provenance.stale(all_entries(SECTIONS) | orders, now.code)
    if not left:
        print(f"all figures describe this version (engine {now.engine_commit})")
        return 0
    print(f"{len(left)} do not describe this version (engine {now.engine_commit}):\n{provenance.by_commit(left)}")
    return 3


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(check())
    write()
