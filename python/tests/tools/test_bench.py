"""bench beside h5py and torch: rivals, rounds, what is skipped, what is saved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.dom import minidom

import h5py
import numpy as np
import pytest
from jet_files import FIELDS, write_h5

import headrace as hr
from headrace._bench import compare as bench_compare
from headrace._bench import rivals as bench_rivals
from headrace._bench.command import is_for_python
from headrace._bench.timing import time_passes

FAST = {"epochs": 2, "rounds": 2, "max_seconds": 4.0, "memory": "64MiB"}


def rows_of(jets, **changes: Any) -> bench_rivals.Rows:
    with jets.open() as dataset:
        columns = [
            bench_rivals.Column(f.name, f.path, f.dtype.str, f.shape, f.chunks[0] if f.chunks else 1)
            for f in dataset.fields.values()
        ]
        made = {"files": tuple((f.path, f.rows) for f in dataset.files), "columns": tuple(columns), **changes}
        return bench_rivals.Rows(**made)


@pytest.mark.parametrize("name", list(bench_rivals.RIVALS))
@pytest.mark.parametrize("shuffled", [True, False])
def test_every_rival_delivers_every_row_once(jets, name: str, shuffled: bool) -> None:
    rival = bench_rivals.RIVALS[name]
    for package in rival.packages:
        pytest.importorskip(package, reason=f"the rival {name} needs {package}")
    rows = rows_of(jets)
    bench_rivals.check(rows)
    batches = rival.start(rows, 50, shuffled=shuffled, workers=0, memory=1 << 30)
    for _ in range(2):
        seen = []
        for batch in batches:
            arrays = {key: np.asarray(values) for key, values in batch.items()}
            assert jets.equals(arrays, arrays["y"])
            seen += arrays["y"].tolist()
        assert sorted(seen) == list(range(len(jets)))
        in_order = seen == list(range(len(jets)))
        assert in_order == (not shuffled or name == "h5py")


def test_the_recipe_decodes_a_run_of_rows_once_an_epoch(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="the recipe is torch's")
    monkeypatch.setattr(bench_rivals, "_UNIT_ROWS", 64)
    reads: list[Any] = []
    read = bench_rivals.Handles.read
    monkeypatch.setattr(bench_rivals.Handles, "read", lambda self, *part: (reads.append(part), read(self, *part))[1])
    data = bench_rivals.CachedUnits(rows_of(jets), 3)
    order = list(bench_rivals.WindowedOrder(data, shuffled=True))
    for at in range(0, len(order), 10):
        data.__getitems__(order[at : at + 10])
    assert len(order) == len(jets)
    assert len(reads) <= len(data.parts) + len(data.parts) // 3 * 3  # a batch across two groups may evict and come back
    assert set(reads) == set(data.parts)


def test_rows_that_a_rival_would_not_load_alike_are_refused(jets) -> None:
    rows = rows_of(jets)
    short = tuple((path, count - 1) for path, count in rows.files)
    with pytest.raises(bench_rivals.CannotError, match="selection"):
        bench_rivals.check(rows_of(jets, files=short))
    other = (bench_rivals.Column("y", "labels", "<f4", (), 1),)
    with pytest.raises(bench_rivals.CannotError, match="int64"):
        bench_rivals.check(rows_of(jets, columns=other))


def test_passes() -> None:
    first, later = time_passes(lambda: iter([{"x": np.zeros(3)}] * 5), epochs=3, seconds=60, batches=0)
    assert (first["samples"], first["batches"], first["complete"]) == (15, 5, True)
    assert later is not None
    assert later["samples"] == 30
    assert 0 <= later["batch_ms"]["p50"] <= later["batch_ms"]["p99"] <= later["batch_ms"]["max"]
    first, later = time_passes(lambda: iter([(np.zeros(3),)] * 5), epochs=3, seconds=0, batches=0)
    assert (first["batches"], first["complete"], later) == (2, False, None)  # two batches: the first is start-up
    first, later = time_passes(lambda: iter([{"x": np.zeros(3)}] * 5), epochs=2, seconds=60, batches=4)
    assert (first["batches"], first["complete"]) == (4, True)


@pytest.fixture(scope="module")
def compared(jets) -> hr.ToolResult:
    pytest.importorskip("torch", reason="two of the rivals are torch's")
    return hr.bench(jets.glob, fields=FIELDS, batch_size=50, against=["h5py", "torch"], workers=[0, 1], **FAST)


def test_compare(compared: hr.ToolResult, jets) -> None:
    data = compared.to_dict()
    assert data["schema"] == "headrace-bench/1"
    by_name = {contestant["name"]: contestant for contestant in data["contestants"]}
    assert list(by_name) == ["headrace", "h5py", "torch-slices", "torch-lru"], data["skipped"]
    for name, contestant in by_name.items():
        assert contestant["batch_size"] == 50
        first = contestant["rounds"][0]["first"]
        assert not first["complete"] or first["samples"] == len(jets)
        assert contestant["first"]["samples_per_second"] > 0
        assert contestant["first"]["batch_ms_p99"] > 0
        assert contestant["epoch_seconds"]["first"] > 0
        assert ("headrace_is" in contestant) == (name != "headrace")
    assert set(by_name["torch-slices"]["workers_tried"]) == {"0", "1"}
    assert data["page_cache"]["resident_share"] > 0.9
    for word in ("first epoch", "later epochs", "Headrace is", "MEASURED", "MACHINE"):
        assert word in str(compared)
    assert compared.markdown.startswith("# Loading speed\n")
    root = minidom.parseString(compared.plot).documentElement
    assert root.tagName == "svg"
    assert "h5py slices, in order" in compared.plot


def test_a_baseline(compared: hr.ToolResult, jets, tmp_path: Path) -> None:
    old = compared.to_dict()
    for contestant in old["contestants"]:
        for round_ in contestant["rounds"]:
            round_["first"]["samples_per_second"] *= 1e6
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    result = hr.bench(jets.glob, fields=FIELDS, batch_size=50, baseline=path, memory="64MiB")
    assert not result.findings
    assert [entry["epochs"] for entry in result.to_dict()["baseline"]["compared"]] == ["first"]
    assert "SLOWER" in str(result)
    assert hr.bench(jets.glob, fields=FIELDS, batch_size=50, baseline=path, max_slowdown=50, memory="64MiB").findings
    with pytest.raises(hr.FileMissingError, match=r"none\.json"):
        hr.bench(jets.glob, baseline=tmp_path / "none.json")
    with pytest.raises(hr.InvalidArgumentError, match="no measurements"):
        path.write_text("{}")
        hr.bench(jets.glob, baseline=path)


def test_a_rival_without_its_package_is_skipped_with_the_reason(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = bench_rivals.Rival("never", ("no_such_package",), bench_rivals.h5py_slices)
    monkeypatch.setitem(bench_rivals.RIVALS, "torch-rows", absent)
    result = hr.bench(jets.glob, fields=FIELDS, against=["torch-rows", "h5py"], **{**FAST, "rounds": 1})
    data = result.to_dict()
    assert [contestant["name"] for contestant in data["contestants"]] == ["headrace", "h5py"]
    assert data["skipped"][0]["name"] == "torch-rows"
    assert "pip install no_such_package" in data["skipped"][0]["reason"]
    assert "no_such_package" in str(result)


def test_a_rival_that_cannot_load_the_data_is_skipped_with_the_reason(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((500, 4), np.float32))
    data = hr.bench(tmp_path / "x.npy", against="h5py", batch_size=50, **{**FAST, "rounds": 1}).to_dict()
    assert [contestant["name"] for contestant in data["contestants"]] == ["headrace"]
    assert "h5py cannot read" in data["skipped"][0]["reason"]


def test_batch_sizes_and_validation(jets) -> None:
    result = hr.bench(jets.glob, fields=FIELDS, batch_sizes=[20, 40], validation=jets.paths[0], **{**FAST, "rounds": 1})
    data = result.to_dict()
    work = [(contestant["batch_size"], contestant["split"]) for contestant in data["contestants"]]
    assert work == [(20, "train"), (20, "validation"), (40, "train"), (40, "validation")]


def test_arguments(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="no rival 'h5pi'") as caught:
        hr.bench(jets.glob, against="h5pi")
    assert "Did you mean 'h5py'?" in str(caught.value)
    with pytest.raises(TypeError):
        hr.bench(hr.Loader(jets.open(), 50), batch_sizes=[5])
    with pytest.raises(hr.InvalidArgumentError, match="one rank"):
        hr.bench(jets.glob, against="h5py", rank=0, world_size=2)


def test_damaged_data_is_the_located_error(tmp_path: Path) -> None:
    path = write_h5(
        tmp_path / "d.h5", x=(np.arange(1000.0), {"chunks": (100,), "compression": "gzip", "fletcher32": True})
    )
    with h5py.File(path) as file:
        chunk = file["x"].id.get_chunk_info(3)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(hr.CorruptDataError, match=r"d\.h5 › x › chunk"):
        hr.bench(path, against="h5py", batch_size=50, **FAST)


def test_progress_stops_it(jets) -> None:
    with pytest.raises(hr.ClosedError):
        hr.bench(jets.glob, against="h5py", progress=lambda done, total: False, **FAST)


# --- the command line ------------------------------------------------------------------------------------------------


def command(*words: object) -> list[str]:
    pytest.importorskip("headrace.__main__").command_line()
    return [sys.executable, "-m", "headrace", *map(str, words)]


def run(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*words), capture_output=True, text=True, check=False, cwd=cwd, timeout=300)


def test_which_command_lines_stay_in_python() -> None:
    assert is_for_python(["bench", "a.h5", "--compare"])
    assert is_for_python(["--json", "bench", "a.h5", "--against=h5py"])
    assert not is_for_python(["bench", "a.h5", "--compare", "--help"])
    assert not is_for_python(["bench", "a.h5"])
    assert not is_for_python(["inspect", "--compare"])


def test_the_spelling_of_the_jetclass_scripts(jets, tmp_path: Path) -> None:
    done = run(
        *("bench", "--train_files", jets.glob, "--val_files", jets.paths[0], "--against", "h5py", "--num_batches", 4),
        *("--batch_size", 50, "--quick", "--seconds", 4, "--memory", "64MiB", "--save", "out", "--json"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    names = [(contestant["name"], contestant["split"]) for contestant in data["contestants"]]
    assert names == [(name, split) for split in ("train", "validation") for name in ("headrace", "h5py")]
    assert all(c["rounds"][0]["first"]["batches"] <= 4 for c in data["contestants"])
    assert len(data["contestants"][0]["rounds"]) == 1  # --quick
    assert json.loads((tmp_path / "out.json").read_text()) == data
    assert (tmp_path / "out.md").read_text().startswith("# Loading speed")
    minidom.parse(os.fspath(tmp_path / "out.svg"))
    again = run("bench", jets.glob, "--batch-size", 50, "--baseline", "out.json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "against the baseline" in again.stdout
    data["contestants"][0]["rounds"][0]["first"]["samples_per_second"] *= 1e9
    (tmp_path / "fast.json").write_text(json.dumps(data))
    slower = ("bench", jets.glob, "--batch-size", 50, "--baseline", "fast.json", "--max-slowdown", 50)
    assert run(*slower, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--against", "h5pi"), "Did you mean h5py?"),
        (("--compare", "--batch-sizes", "5,x"), "x"),
        (("--compare", "--baseline", "none.json"), "none.json"),
        (("--compare", "--world-size", "2"), "one rank"),
        (("--max-slowdown", "5"), "--baseline"),
        (("--workers", "1"), "--compare"),
        (("--batch-size", "5", "--batch-sizes", "5"), "contradict"),
    ],
)
def test_usage(jets, tmp_path: Path, words: tuple[str, ...], told: str) -> None:
    done = run("bench", jets.glob, *words, cwd=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert told in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_the_program_alone_says_that_rivals_need_python(jets, tmp_path: Path) -> None:
    program = pytest.importorskip("headrace.__main__").command_line()
    done = subprocess.run([program, "bench", jets.glob, "--compare"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "python -m headrace bench" in done.stderr


def test_rivals_are_the_same_in_both_programs(jets, tmp_path: Path) -> None:
    told = run("bench", jets.glob, "--against", "nobody", cwd=tmp_path).stderr
    listed = told.split("There are: ")[1].strip().rstrip(".").split(", ")
    assert sorted(listed) == sorted([*bench_rivals.RIVALS, *bench_rivals.GROUPS])


def test_interrupt_leaves_no_process(jets, tmp_path: Path) -> None:
    words = ("bench", jets.glob, "--against", "h5py", "--epochs", 10**9, "--seconds", 600, "--save", "out")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where tests run in the background
    process = subprocess.Popen(command(*words), stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    signal.signal(signal.SIGINT, before)
    server = _wait_for_server(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not Path(f"/proc/{server}").exists()
    assert not list(tmp_path.iterdir())


def _wait_for_server(pid: int) -> int:
    """The process that measures, once it has forked one."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if Path(f"/proc/{child}/task/{child}/children").read_text().strip():
                return int(child)
        time.sleep(0.01)
    raise AssertionError("nothing is measured")


def test_settings_and_best_workers() -> None:
    def contestant(workers: int, rate: float) -> bench_compare.Contestant:
        made = bench_compare.Contestant("torch-lru", f"{workers}", "train", _Loader(), workers)  # type: ignore[arg-type]
        made.rounds.append({"first": {"samples_per_second": rate}, "later": None})
        return made

    best = bench_compare._best([contestant(0, 5.0), contestant(1, 9.0), contestant(2, 7.0)])
    assert [one.workers for one in best] == [1]
    assert best[0].tried == {"0": 5.0, "1": 9.0, "2": 7.0}
    assert bench_compare.rivals(["torch", "h5py", "torch-lru"]) == ["torch-slices", "torch-lru", "h5py"]


class _Loader:
    batch_size = 5
