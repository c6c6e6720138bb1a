"""Budgets and caches change when batches come, never what is in them."""

from __future__ import annotations

import gc
import random
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from memory_files import MIB, SHARDS, Shards, epochs_of, random_data, run_child, write_rows

import headrace as hr

# --- cached = uncached -----------------------------------------------------------------------------------------------


def least_memory(data: hr.Dataset, options: dict[str, Any]) -> int:
    """The smallest budget, as the error names it."""
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(data, **{"cache": "none", **options, "memory": 1})
    least = caught.value.needed_bytes
    assert least
    assert f"memory={least}" in (caught.value.hint or "")
    return least


@pytest.mark.parametrize("seed", range(60))
def test_cached_is_uncached(shards: Shards, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    data = random_data(shards, draw)
    options: dict[str, Any] = {
        "batch_size": draw.choice([1, 7, 32, 100, 333]) if len(data) < 700 else draw.choice([7, 32, 100, 333, 2000]),
        "shuffle": draw.choice([False, True, "exact"]),
        "seed": seed,
        "tail": draw.choice(["partial", "pad"]),
        "provenance": True,
    }
    if draw.random() < 0.4:
        world = draw.choice([2, 3])
        options.update(world_size=world, rank=draw.randrange(world))
    want = epochs_of(hr.Loader(data, cache="none", threads=1, **options), 3)
    first = np.cumsum([0, *SHARDS])
    for batch in (batch for epoch in want for batch in epoch):
        rows = first[batch["_rows"][:, 0]] + batch["_rows"][:, 1]
        if len(data) == len(shards):
            assert np.array_equal(rows, batch["y"])
        assert shards.equals(batch, batch["y"])

    cache = draw.choice(["auto", "auto", "none", "ram", str(tmp_path / "cache")])
    least = least_memory(data, {**options, "cache": cache if cache[0] == "/" else "none"})
    memory = draw.choice([None, 64 * MIB, least, least * 5 // 4, least * 2, least * 4, least + 300_000])
    if cache == "ram" and memory != 64 * MIB:
        memory = None
    shared = draw.choice([None, None, "host"]) if cache in ("auto", "ram") else None
    threads = draw.choice([1, 2, 4])
    loader = hr.Loader(data, cache=cache, memory=memory, threads=threads, share=shared, **options)
    if cache == "ram" and draw.random() < 0.5:
        loader.preload()
    got = epochs_of(loader, 3)
    assert len(got) == len(want)
    for epoch, wanted in zip(got, want, strict=True):
        for batch, other in zip(epoch, wanted, strict=True):
            assert list(batch) == list(other)
            for name in batch:
                assert batch[name].dtype == other[name].dtype
                assert batch[name].tobytes() == other[name].tobytes(), (name, cache, memory, shared)
    report = loader.report()
    if memory:
        assert report.memory.peak_bytes <= report.memory.budget_bytes <= memory
    assert report.memory.held_over_bytes == 0


def test_later_epochs_come_from_memory(shards: Shards, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_KEEP_SHARE", "inf")  # all of it in the first epoch
    for cache in ("auto", "ram"):
        loader = hr.Loader(hr.open(shards.paths), 100, shuffle=True, cache=cache, memory="64MiB")
        shards.check_epoch(loader)
        decoded = loader.report().chunks_decoded
        for _ in range(2):
            assert np.array_equal(np.sort(shards.check_epoch(loader)), np.arange(len(shards)))
        report = loader.report()
        assert report.chunks_decoded == decoded
        assert report.cache.complete
        assert report.cache.kind == "all rows"
    loader = hr.Loader(hr.open(shards.paths), 100, shuffle=True, cache="none", memory="64MiB")
    for _ in range(3):
        shards.check_epoch(loader)
    assert loader.report().chunks_decoded > 2 * decoded
    assert loader.report().cache.kind == "nothing"


def test_preload(shards: Shards) -> None:
    loader = hr.Loader(hr.open(shards.paths), 100, shuffle="exact", cache="ram", threads=2)
    seen: list[tuple[int, int]] = []
    loader.preload(lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert seen == sorted(seen)
    decoded = loader.report().chunks_decoded
    shards.check_epoch(loader)
    assert loader.report().chunks_decoded == decoded
    loader.preload()  # once more is nothing
    assert loader.report().chunks_decoded == decoded
    with pytest.raises(hr.InvalidArgumentError):
        hr.Loader(hr.open(shards.paths), 100, cache="none").preload()


def test_a_preload_that_is_stopped(tmp_path: Path) -> None:
    """One thread takes some tenths of a second for all, so that it is stopped long before it is done."""
    noise = np.random.default_rng(1).integers(0, 4, size=(8, 4 * MIB), dtype=np.uint8)
    with h5py.File(tmp_path / "slow.h5", "w") as file:
        file.create_dataset("a", data=noise, chunks=(1, 4 * MIB), compression="gzip", compression_opts=1)

    def fail(_done: int, _total: int) -> None:
        raise LookupError("mine")

    stops: tuple[tuple[Callable[[int, int], Any], type[Exception], str], ...] = (
        (lambda _done, _total: False, hr.ClosedError, "stopped before the end"),
        (fail, LookupError, "mine"),
    )
    for progress, error, words in stops:
        loader = hr.Loader(tmp_path / "slow.h5", 1, cache="ram", threads=1)
        with pytest.raises(error, match=words):
            loader.preload(progress)
        assert loader.report().chunks_decoded < len(noise)
        for row, batch in enumerate(loader):  # it is of use all the same
            assert np.array_equal(batch["a"][0], noise[row])
        loader.preload()
        assert loader.report().cache.complete
        assert loader.report().chunks_decoded == len(noise)


@pytest.mark.parametrize("memory", ["12MiB", 20_000])  # the second holds not even two batches
def test_ram_that_does_not_fit_says_what_would(tmp_path: Path, memory: int | str) -> None:
    path = write_rows(tmp_path / "rows.h5", 16, noise=True)
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(path, 32, cache="ram", memory=memory, threads=1)
    least = caught.value.needed_bytes or 0
    loader = hr.Loader(path, 32, cache="ram", memory=least, threads=1)
    assert sum(len(batch["y"]) for batch in loader) == 1024
    assert loader.report().memory.peak_bytes <= least
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(path, 32, cache="ram", memory=least - 1, threads=1)


def test_the_smallest_budget_is_enough_and_one_byte_less_is_not(shards: Shards) -> None:
    for shuffle in (False, True, "exact"):
        data = hr.open(shards.paths)
        options = {"batch_size": 64, "shuffle": shuffle, "threads": 1}
        least = least_memory(data, options)
        with pytest.raises(hr.OutOfBudgetError):
            hr.Loader(data, memory=least - 1, **options)
        for cache in ("auto", "none"):
            loader = hr.Loader(data, memory=least, cache=cache, **options)
            for _ in range(2):
                assert len(shards.check_epoch(loader)) == len(shards)
            assert loader.report().memory.peak_bytes <= least


def test_blocks_are_kept_where_not_all_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_KEEP_SHARE", "inf")  # as many as fit, in the first epoch
    path = write_rows(tmp_path / "rows.h5", 48, noise=True)
    loader = hr.Loader(path, 16, memory="28MiB", threads=1)
    for _ in range(3):
        assert sum(len(batch["y"]) for batch in loader) == 48 * MIB // 16384
    cache = loader.report().cache
    assert cache.kind == "blocks"
    assert 0 < cache.blocks < cache.all_blocks
    assert cache.hits >= 2 * (cache.blocks - 1)
    assert cache.bytes <= cache.capacity_bytes


# --- several loaders -------------------------------------------------------------------------------------------------


def test_train_and_val_take_turns_under_one_budget(tmp_path: Path) -> None:
    run_child(
        """
        hr.set_memory("40MiB")
        loaders = {"train": hr.Loader(TRAIN, 32, shuffle=True), "val": hr.Loader(VAL, 32)}
        with Sampled() as memory:
            for epoch in range(4):
                for name, rows in (("train", 3072), ("val", 1536)):
                    assert run(loaders[name], 1) == rows
        assert memory.most - memory.before <= (40 + 64) * MIB, (memory.most - memory.before) / MIB
        """,
        TRAIN=write_rows(tmp_path / "train.h5", 48, noise=True),
        VAL=write_rows(tmp_path / "val.h5", 24, noise=True),
    )


def test_what_the_process_may_use_is_named_where_it_is_too_little(tmp_path: Path) -> None:
    """A larger memory= would not help."""
    run_child(
        """
        hr.set_memory("20MiB")
        try:
            hr.Loader(PATH, 2048, memory="1GiB")
            raise AssertionError("20 MiB were enough")
        except hr.OutOfBudgetError as error:
            least = error.needed_bytes
            assert f"hr.set_memory({least}) is the least that will do" in error.hint, error.hint
        hr.set_memory(least)
        assert run(hr.Loader(PATH, 2048), 1) == 2048
        """,
        PATH=write_rows(tmp_path / "rows.h5", 32, noise=True),
    )


def test_two_live_loaders_share_or_say_that_they_cannot(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 32, noise=True)
    run_child(
        """
        hr.set_memory("20MiB")
        first = hr.Loader(PATH, 32, shuffle=True, threads=1)
        one = iter(first)
        rows = len(check(next(one)))
        second = None
        try:
            second = hr.Loader(PATH, 32, threads=1)
            other = iter(second)
            seen = len(check(next(other)))
            seen += sum(len(check(b)) for b in other)
            assert seen == 2048
        except hr.OutOfBudgetError as error:
            assert "MiB" in str(error) or "MB" in str(error), error
        rows += sum(len(check(b)) for b in one)
        assert rows == 2048
        del one
        second = hr.Loader(PATH, 32, threads=1)  # now the first is idle: its memory is to be had
        assert run(second, 2) == 4096
        assert run(first, 1) == 2048
        """,
        PATH=path,
    )


def test_a_second_loader_gets_its_minimum_from_the_cache_of_the_first(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 48, noise=True)
    run_child(
        """
        hr.set_memory("40MiB")
        first = hr.Loader(PATH, 16, threads=1)
        run(first, 1)
        one = iter(first)
        rows = len(check(next(one)))
        assert first.report().cache.kind == "blocks" and first.report().cache.blocks > 0, first.report().cache.kind
        second = hr.Loader(PATH, 16, threads=1, memory="6MiB")
        other = iter(second)
        for batch in one:
            rows += len(check(batch))
            if (taken := next(other, None)) is not None: check(taken)
        assert rows == 3072
        """,
        PATH=path,
    )


def test_all_batches_may_be_held(shards: Shards, tmp_path: Path) -> None:
    for cache in ("auto", "none", str(tmp_path)):
        loader = hr.Loader(hr.open(shards.paths), 50, shuffle=True, memory="2MiB", cache=cache)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hr.HeadraceWarning)
            for _ in range(2):
                batches = list(loader)
                assert all(shards.equals(batch, batch["y"]) for batch in batches)
                assert sum(len(batch["y"]) for batch in batches) == len(shards)


def test_held_batches_are_warned_about_once(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 48, noise=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = hr.Loader(path, 32, memory="16MiB", cache="none")
        held = list(loader)
    texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
    assert len(texts) == 1, texts
    assert len(held) == 96
    assert loader.report().memory.held_over_bytes > 0


def test_a_limit_lowered_while_a_cache_is_held_gives_memory_back(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 96, noise=True)
    run_child(
        """
        import os; os.environ["HEADRACE_KEEP_SHARE"] = "inf"
        hr.set_memory("256MiB")
        base = resident()
        loader = hr.Loader(PATH, 32, shuffle=True)
        run(loader, 2)
        gc.collect()
        high = resident() - base
        assert loader.report().cache.complete and high > 96 * MIB, high / MIB
        hr.set_memory("48MiB")
        run(hr.Loader(PATH, 32, memory="24MiB"), 1)
        gc.collect()
        deadline = time.monotonic() + 10
        while resident() - base > (48 + 64) * MIB and time.monotonic() < deadline: time.sleep(0.05)
        assert resident() - base <= (48 + 64) * MIB, (resident() - base) / MIB
        with Sampled() as memory:
            assert run(loader, 2) == 2 * 6144  # goes on, with less
        assert memory.most - base <= (48 + 64) * MIB, (memory.most - base) / MIB
        """,
        PATH=path,
    )


def test_a_cache_that_changes_its_kind_stands_in_no_loader_s_way(tmp_path: Path) -> None:
    run_child(
        """
        import h5py
        SAMPLES = 200_000
        def loader(name, windowed):
            with h5py.File(f"{FOLDER}/{name}.h5", "w") as file:
                values = np.random.default_rng(2).integers(0, 60_000, (SAMPLES, 2)).astype("f4")
                if windowed: file.create_dataset("x", data=values, chunks=(4096, 2), compression="gzip")
                else: file["x"] = values
                file["id"] = np.arange(SAMPLES)
            data = hr.open(f"{FOLDER}/{name}.h5", ["id", "x"])
            if windowed: data = data.windows(40)
            return hr.Loader(data, 64, shuffle="exact" if windowed else True, threads=2)

        hr.set_memory("5MiB")
        loaders = [loader("a", True), loader("b", False), loader("c", True)]
        held = []  # batches that take memory for as long as the caller has them
        for epoch in range(2):
            live = {n: iter(each) for n, each in enumerate(loaders)}
            ids = {n: [] for n in live}
            while live:
                for n, epoch_of in list(live.items()):
                    if (batch := next(epoch_of, None)) is None: del live[n]
                    else: ids[n].append(batch["id"].ravel()); held.append(batch)
            for n in ids: assert np.array_equal(np.sort(np.concatenate(ids[n])), np.arange(SAMPLES))
        """,
        FOLDER=str(tmp_path),
    )


def test_a_loader_that_gave_its_memory_to_others_starts_again(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 24, noise=True)
    run_child(
        """
        hr.set_memory("64MiB")
        idle = hr.Loader(PATH, 32, shuffle=True, cache="none")
        run(idle, 1)
        live = hr.Loader(PATH, 32, shuffle=True, cache="none", memory="8MiB", threads=1)
        iterator = iter(live)
        next(iterator)
        hr.set_memory("10MiB")
        try:
            run(hr.Loader(PATH, 32, cache="none", threads=1), 1)
        except hr.OutOfBudgetError:
            pass
        hr.set_memory("64MiB")
        del iterator
        assert run(live, 1) == 1536
        assert not idle.closed
        assert run(idle, 1) == 1536
        """,
        PATH=path,
    )


@pytest.mark.parametrize("cache", ["auto", "none", "ram"])
@pytest.mark.parametrize("deleted", [True, False])
def test_a_closed_loader_holds_nothing(tmp_path: Path, cache: str, deleted: bool) -> None:
    path = write_rows(tmp_path / "rows.h5", 64, noise=True)
    run_child(
        """
        hr.set_memory("110MiB")
        base = resident()
        for _ in range(3):
            loader = hr.Loader(PATH, 32, shuffle=True, cache=CACHE)
            run(loader, 2)
            loader.close()
            if DELETED: del loader
        gc.collect()
        assert resident() - base < 16 * MIB, (resident() - base) / MIB
        """,
        PATH=path,
        CACHE=cache,
        DELETED=deleted,
    )


# --- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("64MB ", 64 * 10**6),
        ("64 mib", 64 * MIB),
        (" 0.0625 GiB", 64 * MIB),
        ("64m", 64 * MIB),
        ("\t64\tMiB\n", 64 * MIB),
        ("67108864", 64 * MIB),
        ("65536 KiB", 64 * MIB),
        ("6.4e7", 64 * 10**6),
        (np.int64(64 * MIB), 64 * MIB),
    ],
)
def test_sizes_are_parsed_kindly(shards: Shards, text: Any, size: int) -> None:
    assert hr.Loader(shards.paths, 50, memory=text).report().memory.budget_bytes == size


@pytest.mark.parametrize(("text", "size"), [("8GB ", 8e9), ("8 gib", 8 * 2**30), (" 1.5 GiB", 1.5 * 2**30)])
def test_sizes_of_the_brief(text: str, size: float) -> None:
    assert hr._headrace.parse_bytes(text) == size


NO_SIZES = ["lots", "", "-1", "-8GiB", "GiB", "8 GiBs", "nan", "inf", "8,5GiB", 0, -5, 1.5]


@pytest.mark.parametrize("bad", [*NO_SIZES, "0", "0 GiB"])
def test_what_is_no_size(shards: Shards, bad: Any) -> None:
    for call in (lambda: hr.Loader(shards.paths, 50, memory=bad), lambda: hr.set_memory(bad)):
        with pytest.raises(hr.InvalidArgumentError) as caught:
            call()
        assert str(bad).strip() in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("LOCAL_WORLD_SIZE", "4"), ("SLURM_STEP_TASKS_PER_NODE", "4(x2)")])
def test_ranks_of_one_host_divide_its_memory(shards: Shards, name: str, value: str) -> None:
    measure = "print(hr.Loader(PATHS, 50).report().memory.budget_bytes)"
    paths = [str(path) for path in shards.paths]
    alone = int(run_child(measure, PATHS=paths).stdout)
    among_four = int(run_child(f"import os; os.environ[{name!r}] = {value!r}\n{measure}", PATHS=paths).stdout)
    assert 0.2 < among_four / alone < 0.3


def test_more_than_the_machine_has_is_warned_about(shards: Shards) -> None:
    run_child(
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = hr.Loader(PATHS, 50, memory="900TB")
        texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
        assert loader.report().memory.budget_bytes < 900e12
        assert len(texts) == 1 and "819 TiB" in texts[0], (texts, loader.explain())
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            hr.set_memory("900TB")
            loader = hr.Loader(PATHS, 50)
        texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
        assert len(texts) == 1, (texts, loader.explain())
        """,
        PATHS=[str(path) for path in shards.paths],
    )


def test_wrong_words(shards: Shards) -> None:
    for options in (
        {"cache": "rma"},
        {"cache": "ram", "share": "hots"},
        {"cache": "none", "share": "host"},
        {"cache": 5},
        {"cache": ""},
        {"cache": True},
    ):
        with pytest.raises((hr.InvalidArgumentError, hr.UnsupportedError)):
            hr.Loader(shards.paths, 50, **options)


def test_reports_while_loaders_come_and_go(shards: Shards) -> None:
    """report() from another thread, while epochs start and engines are remade."""
    loader = hr.Loader(hr.open(shards.paths), 50, shuffle=True)
    stop = threading.Event()
    texts: list[str] = []

    def watch() -> None:
        while not stop.is_set():
            texts.append(str(loader.report()))
            loader.explain()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        for _ in range(5):
            shards.check_epoch(loader)
        loader.close()
        gc.collect()
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()
    assert texts


def test_h5py_is_the_oracle(shards: Shards) -> None:
    with h5py.File(shards.paths[1]) as file:
        assert np.array_equal(file["x"][()], shards.truth["x"][SHARDS[0] : SHARDS[0] + SHARDS[1]])
