"""Budgets and caches change when batches come, never what is in them."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import re
import shutil
import stat
import subprocess
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from jet_files import write_h5
from memory_files import MIB, SHARDS, Shards, run_child, write_rows, write_shards

import headrace as hr


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Shards:
    return write_shards(tmp_path_factory.mktemp("shards"))


def epochs_of(loader: hr.Loader, epochs: int) -> list[list[dict[str, np.ndarray]]]:
    return [[{name: array.copy() for name, array in batch.items()} for batch in loader] for _ in range(epochs)]


def notes_of(loader: hr.Loader) -> str:
    return "\n".join(loader.report().cache.notes)


# --- cached = uncached -----------------------------------------------------------------------------------------------


def least_memory(data: hr.Dataset, options: dict[str, Any]) -> int:
    """The smallest budget, as the error names it."""
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(data, **{"cache": "none", **options, "memory": 1})
    return int(re.search(r"memory=(\d+)", caught.value.hint).group(1))


def random_data(shards: Shards, draw: random.Random) -> hr.Dataset:
    names = draw.sample(["x", "adj", "t", "b", "s"], draw.randint(1, 5))
    names.insert(draw.randint(0, len(names)), "y")
    data = hr.open(shards.paths, fields=names)
    kind = draw.choice(["all", "all", "slice", "rows", "split"])
    if kind == "slice":
        return data.select(slice(draw.randint(0, 300), draw.randint(900, 1343), draw.randint(1, 3)))
    if kind == "rows":
        return data.select(sorted(draw.sample(range(len(data)), draw.randint(50, 1200))))
    if kind == "split":
        return data.split({"train": 0.8, "val": 0.2}, seed=draw.randint(0, 9))[draw.choice(["train", "val"])]
    return data


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
    loader = hr.Loader(data, cache=cache, memory=memory, threads=threads, shared_memory=shared, **options)
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


def test_later_epochs_come_from_memory(shards: Shards) -> None:
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


def test_a_preload_that_is_stopped(shards: Shards) -> None:
    loader = hr.Loader(hr.open(shards.paths), 100, cache="ram", threads=1)
    with contextlib.suppress(hr.ClosedError):  # it may be done before it is asked
        loader.preload(lambda _done, _total: False)
    loader = hr.Loader(hr.open(shards.paths), 100, cache="ram", threads=1)
    with contextlib.suppress(LookupError):
        loader.preload(lambda _done, _total: {}["mine"])
    with contextlib.suppress(hr.ClosedError):
        shards.check_epoch(loader)


def test_ram_that_does_not_fit_says_what_would(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 16, noise=True)
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(path, 32, cache="ram", memory="12MiB", threads=1)
    least = int(re.search(r"memory=(\d+)", caught.value.hint).group(1))
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


def test_blocks_are_kept_where_not_all_fits(tmp_path: Path) -> None:
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
        {"cache": "ram", "shared_memory": "hots"},
        {"cache": "none", "shared_memory": "host"},
        {"cache": 5},
        {"cache": ""},
        {"cache": True},
    ):
        with pytest.raises((hr.InvalidArgumentError, hr.UnsupportedError)):
            hr.Loader(shards.paths, 50, **options)


# --- cache directory -------------------------------------------------------------------------------------------------


def whole_caches(directory: Path) -> list[Path]:
    return sorted(path.parent for path in directory.glob("*/manifest.json"))


def build(shards: Shards, directory: Path, **options: Any) -> Path:
    """A whole cache of all fields; its folder."""
    with hr.Loader(hr.open(shards.paths), 100, shuffle=True, cache=directory, **options) as loader:
        for _ in range(2):
            assert len(shards.check_epoch(loader)) == len(shards)
        assert not loader.report().cache.notes
    (folder,) = whole_caches(directory)
    return folder


def test_a_cache_directory_is_npy_files(shards: Shards, tmp_path: Path) -> None:
    folder = build(shards, tmp_path / "cache")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["rows"] == len(shards)
    for field in manifest["fields"]:
        array = np.load(folder / field["file"], mmap_mode="r")
        want = shards.truth[field["path"].strip("/")]
        assert array.dtype == want.dtype
        assert np.array_equal(array, want)
    assert {field["name"] for field in manifest["fields"]} == set(shards.truth)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def test_the_second_run_decodes_nothing(shards: Shards, tmp_path: Path) -> None:
    build(shards, tmp_path)
    for options in ({}, {"shuffle": "exact"}, {"shuffle": True, "rank": 1, "world_size": 2}, {"memory": "2MiB"}):
        loader = hr.Loader(hr.open(shards.paths), 64, cache=tmp_path, **options)
        for _ in range(2):
            shards.check_epoch(loader)
        report = loader.report()
        assert report.chunks_decoded == 0
        assert report.cache.complete
        assert report.cache.kind == "directory"
        assert not report.cache.notes


def test_the_cache_tools_agree(shards: Shards, tmp_path: Path) -> None:
    folder = build(shards, tmp_path)
    (listed,) = hr.cache_list(tmp_path).to_dict()["caches"]
    assert (listed["name"], listed["state"], listed["rows"]) == (folder.name, "valid", len(shards))
    assert not hr.cache_verify(tmp_path).findings
    hr.cache_remove(tmp_path, folder.name)
    assert not folder.exists()


def test_a_file_that_was_rewritten_is_not_served_from_the_cache(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    path = write_h5(tmp_path / "data.h5", y=np.arange(500), x=np.zeros((500, 3)))
    for value in range(3):
        if value:
            write_h5(path, y=np.arange(500), x=np.full((500, 3), float(value)))
        else:
            os.utime(path, ns=(10**18, 10**18))
        with pytest.warns(hr.HeadraceWarning, match="data") if value else contextlib.nullcontext():
            loader = hr.Loader(path, 50, shuffle=True, cache=cache)
            for _ in range(2):
                for batch in loader:
                    assert (batch["x"] == value).all()
        assert ("data" in notes_of(loader)) == (value > 0)
        loader.close()
    os.utime(path, ns=(10**18, 10**18 + 10**9))  # only the time has changed
    loader = hr.Loader(path, 50, cache=cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        for _ in range(2):
            for batch in loader:
                assert (batch["x"] == 2).all()


def test_files_of_one_name_in_two_folders_are_two_caches(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for value in (1, 2, 1, 2):
        (tmp_path / str(value)).mkdir(exist_ok=True)
        path = tmp_path / str(value) / "data.h5"
        if not path.exists():
            write_h5(path, y=np.arange(500), x=np.full((500, 3), float(value)))
            os.utime(path, ns=(10**18, 10**18))  # as tar and rsync give several files one time
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hr.HeadraceWarning)
            loader = hr.Loader(path, 50, cache=cache)
            for _ in range(2):
                for batch in loader:
                    assert (batch["x"] == value).all(), "rows of a file in another folder"


def flips(folder: Path, draw: random.Random) -> list[tuple[str, Path, int]]:
    found = []
    for path in sorted(folder.iterdir()):
        size = path.stat().st_size
        found += [(path.name, path, at) for at in (0, size // 2, size - 1, draw.randrange(size), draw.randrange(size))]
    return found


@pytest.mark.parametrize("part", range(4))
def test_bit_flips_are_noticed(shards: Shards, tmp_path: Path, part: int) -> None:
    folder = build(shards, tmp_path / "good")
    draw = random.Random(part)
    unnoticed = []
    for i, (name, path, at) in enumerate(flips(folder, draw)):
        if i % 4 != part:
            continue
        shutil.copytree(tmp_path / "good", tmp_path / "bad")
        damaged = tmp_path / "bad" / path.relative_to(tmp_path / "good")
        data = bytearray(damaged.read_bytes())
        data[at] ^= 1 << draw.randrange(8)
        damaged.write_bytes(data)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loader = hr.Loader(hr.open(shards.paths), 64, shuffle=True, cache=tmp_path / "bad", threads=1)
            for _ in range(2):
                assert len(shards.check_epoch(loader)) == len(shards), (name, at)
            loader.close()
        texts = " ".join(str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning))
        if folder.name not in texts:
            unnoticed.append((name, at, texts))
        shutil.rmtree(tmp_path / "bad")
    assert not unnoticed


@pytest.mark.parametrize("seed", range(12))
def test_selections_and_fields_never_get_the_cache_of_others(shards: Shards, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(5):
        data = random_data(shards, draw)
        rows = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hr.HeadraceWarning)
            loader = hr.Loader(data, 64, shuffle=draw.choice([False, True, "exact"]), cache=tmp_path, threads=2)
            for _ in range(2):
                again = np.sort(shards.check_epoch(loader))
                assert rows is None or np.array_equal(rows, again)
                rows = again
            assert np.array_equal(rows, data.selected_rows)
            loader.close()
    for folder in whole_caches(tmp_path):
        for field in json.loads((folder / "manifest.json").read_text())["fields"]:
            np.load(folder / field["file"])


def test_renamed_fields_do_not_swap(tmp_path: Path) -> None:
    path = write_h5(tmp_path / "data.h5", a=np.zeros(400), b=np.ones(400))
    for names in ({"p": "a", "q": "b"}, {"p": "b", "q": "a"}, {"q": "a", "p": "b"}):
        loader = hr.Loader(hr.open(path, fields=names), 50, cache=tmp_path / "cache")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", hr.HeadraceWarning)
            for _ in range(2):
                for batch in loader:
                    assert list(batch) == list(names)
                    for name, source in names.items():
                        assert (batch[name] == (source == "b")).all()


def expect_no_cache(shards: Shards, directory: Any, named: str) -> None:
    """The run goes on, says why there is no cache, and every batch is right."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = hr.Loader(hr.open(shards.paths), 64, shuffle=True, cache=directory)
        for _ in range(2):
            assert len(shards.check_epoch(loader)) == len(shards)
        assert named in notes_of(loader)
        loader.close()
    texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
    assert len(texts) == 1, texts
    assert named in texts[0]


