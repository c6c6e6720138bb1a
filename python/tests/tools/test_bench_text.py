"""bench text: contestants deliver the same windows and ids, are skipped with a reason, and are checked."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizer_files import SMALL, small, write_ranks

import headrace as hr
from headrace._bench import command as bench_command
from headrace._programs.text_bench import checking, loaders, plan, report, rounds, timing
from headrace._programs.text_bench import command as text_command
from headrace._programs.text_bench.corpus import made_documents, read_documents
from headrace._programs.text_bench.memory import resident_bytes, tree
from headrace._programs.text_bench.processes import measured
from headrace._programs.text_bench.store import Store
from headrace._programs.text_bench.vocabulary import Vocabulary, find

SIZES = {"num_batches": 4, "batch_size": 8, "seq_len": 32, "rounds": 1, "seconds": 5.0, "worker_count": 1}
WORDS = [f"--{name}={value:g}" for name, value in SIZES.items()]


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Documents that are shorter than a window, and some that are longer."""
    words = " ".join(made_documents(3, 30_000)).split()
    lengths = [3 + 7 * n % 40 for n in range(150)]
    texts = [" ".join(words[at : at + length]) for at, length in zip(np.cumsum(lengths), lengths, strict=True)]
    path = tmp_path_factory.mktemp("short") / "short.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return str(path)


def prepared(folder: Path, **changes: Any) -> tuple[Vocabulary, rounds.Sample, Store]:
    settings = plan.Settings(**{**SIZES, "tokenizer": str(SMALL), **changes})
    vocabulary, sample, store = text_command.prepared(settings, folder)
    assert store is not None
    return vocabulary, sample, store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, short: str) -> tuple[Vocabulary, rounds.Sample, Store]:
    return prepared(tmp_path_factory.mktemp("text"), paths=(short,))


def expected(name: str, store: Store) -> Any:
    return checking.expected_texts(store) if name == "torch-text" else checking.expected_windows(store)


def run(*words: str) -> int:
    return bench_command.run("no program is asked", ["bench", "text", *words])


@pytest.mark.parametrize("name", list(plan.LOADERS))
def test_every_loader_delivers_every_window_once(made, name: str) -> None:
    if reason := plan.absent(plan.LOADERS[name]):
        pytest.skip(reason)
    vocabulary, _, store = made
    assert store.batches == SIZES["num_batches"]
    epochs = loaders.make(name, store, plan.Variant(), vocabulary.json)
    orders = []
    for epoch in range(2):
        batches = [{key: np.asarray(values).copy() for key, values in batch.items()} for batch in epochs(epoch)]
        told = checking.check(batches, expected(name, store), store, 60.0)
        assert told["whole_epoch"] and told["batch_bytes"] == 2 * 4 * store.batch_size * store.seq_len
        orders.append(np.concatenate([batch["input"] for batch in batches]))
    assert not np.array_equal(*orders)
    in_file = store.mapped()[: store.windows * store.seq_len].reshape(store.windows, -1)
    assert name == "torch-text" or not np.array_equal(orders[0], in_file)


@pytest.mark.parametrize("name", list(plan.TOKENISERS))
def test_every_tokenizer_makes_the_same_ids(made, tmp_path: Path, name: str) -> None:
    if reason := plan.absent(plan.TOKENISERS[name]):
        pytest.skip(reason)
    vocabulary, sample, _ = made
    texts = [*list(read_documents([sample.texts], "text"))[:50], "<|endoftext|> is text, größer 数据", ""]
    ids = hr.Tokenizer(SMALL).encode_batch(texts)[0]
    encoder = vocabulary.encoder(name, 2)
    assert np.array_equal(encoder.joined(encoder.encode(texts)), ids)
    pytest.importorskip("tokenizers")
    ranks = write_ranks(tmp_path / "gpt2.tiktoken", small())
    with ranks.open("a") as file:  # as many as GPT-2 has, by tokens that no text has
        for rank in [0, *range(5000, 50256)]:
            file.write(f"{base64.b64encode(bytes([255, 254, rank >> 8, rank & 255])).decode()} {rank}\n")
    of_ranks = find(str(ranks), tmp_path, [])
    encoder = of_ranks.encoder(name, 1)
    assert np.array_equal(encoder.joined(encoder.encode(texts)), of_ranks.own().joined(of_ranks.own().encode(texts)))


