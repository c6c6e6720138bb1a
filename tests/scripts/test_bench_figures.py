"""What bench/ does with figures: which version they describe, when a page would mix versions, how they are judged."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.fast

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import common  # noqa: E402
import epoch_figures  # noqa: E402
import provenance  # noqa: E402
import run as bench  # noqa: E402
import table  # noqa: E402
from figure import HEADLINE_REPETITIONS, Contestant, Figure, Runs, only  # noqa: E402

CARD = {"cpu": "A", "cores": 2, "simd": [], "virtual": True, "memory_gib": 8, "kernel": "6", "load_before": 0.1}
CARD |= {"python": "3.11", "versions": {"numpy": "2"}}


def git(root: Path, *words: str) -> str:
    own = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *own, "-C", str(root), *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def commit(root: Path, **files: str) -> str:
    """Commit files (a/b.c is written a__b_c); returns the short hash."""
    for name, text in files.items():
        write(root, name.replace("__", "/").replace("_", "."), text)
    git(root, "add", "--all")
    git(root, "commit", "-m", "some")
    return git(root, "rev-parse", "--short=7", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init")
    commit(root, src__a_cpp="1", python__b_py="1", docs__page_md="1")
    return root


def test_a_commit_of_pages_and_tests_alone_is_the_same_version(repository: Path) -> None:
    before = provenance.version(repository)
    after = commit(repository, docs__page_md="2", python__tests__t_py="2")
    write(repository, "src/a_test.cpp", "2")
    git(repository, "add", "--all")
    git(repository, "commit", "-m", "tests")
    now = provenance.version(repository)
    assert now.code == before.code
    assert now.engine_commit == before.engine_commit == before.commit
    assert now.commit not in (before.commit, after)


@pytest.mark.parametrize("name", ["src/a.cpp", "src/new/n.h", "include/i.h", "python/b.py", "cli/c.cpp"])
def test_a_change_of_code_is_another_version_committed_or_not(repository: Path, name: str) -> None:
    before = provenance.version(repository)
    write(repository, name, "2")
    changed = provenance.version(repository)
    assert changed.commit == before.commit + "+changes"
    assert changed.code != before.code
    git(repository, "add", "--all")
    git(repository, "commit", "-m", "code")
    now = provenance.version(repository)
    assert now.code == changed.code
    assert now.engine_commit == now.commit != before.commit


def test_what_the_benchmarks_write_is_no_change(repository: Path) -> None:
    commit(repository, docs__benchmarks_md="1", bench__results__r_json="1")
    write(repository, "docs/benchmarks.md", "2")
    write(repository, "bench/results/r.json", "2")
    assert not provenance.version(repository).commit.endswith("+changes")
    write(repository, "bench/run.py", "2")
    assert provenance.version(repository).commit.endswith("+changes")


def test_asking_leaves_the_index_as_it_is(repository: Path) -> None:
    write(repository, "src/a.cpp", "2")
    provenance.version(repository)
    assert git(repository, "status", "--porcelain") == "M src/a.cpp"  # not staged


def test_outside_of_a_checkout_nothing_is_known(tmp_path: Path) -> None:
    assert provenance.version(tmp_path).code == provenance.UNKNOWN


def entry(code: str | None, commit_name: str = "abc1234") -> dict[str, Any]:
    return {} if code is None else {"code": code, "commit": commit_name}


def test_mixtures_and_stale_figures() -> None:
    assert not provenance.is_mixture({})
    assert not provenance.is_mixture({"a": entry("x"), "b": entry("x", "def5678")})
    assert provenance.is_mixture({"a": entry("x"), "b": entry("y")})
    assert provenance.is_mixture({"a": entry(None), "b": entry(None)})
    assert list(provenance.stale({"a": entry("x"), "b": entry("y"), "c": entry(None)}, "x")) == ["b", "c"]
    unknown = {"a": {"code": provenance.UNKNOWN}}
    assert list(provenance.stale(unknown, provenance.UNKNOWN)) == ["a"]


def figure(key: str = "speed", **more: Any) -> Figure:
    value = more.pop("value", lambda runs: only("speed", runs))
    return Figure(key, f"what {key} is", 0.9, True, {"headrace": Contestant("x")}, value, "x", **more)


def runs_of(*speeds: float) -> Runs:
    return {"headrace": [{"speed": speed} for speed in speeds]}


def test_headline_figures_are_measured_seven_times_at_least() -> None:
    assert HEADLINE_REPETITIONS >= 7
    assert figure(headline=True).times(5) == HEADLINE_REPETITIONS
    assert figure(headline=True).times(9) == 9
    assert figure(repetitions=3).times(5) == 3
    assert figure().times(2) == 2
    with pytest.raises(ValueError, match="speed: a headline figure needs"):
        figure(headline=True, repetitions=3)


def test_the_lowest_repetition_is_judged_by_itself() -> None:
    judged = figure(never_below=0.8)
    good = bench.summary(judged, runs_of(0.95, 0.8, 0.97))
    bad = bench.summary(judged, runs_of(0.95, 0.79, 0.97))
    assert (good["met"], good["never_met"]) == (True, True)
    assert (bad["met"], bad["never_met"]) == (True, False)
    assert "never_met" not in bench.summary(figure(), runs_of(0.1))
    place = {"measured_at": "2026-01-01"}
    [first, second] = table.lines("speed", bad | place, "a").strip().splitlines()
    assert first.split(" | ")[4] == "met"
    assert [cell.strip() for cell in second.split("|")][2:6] == ["never below 0.800", "**0.790**", "", "missed"]
    assert "below 0.8: missed" in table.one_line(bad)
    with pytest.raises(ValueError, match="where more is better"):
        Figure("t", "", 1, False, {}, lambda runs: [], never_below=1)


def test_a_figure_without_a_reach_is_told_and_not_judged() -> None:
    told = Figure("t", "what", None, True, {}, lambda runs: only("speed", runs), beside={"twice": (lambda r: [4], "s")})
    summary = bench.summary(told, runs_of(2))
    assert summary["met"] is None
    assert table.lines("t", summary, "a") == "| what |  | **2**; twice 4 s | 1 |  | `t` | a |\n"


class Bench:
    """run.py over two figures in two files of results, in a repository of its own; nothing is really run."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.monkeypatch = root, monkeypatch
        self.speeds = {"one": 1.0, "two": 2.0}
        self.measured: list[str] = []
        self.page = root / "docs" / "benchmarks.md"
        sections = [
            table.Section(f"group_{key}", root / "bench" / "results" / f"{key}.json", key, "", [self.figure(key)])
            for key in self.speeds
        ]
        monkeypatch.setattr(common, "ROOT", root)
        monkeypatch.setattr(common, "TABLE", self.page)
        monkeypatch.setattr(table, "ORDERS", {})
        monkeypatch.setattr(common, "machine_card", lambda: CARD)
        monkeypatch.setattr(table, "SECTIONS", sections)
        monkeypatch.setattr(bench, "SECTIONS", sections)
        monkeypatch.setattr(bench, "measure", self.measure)

    @staticmethod
    def figure(key: str) -> Figure:
        return Figure(key, f"what {key} is", 0.9, True, {"headrace": Contestant(key)}, lambda r: only("speed", r), "x")

    def measure(self, figure: Figure, args: Any) -> Runs:
        self.measured.append(figure.key)
        if figure.key not in self.speeds:
            raise RuntimeError("it broke")
        return runs_of(self.speeds[figure.key])

    def __call__(self, *arguments: str) -> int:
        self.measured = []
        self.monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
        return bench.main()

    def results(self, key: str) -> dict[str, Any]:
        return json.loads((self.root / "bench" / "results" / f"{key}.json").read_text())["figures"][key]


