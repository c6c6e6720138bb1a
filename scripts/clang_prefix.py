"""Precompiled headers for check_clang.py: what libraries' headers cost is paid once for many sources, not in each."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from compile_commands import ROOT, Unit
from own_includes import includes, resolve

SHARE = 0.08  # a header that this share of a group's sources names is worth it
FEWEST = 12  # sources that share their flags


def split(unit: Unit) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that a precompiled header has to agree in, and those it need not: macros and folders of headers.

    Left out is what only code generation asks for, so that libraries and programs share a header.
    """
    fixed, free = [], []
    words = iter(unit.words[1:])
    for word in words:
        if word in {"-o", "-c"}:
            next(words)
        elif word == "-isystem":
            free.append(f"-isystem{next(words)}")
        elif word.startswith(("-D", "-I")):
            free.append(word)
        elif not word.startswith(("-fPI", "-fsanitize")):
            fixed.append(word)
    return tuple(fixed), tuple(free)


def library_headers(units: Iterable[Unit], fewest: float) -> list[str]:
    """The headers of others, in angle brackets, that at least so many of the sources include themselves."""
    counts = Counter(
        name
        for unit in units
        for name in {name for _, name, quoted in includes(unit.source) if not quoted}
        if resolve(ROOT, unit.source, name, False) is None
    )
    return sorted(name for name, count in counts.items() if count >= fewest)


def prefixes(units: Iterable[Unit], folder: Path) -> dict[Path, list[str]]:
    """For each source the words that put a precompiled header in front of it; none where it would not pay."""
    groups: dict[tuple[tuple[str, ...], bool], list[Unit]] = {}
    for unit in units:
        fixed, free = split(unit)
        groups.setdefault((fixed, "-DGTEST_HAS_PTHREAD=1" in free), []).append(unit)
    found: dict[Path, list[str]] = {}
    for number, ((fixed, _), group) in enumerate(groups.items()):
        if len(group) < FEWEST:
            continue
        everywhere = set.intersection(*(set(split(unit)[1]) for unit in group))
        common = [word for word in split(group[0])[1] if word in everywhere]
        header = folder / f"prefix_{number}.h"
        header.write_text("".join(f"#include <{name}>\n" for name in library_headers(group, SHARE * len(group))))
        output = header.with_suffix(".pch")
        command = [group[0].words[0], *fixed, *common, "-x", "c++-header", str(header), "-o", str(output)]
        made = subprocess.run([*command, "-fpch-instantiate-templates"], capture_output=True, text=True)
        if made.returncode == 0:
            found |= {unit.source: ["-include-pch", str(output)] for unit in group}
        else:
            print(f"no precompiled header for {len(group)} sources, which takes longer: {made.stderr.strip()}")
    return found
