"""The figures of transforms, trainers and evaluation."""

from __future__ import annotations

from functools import partial

from figure import Contestant, Figure, Runs, over_best_rival, printed, ratio

THREADS = 2  # of every contestant here


def over_decode_and_expand(runs: Runs) -> list[float]:
    """Headrace over decoding and expanding one after the other, by all threads, where nothing else is done."""
    shares = []
    for ours, decoded, expanded in zip(runs["headrace"], runs["decode"], runs["expand"], strict=True):
        alike = next(jets for jets in expanded["jets"] if jets["particles"] == 42)  # as the workload has on average
        limit = 1 / (1 / decoded["rows_per_s"] + 1 / (alike["jets_per_s"] * THREADS))
        shares.append(ours["rows_per_s"] / limit)
    return shares


def over_copy(particles: int, runs: Runs) -> list[float]:
    return [float(jets["ratio"]) for run in runs["headrace"] for jets in run["jets"] if jets["particles"] == particles]


# A dense batch has 35 MB: the window of 1 GiB, which other figures have, would decode each chunk 1.8 times an epoch.
DENSE = Contestant("headrace epochs", options=("--dense", "--memory", "2GiB"))
DENSE_TORCH = Contestant("headrace epochs", options=("--dense", "--memory", "2GiB", "--framework", "torch"))
SLICES = {
    f"torch w{n}": Contestant("torch_h5py", options=("--read", "slices", "--dense", "--workers", str(n)))
    for n in (0, 1, 2)
}
PAIRS = Contestant("pairs", "", ("11",), trial=("1",))
RECORDINGS = Contestant("grouped_evaluation", "", trial=("--recordings", "50", "--repetitions", "1"))
ROUND = ("--rounds", "1")

TRAINER_FIGURES = [
    Figure(
        "dense_jets",
        "jets with dense adjacency matrices, 2 GiB, later epochs, against decoding and expanding in threads alone",
        0.85,
        True,
        {"headrace": DENSE, "decode": Contestant("limit"), "expand": PAIRS},
        over_decode_and_expand,
        "x",
    ),
    Figure(
        "dense_jets_vs_torch",
        "the same against torch DataLoader + h5py, slices of 512 made dense by one gather, best of 0-2 workers",
        4.5,
        True,
        {"headrace": DENSE_TORCH, **SLICES},
        over_best_rival,
        "x",
    ),
    Figure(
        "symmetric_pairs",
        "`SymmetricPairs` of 60 particles of 128, one thread, against a streaming copy of the matrices",
        0.7,
        True,
        {"headrace": PAIRS},
        partial(over_copy, 60),
        "x",
        beside={"128 particles": (partial(over_copy, 128), "x")},
    ),
    Figure(
        "trainer_fit",
        "Lightning's `Trainer.fit` with a model of one parameter, later epochs, against a plain loop",
        0.95,
        True,
        {
            "headrace": Contestant("trainer_fit", options=("--fit",), trial=("--epochs", "1")),
            "loop": Contestant("trainer_fit", trial=("--epochs", "1")),
        },
        partial(ratio, "headrace", "loop"),
        "x",
    ),
    Figure(
        "mel_spec_augment",
        "128-byte samples with `SpecAugment`, exactly shuffled, from RAM: samples a second of processor time",
        8,
        True,
        {"headrace": Contestant("transforms", "", ("mel",), trial=ROUND)},
        printed("per_core", 1e-6),
        "M/s",
        rows="samples",
        beside={"over NumPy's bare gather": (printed("over_gather"), "x")},
    ),
    Figure(
        "pair_features",
        "`PairFeatures` of 128 particles against vectorised torch, processor time of one thread each",
        5,
        True,
        {"headrace": Contestant("transforms", "", ("pair_features",), trial=ROUND)},
        printed("over_torch"),
        "x",
    ),
    Figure(
        "grouped_evaluation",
        "recordings of 237 segments through a small CNN: many a batch and `GroupReducer`, against one forward a file",
        3,
        True,
        {"headrace": RECORDINGS},
        printed("ratio"),
        "x",
        rows="recordings",
        beside={"recordings": (printed("files_per_second"), "/s")},
    ),
]
