"""tokenize() and open_text(): text files as tokens, whole, in order, whatever stops it.

Ishannaik/agent-sweep#228 (U+2028 and others inside a record), infiniflow/ragflow#19179 (byte order marks),
tommy0103/obelisk#29 (a character cut by a buffer), wbolster/jsonlines#68 and
EdinburghNLP/code-docstring-corpus#10 (bytes that are no UTF-8), hiyouga/LlamaFactory#370 and
simonw/ttok#13 (special words in a text).
"""

from __future__ import annotations

import base64
import gzip
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizer_files as files

import headrace as hr
from headrace._support.program import command_line

TOKENIZER = hr.Tokenizer(files.SMALL)
END = TOKENIZER.end_of_text
ODD = [
    *["plain", "line\u2028separator", "para\u2029graph", "next\u0085line", "form\x0cfeed, tab \x0b and \x1c\x1d\x1e"],
    *["tab\tand \\n escaped\n", "中" * 30, "emoji 👩‍🔬 flag 🇩🇪", "", " ", "null \x00 inside", "é and e\u0301"],
    *["ends with it<|endoftext|>", "<|endoftext|>"],
]
ENCODED = [json.dumps({"text": text, "n": i}, ensure_ascii=False).encode() for i, text in enumerate(ODD)]
ESCAPED = [json.dumps({"n": 1, "text": text, "meta": {"text": "not this one"}}).encode() for text in ODD]


def tokens_of(texts: Sequence[str | bytes], end: bool = True) -> np.ndarray[Any, Any]:
    """What the files must hold."""
    ids, at = TOKENIZER.encode_batch(texts)
    behind = np.array([END] if end else [], ids.dtype)
    return np.concatenate([part for i in range(len(texts)) for part in (ids[at[i] : at[i + 1]], behind)])


def holds(path: Any, texts: Sequence[str | bytes]) -> bool:
    tokens = hr.open_tokens(path)
    assert tokens.num_documents == len(texts)
    return np.array_equal(tokens[:], tokens_of(texts))


def write(path: Path, data: bytes | Sequence[bytes]) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else b"\n".join(data) + b"\n")
    return path


def many_documents(count: int, seed: int = 1) -> list[str]:
    words = files.own_texts()
    draw = random.Random(seed)
    return [draw.choice(words)[: draw.randrange(6000)] for _ in range(count)]


@pytest.mark.parametrize(
    "data",
    [
        b"\n".join(ENCODED) + b"\n",
        b"\n".join(ENCODED),
        b"\r\n".join(ENCODED) + b"\r\n",
        b"\xef\xbb\xbf" + b"\n".join(ENCODED) + b"\n",
        b"\n\n" + b"\n\n \n".join(ENCODED) + b"\n\n",
        b"\n".join(ESCAPED) + b"\n",
    ],
    ids=["newline", "no last newline", "crlf", "mark", "empty lines", "escaped"],
)
def test_every_way_to_write_lines_of_json_gives_the_same_tokens(tmp_path: Path, data: bytes) -> None:
    hr.tokenize(write(tmp_path / "a.jsonl", data), tmp_path / "out", TOKENIZER)
    assert holds(tmp_path / "out", ODD)


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        ([ENCODED[0], b'{"text": "caf\xe9 \xff"}', ENCODED[6]], 2, "UTF-8"),
        ([b'{"text": "\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"}', ENCODED[0]], 1, "UTF-8"),
        ([b'{"text": "\\ud83d\\ude00 ok, \\ud83d alone"}', ENCODED[0]], 1, "surrogate pair"),
        (b"\n".join(ENCODED) + b'\n{"text": "cut he', len(ODD) + 1, "JSON"),
        ([ENCODED[0], b'{"content": "x"}', ENCODED[1]], 2, "'content'"),
        ([ENCODED[0], b'{"text": 17}'], 2, "a number"),
        ([ENCODED[0], b'{"text": null}'], 2, "null"),
        ([b'{"text": "first", "text": "second"}'], 1, "twice"),
        ([b'["a", "b"]'], 1, "a list"),
        ("\n".join(text.decode() for text in ENCODED).encode("utf-16"), 1, "UTF-16"),
        (gzip.compress(b"\n".join(ENCODED)), 1, "gzip"),
        (b"\r".join(ENCODED) + b"\r", 1, "JSON"),
    ],
)
def test_damage_is_refused_with_file_and_line(tmp_path: Path, data: Any, line: int, words: str) -> None:
    with pytest.raises(hr.Error, match=f"a.jsonl.*line {line}: .*{words}"):
        hr.tokenize(write(tmp_path / "a.jsonl", data), tmp_path / "out", TOKENIZER)
    assert not (tmp_path / "out").exists()


