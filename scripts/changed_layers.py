"""Prints the layers that files belong to, one a line: the names of files are read from stdin, one a line.

usage: changed_files.py | changed_layers.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from check_layers import LayerHeaders, Tree
from layer_order import read_layers


def layers_of(root: Path, names: list[str]) -> list[str]:
    """The layers of these files (relative to the root), from the lowest up, each once."""
    tree = Tree(root, read_layers(root), LayerHeaders(root))
    sources = [path for path in map(Path, names) if len(path.parts) > 1 and path.parts[0] in {"src", "include"}]
    changed = {tree.layer_of_file(path) for path in sources}
    return [layer for layer in tree.layers if layer in changed]


if __name__ == "__main__":
    print("\n".join(layers_of(Path(__file__).resolve().parent.parent, sys.stdin.read().split("\n"))))
