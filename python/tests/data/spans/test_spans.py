"""Spans: samples of different length, by a key or by offsets, against a plain loop over h5py."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from real_data import LIQUIDO, needed

import headrace as hr

pytestmark = pytest.mark.fast

FILES = 3


def lengths_of(file: int) -> np.ndarray:
    """Heavy-tailed, some of one row, one longer than several chunks."""
    random = np.random.default_rng(file)
    lengths = np.minimum(1 + random.pareto(1.2, 60) * 3, 300).astype(int)
    lengths[7] = 400
    return lengths


@pytest.fixture(scope="module")
def pulses(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("pulses")
    for number in range(FILES):
        lengths = lengths_of(number)
        rows, random = int(lengths.sum()), np.random.default_rng(10 + number)
        with h5py.File(folder / f"pulses_{number}.h5", "w") as file:
            storage: dict[str, Any] = {"compression": "gzip"}
            file.create_dataset("event_id", data=np.repeat(1000 * number + np.arange(60), lengths), chunks=(97,))
            file.create_dataset("time", data=random.random(rows).astype(np.float32), chunks=(64,), **storage)
            file.create_dataset("xyz", data=random.random((rows, 3)), chunks=(50, 3), **storage)
            file.create_dataset("truth/zenith", data=random.random(60), chunks=(20,), **storage)
            file.create_dataset("event_offsets", data=np.concatenate(([0], np.cumsum(lengths))))
    return str(folder / "pulses_*.h5")


def events_of(pulses: str) -> list[dict[str, np.ndarray]]:
    """By a loop."""
    events = []
    for number in range(FILES):
        with h5py.File(pulses.replace("*", str(number))) as file:
            time, xyz, zenith = file["time"][:], file["xyz"][:], file["truth/zenith"][:]
            begin = 0
            for event, length in enumerate(lengths_of(number)):
                rows = slice(begin, begin + length)
                events.append({"time": time[rows], "xyz": xyz[rows], "zenith": zenith[event]})
                begin += length
    return events


def opened(pulses: str, how: str = "key") -> hr.Dataset:
    sample_by: Any = "event_id" if how == "key" else hr.Spans(offsets="event_offsets")
    return hr.open(pulses, ["time", "xyz"], sample_by=sample_by, targets={"zenith": "truth/zenith"})


def split_up(batch: dict[str, Any]) -> list[dict[str, np.ndarray]]:
    """The events of a batch."""
    out = []
    for i in range(len(batch["zenith"])):
        event = {"zenith": batch["zenith"][i]}
        for name in ("time", "xyz"):
            offsets = batch[f"{name}.offsets"]
            assert offsets.dtype == np.int64
            assert len(offsets) == len(batch["zenith"]) + 1
            assert offsets[-1] == len(batch[name])
            event[name] = batch[name][offsets[i] : offsets[i + 1]]
        out.append(event)
    return out


def key_of(event: dict[str, Any]) -> tuple[bytes, ...]:
    return tuple(np.asarray(event[name]).tobytes() for name in ("zenith", "time", "xyz"))


@pytest.mark.parametrize("how", ["key", "offsets"])
def test_samples_are_those_of_a_loop(pulses: str, how: str) -> None:
    data, want = opened(pulses, how), events_of(pulses)
    assert len(data) == len(want) == 60 * FILES
    shapes = {name: (field.ragged, field.shape) for name, field in data.fields.items()}
    assert shapes == {"time": (True, ()), "xyz": (True, (3,)), "zenith": (False, ())}
    assert [file.rows for file in data.files][:FILES] == [60] * FILES
    for number in (0, 7, 59, 60, 179):
        got = data[number]
        assert list(got) == ["time", "xyz", "zenith"]
        assert key_of(got) == key_of(want[number])
    assert [key_of(event) for event in data] == [key_of(event) for event in want]
    assert [key_of(event) for event in split_up(data[3:90:4])] == [key_of(event) for event in want[3:90:4]]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_an_epoch_has_each_event_once(pulses: str, shuffle: Any, threads: int) -> None:
    want = [key_of(event) for event in events_of(pulses)]
    loader = hr.Loader(opened(pulses), 16, shuffle=shuffle, threads=threads, seed=2, memory="16MiB")
    epochs = []
    for _ in range(2):
        got = [key_of(event) for batch in loader for event in split_up(batch)]
        assert sorted(got) == sorted(want)
        epochs.append(got)
    assert (epochs[0] == want) == (shuffle is False)
    assert (epochs[0] == epochs[1]) == (shuffle is False)


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_ranks_share_the_events(pulses: str, world_size: int) -> None:
    got = []
    for rank in range(world_size):
        with hr.Loader(opened(pulses), 8, shuffle=True, rank=rank, world_size=world_size) as loader:
            got += [key_of(event) for batch in loader for event in split_up(batch)]
    assert sorted(got) == sorted(key_of(event) for event in events_of(pulses))


def test_resumed_at_every_step(pulses: str) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 9, "threads": 2}
    whole, states = [], []
    with hr.Loader(opened(pulses), 17, **options) as loader:
        for batch in loader:
            whole.append([key_of(event) for event in split_up(batch)])
            states.append(loader.state_dict())
    for step, state in enumerate(states[:-1]):
        with hr.Loader(opened(pulses), 17, **options) as loader:
            loader.load_state_dict(state)
            assert [[key_of(event) for event in split_up(batch)] for batch in loader] == whole[step + 1 :]


def test_the_smallest_budget_is_enough(pulses: str) -> None:
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(opened(pulses), 5, shuffle=True, memory=1000)
    least = caught.value.needed_bytes or 0
    with hr.Loader(opened(pulses), 5, shuffle=True, memory=least) as loader:
        got = [key_of(event) for batch in loader for event in split_up(batch)]
    assert sorted(got) == sorted(key_of(event) for event in events_of(pulses))


def test_a_pickle_and_a_selection(pulses: str) -> None:
    want = [key_of(event) for event in events_of(pulses)]
    some = opened(pulses).select(np.arange(180) % 7 == 2)
    assert [key_of(event) for event in some] == want[2::7]
    again = pickle.loads(pickle.dumps(some))
    assert [key_of(event) for event in again] == want[2::7]
    parts = opened(pulses).split({"train": 0.7, "val": 0.3}, seed=1)
    got = [key_of(event) for part in parts.values() for event in part]
    assert sorted(got) == sorted(want)


def test_gaps_and_empty_events(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(20)
        file["offsets"] = np.array([3, 5, 5, 11, 18], np.uint32)  # rows 0 to 2, 18 and 19 are no sample's
        file["y"] = np.array([0.0, 1, 2, 3])
        file["run"] = np.zeros(20)
    data = hr.open(tmp_path / "a.h5", ["x"], sample_by=hr.Spans(offsets="offsets"), targets=["y"])
    assert "5 of 20 rows belong to no sample" in str(data)
    assert "selected from 4 spans" in str(data.select([1, 3]))
    assert "no sample" not in str(data.select([1, 3]))
    want = [(0.0, [3, 4]), (1.0, []), (2.0, list(range(5, 11))), (3.0, list(range(11, 18)))]
    assert [(float(event["y"]), event["x"].tolist()) for event in data] == want
    with hr.Loader(data, 3, shuffle=True, seed=1) as loader:
        got = []
        for batch in loader:
            at = batch["x.offsets"]
            got += [(float(y), batch["x"][at[i] : at[i + 1]].tolist()) for i, y in enumerate(batch["y"])]
    assert sorted(got) == want
    assert [float(event["y"]) for event in data.select([1, 3])] == [1.0, 3.0]
    assert data["y"][:].tolist() == [0.0, 1, 2, 3]
    assert data.select([1, 3])["y"][:].tolist() == [1.0, 3.0]
    assert data.select([1, 3]).selected_rows.tolist() == [1, 3]
    assert data.lengths().tolist() == [2, 0, 6, 7]
    with pytest.raises(hr.InvalidArgumentError, match="sample 1 has no rows, and the targets have a row for each row"):
        hr.open(tmp_path / "a.h5", ["x"], sample_by=hr.Spans(offsets="offsets"), targets=["run"])
    with hr.Loader(data, 2, sampler=hr.Balanced("y"), seed=1) as loader:
        assert all(set(batch["y"].tolist()) <= {0.0, 1, 2, 3} for batch in loader)
    for changed in (["x", "y", "x"], ["y", "x"]):
        with pytest.raises(hr.InvalidArgumentError):
            data._native.choose(changed)


def test_a_run_file(pulses: str, tmp_path: Path) -> None:
    want = sorted(key_of(event) for event in events_of(pulses))
    for by in ("event_id", "{key: event_id}", "{offsets: event_offsets}"):
        (tmp_path / "run.yaml").write_text(
            f"data:\n  files: {pulses}\n  fields: [time, xyz]\n  sample_by: {by}\n"
            "  targets: {zenith: truth/zenith}\nloader:\n  batch_size: 16\n  shuffle: true\n"
        )
        with hr.load_run(tmp_path / "run.yaml") as loader:
            assert sorted(key_of(event) for batch in loader for event in split_up(batch)) == want
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: {pulses}, fields: [time, xyz], sample_by: event_id, targets: {{zenith: truth/zenith}}}}\n"
        "loader: {batch: {tokens: 500, max_samples: 40}, shuffle: true}\n"
    )
    with hr.load_run(tmp_path / "run.yaml") as loader:
        batches = [split_up(batch) for batch in loader]
    assert sorted(key_of(event) for batch in batches for event in batch) == want
    assert max(sum(len(event["time"]) for event in batch) for batch in batches) <= 500
    assert max(map(len, batches)) <= 40
    with hr.load_run(tmp_path / "run.yaml", batch_size=9) as loader:
        assert len(loader) == 20
    for by, message in (
        ("{key: event_id, offsets: event_offsets}", "one of key, offsets, offset_list and meta is expected"),
        ("{}", "one of key, offsets, offset_list and meta is expected"),
        ("{kye: event_id}", "Did you mean key?"),
        ("nothing", "no array 'nothing'"),
    ):
        (tmp_path / "bad.yaml").write_text(
            f"data:\n  files: {pulses}\n  fields: [time]\n  sample_by: {by}\nloader: {{batch_size: 4}}\n"
        )
        with pytest.raises(hr.Error, match=re.escape(message)):
            hr.load_run(tmp_path / "bad.yaml")


def test_windows_have_no_targets(pulses: str) -> None:
    with pytest.raises(hr.UnsupportedError, match="of which a window has none"):
        opened(pulses).windows(3)


@pytest.mark.parametrize("how", ["key", "offsets"])
def test_stats_are_of_the_rows_that_the_events_have(pulses: str, how: str) -> None:
    data, want = opened(pulses, how), events_of(pulses)
    for part, events in ((data, want), (data.select(range(3, 90, 4)), want[3:90:4])):
        for name in ("time", "xyz"):
            rows = np.concatenate([event[name] for event in events])
            found = part.stats(name)
            np.testing.assert_allclose(found.mean, rows.mean(0), rtol=1e-6)
            np.testing.assert_allclose(found.std, rows.std(0), rtol=1e-6)
            assert found.count.tolist() == [len(rows)] * (3 if name == "xyz" else 1)
        zenith = np.array([event["zenith"] for event in events])
        found = part.stats("zenith", where="zenith > 0.5")
        np.testing.assert_allclose(found.mean, zenith[zenith > 0.5].mean(), rtol=1e-12)


def test_functions_of_whole_batches(pulses: str) -> None:
    data = opened(pulses).map(lambda batch: {**batch, "count": np.diff(batch["time.offsets"])})
    want = [len(event["time"]) for event in events_of(pulses)]
    assert [int(event["count"]) for event in data] == want
    assert np.concatenate([batch["count"] for batch in hr.Loader(data, 16)]).tolist() == want


def test_targets_and_offsets_of_other_files(pulses: str, tmp_path: Path) -> None:
    want = events_of(pulses)
    for number in range(FILES):
        np.save(tmp_path / f"zenith_{number}.npy", [event["zenith"] for event in want[60 * number :][:60]])
        np.save(tmp_path / f"at_{number}.npy", np.concatenate(([0], np.cumsum(lengths_of(number)))))
    np.save(tmp_path / "all.npy", [event["zenith"] for event in want])
    for targets in (f"{tmp_path}/zenith_*.npy::", f"{tmp_path}/all.npy::"):
        data = hr.open(
            pulses,
            ["time", "xyz"],
            sample_by=hr.Spans(offsets=f"{tmp_path}/at_*.npy::"),
            targets={"zenith": targets},
        )
        assert [key_of(event) for event in pickle.loads(pickle.dumps(data))] == [key_of(event) for event in want]
    with pytest.raises(hr.InvalidArgumentError, match="both the samples and their targets have a field 'time'"):
        hr.open(pulses, ["time"], sample_by="event_id", targets={"time": "truth/zenith"})


def test_targets_with_a_row_for_each_row(pulses: str) -> None:
    numbers_of = [1000 * number + event for number in range(FILES) for event in range(60)]
    data = hr.open(pulses, ["time"], sample_by=hr.Spans(offsets="event_offsets"), targets={"event": "event_id"})
    want = {event: one["time"].tobytes() for event, one in zip(numbers_of, events_of(pulses), strict=True)}
    assert [int(event["event"]) for event in data] == numbers_of
    assert data["event"][:].tolist() == numbers_of
    some = data.select([3, 70, 179])
    assert [int(event["event"]) for event in some] == some["event"][:].tolist() == [3, 1010, 2059]
    for threads in (1, 3):
        with hr.Loader(data, 7, shuffle=True, seed=5, threads=threads) as loader:
            seen = {}
            for batch in loader:
                at = batch["time.offsets"]
                for i, event in enumerate(batch["event"].tolist()):
                    seen[event] = batch["time"][at[i] : at[i + 1]].tobytes()
            assert seen == want


def test_inspect_tells_the_lengths(pulses: str, tmp_path: Path) -> None:
    lengths = np.concatenate([lengths_of(number) for number in range(FILES)])
    shown = hr.inspect(pulses, sample_by="event_id")
    told = shown.to_dict()["lengths"]
    assert told["samples"] == 180
    assert told["rows"] == lengths.sum()
    assert told["longest"]["rows"] == lengths.max()
    assert told["longest"]["sample"] == lengths.argmax()
    assert told["longest"]["row"] == lengths_of(0)[: lengths.argmax()].sum()
    assert told["median"] == np.sort(lengths)[(len(lengths) - 1) // 2]
    assert sum(one["samples"] for one in told["histogram"]) == 180
    for one in told["histogram"]:
        assert one["samples"] == ((one["first"] <= lengths) & (lengths <= one["last"])).sum()
    assert f"{lengths.max()} rows: sample {lengths.argmax()}" in str(shown)
    by_offsets = hr.inspect(pulses, sample_by=hr.Spans(offsets="event_offsets")).to_dict()["lengths"]
    assert {**by_offsets, "by": ""} == {**told, "by": ""}
    with h5py.File(tmp_path / "demos.h5", "w") as file:
        for number in range(12):
            file[f"data/demo_{number}/actions"] = np.zeros((number, 2))
    arrays = hr.inspect(tmp_path / "demos.h5", sample_by="data/demo_*/actions").to_dict()["lengths"]
    assert (arrays["samples"], arrays["rows"], arrays["longest"]["sample"]) == (12, 66, 11)
    with pytest.raises(hr.FieldMissingError, match="no array 'evnt'"):
        hr.inspect(pulses, sample_by="evnt")


def test_keys_that_are_none(tmp_path: Path) -> None:
    def written(name: str, key: Any, **more: Any) -> Path:
        path = tmp_path / f"{name}.h5"
        with h5py.File(path, "w") as file:
            file["key"], file["x"] = key, np.arange(len(key))
            for other, values in more.items():
                file[other] = values
        return path

    back = written("back", [4, 4, 7, 7, 7, 4])
    with pytest.raises(hr.CorruptDataError, match=r"the key 4 stands at rows 0 to 1 and comes back at row 5"):
        hr.open(back, ["x"], sample_by="key")
    nan = written("nan", [1.0, 1.0, np.nan])
    with pytest.raises(hr.CorruptDataError, match="the key of row 2 is NaN or no whole number"):
        hr.open(nan, ["x"], sample_by="key")
    matrix = written("matrix", [[1.0, 5], [1, 6], [2, 5]])
    assert [event["x"].tolist() for event in hr.open(matrix, ["x"], sample_by=("key", 0))] == [[0, 1], [2]]
    with pytest.raises(hr.InvalidArgumentError, match="a row of key has 2 values, of which one is the key"):
        hr.open(matrix, ["x"], sample_by="key")
    with pytest.raises(hr.InvalidArgumentError, match="has 2 columns, and no column 2"):
        hr.open(matrix, ["x"], sample_by=("key", 2))
    text = written("text", np.array([b"a", b"a", b"b"]))
    assert [event["x"].tolist() for event in hr.open(text, ["x"], sample_by="key")] == [[0, 1], [2]]
    for offsets, message in (([0, 2, 1, 3], "offset 2 is 1, below the 2 before it"), ([0, 4], "the file has 3 rows")):
        path = written("offsets", [1, 2, 3], at=offsets)
        with pytest.raises(hr.CorruptDataError, match=message):
            hr.open(path, ["x"], sample_by=hr.Spans(offsets="at"))
    short = written("short", [1, 1, 2], y=[1.0, 2.0, 3.0, 4.0])
    with pytest.raises(hr.InvalidArgumentError, match="y has 4 rows for 2 samples"):
        hr.open(short, ["x"], sample_by="key", targets=["y"])
    with pytest.raises(hr.InvalidArgumentError, match="sample_by=, which is missing"):
        hr.open(short, ["x"], targets=["y"])


def test_torch_has_offsets_too(pulses: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = next(iter(hr.Loader(opened(pulses), 8, framework="torch")))
    assert batch["time.offsets"].dtype == torch.int64
    nested = hr.torch.nested(batch, "time")
    assert nested.values().data_ptr() == batch["time"].data_ptr()  # no copy
    for number, (event, want) in enumerate(zip(nested.unbind(), events_of(pulses), strict=False)):
        assert event.tolist() == want["time"].tolist(), number
    with pytest.raises(hr.InvalidArgumentError, match="'zenith' is no ragged field of this batch"):
        hr.torch.nested(batch, "zenith")
    monkeypatch.delattr(torch.nested, "nested_tensor_from_jagged")  # as before torch 2.4
    with pytest.raises(hr.UnsupportedError, match="has no nested tensors of layout jagged"):
        hr.torch.nested(batch, "time")


def test_torchs_own_loaders_get_events(pulses: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    want = [key_of(event) for event in events_of(pulses)]
    loader = hr.Loader(opened(pulses), 16, framework="torch")
    theirs = torch.utils.data.DataLoader(opened(pulses), batch_size=16, collate_fn=loader.collate_fn)
    assert [key_of(event) for batch in theirs for event in split_up(numbers(batch))] == want
    listed = hr.torch.DataLoader(opened(pulses), batch_size=16, collate_fn=lambda samples: samples)
    assert [key_of(event) for samples in listed for event in samples] == want


def numbers(batch: dict[str, Any]) -> dict[str, np.ndarray]:
    return {name: column.numpy() for name, column in batch.items()}


def test_names_like_those_of_offsets(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", **{"x": np.arange(6), "x.offsets": np.arange(6) + 10, "k": np.arange(6) // 2})
    rows = hr.open(tmp_path / "a.npz", ["x", "x.offsets"])  # dense, whatever their names
    assert rows[2] == {"x": 2, "x.offsets": 12}
    assert [row["x.offsets"] for row in rows] == list(range(10, 16))
    with pytest.raises(
        hr.InvalidArgumentError, match=r"a field is named x\.offsets, which says where the samples of x"
    ):
        hr.open(tmp_path / "a.npz", ["x", "x.offsets"], sample_by="k")


def test_each_receives_offsets_of_its_own(pulses: str) -> None:
    batch = next(iter(hr.Loader(opened(pulses), 8)))
    kept = batch["xyz.offsets"].copy()
    batch["time.offsets"][:] = -1
    assert np.array_equal(batch["xyz.offsets"], kept)


def test_columns_and_lengths(pulses: str) -> None:
    data, want = opened(pulses), events_of(pulses)
    lengths = data.lengths()
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [len(event["time"]) for event in want]
    assert data.select(lengths > 4).lengths().tolist() == [n for n in lengths.tolist() if n > 4]
    column = data["xyz"]
    assert repr(column) == "<headrace.Column 'xyz': 180 samples of any length, dtype float64>"
    assert len(column) == 180
    assert np.array_equal(column[7], want[7]["xyz"])
    assert [len(values) for values in column] == lengths.tolist()
    assert np.array_equal(data["zenith"][:], [event["zenith"] for event in want])
    few = data.select([3, 70, 71, 179])
    assert few["zenith"][:].tolist() == [want[i]["zenith"] for i in (3, 70, 71, 179)]
    assert few.selected_rows.tolist() == [3, 70, 71, 179]
    for plain in (lambda: column[2:4], lambda: np.asarray(column), lambda: column.shape, lambda: column[0, 1]):
        with pytest.raises(hr.InvalidArgumentError, match="'xyz' is ragged: its samples differ in length"):
            plain()
    with pytest.raises(hr.InvalidArgumentError, match="no field is ragged"):
        hr.open(pulses, ["time"]).lengths()


def test_offsets_from_elsewhere(pulses: str, tmp_path: Path) -> None:
    lengths = np.concatenate([lengths_of(number) for number in range(FILES)])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    targets = {"zenith": "truth/zenith"}
    data = hr.open(pulses, ["time", "xyz"], sample_by=hr.Spans(offsets=offsets), targets=targets)
    want = [key_of(event) for event in events_of(pulses)]
    assert [key_of(event) for event in pickle.loads(pickle.dumps(data))] == want
    assert [file.rows for file in data.files] == [60] * FILES
    some = hr.open(pulses, ["time"], sample_by=hr.Spans(offsets=offsets[50:130].tolist()))
    assert [event["time"].tobytes() for event in some] == [one[1] for one in want[50:129]]
    assert [file.rows for file in some.files] == [10, 60, 9]
    across = [0, int(offsets[60]) + 1]
    with pytest.raises(
        hr.InvalidArgumentError, match=r"sample 0 has rows 0 to \d+, of which the last are another file's"
    ):
        hr.open(pulses, ["time"], sample_by=hr.Spans(offsets=across))
    for wrong, message in (
        ([0, 5, 3], "offset 2 is 3, below the 5 before it"),
        ([0, 10**6], "offset 1 is 1000000: there are"),
        ([0.0, 3.0], "at least two whole numbers"),
        ([4], "at least two whole numbers"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=message):
            hr.open(pulses, ["time"], sample_by=hr.Spans(offsets=wrong))
    array = tmp_path / "values.npy"
    np.save(array, np.arange(10))
    events = hr.open(array, sample_by=hr.Spans(offsets=[2, 2, 7]))
    assert [event["values"].tolist() for event in events] == [[], [2, 3, 4, 5, 6]]


def test_a_real_file_event_by_event() -> None:
    """Its key is column 0 of HitData: whole numbers stored as floats."""
    path = needed(LIQUIDO)
    events = hr.open(path, ["HitData"], sample_by=("HitData", 0), targets=["TruthData"])
    with h5py.File(path) as file:
        hits, truth = file["HitData"][:], file["TruthData"][:]
    starts = np.flatnonzero(np.diff(hits[:, 0], prepend=-1))
    want = np.split(hits, starts[1:])
    assert len(events) == len(want) == 100
    for number, event in enumerate(events):
        assert np.array_equal(event["HitData"], want[number])
        assert np.array_equal(event["TruthData"], truth[number])
    with hr.Loader(events, 7, shuffle=True, seed=1) as loader:
        seen = []
        for batch in loader:
            at = batch["HitData.offsets"]
            for i, y in enumerate(batch["TruthData"]):
                number = int(batch["HitData"][at[i], 0]) - int(want[0][0, 0])
                assert np.array_equal(batch["HitData"][at[i] : at[i + 1]], want[number])
                assert np.array_equal(y, truth[number])
                seen.append(number)
    assert sorted(seen) == list(range(100))
