"""Warnings come once for a launch and point at the user's line; the log says more the more it is asked for."""

from __future__ import annotations

import inspect
import os
import pickle
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from memory_files import write_rows

import headrace as hr

WARNS = {"shuffle": True, "shuffle_buffer": "64x1", "batch_size": 20}  # of blocks that are longer than a stream
LAUNCHERS = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
]
SCRIPT = """
data = hr.open(PATHS)
loader = hr.Loader(data, 20, shuffle=True, shuffle_buffer="64x1")
held = list(hr.Loader(ROWS, 16, memory="6MiB", cache="none", threads=1))
data.split({"a": 0.1, "b": 0.8}, by="file")
print(len(loader.report().notices))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The line of a script that names a file of 16 MiB."""
    return f"ROWS = {str(write_rows(tmp_path_factory.mktemp('rows') / 'rows.h5', 16, noise=True))!r}\n"


def first_warning(call: Callable[[], Any]) -> tuple[str, int]:
    """File and line at which a call warns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    ours = [w for w in caught if issubclass(w.category, hr.HeadraceWarning)]
    assert ours, "it does not warn"
    return ours[0].filename, ours[0].lineno


def test_a_warning_points_at_the_line_of_the_user(jets, tmp_path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(
        f"data: {{files: '{jets.glob}'}}\nloader: {{batch_size: 20, shuffle: true, shuffle_buffer: 64x1}}\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pickled = pickle.dumps(hr.Loader(jets.open(), **WARNS))
        ahead = hr.Loader(jets.open(), 10, sampler=range(40), lookahead=1)
        kept = next(iter(ahead))
    calls: list[Callable[[], Any]] = [
        lambda: hr.Loader(jets.open(), **WARNS),
        lambda: hr.Loader(jets.glob, **WARNS),
        lambda: hr.load_run(run_file),
        lambda: hr.bench(jets.glob, **WARNS),
        lambda: hr.order(jets.glob, **WARNS),
        lambda: hr.replay(run_file, epoch=0, step=0),
        lambda: pickle.loads(pickled),
        lambda: ahead.state_dict(),
        lambda: jets.open().split({"a": 0.1, "b": 0.8}, by="file"),
    ]
    for call in calls:
        assert first_warning(call) == (__file__, inspect.getsourcelines(call)[1])
    assert len(kept["y"]) == 10


@pytest.mark.parametrize(("rank", "world_size"), LAUNCHERS)
def test_one_process_of_a_launch_warns(
    run_python, rows: str, monkeypatch: pytest.MonkeyPatch, rank: str, world_size: str
) -> None:
    monkeypatch.setenv(world_size, "2")
    texts = {}
    for number in ("0", "1"):
        monkeypatch.setenv(rank, number)
        done = run_python(rows + SCRIPT)
        assert int(done.stdout) > 0  # the report lists them on every rank
        texts[number] = done.stderr
    assert texts["1"] == ""
    for words in ("the largest block has", "batches that the program holds", "whole files do not make"):
        assert texts["0"].count(words) == 1


def test_other_ranks_log_and_may_be_asked_to_warn(run_python, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "HeadraceWarning" in run_python("import warnings\nwarnings.simplefilter('always')\n" + rows + SCRIPT).stderr
    monkeypatch.setenv("HEADRACE_LOG", "warning")
    assert "headrace rank 1: whole files do not make" in run_python(rows + SCRIPT).stderr


def test_a_rank_that_the_program_gives(run_python, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_LOG", "warning")
    script = rows + "held = list(hr.Loader(ROWS, 32, memory='6MiB', cache='none', threads=1, rank={}, world_size=2))\n"
    for rank, warned in ((0, 1), (1, 0)):
        text = run_python(script.format(rank)).stderr
        assert text.count("HeadraceWarning: batches that the program holds") == warned, text
        assert text.count("headrace: batches that the program holds") == 1 - warned, text


def test_a_rank_that_torch_distributed_names(run_python, rows: str) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    script = """
        import os, tempfile, torch.distributed as dist
        shared = tempfile.mkdtemp() + "/store"
        child = os.fork()
        rank = 1 if child == 0 else 0
        dist.init_process_group("gloo", init_method="file://" + shared, rank=rank, world_size=2)
        held = list(hr.Loader(ROWS, 32, memory="6MiB", cache="none", threads=1))
        dist.barrier()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
    """
    text = run_python(rows + textwrap.dedent(script)).stderr
    assert text.count("batches that the program holds") == 1, text


def test_debug_says_more_than_info(run_python, monkeypatch: pytest.MonkeyPatch) -> None:
    script = """
        with hr.Loader(PATHS, 50, seed=4711, memory="64MiB", sampler=range(100)) as loader:
            for _ in range(2):
                for batch in loader:
                    pass
            loader.load_state_dict({**loader.state_dict(), "epoch": 7, "samples": 50})
    """
    texts = {}
    for level in ("warning", "info", "debug"):
        monkeypatch.setenv("HEADRACE_LOG", level)
        done = run_python(script)
        assert done.stdout == ""
        texts[level] = done.stderr
    assert texts["warning"] == ""
    assert "4711" in texts["info"]
    assert set(texts["info"].splitlines()) < set(texts["debug"].splitlines())
    for words in ("opened in", "epoch 0 begins", "epoch 1 begins", "after 50 samples of epoch 7", "VERDICT"):
        assert words in texts["debug"]
        assert words not in texts["info"]


def test_a_file_name_that_is_no_text(jets, tmp_path) -> None:
    """File names are bytes: a note of one is a warning like others, and no error of the epoch or the report."""
    file = tmp_path / os.fsdecode(b"\xff")
    file.touch()  # no directory, so no cache can be in it
    loader = hr.Loader(jets.open(), 50, cache=file / "cache")
    with pytest.warns(hr.HeadraceWarning) as caught:
        assert sum(len(batch["y"]) for batch in loader) == len(jets)
    assert any("\udcff" in str(warning.message) for warning in caught)
    report = loader.report()
    assert any("\udcff" in note for note in report.notices)
    assert report.to_dict()["notices"]
    report.to_json().encode()
    for text in (str(report), repr(report), report._repr_html_(), loader.explain()):
        assert text


def test_a_shuffle_buffer_that_was_meant_as_samples_is_named(jets) -> None:
    with pytest.warns(
        hr.HeadraceWarning, match=r"shuffle_buffer=1000 is a size in bytes, less than one batch"
    ) as caught:
        loader = hr.Loader(jets.open(), 20, shuffle=True, shuffle_buffer=1000)
    named = 1000 * loader.dataset.sample_bytes
    assert f"shuffle_buffer={named};" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.Loader(jets.open(), 20, shuffle=True, shuffle_buffer=named)
