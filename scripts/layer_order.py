"""The order of layers, and of the components in each, as CMakeLists.txt has it. Used by the checks beside this file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_CALL = re.compile(r"^headrace_layer\(([^)]*)\)", re.MULTILINE)
_KEYWORDS = {"BELOW", "COMPONENTS", "USES", "TESTS_USE"}


@dataclass
class Layer:
    """A folder of src: its name, what it may include (itself among it), and its components from the lowest up."""

    name: str
    may_include: set[str]
    components: list[str] = field(default_factory=list)

    def component_of(self, folder: str) -> str | None:
        """The component of a folder (relative to the layer); None for the layer's own folder."""
        inside = [component for component in self.components if (folder + "/").startswith(component + "/")]
        return max(inside, key=len, default=None)

    def is_above(self, component: str | None, other: str | None) -> bool:
        """True if `component` comes after `other`. The layer's own folder has no order, nor have parts of one."""
        if (
            component is None
            or other is None
            or f"{component}/".startswith(f"{other}/")
            or f"{other}/".startswith(f"{component}/")
        ):
            return False
        return self.components.index(component) > self.components.index(other)


def read_layers(root: Path) -> dict[str, Layer]:
    """The layers from the lowest up. Raises ValueError where a layer is BELOW another and comes after it."""
    layers: dict[str, Layer] = {}
    for call in _CALL.finditer((root / "CMakeLists.txt").read_text(encoding="utf-8")):
        name, *words = call[1].split()
        lists: dict[str, list[str]] = {"": []}
        keyword = ""
        for word in words:
            keyword = word if word in _KEYWORDS else keyword
            lists.setdefault(keyword, [])
            lists[keyword] += [word] if word not in _KEYWORDS else []
        below = lists.get("BELOW", [])
        for other in below:
            if other not in layers:
                raise ValueError(f"CMakeLists.txt: {name} is above {other}, and stands before it")
        may_include = {name}.union(*(layers[other].may_include for other in below))
        layers[name] = Layer(name, may_include, lists.get("COMPONENTS", []))
    return layers
