"""Files of tokens: windows and documents of each format against NumPy's slices, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from token_files import (
    CODES,
    LENGTHS,
    VOCAB,
    Ids,
    documents_of,
    windows_of,
    write_datatrove,
    write_megatron,
    write_raw,
)

import headrace as hr

pytestmark = pytest.mark.fast
KINDS = ["raw", "npy", "megatron", "datatrove", "headrace"]


def write(folder: Path, kind: str, dtype: str, seed: int) -> tuple[str, dict[str, Any], list[Ids]]:
    """A path to open, what has to be said of it, and its documents."""
    documents = documents_of(dtype, seed)
    if kind == "raw":
        return str(write_raw(folder / f"{seed}.bin", documents)), {"dtype": dtype}, documents
    if kind == "npy":
        np.save(folder / f"{seed}.npy", np.concatenate(documents))
        return str(folder / f"{seed}.npy"), {}, documents
    if kind == "megatron":
        write_megatron(folder / f"corpus_{seed}", [[document] for document in documents])
        return str(folder / f"corpus_{seed}.idx"), {}, documents
    if kind == "datatrove":
        width = np.dtype(dtype).itemsize
        path = write_datatrove(folder / f"{seed}.ds", documents, metadata=f"org/gpt|2|{width}\n4000\n4.00 kT")
        return str(path), {}, documents
    with hr.tokens.Writer(folder / f"own_{seed}", dtype=dtype, shard_tokens=1000, tokenizer="gpt2") as writer:
        writer.write_all(documents)
    return str(folder / f"own_{seed}"), {}, documents


def types_of(kind: str) -> str:
    return "i4" if kind == "megatron" else "u4"


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("wide", [False, True])
def test_windows_and_documents_are_numpys(tmp_path: Path, kind: str, wide: bool) -> None:
    dtype = types_of(kind) if wide else "u2"
    written = [write(tmp_path, kind, dtype, seed) for seed in (1, 2)]
    tokens = hr.open_tokens([path for path, _, _ in written], **written[0][1])
    numbers = np.concatenate([np.concatenate(documents) for _, _, documents in written])
    assert len(tokens) == len(numbers)
    assert (tokens.dtype, tokens.kind) == (np.dtype(dtype), kind)
    np.testing.assert_array_equal(tokens[:], numbers)
    np.testing.assert_array_equal(tokens[1234:2345], numbers[1234:2345])
    files = [tokens[sum(f.rows for f in tokens.files[:i]) :][: file.rows] for i, file in enumerate(tokens.files)]
    for length, stride, lookahead in [(64, None, 1), (100, 37, 0), (33, 1, 3)]:
        windows = tokens.windows(length, stride=stride, lookahead=lookahead)
        want = np.concatenate(
            [windows_of(file, length, stride or length, lookahead) for file in files if len(file) >= length + lookahead]
        )
        np.testing.assert_array_equal(windows[:]["tokens"], want)
        got = np.concatenate([batch["tokens"] for batch in hr.Loader(windows, 16)])
        np.testing.assert_array_equal(got, want)
        shuffled = np.concatenate([batch["tokens"] for batch in hr.Loader(windows, 16, shuffle=True, seed=5)])
        assert sorted(map(bytes, shuffled)) == sorted(map(bytes, want))
    across = tokens.windows(64, across_files=True)
    np.testing.assert_array_equal(across[:]["tokens"].ravel(), numbers[: len(numbers) // 64 * 64])
    if kind in ("raw", "npy"):
        assert tokens.num_documents is None
        with pytest.raises(hr.UnsupportedError, match="does not record where its documents end"):
            tokens.documents()
        return
    assert tokens.num_documents == 2 * len(LENGTHS)
    documents = tokens.documents()
    wanted = [document for _, _, own in written for document in own]
    assert documents.lengths().tolist() == [len(document) for document in wanted]
    for i, document in enumerate(wanted):
        np.testing.assert_array_equal(documents[i]["tokens"], document)
    order = list(hr.Loader(documents, 4, shuffle=True, seed=1))
    got = [part for batch in order for part in np.split(batch["tokens"], batch["tokens.offsets"][1:-1])]
    assert sorted(map(bytes, got)) == sorted(map(bytes, wanted))


def test_state_resumes_in_the_middle_of_an_epoch(tmp_path: Path, kind: str) -> None:
    path, said, _ = write(tmp_path, kind, "u2", 3)
    windows = hr.open_tokens(path, **said).windows(32, lookahead=1)

    def loader() -> hr.Loader:
        return hr.Loader(windows, 8, shuffle=True, seed=9)

    first = loader()
    whole = [batch["tokens"] for batch in first]
    steps = iter(again := loader())
    for _ in range(5):
        next(steps)
    state = again.state_dict()
    resumed = loader()
    resumed.load_state_dict(state)
    rest = [batch["tokens"] for batch in resumed]
    assert len(rest) == len(whole) - 5
    for got, want in zip(rest, whole[5:], strict=True):
        np.testing.assert_array_equal(got, want)


def test_pickles_as_its_recipe(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path, said, documents = write(tmp_path, kind, "u2", 4)
    monkeypatch.chdir(tmp_path)
    tokens = hr.open_tokens(os.path.relpath(path), **said)
    kept = [pickle.dumps(thing) for thing in (tokens, tokens.windows(50, lookahead=1), tokens.rows)]
    monkeypatch.chdir("/")
    again, windows, rows = (pickle.loads(text) for text in kept)
    assert (len(again), again.kind, again.dtype) == (len(tokens), kind, np.uint16)
    assert len(rows) == len(tokens)
    np.testing.assert_array_equal(windows[3]["tokens"], np.concatenate(documents)[150:201])
    if tokens.num_documents:
        made = tokens.documents()
        text = pickle.dumps(made)
        assert len(text) < 1000  # the index is read again; it is not in the recipe
        np.testing.assert_array_equal(pickle.loads(text)[4]["tokens"], documents[4])
        assert "document" in repr(made.select([0, 3]))


def test_mixes_with_other_windows(tmp_path: Path) -> None:
    web, code = (write(tmp_path, kind, "u2", seed) for kind, seed in (("raw", 5), ("megatron", 6)))
    mixed = hr.mix(
        {
            "web": (hr.open_tokens(web[0], **web[1]).windows(64, lookahead=1), 0.7),
            "code": (hr.open_tokens(code[0]).windows(64, lookahead=1), 0.3),
        }
    )
    assert next(iter(hr.Loader(mixed, 8, shuffle=True)))["tokens"].shape == (8, 65)
    assert len(pickle.loads(pickle.dumps(mixed))) == len(mixed)


# ------------------------------------------------------------------------------------------------------- what files say


@pytest.mark.parametrize("name", ["corpus", "corpus.bin", "corpus.idx", "corpus.*", "c*s.[bi]*"])
def test_a_megatron_pair_goes_by_any_of_its_names(tmp_path: Path, name: str) -> None:
    documents = documents_of()
    write_megatron(tmp_path / "corpus", [[document] for document in documents], modes=True)
    tokens = hr.open_tokens(tmp_path / name)
    assert [file.path for file in tokens.files] == [str(tmp_path / "corpus.bin")]
    assert tokens.num_documents == len(documents)
    with pytest.raises(hr.InvalidArgumentError, match="given twice"):
        hr.open_tokens([tmp_path / "corpus.bin", tmp_path / "corpus.idx"])


def test_a_document_of_several_sequences(tmp_path: Path) -> None:
    """document_indices are ranges of sequences."""
    parts = documents_of("i4")
    write_megatron(tmp_path / "corpus", [[parts[0], parts[3]], [], [parts[4]], [parts[2], parts[5], parts[6]]])
    documents = hr.open_tokens(tmp_path / "corpus").documents()
    assert documents.lengths().tolist() == [700 + 333, 0, 2048, 1 + 17 + 901]
    np.testing.assert_array_equal(documents[3]["tokens"], np.concatenate([parts[2], parts[5], parts[6]]))


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "i4", "i8", "u2"])
def test_every_code_of_megatron(tmp_path: Path, dtype: str) -> None:
    documents = documents_of(dtype, vocab=100)
    write_megatron(tmp_path / "corpus", [[document] for document in documents])
    tokens = hr.open_tokens(tmp_path / "corpus")
    assert tokens.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(tokens[:], np.concatenate(documents))


@pytest.mark.parametrize(
    ("index", "metadata", "said"),
    [
        (True, "gpt2|4\n1\n1", {}),
        (True, None, {}),
        (True, "gpt2\n1\n1", {}),
        (False, "gpt2|4\n1\n1", {}),
        (False, None, {"dtype": "u4"}),
        (False, None, {"vocab_size": 100_000}),
    ],
)
def test_the_width_of_datatroves_tokens(
    tmp_path: Path, index: bool, metadata: str | None, said: dict[str, Any]
) -> None:
    documents = documents_of("u4")
    path = write_datatrove(tmp_path / "a.ds", documents, index=index, metadata=metadata)
    tokens = hr.open_tokens(path, **said)
    np.testing.assert_array_equal(tokens[:], np.concatenate(documents))
    assert tokens.num_documents == (len(documents) if index else None)
    assert tokens.tokenizer == ("gpt2" if metadata else None)
    assert len(hr.open_tokens(f"{tmp_path}/a.ds*", **said).files) == 1


def test_what_a_manifest_says(tmp_path: Path) -> None:
    path, _, documents = write(tmp_path, "headrace", "u2", 7)
    manifest = json.loads((Path(path) / "manifest.json").read_text())
    assert manifest["format"] == "headrace-tokens"
    assert manifest["format_version"] == 1
    assert manifest["tokens"] == sum(LENGTHS)
    assert len(manifest["shards"]) == 3
    shards = [np.load(Path(path) / shard["file"]) for shard in manifest["shards"]]
    ends = [np.load(Path(path) / shard["ends"]) for shard in manifest["shards"]]
    np.testing.assert_array_equal(np.concatenate(shards), np.concatenate(documents))
    assert [int(end[-1]) for end in ends] == [len(shard) for shard in shards]
    tokens = hr.open_tokens(path)
    assert (tokens.tokenizer, tokens.vocab_size) == ("gpt2", None)
    assert "3 headrace files" in repr(tokens)
    assert "gpt2" in repr(tokens)
    with pytest.raises(hr.UnsupportedError, match="open_tokens"):
        hr.open(path)


def test_ten_billion_tokens_open_at_once(tmp_path: Path) -> None:
    """Sparse files beyond 4 GiB: offsets of 64 bits, and nothing is walked."""
    count = 10**10
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(2 * count)
        file.seek(2 * (count - 5000))
        np.arange(5000, dtype="u2").tofile(file)
    began = time.perf_counter()
    tokens = hr.open_tokens(tmp_path / "big.bin", dtype="u2", vocab_size=VOCAB)
    windows = tokens.windows(1024, lookahead=1)
    spent = time.perf_counter() - began
    assert len(tokens) == count
    assert spent < 1, spent
    np.testing.assert_array_equal(tokens[count - 3 :], [4997, 4998, 4999])
    memmap = np.memmap(tmp_path / "big.bin", "u2", "r")
    at = len(windows) - 1
    np.testing.assert_array_equal(windows[at]["tokens"], memmap[at * 1024 : at * 1024 + 1025])
    assert windows[at]["tokens"].max() > 0
    batch = next(iter(hr.Loader(windows, 4, shuffle="exact", seed=2, provenance=True)))
    assert batch["tokens"].shape == (4, 1025)


def test_a_document_beyond_four_gibibytes(tmp_path: Path) -> None:
    """Pointers of an index of few sequences of 2^31 - 1 tokens."""
    length, last = 2**31 - 1, np.arange(3, 1003, dtype="u2")
    stem = tmp_path / "big"
    write_megatron(stem, [[last]])
    header = stem.with_suffix(".idx").read_bytes()[:18]
    lengths = np.array([length, length, length, len(last)], "<i4")
    pointers = 2 * (np.cumsum(lengths, dtype="<i8") - lengths)
    marks = np.arange(5, dtype="<i8")
    counts = np.array([4, 5], "<u8")
    stem.with_suffix(".idx").write_bytes(
        header + counts.tobytes() + lengths.tobytes() + pointers.tobytes() + marks.tobytes()
    )
    with stem.with_suffix(".bin").open("wb") as file:
        file.truncate(int(pointers[-1]))
        file.seek(int(pointers[-1]))
        last.tofile(file)
    documents = hr.open_tokens(stem).documents()
    assert documents.lengths().tolist() == lengths.tolist()
    np.testing.assert_array_equal(documents[-1]["tokens"], last)


# ------------------------------------------------------------------------------------------------------ what is refused


def refused(error: type[hr.Error], match: str, *args: Any, **said: Any) -> hr.Error:
    with pytest.raises(error, match=match) as raised:
        hr.open_tokens(*args, **said)
    return raised.value


def test_a_raw_file_needs_a_width(tmp_path: Path) -> None:
    path = write_raw(tmp_path / "train.bin", documents_of())
    error = refused(hr.InvalidArgumentError, "the size of its tokens is unknown", path)
    assert error.file == str(path)
    assert 'dtype="u2"' in str(error.hint)
    assert "vocab_size" in str(error.hint)
    assert hr.open_tokens(path, vocab_size=VOCAB).dtype == np.uint16
    with pytest.raises(hr.UnsupportedError, match="open_tokens"):
        hr.open(path)


def test_an_odd_length(tmp_path: Path) -> None:
    path = tmp_path / "odd.bin"
    path.write_bytes(bytes(100_001))
    error = refused(hr.CorruptDataError, "100001 bytes are no whole number of uint16 tokens", path, dtype="u2")
    assert error.byte_range == (100_000, 1)


@pytest.mark.parametrize("place", [0, 70_000, 400_000])
def test_an_id_outside_of_the_vocabulary(tmp_path: Path, place: int) -> None:
    numbers = np.zeros(600_000, "u4")
    numbers[place] = 50_257
    numbers.tofile(tmp_path / "a.bin")
    seen = {"check": True} if place * 4 > 2**20 else {}
    if seen:
        assert len(hr.open_tokens(tmp_path / "a.bin", dtype="u4", vocab_size=VOCAB)) == len(numbers)
    error = refused(
        hr.CorruptDataError,
        f"token {place} is 50257, and ids end at 50256",
        tmp_path / "a.bin",
        dtype="u4",
        vocab_size=VOCAB,
        **seen,
    )
    assert error.byte_range == (4 * place, 4)


def test_a_check_needs_a_vocabulary(tmp_path: Path) -> None:
    path = write_raw(tmp_path / "a.bin", documents_of())
    refused(hr.InvalidArgumentError, "needs the size of the vocabulary", path, dtype="u2", check=True)


def test_negative_ids(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([5, 6, -1, 7], ">i4"))
    refused(hr.CorruptDataError, "token 2 is -1, and ids are 0 or more", tmp_path / "a.npy")
    refused(hr.CorruptDataError, "token 2 is -1, and ids end at 9", tmp_path / "a.npy", vocab_size=10)


def test_a_vocabulary_that_the_type_does_not_hold(tmp_path: Path) -> None:
    path = write_raw(tmp_path / "a.bin", documents_of())
    refused(hr.InvalidArgumentError, "does not fit in uint16", path, dtype="u2", vocab_size=119_547)


def test_words_that_contradict_the_file(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(10, dtype="u2"))
    refused(hr.InvalidArgumentError, "dtype is uint32, but the file says uint16", tmp_path / "a.npy", dtype="u4")
    write_megatron(tmp_path / "b", [[np.arange(10, dtype="u2")]])
    refused(hr.InvalidArgumentError, "dtype is uint32, but", tmp_path / "b", dtype="u4")
    write_datatrove(tmp_path / "c.ds", documents_of())
    refused(hr.InvalidArgumentError, "2 bytes a token", tmp_path / "c.ds", dtype="u4")
    for wrong in ("f4", "text", ">u2"):
        refused(hr.InvalidArgumentError, ".", tmp_path / "c.ds", dtype=wrong)


def test_files_that_are_no_tokens(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.zeros((3, 4)))
    refused(hr.InvalidArgumentError, "one axis of whole numbers", tmp_path / "a.npy")
    np.save(tmp_path / "b.npy", np.zeros(0, "u2"))
    refused(hr.CorruptDataError, "no tokens", tmp_path / "b.npy")
    (tmp_path / "c.bin").write_bytes(b"")
    refused(hr.CorruptDataError, "the file is empty", tmp_path / "c.bin", dtype="u2")
    (tmp_path / "d.bin").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(92))
    refused(hr.InvalidArgumentError, "an HDF5 file", tmp_path / "d.bin", dtype="u2")
    refused(hr.InvalidArgumentError, "directory without a manifest", tmp_path)
    refused(hr.FileMissingError, "no such file", tmp_path / "e.bin", dtype="u2")
    for name, dtype in (("f.npy", "u2"), ("g.npy", "u4")):
        np.save(tmp_path / name, np.arange(9, dtype=dtype))
    refused(hr.InvalidArgumentError, "tokens are uint32 here, but uint16", [tmp_path / "f.npy", tmp_path / "g.npy"])


def test_doubtful_widths_are_told(tmp_path: Path) -> None:
    write_raw(tmp_path / "wide.bin", documents_of("u4"))
    with pytest.warns(hr.HeadraceWarning, match="4-byte tokens, read as uint16"):
        hr.open_tokens(tmp_path / "wide.bin", dtype="u2")
    write_raw(tmp_path / "narrow.bin", documents_of("u2"))
    with pytest.warns(hr.HeadraceWarning, match="2-byte tokens, read as uint32"):
        hr.open_tokens(tmp_path / "narrow.bin", dtype="u4")


def damage(path: Path, at: int, number: bytes) -> None:
    text = bytearray(path.read_bytes())
    text[at : at + len(number)] = number
    path.write_bytes(text)


SEQUENCES = len(LENGTHS)
POINTERS, MARKS, END = 34 + 4 * SEQUENCES, 34 + 12 * SEQUENCES, 34 + 12 * SEQUENCES + 8 * (SEQUENCES + 1)
#: What is put where in an .idx file, and what is said of it: (at, bytes, message, place in the message).
AT_OPENING = {
    "magic": (0, b"X", "does not begin", (0, 9)),
    "version": (9, b"\x02", "version 2 of the index", (9, 8)),
    "type": (17, b"\x0b", "code 11 of a type", (17, 1)),
    "floats": (17, b"\x07", "tokens of type float32", (17, 1)),
    "wider": (17, b"\x04", "the last sequence is 901 tokens of 4 bytes", (POINTERS + 8 * (SEQUENCES - 1), 8)),
    "sequences": (18, b"\xff" * 8, "too few for the lists", (18, 16)),
    "marks": (26, b"\xff", "too few for the lists", (18, 16)),
    "fewer marks": (26, b"\x07", "8 bytes follow its lists", (END - 8, 8)),
    "first place": (POINTERS, b"\x02", "place of the first sequence is 2", (POINTERS, 8)),
    "last place": (END - 8 * (SEQUENCES + 2), b"\x00\x01", "the last sequence", (POINTERS + 8 * (SEQUENCES - 1), 8)),
    "first mark": (MARKS, b"\x01", "first mark of documents is 1", (MARKS, 8)),
    "last mark": (END - 8, b"\x06", "last mark of documents is 6", (END - 8, 8)),
}
AT_DOCUMENTS = {
    "negative": (34 + 4, b"\xff\xff\xff\xff", "sequence 1 has -1 tokens", (34 + 4, 4)),
    "longer": (34 + 4, b"\x00\x00\x01\x00", "sequence 1 has 65536 tokens", (34 + 4, 4)),
    "length": (34 + 12, b"\x4e", "sequence 4 begins at byte", (POINTERS + 32, 8)),
    "pointer": (POINTERS + 16, b"\x02", "sequence 2 begins at byte", (POINTERS + 16, 8)),
    "mark falls": (MARKS + 16, b"\x00", "document 1 ends with sequence 0, where 1", (MARKS + 16, 8)),
    "mark far": (MARKS + 16, b"\x09", "document 1 ends with sequence 9", (MARKS + 16, 8)),
}


@pytest.mark.parametrize("name", AT_OPENING)
def test_a_damaged_index_is_refused(tmp_path: Path, name: str) -> None:
    at, number, message, place = AT_OPENING[name]
    write_megatron(tmp_path / "corpus", [[document] for document in documents_of()])
    damage(tmp_path / "corpus.idx", at, number)
    with pytest.raises(hr.Error, match=message) as raised:
        hr.open_tokens(tmp_path / "corpus.idx")
    assert raised.value.file == str(tmp_path / "corpus.idx")
    assert raised.value.byte_range == place


@pytest.mark.parametrize("name", AT_DOCUMENTS)
def test_documents_of_a_damaged_index_are_refused(tmp_path: Path, name: str) -> None:
    """Windows need no index: they are there."""
    at, number, message, place = AT_DOCUMENTS[name]
    documents = documents_of()
    write_megatron(tmp_path / "corpus", [[document] for document in documents])
    damage(tmp_path / "corpus.idx", at, number)
    tokens = hr.open_tokens(tmp_path / "corpus")
    np.testing.assert_array_equal(tokens.windows(100)[3]["tokens"], np.concatenate(documents)[300:400])
    with pytest.raises(hr.CorruptDataError, match=message) as raised:
        tokens.documents()
    assert raised.value.file == str(tmp_path / "corpus.idx")
    assert raised.value.byte_range == place


@pytest.mark.parametrize("cut", [0, 5, 20, 33, 40, POINTERS, MARKS, END - 1])
def test_an_index_that_was_cut_short(tmp_path: Path, cut: int) -> None:
    write_megatron(tmp_path / "corpus", [[document] for document in documents_of()])
    os.truncate(tmp_path / "corpus.idx", cut)
    error = refused(hr.CorruptDataError, "(cut short|does not begin|header alone)", tmp_path / "corpus")
    assert error.file == str(tmp_path / "corpus.idx")


@pytest.mark.parametrize("size", [7998, 8002, 2])
def test_tokens_of_another_index(tmp_path: Path, size: int) -> None:
    write_megatron(tmp_path / "corpus", [[document] for document in documents_of()])
    os.truncate(tmp_path / "corpus.bin", size)
    error = refused(hr.CorruptDataError, f"corpus.bin has {size} bytes", tmp_path / "corpus")
    assert error.file == str(tmp_path / "corpus.idx")


def test_datatroves_files_that_disagree(tmp_path: Path) -> None:
    path = write_datatrove(tmp_path / "a.ds", documents_of())
    index = Path(f"{path}.index")
    whole = index.read_bytes()
    index.write_bytes(whole[:-8])
    error = refused(hr.CorruptDataError, "the last of 6 documents ends at token 3099, and there are 4000", path)
    assert (error.file, error.byte_range) == (str(index), (40, 8))
    index.write_bytes(whole[:-3])
    refused(hr.CorruptDataError, "no list of 64-bit ends", path)
    index.write_bytes(whole)
    damage(index, 16, b"\x00\x00")
    tokens = hr.open_tokens(path)
    with pytest.raises(
        hr.CorruptDataError, match="document 2 ends at token 0, where 700 to 4000 is possible"
    ) as raised:
        tokens.documents()
    assert raised.value.byte_range == (16, 8)
    Path(f"{path}.metadata").write_text("gpt2|3\n")
    refused(hr.CorruptDataError, "tokens of 3 bytes", path)
    Path(f"{path}.metadata").write_text("gpt2|small\n")
    assert hr.open_tokens(path).tokenizer == "gpt2|small"
    index.unlink()
    Path(f"{path}.metadata").unlink()
    refused(hr.InvalidArgumentError, "the size of its tokens is unknown", path)


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("format_version", 2, "version 2 of the format"),
        ("dtype", "float32", "no type of whole numbers"),
        ("tokens", 1, "its shards have 4000"),
        ("shards", [], "no list"),
        ("vocab_size", -1, "no whole number"),
        ("dtype", "uint32", "the manifest says"),
    ],
)
def test_a_manifest_that_is_wrong(tmp_path: Path, key: str, value: Any, match: str) -> None:
    path, _, _ = write(tmp_path, "headrace", "u2", 8)
    manifest = Path(path) / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {key: value, "crc32c": None}))
    with pytest.raises(hr.Error, match=match) as raised:
        hr.open_tokens(path)
    assert raised.value.file.startswith(path)


def test_a_manifest_of_other_files(tmp_path: Path) -> None:
    path, _, _ = write(tmp_path, "headrace", "u2", 9)
    np.save(Path(path) / "ends-00001.npy", np.array([5, 7], "u8"))
    refused(hr.CorruptDataError, "the ends of", path)
    (Path(path) / "ends-00001.npy").unlink()
    refused(hr.FileMissingError, "no such file", path)


def test_types_have_codes() -> None:
    assert sorted(CODES.values()) == list(range(1, 9))