def changed(batches: list[dict[str, Any]], how: str) -> list[dict[str, Any]]:
    first = {name: array.copy() for name, array in batches[0].items()}
    if how == "an id":
        first["input"][3, 5] += 1
        first["target"][3, 4] += 1
    if how == "a target":
        first["target"][3, 5] += 1
    if how == "a window twice":
        first = {name: array[[0, 0, *range(2, len(array))]] for name, array in first.items()}
    if how == "int64":
        first = {name: array.astype(np.int64) for name, array in first.items()}
    return batches[1:] if how == "too few" else [first, *batches[1:]]


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("an id", "not what the corpus has"),
        ("a target", "not input a token later"),
        ("a window twice", "twice in an epoch"),
        ("int64", "int64"),
        ("too few", "3 batches, not 4"),
    ],
)
def test_wrong_batches_are_noticed(made, how: str, told: str) -> None:
    store = made[2]
    batches = list(loaders.fallback(store, plan.Variant())(0))
    windows = checking.expected_windows(store)
    with pytest.raises(checking.WrongBatchError, match=told):
        checking.check(changed(batches, how), windows, store, 60.0)


def test_ids_that_differ_are_a_failure_and_not_a_rate(made, tmp_path: Path) -> None:
    vocabulary, sample, _ = made
    ids = np.load(sample.ids)
    ids[17] += 1
    np.save(tmp_path / "other.npy", ids)
    request = {"part": "tokenising", "name": "headrace", "threads": 1, "seconds": 1.0, "check": True}
    request |= {"texts": sample.texts, "documents": sample.documents, "ids": str(tmp_path / "other.npy")}
    answer = measured({**request, "vocabulary": vars(vocabulary)})
    assert "token 17" in answer["failed"]


def test_a_run_has_all_that_are_installed(capsys, tmp_path: Path, short: str) -> None:
    words = [*WORDS, f"--tokenizer={SMALL}", "--path", short]
    status = run(*words, "--json", "--step-ms", "20", "--save", str(tmp_path / "run"))
    told = json.loads(capsys.readouterr().out)
    assert told["failed"] == [] and status == 0
    assert told == json.loads((tmp_path / "run.json").read_text())
    there = {name for name, packages in plan.LOADERS.items() if not plan.absent(packages)}
    assert {one["name"] for one in told["batches"]} == there
    assert {one["name"] for one in told["skipped"]} == set(plan.NAMES) - there - {o["name"] for o in told["tokenising"]}
    for one in told["batches"]:
        assert one["checked"]["whole_epoch"] and one["batch_bytes"] == 2 * 4 * 8 * 32
        assert one["batches_per_second"] > 0 and one["peak_rss_bytes"] > 1 << 20 and 0 <= one["waits"] < 1
    for one in told["tokenising"]:
        assert one["ids_equal"] and one["mb_per_second"] > 0
    assert "20 ms" in told["answer"]
    page = (tmp_path / "run.md").read_text()
    assert page.count("\n| --- |") == 2 and "waits at 20 ms" in page


def test_absent_rivals_are_skipped_with_a_reason(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("grain", "tiktoken", "tensorflow"):
        monkeypatch.setitem(sys.modules, name, None)
    assert run(*WORDS, f"--tokenizer={SMALL}", "--impl", "grain,tiktoken,tf,fallback") == 0
    text = capsys.readouterr().out
    for name, part, package in (
        ("grain", "batches", "grain"),
        ("tiktoken", "tokenising", "tiktoken"),
        ("tf", "batches", "tensorflow"),
    ):
        assert f"SKIPPED  {name} ({part}): no {package} here: pip install {package}" in text
    assert "fallback: NumPy memmap" in text


def test_a_failed_contestant_does_not_stop_the_others(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(request: dict[str, Any], environment: Any = None) -> dict[str, Any]:
        asked.append(request["name"])
        return {"failed": "it is broken"} if request["name"] == "torch" else measured(request, environment)

    monkeypatch.setattr(rounds, "measured", answer)
    monkeypatch.setattr(rounds, "absent", lambda packages: "")
    assert run(*WORDS, f"--tokenizer={SMALL}", "--impl", "torch,fallback") == 1
    text = capsys.readouterr().out
    assert "FAILED   torch (batches): it is broken" in text and "fallback: NumPy memmap" in text
    assert asked.count("torch") == 1


@pytest.mark.fast
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--impl", "grian"], "Did you mean 'grain'?"),
        (["--num_batch", "3"], "Did you mean --num_batches?"),
        (["--batch_size", "0"], "at least 1"),
        (["--seq_len", "many"], "seq_len"),
        (["--impl", "grain", "--skip_grain"], "no contestant is left"),
        (["--path", "nothing_here_*.jsonl"], "nothing_here_"),
    ],
)
def test_wrong_options_are_usage_errors(capsys, words: list[str], told: str) -> None:
    assert run(*words) == 2
    assert told in capsys.readouterr().err


