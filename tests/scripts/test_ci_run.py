"""What .ci/run makes of its steps: which ran, which failed, and which were left out for lack of time."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RESULTS = """mkdir -p build/test_results/{0}
cat >build/test_results/{0}/ctest.xml <<X
<testsuite><testcase name="base" status="{1}"/></testsuite>
X
echo '<testsuite><testcase name="a" status="run" classname="S"/></testsuite>' >build/test_results/{0}/base_test.xml
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository whose steps only write down that they ran."""
    (tmp_path / ".ci").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in (".ci/run", "scripts/not_run.sh", "scripts/count_tests.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    command(tmp_path, "bin/make", f'echo "$1" >>ran\n[ "$1" != test ] || {{ {RESULTS.format("release", "run")} }}')
    command(tmp_path, ".venv/bin/python", 'basename "$1" >>ran')
    command(tmp_path, "scripts/run_tests.sh", 'echo "$1 $2" >>ran\n' + RESULTS.format('"$1"', "run").replace("X", "Y"))
    return tmp_path


def command(root: Path, name: str, text: str) -> None:
    """A program of a few lines."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


def ci(root: Path, **environment: str) -> tuple[int, list[str], list[str]]:
    """Exit status, the lines printed, and the steps that ran."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HEADRACE_")}
    clean["PATH"] = f"{root / 'bin'}:{clean['PATH']}"
    done = subprocess.run([root / ".ci/run"], capture_output=True, text=True, env=clean | environment)
    return done.returncode, done.stdout.splitlines(), (root / "ran").read_text().splitlines()


def test_all_steps_run(root: Path) -> None:
    status, lines, ran = ci(root)
    steps = ["check", "test", "check_clang.py", "check_tidy.py", "guides", "fuzz-short", "tsan short", "asan short"]
    assert (status, ran, lines[-1]) == (0, steps, "3 passed, 0 failed, 0 skipped")
    assert lines[lines.index("===== left out, or cut short") + 1] == "nothing"


@pytest.mark.parametrize(("seconds", "left_out"), [("250", 3), ("20", 6)])
def test_what_there_is_no_time_for_counts_as_skipped(root: Path, seconds: str, left_out: int) -> None:
    """The check and the tests always run."""
    status, lines, ran = ci(root, HEADRACE_CI_SECONDS=seconds)
    assert (status, len(ran), lines[-1]) == (0, 8 - left_out, f"1 passed, 0 failed, {left_out} skipped")
    reason = "SKIPPED [1] scripts/run_tests.sh asan short: it takes 300 s, and "
    assert [line for line in lines if line.startswith(reason) and line.endswith(f" of {seconds} s are gone")]
    listed = lines[lines.index("===== left out, or cut short") + 1 :][:left_out]
    assert all(line.endswith(" s are gone") for line in listed), listed


def test_in_full_everything_runs(root: Path) -> None:
    assert len(ci(root, HEADRACE_CI_SECONDS="20", HEADRACE_CI_FULL="1")[2]) == 8


@pytest.mark.parametrize(("name", "step"), [("bin/make", "make fuzz-short"), (".venv/bin/python", "check_clang.py")])
def test_a_step_that_fails_counts_as_failed(root: Path, name: str, step: str) -> None:
    """And the others run all the same."""
    path = root / name
    path.write_text(path.read_text() + f"case $* in *{step.split()[-1]}*) exit 3 ;; esac\n")
    status, lines, ran = ci(root)
    assert (status, len(ran), lines[-1]) == (1, 8, "3 passed, 1 failed, 0 skipped")
    assert [line for line in lines if line.startswith("FAILED ") and step in line]


def test_a_failed_test_counts_once(root: Path) -> None:
    """Its step fails as well, which is the same failure."""
    command(root, "scripts/run_tests.sh", RESULTS.format('"$1"', "fail").replace("X", "Y") + "touch ran\n[ $1 = asan ]")
    status, lines, _ = ci(root)
    assert (status, lines[-1]) == (1, "3 passed, 2 failed, 0 skipped")


def test_tests_that_did_not_start_count_as_failed(root: Path) -> None:
    """They leave no result."""
    command(root, "scripts/run_tests.sh", "exit 1")
    status, lines, _ = ci(root)
    assert (status, lines[-1]) == (1, "1 passed, 2 failed, 0 skipped")
    assert "FAILED scripts/run_tests.sh tsan short" in lines
