"""Targets of samples that a table tells: of the table, of other files, and of the rows themselves."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from meta_files import BATCHES, FIELDS, TEMPLATE, Events, by_meta, keys_of, make_events, opened, write

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:.*belong to no sample:headrace.HeadraceWarning")]


def elsewhere(events: Events, folder: Path) -> dict[str, str]:
    """Targets of files of their own, one and several, whose row i belongs to row i of the table."""
    np.save(folder / "azimuth.npy", events.meta["azimuth"])
    for number, part in enumerate(np.array_split(events.meta["event_id"], 3)):
        np.save(folder / f"id_{number}.npy", part)
    return {"azimuth": f"{folder}/azimuth.npy::", "event_id": f"{folder}/id_*.npy::"}


@pytest.mark.parametrize("batches", [BATCHES, (2, 10)])
@pytest.mark.parametrize("name", ["azimuth", "event_id"])
def test_targets_of_other_files(events: Events, tmp_path: Path, name: str, batches: tuple[int, ...]) -> None:
    files = [events.folder / TEMPLATE.format(batch_id=number) for number in batches]
    targets = {name: elsewhere(events, tmp_path)[name]}
    data = hr.open(files, FIELDS, sample_by=by_meta(events.table), targets=targets)
    want = [event[name] for event in events.in_order(batches)]
    assert data[name][:].tolist() == want
    assert pickle.loads(pickle.dumps(data))[name][:].tolist() == want


def test_targets_of_the_table_and_of_other_files(events: Events, tmp_path: Path) -> None:
    targets = {"azimuth": elsewhere(events, tmp_path)["azimuth"], "event_id": "event_id"}
    assert keys_of(opened(events, targets=targets)) == keys_of(events.in_order())


def test_targets_with_a_row_for_each_row(tmp_path: Path) -> None:
    """A sample's is that of its first row."""
    events = make_events(tmp_path, gaps=True, shuffled=True)
    data = hr.open(events.files, ["charge"], sample_by=by_meta(events.table), targets={"sensor": "sensor_id"})
    assert [int(event["sensor"]) for event in data] == [int(event["sensor_id"][0]) for event in events.in_order()]


def test_samples_without_targets(events: Events) -> None:
    bare = hr.open(events.files, ["charge"], sample_by=by_meta(events.table))
    assert [event["charge"].tobytes() for event in bare] == [event["charge"].tobytes() for event in events.in_order()]


@pytest.mark.parametrize("shuffled", [False, True])
def test_targets_that_have_no_value(tmp_path: Path, shuffled: bool) -> None:
    """With nulls= as for the rows."""
    events = make_events(tmp_path, shuffled=shuffled)
    gone = np.arange(57) % 5 == 2
    label = [None if missing else row % 4 for row, missing in enumerate(gone)]
    write(events.table, {**events.meta, "label": label})
    want_row = {int(number): row for row, number in enumerate(events.meta["event_id"])}
    rows = [want_row[event["event_id"]] for event in events.in_order()]
    how = {"sample_by": by_meta(events.table), "targets": ["label"]}
    with pytest.raises(hr.InvalidArgumentError, match="row 2 has no value"):
        list(hr.open(events.files, ["charge"], **how))
    for nulls in ("fill", "mask"):
        data = hr.open(events.files, ["charge"], nulls=nulls, **how)
        assert [int(event["label"]) for event in data] == [label[row] or 0 for row in rows]
        if nulls == "mask":
            assert [bool(event["label.valid"]) for event in data] == [not gone[row] for row in rows]


def test_nulls_of_rows(tmp_path: Path) -> None:
    events = make_events(tmp_path, gaps=True, empty=True, shuffled=True)
    gone = {batch: np.arange(len(columns["charge"])) % 13 == 4 for batch, columns in events.rows.items()}
    for batch, columns in events.rows.items():
        charge = [None if missing else value for value, missing in zip(columns["charge"], gone[batch], strict=True)]
        write(tmp_path / f"batch_{batch}.parquet", {**columns, "charge": charge})
        columns["charge"] = np.where(gone[batch], np.nan, columns["charge"])
    targets = ["azimuth", "event_id"]
    data = hr.open(events.files, FIELDS, sample_by=by_meta(events.table), targets=targets, nulls="fill")
    assert keys_of(data) == keys_of(events.in_order())
    data = hr.open(events.files, FIELDS, sample_by=by_meta(events.table), targets=targets, nulls="mask")
    assert keys_of(data) == keys_of(events.in_order())
    for event in data:
        assert event["charge.valid"].tolist() == (~np.isnan(event["charge"])).tolist()
    with pytest.raises(hr.InvalidArgumentError, match=r"row \d+ has no value"):
        list(opened(events))
