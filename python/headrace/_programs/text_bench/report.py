"""What comes of ``headrace bench text``: the figures as data, the two tables, and the answer."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from headrace._programs.text_bench.plan import TITLES, Settings, Variant
from headrace._programs.text_bench.rounds import Entry, Sample
from headrace._programs.text_bench.store import Store
from headrace._programs.text_bench.vocabulary import Vocabulary, processors

SCHEMA = "headrace-bench-text/1"


def data(
    settings: Settings,
    vocabulary: Vocabulary,
    sample: Sample,
    store: Store | None,
    entries: Sequence[Entry],
) -> dict[str, Any]:
    """Return all figures."""
    done = [entry for entry in entries if entry.rounds and not entry.failed]
    corpus: dict[str, Any] = {"made": not settings.paths, "sample_bytes": sample.text_bytes}
    if store is not None:
        corpus |= {
            "text_bytes": store.text_bytes,
            "documents": store.documents,
            "batches_an_epoch": store.batches,
            "tokens": store.windows * store.seq_len + 1,
            "tokenise_seconds": store.seconds,
        }
    made = {
        "schema": SCHEMA,
        "settings": asdict(settings),
        "machine": {"cpu": _processor(), "cores": processors(), "system": platform.platform()},
        "tokenizer": vocabulary.name,
        "corpus": corpus,
        "tokenising": [_tokeniser(entry, sample) for entry in done if entry.part == "tokenising"],
        "batches": [_loader(entry, settings, store) for entry in done if entry.part == "batches" and store],
        "skipped": _reasons(entries, "skipped"),
        "failed": _reasons(entries, "failed"),
    }
    made["answer"] = answer(made, settings)
    return made


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _reasons(entries: Sequence[Entry], word: str) -> list[dict[str, str]]:
    found = {(entry.part, entry.name): getattr(entry, word) for entry in entries if getattr(entry, word)}
    return [{"part": part, "name": name, "reason": reason} for (part, name), reason in found.items()]


def _tokeniser(entry: Entry, sample: Sample) -> dict[str, Any]:
    figures = entry.figures()
    first, later = figures["first_seconds"], figures["later_seconds"]
    return {
        "name": entry.name,
        "threads": entry.threads,
        "mb_per_second": sample.text_bytes / 1e6 / first,
        "mb_per_second_again": sample.text_bytes / 1e6 / later,
        "tokens_per_second": sample.tokens / first,
        "ids_equal": True,
        "rounds": entry.rounds[entry.best],
    }


def _loader(entry: Entry, settings: Settings, store: Store) -> dict[str, Any]:
    figures, best = entry.figures(), entry.best
    tokens = float(settings.batch_size * settings.seq_len)
    if entry.name == "torch-text":  # padding is no token
        lengths = np.diff(store.ends(), prepend=0) - (1 if store.ends_with_pad else 0)
        tokens = settings.batch_size * float(np.clip(lengths - 1, 0, settings.seq_len).mean())
    rate = figures["batches_per_second"]
    ahead = _reads_ahead(entry.name, best)
    made: dict[str, Any] = {
        "name": entry.name,
        "set": best.told(),
        "workers": best.workers,
        "threads": best.threads,
        "buffer": best.buffer if best.workers or best.threads else 0,
        "reads_ahead": ahead,
        **{name: figures[name] for name in ("first_batch_seconds", "batch_ms_p50", "batch_ms_p95")},
        "batches_per_second": rate,
        "tokens_per_second": rate * tokens,
        "peak_rss_bytes": figures["peak_rss_bytes"],
        "batch_bytes": entry.checked.get("batch_bytes", 0),
        "checked": entry.checked,
        "complete": all(one["complete"] for one in entry.rounds[best]),
        "tried": {way.told() or "nothing set": rounds[0]["batches_per_second"] for way, rounds in entry.rounds.items()},
        "rounds": entry.rounds[best],
    }
    if settings.step_ms is not None:
        made["waits"] = waiting(1e3 / rate, settings.step_ms, ahead)
    return made


def _reads_ahead(name: str, way: Variant) -> bool:
    return name.startswith("headrace") or name == "tf" or bool(way.workers or way.threads)


def waiting(batch_ms: float, step_ms: float, ahead: bool) -> float:
    """Return the share of a training's time that waits for the loader, 0 to 1.

    A loader that reads ahead works during the step, and is waited for as long as it needs longer than that.
    """
    waited = max(batch_ms - step_ms, 0.0) if ahead else batch_ms
    return waited / (waited + step_ms)


def answer(made: dict[str, Any], settings: Settings) -> str:
    """Return the last line: what Headrace can feed, and what to set."""
    ours = next((one for one in made["batches"] if one["name"] == "headrace"), None)
    ours = ours or next((one for one in made["batches"] if one["name"] == "headrace-jax"), None)
    if ours is None:
        told = [f"{one['name']} makes {_short(one['tokens_per_second'])} tokens/s" for one in made["tokenising"][:1]]
        return f"{told[0]}; no loader of Headrace was measured." if told else "Nothing of Headrace was measured."
    rate = ours["batches_per_second"]
    tokens = _short(ours["tokens_per_second"])
    feeds = f"Headrace can feed {rate:,.0f} batches/s ({tokens} tokens/s), {1e3 / rate:.2f} ms each"
    call = f"hr.Loader(windows, batch_size={settings.batch_size}, shuffle=True)"
    if settings.step_ms is None:
        return (
            f"{feeds}. A step that takes longer never waits: {call} needs no other setting. "
            "Give --step_ms N for your step."
        )
    share = ours["waits"]
    if share == 0:
        return (
            f"{feeds}: at a step of {settings.step_ms:g} ms the training waits 0 % of its time. "
            f"{call} needs no other setting."
        )
    return (
        f"{feeds}: at a step of {settings.step_ms:g} ms the training waits {share:.0%} of its time. "
        "Give the loader more processors (threads=), or the step more work."
    )


def _short(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"


def tables(made: dict[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """Return the tables, each with its title; the first row has the names of columns."""
    found = []
    if made["tokenising"]:
        rows = [["tokenising", "threads", "MB/s", "MB/s again", "tokens/s", "ids"]]
        for one in made["tokenising"]:
            rates = [f"{one[key]:,.1f}" for key in ("mb_per_second", "mb_per_second_again")]
            rows.append([one["name"], str(one["threads"]), *rates, _short(one["tokens_per_second"]), "equal"])
        found.append(("TOKENISING: text to ids", rows))
    if made["batches"]:
        head = [
            "batches",
            "first, ms",
            "median, ms",
            "p95, ms",
            "batches/s",
            "tokens/s",
            "memory, MB",
            "batch, MB",
            "checked",
        ]
        step = made["settings"]["step_ms"]
        rows = [head + ([f"waits at {step:g} ms"] if step is not None else [])]
        for one in made["batches"]:
            title = TITLES[one["name"]] + (f", {one['set']}" if one["set"] else "")
            row = [title, f"{one['first_batch_seconds'] * 1e3:,.1f}", f"{one['batch_ms_p50']:,.2f}"]
            row += [
                f"{one['batch_ms_p95']:,.2f}",
                f"{one['batches_per_second']:,.1f}",
                _short(one["tokens_per_second"]),
            ]
            row += [f"{one['peak_rss_bytes'] / 1e6:,.0f}", f"{one['batch_bytes'] / 1e6:,.3g}"]
            row.append("epoch" if one["checked"].get("whole_epoch") else f"{one['checked'].get('windows', 0):,} rows")
            rows.append(row + ([f"{one['waits']:.0%}"] if "waits" in one else []))
        found.append(("BATCHES: ids to input and target, int32", rows))
    return found


def notes(made: dict[str, Any]) -> list[str]:
    """Return what is to be known about the figures, and what was left out."""
    corpus, settings = made["corpus"], made["settings"]
    source = "made from a seed (--path measures yours)" if corpus["made"] else ", ".join(settings["paths"])
    lines = [f"TEXT     {source}; tokenizer: {made['tokenizer']}; tokenisers had {corpus['sample_bytes'] / 1e6:.3g} MB"]
    if "tokens" in corpus:
        tokens, batches = _short(corpus["tokens"]), corpus["batches_an_epoch"]
        line = f"TOKENS   {tokens} in {batches:,} batches, tokenised and written in {corpus['tokenise_seconds']:.1f} s"
        if batches < settings["num_batches"]:
            line += f"; {settings['num_batches']:,} batches are {settings['num_batches'] / batches:.1f} epochs of them"
        lines.append(line)
    lines += [f"TRIED    {one['name']}: {_tried(one)}" for one in made["batches"] if len(one["tried"]) > 1]
    lines += [f"SKIPPED  {one['name']} ({one['part']}): {one['reason']}" for one in made["skipped"]]
    lines += [f"FAILED   {one['name']} ({one['part']}): {one['reason']}" for one in made["failed"]]
    short = [one["name"] for one in made["batches"] if not one["complete"]]
    if short:
        lines.append(f"CUT      the time (--seconds) ended before all batches came: {', '.join(short)}")
    return lines


def _tried(one: dict[str, Any]) -> str:
    return "; ".join(f"{told} {rate:,.1f} batches/s" for told, rate in one["tried"].items())


def screen(made: dict[str, Any]) -> str:
    """Return it for the screen."""
    parts = []
    for title, rows in tables(made):
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = [
            "  ".join(
                cell.rjust(width) if i else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        parts.append("\n".join([title, *(f"  {line}" for line in lines)]))
    return "\n\n".join([*parts, "\n".join([*notes(made), f"ANSWER   {made['answer']}"])])


def markdown(made: dict[str, Any]) -> str:
    """Return it for a page."""
    parts = [f"Measured by `headrace bench text` on {made['machine']['cores']} cores of {made['machine']['cpu']}."]
    for title, rows in tables(made):
        rule = ["---", *["---:"] * (len(rows[0]) - 1)]
        parts.append(
            f"**{title}**\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in [rows[0], rule, *rows[1:]])
        )
    parts.append("\n".join(f"- {line}" for line in [*notes(made), made["answer"]]))
    return "\n\n".join(parts) + "\n"
