"""Fails on #include lines that climb: a floor includes only floors below it (ARCHITECTURE.md).

usage: check_layers.py [ROOT]

Prints FILE:LINE and the reason for each, and exits with 1 when there is one. Rules:
- base <- catalog <- storage <- codec <- format <- cache <- order <- assembly <- delivery <- loader <- tools <- cli, python;
- `order` decides who comes when, without I/O, threads or a clock: it includes base and catalog only;
- public headers (include/headrace) include the standard library and other public headers only: users have no more;
- headers directly in include/headrace (the umbrella) belong to the faces.
"""

from __future__ import annotations

import sys
from pathlib import Path

from own_includes import includes, source_files

FLOORS = ["base", "catalog", "storage", "codec", "format", "cache", "order", "assembly", "delivery", "loader", "tools"]
FACES = len(FLOORS)
ONLY = {"order": {"base", "catalog", "order"}}


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


def problems(root: Path) -> list[str]:
    """One line of text for every include that climbs."""
    found = []
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
    return found


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    print("\n".join(found) if found else f"floors: {len(source_files(root))} files, no include climbs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
