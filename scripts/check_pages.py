"""Fails on pages for developers that say what is not so: a source that is not there, other layers or components.

usage: check_pages.py [ROOT]

Prints FILE:LINE and what is wrong. Rules:
- what stands between backticks in ARCHITECTURE.md, CONTRIBUTING.md, docs/internals, docs/guides and docs/decisions, and
  begins with `src/`, another folder of the repository or the name of a layer, is there (`src/order/sampler.h`,
  `order/sampler`). Of a pattern (`<name>`, `*`, `…`) it is the folder;
- the table of layers in ARCHITECTURE.md has the layers of CMakeLists.txt in their order, each with its components;
- docs/internals/components.md has each component, and the file to read first is there;
- docs/decisions/index.md lists every decision.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from layer_order import read_layers

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "docs/internals/*.md", "docs/guides/*.md", "docs/decisions/*.md")
TOP = ("src", "include", "scripts", "tests", "python", "docs", "bench", "fuzz", "examples", "cmake", "cli")
NAMED = re.compile(r"`([\w.-]+(?:/[\w.{},-]+)+/?)(?::\d+)?`")
#: The folder of a pattern, `src/codec/<name>.cpp`.
FOLDER = re.compile(r"`([\w.-]+(?:/[\w.-]+)*)/[^`/ ]*[<*…][^`]*`")
#: A page that says how something is added names what its reader will make, or any x.
MADE_BY_THE_READER = re.compile(r"(^|/)x[._]|/toy(/|_|\b)|skeleton|every_verb")

#: Layers whose components are named after something that users know: the verbs of the command line.
COMPONENTS_ARE_NAMED_ELSEWHERE = {"tools"}


def exists(root: Path, name: str) -> bool:
    """True if there is such a file or folder; a name without an ending stands for its header or source."""
    if (root / name).exists():
        return True
    if braces := re.search(r"\{([^}]*)\}", name):
        return all(exists(root, name.replace(braces[0], part)) for part in braces[1].split(","))
    path = root / name
    return any(path.with_name(path.name + ending).exists() for ending in (".h", ".cpp", ".py", "_test.cpp"))


def architecture_problems(root: Path) -> list[str]:
    """One line of text if ARCHITECTURE.md has other layers than CMakeLists.txt, or for each component it lacks."""
    path = root / "ARCHITECTURE.md"
    if not path.is_file():
        return []
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    layers = read_layers(root)
    if [name for name, _ in rows] != list(layers):
        return [f"ARCHITECTURE.md: the table of layers has to have {', '.join(layers)}, in this order"]
    return [
        f"ARCHITECTURE.md: the row of {name} lacks the component `{component}`"
        for name, text in rows
        for component in layers[name].components
        if "/" not in component and f"`{component}`" not in text and name not in COMPONENTS_ARE_NAMED_ELSEWHERE
    ]


def component_problems(root: Path) -> list[str]:
    """One line of text for each component that docs/internals/components.md lacks, or whose first file is gone."""
    path = root / "docs/internals/components.md"
    if not path.is_file():
        return []
    rows = [line.split("|") for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    listed = {folder: row[3] for row in rows for folder in re.findall(r"`([\w/]+)`", row[1])}
    wanted = [f"{layer.name}/{component}" for layer in read_layers(root).values() for component in layer.components]
    found = [f"docs/internals/components.md: it lacks `{name}`" for name in wanted if name not in listed]
    found += [f"docs/internals/components.md: CMakeLists.txt has no `{name}`" for name in listed if name not in wanted]
    for folder, first in listed.items():
        for name in re.findall(r"`(\w+\.(?:h|cpp))`", first):
            if not (root / "src" / folder / name).is_file():
                found.append(f"docs/internals/components.md: there is no src/{folder}/{name}")
    return found


def decision_problems(root: Path) -> list[str]:
    """One line of text for each decision that the list of them lacks."""
    folder = root / "docs/decisions"
    text = (folder / "index.md").read_text(encoding="utf-8") if (folder / "index.md").is_file() else ""
    return [
        f"docs/decisions/index.md: it lacks {path.name}"
        for path in sorted(folder.glob("[0-9]*.md"))
        if f"({path.name})" not in text
    ]


def problems(root: Path) -> list[str]:
    """One line of text for each name that leads nowhere, and for what the pages lack."""
    layers = set(read_layers(root))
    found = architecture_problems(root) + component_problems(root) + decision_problems(root)
    for page in sorted({path for pattern in PAGES for path in root.glob(pattern)}):
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
            for name in NAMED.findall(line) + FOLDER.findall(line):
                first = name.partition("/")[0]
                inside = f"src/{name}" if first in layers else f"include/{name}" if first == "headrace" else name
                if first not in layers and first not in TOP and not (first == "headrace" and name.endswith(".h")):
                    continue
                if exists(root, inside) or MADE_BY_THE_READER.search(name):
                    continue
                stem = Path(name).stem
                now = sorted(str(p.relative_to(root)) for p in (root / "src").rglob(f"{stem}.*"))
                hint = f"; {now[0]} has that name" if now else ""
                found.append(f"{page.relative_to(root)}:{number}: there is no {name}{hint}")
    return found


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    print("\n".join(found) or "pages: what they say of the sources is so")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