def test_the_directory_is_a_file(shards: Shards, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    expect_no_cache(shards, tmp_path / "file", str(tmp_path / "file"))
    expect_no_cache(shards, tmp_path / "file" / "below", "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.fixture
def mounted(tmp_path: Path):
    """Mount a tmpfs with these options; its folder."""
    folders: list[Path] = []

    def mount(options: str) -> Path:
        folder = tmp_path / f"mount_{len(folders)}"
        folder.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")
        folders.append(folder)
        return folder

    yield mount
    for folder in folders:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_a_read_only_directory(shards: Shards, mounted) -> None:
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    expect_no_cache(shards, mounted("size=8m,ro"), "mount_0")


def test_a_valid_cache_is_read_from_a_read_only_directory(shards: Shards, mounted) -> None:
    folder = mounted("size=8m")
    build(shards, folder / "cache")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    loader = hr.Loader(hr.open(shards.paths), 64, shuffle=True, cache=folder / "cache")
    for _ in range(2):
        shards.check_epoch(loader)
    assert loader.report().chunks_decoded == 0
    assert not loader.report().cache.notes


def test_a_full_disk(shards: Shards, mounted) -> None:
    folder = mounted("size=128k")
    expect_no_cache(shards, folder / "cache", "cache")
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in left) == 0, left


@pytest.mark.parametrize("left_kib", [60, 300, 420, 500])
def test_a_disk_that_fills_up(shards: Shards, mounted, left_kib: int) -> None:
    """Somebody else takes the room while a cache is built: at any point nothing but the cache is lost."""
    folder = mounted("size=1m")
    (folder / "ballast").write_bytes(bytes((1024 - 16 - left_kib) << 10))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loader = hr.Loader(hr.open(shards.paths), 64, shuffle=True, cache=folder / "cache", threads=1)
        iterator = iter(loader)
        rows = [next(iterator)]
        with contextlib.suppress(OSError), (folder / "more").open("wb", buffering=0) as more:
            while more.write(bytes(4096)):
                pass
        rows += list(iterator)
        assert all(shards.equals(batch, batch["y"]) for batch in rows)
        for _ in range(2):
            assert len(shards.check_epoch(loader)) == len(shards)
        loader.close()
    texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
    assert len(texts) == (0 if whole_caches(folder / "cache") else 1), texts


def test_an_unwritable_directory_for_a_user_who_is_not_root(shards: Shards, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        expect_no_cache(shards, tmp_path / "cache", "cache")
        return
    with tempfile.TemporaryDirectory() as name:  # pytest's own are for root only
        folder = Path(name)
        folder.chmod(0o755)
        path = write_h5(folder / "data.h5", y=np.arange(300))
        path.chmod(0o644)
        (folder / "locked").mkdir(mode=0o755)
        run_child(
            """
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                loader = hr.Loader(PATH, 50, cache=CACHE)
                for _ in range(2):
                    assert sorted(y for b in loader for y in b["y"].tolist()) == list(range(300))
            texts = [str(w.message) for w in caught if issubclass(w.category, hr.HeadraceWarning)]
            assert len(texts) == 1 and "locked" in texts[0], texts
            """,
            PATH=path,
            CACHE=str(folder / "locked"),
        )


def test_a_cache_that_is_removed_while_it_is_read(shards: Shards, tmp_path: Path) -> None:
    folder = build(shards, tmp_path)
    loader = hr.Loader(hr.open(shards.paths), 64, shuffle=True, cache=tmp_path)
    iterator = iter(loader)
    next(iterator)
    shutil.rmtree(folder)
    for batch in iterator:
        assert shards.equals(batch, batch["y"])
    shards.check_epoch(loader)


def test_two_loaders_build_one_cache_in_one_process(shards: Shards, tmp_path: Path) -> None:
    loaders = [hr.Loader(hr.open(shards.paths), 50, shuffle=True, seed=i, cache=tmp_path, threads=1) for i in range(2)]
    for _ in range(2):
        for one, other in zip(*loaders, strict=True):
            assert shards.equals(one, one["y"])
            assert shards.equals(other, other["y"])
    for loader in loaders:
        loader.close()
    assert len(whole_caches(tmp_path)) == 1
    loader = hr.Loader(hr.open(shards.paths), 50, cache=tmp_path)
    shards.check_epoch(loader)
    assert loader.report().chunks_decoded == 0


def test_a_loader_with_a_cache_is_pickled_and_resumed(shards: Shards, tmp_path: Path) -> None:
    import pickle

    build(shards, tmp_path)
    loader = hr.Loader(hr.open(shards.paths), 50, shuffle=True, cache=tmp_path)
    want = [batch["y"].tolist() for batch in loader]
    loader.set_epoch(0)
    iterator = iter(loader)
    got = [next(iterator)["y"].tolist() for _ in range(3)]
    copy = pickle.loads(pickle.dumps(loader))
    got += [batch["y"].tolist() for batch in copy]
    assert got == want
    assert copy.report().chunks_decoded == 0


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
