"""Cache directories: what they hold, and which programs they may serve: damage, full disks, other files."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import stat
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from jet_files import write_h5
from memory_files import Shards, notes_of, random_data, run_child, write_rows

import headrace as hr


def whole_caches(directory: Path) -> list[Path]:
    return sorted(path.parent for path in directory.glob("*/manifest.json"))


def least_memory(path: Path, batch_size: int) -> int:
    """The smallest budget that works without a cache."""
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(path, batch_size, memory=1 << 16, cache="none", threads=1)
    assert caught.value.needed_bytes, str(caught.value)
    return caught.value.needed_bytes


def build(shards: Shards, directory: Path, **options: Any) -> Path:
    """A whole cache of all fields; its folder."""
    with hr.Loader(hr.open(shards.paths), 100, shuffle=True, cache=directory, **options) as loader:
        for _ in range(2):
            assert len(shards.check_epoch(loader)) == len(shards)
        assert not loader.report().notices
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
        assert not report.notices


def test_a_whole_cache_needs_a_short_window_only(shards: Shards, tmp_path: Path) -> None:
    options: dict[str, Any] = {"batch_size": 5, "cache": str(tmp_path / "cache"), "shuffle": "exact"}
    building = hr.Loader(shards.paths, **options)
    slots = building.report().memory.slots
    shards.check_epoch(building)
    building.close()
    whole = hr.Loader(shards.paths, **options)
    assert whole.report().memory.slots < slots / 4
    shards.check_epoch(whole)
    assert whole.report().chunks_decoded == 0


def test_a_whole_cache_is_used_by_the_smallest_budget(tmp_path: Path) -> None:
    path, cache = write_rows(tmp_path / "rows.h5", 16, noise=True), str(tmp_path / "cache")
    with hr.Loader(path, 4, cache=cache) as building:
        assert sum(len(batch["y"]) for batch in building) == len(building.dataset)
    loader = hr.Loader(path, 4, memory=least_memory(path, 4), cache=cache, shuffle="exact", threads=1)
    assert sum(len(batch["y"]) for batch in loader) == len(loader.dataset)
    assert loader.report().chunks_decoded == 0


def test_damaged_blocks_are_decoded_at_most_once_an_epoch_after_a_new_plan(shards: Shards, tmp_path: Path) -> None:
    folder = build(shards, tmp_path / "cache")
    with (folder / "x.npy").open("r+b") as file:
        for block in range(0, 700 * 128, 64 * 128 * 2):  # every other one of the first file
            file.seek(128 + block)
            file.write(b"damaged!")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loader = hr.Loader(shards.paths, 10, shuffle="exact", cache=tmp_path / "cache")
        decoded = []
        for _ in range(6):
            before = loader.report().chunks_decoded
            shards.check_epoch(loader)
            decoded.append(loader.report().chunks_decoded - before)
    # The second epoch's engine is replanned. What the one before had read ahead, as much as the time allowed, counts
    # too. Then damaged blocks are decoded once an epoch (76 chunks) or stay in memory. The last blocks of an epoch may
    # count in the next, hence the sum of four, and one more.
    assert 0 < decoded[1] < decoded[0], decoded
    assert sum(decoded[2:]) <= 5 * decoded[0] / 30, decoded


def test_cache_build_says_why_it_could_not(shards: Shards, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(hr.Error, match="file"):
        hr.cache_build(shards.paths, tmp_path / "file")


def test_cache_build_is_not_taken_in_by_warnings_of_the_plan(tmp_path: Path) -> None:
    path = tmp_path / "rows.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(4000), chunks=(1000,), compression="gzip")
    with pytest.warns(hr.HeadraceWarning, match="more than this loader can have"):
        built = hr.cache_build(path, tmp_path / "good", memory="900TB")
    assert not built.findings, "what the plan warns of is no fault of the cache"
    with h5py.File(path) as file:
        chunk = file["x"].id.get_chunk_info(0)
    with path.open("r+b") as file:
        file.seek(chunk.byte_offset)
        file.write(b"\xff" * chunk.size)
    with pytest.warns(hr.HeadraceWarning, match="more than this loader can have"), pytest.raises(hr.CorruptDataError):
        hr.cache_build(path, tmp_path / "bad", memory="900TB")


def test_addresses_that_are_too_few_to_map_a_cache(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 64, noise=True)
    out = run_child(
        """
        import resource
        size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + (220 << 20), resource.RLIM_INFINITY))
        loader = hr.Loader(PATH, 64, cache=FOLDER, shuffle="exact", memory=150 << 20, threads=1)
        print(sum(len(batch["y"]) for batch in loader), len(loader.dataset))
        """,
        PATH=path,
        FOLDER=str(tmp_path / "cache"),
    ).stdout.split()
    assert out[0] == out[1]


def test_a_budget_without_room_to_write_the_cache_does_without(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.h5", 16, noise=True)
    least = least_memory(path, 4)
    with pytest.warns(hr.HeadraceWarning, match="is not used.*memory="):
        loader = hr.Loader(path, 4, memory=least, cache=str(tmp_path / "cache"), threads=1)
    assert sum(len(batch["y"]) for batch in loader) == len(loader.dataset)
    assert not (tmp_path / "cache").exists()


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
    assert not loader.report().notices


def test_a_full_disk(shards: Shards, mounted) -> None:
    folder = mounted("size=128k")
    expect_no_cache(shards, folder / "cache", "cache")
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in left) == 0, left


@pytest.mark.parametrize("left_kib", [60, 300, 420, 500])
def test_a_disk_that_fills_up(shards: Shards, mounted, left_kib: int) -> None:
    """Another program takes the space while a cache is built: at any point nothing but the cache is lost."""
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


def test_a_directory_that_is_none_is_told_in_whole_sentences(jets, tmp_path) -> None:
    (tmp_path / "file").write_text("")
    loader = hr.Loader(jets.open(), 64, cache=tmp_path / "file")
    with pytest.warns(hr.HeadraceWarning, match=r"directory\)\. Loading goes on without the cache\.$"):
        for _ in loader:
            pass
