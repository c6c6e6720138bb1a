"""Fails on #include lines that break the layer order, or include an internal header (ARCHITECTURE.md).

usage: check_layers.py [ROOT]

Prints FILE:LINE and the reason for each, and exits with 1 when there is one. Rules:
- base <- catalog <- spec <- storage <- codec <- format <- cache <- order <- transform <- tokenizer <- assembly
  <- delivery <- dataset <- corpus <- loader <- tools <- faces;
- `order` gives the order of samples, without I/O, threads or a clock: it includes base and catalog only;
- `transform` is arithmetic on memory: it includes base and catalog only, too;
- `tokenizer` reads the file of a vocabulary and knows no others: it includes base, catalog and storage;
- public headers (include/headrace) include the standard library and other public headers only: users have no more;
- headers directly in include/headrace (the umbrella) belong to the faces;
- a header in src/<layer> is internal to its layer, but for those in src/layer_headers.txt, which other layers may
  include. A header named *_impl.h, *_internal.h or *-inl.h cannot be listed, and `layer/*` does not list sub-folders;
- helpers of tests (testing/x.h, x_testing.h, testing_x.h) are for tests and benchmarks, of any layer above.
"""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

from own_includes import includes, source_files

LAYERS = [
    *["base", "catalog", "spec", "storage", "codec", "format", "cache", "order", "transform", "tokenizer"],
    *["assembly", "delivery", "dataset", "corpus", "loader", "tools"],
]
FACES = len(LAYERS)
ONLY = {
    "order": {"base", "catalog", "order"},
    "transform": {"base", "catalog", "transform"},
    "tokenizer": {"base", "catalog", "storage", "tokenizer"},
}
LISTED = "src/layer_headers.txt"
ALWAYS_INTERNAL = re.compile(r"(_impl|_internal|-inl)\.h$")
TESTS_ONLY = re.compile(r"(^|/)testing/|(^|/)testing_\w+\.h$|_testing\.(h|cpp)$")
TEST = re.compile(r"_(test|bench)\.cpp$")


def layer_of_file(path: Path) -> str | None:
    """The layer of a file (relative to the root), or "face"; None where no layer has that name."""
    parts = path.parts
    umbrella = parts[0] == "include" and len(parts) == 3
    if parts[0] in {"cli", "python"} or umbrella:
        return "face"
    name = parts[2] if parts[0] == "include" else parts[1]
    return name if name in LAYERS else None


def layer_of_include(name: str, quoted: bool) -> str | None:
    """The layer that an #include asks for; None for a library's header or one in the same folder."""
    parts = name.split("/")
    if parts[0] == "headrace":
        return parts[1] if len(parts) > 2 else "face"
    if quoted and len(parts) > 1:
        if parts[0] in LAYERS:
            return parts[0]
        if parts[0] in {"cli", "bind", "demo", "python"}:
            return "face"
    return None


def rank(layer: str) -> int:
    """The place in the layer order; the faces are above all layers."""
    return LAYERS.index(layer) if layer in LAYERS else FACES


class LayerHeaders:
    """The headers that other layers may include: the lines of src/layer_headers.txt, `layer/*` for a whole folder."""

    def __init__(self, root: Path) -> None:
        path = root / LISTED
        self.lines: dict[str, int] = {}
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
            if name := line.split("#")[0].strip():
                self.lines[name] = number
        self.used: set[str] = set()

    def lists(self, name: str) -> bool:
        """True if a line lists the header; the line counts as used then."""
        same_depth = {line for line in self.lines if line.count("/") == name.count("/")}
        matching = {line for line in same_depth if fnmatch(name, line) and not ALWAYS_INTERNAL.search(name)}
        self.used |= matching
        return bool(matching)

    def problems(self) -> list[str]:
        """One line of text for every line of the list that no include needs."""
        return [
            f"{LISTED}:{number}: no other layer includes {line}: take the line out, the header is internal"
            for line, number in self.lines.items()
            if line not in self.used
        ]


def internal(relative: Path, layer: str, target: str, name: str, listed: LayerHeaders) -> str | None:
    """What is wrong with including a header of src from the same layer or one below; None if nothing is."""
    if TESTS_ONLY.search(name):
        test = TEST.search(relative.name) or TESTS_ONLY.search(str(relative))
        return None if test else f"{layer} includes {name}, which is for tests only"
    if target == layer or target == "face" or listed.lists(name):
        return None
    if ALWAYS_INTERNAL.search(name):
        return f"{layer} includes {name}, which is internal to {target}"
    return f"{layer} includes {name}, which is internal to {target}: {LISTED} lists what other layers may include"


def problems(root: Path) -> list[str]:
    """One line of text for every include that breaks the layer order or includes an internal header."""
    found = []
    listed = LayerHeaders(root)
    for path in source_files(root):
        relative = path.relative_to(root)
        layer = layer_of_file(relative)
        if layer is None:
            found.append(f"{relative}:1: no layer has this name; the layers are {', '.join(LAYERS)}")
            continue
        public = relative.parts[0] == "include"
        for line, name, quoted in includes(path):
            where = f"{relative}:{line}: "
            target = layer_of_include(name, quoted)
            if public and (quoted or ("." in name and not name.startswith("headrace/"))):
                found.append(f"{where}a public header includes {name}, which users do not have")
            elif target is None:
                continue
            elif rank(target) > rank(layer):
                found.append(f"{where}{layer} includes {name}, which belongs to {target}, above it")
            elif target not in ONLY.get(layer, {target}):
                allowed = " and ".join(sorted(ONLY[layer] - {layer}))
                found.append(f"{where}{layer} includes {name} of {target}; it may include only {allowed}")
            elif quoted and (why := internal(relative, layer, target, name, listed)):
                found.append(where + why)
    return found + listed.problems()


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    print(
        "\n".join(found)
        if found
        else f"layers: {len(source_files(root))} files, all includes keep to the layer order and to listed headers"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
