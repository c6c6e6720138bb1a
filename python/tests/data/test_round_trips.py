"""Random data sets through a pickle and through a run file: the same samples in the same batches."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

Step = Callable[[hr.Dataset], hr.Dataset]


@dataclass(frozen=True)
class Files:
    rows: list[Path]
    tokens: list[Path]
    events: Path
    volumes: list[Path]
    meta: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("a folder: of #files")
    numbers = np.random.default_rng(5)
    rows, tokens, volumes = [], [], []
    for i, count in enumerate((60, 90, 75)):
        rows.append(folder / f"rows_{i}.h5")
        with h5py.File(rows[-1], "w") as file:
            file.create_dataset("x", data=numbers.normal(size=(count, 4)).astype("f4"), chunks=(16, 4))
            file["y"] = numbers.integers(0, 3, count)
            file["group/a: b"] = np.arange(count) + 1000 * i
        np.save(folder / f"side_{i}.npy", np.arange(count, dtype="i4") * (i + 1))
        with h5py.File(folder / f"volume_{i}.h5", "w") as file:
            file.create_dataset("raw", data=numbers.normal(size=(9, 10 + i, 11)).astype("f4"), chunks=(4, 4, 4))
            file["ids"] = numbers.integers(0, 3, (9, 10 + i, 11))
        volumes.append(folder / f"volume_{i}.h5")
    for i in range(2):
        with hr.tokens.Writer(folder / f"tokens_{i}", vocab_size=100) as writer:
            for length in numbers.integers(1, 30, 12):
                writer.write(numbers.integers(0, 100, length))
        tokens.append(folder / f"tokens_{i}")
    lengths = numbers.integers(0, 9, 40)
    np.savez(
        folder / "events.npz",
        charge=numbers.normal(size=lengths.sum()).astype("f4"),
        event=np.repeat(np.arange(40), lengths),
        ends=np.concatenate([[0], np.cumsum(lengths)]),
    )
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    np.savez(folder / "meta.npz", first=first, last=first + lengths - 1, angle=numbers.normal(size=40))
    return Files(rows, tokens, folder / "events.npz", volumes, folder / "meta.npz")


def rows_of(files: Files, draw: random.Random) -> hr.Dataset:
    chosen = sorted(draw.sample(files.rows, draw.randint(1, 3)))
    fields: Any = draw.choice([["x", "y"], {"x": "x", "y": "y", "n: #": "group/a: b"}])
    if draw.random() < 0.3 and len(chosen) == len(files.rows):
        fields = {"x": "x", "y": "y", "side": f"{files.rows[0].parent}/side_*.npy::"}
    return hr.open(chosen, fields)


def select(draw: random.Random) -> Step:
    def step(data: hr.Dataset) -> hr.Dataset:
        kept = sorted(draw.sample(range(len(data)), max(1, len(data) * 2 // 3)))
        return data.select(draw.choice([kept, slice(0, None, 2), slice(0, max(1, len(data) * 3 // 4))]))

    return step


def split(draw: random.Random) -> Step:
    def step(data: hr.Dataset) -> hr.Dataset:
        by = draw.choice([None, "run"])
        parts = data.split({"train": 0.7, "a: val": 0.3}, seed=draw.randrange(2**60), by=by)
        return parts[draw.choice(["train", "a: val"])]

    return step


def transforms(draw: random.Random) -> Step:
    def step(data: hr.Dataset) -> hr.Dataset:
        number = draw.uniform(-2, 2)
        return data.map(
            *draw.sample(
                [
                    T.Affine("x", scale=number, shift=[1.0, 2.5, -3e-7, 0.1]),
                    T.Clip("x", least=-1),
                    T.Standardize("x", mean=[0.1] * 4, std=2, to="z"),
                    T.Relabel("y", {0: 5, 1: 2**62 + 1, 2: -1}, to="label"),
                    T.Noise("x", 0.5),
                ],
                draw.randint(1, 3),
            )
        )

    return step


def rows(files: Files, draw: random.Random) -> hr.Dataset:
    data = rows_of(files, draw)
    for verb in draw.sample([select, split, transforms], draw.randint(0, 3)):
        data = verb(draw)(data)
    return data


def mixture(files: Files, draw: random.Random) -> hr.Dataset:
    parts = {}
    for name in ("a", "b: #", "true"):
        data = hr.open(draw.choice(files.rows), ["x", "y"])
        for verb in draw.sample([select, split], draw.randint(0, 2)):
            data = verb(draw)(data)
        parts[name] = (data, draw.uniform(0.5, 2))
    words: dict[str, Any] = draw.choice([{}, {"temperature": 2.5}, {"stop": "all"}, {"num_samples": 100}])
    mixed = hr.mix(parts, **words)
    return transforms(draw)(mixed) if draw.random() < 0.5 else mixed


def windows(files: Files, draw: random.Random) -> hr.Dataset:
    length = draw.randint(2, 9)
    words: dict[str, Any] = {
        "stride": draw.choice([None, 3, length]),
        "lookahead": draw.randint(0, 2),
        "across_files": draw.random() < 0.5,
    }
    if draw.random() < 0.5:
        data = hr.open_tokens(files.tokens, vocab_size=draw.choice([None, 100])).windows(length, **words)
        return split(draw)(data) if words["stride"] is None and draw.random() < 0.5 else data
    data = hr.open(files.rows, ["x", "y"]).windows(length, **words)
    return clipped(data, draw)


def clipped(data: hr.Dataset, draw: random.Random) -> hr.Dataset:
    return data.map(T.Clip("x", most=draw.random())) if draw.random() < 0.5 else data


def events(files: Files, draw: random.Random) -> hr.Dataset:
    ways: list[Any] = ["event", hr.Spans(offsets="ends"), hr.Spans(offsets=[0, 4, 9, 9, 30])]
    spans = {"meta": str(files.meta), "first": "first", "last": "last"}
    if draw.random() < 0.4:
        data = hr.open(files.events, ["charge"], sample_by=hr.Spans(**spans), targets=["angle"])
    else:
        data = hr.open(files.events, ["charge"], sample_by=draw.choice(ways))
    if draw.random() < 0.5:
        data = select(draw)(data)
    return data.map(T.Truncate(rows=3)) if draw.random() < 0.4 else data


def documents(files: Files, draw: random.Random) -> hr.Dataset:
    data = hr.open_tokens(files.tokens).documents()
    return select(draw)(data) if draw.random() < 0.5 else data


def patches(files: Files, draw: random.Random) -> hr.Dataset:
    volume = hr.open_volume(files.volumes, draw.choice([{"raw": "raw", "ids": "ids"}, ["raw", "ids"]]))
    if draw.random() < 0.5:
        words: Any = draw.choice([{}, {"draws": "independent"}, {"balance": {"ids": [2, 1]}}, {"balance": ["ids"]}])
        return volume.patches((3, 4, 5), draw.randint(10, 40), **words)
    words = draw.choice([{}, {"edge": "drop"}, {"edge": "fill", "fill": 7}, {"small": "skip"}])
    return volume.patches((3, 4, 5), stride=draw.choice([4, (2, 3, 5)]), **words)


def batches(data: hr.Dataset, seed: int) -> list[dict[str, np.ndarray[Any, Any]]]:
    loader = hr.Loader(data, batch_size=7, shuffle=True, seed=seed)
    return [dict(batch) for _ in range(2) for batch in loader]


def assert_same(one: hr.Dataset, other: hr.Dataset, seed: int) -> None:
    assert list(one.fields) == list(other.fields)
    for left, right in zip(batches(one, seed), batches(other, seed), strict=True):
        assert list(left) == list(right)
        for name, column in left.items():
            np.testing.assert_array_equal(column, right[name])


@pytest.mark.parametrize("make", [rows, mixture, windows, events, documents, patches])
@pytest.mark.parametrize("number", range(6))
@pytest.mark.filterwarnings("ignore::headrace.HeadraceWarning")
def test_a_pickle_and_a_run_file_make_the_same_again(files: Files, tmp_path: Path, make: Any, number: int) -> None:
    draw = random.Random(f"{make.__name__} {number}")
    data = make(files, draw)
    assert_same(data, pickle.loads(pickle.dumps(data)), number)
    loader = hr.Loader(data, batch_size=7, shuffle=True, seed=number)
    hr.save_run(loader, tmp_path / "run.yaml")
    again = hr.load_run(tmp_path / "run.yaml")
    assert again._options == loader._options
    assert_same(data, again.dataset, number)
    assert repr(again.dataset) == repr(data)
    assert again.dataset._native.recipe() == data._native.recipe()
    hr.save_run(again, tmp_path / "again.yaml")
    assert (tmp_path / "again.yaml").read_text() == (tmp_path / "run.yaml").read_text()


def saved(data: hr.Dataset, folder: Path, **words: Any) -> hr.Loader:
    hr.save_run(hr.Loader(data, **{"batch_size": 4, **words}), folder / "run.yaml")
    return hr.load_run(folder / "run.yaml")


def test_an_array_with_a_star_in_its_name_is_one_array(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "one.h5", "w") as file:
        file["a*"] = np.arange(10)
        file["other"] = np.arange(10)
    data = hr.open(tmp_path / "one.h5")
    for again in (pickle.loads(pickle.dumps(data)), saved(data, tmp_path).dataset):
        assert len(again) == 10
        assert_same(data, again, 0)


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "float64", "int8", "uint16", "int64", "uint64"])
def test_columns_of_a_table(tmp_path: Path, dtype: str) -> None:
    np.savez(tmp_path / "rows.npz", key=np.arange(20) % 5)
    column = np.array([0, 1, 2, 3, 250]).astype(dtype)
    data = hr.open(tmp_path / "rows.npz").join({"key": np.arange(5), "value": column}, on="key", fields=["value"])
    assert_same(data, saved(data, tmp_path).dataset, 0)
    if dtype in ("float32", "int8"):
        hr.advise(data, batch_size=4)


def test_what_no_run_file_holds_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "many.npy", np.arange(3_000_000, dtype="u1"))
    data = hr.open(tmp_path / "many.npy")
    half = data.select(np.random.default_rng(0).random(len(data)) < 0.5)
    with pytest.raises(hr.InvalidArgumentError, match="a run file is read up to"):
        saved(half, tmp_path)
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: '{tmp_path}/many.npy', select: ['0:99999999999']}}\nloader: {{batch_size: 1}}\n"
    )
    with pytest.raises(hr.InvalidArgumentError, match=r"line 1: data.select\[0\]: samples of a selection are below"):
        hr.load_run(tmp_path / "run.yaml")
    (tmp_path / "run.yaml").write_text(
        f"data: {{files: '{tmp_path}/many.npy', select: ['5:9:18446744073709551615', 20]}}\nloader: {{batch_size: 1}}\n"
    )
    assert hr.load_run(tmp_path / "run.yaml").dataset.selected_rows.tolist() == [5, 20]
    for rows, said in (
        ("'0:4294967296:2'", r"data.select\[0\]: more than 67108864 samples that lie apart"),
        ("3, '2:9'", r"data.select\[1\]: samples must ascend: 2 comes after 3"),
        ("'0:9:3', 6", r"data.select\[1\]: samples must ascend: 6 comes after 6"),
        ("'9:9'", r"data.select\[0\] must be a sample number, or a run"),
        ("'0:9:0'", r"data.select\[0\] must be a sample number, or a run"),
    ):
        (tmp_path / "run.yaml").write_text(
            f"data: {{files: '{tmp_path}/many.npy', select: [{rows}]}}\nloader: {{batch_size: 1}}\n"
        )
        with pytest.raises(hr.InvalidArgumentError, match=said):
            hr.load_run(tmp_path / "run.yaml")
    with pytest.raises(hr.InvalidArgumentError, match=r"save_run takes a Loader, not an object of the class headrace"):
        hr.save_run(data, tmp_path / "run.yaml")  # type: ignore[arg-type]


def test_a_check_of_tokens_is_kept(files: Files, tmp_path: Path) -> None:
    loader = saved(hr.open_tokens(files.tokens, vocab_size=100, check=True).windows(8), tmp_path)
    assert "check: true" in (tmp_path / "run.yaml").read_text()
    again = pickle.loads(pickle.dumps(loader.dataset))
    assert again._native.recipe() == loader.dataset._native.recipe()


def test_short_forms(files: Files, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        f"data: {{files: '{files.rows[0]}', fields: [x], map: {{Clip: {{field: x, most: 0.5}}}}}}\n"
        "loader: {batch_size: 4}\n"
    )
    assert_same(hr.load_run(run).dataset, hr.open(files.rows[0], ["x"]).map(T.Clip("x", most=0.5)), 0)
    run.write_text(
        f"data: {{files: '{files.volumes[0]}', volume: {{}}, patches: {{shape: 4, stride: 3}}}}\n"
        "loader: {batch_size: 4}\n"
    )
    assert_same(hr.load_run(run).dataset, hr.open_volume(files.volumes[0]).patches((4, 4, 4), stride=3), 0)
    np.save(tmp_path / "side.npy", np.arange(60))
    run.write_text(
        f"data: {{files: '{files.rows[0]}', fields: {{x: x, s: 'L::'}}, companion_files: {{L: [side.npy]}}}}\n"
        "loader: {batch_size: 4}\n"
    )
    assert hr.load_run(run).dataset["s"][5] == 5


def test_arguments_replace_what_excludes_them(files: Files, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    data = f"data: {{files: ['{files.rows[0]}', '{files.rows[1]}'], fields: [x, y]}}\n"

    def options(loader: str, **words: Any) -> dict[str, Any]:
        run.write_text(f"{data}loader: {{{loader}}}\n")
        made = hr.load_run(run, **words)
        return {name: value for name, value in made._options.items() if value is not None}

    assert options("group_by: file, max_items: 70", max_items=80)["max_items"] == 80
    assert options("group_by: file, max_items: 70", group_by="file")["max_items"] == 70
    assert "group_by" not in options("group_by: file, max_items: 70", batch_size=8)
    assert options("batch_size: 9, drop_last: true", drop_last=False).get("tail") is None
    assert options("batch_size: 9, drop_last: true", group_by="file").get("tail") is None
    assert "shuffle_buffer" not in options("batch_size: 9, shuffle: true, shuffle_buffer: 1GiB", shuffle="exact")


def test_a_tool_finds_the_files_of_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, values in (("one", np.arange(5)), ("two", np.zeros((7, 3), "f4"))):
        (tmp_path / name).mkdir()
        np.save(tmp_path / name / "a.npy", values)
    monkeypatch.chdir(tmp_path / "one")
    data = hr.open("a.npy")
    monkeypatch.chdir(tmp_path / "two")
    assert hr.inspect(data).to_dict() == hr.inspect(tmp_path / "one" / "a.npy").to_dict()
