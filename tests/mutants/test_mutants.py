"""Checks that can fail: mutants of every copy kernel, and of what takes memory from running loaders, must be found.

A mutant is one changed line. Its file is compiled alone and linked in front of the libraries with a probe:
exactly_once_probe.cpp delivers two epochs from every source of rows, memory_probe.cpp compares the batches of loaders
that give memory with those of loaders that do not.
"""

from __future__ import annotations

import functools
import json
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
EXACTLY_ONCE, MEMORY = "exactly_once_probe", "memory_probe"
SOURCES = ["files", "decoded blocks", "encoded blocks", "all rows", "spans"]

SINK, GATHER, STORE = "assembly/copying/sink.cpp", "assembly/copying/sink_gather.cpp", "assembly/copying/row_gather.cpp"
SERVER, KEPT = "assembly/servers/block_server.cpp", "assembly/servers/block_server_kept.cpp"
ROW_FROM = "const std::byte* const at = source.data + row * source.stride_bytes;"
ROW_TO = "std::byte* const place = to + requests[i].position * job.row_bytes;"
MOVE_FROM = "const std::byte* at = source.data + (begin - source.first_row) * source.stride_bytes;"
MOVE_TO = "std::byte* place = run.fields[job.array] + (move.place + (begin - first)) * job.row_bytes;"
MOVE_END = "const std::uint64_t end = std::min(first + move.count, source.first_row + source.count);"
GATHER_FROM = "const auto at = [&](std::size_t i) { return from.data + rows[i] * row_bytes; };"
GATHER_TO = "std::byte* const place = base + i * row_bytes;"
GATHER_ROW = "rows[i] = starts[part[i].block] + part[i].row;"
KEPT_HIT = "if (kept->coding != BlockCoding::kRaw) {"
PUT_PIECE = "put_piece(file, task, *rows, span);"

# What it is, file, line, what it becomes, and the sources of rows that run it. None reads outside of what there is.
MUTANTS = [
    ("rows: the wrong row", SINK, ROW_FROM, ROW_FROM.replace("row *", "(row & ~1ull) *"), ["files", "decoded blocks"]),
    ("rows: the first row for all", SINK, ROW_FROM, ROW_FROM.replace("row *", "0 *"), ["files", "decoded blocks"]),
    (
        "rows: the wrong stride",
        SINK,
        ROW_FROM,
        ROW_FROM.replace("source.stride_bytes;", "(source.stride_bytes - 1);"),
        ["files", "decoded blocks"],
    ),
    (
        "rows: the wrong place",
        SINK,
        ROW_TO,
        ROW_TO.replace("position *", "position / 2 *"),
        ["files", "decoded blocks"],
    ),
    (
        "moves: the wrong row",
        SINK,
        MOVE_FROM,
        MOVE_FROM.replace("first_row)", "first_row) / 2"),
        ["encoded blocks", "spans"],
    ),
    (
        "moves: the wrong stride",
        SINK,
        MOVE_FROM,
        MOVE_FROM.replace("source.stride_bytes;", "(source.stride_bytes - 1);"),
        ["encoded blocks", "spans"],
    ),
    (
        "moves: the wrong place",
        SINK,
        MOVE_TO,
        MOVE_TO.replace("move.place +", "move.place / 2 +"),
        ["encoded blocks", "spans"],
    ),
    ("moves: not copied whole", SINK, MOVE_END, MOVE_END.replace("move.count,", "(move.count + 1) / 2,"), ["spans"]),
    ("gather: the wrong row", GATHER, GATHER_FROM, GATHER_FROM.replace("rows[i]", "(rows[i] & ~1ull)"), ["all rows"]),
    ("gather: one row twice", GATHER, GATHER_FROM, GATHER_FROM.replace("rows[i]", "rows[i / 2]"), ["all rows"]),
    ("gather: the wrong place", GATHER, GATHER_TO, GATHER_TO.replace("base + i *", "base + i / 2 *"), ["all rows"]),
    (
        "gather: another row of the fields after the first",
        GATHER,
        GATHER_FROM,
        GATHER_FROM.replace("rows[i]", "(rows[i] & (Field::kLeads ? ~0ull : ~1ull))"),
        ["all rows"],
    ),
    (
        "gather: another place of the fields after the first",
        GATHER,
        GATHER_TO,
        GATHER_TO.replace("base + i *", "base + (Field::kLeads ? i : i / 2) *"),
        ["all rows"],
    ),
    (
        "gather: every other row of the fields after the first",
        GATHER,
        "++i) {\n    if (i + ahead",
        "i += Field::kLeads ? 1 : 2) {\n    if (i + ahead",
        ["all rows"],
    ),
    (
        "gather: a wrong start of a block",
        STORE,
        GATHER_ROW,
        GATHER_ROW.replace(".block]", ".block & ~1u]"),
        ["all rows"],
    ),
    (
        "files: a stale chunk",
        SERVER,
        PUT_PIECE,
        "thread_local RowsAt stale = *rows; " + PUT_PIECE.replace("*rows", "stale") + " stale = *rows;",
        ["files", "spans"],
    ),
    (
        "blocks: another block",
        KEPT,
        KEPT_HIT,
        "thread_local auto stale = kept; std::swap(stale, kept); " + KEPT_HIT,
        ["decoded blocks", "encoded blocks"],
    ),
    (
        "encoded: the wrong part of the row",
        KEPT,
        "const std::uint64_t weight = part_weight(f, p, pieces.per_row);",
        "const std::uint64_t weight = part_weight(f, 0, pieces.per_row);",
        ["encoded blocks"],
    ),
]


