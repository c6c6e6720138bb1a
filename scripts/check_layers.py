"""Fails on files and #include lines that break the order of layers and components, which CMakeLists.txt has.

usage: check_layers.py [ROOT]

Prints FILE:LINE and the reason for each, and exits with 1 when there is one. Rules:
- a layer is a folder of src; it includes the layers that CMakeLists.txt names as BELOW it, and those below them;
- `order` gives the order of samples: it includes nothing of base that knows a clock, a thread or the machine;
- a layer's components are its folders, in the order of COMPONENTS; a component includes those before it. What lies in
  the layer's own folder serves them all: the contract that they share, and what puts them together;
- a folder holds at most 40 files beside its tests, and a test lies beside what it tests;
- public headers lie in include/headrace, flat. They include the standard library and other public headers only: users
  have no more. src/layer_headers.txt says to which layer each belongs; headrace.h includes them all;
- a header in src/<layer> is internal to its layer, but for those in src/layer_headers.txt, which other layers may
  include. A header named *_impl.h, *_internal.h or *-inl.h cannot be listed, and `layer/**` lists all that a layer has;
- helpers of tests (testing/x.h, x_testing.h, testing_x.h) are for tests and benchmarks, of any layer above.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from layer_order import Layer, read_layers
from own_includes import includes, source_files

MOST_FILES = 40
#: What a layer may not include of those below it: an order that reads a clock or asks a thread is none.
FORBIDDEN = {"order": ("base/threads/", "base/machine/", "base/clock.h", "base/stage_clock.h")}
FACE = "face"
LISTED = "src/layer_headers.txt"
ALWAYS_INTERNAL = re.compile(r"(_impl|_internal|-inl)\.h$")
TESTS_ONLY = re.compile(r"(^|/)testing/|(^|/)testing_\w+\.h$|_testing\.(h|cpp)$")
TEST = re.compile(r"_(test|bench)\.cpp$")
NO_COMPONENTS = {"testing", "without"}  # helpers of tests, and what stands in for a library


class LayerHeaders:
    """src/layer_headers.txt: the headers that other layers may include, and the layer of each public header."""

    def __init__(self, root: Path) -> None:
        path = root / LISTED
        self.lines: dict[str, int] = {}
        self.public: dict[str, str] = {}
        for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], start=1):
            name, _, layer = (part.strip() for part in line.split("#")[0].partition(":"))
            if name and layer:
                self.public[name] = layer
            if name:
                self.lines[name] = number
        self.used: set[str] = set()

    def lists(self, name: str) -> bool:
        """True if a line lists the header; the line counts as used then."""
        matching = {line for line in self.lines if fnmatch(name, line) and not ALWAYS_INTERNAL.search(name)}
        self.used |= matching
        return bool(matching)

    def problems(self, root: Path, layers: dict[str, Layer]) -> list[str]:
        """One line of text for every line of the list that no include needs, or that names no header or layer."""
        unknown = [
            f"{LISTED}:{self.lines[name]}: no layer is called {layer}"
            for name, layer in self.public.items()
            if layer not in layers
        ]
        return (
            unknown
            + [
                f"{LISTED}:{number}: no other layer includes {line}: take the line out, the header is internal"
                for line, number in self.lines.items()
                if line not in self.used and line not in self.public
            ]
            + [
                f"{LISTED}:{self.lines[name]}: there is no include/{name}: take the line out"
                for name in self.public
                if not (root / "include" / name).is_file()
            ]
        )


@dataclass
class Tree:
    """The layers of a checkout, and the list of their headers."""

    root: Path
    layers: dict[str, Layer]
    listed: LayerHeaders

    def layer_of_file(self, path: Path) -> str | None:
        """The layer of a file (relative to the root), or "face"; None where no layer has that name."""
        parts = path.parts
        if parts[0] in {"cli", "python"}:
            return FACE
        if parts[0] == "include":
            return self.listed.public.get(f"headrace/{path.name}", FACE if path.name == "headrace.h" else None)
        return parts[1] if parts[1] in self.layers else None

    def layer_of_include(self, name: str, quoted: bool) -> str | None:
        """The layer that an #include asks for; None for a library's header or one that nothing knows."""
        parts = name.split("/")
        if parts[0] == "headrace":
            return FACE if name == "headrace/headrace.h" else self.listed.public.get(name)
        if parts[0] in self.layers and len(parts) > 1:
            return parts[0]
        return FACE if quoted and len(parts) > 1 and parts[0] in {"cli", "bind", "demo", "python"} else None

    def rank(self, layer: str) -> int:
        """The place in the order of layers; the faces are above all."""
        return list(self.layers).index(layer) if layer in self.layers else len(self.layers)

    def component(self, layer: str, folder: str) -> str | None:
        """The component of a folder that is relative to the layer's; None for the layer's own."""
        return self.layers[layer].component_of(folder) if layer in self.layers else None

    def lowest_place(self, targets: list[tuple[str, str | None]]) -> str:
        """Where a file may lie that includes all of these: the highest of their layers, and its highest component."""
        top = max((layer for layer, _ in targets), key=self.rank)
        components = [component for layer, component in targets if layer == top and component]
        component = max(components, key=self.layers[top].components.index, default=None) if top in self.layers else None
        return "cli, or python/bind" if top == FACE else f"src/{top}" + (f"/{component}" if component else "")


