"""Write the stub of the compiled module with the options of loaders as TypedDicts behind it: one for each loader class.

Usage: option_types.py WRITTEN STUB, where WRITTEN is the stub as nanobind writes it. The docstring of loader_options()
in it has the list as JSON.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

#: Options that are named parameters of a class, or that it has not: python/tests/loader/test_options_table.py compares.
WITHOUT = {
    "LoaderWords": "batch_size",
    "DataLoaderWords": "batch_size shuffle sampler batch_sampler drop_last timeout framework",
    "DataModuleWords": "batch_size shuffle group_by batch_sampler lookahead global_batch_size rank world_size"
    " framework",
    "CellMapLoaderWords": "batch_size sampler device shuffle batch_sampler batch group_by max_items max_groups"
    " lookahead global_batch_size tail threads share framework batch_format layout fill provenance",
    "JaxLoaderWords": "batch_size drop_last tail batch_sampler batch group_by max_items max_groups lookahead"
    " global_batch_size rank world_size framework device batch_format layout",
}
IMPORTS = "import os\n", "from headrace import ByTokens, ShuffleShape\n", "from typing import TypedDict\n"


def options_of(stub: str) -> list[dict[str, Any]]:
    """The list of options, from the docstring that holds it."""
    functions = [n for n in ast.parse(stub).body if isinstance(n, ast.FunctionDef) and n.name == "loader_options"]
    text = ast.get_docstring(functions[0]) or ""
    listed: list[dict[str, Any]] = json.loads(text[text.index("[") :])
    return listed


def typed(name: str, options: list[dict[str, Any]]) -> str:
    """The TypedDict of a class."""
    lines = [f"class {name}(TypedDict, total=False):"]
    for option in options:
        if option["name"] not in WITHOUT[name].split():
            lines += [f"    {option['name']}: {option['annotation']}", f"    {json.dumps(option['doc'] + '.')}"]
    return "\n".join(lines)


def main(written: str, to: str) -> None:
    """Read the one, write the other."""
    stub = Path(written).read_text(encoding="utf-8")
    classes = "\n\n".join(typed(name, options_of(stub)) for name in WITHOUT)
    end = stub.index("from collections.abc")
    Path(to).write_text(f"{stub[:end]}{''.join(IMPORTS)}{stub[end:]}\n\n{classes}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