DROP, LOADER = "assembly/window/request_window_drop.cpp", "loader/loader.cpp"
# What it is, file, line, and what it becomes.
MEMORY_MUTANTS = [
    (
        "memory: the order begins a batch late",
        DROP,
        "enter_run_ = {s.epoch, s.content.step.begin, left + 1, 0};",
        "enter_run_ = {s.epoch, s.content.step.end, left + 1, 0};",
    ),
    (
        "memory: requests of dropped slots stay",
        DROP,
        "for (auto& index : state_of_unit_) std::fill(index.begin(), index.end(), 0);",
        "",
    ),
    (
        "memory: begins anew a batch late",
        LOADER,
        "consumer->samples_before.load() : next_sample;",
        "consumer->samples_before.load() : next_sample + 20;",
    ),
]


def outcomes(program: Path, *, check: bool = True) -> dict[str, str]:
    """What the probe says of each of its cases."""
    printed = subprocess.run([program], capture_output=True, text=True, timeout=120, check=check).stdout
    return dict(line.split(": ") for line in printed.splitlines())


@functools.cache
def link_command(probe: str) -> list[str]:
    """Return what links a probe."""
    if not (BUILD / "tests" / probe).exists():
        pytest.skip(f"build/release has no tests/{probe}: the C++ tests are not built")
    commands = subprocess.run(
        ["ninja", "-C", BUILD, "-t", "commands", f"tests/{probe}"], capture_output=True, text=True, check=True
    ).stdout
    return [word for word in shlex.split(commands.splitlines()[-1]) if word not in {":", "&&"}]


@pytest.mark.parametrize(("probe", "cases"), [(EXACTLY_ONCE, SOURCES), (MEMORY, ["slots", "all"])])
def test_nothing_is_wrong_without_a_mutant(probe: str, cases: list[str]) -> None:
    link_command(probe)
    assert outcomes(BUILD / "tests" / probe) == dict.fromkeys(cases, "fine")


@pytest.mark.parametrize(("name", "file", "line", "mutant", "sources"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_the_check_raises(name, file, line, mutant, sources, tmp_path) -> None:
    told = outcomes(build(EXACTLY_ONCE, name, file, line, mutant, tmp_path))
    assert {source: told[source] for source in sources} == dict.fromkeys(sources, "raised")


@pytest.mark.parametrize(("name", "file", "line", "mutant"), MEMORY_MUTANTS, ids=[m[0] for m in MEMORY_MUTANTS])
def test_batches_differ(name, file, line, mutant, tmp_path) -> None:
    program = build(MEMORY, name, file, line, mutant, tmp_path)
    fine = {"slots": "fine", "all": "fine"}
    # It may crash, or be stopped. How its threads meet decides whether a run shows it: on a busy machine not every one.
    assert any(outcomes(program, check=False) != fine for _ in range(12))


def build(probe: str, name: str, file: str, line: str, mutant: str, tmp_path: Path) -> Path:
    """Return the probe, linked with the mutant."""
    link = link_command(probe).copy()
    text = (ROOT / "src" / file).read_text()
    assert text.count(line) == 1, f"{file} has changed: say here which line {name!r} is now"
    changed = tmp_path / Path(file).name
    changed.write_text(text.replace(line, mutant))
    entry = next(
        e for e in json.loads((BUILD / "compile_commands.json").read_text()) if e["file"].endswith("src/" + file)
    )
    compile_command = shlex.split(entry["command"])
    compile_command[compile_command.index("-o") + 1] = str(tmp_path / "mutant.o")
    compile_command[compile_command.index("-c") + 1] = str(changed)
    compile_command = [flag for flag in compile_command if flag not in {"-O3", "-Werror"}] + ["-O1", "-w"]
    subprocess.run(compile_command, cwd=entry["directory"], check=True)
    program = tmp_path / "probe"
    link[link.index("-o") + 1] = str(program)
    link.insert(next(i for i, word in enumerate(link) if word.endswith(".o")), str(tmp_path / "mutant.o"))
    subprocess.run(link, cwd=BUILD, check=True)
    return program
