"""What is given for a path and is none: refused with what takes it, and without a look into it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizer_files

import headrace as hr

pytestmark = pytest.mark.fast
OF_PATHS: dict[str, Callable[[Any], Any]] = {
    "open": hr.open,
    "open_tokens": hr.open_tokens,
    "open_volume": hr.open_volume,
    "open_text": lambda value: hr.open_text(value, tokenizer_files.SMALL),
    "inspect": hr.inspect,
    "verify": hr.verify,
    "advise": hr.advise,
    "cache_build": lambda value: hr.cache_build(value, "unused"),
    "rewrite": lambda value: hr.rewrite(value, "unused"),
    "check_memory": hr.check_memory,
    "bench": hr.bench,
    "order": hr.order,
    "replay": lambda value: hr.replay(value, epoch=0, step=0),
}
NAMES = {"check_memory": "data", "bench": "source", "order": "source", "replay": "source"}


class Untouchable:
    """Fails a test that looks into it."""

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("it was iterated")

    def __len__(self) -> int:
        raise AssertionError("it was iterated")

    def __repr__(self) -> str:
        raise AssertionError("its values would be in the text")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    np.savez(tmp_path / "rows.npz", x=np.arange(12))
    return tmp_path / "rows.npz"


@pytest.mark.parametrize("verb", OF_PATHS)
def test_an_object_is_refused_untouched(verb: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=r"test_path_arguments\.Untouchable") as caught:
        OF_PATHS[verb](Untouchable())
    assert str(caught.value).startswith(f"{NAMES.get(verb, 'paths')} must be a str, a Path or a list of them, not ")


#: Verbs that take a data set and a loader too (test_tool_sources.py).
OF_ANY = ("inspect", "verify", "advise", "check_memory", "bench", "order", "replay")


@pytest.mark.parametrize("verb", [verb for verb in OF_PATHS if verb not in OF_ANY])
def test_a_data_set(rows: Path, verb: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=r"not an object of the class headrace\.Dataset") as caught:
        OF_PATHS[verb](hr.open(rows))
    for text in ("hr.Loader takes it, and hr.bench, order", "[file.path for file in dataset.files]"):
        assert text in (caught.value.hint or "")


@pytest.mark.parametrize("verb", [verb for verb in OF_PATHS if verb not in OF_ANY])
def test_a_loader_keeps_its_epoch(rows: Path, verb: str) -> None:
    loader = hr.Loader(hr.open(rows), 3)
    begun = iter(loader)
    assert next(begun)["x"].tolist() == [0, 1, 2]
    state = loader.state_dict()
    with pytest.raises(hr.InvalidArgumentError, match=r"not an object of the class headrace\.Loader") as caught:
        OF_PATHS[verb](loader)
    assert "hr.bench, order, advise, check_memory, replay, inspect and verify take a Loader" in (
        caught.value.hint or ""
    )
    assert "loader.dataset" in (caught.value.hint or "")
    assert loader.state_dict() == state
    assert next(begun)["x"].tolist() == [3, 4, 5]


def test_several_paths_of_any_kind(rows: Path) -> None:
    for paths in ([rows], (str(rows),), {rows}, np.array([str(rows)]), (path for path in [rows]), {1: rows}.values()):
        assert len(hr.open(paths)) == 12  # type: ignore[arg-type]
    assert len(hr.bench((path for path in [rows]), batch_size=3).to_dict()) > 0  # type: ignore[arg-type]
    with pytest.raises(hr.InvalidArgumentError, match=r"paths must be a str, a Path or a list of them, not .*ndarray"):
        hr.open(np.array(str(rows)))  # type: ignore[arg-type]
    for wrong in ([3], [rows, Untouchable()], np.arange(3)):
        with pytest.raises(hr.InvalidArgumentError, match="a path must be a str or a Path, not "):
            hr.open(wrong)  # type: ignore[arg-type]


def test_advice_that_cannot_be_written(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(hr.WriteFailedError, match=r"run\.yaml: it cannot be written: Not a directory") as caught:
        hr.advise(rows, write=rows / "run.yaml")
    assert caught.value.file == str(rows / "run.yaml")
    with pytest.raises(hr.InvalidArgumentError, match="write must be a str or a Path, not 3"):
        hr.advise(rows, write=3)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [object(), None, 3, Untouchable()], ids=["object", "None", "int", "other"])
def test_no_tokenizer(value: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    for call in (hr.Tokenizer, lambda tokenizer: hr.open_text(tmp_path / "a.txt", tokenizer)):
        with pytest.raises(hr.InvalidArgumentError, match="the file, the folder or the name of a tokenizer") as caught:
            call(value)
        assert "tokenizer.json" in (caught.value.hint or "")


def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    for cache in (tmp_path / "a.txt", tmp_path / "a.txt" / "cache", "/proc/cache"):
        with pytest.raises(hr.PermissionDeniedError, match=r"cannot be made|it is no directory") as caught:
            hr.open_text(tmp_path / "a.txt", tokenizer_files.SMALL, cache=cache)
        assert "Give cache= a folder of your own." in str(caught.value)


def test_a_current_directory_that_was_deleted(rows: Path, tmp_path: Path) -> None:
    """Relative paths name it; absolute ones work on, also where HEADRACE_CACHE is relative."""
    (tmp_path / "a.txt").write_text("the reader")
    (tmp_path / "gone").mkdir()
    code = (
        "import os, sys, warnings, headrace as hr\n"
        "rows, text, small = sys.argv[1:]\n"
        "os.rmdir(os.getcwd())\n"
        "data = hr.open(rows)\n"
        "calls = [lambda: hr.open('rows.npz'), lambda: hr.Loader(data, 2, cache='c/'), lambda: hr.load_run('r.yaml'),\n"
        "    lambda: hr.cache_build(rows, 'c'), lambda: hr.open_text(text, small, cache='c/'),\n"
        "    lambda: hr.open_text('a.txt', small), lambda: hr.Tokenizer('t.json'),\n"
        "    lambda: data.join('t.csv', 'x', ['y']), lambda: hr.advise(rows, write='r.yaml')]\n"
        "for call in calls:\n"
        "    try: call()\n"
        "    except hr.FileMissingError as error: print(error)\n"
        "warnings.simplefilter('ignore')\n"
        "os.environ['HEADRACE_CACHE'] = 'kept'\n"
        "print('opened', len(hr.open_text(text, small)))\n"
        "try: hr.Tokenizer('gpt2')\n"
        "except hr.FileMissingError as error: print('gpt2' in str(error) and 'was deleted' not in str(error))\n"
        "else: print(True)\n"
    )
    words = [sys.executable, "-c", code, str(rows), str(tmp_path / "a.txt"), str(tokenizer_files.SMALL)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path / "gone", check=False, timeout=60)
    told = done.stdout.splitlines()
    assert len(told) == 11, done.stderr
    for line in told[:9]:
        assert "the current directory was deleted, and the path is relative to it" in line
    assert told[9].startswith("opened ")
    assert told[10] == "True"


def test_where_a_cache_goes_and_what_is_called(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(4))
    for to, said in ((5, "to must be a str or a Path, not 5"), ("", "to is empty")):
        with pytest.raises(hr.InvalidArgumentError, match=said):
            hr.cache_build(tmp_path / "a.npz", to)  # type: ignore[arg-type]
    for call in (
        lambda: hr.cache_build(tmp_path / "a.npz", tmp_path / "cache", progress=5),
        lambda: hr.verify(tmp_path / "a.npz", progress=5),
        lambda: hr.rewrite(tmp_path / "a.npz", tmp_path / "out", progress=5),
        lambda: hr.bench(tmp_path / "a.npz", progress=5),
    ):
        with pytest.raises(hr.InvalidArgumentError, match="progress must be a function"):
            call()  # type: ignore[no-untyped-call]
    assert not (tmp_path / "cache").exists()
