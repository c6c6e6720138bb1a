#!/usr/bin/env python3
"""Distils 2,000 real jets into the tables that `headrace demo` draws its jets from (cli/demo/jet_tables.inc).

Input: the arrays of the JetClass sample in tim-legge/ParT_Interpretability (MIT): jc_kin_pf_vectors.npy (2000, 4, 128)
f4 (px, py, pz, E), jc_kin_pf_mask.npy (2000, 1, 128) f4. Only histograms and quantiles leave this script, never a jet.

Usage: make_jet_tables.py DATA_DIR > cli/demo/jet_tables.inc
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Quantile levels lie close together at both ends, so that tails survive linear interpolation.
QUANTILES = 33
LEVELS: Floats = (1.0 - np.cos(np.pi * np.arange(QUANTILES) / (QUANTILES - 1))) / 2.0
#: Ranks 0 and 1 (hardest particles) have rows of their own; the rest go by their place between first and last.
OWN_RANKS = 2
PLACES = 8
COUNT_GROUPS = 3
AZIMUTH_BINS = 16
#: GeV; what the four-vectors' masses cluster at: "massless" covers photons, neutral hadrons
#: (stored without a mass) and electrons, which float32 cannot tell apart.
MASSES = {"massless": 0.0, "muon": 0.10566, "pion": 0.13957, "kaon": 0.49368, "proton": 0.93827}
#: Above this energy a float32 four-vector no longer tells a muon from a pion.
MASS_ENERGY_LIMIT_GEV = 25.0


def rank_rows(counts: NDArray[np.int64], particles: int) -> NDArray[np.int64]:
    """Row of the rank tables for every (jet, rank): the same rule as rank_row() in jet_generator.cpp."""
    rank = np.arange(particles)[None, :]
    place = (rank * PLACES) // np.maximum(counts[:, None], 1)
    return np.where(rank < OWN_RANKS, rank, OWN_RANKS + np.minimum(place, PLACES - 1))


def quantiles(values: Floats) -> Floats:
    return np.quantile(values, LEVELS)


def array(name: str, values: Floats | NDArray[np.int64], comment: str) -> str:
    """One constexpr array, wrapped to 120 columns."""
    integer = np.issubdtype(values.dtype, np.integer)
    words = [str(int(v)) if integer else f"{v:.4g}F" for v in values.ravel()]
    words = [w if integer or "." in w or "e" in w else w.replace("F", ".0F") for w in words]
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 118:
            lines.append(line)
            line = "   "
        line += f" {word},"
    lines.append(line)
    extents = "".join(f"[{n}]" for n in values.shape)
    body = "\n".join(lines)
    if values.ndim == 2:  # nested braces are optional in C++ for aggregates, but warned about
        width = values.shape[1]
        rows = [words[i : i + width] for i in range(0, len(words), width)]
        body = "\n".join(wrap_row(row) for row in rows)
    kind = "int" if integer else "float"
    return f"// {comment}\nconstexpr {kind} {name}{extents} = {{\n{body}\n}};\n"


def wrap_row(words: list[str]) -> str:
    lines, line = [], "    {"
    for i, word in enumerate(words):
        piece = word + ("}," if i + 1 == len(words) else ", ")
        if len(line) + len(piece) > 119:
            lines.append(line.rstrip())
            line = "     "
        line += piece
    lines.append(line)
    return "\n".join(lines)


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(sys.argv[1])
    vectors = np.load(folder / "jc_kin_pf_vectors.npy").astype(np.float64)
    present = np.load(folder / "jc_kin_pf_mask.npy")[:, 0] > 0
    counts = present.sum(axis=1).astype(np.int64)
    particles = present.shape[1]
    px, py, pz, energy = (vectors[:, i] for i in range(4))
    pt = np.hypot(px, py)
    jet = (vectors * present[:, None]).sum(axis=2)
    jet_pt = np.hypot(jet[:, 0], jet[:, 1])
    jet_eta = np.arcsinh(jet[:, 2] / jet_pt)
    jet_phi = np.arctan2(jet[:, 1], jet[:, 0])
    safe_pt = np.where(present, pt, 1.0)
    delta_eta = np.arcsinh(pz / safe_pt) - jet_eta[:, None]
    delta_phi = (np.arctan2(py, px) - jet_phi[:, None] + np.pi) % (2 * np.pi) - np.pi
    radius = np.where(present, np.hypot(delta_eta, delta_phi), 1.0)
    azimuth = np.arctan2(delta_phi, delta_eta)
    rows = rank_rows(counts, particles)
    n_rows = OWN_RANKS + PLACES

    histogram = np.bincount(counts, minlength=particles + 1).astype(np.int64)
    edges = np.quantile(counts, np.arange(1, COUNT_GROUPS) / COUNT_GROUPS).astype(np.int64)
    group = np.searchsorted(edges, counts, side="right")
    pair = present[:, 1:]
    steps = np.log(safe_pt[:, :-1] / safe_pt[:, 1:])
    step = np.stack(
        [
            quantiles(steps[pair & (rows[:, :-1] == r) & (group[:, None] == g)])
            for g in range(COUNT_GROUPS)
            for r in range(n_rows)
        ]
    )
    log_radius = np.stack([quantiles(np.log(np.maximum(radius, 1e-4))[present & (rows == r)]) for r in range(n_rows)])

    turn = np.abs((azimuth - azimuth[:, :1] + np.pi) % (2 * np.pi) - np.pi)
    turn_histogram = np.stack(
        [np.histogram(turn[present & (rows == r)], bins=AZIMUTH_BINS, range=(0.0, np.pi))[0] for r in range(1, n_rows)]
    ).astype(np.int64)

    mass = np.sqrt(np.maximum(energy**2 - px**2 - py**2 - pz**2, 0.0))
    clear = present & (energy < MASS_ENERGY_LIMIT_GEV)
    values = np.array(list(MASSES.values()))
    kind = np.abs(mass[..., None] - values).argmin(axis=2)
    shares = np.stack([np.bincount(kind[clear & (rows == r)], minlength=len(values)) for r in range(n_rows)])
    sampled = shares.sum(axis=1, keepdims=True)
    per_mille = np.round(1000.0 * shares / np.maximum(sampled, 1)).astype(np.int64)
    for r in range(n_rows - 1, -1, -1):  # the hardest particles are mostly above the limit: take the next row's shares
        if sampled[r, 0] < 200:
            per_mille[r] = per_mille[r + 1]

    print("// Written by scripts/make_jet_tables.py; do not edit. Statistics, not data, of 2,000 simulated jets of one")
    print("// class of JetClass, from tim-legge/ParT_Interpretability at 81a563c. MIT licence,")
    print("// Copyright (c) 2022 Huilin Qu, Congqiao Li, Sitian Qian.")
    print("// Quantile k of a table lies at level (1 - cos(pi k / (n - 1))) / 2.")
    print("// Ranks go by falling pt: rank 0, rank 1, then eighths of the way from the first to the last particle.\n")
    print(array("kParticleCounts", histogram, "Jets with k particles."))
    print(
        array(
            "kCountGroupEdges", edges, "Jets fall into three groups by particle count: below, between, from the last."
        )
    )
    print(array("kJetPt", quantiles(jet_pt), "Quantiles of the jet's pt in GeV."))
    print(array("kJetEta", quantiles(jet_eta), "Quantiles of the jet's pseudorapidity."))
    print(array("kLogStep", step, "Quantiles of log(pt of a rank / pt of the next), by count group, then rank row."))
    print(array("kLogRadius", log_radius, "Quantiles of log(delta R to the jet's axis), by rank row."))
    print(
        array("kTurn", turn_histogram, "Particles by azimuth about the axis from rank 0's, 0 to pi; rank rows from 1.")
    )
    print(array("kIdentityPerMille", per_mille, f"Shares by rank row: {', '.join(MASSES)}."))
    print(array("kIdentityMass", values, "Their masses in GeV."))
    return 0


if __name__ == "__main__":
    sys.exit(main())
