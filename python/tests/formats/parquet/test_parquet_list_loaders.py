"""Loaders and data sets over lists of Parquet files: order, layouts, budgets, selections, transforms and tools."""

from __future__ import annotations

import json
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow.parquet as pq
from cli_program import run
from parquet_lists import lists_of, write_columns
from ragged_files import TARGETS, check, check_everywhere, events_of, make_events, opened
from twin_files import batches_of, same_batches, told

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
WANT = [{name: values for name, values in event.items() if name != "xyz"} for event in make_events(4)]
LENGTHS = [len(event["charge"]) for event in WANT]
EVERY = list(range(len(WANT)))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Five lists and three values a row, in two files; some lists are empty, and two are long."""
    return opened(tmp_path_factory.mktemp("lists"), "lists.parquet", make_events(4))


def test_everywhere(events: hr.Dataset) -> None:
    assert [name for name, field in events.fields.items() if not field.ragged] == TARGETS
    check_everywhere(events, WANT)
    assert events.lengths().tolist() == LENGTHS
    assert events["y"][:].tolist() == [event["y"] for event in WANT]
    with pytest.raises(hr.InvalidArgumentError, match="'charge' is ragged"):
        events["charge"][:]


def test_selections_and_pickles(events: hr.Dataset) -> None:
    some = [0, 3, 12, 13, 42, 59]
    check(events.select(some), WANT, some)
    assert events.select(some).lengths().tolist() == [LENGTHS[i] for i in some]
    parts = events.split({"train": 0.7, "val": 0.3}, seed=1)
    seen = [number for part in parts.values() for number in check(events_of(part[:]), WANT)]
    assert sorted(seen) == EVERY
    assert len(parts["train"]) == 42
    check(events_of(pickle.loads(pickle.dumps(events))[:]), WANT, EVERY)
    check(events_of(pickle.loads(pickle.dumps(parts["val"]))[:]), WANT)
    check(pickle.loads(pickle.dumps(events.select(some).map(T.Affine("y", 1.0)))), WANT, some)


@pytest.mark.parametrize("nulls", ["fill", "mask"])
def test_pickles_keep_what_is_done_about_nulls(tmp_path: Path, nulls: str) -> None:
    path = write_columns(tmp_path / "a.parquet", a=lists_of([1, None], None, [3]), y=[1.5, None, 2.5])
    data = hr.open(path, nulls=nulls)
    again = pickle.loads(pickle.dumps(data))
    assert list(again.fields) == list(data.fields)
    for one in (data[:], again[:]):
        assert (one["a"].tolist(), one["a.offsets"].tolist()) == ([1, 0, 3], [0, 2, 2, 3])
        np.testing.assert_array_equal(one["y"], [1.5, np.nan, 2.5])
        if nulls == "mask":
            assert one["a.valid"].tolist() == [True, False, True]
            assert one["y.valid"].tolist() == [True, False, True]


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_resuming_in_an_epoch(events: hr.Dataset, shuffle: Any) -> None:
    whole = [batches_of(hr.Loader(events, 7, shuffle=shuffle, seed=2, threads=n)) for n in (1, 3)]
    assert same_batches(*whole)
    for step in (0, 1, 5, 8):
        loader = hr.Loader(events, 7, shuffle=shuffle, seed=2)
        stream = iter(loader)
        for _ in range(step):
            next(stream)
        rest = hr.Loader(events, 7, shuffle=shuffle, seed=2)
        rest.load_state_dict(json.loads(json.dumps(loader.state_dict())))
        assert same_batches(batches_of(rest), whole[0][step:])


@pytest.mark.parametrize("shuffle", [False, True])
def test_budgets_of_rows(events: hr.Dataset, shuffle: bool) -> None:
    data = events.map(T.Truncate(200))
    seen = []
    for rank in range(2):
        loader = hr.Loader(data, batch=hr.ByTokens(400), shuffle=shuffle, rank=rank, world_size=2)
        for batch in loader:
            assert len(batch["charge"]) <= 400
            for event in events_of(batch):
                own = WANT[int(event["number"])]
                assert event["charge"].tolist() == own["charge"][:200].tolist()
                seen.append(int(event["number"]))
    assert sorted(seen) == EVERY


@pytest.mark.parametrize("threads", [1, 3])
def test_transforms_of_lists_and_of_values(events: hr.Dataset, threads: int) -> None:
    table = {"sensor": np.arange(50), "gain": np.arange(50, dtype="f4") / 4}
    data = events.join(table, "sensor", ["gain"]).map(
        T.Affine("charge", 2.0, 1.0), T.Affine("y", 3.0), T.Cast("big", "float32"),
        T.Concat(["charge", "gain", "big"], to="pulses"), T.Truncate(100, method="random"),
    )  # fmt: skip
    seen = []
    for batch in hr.Loader(data, 7, shuffle=True, threads=threads):
        for event in events_of(batch):
            want = WANT[int(event["number"])]
            whole = np.stack(
                [want["charge"] * np.float32(2) + 1, table["gain"][want["sensor"]], want["big"].astype("f4")], -1
            )
            assert event["pulses"].shape == (min(len(whole), 100), 3)
            kept = [np.flatnonzero((whole == row).all(1))[0] for row in event["pulses"]]
            assert all(a < b for a, b in pairwise(kept))
            np.testing.assert_allclose(event["y"], want["y"] * 3, rtol=1e-6)
            seen.append(int(event["number"]))
    assert sorted(seen) == EVERY


def test_functions_of_lists(events: hr.Dataset) -> None:
    data = events.map(lambda batch: {**batch, "charge": batch["charge"] * 2, "y": batch["y"] + 1})
    for batch in hr.Loader(data, 7, shuffle=True):
        for event in events_of(batch):
            want = WANT[int(event["number"])]
            assert event["charge"].tolist() == (want["charge"] * 2).tolist()
            assert event["y"] == want["y"] + 1
            assert event["big"].tolist() == want["big"].tolist()


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_the_smallest_budget(events: hr.Dataset, shuffle: Any, layout: str) -> None:
    options: dict[str, Any] = {"shuffle": shuffle, "cache": "none", "threads": 1, "layout": layout}
    want = batches_of(hr.Loader(events, 5, **options))
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(events, 5, memory=1000, **options)
    least = caught.value.needed_bytes or 0
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(events, 5, memory=least - 1, **options)
    for memory in (least, 2 * least):
        with hr.Loader(events, 5, memory=memory, **options) as loader:
            assert same_batches(batches_of(loader), want)
            assert loader.report().memory.peak_bytes <= memory


@pytest.mark.parametrize(
    "own",
    [
        "y",
        "",
    ],
)
def test_values_of_other_files(events: hr.Dataset, tmp_path: Path, own: str) -> None:
    """Beside lists alone, and beside lists and a value of each row."""
    truth = tmp_path / "truth.npz"
    np.savez(truth, z=np.arange(60) * 0.5, two=np.arange(120).reshape(60, 2))
    path = write_columns(tmp_path / "a.parquet", a=lists_of(*[[i] * (i % 4) for i in range(60)]), y=range(60))
    names = {"a": "a", "z": f"{truth}::z", "two": f"{truth}::two"}
    data = hr.open(path, {**names, own: own} if own else names)
    for one in (data, pickle.loads(pickle.dumps(data))):
        seen = []
        for batch in hr.Loader(one, 7, shuffle=True):
            for event in events_of(batch):
                row = int(event["z"] * 2)
                assert event["a"].tolist() == [row] * (row % 4)
                assert event["two"].tolist() == [2 * row, 2 * row + 1]
                assert event.get("y", row) == row
                seen.append(row)
        assert sorted(seen) == list(range(60))
    with pytest.raises(hr.InvalidArgumentError, match=r"\b60\b[\s\S]*\b30\b|\b30\b[\s\S]*\b60\b"):
        hr.open(events.files[0].path, {"charge": "charge", "y": "y", "z": f"{truth}::z"})


def test_names_of_fields(events: hr.Dataset) -> None:
    data = hr.open([file.path for file in events.files], {"label": "kind", "q": "charge", "number": "number"})
    assert list(data.fields) == ["q", "label", "number"]  # Lists come first.
    for batch in hr.Loader(data, 7, shuffle=True):
        for i, number in enumerate(batch["number"].tolist()):
            assert batch["label"][i] == WANT[number]["kind"]
            assert batch["q"][slice(*batch["q.offsets"][i : i + 2])].tolist() == WANT[number]["charge"].tolist()


# --- tools -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """No list is empty."""
    hits = [[{"t": float(i), "q": i}] * (1 + i % 5) for i in range(60)]
    return write_columns(tmp_path_factory.mktemp("full") / "full.parquet", hits=hits, y=[i % 3 for i in range(60)])


@pytest.fixture(scope="module")
def holes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every fifth list is empty, every seventh is missing."""
    lists = [None if i % 7 == 6 else [i] * (i % 5) for i in range(60)]
    return write_columns(tmp_path_factory.mktemp("holes") / "holes.parquet", a=lists_of(*lists), y=range(60))


