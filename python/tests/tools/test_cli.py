"""The command line as a user meets it: exit statuses, stdout and stderr, JSON, and messages.

The program is HEADRACE_CLI, or the one that travels in the package.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from cli_program import program, run
from real_data import LIQUIDO, needed


def write_jets(path: Path, rows: int = 1000, seed: int = 0, **options: object) -> Path:
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as file:
        settings = {"chunks": (100, 8, 4), "compression": "gzip", "fletcher32": True, **options}
        file.create_dataset("feature_matrix", data=rng.normal(size=(rows, 8, 4)).astype("f4"), **settings)
        file["labels"] = rng.integers(10, size=rows)
    return path


@pytest.fixture
def jets(tmp_path: Path) -> Path:
    """A directory with train_1.h5, train_2.h5 and train_10.h5."""
    for i, name in enumerate((1, 2, 10)):
        write_jets(tmp_path / f"train_{name}.h5", seed=i)
    return tmp_path


def damage(path: Path, array: str, chunk: int) -> None:
    with h5py.File(path) as file:
        info = file[array].id.get_chunk_info(chunk)
    data = bytearray(path.read_bytes())
    data[info.byte_offset + info.size // 2] ^= 0xFF
    path.write_bytes(data)


# --- the program -----------------------------------------------------------------------------------------------------


def test_version_and_help() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("headrace ")
    assert "libhdf5" in done.stdout
    assert json.loads(run("--version", "--json").stdout)["headrace"]
    done = run("--help")
    assert done.returncode == 0
    for verb in ("inspect", "verify", "bench", "advise", "check-memory", "demo"):
        assert verb in done.stdout
        text = run(verb, "--help")
        assert text.returncode == 0
        assert "Examples:" in text.stdout
        assert "--json" in text.stdout


def test_no_verb_is_a_usage_error() -> None:
    assert run().returncode == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("inspct", "a.h5"), "Did you mean inspect?"),
        (("bench", "a.h5", "--batchsize", "5"), "Did you mean --batch-size?"),
        (("verify",), "FILE"),
        (("bench", "a.h5", "--batch-size", "none"), "none"),
        (("bench", "a.h5", "--batch-size", "0"), "batch-size"),
        (("bench", "a.h5", "--memory", "much"), "much"),
        (("bench", "a.h5", "--fields", "=x"), "NAME=PATH"),
        (("inspect", "nothing_*.h5"), "no file matches"),
        (("inspect", "."), "directory"),
    ],
)
def test_usage_errors(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert words in done.stderr
    assert "\x1b" not in done.stderr


def test_errors_as_json(tmp_path: Path) -> None:
    done = run("inspect", "nothing.h5", "--json", cwd=tmp_path)
    assert done.returncode == 2
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "not_found"
    assert error["file"] == "nothing.h5"


def test_underscores_are_taken_for_dashes(jets: Path) -> None:
    done = run("bench", "train_*.h5", "--batch_size=50", "--json", cwd=jets)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["batch_size"] == 50


def test_groups_need_no_batch_size(jets: Path) -> None:
    done = run("bench", "train_*.h5", "--group-by", "file", "--json", cwd=jets)
    assert done.returncode == 0, done.stderr


def test_a_full_disk_is_noticed(jets: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    command = [program(), "inspect", os.fspath(jets / "train_1.h5")]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False).returncode == 4


# --- inspect ---------------------------------------------------------------------------------------------------------


def test_inspect(jets: Path) -> None:
    done = run("inspect", "train_*.h5", cwd=jets)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("train_1.h5")
    for words in ("feature_matrix", "float32", "gzip", "100 rows", "native", "contiguous", "Fast", "2 more files"):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100
    files = json.loads(run("inspect", "train_*.h5", "--json", cwd=jets).stdout)["files"]
    assert [file["path"] for file in files] == ["train_1.h5", "train_2.h5", "train_10.h5"]


def test_inspect_tells_differences(jets: Path) -> None:
    write_jets(jets / "train_11.h5", chunks=(50, 8, 4))
    done = run("inspect", "train_*.h5", cwd=jets)
    assert done.returncode == 1
    assert "unlike the first" in done.stdout


def test_inspect_a_real_file() -> None:
    done = run("inspect", needed(LIQUIDO))
    assert done.returncode == 0, done.stderr
    for words in ("HitData", "(121096, 7)", "record of 4", "SiPMIDxyz.SiPMID", "contiguous", "any rows in any order"):
        assert words in done.stdout
    assert "fields=" in done.stdout  # arrays of different lengths: it says that a choice is needed


@pytest.mark.parametrize("verb", ["inspect", "verify", "bench", "advise", "check-memory"])
def test_what_is_not_hdf5_is_refused_by_name(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "x.nc"
    path.write_bytes(b"CDF\x01" + bytes(100))  # netCDF-3
    done = run(verb, path)
    assert done.returncode == 3
    assert "netCDF" in done.stdout + done.stderr


@pytest.mark.parametrize("verb", ["inspect", "verify", "bench", "advise", "check-memory"])
def test_what_is_not_there_is_a_matter_of_usage(verb: str, tmp_path: Path) -> None:
    done = run(verb, tmp_path / "missing.h5")
    assert done.returncode == 2
    assert "missing.h5" in done.stderr


def test_what_a_newer_hdf5_wrote_comes_with_the_cure(tmp_path: Path) -> None:
    linked = re.findall(r"(?i)hdf5 +([0-9.]+)", run("--version").stdout)[0]
    if int(linked.split(".")[0]) >= 2 or h5py.version.hdf5_version_tuple < (2,):
        pytest.skip(f"h5py's HDF5 {h5py.version.hdf5_version} is not newer than Headrace's {linked}")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["flat"] = np.arange(100)
        file["flags"] = np.zeros(100, bool)
        file.create_dataset("x", data=np.arange(100.0), chunks=(10,), compression="gzip")
    for verb in ("inspect", "verify"):
        done = run(verb, path)
        assert done.returncode == 1
        text = " ".join(done.stdout.split())
        for words in (linked, "superblock version 3", "layout message of version 5", "libver=", "h5repack"):
            assert words in text, f"{verb} lacks {words!r}: {text}"
    done = run("bench", path, "--fields", "x=x")
    assert done.returncode == 3
    assert "h5repack" in done.stderr


def test_inspect_an_unsupported_array(tmp_path: Path) -> None:
    path = write_jets(tmp_path / "a.h5")
    with h5py.File(path, "a") as file:
        file.create_dataset("words", data=["a", "bb", "ccc"], dtype=h5py.string_dtype())
    done = run("inspect", path)
    assert done.returncode == 1
    read_by = dict(re.findall(r"^  (\w+) .* (native|libhdf5|refused)$", done.stdout, re.MULTILINE))
    assert read_by == {"words": "refused", "feature_matrix": "native", "labels": "native"}
    assert "Refused  words: variable-length strings: rows have no fixed size. Leave it out of fields=" in done.stdout
    arrays = {array["path"]: array for array in json.loads(run("inspect", path, "--json").stdout)["files"][0]["arrays"]}
    assert arrays["words"]["read_path"] == "refused"
    assert "variable-length" in arrays["words"]["reason"]


# --- verify ----------------------------------------------------------------------------------------------------------


def test_verify(jets: Path) -> None:
    done = run("verify", "train_*.h5", "--threads", 2, cwd=jets)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "Good" in done.stdout
    data = json.loads(run("verify", "train_*.h5", "--json", cwd=jets).stdout)
    assert (data["files"], data["arrays"], data["bad_pieces"]) == (3, 6, 0)
    assert data["without_checksum"] == ["labels"]


def test_verify_names_every_bad_chunk(jets: Path) -> None:
    damage(jets / "train_2.h5", "feature_matrix", 3)
    damage(jets / "train_10.h5", "feature_matrix", 0)
    done = run("verify", "train_*.h5", cwd=jets)
    assert done.returncode == 3
    assert "train_2.h5 › feature_matrix › chunk (3,0,0) › bytes " in done.stdout
    assert "rows 300 to 399" in done.stdout
    assert "train_10.h5 › feature_matrix › chunk (0,0,0)" in done.stdout
    data = run("verify", "train_*.h5", "--json", cwd=jets)
    assert data.returncode == 3
    assert json.loads(data.stdout)["bad_pieces"] == 2


def test_verify_a_truncated_file(jets: Path) -> None:
    path = jets / "train_2.h5"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    done = run("verify", "train_*.h5", cwd=jets)
    assert done.returncode == 3
    assert "train_2.h5" in done.stdout


# --- bench -----------------------------------------------------------------------------------------------------------


def test_bench(jets: Path) -> None:
    done = run(
        "bench", "train_*.h5", "--fields", "x=feature_matrix,labels", "--batch-size", 64, "--epochs", 2, cwd=jets
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "samples/s" in done.stdout
    data = json.loads(
        run("bench", "train_*.h5", "--epochs", 2, "--threads", 1, "--cache", "none", "--json", cwd=jets).stdout
    )
    assert data["samples"] == 6000
    assert data["report"]["read_amplification"] == pytest.approx(1.0)
    assert data["shuffle"] == "block"  # as in training
    assert json.loads(run("bench", "train_*.h5", "--no-shuffle", "--json", cwd=jets).stdout)["shuffle"] == "none"


def test_bench_a_missing_field(jets: Path) -> None:
    done = run("bench", "train_*.h5", "--fields", "x=feature_matrx", cwd=jets)
    assert done.returncode == 2
    assert "feature_matrix" in done.stderr


def test_bench_under_too_little_memory(jets: Path) -> None:
    done = run("bench", "train_*.h5", "--memory", "1KiB", cwd=jets)
    assert done.returncode == 4
    assert done.stderr.startswith("error: ")


def test_bench_bad_data_is_a_located_error(jets: Path) -> None:
    damage(jets / "train_2.h5", "feature_matrix", 3)
    done = run("bench", "train_*.h5", cwd=jets)
    assert done.returncode == 3
    assert "train_2.h5 › feature_matrix › chunk (3,0,0)" in done.stderr


def test_bench_a_run_file_from_anywhere(jets: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    run_file = jets / "run.yaml"
    run_file.write_text(
        'data:   {files: "train_*.h5", fields: {x: feature_matrix, y: labels}}\n'
        "loader: {batch_size: 100, shuffle: true, seed: 7, memory: 64MiB}\n"
    )
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    data = json.loads(run("bench", run_file, "--json", cwd=elsewhere).stdout)
    assert (data["samples"], data["batch_size"], data["memory_budget_bytes"]) == (3000, 100, 64 << 20)
    data = json.loads(run("bench", run_file, "--batch-size", 30, "--json", cwd=elsewhere).stdout)
    assert data["batch_size"] == 30


def test_bench_a_wrong_run_file(tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text("data: {files: a.h5}\nloader:\n  batchsize: 100\n")
    done = run("bench", run_file)
    assert done.returncode == 2
    assert "line 3" in done.stderr
    assert "batch_size" in done.stderr


# --- advise and check-memory ------------------------------------------------------------------------------------------


def test_advise(jets: Path) -> None:
    done = run("advise", "train_*.h5", "--batch-size", 64, "--target", "5/s", "--write", "run.yaml", cwd=jets)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for words in ("DATA", "MACHINE", "LIMIT", "TARGET", "balanced", "REWRITING", "NEXT"):
        assert words in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 120
    data = json.loads(run("bench", jets / "run.yaml", "--json").stdout)
    assert (data["samples"], data["batch_size"], data["shuffle"]) == (3000, 64, "block")
    data = json.loads(run("advise", "train_*.h5", "--batch-size", 64, "--json", cwd=jets).stdout)
    assert data["advised"]["warm_samples_per_second"] > 0
    assert "batch_size: 64" in data["run_file"]


def test_advise_in_words_that_are_wrong(jets: Path) -> None:
    assert run("advise", "train_*.h5", "--target", "much", cwd=jets).returncode == 2
    assert run("advise", "train_*.h5", "--memory", "1KiB", cwd=jets).returncode == 4
    assert run("advise", "train_*.h5", "--write", "no/such/directory/run.yaml", cwd=jets).returncode == 4


def test_check_memory_says_it_by_its_exit_status(jets: Path) -> None:
    fits = run("check-memory", "train_*.h5", "--batch-size", 64, cwd=jets)
    assert fits.returncode == 0, fits.stdout + fits.stderr
    assert fits.stderr == ""
    assert "VERDICT   fits" in fits.stdout
    small = run("check-memory", "train_*.h5", "--memory", "1KiB", cwd=jets)
    assert small.returncode == 11
    assert "the smallest budget is" in " ".join(small.stdout.split())
    least = json.loads(run("check-memory", "train_*.h5", "--memory", "1KiB", "--json", cwd=jets).stdout)
    assert least["exit_status"] == 11
    memory = ("--memory", least["smallest_budget_bytes"])
    assert run("check-memory", "train_*.h5", *memory, cwd=jets).returncode == 0
    assert run("bench", "train_*.h5", *memory, cwd=jets).returncode == 0


def test_check_memory_under_a_limit_of_the_shell(jets: Path) -> None:
    command = f"ulimit -v 400000; exec '{program()}' check-memory 'train_*.h5' --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=jets)
    data = json.loads(done.stdout)
    assert data["rule"] == "ulimit -v"
    assert data["available_bytes"] < 400000 << 10
    assert done.returncode == data["exit_status"]


# --- demo ------------------------------------------------------------------------------------------------------------


def test_demo(tmp_path: Path) -> None:
    out = tmp_path / "set"
    done = run("demo", "--out", out, "--kind", "jets", "--jets", 300, "--files", 2)
    assert done.returncode == 0, done.stderr
    assert "headrace inspect" in done.stdout
    assert run("verify", f"{out}/train_*.h5").returncode == 0
    data = json.loads(run("demo", "--out", out, "--jets", 300, "--files", 2, "--json").stdout)
    assert data["jets"] == 300


def test_demo_without_a_place() -> None:
    assert run("demo").returncode == 2


# --- Ctrl-C ----------------------------------------------------------------------------------------------------------


def catches(pid: int, number: int) -> bool:
    """True once the process handles the signal."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (number - 1) & 1)
    return False


@pytest.mark.parametrize("verb", [("bench", "--epochs", "1000000"), ("verify",)], ids=["bench", "verify"])
def test_interrupt(verb: tuple[str, ...], tmp_path: Path) -> None:
    path = write_jets(tmp_path / "a.h5", rows=50000)
    for number in range(200):  # seconds of work for verify
        (tmp_path / f"a_{number}.h5").hardlink_to(path)
    command = [program(), verb[0], os.fspath(tmp_path / "a_*.h5"), *verb[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not catches(process.pid, signal.SIGINT) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors


def test_a_plot_that_is_not_named_svg_is_refused_before_anything_is_computed(jets: Path) -> None:
    done = run("order", jets / "train_1.h5", "--batch-size", 8, "--plot", jets / "order.png")
    assert done.returncode != 0
    assert "--plot writes an SVG picture" in done.stderr
    assert "order.svg" in done.stderr
    assert not (jets / "order.png").exists()
    assert run("order", jets / "train_1.h5", "--batch-size", 8, "--plot", jets / "order.svg").returncode == 0
    assert (jets / "order.svg").read_text().startswith("<svg")
