"""Test results are counted without losing a failure."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "count_tests.py"

GTEST = """<testsuites><testsuite name="S">
<testcase name="a" status="run" result="completed" classname="S"/>
<testcase name="b" result="skipped" classname="S"><skipped message="src/x.cpp:12&#x0A;needs a disk"/></testcase>
<testcase name="c" status="notrun" result="suppressed" classname="S"/>
{failure}</testsuite></testsuites>"""
FAILURE = '<testcase name="d" status="run" classname="S"><failure message="x.cpp:3&#x0A;1 is not 2"/></testcase>'
CTEST = '<testsuite><testcase name="base" status="{base}"/><testcase name="codec" status="{codec}"/></testsuite>'


def count(folder: Path, base: str, codec: str, failure: str = "") -> tuple[int, list[str]]:
    """Results of two programs, of which base_test wrote its XML."""
    (folder / "base_test.xml").write_text(GTEST.format(failure=failure))
    (folder / "ctest.xml").write_text(CTEST.format(base=base, codec=codec))
    done = subprocess.run([sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_good_results(tmp_path: Path) -> None:
    """Skips are listed with their reason; tests that were switched off do not count."""
    assert count(tmp_path, "run", "run") == (0, ["SKIPPED [1] needs a disk", "1 passed, 0 failed, 1 skipped"])


def test_failed_case_counts_once(tmp_path: Path) -> None:
    """Its program fails too, which is the same failure."""
    status, lines = count(tmp_path, "fail", "run", FAILURE)
    assert status == 1
    assert lines[-2:] == ["FAILED S.d: 1 is not 2", "1 passed, 1 failed, 1 skipped"]


def test_program_that_died_counts(tmp_path: Path) -> None:
    """It left no XML: only ctest knows."""
    status, lines = count(tmp_path, "run", "fail")
    assert status == 1
    assert lines[-1] == "1 passed, 1 failed, 1 skipped"
    assert "codec: the program died" in lines[-2]


def test_nothing_ran(tmp_path: Path) -> None:
    """An empty run is not a good one."""
    (tmp_path / "ctest.xml").write_text("<testsuite/>")
    done = subprocess.run([sys.executable, str(SCRIPT), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == "0 passed, 0 failed, 0 skipped\n"