def test_a_file_that_changes(tmp_path: Path) -> None:
    path = write_columns(tmp_path / "a.parquet", a=lists_of([1, 2], [], [3]))
    data = hr.open(path)
    write_columns(path, a=lists_of([1], [2], [3, 4]))
    with pytest.raises(hr.FileChangedError) as refused:
        data[:]
    assert (str(refused.value.file), refused.value.field) == (str(path), "a")


def test_inspect(full: Path, holes: Path) -> None:
    for path, names in ((full, ["hits.q", "hits.t", "y"]), (holes, ["a", "y"])):
        (file,) = told("inspect", path)["files"]
        assert sorted(array["path"] for array in file["arrays"]) == names
        assert all(array["read_path"] == "native" for array in file["arrays"])
        assert all(name in str(hr.inspect(path)) for name in names)
    assert "60 samples" in str(hr.inspect(full))
    assert "row 6 has no list" in str(hr.inspect(holes))


def test_verify(full: Path) -> None:
    data = told("verify", full)
    assert (data["arrays"], data["bad_pieces"], data["bad_files"], data["without_checksum"]) == (3, 0, 0, [])


def test_verify_files_with_empty_lists(holes: Path) -> None:
    assert run("verify", holes).returncode == 0
    assert told("verify", holes)["findings"] == []


