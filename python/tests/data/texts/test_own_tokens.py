"""Tokens that Headrace wrote: damage is noticed by checksums, and caches of text are their user's alone."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizer_files as files
from token_files import documents_of, write_datatrove

import headrace as hr
from headrace._support.program import command_line


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of tokens in several shards, and the same as Megatron and nanoGPT have it."""
    folder = tmp_path_factory.mktemp("written")
    text = folder / "a.txt"
    text.write_text("the reader of the file\n" * 3000)
    words = {"document": "line", "shard_tokens": 6000}
    hr.tokenize(text, folder / "own", files.SMALL, **words)  # type: ignore[arg-type]
    hr.tokenize(text, folder / "megatron", files.SMALL, format="megatron", document="line")
    hr.tokenize(text, folder / "raw.bin", files.SMALL, format="nanogpt", document="line")
    return folder


def verified(path: Path) -> tuple[int, dict[str, object], str]:
    """Return the status, the JSON and the text of ``headrace verify``."""
    words = [str(command_line()), "verify", str(path), "--quiet"]
    text = subprocess.run(words, capture_output=True, text=True, check=False)
    made = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert text.returncode == made.returncode
    return made.returncode, json.loads(made.stdout), text.stdout


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def test_verify_knows_what_it_wrote(written: Path) -> None:
    status, found, text = verified(written / "own")
    assert status == 0, text
    assert "every stored checksum agrees" in text
    assert found["without_checksum"] == []
    assert found["stored_bytes"] == sum(one.stat().st_size for one in (written / "own").glob("*.npy"))
    for name in ("megatron.bin", "megatron.idx"):
        status, found, text = verified(written / name)
        assert (status, found["without_checksum"], found["arrays"]) == (0, ["tokens"], 1), text
    words = [str(command_line()), "verify", str(written / "raw.bin")]
    alone = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (alone.returncode, "a raw file does not record it" in alone.stderr) == (2, True), alone
    beside = subprocess.run([*words, str(written / "own")], capture_output=True, text=True, check=False)
    assert (beside.returncode, "NOTE" in beside.stdout, "BAD" in beside.stdout) == (1, True, False), beside.stdout


