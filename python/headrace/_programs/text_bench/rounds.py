"""Turns: every contestant once a round, in alternating order, and medians of what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

import numpy as np

from headrace._programs.text_bench.memory import available_bytes
from headrace._programs.text_bench.plan import LOADERS, TOKENISERS, Settings, Variant, absent, variants
from headrace._programs.text_bench.processes import measured
from headrace._programs.text_bench.store import Store
from headrace._programs.text_bench.vocabulary import Vocabulary, processors

Progress = Callable[[int, int], Any]


@dataclass
class Entry:
    """A contestant of a part, with the rounds of each way to set it up."""

    part: str
    name: str
    threads: int = 0  # of a tokenizer
    ways: list[Variant] = field(default_factory=lambda: [Variant()])
    rounds: dict[Variant, list[dict[str, Any]]] = field(default_factory=dict)
    checked: dict[str, Any] = field(default_factory=dict)
    skipped: str = ""
    failed: str = ""

    @property
    def best(self) -> Variant:
        """The way that was fastest in the first round."""
        if self.part == "tokenising":
            return self.ways[0]
        return max(self.rounds, key=lambda way: float(self.rounds[way][0]["batches_per_second"]))

    def figures(self) -> dict[str, float]:
        """Return the medians of the rounds of its best way."""
        rounds = self.rounds[self.best]
        names = [name for name, value in rounds[0].items() if isinstance(value, (int, float)) and name != "complete"]
        return {name: float(median(one[name] for one in rounds)) for name in names}


@dataclass(frozen=True)
class Sample:
    """The text that tokenizers are timed with."""

    texts: str
    documents: int
    ids: str
    text_bytes: int
    tokens: int


class Turns:
    """All contestants of both parts."""

    def __init__(
        self, settings: Settings, vocabulary: Vocabulary, store: Store | None, sample: Sample, progress: Progress | None
    ) -> None:
        self._settings, self._vocabulary, self._store, self._sample = settings, vocabulary, store, sample
        self._progress = progress
        self._done = 0
        self.entries = self._entries()

    def _entries(self) -> list[Entry]:
        made: list[Entry] = []
        threads = dict.fromkeys((1, processors()))
        for name, packages in TOKENISERS.items():
            if name in self._settings.impl:
                reason = absent(packages)
                made += [Entry("tokenising", name, count, skipped=reason) for count in threads]
        for name, packages in LOADERS.items():
            if name in self._settings.impl and self._store is not None:
                batch_bytes = 8 * self._settings.batch_size * self._settings.seq_len
                ways = variants(name, self._settings, batch_bytes, available_bytes())
                made.append(Entry("batches", name, ways=ways, skipped=absent(packages)))
        return made

    def measure(self) -> None:
        """Check all tokenizers, then measure in turns: in the first round every way, then the best of each."""
        last = {entry.name: entry for entry in self._live() if entry.part == "tokenising"}
        for name, entry in last.items():  # with all threads
            self._turn(entry, entry.ways[0], check=True)
            for other in self.entries:
                if (other.part, other.name) == ("tokenising", name):
                    other.skipped, other.failed = entry.skipped, entry.failed
        for number in range(self._settings.rounds):
            live = self._live()
            for entry in live if number % 2 == 0 else reversed(live):
                for way in entry.ways if number == 0 else [entry.best]:
                    answer = self._turn(entry, way, check=number == 0 and entry.part == "batches")
                    if answer is None:
                        break
                    if checked := answer.pop("checked", None):
                        entry.checked = checked
                    entry.rounds.setdefault(way, []).append(answer)

    def _live(self) -> list[Entry]:
        return [entry for entry in self.entries if not entry.skipped and not entry.failed]

    def _turn(self, entry: Entry, way: Variant, *, check: bool) -> dict[str, Any] | None:
        request: dict[str, Any] = {
            "part": entry.part,
            "name": entry.name,
            "seconds": self._settings.seconds,
            "check": check,
            "vocabulary": asdict(self._vocabulary),
        }
        environment = None
        if entry.part == "tokenising":
            sample = self._sample
            request |= {"threads": entry.threads, "texts": sample.texts, "documents": sample.documents}
            request["ids"] = sample.ids
            environment = {
                "RAYON_NUM_THREADS": str(entry.threads),
                "TOKENIZERS_PARALLELISM": "true" if entry.threads > 1 else "false",
            }
        else:
            assert self._store is not None
            request |= {"store": asdict(self._store), "variant": asdict(way), "count": self._settings.num_batches}
            environment = {"TOKENIZERS_PARALLELISM": "false"} if entry.name == "torch-text" else None
        answer = measured(request, environment)
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._turns())
        entry.skipped, entry.failed = answer.get("skipped", ""), answer.get("failed", "")
        return None if entry.skipped or entry.failed else answer

    def _turns(self) -> int:
        checks = len({entry.name for entry in self._live() if entry.part == "tokenising"})
        more = sum(len(entry.ways) - 1 for entry in self._live())
        return max(checks + more + self._settings.rounds * len(self._live()), self._done)


def write_sample(texts: list[str], vocabulary: Vocabulary, path: str, ids_path: str) -> Sample:
    """Write the ids that all tokenizers should make of these texts, which are the first of a file, and say how many."""
    encoder = vocabulary.own()
    ids = encoder.joined(encoder.encode(texts))
    np.save(ids_path, ids)
    return Sample(path, len(texts), ids_path, sum(len(text.encode()) for text in texts), len(ids))
