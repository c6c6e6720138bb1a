"""Samples that a table tells: selected, split, by ranks, resumed, as a pickle, from run files, on the command line."""

from __future__ import annotations

import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from cli_program import program
from meta_files import (
    BATCHES,
    TEMPLATE,
    Events,
    by_meta,
    keys_of,
    keys_of_batches,
    opened,
    split_up,
    write,
)

import headrace as hr

pytestmark = [pytest.mark.fast, pytest.mark.filterwarnings("ignore:.*belong to no sample:headrace.HeadraceWarning")]


def flat(batches: list[list[Any]]) -> list[Any]:
    return [key for batch in batches for key in batch]


def test_selected(events: Events) -> None:
    data, want = opened(events), keys_of(events.in_order())
    assert keys_of(data.select(np.arange(57) % 3 == 1)) == want[1::3]
    assert keys_of(data.select(slice(10, 40))) == want[10:40]
    some = data.select(data.lengths() > 4)
    assert keys_of(some) == [key for key, n in zip(want, data.lengths(), strict=True) if n > 4]
    assert some.lengths().min() > 4
    assert keys_of(pickle.loads(pickle.dumps(some))) == keys_of(some)
    again = some.select([0, 3, 5])
    assert again.selected_rows.tolist() == some.selected_rows[[0, 3, 5]].tolist()
    assert again["event_id"][:].tolist() == some["event_id"][:][[0, 3, 5]].tolist()
    with hr.Loader(some, 7, shuffle=True, threads=3) as loader:
        assert sorted(flat(keys_of_batches(loader))) == sorted(keys_of(some))


@pytest.mark.parametrize("by", [{}, {"by": "file"}, {"stratify": "event_id"}])
def test_split(events: Events, by: dict[str, str], tmp_path: Path) -> None:
    if "stratify" in by:
        write(tmp_path / "m.parquet", {**events.meta, "event_id": events.meta["event_id"] % 3})
        data = opened(events, spans=by_meta(tmp_path / "m.parquet"))
    else:
        data = opened(events)
    parts = data.split({"train": 2 / 3, "val": 1 / 3}, seed=1, **by)
    assert len(parts["train"]) + len(parts["val"]) == 57
    assert sorted(key for part in parts.values() for key in keys_of(part)) == sorted(keys_of(data))


def test_columns_by_other_names(events: Events) -> None:
    data = hr.open(
        events.files,
        {"q": "charge", "s": "sensor_id"},
        sample_by=by_meta(events.table),
        targets={"y": "azimuth", "charge": "event_id"},
    )
    for got, want in zip(data, events.in_order(), strict=True):
        assert list(got) == ["q", "s", "y", "charge"]
        assert got["q"].tobytes() == want["charge"].tobytes()
        assert got["s"].tobytes() == want["sensor_id"].tobytes()
        assert (got["y"], got["charge"]) == (want["azimuth"], want["event_id"])
    with pytest.raises(hr.InvalidArgumentError, match="both the samples and their targets have a field 'y'"):
        hr.open(events.files, {"y": "charge"}, sample_by=by_meta(events.table), targets={"y": "azimuth"})


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
@pytest.mark.parametrize("world_size", [1, 2, 3])
def test_ranks_share_the_events(events: Events, world_size: int, shuffle: Any) -> None:
    got = []
    for rank in range(world_size):
        with hr.Loader(opened(events), 6, shuffle=shuffle, rank=rank, world_size=world_size) as loader:
            for batch in loader:
                own = batch.get("_weight", np.ones(len(batch["event_id"]))) > 0
                got += [key for key, counts in zip(keys_of(split_up(batch)), own, strict=True) if counts]
    assert sorted(got) == sorted(keys_of(events.in_order()))


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize("world_size", [1, 2])
def test_resumed_at_every_third_step(events: Events, world_size: int, layout: str) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 9, "threads": 2, "world_size": world_size, "rank": 0}
    options["layout"] = layout
    whole, states = [], []
    with hr.Loader(opened(events), 3, **options) as loader:
        for batch in loader:
            whole.append(keys_of(split_up(batch)))
            states.append(json.loads(json.dumps(loader.state_dict())))
        assert keys_of(split_up(loader.batch(0, 2))) == whole[2]
    for step in range(0, len(states) - 1, 3):
        with hr.Loader(opened(events), 3, **options) as loader:
            loader.load_state_dict(states[step])
            assert keys_of_batches(loader) == whole[step + 1 :]


def test_batches_by_rows(events: Events) -> None:
    with hr.Loader(opened(events), batch=hr.ByTokens(300, too_long="alone"), shuffle=True) as loader:
        assert sorted(flat(keys_of_batches(loader))) == sorted(keys_of(events.in_order()))


