"""Spans told by a table with a row for each sample: every event and its targets, against NumPy slices."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

pytest.importorskip("pyarrow")

from meta_files import (
    BATCHES,
    FIELDS,
    TEMPLATE,
    Events,
    by_meta,
    key_of,
    keys_of,
    keys_of_batches,
    make_events,
    make_rows,
    opened,
    write,
)

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:.*belong to no sample:headrace.HeadraceWarning")]
KINDS: dict[str, dict[str, bool]] = {
    "plain": {},
    "shuffled": {"shuffled": True},
    "gaps": {"gaps": True},
    "empty": {"empty": True},
    "all": {"gaps": True, "empty": True, "shuffled": True},
}


@pytest.fixture(scope="module", params=KINDS)
def each(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Events:
    return make_events(tmp_path_factory.mktemp(request.param), **KINDS[request.param])


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    return make_events(tmp_path_factory.mktemp("events"), **KINDS["all"])


def test_samples_are_slices(each: Events) -> None:
    data, want = opened(each), each.in_order()
    assert len(data) == len(want) == 57
    assert [Path(file.path).name for file in data.files] == [f"batch_{number}.parquet" for number in BATCHES]
    assert [file.rows for file in data.files] == [19, 19, 19]
    assert {name: field.ragged for name, field in data.fields.items()} == {
        "sensor_id": True, "charge": True, "auxiliary": True, "azimuth": False, "event_id": False,
    }  # fmt: skip
    assert keys_of(data) == keys_of(want)
    assert [key_of(data[number]) for number in (0, 56, -1, 20, 3)] == [
        key_of(want[number]) for number in (0, 56, -1, 20, 3)
    ]
    lengths = data.lengths()
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [len(event["charge"]) for event in want]
    for name in ("azimuth", "event_id"):
        assert data[name][:].tolist() == [event[name] for event in want]
    assert [data["charge"][number].tobytes() for number in range(57)] == [event["charge"].tobytes() for event in want]


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize(("batch_size", "threads"), [(1, 1), (5, 3), (16, 1), (57, 2), (100, 3)])
def test_an_epoch_has_each_event_once(each: Events, layout: str, batch_size: int, threads: int) -> None:
    want = keys_of(each.in_order())
    for shuffle in (False, True, "exact"):
        options: dict[str, Any] = {"shuffle": shuffle, "threads": threads, "seed": 2, "layout": layout}
        with hr.Loader(opened(each), batch_size, **options) as loader:
            for _ in range(2):
                batches = keys_of_batches(loader)
                assert [len(batch) for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
                got = [key for batch in batches for key in batch]
                assert sorted(got) == sorted(want)
                assert (got == want) == (shuffle is False)


def test_rows_of_no_event_are_counted(tmp_path: Path) -> None:
    events = make_events(tmp_path, gaps=True)
    rows = sum(len(columns["charge"]) for columns in events.rows.values())
    with pytest.warns(hr.HeadraceWarning, match=f"{events.left_out()} of {rows:,} rows belong to no sample") as told:
        data = opened(events)
    assert len(told) == 1
    assert f"{events.left_out()} of {rows} rows belong to no sample" in str(data)
    (tmp_path / "whole").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened(make_events(tmp_path / "whole", empty=True, shuffled=True))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64", "int16"])
def test_numbers_of_any_type(each: Events, dtype: str, tmp_path: Path) -> None:
    """With end= in place of last=, which is below zero where the first event has no rows."""
    table = {name: each.meta[name].astype(dtype) for name in ("batch_id", "first")}
    table["end"] = (each.meta["last"] + 1).astype(dtype)
    table |= {name: each.meta[name] for name in ("azimuth", "event_id")}
    if dtype.startswith("i"):
        table["last"] = each.meta["last"].astype(dtype)
        meta = write(tmp_path / "last.parquet", table)
        assert keys_of(opened(each, spans=by_meta(meta))) == keys_of(each.in_order())
    meta = write(tmp_path / "end.parquet", table)
    assert keys_of(opened(each, spans=by_meta(meta, last=None, end="end"))) == keys_of(each.in_order())


def test_the_table_in_other_formats(events: Events, tmp_path: Path) -> None:
    want, names = keys_of(events.in_order()), list(events.meta)
    records = np.zeros(57, [(name, events.meta[name].dtype) for name in names])
    for name in names:
        records[name] = events.meta[name]
    np.save(tmp_path / "meta.npy", records)
    np.savez(tmp_path / "meta.npz", **events.meta)
    with h5py.File(tmp_path / "meta.h5", "w") as file:
        for name in names:
            file.create_dataset(f"truth/{name}", data=events.meta[name], chunks=(10,), compression="gzip")
        file["records"] = records
    for name, before in (
        ("meta.npy", "meta."),
        ("meta.npz", ""),
        ("meta.h5", "truth/"),
        ("meta.h5", "records."),
    ):
        spans = by_meta(tmp_path / name, first=before + "first", last=before + "last", file=before + "batch_id")
        targets = {"azimuth": f"{before}azimuth", "event_id": f"{before}event_id"}
        assert keys_of(opened(events, spans=spans, targets=targets)) == want, (name, before)


def test_tables_of_several_files(events: Events, tmp_path: Path) -> None:
    for number, rows in enumerate(np.split(np.arange(57), [20, 20, 50])):
        write(tmp_path / f"meta_{number}.parquet", {name: values[rows] for name, values in events.meta.items()})
    data = opened(events, spans=by_meta(f"{tmp_path}/meta_*.parquet"))
    assert keys_of(data) == keys_of(events.in_order())
    assert keys_of(pickle.loads(pickle.dumps(data))) == keys_of(events.in_order())


@pytest.mark.parametrize("how", ["glob", "one_file"])
def test_a_table_for_each_file(events: Events, tmp_path: Path, how: str) -> None:
    """As graphnet's truth tables: without file=, the table of a file tells of that file."""
    for batch in BATCHES:
        rows = events.meta["batch_id"] == batch
        write(tmp_path / f"truth_{batch}.parquet", {name: values[rows] for name, values in events.meta.items()})
    table = tmp_path / ("truth_*.parquet" if how == "glob" else "truth_2.parquet")
    files = events.files if how == "glob" else events.folder / "batch_2.parquet"
    want = keys_of(events.in_order(BATCHES if how == "glob" else (2,)))
    data = opened(events, files, hr.Spans(meta=table, first="first", last="last"))
    assert keys_of(data) == keys_of(pickle.loads(pickle.dumps(data))) == want
    with hr.Loader(data, 4, shuffle=True) as loader:
        assert sorted(key for batch in keys_of_batches(loader) for key in batch) == sorted(want)