def place_problem(tree: Tree, relative: Path) -> str | None:
    """What is wrong with where a file of src or include lies; None if nothing is."""
    parts = relative.parts
    if parts[0] == "include":
        if len(parts) != 3:
            return f"public headers lie in include/headrace, flat: include/headrace/{relative.name} is its place"
        if tree.layer_of_file(relative) is None:
            return f"{LISTED} does not say to which layer this public header belongs: headrace/{relative.name}: LAYER"
    if parts[0] != "src":
        return None
    if parts[1] not in tree.layers:
        return f"no layer has this name; the layers are {', '.join(tree.layers)}"
    layer, folder = tree.layers[parts[1]], "/".join(parts[2:-1])
    plain = "/".join(part for part in parts[2:-1] if part not in NO_COMPONENTS)
    parents = {component.partition("/")[0] for component in layer.components}
    if plain and layer.component_of(plain) is None and plain not in parents:
        names = ", ".join(layer.components) or "none"
        return f"{layer.name} has no component {folder}; its components (CMakeLists.txt) are {names}"
    return None


def lost_tests(files: list[Path]) -> list[str]:
    """One line of text for each test whose subject lies in another folder of its layer (layers above may test it)."""
    sources: dict[tuple[str, str], set[Path]] = {}
    for path in files:
        if path.parts[0] == "src" and not TEST.search(path.name):
            sources.setdefault((path.parts[1], path.stem), set()).add(path.parent)
    found = []
    for path in files:
        if path.parts[0] == "src" and TEST.search(path.name):
            folders = sources.get((path.parts[1], TEST.sub("", path.name)), {path.parent})
            if path.parent not in folders:
                found.append(f"{path}:1: its subject lies elsewhere: {min(folders)}/{path.name} is its place")
    return found


def full_components(files: list[Path]) -> list[str]:
    """One line of text for each folder that holds more than its share."""
    counts = Counter(
        path.parent for path in files if path.parts[0] in {"src", "include"} and not TEST.search(path.name)
    )
    return [
        f"{folder}: {count} files beside its tests, and a folder has {MOST_FILES} at most: divide it into components"
        for folder, count in sorted(counts.items())
        if count > MOST_FILES
    ]


def umbrella_problems(root: Path, files: list[Path]) -> list[str]:
    """One line of text for each public header that headrace.h does not include, by itself or through another."""
    top = root / "include/headrace/headrace.h"
    if not top.is_file():
        return []
    seen, rest = set(), ["headrace/headrace.h"]
    while rest:
        name = rest.pop()
        if name not in seen and (root / "include" / name).is_file():
            seen.add(name)
            rest += [include for _, include, _ in includes(root / "include" / name)]
    public = [f"headrace/{path.name}" for path in files if path.parts[0] == "include"]
    return [f"include/headrace/headrace.h:1: it lacks {name}" for name in public if name not in seen]


