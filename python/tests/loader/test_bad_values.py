"""Values that are wrong: Python, run files and the command line say the same of each."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_program import program

import headrace as hr

#: Option, its value in Python, the same in YAML, and what is said of it.
VALUES: list[tuple[str, Any, str, str]] = [
    ("batch_size", 0, "0", "must be a whole number of at least 1, not 0"),
    ("batch_size", -3, "-3", "must be a whole number of at least 1, not -3"),
    ("batch_size", 2.5, "2.5", "must be a whole number of at least 1, not 2.5"),
    ("batch_size", "many", "many", "must be a whole number of at least 1, not 'many'"),
    ("batch_size", True, "true", "must be a whole number of at least 1, not true"),
    ("seed", 2**64, "18446744073709551616", "must be a whole number from 0 to 2^64 - 1, not 18446744073709551616"),
    ("seed", -1, "-1", "must be a whole number from 0 to 2^64 - 1, not -1"),
    ("shuffle", "exakt", "exakt", "must be true, false, block or exact, not 'exakt'. Did you mean 'exact'?"),
    ("shuffle", 1, "1", "must be true, false, block or exact, not 1"),
    ("tail", "dorp", "dorp", "must be partial, drop or pad, not 'dorp'. Did you mean 'drop'?"),
    ("layout", "flat", "flat", "must be ragged or padded, not 'flat'. Leave it out for ragged."),
    ("provenance", "yes", "yes", "must be true or false, not 'yes'"),
    ("fill", "much", "much", "must be a number, not 'much'"),
    ("threads", 5000, "5000", "must be a whole number from 1 to 4096, not 5000"),
    ("memory", 0, "0", "must be more than 0 bytes, not 0"),
    ("memory", "8GBi", "8GBi", "'8GBi' is not a size in bytes: unknown unit 'gbi'"),
    ("share", "node", "node", "must be host, not 'node'"),
    ("batch_format", "list", "list", "must be dict or tuple, not 'list'. Leave it out for dict."),
    ("timeout", -1, "-1", "must be a number of seconds (0: no limit), not -1. Leave it out to wait without limit."),
    ("shuffle_buffer", "0x4", "0x4", "must be a shape such as 64x4 (streams x blocks of each pool), not '0x4'"),
    ("world_size", 0, "0", "must be a whole number of at least 1, not 0. It is the number"),
    ("world_size", 2**40, "1099511627776", "must be a whole number from 1 to 4294967295, not 1099511627776"),
]
#: Arguments that contradict each other, and what is said of them.
PAIRS: list[tuple[dict[str, Any], str]] = [
    (
        {"batch_size": 8, "global_batch_size": 8},
        "batch_size and global_batch_size exclude each other. Give one of them.",
    ),
    ({"batch_size": 8, "cache": "none", "share": "host"}, "share='host' needs a cache, and cache='none' disables it."),
    ({"batch_size": 8, "fill": 1.5}, "fill= is the value of padding, and this layout has no padding."),
    (
        {"batch_size": 8, "drop_last": True, "tail": "pad"},
        "drop_last and tail contradict each other. Give one of them.",
    ),
    ({"batch_size": 8, "rank": 1}, "rank= needs world_size="),
    ({"batch_size": 8, "shuffle_buffer": "1GiB"}, "shuffle_buffer= shapes the block shuffle; this is another order."),
    ({"max_items": 8}, "max_items and max_groups bound batches of whole groups: group_by is missing."),
    ({}, "batch_size is missing. Give the number of samples a batch."),
]
NOT_ON_COMMAND_LINE = ("batch_format",)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("data") / "rows.npz"
    np.savez(file, x=np.arange(40, dtype="f4"), y=np.arange(40))
    return file


def by_python(data: Path, words: dict[str, Any]) -> str:
    with hr.open(data) as dataset, pytest.raises(hr.InvalidArgumentError) as caught:
        hr.Loader(dataset, **words)
    return str(caught.value)


def by_run_file(data: Path, words: dict[str, str], folder: Path) -> str:
    file = folder / "run.yaml"
    lines = "".join(f"\n  {name}: {value}" for name, value in words.items()) or " {}"
    file.write_text(f"data: {{files: '{data}'}}\nloader:{lines}\n")
    with pytest.raises(hr.InvalidArgumentError) as caught:
        hr.load_run(file)
    return re.sub(r"^.*?run file: line \d+: loader(\.|: )", "", str(caught.value))


def by_command(data: Path, words: dict[str, str]) -> str:
    line = [program(), "order", str(data), "--no-shuffle"]
    for name, value in words.items():
        flag = "--" + name.replace("_", "-")
        line += [] if value == "false" else [flag] if value == "true" else [f"{flag}={value}"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    text = done.stderr.replace("error: ", "", 1).replace("\nhint:  ", " ").strip()
    return re.sub(r"^--([a-z-]+)", lambda flag: flag[1].replace("-", "_"), text)


@pytest.mark.parametrize(("name", "value", "text", "said"), VALUES, ids=[f"{v[0]}={v[1]}" for v in VALUES])
def test_a_value_is_told_alike(data, tmp_path, name: str, value: Any, text: str, said: str) -> None:
    others: dict[str, Any] = {} if name == "batch_size" else {"batch_size": 8}
    if name == "world_size":
        others |= {"rank": 0}
    python = by_python(data, {**others, name: value})
    assert python.startswith(name) and said in python
    assert by_run_file(data, {**others, name: text}, tmp_path) == python
    if name not in (*NOT_ON_COMMAND_LINE, "provenance", "shuffle") and value is not True:
        assert by_command(data, {**others, name: text}) == python


@pytest.mark.parametrize(("words", "said"), PAIRS, ids=[" ".join(pair[0]) or "nothing" for pair in PAIRS])
def test_a_contradiction_is_told_alike(data, tmp_path, words: dict[str, Any], said: str) -> None:
    text = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in words.items()}
    python = by_python(data, words)
    assert said.removesuffix(".") in python
    assert by_run_file(data, text, tmp_path) == python
    if words not in ({}, {"batch_size": 8, "shuffle_buffer": "1GiB"}):  # commands have a batch size
        assert by_command(data, text) == python


#: Verbs with an argument that is wrong, in Python and in YAML.
VERBS: list[tuple[str, dict[str, Any], str, str]] = [
    ("windows", {"length": 0}, "{length: 0}", "length must be a whole number of at least 1, not 0"),
    ("windows", {"length": "8 rows"}, "{length: 8 rows}", "length must be a whole number of at least 1, not '8 rows'"),
    ("windows", {"length": 4, "stride": 0}, "{length: 4, stride: 0}", "stride must be a whole number of at least 1"),
    ("windows", {"length": 4, "lookahead": -1}, "{length: 4, lookahead: -1}", "lookahead must be a whole number"),
    ("windows", {"length": 4, "across_files": 1}, "{length: 4, across_files: 1}", "across_files must be true or false"),
]


@pytest.mark.parametrize(("verb", "words", "text", "said"), VERBS, ids=[f"{v[0]} {v[2]}" for v in VERBS])
def test_a_verb_is_told_alike(data, tmp_path, verb: str, words: dict[str, Any], text: str, said: str) -> None:
    with hr.open(data) as dataset, pytest.raises(hr.InvalidArgumentError) as caught:
        getattr(dataset, verb)(**words)
    assert said in str(caught.value)
    (tmp_path / "run.yaml").write_text(f"data:\n  files: '{data}'\n  {verb}: {text}\nloader: {{batch_size: 1}}\n")
    with pytest.raises(hr.InvalidArgumentError) as of_file:
        hr.load_run(tmp_path / "run.yaml")
    assert str(of_file.value).endswith(f"line 3: data.{verb}.{caught.value}")
