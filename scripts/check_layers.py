"""Fails on #include lines that climb, or that go through a wall: what a floor may include (ARCHITECTURE.md).

usage: check_layers.py [ROOT]

Prints FILE:LINE and the reason for each, and exits with 1 when there is one. Rules:
- base <- catalog <- storage <- codec <- format <- cache <- order <- transform <- assembly <- delivery <- loader
  <- tools <- faces;
- `order` decides who comes when, without I/O, threads or a clock: it includes base and catalog only;
- `transform` is arithmetic on memory: it includes base and catalog only, too;
- public headers (include/headrace) include the standard library and other public headers only: users have no more;
- headers directly in include/headrace (the umbrella) belong to the faces;
- a header in src/<floor> is internal to its floor, but for those in src/doors.txt, which other floors may include. That
  list cannot open a header named *_impl.h, *_internal.h or *-inl.h, and `floor/*` does not open sub-folders;
- helpers of tests (testing/x.h, x_testing.h, testing_x.h) are for tests and benchmarks, of any floor above.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from own_includes import includes, source_files

FLOORS = [
    *["base", "catalog", "storage", "codec", "format", "cache", "order", "transform"],
    *["assembly", "delivery", "loader", "tools"],
]
FACES = len(FLOORS)
ONLY = {"order": {"base", "catalog", "order"}, "transform": {"base", "catalog", "transform"}}
DOORS = "src/doors.txt"
NEVER_A_DOOR = re.compile(r"(_impl|_internal|-inl)\.h$")
TESTS_ONLY = re.compile(r"(^|/)testing/|(^|/)testing_\w+\.h$|_testing\.(h|cpp)$")
TEST = re.compile(r"_(test|bench)\.cpp$")


def floor_of_file(path: Path) -> str | None:
    """The floor that a file (relative to the root) lies on, or "face"; None where no floor has that name."""
    parts = path.parts
    umbrella = parts[0] == "include" and len(parts) == 3
    if parts[0] in {"cli", "python"} or umbrella:
        return "face"
    name = parts[2] if parts[0] == "include" else parts[1]
    return name if name in FLOORS else None


def floor_of_include(name: str, quoted: bool) -> str | None:
    """The floor that an #include asks for; None for a library's header or one in the same folder."""
    parts = name.split("/")
    if parts[0] == "headrace":
        return parts[1] if len(parts) > 2 else "face"
    if quoted and len(parts) > 1:
        if parts[0] in FLOORS:
            return parts[0]
        if parts[0] in {"cli", "bind", "demo", "python"}:
            return "face"
    return None


def height(floor: str) -> int:
    """Floors count from the ground; the faces stand above all."""
    return FLOORS.index(floor) if floor in FLOORS else FACES


class Doors:
    """The headers that other floors may include: the lines of src/doors.txt, `floor/*` for all of a floor."""

    def __init__(self, root: Path) -> None:
        path = root / DOORS
        self.lines: dict[str, int] = {}
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
            if name := line.split("#")[0].strip():
                self.lines[name] = number
        self.used: set[str] = set()

    def open_to_all(self, name: str) -> bool:
        """True if there is a door; it counts as used then."""
        same_depth = {door for door in self.lines if door.count("/") == name.count("/")}
        matching = {door for door in same_depth if fnmatch(name, door) and not NEVER_A_DOOR.search(name)}
        self.used |= matching
        return bool(matching)

    def problems(self) -> list[str]:
        """One line of text for every line of the list that opens nothing."""
        return [
            f"{DOORS}:{number}: no other floor includes {door}: take the line out, the header is internal"
            for door, number in self.lines.items()
            if door not in self.used
        ]


def wall(relative: Path, floor: str, target: str, name: str, doors: Doors) -> str | None:
    """What is wrong with including a header of src that lies on the same floor or below; None if nothing is."""
    if TESTS_ONLY.search(name):
        test = TEST.search(relative.name) or TESTS_ONLY.search(str(relative))
        return None if test else f"{floor} includes {name}, which is for tests only"
    if target == floor or target == "face" or doors.open_to_all(name):
        return None
    if NEVER_A_DOOR.search(name):
        return f"{floor} includes {name}, which is internal to {target}"
    return f"{floor} includes {name}, which is internal to {target}: {DOORS} lists what other floors may include"


def problems(root: Path) -> list[str]:
    """One line of text for every include that climbs or goes through a wall."""
    found = []
    doors = Doors(root)
    for path in source_files(root):
        relative = path.relative_to(root)
        floor = floor_of_file(relative)
        if floor is None:
            found.append(f"{relative}:1: no floor has this name; the floors are {', '.join(FLOORS)}")
            continue
        public = relative.parts[0] == "include"
        for line, name, quoted in includes(path):
            where = f"{relative}:{line}: "
            target = floor_of_include(name, quoted)
            if public and (quoted or ("." in name and not name.startswith("headrace/"))):
                found.append(f"{where}a public header includes {name}, which users do not have")
            elif target is None:
                continue
            elif height(target) > height(floor):
                found.append(f"{where}{floor} includes {name}, which belongs to {target}, above it")
            elif target not in ONLY.get(floor, {target}):
                found.append(f"{where}{floor} includes {name} of {target}; it may include only base and catalog")
            elif quoted and (why := wall(relative, floor, target, name, doors)):
                found.append(where + why)
    return found + doors.problems()


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    print(
        "\n".join(found)
        if found
        else f"floors: {len(source_files(root))} files, no include climbs or goes through a wall"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
