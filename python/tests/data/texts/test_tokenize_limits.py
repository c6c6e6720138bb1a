"""tokenize: memory that long lines and windows take, damaged texts, runs that are repeated, files that change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tokenizer_files as files

import headrace as hr
from headrace._support.program import command_line

PEAK = """
import resource, sys
import headrace as hr
tokenizer = hr.Tokenizer(sys.argv[1])
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = hr.tokenize(sys.argv[2], sys.argv[3], tokenizer, memory=sys.argv[4], threads=2, progress=False)
print(done.documents, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) // 1024)
"""


def peak_of(text: str, to: Path, memory: str) -> tuple[int, int]:
    """Documents, and the MiB that the process took beyond what it had with the tokenizer."""
    words = [sys.executable, "-c", PEAK, os.fspath(files.SMALL), text, str(to), memory]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    documents, mib = map(int, done.stdout.split())
    return documents, mib


def test_long_lines_stay_within_the_memory(tmp_path: Path) -> None:
    line = json.dumps({"text": "word " * 1_600_000}) + "\n"  # 8 MB, of which few fit at once
    for number in range(3):
        (tmp_path / f"{number}.jsonl").write_text(line * 3 + '{"text": "short"}\n' * 50)
    documents, mib = peak_of(str(tmp_path / "*.jsonl"), tmp_path / "out", "100MiB")
    assert documents == 159
    assert mib < 100 + 32


def test_a_line_that_never_fits_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "short"}\n' + json.dumps({"text": "word " * 4_000_000}) + "\n")
    with pytest.raises(hr.OutOfBudgetError, match=r"line 2: .* follow that cannot be divided"):
        hr.tokenize(tmp_path / "a.jsonl", tmp_path / "out", files.SMALL, memory="48MiB")
    assert hr.tokenize(tmp_path / "a.jsonl", tmp_path / "out", files.SMALL, memory="512MiB").documents == 2


def test_little_memory_is_enough_and_too_little_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the reader of the file\n" * 200_000)
    small = hr.tokenize(tmp_path / "a.txt", tmp_path / "small", files.SMALL, memory="40MiB", threads=2)
    assert hr.tokenize(tmp_path / "a.txt", tmp_path / "large", files.SMALL).tokens == small.tokens
    assert (tmp_path / "small/tokens-00000.npy").read_bytes() == (tmp_path / "large/tokens-00000.npy").read_bytes()
    with pytest.raises(hr.OutOfBudgetError, match=r'at least .* with this tokenizer: memory="\d+MiB"') as caught:
        hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, memory="8MiB")
    least = str(caught.value).split('memory="')[1].split('"')[0]
    assert hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, memory=least).tokens == small.tokens


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs the program zstd")
def test_windows_of_zstd_are_counted(tmp_path: Path) -> None:
    """Four files at once would have held four windows of 64 MiB."""
    noise = np.random.default_rng(1).integers(97, 123, 1 << 20, dtype=np.uint8).tobytes()
    for number in range(4):
        plain = tmp_path / f"{number}.txt"
        plain.write_bytes((noise + b"\n") * 70)
        subprocess.run(["zstd", "-q", "-1", "--long=26", "--rm", plain], check=True)
    documents, mib = peak_of(str(tmp_path / "*.zst"), tmp_path / "out", "140MiB")
    assert documents == 4
    assert mib < 140 + 48
    with pytest.raises(hr.OutOfBudgetError, match=r"window of 6\d.* does not fit. Give .* more memory"):
        hr.tokenize(tmp_path / "0.txt.zst", tmp_path / "none", files.SMALL, memory="64MiB")


def test_whole_documents_are_skipped(tmp_path: Path) -> None:
    """Also where the damage comes after what would have been written."""
    good, bad = "good text " * 10, b"text " * 700_000 + b"\xff" + b" text" * 10
    (tmp_path / "a.txt").write_text(good)
    (tmp_path / "b.txt").write_bytes(bad)
    (tmp_path / "c.txt").write_text(good)
    (tmp_path / "d.txt").write_bytes(b"cut in a character \xe2\x82")
    done = hr.tokenize(tmp_path / "*.txt", tmp_path / "out", files.SMALL, bad_text="skip")
    assert (done.documents, done.skipped_documents) == (2, 2)
    assert "b.txt: byte 3500000 of the text, 0xff, is no UTF-8" in done.first_skipped
    alone = [tmp_path / "a.txt", tmp_path / "c.txt"]
    hr.tokenize(alone, tmp_path / "alone", files.SMALL)
    assert (tmp_path / "out/tokens-00000.npy").read_bytes() == (tmp_path / "alone/tokens-00000.npy").read_bytes()
    split = "é" * ((1 << 20) - 1) + "x" + "€" * (1 << 20)  # characters over the ends of what is read at once
    (tmp_path / "long.txt").write_text(split)
    assert hr.tokenize(tmp_path / "long.txt", tmp_path / "long", files.SMALL, bad_text="skip").skipped_documents == 0


SURROGATES = ['{"text": "a \\ud800 b"}', '{"text": "a \\ud83d\\ude00 \\\\ud800 b", "other": "\\udc00"}']


def tokens_of(folder: Path) -> list[int]:
    return np.load(folder / "tokens-00000.npy").tolist()  # type: ignore[no-any-return]


def test_halves_of_surrogate_pairs(tmp_path: Path) -> None:
    """Python's json writes them. In other keys they do not matter; in the text they are no character."""
    (tmp_path / "a.jsonl").write_text("\n".join(SURROGATES) + "\n")
    with pytest.raises(hr.CorruptDataError, match="line 1: its text has half of a surrogate pair"):
        hr.tokenize(tmp_path / "a.jsonl", tmp_path / "none", files.SMALL)
    skipped = hr.tokenize(tmp_path / "a.jsonl", tmp_path / "skip", files.SMALL, bad_text="skip")
    assert (skipped.documents, skipped.skipped_documents) == (1, 1)
    replaced = hr.tokenize(tmp_path / "a.jsonl", tmp_path / "replace", files.SMALL, bad_text="replace")
    assert (replaced.documents, replaced.skipped_documents) == (2, 0)
    plain = ["a \ufffd b", "a \U0001f600 \\ud800 b"]
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in plain))
    hr.tokenize(tmp_path / "b.jsonl", tmp_path / "plain", files.SMALL)
    assert tokens_of(tmp_path / "replace") == tokens_of(tmp_path / "plain")