def test_verify_names_the_page(full: Path, tmp_path: Path) -> None:
    changed = bytearray(full.read_bytes())
    chunk = pq.ParquetFile(full).metadata.row_group(2).column(1)
    assert chunk.path_in_schema == "hits.list.element.q"
    changed[chunk.dictionary_page_offset + chunk.total_compressed_size - 1] ^= 0x10
    path = tmp_path / "bad.parquet"
    path.write_bytes(changed)
    data = told("verify", path, status=3)
    assert {finding["field"] for finding in data["findings"]} == {"hits.q"}
    assert {finding["code"] for finding in data["findings"]} == {"corrupt_data"}


def test_bench_order_and_check_memory(full: Path, holes: Path, tmp_path: Path) -> None:
    assert told("bench", full, "--batch-size", 8)["samples"] == 60
    assert told("bench", full, "--fields", "time=hits.t", "--batch-size", 8)["samples"] == 60
    done = run("bench", holes)
    assert done.returncode == 2
    assert "holes.parquet › a: row 6 has no list" in done.stderr
    (tmp_path / "run.yaml").write_text(f"data: {{files: {holes}, nulls: fill}}\nloader: {{batch_size: 8}}\n")
    assert told("bench", tmp_path / "run.yaml")["samples"] == 60
    done = run("order", full, "--batch-size", 8, "--by", "y")
    assert done.returncode == 0, done.stderr
    assert "LABEL       y" in done.stdout
    assert "LABEL       y" in str(hr.tools.order(full, by="y", batch_size=8))
    assert run("check-memory", full).returncode == 0


def test_files_of_a_run_take_nulls(holes: Path, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"data: {{files: {holes}, nulls: mask}}\nloader: {{batch_size: 60}}\n")
    (batch,) = hr.load_run(tmp_path / "run.yaml")
    assert np.diff(batch["a.offsets"]).tolist() == [0 if i % 7 == 6 else i % 5 for i in range(60)]
    assert batch["a.valid"].all()
