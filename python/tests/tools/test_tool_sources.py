"""Tools take a loader, a data set, a run file and files alike."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_program import program

import headrace as hr
from headrace import transforms as T

WORDS: dict[str, Any] = {"batch_size": 32, "shuffle": True, "seed": 3}


@pytest.fixture
def sources(jets, tmp_path: Path) -> dict[str, Any]:
    files = hr.open(jets.paths)
    hr.save_run(hr.Loader(files, **WORDS), tmp_path / "run.yaml")
    return {
        "files": jets.paths,
        "a glob": jets.glob,
        "a data set": files,
        "a run file": tmp_path / "run.yaml",
        "its name": str(tmp_path / "run.yaml"),
        "a loader": hr.Loader(files, **WORDS),
    }


TOOLS: dict[str, Callable[..., hr.ToolResult]] = {
    "order": lambda source, **words: hr.order(source, **words),
    "bench": lambda source, **words: hr.bench(source, max_batches=2, **words),
    "replay": lambda source, **words: hr.replay(source, epoch=0, step=1, **words),
    "check_memory": lambda source, **words: hr.check_memory(source, **words),
    "advise": lambda source, **words: hr.advise(source, **words),
    "inspect": lambda source, **_: hr.inspect(source),
    "verify": lambda source, **_: hr.verify(source),
}


def settled(tool: str, result: hr.ToolResult) -> Any:
    """What a result says that does not change from call to call."""
    data = result.to_dict()
    if tool == "order":
        return data["order"] if "order" in data else str(result)
    if tool == "replay":
        return data
    if tool == "verify":
        return [data[name] for name in ("files", "arrays", "pieces", "stored_bytes", "findings")]
    if tool == "inspect":
        return [(Path(file["path"]).name, file["arrays"]) for file in data["files"]]
    if tool == "check_memory":
        return [part["bytes"] for part in data["components"]] if "components" in data else data.keys()
    return data.keys()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_takes_all_of_them(sources: dict[str, Any], tool: str) -> None:
    said = {}
    for name, source in sources.items():
        words = {} if name in ("a run file", "its name", "a loader") else WORDS
        said[name] = settled(tool, TOOLS[tool](source, **words))
    assert all(one == said["files"] for one in said.values()), said


def test_arguments_go_before_those_of_a_run_file(sources: dict[str, Any]) -> None:
    run_file = sources["a run file"]
    assert hr.replay(run_file, epoch=0, step=0).to_dict() != hr.replay(run_file, epoch=0, step=0, seed=4).to_dict()
    again = hr.replay(run_file, epoch=0, step=0, global_batch_size=16)
    assert len(again.to_dict()["samples"]) == 16


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool not in ("inspect", "verify")])
def test_fields_are_for_files(sources: dict[str, Any], tool: str) -> None:
    for name in ("a run file", "a data set"):
        with pytest.raises(hr.InvalidArgumentError, match="fields= is for files"):
            TOOLS[tool](sources[name], fields=["labels"])


def test_what_no_run_file_says_is_named(jets, tmp_path: Path) -> None:
    def double(columns: Any) -> Any:
        return columns

    data = jets.open()
    with pytest.raises(hr.InvalidArgumentError, match=r"a Python function \(.*double\), which a run file cannot say"):
        hr.save_run(hr.Loader(data.map(double), 8), tmp_path / "run.yaml")
    with pytest.raises(hr.InvalidArgumentError, match="a sampler of its own"):
        hr.save_run(hr.Loader(data, 8, sampler=[1, 2, 3]), tmp_path / "run.yaml")
    assert not (tmp_path / "run.yaml").exists()


def test_a_run_file_among_files_is_refused(sources: dict[str, Any], jets) -> None:
    for call in (hr.verify, hr.inspect):
        with pytest.raises(hr.InvalidArgumentError, match="one run file, or data files, but not both"):
            call([sources["its name"], *jets.paths])
    done = subprocess.run([program(), "verify", sources["its name"], jets.paths[0]], capture_output=True, text=True)
    assert done.returncode == 2
    assert "one run file, or data files, but not both" in done.stderr
    assert hr.verify(str(sources["its name"]).encode()).to_dict()["files"] == len(jets.paths)  # type: ignore[arg-type]


def test_flags_go_before_what_they_exclude_in_a_run_file(sources: dict[str, Any], jets, tmp_path: Path) -> None:
    run = tmp_path / "mixed.yaml"
    run.write_text(
        f"data: {{files: '{jets.glob}'}}\n"
        "loader: {batch_size: 32, shuffle: true, shuffle_buffer: 1MiB, tail: pad, provenance: true}\n"
    )

    def batch(*flags: str, **words: Any) -> Any:
        line = [program(), "replay", str(run), "--epoch", "0", "--step", "1", "--json", *flags]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["samples"] == hr.replay(run, epoch=0, step=1, **words).to_dict()["samples"]

    batch("--no-shuffle", shuffle=False)
    batch("--exact", shuffle="exact")
    batch("--drop-last", drop_last=True)
    batch("--provenance=false", provenance=False)
    batch("--group-by", "file", "--max-items", "40", group_by="file", max_items=40)


def test_commands_take_every_data_set(jets, tmp_path: Path) -> None:
    data = jets.open().split({"train": 0.7, "val": 0.3}, seed=1)["train"].map(T.Clip("x", most=0.5))
    mixed = hr.mix({"one": jets.open().select(slice(0, 100)), "two": jets.open()})
    for number, made in enumerate((data, mixed)):
        file = tmp_path / f"{number}.yaml"
        hr.save_run(hr.Loader(made, 16, shuffle=True), file)
        for command in (
            ["bench"],
            ["order"],
            ["check-memory"],
            ["inspect"],
            ["verify"],
            ["replay", "--epoch", "0", "--step", "1"],
        ):
            line = [program(), command[0], str(file), *command[1:]]
            done = subprocess.run(line, capture_output=True, text=True, check=False)
            assert done.returncode in (0, 1), (command, done.stderr)