def test_numbers_of_other_keys_cost_no_line(tmp_path: Path) -> None:
    """As Python's json reads and writes them: of any length, and NaN; what is no number stays an error."""
    numbers = ["123456789012345678901234567890", "-1" + "0" * 400, "1e999", "NaN", "-Infinity", "[Infinity, 1e-999]"]
    texts = [f'{number}: "NaN" \\ 12345678901234567890123' for number in numbers]
    lines = [f'{{"n": {n}, "text": {json.dumps(t)}, "m": {n}}}'.encode() for n, t in zip(numbers, texts, strict=True)]
    assert [json.loads(line)["text"] for line in lines] == texts
    hr.tokenize(write(tmp_path / "a.jsonl", lines), tmp_path / "out", TOKENIZER)
    assert holds(tmp_path / "out", texts)
    for wrong in ("01", "1.", "--1", "1.5.3", "nan", "+1", "-", "NaN1"):
        with pytest.raises(hr.CorruptDataError, match="line 1: this is no line of JSON"):
            path = write(tmp_path / "b.jsonl", [f'{{"n": {wrong}, "text": "a"}}'.encode()])
            hr.tokenize(path, tmp_path / "none", TOKENIZER)
    with pytest.raises(hr.Error, match="is a number, not text"):
        hr.tokenize(write(tmp_path / "c.jsonl", [b'{"text": 1e999}']), tmp_path / "none", TOKENIZER)


def test_damaged_lines_are_left_out_and_counted_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [ENCODED[0], b'{"text": "\xff"}', b"{", ENCODED[1]])
    done = hr.tokenize(path, tmp_path / "out", TOKENIZER, bad_text="skip")
    assert holds(tmp_path / "out", ODD[:2])
    assert done.skipped_documents == 2
    assert "line 2" in done.first_skipped