@pytest.mark.parametrize("name", ["tokens-00001.npy", "ends-00001.npy", "tokens-00000.npy"])
def test_a_byte_that_changed_is_found(written: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(written / "own", tmp_path / "own")
    flip(tmp_path / "own" / name, -3)
    status, _, text = verified(tmp_path / "own")
    assert status == 3, text
    assert name in text
    if name.startswith("tokens"):
        hr.open_tokens(tmp_path / "own")  # reads what it needs only
    with pytest.raises(hr.CorruptDataError, match=name):
        hr.open_tokens(tmp_path / "own", check=True)


def test_a_file_that_is_gone_is_bad(written: Path, tmp_path: Path) -> None:
    for name in ("tokens-00001.npy", "ends-00001.npy"):
        shutil.rmtree(tmp_path / "own", ignore_errors=True)
        shutil.copytree(written / "own", tmp_path / "own")
        (tmp_path / "own" / name).unlink()
        status, found, text = verified(tmp_path / "own")
        assert (status, found["bad_files"]) == (3, 1), text
        assert f"{name}\n" in text
        assert "it is not there" in text
        assert "BAD: 1 of 1 files are damaged" in text


def test_files_by_themselves_are_compared_with_the_manifest_beside_them(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written / "own", tmp_path / "own")
    pattern = tmp_path / "own" / "*"
    status, _, text = verified(pattern)
    assert (status, "BAD" in text) == (0, False), text
    flip(tmp_path / "own" / "tokens-00001.npy", -3)
    for path in (pattern, tmp_path / "own" / "tokens-00001.npy"):
        status, _, text = verified(path)
        assert status == 3, text
        assert "those that were written" in text
    manifest = tmp_path / "own" / "manifest.json"
    manifest.write_text(manifest.read_text().replace("small_bpe", "large_bpe"))
    assert verified(manifest)[0] == 3


def test_what_lies_beside_a_datatrove_file_belongs_to_it(tmp_path: Path) -> None:
    write_datatrove(tmp_path / "a.ds", documents_of("u2"))
    status, _, text = verified(tmp_path / "a*")
    assert (status, "BAD" in text) == (0, False), text
    index = tmp_path / "a.ds.index"
    index.write_bytes(index.read_bytes()[:-8] + bytes(8))
    assert verified(tmp_path / "a*")[0] == 3


def test_a_key_of_a_manifest_that_is_misspelt(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written / "own", tmp_path / "own")
    path = tmp_path / "own" / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["crc32c"]
    for key in ("end_of_text", "tokenizer", "vocab_size"):
        path.write_text(json.dumps({(f"{name}s" if name == key else name): manifest[name] for name in manifest}))
        with pytest.raises(hr.CorruptDataError, match=f'no "{key}", and an unknown "{key}s"'):
            hr.open_tokens(tmp_path / "own")
    manifest["shards"][0]["ends_crc"] = manifest["shards"][0].pop("ends_crc32c")
    path.write_text(json.dumps(manifest))
    with pytest.raises(hr.CorruptDataError, match='no "ends_crc32c"'):
        hr.open_tokens(tmp_path / "own")
    path.write_text(
        json.dumps(
            {**manifest, "shards": json.loads((written / "own/manifest.json").read_text())["shards"], "my note": 1}
        )
    )
    assert len(hr.open_tokens(tmp_path / "own")) > 0


def test_megatron_whose_index_changed_is_bad(written: Path, tmp_path: Path) -> None:
    for ending in (".bin", ".idx"):
        shutil.copy(written / f"megatron{ending}", tmp_path / f"m{ending}")
    flip(tmp_path / "m.idx", 60)
    for ending in (".bin", ".idx"):
        assert verified(tmp_path / f"m{ending}")[0] == 3


def test_a_manifest_that_changed_is_refused(written: Path, tmp_path: Path) -> None:
    """Every change of a value is noticed, and one by hand is possible: without the checksum."""
    shutil.copytree(written / "own", tmp_path / "own")
    path = tmp_path / "own" / "manifest.json"
    text, manifest = path.read_text(), json.loads(path.read_text())
    rng = random.Random(1)
    values = [i for i, letter in enumerate(text) if letter.isalnum()]
    for at in rng.sample(values, 150):
        changed = text[:at] + rng.choice([c for c in "0123456789abcdez" if c != text[at]]) + text[at + 1 :]
        if '\n "crc32c"' not in changed:  # the checksum's own name is gone, and no value is another
            continue
        path.write_text(changed)
        with pytest.raises((hr.CorruptDataError, hr.UnsupportedError, hr.InvalidArgumentError)):
            hr.open_tokens(tmp_path / "own", check=True)
    path.write_text(json.dumps(manifest))  # other blanks are no other content
    assert hr.open_tokens(tmp_path / "own", check=True).vocab_size == 5000
    manifest["tokenizer"]["name"] = "mine"
    path.write_text(json.dumps(manifest))
    with pytest.raises(hr.CorruptDataError, match=r"checksum is .* that of its content"):
        hr.open_tokens(tmp_path / "own")
    del manifest["crc32c"]
    path.write_text(json.dumps(manifest))
    assert hr.open_tokens(tmp_path / "own").tokenizer == "mine"


def test_shards_that_changed_end_a_resumed_run(tmp_path: Path) -> None:
    """What was written before a kill is compared with what was said of it, whole shards and the open one."""
    (tmp_path / "a.txt").write_text("the reader of the file\n" * 30000)
    words = (
        "import sys, os, headrace as hr\n"
        "def stop(done, of):\n"
        "    if done * 2 > of: os.kill(os.getpid(), 9)\n"
        "hr.tokenize(sys.argv[1], sys.argv[2], sys.argv[3], document='line', shard_tokens=20000,"
        " checkpoint_seconds=0, progress=stop, threads=1)"
    )
    arguments = [str(tmp_path / "a.txt"), str(tmp_path / "out"), str(files.SMALL)]
    subprocess.run([sys.executable, "-c", words, *arguments], check=False, timeout=60)
    working = tmp_path / "out.unfinished"
    shards = sorted(working.glob("tokens-*.npy"))
    assert len(shards) > 2
    again = {"document": "line", "shard_tokens": 20000}
    for path in (shards[0], shards[-1], working / "ends-00001.npy"):
        kept = tmp_path / "kept"
        shutil.copytree(working, kept)
        shutil.copy(tmp_path / "out.progress", tmp_path / "kept.progress")
        flip(path, 140)
        with pytest.raises(hr.CorruptDataError, match=f"{path.name}.*not those that were written"):
            hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, **again)  # type: ignore[arg-type]
        shutil.rmtree(working)
        kept.rename(working)
        (tmp_path / "kept.progress").replace(tmp_path / "out.progress")
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, **again)  # type: ignore[arg-type]
    hr.tokenize(tmp_path / "a.txt", tmp_path / "whole", files.SMALL, **again)  # type: ignore[arg-type]
    assert np.array_equal(hr.open_tokens(tmp_path / "out", check=True)[:], hr.open_tokens(tmp_path / "whole")[:])
    assert (tmp_path / "out" / "manifest.json").read_text() == (tmp_path / "whole" / "manifest.json").read_text()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("the reader of the file\n" * 500)
    return path


