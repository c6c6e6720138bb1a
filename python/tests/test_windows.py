"""Windows: runs of consecutive rows as samples, against NumPy."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast

ROWS = (1300, 37, 911)  # of each file
TOKENS = [np.random.default_rng(5).integers(0, 50_000, n).astype(np.uint16) for n in ROWS]
SHAPES: list[dict[str, Any]] = [
    {"length": 32, "lookahead": 1},
    {"length": 32},
    {"length": 48, "stride": 7},
    {"length": 8, "stride": 31, "lookahead": 2},
    {"length": 700, "stride": 5, "lookahead": 1},  # longer than a block
    {"length": 32, "lookahead": 1, "across_files": True},
    {"length": 1, "stride": 1},
]


@pytest.fixture(scope="module", params=["npy", "gzip", "plain"])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("corpus")
    for number, tokens in enumerate(TOKENS):
        if request.param == "npy":
            np.save(folder / f"corpus_{number}.npy", tokens)
            continue
        with h5py.File(folder / f"corpus_{number}.h5", "w") as file:
            storage = {"chunks": (min(128, len(tokens)),), "compression": "gzip"} if request.param == "gzip" else {}
            file.create_dataset("corpus", data=tokens, **storage)
    return str(folder / "corpus_*")


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """A file of 1300 tokens, which are their own places."""
    path = tmp_path_factory.mktemp("one") / "tokens.npy"
    np.save(path, np.arange(1300, dtype=np.uint16))
    return hr.open(path)


def begins(
    length: int, stride: int | None = None, lookahead: int = 0, across_files: bool = False
) -> list[tuple[int, int]]:
    """File and first row of each window."""
    rows = length + lookahead
    if not across_files:
        return [(f, b) for f, n in enumerate(ROWS) for b in range(0, n - rows + 1, stride or length)]
    places = [(f, b) for f, n in enumerate(ROWS) for b in range(n)]
    return [places[b] for b in range(0, sum(ROWS) - rows + 1, stride or length)]


def expected(**shape: Any) -> np.ndarray:
    rows, across = shape["length"] + shape.get("lookahead", 0), shape.get("across_files", False)
    whole = np.concatenate(TOKENS)
    windows = []
    for file, begin in begins(**shape):
        at = sum(ROWS[:file]) + begin
        windows.append(whole[at : at + rows])
    assert across or all(b + rows <= ROWS[f] for f, b in begins(**shape))
    return np.stack(windows)


def windows_of(corpus: str, **shape: Any) -> hr.Dataset:
    if shape.get("across_files") or shape["length"] + shape.get("lookahead", 0) <= min(ROWS):
        return hr.open(corpus).windows(**shape)
    with pytest.warns(hr.HeadraceWarning, match="1 of 3 files have fewer rows than a window"):
        return hr.open(corpus).windows(**shape)


def sorted_rows(windows: np.ndarray) -> np.ndarray:
    return windows[np.lexsort(windows.T[::-1])]


def delivered(loader: Iterable[Any]) -> np.ndarray:
    return np.concatenate([batch["corpus"] for batch in loader])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_windows_are_numpys(corpus: str, shape: dict[str, Any]) -> None:
    data, want = windows_of(corpus, **shape), expected(**shape)
    assert len(data) == len(want)
    assert data.fields["corpus"].shape == want.shape[1:]
    assert data.fields["corpus"].dtype == np.uint16
    np.testing.assert_array_equal(data[:]["corpus"], want)
    np.testing.assert_array_equal(data[-1]["corpus"], want[-1])
    some = [len(want) - 1, 0, len(want) // 2, 0]
    np.testing.assert_array_equal(data[some]["corpus"], want[some])
    np.testing.assert_array_equal(data["corpus"][3:9], want[3:9])
    np.testing.assert_array_equal(np.stack([sample["corpus"] for sample in data]), want)
    assert [file.rows for file in data.files] == [sum(f == n for f, _ in begins(**shape)) for n in range(3)]


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("shuffle", [False, True, "exact"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_an_epoch_has_each_window_once(corpus: str, shape: dict[str, Any], shuffle: Any, threads: int) -> None:
    want, places = expected(**shape), np.array(begins(**shape))
    loader = hr.Loader(
        windows_of(corpus, **shape), 13, shuffle=shuffle, threads=threads, seed=3, provenance=True, memory="8MiB"
    )
    epochs = []
    for _ in range(2):
        batches = list(loader)
        got, rows = delivered(batches), np.concatenate([batch["_rows"] for batch in batches])
        order = np.lexsort(rows.T[::-1])
        np.testing.assert_array_equal(rows[order], places)  # where each window begins
        np.testing.assert_array_equal(got[order], want)
        epochs.append(rows)
    assert (shuffle is False) == np.array_equal(epochs[0], epochs[1])
    assert shuffle is not False or np.array_equal(epochs[0], places)


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_ranks_share_the_windows(corpus: str, world_size: int) -> None:
    shape = {"length": 48, "stride": 7}
    loaders = [
        hr.Loader(windows_of(corpus, **shape), 8, shuffle=True, rank=rank, world_size=world_size, threads=1, tail=tail)
        for tail in ("partial",)
        for rank in range(world_size)
    ]
    got = np.concatenate([delivered(loader) for loader in loaders])
    np.testing.assert_array_equal(sorted_rows(got), sorted_rows(expected(**shape)))


@pytest.mark.parametrize(("world_size", "threads"), [(1, 1), (2, 4), (4, 1)])
def test_resumed_at_every_step(corpus: str, world_size: int, threads: int) -> None:
    data = windows_of(corpus, length=30, stride=20, lookahead=1)
    options: dict[str, Any] = {"shuffle": True, "seed": 9, "threads": threads, "world_size": world_size, "rank": 0}
    whole, states = [], []
    with hr.Loader(data, 9, **options) as loader:
        for _ in range(2):
            for batch in loader:
                whole.append(batch["corpus"])
                states.append(loader.state_dict())
        np.testing.assert_array_equal(loader.batch(1, 2)["corpus"], whole[len(whole) // 2 + 2])
    for step, state in enumerate(states):
        with hr.Loader(data, 9, **options) as loader:
            loader.load_state_dict(state)
            rest = [batch["corpus"] for _ in range(2) for batch in loader][: len(whole) - step - 1]
        np.testing.assert_array_equal(np.concatenate([*whole[: step + 1], *rest]), np.concatenate(whole))


def test_a_state_is_of_its_windows(corpus: str) -> None:
    data = hr.open(corpus)
    loader = hr.Loader(data.windows(32, stride=16), 8, shuffle=True)
    next(iter(loader))
    others = ({"length": 32, "stride": 15}, {"length": 31, "stride": 16}, {"length": 30, "stride": 16, "lookahead": 1})
    for other in (data, *(data.windows(**shape) for shape in others)):
        with pytest.raises(hr.Error):
            hr.Loader(other, 8, shuffle=True).load_state_dict(loader.state_dict())
    hr.Loader(data.windows(31, stride=16, lookahead=1), 8, shuffle=True).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_the_smallest_budget_is_enough(corpus: str, shuffle: Any) -> None:
    shape = {"length": 32, "lookahead": 1}
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=1000)
    least = int(re.search(r"memory=(\d+)", str(caught.value))[1])  # type: ignore[index]
    with pytest.raises(hr.OutOfBudgetError):
        hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=least - 1, threads=1)
    for threads in (1, 4):
        with hr.Loader(windows_of(corpus, **shape), 5, shuffle=shuffle, memory=least, threads=threads) as loader:
            for _ in range(2):
                np.testing.assert_array_equal(sorted_rows(delivered(loader)), sorted_rows(expected(**shape)))


def test_several_fields(tmp_path: Path) -> None:
    """A signal: fields of other types and shapes, in chunks of other lengths."""
    rng = np.random.default_rng(1)
    ecg, beat = rng.normal(size=(5000, 2)).astype(np.float32), rng.integers(0, 5, 5000).astype(np.int8)
    with h5py.File(tmp_path / "ecg.h5", "w") as file:
        file.create_dataset("leads", data=ecg, chunks=(700, 2), compression="gzip")
        file.create_dataset("beat", data=beat, chunks=(900,))
    data = hr.open(tmp_path / "ecg.h5", fields=["leads", "beat"]).windows(500, stride=250)
    at = np.arange(0, 4501, 250)[:, None] + np.arange(500)
    batches = list(hr.Loader(data, 4, shuffle=False))
    np.testing.assert_array_equal(np.concatenate([b["leads"] for b in batches]), ecg[at])
    np.testing.assert_array_equal(np.concatenate([b["beat"] for b in batches]), beat[at])
    np.testing.assert_array_equal(data["leads"][:], ecg[at])


# ------------------------------------------------------------------------------------------------ some of the windows


@pytest.mark.parametrize("shape", SHAPES[:5], ids=str)
def test_selected_windows(corpus: str, shape: dict[str, Any]) -> None:
    data, want = windows_of(corpus, **shape), expected(**shape)
    for chosen in (np.arange(len(want)) % 3 == 1, slice(5, 41), [0, 3, 4, len(want) - 1]):
        some = data.select(chosen)
        numbers = np.arange(len(want))[chosen]
        np.testing.assert_array_equal(some.selected_rows, numbers)
        np.testing.assert_array_equal(some[:]["corpus"], want[chosen])
        with hr.Loader(some, 5, shuffle=True, threads=2, provenance=True) as loader:
            batches = list(loader)
        rows = np.concatenate([batch["_rows"] for batch in batches])
        order = np.lexsort(rows.T[::-1])
        np.testing.assert_array_equal(rows[order], np.array(begins(**shape))[numbers])
        np.testing.assert_array_equal(delivered(batches)[order], want[chosen])
        again = some.select(np.arange(len(numbers)) % 2 == 0)
        np.testing.assert_array_equal(again[:]["corpus"], want[numbers[::2]])


@pytest.mark.parametrize("shape", [*SHAPES[:4], SHAPES[5]], ids=str)
def test_parts_of_a_split_share_no_row(corpus: str, shape: dict[str, Any]) -> None:
    data = windows_of(corpus, **shape)
    rows = shape["length"] + shape.get("lookahead", 0)
    overlapping = (shape.get("stride") or shape["length"]) < rows
    starts = set()
    for seed in range(8):
        parts = data.split({"train": 0.5, "val": 0.2, "test": 0.1}, seed=seed, by="run")
        assert list(parts) == ["train", "val", "test"]
        numbers = [part.selected_rows.astype(int) for part in parts.values()]
        starts.add(numbers[1][0])
        places = np.array(begins(**shape))
        firsts = np.cumsum((0, *ROWS[:2]))[places[:, 0]] + places[:, 1]
        taken = [set((firsts[n][:, None] + np.arange(rows)).ravel()) for n in numbers]
        assert not taken[0] & taken[1]
        assert not taken[0] & taken[2]
        assert not taken[1] & taken[2]
        reach = (rows - 1) // (shape.get("stride") or shape["length"])  # windows that reach into the next one's rows
        for share, part in zip((0.5, 0.2, 0.1), numbers, strict=True):
            gaps = np.flatnonzero(np.diff(part) != 1)
            assert len(gaps) <= 1  # one run, or two where the circle closes
            assert share * len(data) + 1 >= len(part) >= share * len(data) - 1 - 2 * reach
        if overlapping:
            assert [p.selected_rows.tolist() for p in data.split({"a": 0.6, "b": 0.4}, seed=seed).values()] == [
                p.selected_rows.tolist() for p in data.split({"a": 0.6, "b": 0.4}, seed=seed, by="run").values()
            ]
    assert len(starts) > 3  # the seed decides
    np.testing.assert_array_equal(parts["val"][:]["corpus"], expected(**shape)[numbers[1]])


def test_parts_that_nothing_is_left_of(corpus: str) -> None:
    data = windows_of(corpus, length=700, stride=5, lookahead=1)  # each reaches into the next 140
    with pytest.raises(hr.InvalidArgumentError, match=r"part 1.* of 163 windows would be empty, without those"):
        data.split({"train": 0.9, "val": 0.1}, seed=1)


def test_windows_apart_are_split_one_by_one(one: hr.Dataset) -> None:
    parts = one.windows(13).split({"a": 0.5, "b": 0.5}, seed=1)
    numbers = [part.selected_rows for part in parts.values()]
    assert [len(n) for n in numbers] == [50, 50]
    assert np.any(np.diff(numbers[0].astype(int)) > 2)
    with pytest.raises(hr.InvalidArgumentError, match=r"windows overlap.*Split by run"):
        one.windows(13, lookahead=1).split({"a": 0.5, "b": 0.5}, by="row")


def test_windows_are_split_by_files(corpus: str) -> None:
    data = windows_of(corpus, length=32, lookahead=1)
    parts = data.split({"a": 0.5, "b": 0.5}, by="file")
    files = np.array(begins(length=32, lookahead=1))[:, 0]
    held = [set(files[part.selected_rows.astype(int)]) for part in parts.values()]
    assert sorted(held, key=len) == [{0}, {1, 2}]
    with pytest.raises(hr.UnsupportedError, match="windows go on from file to file"):
        windows_of(corpus, length=32, across_files=True).split({"a": 0.5, "b": 0.5}, by="file")


def test_rows_are_split_by_runs(one: hr.Dataset) -> None:
    parts = one.split({"a": 0.7, "b": 0.3}, by="run", seed=4)
    held = np.sort(np.concatenate([part[:]["tokens"] for part in parts.values()]))
    np.testing.assert_array_equal(held, np.arange(1300))
    assert [len(part) for part in parts.values()] == [910, 390]
    with pytest.raises(hr.InvalidArgumentError, match="runs of samples are kept whole"):
        one.split({"a": 0.7, "b": 0.3}, by="run", stratify="tokens")


def test_a_pickle_has_the_windows(corpus: str) -> None:
    data = windows_of(corpus, length=30, stride=20, lookahead=1)
    again = pickle.loads(pickle.dumps(data))
    np.testing.assert_array_equal(again[:]["corpus"], data[:]["corpus"])
    part = data.split({"a": 0.5, "b": 0.4}, seed=2)["b"]
    again = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(again[:]["corpus"], part[:]["corpus"])


def test_a_mixture_of_windows(corpus: str, tmp_path: Path) -> None:
    other = np.arange(60_000, 62_000, dtype=np.uint16)
    np.save(tmp_path / "corpus.npy", other)
    web, books = windows_of(corpus, length=32, lookahead=1), hr.open(tmp_path / "corpus.npy").windows(32, lookahead=1)
    mixed = hr.mix({"web": (web, 0.75), "books": (books.select(np.arange(10, 50)), 0.25)})
    with hr.Loader(mixed, 8, shuffle=True, seed=1, threads=2) as loader:
        got = delivered(loader)
    known = {row.tobytes() for row in expected(length=32, lookahead=1)}
    of_books = {row.tobytes() for row in books[10:50]["corpus"]}
    from_books = np.array([row.tobytes() in of_books for row in got])
    assert all(row.tobytes() in known for row in got[~from_books])
    assert 0.15 < from_books.mean() < 0.35
    with pytest.raises(hr.InvalidArgumentError, match=r"windows of 33 rows every 32.*windows of 32 rows every 32"):
        hr.mix({"a": web, "b": hr.open(tmp_path / "corpus.npy").windows(32)})
    with pytest.raises(hr.InvalidArgumentError, match="transformed"):
        hr.mix({"a": web.map(T.Cast("corpus", dtype="int64")), "b": web})
    cast = mixed.map(T.Cast("corpus", dtype="int64"))
    with hr.Loader(cast, 8, shuffle=True, seed=1, threads=2) as loader:
        np.testing.assert_array_equal(delivered(loader), got.astype(np.int64))
    with pytest.raises(hr.InvalidArgumentError, match=r"windows of 33 rows every 32.*rows"):
        hr.mix({"a": web, "b": hr.open(tmp_path / "corpus.npy")})


def test_one_field_of_windows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"], file["y"] = np.arange(100.0), np.arange(100)
    data = hr.open(tmp_path / "a.h5").windows(10, stride=5)
    np.testing.assert_array_equal(data["y"][2:4], [np.arange(10, 20), np.arange(15, 25)])
    np.testing.assert_array_equal(data.select([3, 8])["x"][:], [np.arange(15.0, 25), np.arange(40.0, 50)])


# ------------------------------------------------------------------------------------------------------- transforms


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transformed_windows(corpus: str, shape: dict[str, Any]) -> None:
    plain, want = windows_of(corpus, **shape), expected(**shape).astype(np.int64)
    data = plain.map(T.Cast("corpus", dtype="int64"))
    assert data.fields["corpus"].dtype == np.int64
    assert data.sample_bytes == 8 * want.shape[1]
    np.testing.assert_array_equal(data[:]["corpus"], want)
    np.testing.assert_array_equal(data.select([0, 3, 5])["corpus"][:], want[[0, 3, 5]])
    np.testing.assert_array_equal(plain.select([0, 3, 5]).map(T.Cast("corpus", dtype="int64"))[2]["corpus"], want[5])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(data))[:]["corpus"], want)
    for threads in (1, 4):
        with hr.Loader(data, 9, shuffle=True, threads=threads, memory="8MiB") as loader:
            for _ in range(2):
                got = delivered(loader)
                assert got.dtype == np.int64
                np.testing.assert_array_equal(sorted_rows(got), sorted_rows(want))
    again = data.map(T.Affine("corpus", scale=2.0, shift=1.0))
    np.testing.assert_array_equal(again[:]["corpus"], 2.0 * want + 1)


def test_fields_that_are_made_of_windows(tmp_path: Path) -> None:
    values = np.random.default_rng(2).normal(3, 2, (900, 4)).astype(np.float32)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(64, 4), compression="gzip")
        file.create_dataset("time", data=np.arange(900), chunks=(100,))
        file.create_dataset("other", data=np.arange(900), chunks=(70,))
    data = hr.open(tmp_path / "a.h5").windows(40, stride=15)
    at = np.arange(0, 861, 15)[:, None] + np.arange(40)
    scaled = data.map(T.Standardize("x", values.mean(0), values.std(0)))
    batches = list(hr.Loader(scaled, 7, threads=2))
    assert set(batches[0]) == {"x", "time", "other"}
    want = ((values - values.mean(0)) / values.std(0))[at]
    np.testing.assert_allclose(np.concatenate([b["x"] for b in batches]), want, rtol=1e-5, atol=1e-5)
    for name in ("time", "other"):
        np.testing.assert_array_equal(np.concatenate([b[name] for b in batches]), at)
    np.testing.assert_allclose(scaled["x"][:], want, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(scaled["other"][4], at[4])
    kept = scaled.map(T.Keep("x"))
    assert list(kept.fields) == ["x"]
    batch = next(iter(hr.Loader(kept.select(slice(3, 40)), 5, provenance=True)))
    np.testing.assert_allclose(batch["x"], want[3:8], rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(batch["_rows"][:, 1], 15 * np.arange(3, 8))


def test_random_transforms_know_the_window(tmp_path: Path) -> None:
    """Whatever was selected, however many threads: an epoch draws the same for a window."""
    with h5py.File(tmp_path / "mel.h5", "w") as file:
        file.create_dataset("mel", data=np.ones((600, 8), np.float32), chunks=(50, 8), compression="gzip")
    masked = hr.open(tmp_path / "mel.h5").windows(30, stride=10).map(T.SpecAugment("mel", time=9, freq=3, seed=1))
    settings: dict[str, Any] = {"shuffle": True, "seed": 4, "provenance": True}

    def by_row(data: hr.Dataset, threads: int) -> dict[int, bytes]:
        with hr.Loader(data, 6, threads=threads, **settings) as loader:
            return {int(r): x.tobytes() for b in loader for r, x in zip(b["_rows"][:, 1], b["mel"], strict=True)}

    whole = by_row(masked, 1)
    assert len(set(whole.values())) > 30
    assert by_row(masked, 4) == whole
    some = by_row(masked.select([2, 3, 7, 50]), 2)
    assert some == {row: whole[row] for row in (20, 30, 70, 500)}


def test_a_state_is_of_its_transforms(corpus: str) -> None:
    data = hr.open(corpus).windows(16)
    loader = hr.Loader(data.map(T.Cast("corpus", dtype="int64")), 8, shuffle=True)
    next(iter(loader))
    hr.Loader(data.map(T.Cast("corpus", dtype="int64")), 8, shuffle=True).load_state_dict(loader.state_dict())
    for other in (data, data.map(T.Cast("corpus", dtype="int32"))):
        with pytest.raises(hr.Error):
            hr.Loader(other, 8, shuffle=True).load_state_dict(loader.state_dict())


# --------------------------------------------------------------------------------------------------- other faces


def test_tensors_and_batches_of_nothing_but_tokens(one: hr.Dataset) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    parts = one.windows(16, lookahead=1).split({"train": 0.9, "val": 0.1}, seed=0)
    for batch in hr.Loader(parts["train"], 8, shuffle=True, framework="torch"):
        x, y = batch["tokens"][:, :-1], batch["tokens"][:, 1:]
        assert x.shape[1] == 16
        assert torch.equal(x.to(torch.int64) + 1, y.to(torch.int64))


def test_a_run_file_has_windows(corpus: str, tmp_path: Path) -> None:
    for data, shape in (
        ("length: 32, lookahead: 1", {"length": 32, "lookahead": 1}),
        ("length: 48, stride: 7, across_files: true", {"length": 48, "stride": 7, "across_files": True}),
    ):
        (tmp_path / "run.yaml").write_text(
            f"data:\n  files: {corpus}\n  windows: {{{data}}}\nloader:\n  batch_size: 8\n  shuffle: true\n"
        )
        with hr.load_run(tmp_path / "run.yaml") as run, hr.Loader(windows_of(corpus, **shape), 8, shuffle=True) as own:
            for a, b in zip(run, own, strict=True):
                np.testing.assert_array_equal(a["corpus"], b["corpus"])
    for data, message in (
        ("lookahead: 1", "line 3: data.windows: length is missing"),
        ("length: 0", "data.windows.length: a number of at least 1"),
        ("length: 8, stride: 0", "data.windows.stride: a number of at least 1"),
        ("length: 8, lookahed: 1", "data.windows.lookahed: there is no such key.*lookahead"),
        ("length: 100000", "a window of 100,000 rows is longer than the data"),
    ):
        (tmp_path / "run.yaml").write_text(
            f"data:\n  files: {corpus}\n  windows: {{{data}}}\nloader: {{batch_size: 8}}\n"
        )
        with pytest.raises(hr.InvalidArgumentError, match=f"(?s){message}"):
            hr.load_run(tmp_path / "run.yaml")


# ------------------------------------------------------------------------------------------------------- bad input


def test_windows_that_cannot_be(corpus: str, tmp_path: Path) -> None:
    data = hr.open(corpus)
    for words, message in (
        ({"length": 0}, "length must be at least 1"),
        ({"length": 8, "stride": 0}, "stride must be at least 1"),
        ({"length": 8, "lookahead": -1}, "lookahead must be at least 0"),
        ({"length": 1300, "lookahead": 1}, "a window of 1,301 rows is longer than every file; the longest has 1,300"),
        ({"length": 3000, "across_files": True}, "a window of 3,000 rows is longer than the data: 2,248 rows"),
        ({"length": 2**33}, r"longer than 2\^32"),
        ({"length": 8, "rest": "fill"}, "rest must be one of 'drop', not 'fill'"),
    ):
        with pytest.raises(hr.InvalidArgumentError, match=message):
            data.windows(**words)
    for other, message in (
        (data.select(slice(0, 50)), "windows of selected rows"),
        (data.map(T.Cast("corpus", dtype="int64")), "windows of transformed rows"),
        (hr.mix({"a": data, "b": data}), "windows of a mixture"),
        (data.windows(8), r"windows\(\) of windows"),
    ):
        with pytest.raises(hr.UnsupportedError, match=message):
            other.windows(8)
    with pytest.raises(hr.InvalidArgumentError, match="Make windows, then map them"):
        data.map(lambda batch: batch).windows(8)
    with h5py.File(tmp_path / "mel.h5", "w") as file:
        file["mel"] = np.zeros((4, 5, 6))
    with pytest.raises(hr.UnsupportedError, match="several axes"):
        hr.open(tmp_path / "mel.h5", fields=["mel"], sample_axes=2).windows(2)
    closed = hr.open(corpus)
    closed.close()
    with pytest.raises(hr.ClosedError):
        closed.windows(8)


def test_what_windows_cannot_yet_says_so(corpus: str, tmp_path: Path) -> None:
    data = hr.open(corpus).windows(8)
    for words in ({"group_by": "file"}, {"cache": "ram"}, {"cache": str(tmp_path)}, {"share": "host"}):
        with pytest.raises(hr.Error, match="windows"):
            hr.Loader(data, **({} if "group_by" in words else {"batch_size": 4}), **words)
    for call in (
        lambda: data.stats("corpus"),
        lambda: data.split({"a": 0.5, "b": 0.5}, stratify="corpus"),
        lambda: data.sample_index(),
        lambda: hr.Loader(data, 4, sampler=hr.Balanced("corpus")),
    ):
        with pytest.raises(hr.Error, match="windows"):
            call()


def test_functions_and_weights_go_with_windows(one: hr.Dataset) -> None:
    data = one.windows(10).map(lambda batch: {"sum": batch["tokens"].astype(np.int64).sum(1)})
    got = np.concatenate([batch["sum"] for batch in hr.Loader(data, 7, shuffle=False)])
    np.testing.assert_array_equal(got, np.arange(1300).reshape(-1, 10).sum(1))
    weights = np.zeros(130)
    weights[[3, 77]] = 1
    drawn = np.concatenate(
        [batch["tokens"] for batch in hr.Loader(one.windows(10), 8, sampler=hr.Weighted(weights, num_samples=64))]
    )
    assert set(drawn[:, 0]) == {30, 770}
    np.testing.assert_array_equal(drawn, drawn[:, :1] + np.arange(10))
    rows = np.array([5, 4, 4, 129])
    listed = np.concatenate([batch["tokens"] for batch in hr.Loader(one.windows(10), 2, sampler=rows)])
    np.testing.assert_array_equal(listed[:, 0], 10 * rows)


def test_text_is_refused(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("name", data=["top", "qcd"] * 20, dtype=h5py.string_dtype())
    with pytest.raises(hr.Error, match="name"):
        hr.open(tmp_path / "a.h5", fields=["name"]).windows(4)


def test_a_file_that_grew_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(20_000), chunks=(100,), maxshape=(None,), compression="gzip")
    loader = hr.Loader(hr.open(path).windows(50), 4, threads=1, memory="300KiB")
    batches = iter(loader)
    next(batches)
    with h5py.File(path, "r+") as file:
        file["x"].resize((30_000,))
        file["x"][20_000:] = 7
    with pytest.raises(hr.FileChangedError):
        list(batches)


def test_ranks_without_a_window(one: hr.Dataset) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="2 samples are too few for 4 ranks"):
        hr.Loader(one.windows(500), 4, rank=0, world_size=4)
    with pytest.warns(hr.HeadraceWarning, match="fewer samples than there are ranks"):
        loaders = [hr.Loader(one.windows(250), 1, rank=rank, world_size=4) for rank in range(4)]
    steps = [list(loader) for loader in loaders]
    assert [sum(float(b["_weight"].sum()) for b in of_rank) for of_rank in steps] == [2, 1, 1, 1]
    assert all(len(batch["tokens"]) == 1 for of_rank in steps for batch in of_rank)


def test_windows_are_shown(corpus: str) -> None:
    data = windows_of(corpus, length=32, stride=16, lookahead=1)
    text = repr(data)
    assert "windows of 32 + 1 rows every 16" in text, text
    assert "(33,)" in text
    assert "windows are decoded anew" in hr.Loader(data, 8).explain()
    assert "not simply rows" not in hr.Loader(data, 8).explain() + repr(hr.Loader(data, 8)) + text