@pytest.mark.parametrize("seed", range(20))
def test_replaced_bytes_are_those_of_python(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    parts = [b"a", b" the", "é中🇩".encode(), b"\xff", b"\xc3", b"\xe4\xb8"]
    parts += [b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xf4\x90"]
    text = b"".join(draw.choice(parts) for _ in range(200))
    write(tmp_path / "a.txt", text)
    write(tmp_path / "b.jsonl", b'{"text": "' + text + b'"}\n')
    hr.tokenize([tmp_path / "a.txt", tmp_path / "b.jsonl"], tmp_path / "out", TOKENIZER, bad_text="replace")
    assert holds(tmp_path / "out", [text.decode("utf-8", "replace")] * 2)
    with pytest.raises(hr.CorruptDataError, match=r"a\.txt.*UTF-8"):
        hr.tokenize(tmp_path / "a.txt", tmp_path / "not", TOKENIZER)


def test_characters_are_not_cut_by_buffers(tmp_path: Path) -> None:
    texts = []
    data = b""
    for k in range(1, 7):  # two characters of three bytes each, k bytes of which lie before a multiple of a MiB
        edge = (len(data) // 2**20 + 1) * 2**20
        texts.append("x" * (edge - k - len(data) - len('{"text": "')) + "中文")
        data += b'{"text": "' + texts[-1].encode() + b'"}\n'
    hr.tokenize(write(tmp_path / "a.jsonl", data), tmp_path / "out", TOKENIZER)
    assert holds(tmp_path / "out", texts)


def test_documents_of_text_files(tmp_path: Path) -> None:
    text = "one line\r\n\n  \nanother, with a tab\t\nlast"
    write(tmp_path / "a.txt", text.encode())
    write(tmp_path / "b.txt", b"")
    hr.tokenize(tmp_path / "*.txt", tmp_path / "whole", TOKENIZER)
    assert holds(tmp_path / "whole", [text, ""])
    hr.tokenize(tmp_path / "*.txt", tmp_path / "lines", TOKENIZER, document="line")
    assert holds(tmp_path / "lines", ["one line", "another, with a tab\t", "last"])


@pytest.mark.parametrize("grammar", ["gpt2", "llama3"])
def test_a_long_text_is_divided_where_it_changes_nothing(tmp_path: Path, grammar: str) -> None:
    """Six MiB in one document: no tokens begin or end elsewhere because of the pieces it is read in."""
    text = "".join([*files.odd_texts(7, 4000), *files.own_texts()] * 8)[: 6 << 20]
    made = {**files.small(), "added_tokens": []}
    if grammar != "gpt2":
        made = files.with_pattern(made, files.PATTERNS[grammar])
    tokenizer = hr.Tokenizer(files.write_json(tmp_path / "tokenizer.json", made))
    write(tmp_path / "a.txt", text.encode("utf-8", "replace"))
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", tokenizer, end_of_text=False, memory="256MiB")
    assert np.array_equal(hr.open_tokens(tmp_path / "out")[:], tokenizer.encode(text.encode("utf-8", "replace")))


@pytest.mark.parametrize("grammar", ["gpt2", "cl100k", "llama3"])
def test_newlines_behind_punctuation_stay_with_it(tmp_path: Path, grammar: str) -> None:
    """A long document whose only places to divide it are newlines behind punctuation, and behind letters."""
    ranks = files.ranks(files.small()) | {b"!\n": 6000, "据\n".encode(): 6001, b"5\r": 6002, b"\r\n": 6003}
    path = tmp_path / "small.tiktoken"
    path.write_text("".join(f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items()))
    tokenizer = hr.Tokenizer(path, grammar=grammar)
    for i, line in enumerate(["。!\n", "数据\n", "!\n数据\n", "5\r\n", "\u3000\n"]):
        text = (line * (3 << 20))[: (2 << 20) // len(line.encode()) * len(line)]
        write(tmp_path / f"{i}.txt", text.encode())
        hr.tokenize(tmp_path / f"{i}.txt", tmp_path / f"out{i}", tokenizer, end_of_text=False)
        assert np.array_equal(hr.open_tokens(tmp_path / f"out{i}")[:], tokenizer.encode(text)), line


def test_added_words_with_blanks_inside_are_not_divided(tmp_path: Path) -> None:
    made = files.small()
    made["added_tokens"].append(
        {**made["added_tokens"][0], "id": len(made["model"]["vocab"]), "content": "x y", "special": False}
    )
    tokenizer = hr.Tokenizer(files.write_json(tmp_path / "tokenizer.json", made))
    write(tmp_path / "a.txt", b"x y" * (1 << 20))
    hr.tokenize(tmp_path / "a.txt", tmp_path / "out", tokenizer, end_of_text=False)
    assert len(hr.open_tokens(tmp_path / "out")) == 1 << 20


def corpus(folder: Path) -> list[str]:
    """Files of every kind, and their documents in order."""
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed: it compresses with zstd here")
    texts = many_documents(3000)
    lines = [json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in texts]
    write(folder / "1.jsonl", b"".join(lines[:700]))
    write(folder / "2.jsonl.gz", gzip.compress(b"".join(lines[700:900])) + gzip.compress(b"".join(lines[900:1500])))
    codec = pyarrow.Codec("zstd")
    parts = [b"".join(lines[1500:1800]), b"".join(lines[1800:2500])]
    write(folder / "3.jsonl.zst", b"".join(codec.compress(part, asbytes=True) for part in parts))
    for i, text in enumerate(texts[2500:]):
        write(folder / f"4-{i}.txt", text.encode())
    return texts


@pytest.mark.parametrize("format", ["headrace", "megatron", "nanogpt"])
def test_every_number_of_threads_gives_the_same_files(tmp_path: Path, format: str) -> None:
    texts = corpus(tmp_path)
    want = None
    for threads in (1, 2, 3, 4):
        out = tmp_path / f"out{threads}"
        hr.tokenize(tmp_path / "[1-4]*", out, TOKENIZER, threads=threads, format=format, shard_tokens=400_000)
        found = {path.name.replace(out.name, "out"): path.read_bytes() for path in written(tmp_path, out.name)}
        assert want is None or found == want
        want = found
    if format != "nanogpt":
        assert holds(tmp_path / "out4", texts)
    else:
        assert np.array_equal(hr.open_tokens(tmp_path / "out4", dtype="u2")[:], tokens_of(texts))


def written(folder: Path, name: str) -> list[Path]:
    """The files of an output; nothing else may be there but the note of what it was made from."""
    found = sorted(path for path in folder.glob(f"{name}*") if path.suffix != ".done")
    assert not [path for path in found if "unfinished" in path.name or "progress" in path.name]
    return sorted(found[0].iterdir()) if found[0].is_dir() else found


KILLED = """
import os, signal, sys
import headrace as hr
calls = 0
def progress(done, total):
    global calls
    calls += 1
    if calls == int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
done = hr.tokenize(sys.argv[1], sys.argv[2], hr.Tokenizer(sys.argv[5]), format=sys.argv[3], shard_tokens=400_000,
                   checkpoint_seconds=float(sys.argv[6]), threads=2, progress=progress)
print(done.resumed_bytes)
"""


@pytest.mark.parametrize("format", ["headrace", "megatron", "nanogpt"])
@pytest.mark.parametrize("checkpoint_seconds", [0.0, 1000.0])
def test_what_was_killed_goes_on_and_ends_as_if_it_was_not(
    tmp_path: Path, format: str, checkpoint_seconds: float
) -> None:
    corpus(tmp_path)
    hr.tokenize(tmp_path / "[1-4]*", tmp_path / "out", TOKENIZER, format=format, shard_tokens=400_000)
    want = {path.name: path.read_bytes() for path in written(tmp_path, "out")}
    for path in tmp_path.glob("out*"):
        path.rename(tmp_path / f"whole-{path.name}")
    resumed = 0
    for stop in (2, 3, 40, 0):
        words = [str(tmp_path / "[1-4]*"), str(tmp_path / "out"), format, str(stop), str(files.SMALL)]
        ran = subprocess.run(
            [sys.executable, "-c", KILLED, *words, str(checkpoint_seconds)], capture_output=True, text=True, check=False
        )
        assert ran.returncode == (-signal.SIGKILL if stop else 0), ran.stderr
        if stop:
            assert not [path for path in tmp_path.glob("out*") if "." not in path.name]  # nothing has its name yet
        else:
            resumed = int(ran.stdout)
    assert {path.name: path.read_bytes() for path in written(tmp_path, "out")} == want
    assert (resumed > 2_000_000) == (checkpoint_seconds == 0)


def stopped(path: Path, to: Path, **words: Any) -> None:
    """Leave an output unfinished."""
    with pytest.raises(KeyboardInterrupt):
        hr.tokenize(path, to, TOKENIZER, progress=interrupt, checkpoint_seconds=0, **words)


def interrupt(done: int, total: int) -> None:
    raise KeyboardInterrupt


def test_an_unfinished_output_of_other_settings_is_not_gone_on_with(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", " ".join(many_documents(3000)).encode())
    stopped(path, tmp_path / "out")
    with pytest.raises(hr.InvalidArgumentError, match="was begun with other files"):
        hr.tokenize(path, tmp_path / "out", TOKENIZER, end_of_text=False)
    hr.tokenize(path, tmp_path / "out", TOKENIZER, end_of_text=False, restart=True)
    assert np.array_equal(hr.open_tokens(tmp_path / "out")[:], TOKENIZER.encode(path.read_bytes()))
    with pytest.raises(hr.InvalidArgumentError, match="there already"):
        hr.tokenize(path, tmp_path / "out", TOKENIZER)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["a.txt", "out", "out.done"]


@pytest.mark.parametrize("format", ["headrace", "megatron", "nanogpt"])
def test_what_took_the_name_meanwhile_is_not_lost(tmp_path: Path, format: str) -> None:
    path = write(tmp_path / "a.txt", " ".join(many_documents(1000)).encode())
    stopped(path, tmp_path / "out", format=format)
    taken = [tmp_path / "out.bin", tmp_path / "out.idx"] if format == "megatron" else [tmp_path / "out"]
    for other in taken:
        other.write_text("something else")
        with pytest.raises(hr.InvalidArgumentError, match="something of this name"):
            hr.tokenize(path, tmp_path / "out", TOKENIZER, format=format)
        assert other.read_text() == "something else"
        other.unlink()
    hr.tokenize(path, tmp_path / "out", TOKENIZER, format=format)


@pytest.mark.parametrize("format", ["headrace", "megatron", "nanogpt"])
def test_a_kill_between_the_names_and_the_end_is_mended(tmp_path: Path, format: str) -> None:
    """All files have their names, and what says how far they are is still there."""
    path = write(tmp_path / "a.txt", " ".join(many_documents(1000)).encode())
    hr.tokenize(path, tmp_path / "whole", TOKENIZER, format=format)
    want = [found.read_bytes() for found in written(tmp_path, "whole")]
    stopped(path, tmp_path / "out", format=format)
    kept = {found: found.read_bytes() for found in tmp_path.glob("out.progress*")}
    hr.tokenize(path, tmp_path / "out", TOKENIZER, format=format)
    for found, data in kept.items():
        found.write_bytes(data)
    if format == "megatron":
        (tmp_path / "out.idx.unfinished").write_bytes(b"")  # it goes last, after the index has its name
    hr.tokenize(path, tmp_path / "out", TOKENIZER, format=format)
    assert [found.read_bytes() for found in written(tmp_path, "out")] == want


def test_a_checkpoint_that_is_damaged_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", " ".join(many_documents(1000)).encode())
    stopped(path, tmp_path / "out")
    saved = json.loads((tmp_path / "out.progress").read_text())
    (tmp_path / "out.progress").write_text(json.dumps({**saved, "output": {}}))
    with pytest.raises(hr.CorruptDataError, match=r"checkpoint.*restart"):
        hr.tokenize(path, tmp_path / "out", TOKENIZER)
    (tmp_path / "out.progress").write_text("{")
    with pytest.raises(hr.CorruptDataError, match="not a progress file"):
        hr.tokenize(path, tmp_path / "out", TOKENIZER)


@pytest.mark.parametrize(
    ("name", "damage", "words"),
    [
        ("a.jsonl.gz", lambda data: data[:-9], "ends in the middle"),
        ("a.jsonl.gz", lambda data: data[: len(data) // 2], "ends in the middle"),
        ("a.jsonl.gz", lambda data: data[:-6] + bytes([data[-6] ^ 1]) + data[-5:], "damaged"),
        ("a.jsonl.gz", lambda data: data + b"more", "damaged"),
        ("a.jsonl.gz", lambda data: data + bytes(512) + b"more", "follow"),
        ("a.jsonl.gz", lambda _: b"\n".join(ENCODED), "name says gzip"),
        ("a.jsonl.zst", lambda _: b"\n".join(ENCODED), "name says zstd"),
        ("a.parquet", lambda _: b"PAR1", "of this kind are not read"),
    ],
)
def test_damaged_files_are_refused(tmp_path: Path, name: str, damage: Callable[[bytes], bytes], words: str) -> None:
    write(tmp_path / name, damage(gzip.compress(b"\n".join(ENCODED * 200))))
    with pytest.raises(hr.Error, match=f"{name}.*{words}"):
        hr.tokenize(tmp_path / name, tmp_path / "out", TOKENIZER)


def test_zeros_behind_gzip_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl.gz", gzip.compress(b"\n".join(ENCODED)) + bytes(512))
    hr.tokenize(tmp_path / "a.jsonl.gz", tmp_path / "out", TOKENIZER)
    assert holds(tmp_path / "out", ODD)


def test_a_line_larger_than_the_memory_is_refused(tmp_path: Path) -> None:
    text = "a" * (40 << 20)
    path = write(tmp_path / "a.jsonl", b'{"text": "first"}\n{"text": "' + text.encode() + b'"}\n')
    with pytest.raises(hr.OutOfBudgetError, match=r"line 2: .* cannot be divided"):
        hr.tokenize(path, tmp_path / "out", TOKENIZER, memory="200MiB")
    hr.tokenize(path, tmp_path / "out", TOKENIZER, memory="1GiB")
    assert holds(tmp_path / "out", ["first", text])


def test_fields_by_pointer(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ndjson", [b'{"meta": {"text": ["no", "yes"]}}'])
    hr.tokenize(path, tmp_path / "out", TOKENIZER, field="/meta/text/1")
    assert holds(tmp_path / "out", ["yes"])
    with pytest.raises(hr.CorruptDataError, match="nothing is at '/meta/other'"):
        hr.tokenize(path, tmp_path / "not", TOKENIZER, field="/meta/other")


def test_a_vocabulary_that_does_not_fit(tmp_path: Path) -> None:
    ranks = files.ranks(files.small())
    ranks |= {bytes([200, *divmod(i, 256)]): 6000 + i for i in range(60_000)}
    lines = [f"{base64.b64encode(token).decode()} {rank}" for token, rank in ranks.items()]
    (tmp_path / "big.tiktoken").write_text("\n".join(lines))
    tokenizer = hr.Tokenizer(tmp_path / "big.tiktoken", grammar="gpt2", special={files.END: 70_000})
    path = write(tmp_path / "a.txt", b"the reader")
    with pytest.raises(hr.InvalidArgumentError, match="ids would wrap"):
        hr.tokenize(path, tmp_path / "out", tokenizer, dtype="u2")
    hr.tokenize(path, tmp_path / "out", tokenizer)
    assert hr.open_tokens(tmp_path / "out").dtype == np.uint32


def test_open_text_tokenises_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", ENCODED)
    tokens = hr.open_text(path, files.SMALL, cache=tmp_path / "cache")
    (folder,) = (tmp_path / "cache").iterdir()
    before = (folder / "tokens" / "tokens-00000.npy").stat().st_mtime_ns
    assert np.array_equal(tokens[:], tokens_of(ODD))
    again = hr.open_text(str(path), TOKENIZER, cache=tmp_path / "cache")
    assert np.array_equal(again[:], tokens[:])
    assert (folder / "tokens" / "tokens-00000.npy").stat().st_mtime_ns == before
    write(path, ENCODED[:3])
    assert np.array_equal(hr.open_text(path, TOKENIZER, cache=tmp_path / "cache")[:], tokens_of(ODD[:3]))
    assert len(list((tmp_path / "cache").iterdir())) == 2
    batch = next(iter(hr.Loader(again.windows(8, lookahead=1), batch_size=4, shuffle=True)))
    assert batch["tokens"].shape == (4, 9)


def test_several_processes_tokenise_once(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [json.dumps({"text": text}).encode() for text in many_documents(1000)])
    program = (
        "import sys, headrace as hr\n"
        "print(int(hr.open_text(sys.argv[1], sys.argv[2], cache=sys.argv[3], threads=1)[:].astype('u8').sum()))"
    )
    words = [sys.executable, "-c", program, str(tmp_path / "a.jsonl"), str(files.SMALL), str(tmp_path / "cache")]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    sums = {process.communicate()[0] for process in running}
    assert len(sums) == 1
    assert sums != {""}
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_the_command_line(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", [*ENCODED, b"{"])
    words = [str(command_line()), "tokenize", str(tmp_path / "a.jsonl"), "--tokenizer", str(files.SMALL)]
    words += ["--to", str(tmp_path / "out"), "--json"]
    dry = subprocess.run([*words, "--dry-run"], capture_output=True, text=True, check=False)
    assert dry.returncode == 3
    assert "line 15" in dry.stdout
    ran = subprocess.run([*words, "--bad_text", "skip"], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["done"]["skipped_documents"] == 1
    assert holds(tmp_path / "out", ODD)
    assert "about" in ran.stderr
    quiet = [*words[:5], "--to", str(tmp_path / "quiet"), "--bad-text", "skip", "--quiet"]
    ran = subprocess.run(quiet, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stdout.startswith("DONE") and "about" not in ran.stdout + ran.stderr
    wrong = subprocess.run([*words[:-1], "--format", "numpy"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2


def test_files_and_environment_are_named(tmp_path: Path) -> None:
    with pytest.raises(hr.FileMissingError):
        hr.tokenize(tmp_path / "none.txt", tmp_path / "out", TOKENIZER)
    with pytest.raises(hr.InvalidArgumentError, match="no text"):
        hr.tokenize(write(tmp_path / "a.jsonl", b"\n\n"), tmp_path / "out", TOKENIZER)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_end_of_a_text_can_be_named(tmp_path: Path) -> None:
    """By a word that is one token; a run with another word is another run."""
    write(tmp_path / "a.jsonl", b'{"text": "one"}\n{"text": "two"}\n')
    word = TOKENIZER.decode([5])
    hr.tokenize(tmp_path / "a.jsonl", tmp_path / "out", TOKENIZER, end_of_text=word)
    (end,) = TOKENIZER.encode(word)
    assert hr.open_tokens(tmp_path / "out")[:].tolist() == [
        token for text in ("one", "two") for token in (*TOKENIZER.encode(text), end)
    ]
    with pytest.raises(hr.InvalidArgumentError, match="there already"):
        hr.tokenize(tmp_path / "a.jsonl", tmp_path / "out", TOKENIZER)
    with pytest.raises(hr.InvalidArgumentError, match="is no token of the tokenizer"):
        hr.tokenize(tmp_path / "a.jsonl", tmp_path / "else", TOKENIZER, end_of_text="one two three")