@pytest.mark.fast
def test_the_command_is_taken_by_python() -> None:
    assert bench_command.is_for_python(["bench", "text", "--help"])
    assert not bench_command.is_for_python(["bench", "./text"])
    assert text_command.options(["--num-batches=7", "--batch-size", "3"]).num_batches == 7


@pytest.mark.fast
def test_files_of_the_user_are_read_with_their_places_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "eins"}\n\n{"text": "zwei"}\n')
    (tmp_path / "b.txt").write_text("drei")
    assert list(read_documents([str(path), str(tmp_path / "*.txt")], "text")) == ["eins", "zwei", "drei"]
    path.write_text('{"content": "eins"}\n')
    with pytest.raises(hr.InvalidArgumentError, match=r"line 1 .*--field content"):
        list(read_documents([str(path)], "text"))
    path.write_text('{"text": "eins"}\n{"text": \n')
    with pytest.raises(hr.CorruptDataError, match=r"a\.jsonl, line 2"):
        list(read_documents([str(path)], "text"))
    path.write_text('{"text": "eins"}\n')
    with pytest.raises(hr.InvalidArgumentError, match="do not fill a batch"):
        prepared(tmp_path, paths=(str(path),))


def test_a_small_corpus_is_repeated_and_said_so(tmp_path: Path, capsys) -> None:
    texts = list(made_documents(3, 30_000))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"body": text}) + "\n" for text in texts))
    words = ["--path", str(tmp_path / "*.jsonl"), "--field", "body", f"--tokenizer={SMALL}", "--impl", "fallback"]
    assert run(*WORDS, *words, "--num_batches", "100") == 0
    assert "100 batches are" in capsys.readouterr().out


@pytest.mark.fast
def test_made_text_is_that_of_its_seed() -> None:
    assert list(made_documents(1, 20_000)) == list(made_documents(1, 20_000))
    assert list(made_documents(1, 20_000)) != list(made_documents(2, 20_000))


@pytest.mark.fast
def test_without_any_tokenizer_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(hr.InvalidArgumentError, match=r"--tokenizer PATH, or pip install tokenizers"):
        find(None, tmp_path, ["text"])


@pytest.mark.fast
def test_what_lies_ready_is_no_more_than_a_quarter() -> None:
    settings = plan.Settings(num_batches=100, worker_count=4, worker_buffer_size=100)
    assert plan.variants("grain", settings, 1, 1 << 30)[-1] == plan.Variant(workers=4, buffer=6)
    assert plan.variants("grain", settings, 1 << 20, 32 << 20)[-1].buffer == 2
    assert plan.variants("torch", plan.Settings(worker_count=0), 1, 1 << 30) == [plan.Variant()]


@pytest.mark.fast
def test_figures() -> None:
    told = timing.summary([5.0, *[0.001] * 18, 0.002, 0.004])
    assert told["first_batch_seconds"] == 5.0
    assert told["batch_ms_p50"] == pytest.approx(1.0) and told["batch_ms_p95"] == pytest.approx(2.0)
    assert told["batches_per_second"] == pytest.approx(20 / 0.024)
    assert report.waiting(5.0, 20.0, ahead=True) == 0
    assert report.waiting(5.0, 20.0, ahead=False) == pytest.approx(0.2)
    assert report.waiting(40.0, 10.0, ahead=True) == pytest.approx(0.75)


def test_batches_go_on_from_epoch_to_epoch() -> None:
    begun: list[int] = []

    def epoch(number: int) -> Iterator[dict[str, Any]]:
        begun.append(number)
        yield from ({} for _ in range(3))

    assert timing.time_batches(lambda: epoch, 8, 60.0)["batches"] == 8
    assert begun == [0, 1, 2]
    of_all = timing.time_batches(lambda: epoch, 8, 60.0, counts_first=True)
    assert of_all["batches_per_second"] == pytest.approx(8 / of_all["seconds"])


def test_memory_is_that_of_a_process_and_what_it_started() -> None:
    import os
    import subprocess

    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        pids = tree(os.getpid())
        assert {os.getpid(), process.pid} <= set(pids)
        assert resident_bytes(pids) > resident_bytes([process.pid]) > 1 << 20
        process.communicate(b"\n")