def test_a_cache_of_text_is_its_users_alone(tmp_path: Path, text: Path) -> None:
    before = os.umask(0)
    try:
        hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
    finally:
        os.umask(before)
    (folder,) = (tmp_path / "cache").iterdir()
    assert [one.stat().st_mode & 0o777 for one in (tmp_path / "cache", folder)] == [0o700, 0o700]
    folder.chmod(0o755)  # as an earlier version left it
    hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_caches_of_rows_are_listed_without_those_of_text(tmp_path: Path, text: Path) -> None:
    hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
    words = [str(command_line()), "cache", "ls", str(tmp_path / "cache")]
    listed = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (listed.returncode, "damaged" in listed.stdout) == (0, False), listed


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_tokens_of_another_user_are_refused(tmp_path: Path, text: Path) -> None:
    hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
    (folder,) = (tmp_path / "cache").iterdir()
    os.chown(folder, 54321, 54321)
    with pytest.raises(hr.PermissionDeniedError, match=r"belongs to user 54321.*cache="):
        hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
    shutil.move(folder, tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(hr.PermissionDeniedError, match="no directory"):
        hr.open_text(text, files.SMALL, cache=tmp_path / "cache")


def test_a_cache_that_cannot_be_made_says_so(tmp_path: Path, text: Path) -> None:
    for word in ("none", "ram"):
        with pytest.raises(hr.InvalidArgumentError, match=f"cache='{word}' is no folder"):
            hr.open_text(text, files.SMALL, cache=word)
    (tmp_path / "file").write_text("")
    with pytest.raises(hr.PermissionDeniedError, match="cannot be made"):
        hr.open_text(text, files.SMALL, cache=tmp_path / "file" / "cache")


def test_kept_tokens_that_changed_are_made_anew(tmp_path: Path, text: Path) -> None:
    """The bytes decide: a copy or new dates cost one reading, damage makes the tokens anew, with a warning."""
    first = hr.open_text(text, files.SMALL, cache=tmp_path / "cache")[:]
    (folder,) = (tmp_path / "cache").iterdir()
    shard = folder / "tokens" / "tokens-00000.npy"
    made = shard.stat().st_ino
    os.utime(shard)
    assert np.array_equal(hr.open_text(text, files.SMALL, cache=tmp_path / "cache")[:], first)
    assert shard.stat().st_ino == made
    for damage in ("zeros", "shorter", "gone", "manifest"):
        data = shard.read_bytes()
        if damage == "zeros":
            shard.write_bytes(data[:-900] + bytes(900))
        elif damage == "shorter":
            shard.write_bytes(data[:-900])
        elif damage == "gone":
            shard.unlink()
        else:
            (folder / "tokens" / "manifest.json").write_text("{}")
        with pytest.warns(hr.HeadraceWarning, match="are made anew"):
            again = hr.open_text(text, files.SMALL, cache=tmp_path / "cache")
        assert np.array_equal(again[:], first)
        assert np.array_equal(hr.open_text(text, files.SMALL, cache=tmp_path / "cache")[:], first)


def test_a_lock_that_is_a_link_makes_no_file(tmp_path: Path, text: Path) -> None:
    (tmp_path / "out.progress.lock").symlink_to(tmp_path / "target")
    with pytest.raises(hr.WriteFailedError, match=r"progress\.lock"):
        hr.tokenize(text, tmp_path / "out", files.SMALL)
    assert not (tmp_path / "target").exists()
