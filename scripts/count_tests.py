"""Counts test results, and lists what failed and what was skipped, with the reasons.

usage: count_tests.py DIR|FILE...

Reads, in every DIR that scripts/run_tests.sh filled: the XML of each GoogleTest program, pytest.xml, and ctest.xml,
which knows of programs that died before they could write theirs. A FILE has a line for each thing that was no test:
"failed WHAT", or "skipped WHAT" with the reason. The last line reads "N passed, N failed, N skipped"; the exit status
is 1 when something failed or nothing ran.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

_PLACE = re.compile(r"\S+:\d+:?")


@dataclass
class Counts:
    """What was seen so far."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)


def reason(element: ET.Element) -> str:
    """The first line of a message that says more than where it came from."""
    text = element.get("message") or element.text or ""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _PLACE.fullmatch(line.strip())]
    return lines[0] if lines else "no reason given"


def count_cases(path: Path, counts: Counts) -> bool:
    """Adds the test cases of one XML file; says whether any of them failed."""
    failed_before = len(counts.failed)
    for case in ET.parse(path).iter("testcase"):
        name = f"{case.get('classname', path.stem)}.{case.get('name')}"
        if (skip := case.find("skipped")) is not None:
            counts.skipped[reason(skip)] += 1
        elif (bad := case.find("failure")) is not None or (bad := case.find("error")) is not None:
            counts.failed.append(f"{name}: {reason(bad)}")
        elif case.get("status") != "notrun":
            counts.passed += 1
    return len(counts.failed) > failed_before


def count(folder: Path, counts: Counts) -> None:
    """Adds one folder of results."""
    explained = {
        path.stem for path in sorted(folder.glob("*.xml")) if path.stem != "ctest" and count_cases(path, counts)
    }
    if not (folder / "ctest.xml").exists():
        counts.failed.append(f"{folder.name}: its tests did not run to their end")
        return
    for case in ET.parse(folder / "ctest.xml").iter("testcase"):
        name = case.get("name", "")
        if case.get("status") == "fail" and not explained & {name, f"{name}_test"}:
            counts.failed.append(f"{folder.name}/{name}: the program died, or ran out of time")
    status = folder / "pytest.status"
    if status.exists() and status.read_text().strip() not in {"0", "1"} and "pytest" not in explained:
        counts.failed.append(f"pytest ended with status {status.read_text().strip()}")


def count_lines(path: Path, counts: Counts) -> None:
    """Adds what was no test."""
    for line in path.read_text().splitlines():
        verdict, what = line.split(" ", 1)
        if verdict == "skipped":
            counts.skipped[what] += 1
        else:
            counts.failed.append(what)


def main() -> int:
    """Prints the counts of all folders together."""
    counts = Counts()
    for path in map(Path, sys.argv[1:]):
        if path.is_dir():
            count(path, counts)
        else:
            count_lines(path, counts)
    for why, times in sorted(counts.skipped.items()):
        print(f"SKIPPED [{times}] {why}")
    for failure in counts.failed:
        print(f"FAILED {failure}")
    skipped = sum(counts.skipped.values())
    print(f"{counts.passed} passed, {len(counts.failed)} failed, {skipped} skipped")
    return 1 if counts.failed or counts.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