@pytest.fixture
def harness(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(repository, monkeypatch)


def test_every_figure_says_commit_date_and_machine(harness: Bench) -> None:
    assert harness() == 0
    first = harness.results("one")
    here = provenance.version(harness.root)
    assert (first["commit"], first["engine_commit"], first["code"]) == (here.commit, here.commit, here.code)
    page = harness.page.read_text()
    assert "mixture" not in page
    assert f"| a | {here.commit} | {here.commit} | {first['measured_at']} | 1 |" in page
    assert page.count("\nMachine 1: A, 2 cores (virtual machine; no AVX2), 8 GiB, Linux 6") == 1
    assert "| `one` | a |" in page
    assert "| `two` | a |" in page


def test_a_mixture_is_refused_before_anything_is_measured(harness: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert harness() == 0
    old = harness.results("two")["commit"]
    page = harness.page.read_text()
    commit(harness.root, src__a_cpp="2")
    assert harness("--only", "one") == bench.MIXTURE != 0
    assert harness.measured == []
    said = capsys.readouterr().err
    assert f"{old}: two" in said
    assert "--allow-mixture" in said
    assert harness.page.read_text() == page


def test_a_mixture_that_is_allowed_says_so_at_the_top(harness: Bench) -> None:
    assert harness() == 0
    old = harness.results("two")["commit"]
    new = commit(harness.root, src__a_cpp="2")
    assert harness("--only", "one", "--allow-mixture") == 0
    page = harness.page.read_text()
    assert page.index("This page is a mixture") < page.index("| figure |")
    assert f"| a | {new} | {new} |" in page
    assert f"| b | {old} | {old} |" in page
    assert "| `two` | b |" in page
    assert table.check() == 3
    assert harness() == 0
    assert "mixture" not in harness.page.read_text()
    assert table.check() == 0


def test_one_figure_alone_may_be_measured_again_at_the_same_version(harness: Bench) -> None:
    assert harness() == 0
    git(harness.root, "add", "--all")
    new = commit(harness.root, docs__page_md="2")
    harness.speeds["one"] = 3.0
    assert harness("--only", "group_one") == 0
    assert harness.measured == ["one"]
    assert harness.results("one")["median"] == 3.0
    assert harness.results("one")["commit"] == new
    assert "mixture" not in harness.page.read_text()


def test_a_figure_that_fails_leaves_no_page_of_two_versions(harness: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert harness() == 0
    page = harness.page.read_text()
    commit(harness.root, src__a_cpp="2")
    del harness.speeds["two"]
    assert harness() == bench.MIXTURE
    said = capsys.readouterr().err
    assert "could not be measured: two" in said
    assert harness.page.read_text() == page


def test_code_that_changes_meanwhile_leaves_no_page(harness: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    measure = harness.measure

    def changing(figure: Figure, args: Any) -> Runs:
        write(harness.root, "src/a.cpp", "changed meanwhile")
        return measure(figure, args)

    harness.monkeypatch.setattr(bench, "measure", changing)
    assert harness() == bench.MIXTURE
    assert "changed while it was measured" in capsys.readouterr().err
    assert not harness.page.exists()


def test_figures_from_before_commits_were_recorded_are_a_mixture(harness: Bench) -> None:
    assert harness() == 0
    path = harness.root / "bench" / "results" / "one.json"
    results = json.loads(path.read_text())
    for name in ("commit", "engine_commit", "code", "machine"):
        del results["figures"]["one"][name]
    path.write_text(json.dumps(results))
    assert harness("--only", "two") == bench.MIXTURE
    assert "not recorded" in table.page(table.SECTIONS)


def test_a_trial_writes_nothing(harness: Bench) -> None:
    assert harness("--trial") == 0
    assert harness.measured == ["one", "two"]
    assert not harness.page.exists()
    assert not (harness.root / "bench" / "results").exists()


def test_a_machine_s_load_is_not_part_of_it() -> None:
    results: dict[str, Any] = {}
    name = common.keep_card(results, CARD)
    assert common.keep_card(results, CARD | {"load_before": 3.0}) == name
    assert common.keep_card(results, CARD | {"cores": 4}) != name
    assert len(results["machines"]) == 2


def test_declared_figures_have_keys_of_their_own_and_short_cells() -> None:
    declared = [figure for section in table.SECTIONS for figure in section.figures]
    keys = [figure.key for figure in declared] + [section.name for section in table.SECTIONS]
    assert len(set(keys)) == len(keys)
    assert [figure.key for figure in declared if len(figure.what) > 120] == []
    assert [figure.key for figure in declared if figure.headline]


def test_reasons_are_of_figures_that_are_declared() -> None:
    assert set(table.REASONS) <= {figure.key for section in table.SECTIONS for figure in section.figures}


def test_a_figure_that_is_missed_has_its_reason_below_it() -> None:
    entry = {"what": "w", "reach": 1, "at_least": True, "unit": "x", "values": [0.5], "median": 0.5, "met": False}
    assert "| … why: memory |" in table.lines("key", entry, "a", "memory")
    assert "why" not in table.lines("key", entry | {"met": True}, "a", "memory")
    fell = {"never_below": 0.7, "never_met": False}
    assert "| … why: memory |" in table.lines("key", entry | {"met": True} | fell, "a", "memory")


def test_a_result_is_judged_by_the_reach_of_today(harness: Bench) -> None:
    assert harness() == 0
    section = table.SECTIONS[0]
    figure = section.figures[0]
    key, median = figure.key, harness.results("one")["median"]
    higher = dataclasses.replace(figure, reach=median + 1, reason="it is slow")
    page = table.page([section._replace(figures=[higher])])
    assert f">= {median + 1:g}x" in page
    assert "| missed | `" + key in page
    assert "| … why: it is slow |" in page
    told = table.page([section._replace(figures=[dataclasses.replace(figure, reach=None)])])
    assert "missed" not in told
    assert "| met |" not in told


def test_every_missed_figure_has_a_reason() -> None:
    missed = [
        figure.key
        for section in table.SECTIONS
        for figure in section.figures
        if (entry := table.read(section.path)["figures"].get(figure.key))
        and table.is_missed(table.judged(figure, entry))
        and not figure.reason
    ]
    assert missed == []


def test_a_total_is_paired_with_its_neighbour() -> None:
    runs = {
        "headrace": [{"total_seconds": {"2": 3.0}}, {"total_seconds": {"2": 8.0}}],
        "no cache": [{"total_seconds": {"2": 2.0}}, {"total_seconds": {"2": 4.0}}],
    }
    assert epoch_figures.total_over("no cache", 2, runs) == [1.5, 2.0]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('shuffle_buffer="200MiB": every block once', "200MiB"),
        ("use shuffle_buffer='1.5 GiB' or memory=3GiB", "1.5GiB"),
        ("shuffle_buffer=1048576 fits", "1048576"),
        ("memory=875 MiB: every block would be decoded once", None),
    ],
)
def test_the_shuffle_buffer_that_a_report_names_is_found(text: str, named: str | None) -> None:
    small_budget = pytest.importorskip("small_budget", reason="headrace is not installed")
    assert small_budget.named_in(["nothing", text]) == named


def test_what_a_consumer_overslept_is_not_the_loader_s() -> None:
    paced_consumer = pytest.importorskip("paced_consumer", reason="headrace is not installed")
    assert paced_consumer.utilisation(asked=1.0, slept=1.2, elapsed=1.2) == pytest.approx(1)
    assert paced_consumer.utilisation(asked=1.0, slept=1.2, elapsed=1.45) == pytest.approx(0.8)


def test_the_page_is_what_the_results_say() -> None:
    assert common.TABLE.read_text() == table.page(table.SECTIONS), "write it again: python bench/table.py"