@pytest.mark.parametrize("format", ["headrace", "megatron", "nanogpt"])
def test_a_finished_run_may_be_repeated(tmp_path: Path, format: str) -> None:
    """As a job does that was killed behind its last step."""
    text, to = tmp_path / "a.txt", tmp_path / "out.bin"
    text.write_text("the reader of the file\n" * 100)
    words = [str(command_line()), "tokenize", str(text), "--tokenizer", os.fspath(files.SMALL), "--to", str(to)]
    words += ["--format", format]
    first = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)["done"]
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if "out" in str(path)}
    again = subprocess.run([*words, "--json"], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
    done = json.loads(again.stdout)["done"]
    assert done["resumed_bytes"] == first["text_bytes"]
    assert (done["tokens"], done["documents"]) == (first["tokens"], first["documents"])
    shown = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "by an earlier call: nothing was left to do" in shown.stdout
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.*") if "out" in str(path)} == written
    for change in (["--no-end-of-text"], ["--document", "line"]):  # another output, for which there is no room
        assert subprocess.run([*words, *change], capture_output=True, check=False).returncode == 2
    text.write_text("another text\n" * 100)
    assert subprocess.run(words, capture_output=True, check=False).returncode == 2


def test_what_others_finished_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the reader of the file\n")
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, dtype="uint16")
    with pytest.raises(hr.InvalidArgumentError, match="tokens of other files, options or another tokenizer") as caught:
        hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL, dtype="uint32")
    assert caught.value.file == str(tmp_path / "out")


@pytest.mark.parametrize("lost", ["tokens-00000.npy", "ends-00000.npy"])
def test_a_finished_run_of_which_files_are_gone_is_not_done(tmp_path: Path, lost: str) -> None:
    """Files that others put beside them do not matter."""
    (tmp_path / "a.txt").write_text("the reader of the file\n")
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL)
    (tmp_path / "out/NOTES").write_text("mine")
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL)
    for harm in (lambda path: path.write_bytes(path.read_bytes()[:-8]), Path.unlink):
        harm(tmp_path / "out" / lost)
        with pytest.raises(hr.InvalidArgumentError, match="or they were changed"):
            hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL)


def test_a_note_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the reader of the file\n")
    (tmp_path / "out.done").mkdir()
    with pytest.raises(hr.InvalidArgumentError, match=r"out\.done.*folder"):
        hr.tokenize(tmp_path / "a.txt", tmp_path / "out", files.SMALL)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "out.done"]


def test_texts_of_which_nothing_is_left_say_why(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": 1}\n{"other": "x"}\n')
    with pytest.raises(hr.CorruptDataError, match=r"all 2 documents were left out, the first: .*a\.jsonl.* line 1"):
        hr.tokenize(tmp_path / "a.jsonl", tmp_path / "out", files.SMALL, bad_text="skip")
    assert not (tmp_path / "out").exists()


def test_an_output_that_is_gone_is_made_again(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("the reader of the file\n" * 100)
    first = hr.tokenize(text, tmp_path / "out", files.SMALL)
    shutil.rmtree(tmp_path / "out")
    assert hr.tokenize(text, tmp_path / "out", files.SMALL).tokens == first.tokens
    assert len(hr.open_tokens(tmp_path / "out")) == first.tokens


@pytest.mark.parametrize("format", ["megatron", "nanogpt"])
def test_unfinished_outputs_are_compared(tmp_path: Path, format: str) -> None:
    """A bit that changed in what a killed run left is no part of a finished one."""
    text, to = tmp_path / "a.jsonl", tmp_path / "out.bin"
    text.write_text('{"text": "the reader of the file"}\n' * 60_000)

    def stop(done: int, total: int) -> bool:
        return done < total // 2

    with pytest.raises(hr.Error):
        hr.tokenize(text, to, files.SMALL, format=format, threads=1, memory="40MiB", progress=stop)
    part = next(tmp_path.glob("out.bin.unfinished"))
    data = bytearray(part.read_bytes())
    data[100] ^= 1
    part.write_bytes(data)
    with pytest.raises(hr.CorruptDataError, match="CRC-32C"):
        hr.tokenize(text, to, files.SMALL, format=format)
    hr.tokenize(text, to, files.SMALL, format=format, restart=True)
    assert to.exists()


def test_a_text_that_changes_while_it_is_read_is_told(tmp_path: Path) -> None:
    text = tmp_path / "a.jsonl"
    text.write_text('{"text": "the reader of the file"}\n' * 100_000)
    changed = []

    def rewrite(done: int, total: int) -> bool:
        if not changed:
            with text.open("r+") as file:
                file.seek(file.seek(0, 2) - 12)
                file.write("FILE")
            changed.append(done)
        return True

    with pytest.raises(hr.FileChangedError):
        hr.tokenize(text, tmp_path / "out", files.SMALL, threads=1, memory="40MiB", progress=rewrite)
    assert changed
    assert not (tmp_path / "out").exists()
