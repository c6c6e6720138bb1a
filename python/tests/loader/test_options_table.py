"""The options of a loader: one table, and what Python, the command line and the manual say of them agrees with it."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import typing
from pathlib import Path

import numpy as np
import pytest

import headrace as hr
from headrace import _headrace

DOCS = Path(__file__).resolve().parents[3] / "docs"
TABLE = _headrace.loader_options()
NAMES = [option["name"] for option in TABLE]


def rows(page: str) -> str:
    """First cells of a page's tables."""
    return "\n".join(re.findall(r"^\| (.*?) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE))


def test_python_has_the_options_of_the_table_with_their_defaults() -> None:
    parameters = dict(list(inspect.signature(hr.Loader).parameters.items())[1:])  # not the data set
    assert list(parameters) == NAMES
    assert {name: p.default for name, p in parameters.items()} == {o["name"]: o["default"] for o in TABLE}
    docstring = inspect.getdoc(hr.Loader) or ""
    assert re.findall(r"^    (\w+): ", docstring.split("Args:")[1].split("Raises:")[0], re.MULTILINE)[1:] == NAMES
    assert all(not option["doc"].endswith(".") and option["more"][-1:] in ("", ".") for option in TABLE)


#: Classes that take options of the list, and the types that the build writes for what is no parameter of their own.
FACES = [
    ("headrace", "Loader", "LoaderWords"),
    ("headrace.torch", "DataLoader", "DataLoaderWords"),
    ("headrace.lightning", "DataModule", "DataModuleWords"),
    ("headrace.cellmap", "CellMapDataLoader", "CellMapLoaderWords"),
    ("headrace.jax", "Loader", "JaxLoaderWords"),
]


@pytest.mark.parametrize(("module", "name", "words"), FACES)
def test_every_face_has_the_options_that_it_does_not_refuse(module, name, words) -> None:
    pytest.importorskip("jax" if module == "headrace.jax" else "torch")
    face = getattr(importlib.import_module(module), name)
    init = face.__init__
    own = inspect.signature(init.__wrapped__).parameters
    stub = ast.parse((Path(hr.__file__).parent / "_headrace.pyi").read_text(encoding="utf-8"))
    (typed,) = [node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == words]
    types = {n.target.id: ast.unparse(n.annotation) for n in typed.body if isinstance(n, ast.AnnAssign)}
    listed = {n: p for n, p in inspect.signature(face).parameters.items() if n not in own}
    assert {n: p.annotation for n, p in listed.items()} == types
    for option in TABLE:  # one that is neither taken nor a parameter is told what to use
        if option["name"] not in types and option["name"] not in own:
            with pytest.raises(hr.UnknownArgumentError) as raised:
                face("x", **{option["name"]: 1})
            assert raised.value.hint
    assert all(f"\n    {n}: " in (inspect.getdoc(face) or "") for n in listed)
    assert typing.get_type_hints(init).keys() >= listed.keys()  # what command lines of trainers are made of
    if name == "DataLoader":
        assert set(NAMES) - types.keys() - own.keys() == {"framework"}


@pytest.mark.parametrize("name", NAMES)
def test_the_manual_has_every_option(name) -> None:
    option = TABLE[NAMES.index(name)]
    assert re.search(rf"`{name}`", rows("reference.md"))
    if option["run_file"]:
        assert re.search(rf"`{name}[`:]", (DOCS / "run-files.md").read_text(encoding="utf-8"))
    if option["command_line"]:
        assert re.search(rf"`--{name.replace('_', '-')}\b", rows("command-line.md"))


def test_the_command_line_has_every_option() -> None:
    from headrace.__main__ import command_line

    done = subprocess.run([command_line(), "bench", "--help"], capture_output=True, text=True, check=True)
    for option in TABLE:
        flag = "--" + option["name"].replace("_", "-")
        assert (re.search(rf"{flag}(?![\w-])", done.stdout) is not None) == option["command_line"], flag


VALUES = {
    "batch_size": 32,
    "global_batch_size": 32,
    "shuffle": "exact",
    "shuffle_buffer": "4x2",
    "drop_last": True,
    "tail": "pad",
    "seed": 2**64 - 1,
    "rank": 1,
    "world_size": 3,
    "memory": "64MiB",
    "threads": 3,
    "reads_in_flight": 8,
    "cache": "none",
    "share": "host",
    "framework": "torch",
    "device": "cpu",
    "batch_format": "tuple",
    "provenance": True,
    "on_error": "raise",
    "timeout": 2.5,
    "batch": "tokens=64,max_samples=8",
    "layout": "padded",
    "fill": 2.5,
    "group_by": "file",
    "max_items": 64,
    "max_groups": 2,
}


@pytest.mark.parametrize("name", [o["name"] for o in TABLE if o["run_file"]])
def test_a_run_file_says_what_python_says(jets, tmp_path, name) -> None:
    if name == "framework":
        pytest.importorskip("torch")
    words = {"batch_size": 32, "seed": 1, name: VALUES[name]}
    if name in ("global_batch_size", "batch", "group_by", "max_items", "max_groups"):
        del words["batch_size"]
    data: str | hr.Dataset = jets.glob
    opened = f"files: '{jets.glob}'"
    if name in ("batch", "layout", "fill"):  # of ragged samples
        np.savez(tmp_path / "events.npz", x=np.arange(50, dtype=np.float32), event=np.arange(50) // 7)
        opened = "files: events.npz, fields: [x], sample_by: event"
        data = hr.open(tmp_path / "events.npz", ["x"], sample_by="event")
    if name == "fill":
        words["layout"] = "padded"
    if name in ("max_items", "max_groups"):
        words["group_by"] = "file"
    if name in ("rank", "world_size"):
        words |= {"rank": 1, "world_size": 3}
    if name == "shuffle_buffer":
        words["shuffle"] = True
    written = words | ({"batch": "{tokens: 64, max_samples: 8}"} if name == "batch" else {})
    text = ", ".join(f"{key}: {str(value).lower() if value is True else value}" for key, value in written.items())
    (tmp_path / "run.yaml").write_text(f"data: {{{opened}}}\nloader: {{{text}}}\n")
    from_file, from_python = hr.load_run(tmp_path / "run.yaml"), hr.Loader(data, **words)
    assert from_file._options == from_python._options
    assert from_file.explain() == from_python.explain()


def test_arguments_go_before_a_run_file(jets, tmp_path) -> None:
    (tmp_path / "run.yaml").write_text(f"data: {{files: '{jets.glob}'}}\nloader: {{batch_size: 32, seed: 1}}\n")
    loader = hr.load_run(tmp_path / "run.yaml", seed=5, global_batch_size=64)
    assert (loader.seed, loader.batch_size) == (5, 64)
