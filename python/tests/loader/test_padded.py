"""layout="padded": ragged samples as one dense array with a mask, against a loop over the ragged ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

pytestmark = pytest.mark.fast

LENGTHS = np.array([3, 0, 1, 17, 2, 2, 5, 1, 40, 9, 4, 1, 6])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("padded")
    rows, random = int(LENGTHS.sum()), np.random.default_rng(3)
    np.savez(
        folder / "events.npz",
        time=random.random(rows).astype(np.float32) + 1,
        hit=random.integers(1, 200, (rows, 3)).astype(np.uint8),
        seen=np.ones(rows, bool),
        label=np.arange(len(LENGTHS)),
        offsets=np.concatenate(([0], np.cumsum(LENGTHS))),
    )
    return str(folder / "events.npz")


def opened(files: str, *fields: str) -> hr.Dataset:
    return hr.open(
        files, list(fields or ("time", "hit", "seen")), sample_by=hr.Spans(offsets="offsets"), targets=["label"]
    )


@pytest.mark.parametrize("fill", [0, -1, 7.5, float("nan")])
@pytest.mark.parametrize("threads", [1, 3])
def test_samples_are_filled_up_to_the_longest(files: str, threads: int, fill: float) -> None:
    data = opened(files, "time")
    events = {int(event["label"]): event["time"] for event in data}
    with hr.Loader(data, 4, shuffle=True, seed=5, threads=threads, layout="padded", fill=fill) as loader:
        for _ in range(2):
            seen: list[int] = []
            for batch in loader:
                labels = batch["label"].tolist()
                lengths = LENGTHS[labels]
                assert list(batch) == ["time", "label", "mask", "lengths"]
                assert batch["lengths"].dtype == np.int64
                assert batch["lengths"].tolist() == lengths.tolist()
                want = np.full((len(labels), lengths.max()), fill, np.float32)
                for row, label in enumerate(labels):
                    want[row, : lengths[row]] = events[label]
                assert batch["time"].dtype == np.float32
                assert np.array_equal(batch["time"], want, equal_nan=True)
                assert batch["mask"].dtype == bool
                assert np.array_equal(batch["mask"], np.arange(lengths.max()) < lengths[:, None])
                seen += labels
            assert sorted(seen) == list(range(len(LENGTHS)))


def test_rows_of_several_values_and_other_types(files: str) -> None:
    data = opened(files)
    events = list(data)
    with hr.Loader(data, 5, layout="padded", fill=0, batch_format="tuple", provenance=True) as loader:
        for time, hit, seen, label, mask, lengths, _ in loader:
            assert time.shape == mask.shape == seen.shape == (len(label), lengths.max())
            assert hit.shape == (*mask.shape, 3)
            for row, number in enumerate(label):
                n = int(lengths[row])
                assert np.array_equal(hit[row, :n], events[number]["hit"])
                assert not hit[row, n:].any()
                assert seen[row].tolist() == mask[row].tolist()


def test_the_same_for_any_batch_again_and_after_resuming(files: str) -> None:
    options: dict[str, Any] = {"shuffle": True, "seed": 4, "layout": "padded", "fill": -2}
    loader = hr.Loader(opened(files, "time"), 3, **options)
    whole, states = [], []
    for batch in loader:
        whole.append(batch)
        states.append(loader.state_dict())
    for step, state in enumerate(states[:-1]):
        again = loader.batch(0, step)
        rest = hr.Loader(opened(files, "time"), 3, **options)
        rest.load_state_dict(state)
        following = next(iter(rest))
        for name in whole[step]:
            assert np.array_equal(again[name], whole[step][name]), name
            assert np.array_equal(following[name], whole[step + 1][name]), name


def test_torch_gets_it_too(files: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    batch = next(iter(hr.Loader(opened(files), 4, layout="padded", framework="torch")))
    assert batch["time"].shape == (4, 17)
    assert batch["mask"].dtype == torch.bool
    assert batch["hit"].shape == (4, 17, 3)


def test_batches_of_empty_samples(tmp_path: Path) -> None:
    np.savez(tmp_path / "e.npz", x=np.arange(3.0), offsets=np.array([0, 0, 0, 3, 3]))
    data = hr.open(tmp_path / "e.npz", ["x"], sample_by=hr.Spans(offsets="offsets"))
    batches = list(hr.Loader(data, 2, layout="padded"))
    assert [batch["x"].shape for batch in batches] == [(2, 0), (2, 3)]
    assert [batch["mask"].shape for batch in batches] == [(2, 0), (2, 3)]
    assert batches[1]["lengths"].tolist() == [3, 0]


def test_what_is_refused(files: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="no field is ragged"):
        hr.Loader(hr.open(files, ["time"]), 4, layout="padded")
    with pytest.raises(hr.InvalidArgumentError, match=r"fill= .* layout='padded'"):
        hr.Loader(opened(files), 4, fill=1)
    with pytest.raises(hr.InvalidArgumentError, match="layout"):
        hr.Loader(opened(files), 4, layout="square")
    for fill, field in ((300, "hit"), (0.5, "hit"), (float("nan"), "hit"), (2, "seen")):
        with pytest.raises(hr.InvalidArgumentError, match=f"fill=.*{field}"):
            hr.Loader(opened(files, field), 4, layout="padded", fill=fill)
    with pytest.raises(hr.UnsupportedError, match="with a token budget is not there yet"):
        hr.Loader(opened(files), batch=hr.ByTokens(100), layout="padded")
    clash = hr.open(files, {"mask": "time"}, sample_by=hr.Spans(offsets="offsets"))
    with pytest.raises(hr.InvalidArgumentError, match="the data has a field named mask"):
        hr.Loader(clash, 4, layout="padded")


def test_a_sample_too_long_for_the_budget(tmp_path: Path) -> None:
    lengths = np.ones(200, int)
    lengths[123] = 50_000
    np.savez(tmp_path / "long.npz", x=np.ones((int(lengths.sum()), 4)), at=np.concatenate(([0], np.cumsum(lengths))))
    data = hr.open(tmp_path / "long.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    with pytest.raises(hr.OutOfBudgetError, match=r"sample 123 has 50,000 rows") as caught:
        hr.Loader(data, 64, layout="padded", memory="64MiB")
    least = int(re.search(r"memory=(\d+)", str(caught.value))[1])  # type: ignore[index]
    with hr.Loader(data, 64, layout="padded", memory=least) as loader:
        assert sum(int(batch["lengths"].sum()) for batch in loader) == lengths.sum()