def internal(tree: Tree, relative: Path, layer: str, target: str, name: str) -> str | None:
    """What is wrong with including a header of src from the same layer or one below; None if nothing is."""
    if TESTS_ONLY.search(name):
        test = TEST.search(relative.name) or TESTS_ONLY.search(str(relative))
        return None if test else f"{layer} includes {name}, which is for tests only"
    if target in {layer, FACE} or tree.listed.lists(name):
        return None
    if ALWAYS_INTERNAL.search(name):
        return f"{layer} includes {name}, which is internal to {target}"
    return f"{layer} includes {name}, which is internal to {target}: {LISTED} lists what other layers may include"


def include_problems(tree: Tree, relative: Path, layer: str) -> list[str]:
    """One line of text for every include of a file that breaks a rule, with the place where the file could be."""
    found = []
    public = relative.parts[0] == "include"
    here = tree.component(layer, "/".join(relative.parts[2:-1])) if relative.parts[0] == "src" else None
    test = bool(TEST.search(relative.name) or TESTS_ONLY.search(str(relative)))
    lines = list(includes(tree.root / relative))
    targets = [(line, name, quoted, tree.layer_of_include(name, quoted)) for line, name, quoted in lines]
    asked = [
        (target, tree.component(target, "/".join(name.split("/")[1:-1]))) for _, name, _, target in targets if target
    ]
    for line, name, quoted, target in targets:
        where = f"{relative}:{line}: "
        if name.startswith(".") or (not quoted and target in tree.layers and not name.startswith("headrace/")):
            found.append(f'{where}a header of ours is included as "layer/component/x.h", not as {name}')
        elif public and (quoted or ("." in name and not name.startswith("headrace/"))):
            found.append(f"{where}a public header includes {name}, which users do not have")
        elif target is None:
            continue
        elif tree.rank(target) > tree.rank(layer):
            place = tree.lowest_place(asked)
            found.append(f"{where}{layer} includes {name}, which belongs to {target}, above it; its place is {place}")
        elif layer in tree.layers and target not in tree.layers[layer].may_include:
            allowed = [name for name in tree.layers if name in tree.layers[layer].may_include and name != layer]
            found.append(f"{where}{layer} includes {name} of {target}; it may include only {' and '.join(allowed)}")
        elif name.startswith(FORBIDDEN.get(layer, ())) and not test:
            found.append(f"{where}{layer} includes {name}: it depends on no clock, thread or machine")
        elif quoted and (why := internal(tree, relative, layer, target, name)):
            found.append(where + why)
        elif quoted and target == layer and layer in tree.layers and not test:
            component = tree.component(layer, "/".join(name.split("/")[1:-1]))
            if tree.layers[layer].is_above(component, here):
                place = tree.lowest_place(asked)
                found.append(f"{where}{layer}/{here} includes {name}, a component above it; its place is {place}")
    return found


def problems(root: Path) -> list[str]:
    """One line of text for every file and include that breaks a rule."""
    tree = Tree(root, read_layers(root), LayerHeaders(root))
    files = [path.relative_to(root) for path in source_files(root)]
    found = []
    for relative in files:
        if why := place_problem(tree, relative):
            found.append(f"{relative}:1: {why}")
        elif layer := tree.layer_of_file(relative):
            found += include_problems(tree, relative, layer)
    found += [
        f"{path.relative_to(root)}:1: sources end with .cpp and headers with .h"
        for folder in ("src", "include", "cli", "python/bind")
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in {".hpp", ".hh", ".cc", ".cxx", ".inl", ".ipp", ".c"}
        and path != root / "python/bind/take_gil.c"  # which has to be C, for the reason that it gives
    ]
    for layer in tree.layers.values():
        for component in layer.components:
            if not (root / "src" / layer.name / component).is_dir():
                found.append(f"CMakeLists.txt: there is no folder src/{layer.name}/{component}: take the component out")
    found += lost_tests(files) + full_components(files) + umbrella_problems(root, files)
    return found + tree.listed.problems(root, tree.layers)


def main() -> int:
    """Prints the problems of the tree; the exit status says whether there are any."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent).resolve()
    found = problems(root)
    good = f"layers: {len(source_files(root))} files, all in their components, all includes keep to the order"
    print("\n".join(found) or good)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