def test_the_smallest_budget_is_enough(events: Events) -> None:
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(opened(events), 5, shuffle=True, memory=1000, threads=1)
    least = caught.value.needed_bytes or 0
    with hr.Loader(opened(events), 5, shuffle=True, memory=least, threads=1) as loader:
        assert sorted(flat(keys_of_batches(loader))) == sorted(keys_of(events.in_order()))


def test_pickled_data_and_loaders(events: Events) -> None:
    data = pickle.loads(pickle.dumps(opened(events)))
    assert keys_of(pickle.loads(pickle.dumps(data))) == keys_of(data) == keys_of(events.in_order())
    own = [keys_of_batches(hr.Loader(one, 8, shuffle=True, seed=3)) for one in (data, opened(events))]
    assert own[0] == own[1]


def run_file(folder: Path, by: str, **more: str) -> Path:
    words = {"files": '"batch_*.parquet"', "fields": "[sensor_id, charge, auxiliary]", "sample_by": by}
    words |= {"targets": "[azimuth, event_id]", **more}
    text = "data:\n" + "".join(f"  {name}: {value}\n" for name, value in words.items())
    (folder / "run.yaml").write_text(f"{text}loader: {{batch_size: 8, shuffle: true, seed: 5}}\n")
    return folder / "run.yaml"


def test_a_run_file(events: Events, tmp_path: Path) -> None:
    """Its paths start where it is, not where the process is."""
    with hr.Loader(opened(events), 8, shuffle=True, seed=5) as loader:
        want = keys_of_batches(loader)
    words = f'first: first, last: last, file: batch_id, file_template: "{TEMPLATE}"'
    path = run_file(events.folder, f"{{meta: train_meta.parquet, {words}}}")
    with hr.load_run(path) as loader:
        assert keys_of_batches(loader) == want
    done = subprocess.run([program(), "bench", path, "--json"], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["samples"] == 57
    table = {**events.meta, "end": events.meta["last"] + 1}
    for batch in BATCHES:
        rows = events.meta["batch_id"] == batch
        write(events.folder / f"truth_{batch}.parquet", {name: values[rows] for name, values in table.items()})
    path = run_file(events.folder, '{meta: "truth_*.parquet", first: first, end: end}')
    with hr.load_run(path) as loader:
        assert keys_of_batches(loader) == want
    meta = write(tmp_path / "elsewhere.parquet", table)
    path = run_file(
        events.folder, f'{{meta: {meta}, first: first, end: end, file: batch_id, file_template: "{TEMPLATE}"}}'
    )
    with hr.load_run(path) as loader:
        assert keys_of_batches(loader) == want


@pytest.mark.parametrize(
    ("by", "text"),
    [
        ("{meta: train_meta.parquet, first: first}", "one for the last or the end"),
        ("{meta: train_meta.parquet, last: last}", "a field for the first row"),
        (
            "{meta: train_meta.parquet, offsets: x, first: first, last: last}",
            "one of key, offsets, offset_list and meta",
        ),
        ("{meta: train_meta.parquet, first: first, last: last, file: batch_id}", "Give both"),
        ("{meta: train_meta.parquet, frist: first, last: last}", "Did you mean first?"),
        ("{meta: no.parquet, first: first, last: last}", "no.parquet"),
        ("{first: first, last: last}", "one of key, offsets, offset_list and meta"),
        ("{key: sensor_id, first: first, last: last}", "first"),
    ],
)
def test_run_files_that_are_wrong(events: Events, by: str, text: str) -> None:
    path = run_file(events.folder, by)
    with pytest.raises(hr.Error) as refused:
        hr.load_run(path)
    assert text in f"{refused.value} {refused.value.hint}"
    done = subprocess.run([program(), "bench", path], capture_output=True, text=True, check=False)
    assert done.returncode in (2, 3)
    assert text in " ".join(done.stderr.split())


def test_a_function_looks_up_a_row_for_each_row(tmp_path: Path) -> None:
    """What a Python function makes of a ragged field is as long as that, not as the batch."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"sensor": np.array([4, 0, 2, 2, 1], "i2"), "event": [0, 0, 1, 2, 2]})
    pq.write_table(table, tmp_path / "hits.parquet")
    xyz = np.arange(15.0).reshape(5, 3)
    events = hr.open(tmp_path / "hits.parquet", ["sensor"], sample_by="event")

    def look_up(batch: dict[str, Any]) -> dict[str, Any]:
        return batch | {"xyz": xyz[batch["sensor"]], "xyz.offsets": batch["sensor.offsets"]}

    (batch,) = hr.Loader(events.map(look_up), 3)
    np.testing.assert_array_equal(batch["xyz"], xyz[[4, 0, 2, 2, 1]])
    np.testing.assert_array_equal(batch["xyz.offsets"], [0, 2, 3, 5])
    with pytest.raises(hr.InvalidArgumentError, match="rows of a ragged field"):
        list(hr.Loader(events.map(lambda batch: batch | {"xyz": xyz[:4]}), 3))
