"""The cache of open_text: whose tokens it has, what an unfinished call left, and errors that have a name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizer_files as files

import headrace as hr


def text_of(tokens: hr.tokens.Tokens) -> str:
    return hr.Tokenizer(files.SMALL).decode(tokens.documents()[0]["tokens"])


def test_tokens_of_another_text_are_not_taken(tmp_path: Path) -> None:
    """Folders that changed places, and tokens that were copied from one to the other."""
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name * 3} reads")

    def first(name: str) -> str:
        return text_of(hr.open_text(tmp_path / f"{name}.txt", files.SMALL, cache=tmp_path / "cache"))[:3]

    assert (first("a"), first("b")) == ("aaa", "bbb")
    a, b = sorted((tmp_path / "cache").iterdir())
    for source, to in ((a, tmp_path / "x"), (b, a), (tmp_path / "x", b)):
        source.rename(to)
    with pytest.warns(hr.HeadraceWarning, match="of another text"):
        assert (first("a"), first("b")) == ("aaa", "bbb")
    shutil.rmtree(a / "tokens")
    shutil.copytree(b / "tokens", a / "tokens")
    with pytest.warns(hr.HeadraceWarning, match="of another text"):
        assert first("a") == "aaa"
    shutil.copytree(tmp_path / "cache", tmp_path / "copy")  # other inodes and dates, the same bytes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hr.open_text(tmp_path / "a.txt", files.SMALL, cache=tmp_path / "copy")


def test_documents_that_were_left_out_are_told_each_time(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text('{"text":"one"}\n{"text": bad}\n{"text":"two"}\n')
    for _ in range(3):
        with pytest.warns(hr.HeadraceWarning, match=r"1 documents were left out, the first: .*line 2"):
            tokens = hr.open_text(tmp_path / "b.jsonl", files.SMALL, bad_text="skip", cache=tmp_path / "cache")
        assert tokens.num_documents == 2


@pytest.mark.parametrize("damage", ["a byte", "progress", "no folder", "none"])
def test_an_unfinished_call_that_was_damaged_begins_anew(tmp_path: Path, damage: str) -> None:
    text = tmp_path / "a.txt"
    text.write_text("the reader of the file\n" * 60000)
    code = (
        "import sys, os, headrace as hr\n"
        "def stop(done, of):\n"
        "    if done * 2 > of: os.kill(os.getpid(), 9)\n"
        "hr.open_text(sys.argv[1], sys.argv[2], document='line', cache=sys.argv[3], progress=stop, threads=1)"
    )
    words = [str(text), str(files.SMALL), str(tmp_path / "cache")]
    # Ctrl-C would keep what was done; a kill keeps the last checkpoint, of which a stopped call makes one.
    subprocess.run([sys.executable, "-c", code.replace("os.kill(os.getpid(), 9)", "return False"), *words], check=False)
    (folder,) = (tmp_path / "cache").iterdir()
    assert (folder / "tokens.progress").exists()
    if damage == "a byte":
        path = folder / "tokens.unfinished" / "tokens-00000.npy"
        data = bytearray(path.read_bytes())
        data[999] ^= 1
        path.write_bytes(data)
    elif damage == "progress":
        path = folder / "tokens.progress"
        path.write_text(path.read_text()[:-9])
    elif damage == "no folder":
        shutil.rmtree(folder / "tokens.unfinished")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tokens = hr.open_text(text, files.SMALL, document="line", cache=tmp_path / "cache")
    assert [("unfinished tokens are damaged" in str(one.message)) for one in told] == [True] * (damage != "none")
    want = np.tile(tokens.documents()[0]["tokens"], 60000)
    assert np.array_equal(tokens[:], want)


def as_user(call: Callable[[], Any]) -> str:
    """Return what comes of a call of another user, in a process of its own."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(1000)
        os.setuid(1000)
        try:
            came = f"opened {len(call())}"
        except hr.Error as error:
            came = type(error).__name__
        except BaseException as error:
            came = f"BARE {type(error).__name__}: {error}"
        os.write(write, came.encode())
        os._exit(0)
    os.wait()
    os.close(write)
    with os.fdopen(read) as pipe:
        return pipe.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user in a child")
def test_what_the_system_refuses_has_a_name(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest-of-" in str(folder):
            folder.chmod(0o777)
    (tmp_path / "a.txt").write_text("the reader")
    tokenizer = shutil.copy(files.SMALL, tmp_path / "tokenizer.json")
    hr.open_text(tmp_path / "a.txt", tokenizer, cache=tmp_path / "warm")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)

    def call() -> Any:
        warnings.simplefilter("ignore")
        return hr.open_text(tmp_path / "a.txt", tokenizer, cache=tmp_path / "cache")

    opened = as_user(call)
    assert opened.startswith("opened ")
    (folder,) = (tmp_path / "cache").iterdir()
    os.utime(folder / "tokens" / "manifest.json")
    folder.chmod(0o500)
    assert as_user(call) == opened  # good tokens; that they are is found out again each time
    folder.chmod(0o700)
    (folder / "lock").chmod(0)
    assert as_user(call) == "PermissionDeniedError"
    (folder / "lock").unlink()
    (folder / "tokens").rename(folder / "elsewhere")
    (folder / "tokens").symlink_to("elsewhere")
    assert as_user(call) == opened
    (folder / "tokens").unlink()
    (folder / "tokens").symlink_to("/nowhere")
    assert as_user(call) == opened
    path = folder / "tokens" / "tokens-00000.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    (folder / "tokens").chmod(0o555)
    assert as_user(call) == "PermissionDeniedError"


def test_a_cache_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the reader")
    for cache in (5, "a\0b"):
        with pytest.raises(hr.InvalidArgumentError):
            hr.open_text(tmp_path / "a.txt", files.SMALL, cache=cache)  # type: ignore[arg-type]