def test_files_that_were_not_opened(events: Events) -> None:
    for batches in ((1, 10), (2,), (10, 2)):
        files = [events.folder / TEMPLATE.format(batch_id=number) for number in batches]
        want = [key for number in batches for key in keys_of(events.in_order((number,)))]
        data = opened(events, files)
        assert keys_of(data) == want
        assert keys_of(pickle.loads(pickle.dumps(data))) == want
        assert data["event_id"][:].tolist() == [event["event_id"] for n in batches for event in events.in_order((n,))]


def test_one_file_and_one_event(tmp_path: Path) -> None:
    rows = make_rows(300, 1)
    path = write(tmp_path / "batch_5.parquet", rows)
    for first, last in ((0, 299), (299, 299), (96, 97), (97, 193)):
        meta = write(tmp_path / "m.parquet", {"a": [first], "b": [last], "y": [0.5]})
        data = hr.open(path, FIELDS, sample_by=hr.Spans(meta=meta, first="a", last="b"), targets=["y"])
        assert len(data) == 1
        for name in FIELDS:
            assert np.array_equal(data[0][name], rows[name][first : last + 1])
        assert data[0]["y"] == 0.5


@pytest.mark.parametrize("template", ["{folder}/" + TEMPLATE, "./" + TEMPLATE])
@pytest.mark.parametrize("files", ["batch_*.parquet", "{folder}/batch_*.parquet"])
def test_templates_with_a_folder(events: Events, monkeypatch: Any, template: str, files: str) -> None:
    """The same file, however it is written."""
    monkeypatch.chdir(events.folder)
    template, files = (text.replace("{folder}", str(events.folder)) for text in (template, files))
    data = opened(events, files, by_meta("train_meta.parquet", file_template=template))
    kept = pickle.dumps(data)
    monkeypatch.chdir("/")
    assert keys_of(data) == keys_of(pickle.loads(kept)) == keys_of(events.in_order())
