"""Files of neutrino telescopes as graphnet has them: each event, and each column, equals what pyarrow reads."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")
import pyarrow as pa
import pyarrow.parquet as pq
from neutrino_files import events_of, files_of, numbers_of, opened, pack, same, split_up

import headrace as hr

PROMETHEUS = "examples/parquet/prometheus/merged"
OSCNEXT = "tests/parquet/oscNext_genie_level7_v02"
HITS = [206, 97, 176, 188, 196, 151, 252, 232, 236, 138]
TEXT = "text of any length; only columns of numbers are read"
TRUTH = ["injection_energy", "injection_zenith", "injection_type", "total_energy", "dummy_pid"]


def prometheus() -> tuple[str, str, list[str]]:
    return pack(f"{PROMETHEUS}/total/total_*.parquet"), pack(f"{PROMETHEUS}/mc_truth/mc_truth_*.parquet"), TRUTH


def test_prometheus_event_by_event() -> None:
    rows, truth, names = prometheus()
    names = [*names, "event_no"]
    want, data = events_of(rows, truth, names), opened(rows, truth, names)
    assert len(data) == len(want) == 50
    assert [len(numbers_of(pq.read_table(path))["t"]) for path in files_of(rows)] == HITS
    hits = hr.open(rows)
    assert [file.rows for file in hits.files] == HITS
    assert len(hits) == sum(HITS) == 1872
    assert [file.rows for file in data.files] == [5] * 10
    lengths = data.lengths()
    assert (lengths.min(), np.sort(lengths)[24], lengths.max(), lengths.sum()) == (3, 32, 99, 1872)
    for one in (data, pickle.loads(pickle.dumps(data))):
        for got, event in zip(one, want, strict=True):
            same(got, event)
    same(data[37], want[37])
    order = [int(event["event_no"][0]) for event in want]
    assert order != sorted(order)  # which nothing asks for


def test_inspect_tells_the_lengths_of_all_events() -> None:
    """Files that differ in nothing but how many rows they have are alike."""
    told = hr.inspect(prometheus()[0], sample_by="event_no").to_dict()["lengths"]
    assert (told["samples"], told["rows"], told["median"], told["longest"]["rows"]) == (50, 1872, 32, 99)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_prometheus_shuffled(shuffle: Any, threads: int) -> None:
    rows, truth, names = prometheus()
    names = [*names, "event_no"]
    want = {(n, int(event["event_no"][0])): event for n, event in enumerate(events_of(rows, truth, names))}
    want = {number: event for (_, number), event in want.items()}
    assert len(want) == 50
    data = opened(rows, truth, names)
    with hr.Loader(data, 7, shuffle=shuffle, seed=3, threads=threads) as loader:
        for _ in range(2):
            seen = []
            for batch in loader:
                for event in split_up(batch, [name for name in data.fields if data.fields[name].ragged]):
                    same(event, want[int(event["true_event_no"])])
                    seen.append(int(event["true_event_no"]))
            assert sorted(seen) == sorted(want)


def test_prometheus_all_of_the_truth() -> None:
    """28 columns of it, by rows and as targets; padded."""
    rows, truth, _ = prometheus()
    tables = [numbers_of(pq.read_table(path)) for path in files_of(truth)]
    want = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    assert len(want) == 28
    same(hr.open(truth)[:], want)
    data = opened(rows, truth, list(want), fields=["t"])
    assert len(data.fields) == 29
    with hr.Loader(data, 50, layout="padded") as loader:
        (batch,) = loader
    assert batch["t"].shape == (50, 99)
    for name, values in want.items():
        np.testing.assert_array_equal(batch[f"true_{name}"], values, err_msg=name)


def test_oscnext_event_by_event() -> None:
    rows, truth = pack(f"{OSCNEXT}/merged/SRTInIcePulses/*_*.parquet"), pack(f"{OSCNEXT}/merged/truth/truth_*.parquet")
    names = ["energy", "zenith", "azimuth", "pid", "stopped_muon", "event_no"]
    want, data = events_of(rows, truth, names), opened(rows, truth, names)
    assert len(data) == 5
    assert data.lengths().tolist() == [11, 9, 15, 9, 12]
    assert len([name for name, field in data.fields.items() if field.ragged]) == 20
    assert data.fields["awtd"].dtype == np.dtype(bool)
    for got, event in zip(data, want, strict=True):
        same(got, event)
    assert len(hr.open(rows)) == 56
    with hr.Loader(data, 2, shuffle=True) as loader:
        batches = [split_up(batch, [name for name in want[0] if "true_" not in name]) for batch in loader]
    for event in [event for batch in batches for event in batch]:
        same(event, next(one for one in want if one["true_event_no"] == event["true_event_no"]))


def test_texts_are_refused_by_name() -> None:
    truth = pack(f"{OSCNEXT}/merged/truth/truth_*.parquet")
    data = hr.open(truth)
    assert list(data.left_out) == ["sim_type"]
    assert len(data.left_out["sim_type"]) > 10  # a reason
    same(data[:], {n: np.concatenate([numbers_of(pq.read_table(p))[n] for p in files_of(truth)]) for n in data.fields})
    assert len(data.fields) == 30
    with pytest.raises(hr.UnsupportedError, match="sim_type") as refused:
        hr.open(truth, ["energy", "sim_type"])
    assert str(refused.value.file) == str(files_of(truth)[0])
    rows = pack(f"{OSCNEXT}/merged/SRTInIcePulses/*_*.parquet")
    with pytest.raises(hr.UnsupportedError, match="sim_type"):
        opened(rows, truth, ["sim_type"])


@pytest.mark.parametrize(
    ("name", "rows", "columns"), [("icecube/icecube86", 5407, 19), ("prometheus/icecube", 5160, 9)]
)
def test_geometry_tables(name: str, rows: int, columns: int) -> None:
    path = pack(f"geometry_tables/{name}.parquet")
    want, data = numbers_of(pq.read_table(path)), hr.open(path, nulls="fill")
    assert (len(data), len(data.fields), len(want)) == (rows, columns, columns)
    same(data[:], want)  # NaN where there is no value
    for column in want:
        gone = pq.read_table(path)[column].is_null().combine_chunks().to_numpy(zero_copy_only=False)
        if gone.any():
            with pytest.raises(hr.InvalidArgumentError, match=f"row {gone.argmax()} has no value") as refused:
                hr.open(path, [column])[:]
            assert (str(refused.value.file), refused.value.field) == (path, column)
    for column, values in want.items():
        np.testing.assert_array_equal(data[column][100:3000:7], values[100:3000:7])


def test_lists_in_structs_event_by_event() -> None:
    """The pulses of an event are large lists in a struct; the truth, and the event's number, are values in structs."""
    path = str(files_of(pack(f"{OSCNEXT}/*_first_5_frames.parquet"))[0])
    table = pq.read_table(path)
    kinds = {f"{s}.{f.name}": f.type for s in ("SRTInIcePulses", "truth") for f in table.schema.field(s).type}
    lists = {name for name, kind in kinds.items() if pa.types.is_large_list(kind)}
    data = hr.open(path)
    assert set(data.fields) == set(kinds) - {"truth.sim_type"}
    assert {name for name, field in data.fields.items() if field.ragged} == lists
    assert len(lists) == 19
    assert (len(data), data.lengths().sum(), data.left_out) == (5, 56, {"truth.sim_type": TEXT})
    want: list[dict[str, Any]] = [{} for _ in range(5)]
    for name in data.fields:
        struct, column = name.split(".")
        for event, value in zip(want, table[struct].combine_chunks().field(column), strict=True):
            kind = kinds[name].value_type if name in lists else kinds[name]
            event[name] = np.array(value.as_py(), kind.to_pandas_dtype())
    for got, event in zip(data, want, strict=True):
        same(got, event)
    with hr.Loader(data, 2, shuffle=True, layout="padded") as loader:
        for batch in loader:
            for i, number in enumerate(batch["SRTInIcePulses.event_no"].tolist()):
                (event,) = (one for one in want if one["SRTInIcePulses.event_no"] == number)
                length = batch["lengths"][i]
                same({n: batch[n][i][:length] if n in lists else batch[n][i] for n in event}, event)
