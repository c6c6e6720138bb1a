"""Transforms of ragged fields: each row is a sample of the transform, against NumPy, event by event."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ragged_files import EVENTS, FORMATS, ROWS, TARGETS, Event, changed, check, check_everywhere, events_of, make_events
from ragged_files import opened as opened_as

import headrace as hr
from headrace import transforms as T

pytestmark = pytest.mark.fast
WANT = make_events()
ALL = list(range(len(WANT)))
f4 = np.float32
AXIS = [1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ragged")


@pytest.fixture(scope="module", params=FORMATS)
def each(request: pytest.FixtureRequest, folder: Path) -> hr.Dataset:
    pytest.importorskip("pyarrow" if "parquet" in request.param else "numpy")
    return opened_as(folder, request.param, WANT)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    return opened_as(tmp_path_factory.mktemp("events"), "h5", WANT)


def eye(classes: int, numbers: Any, dtype: Any = f4) -> np.ndarray:
    return np.eye(classes, dtype=dtype)[np.asarray(numbers, int)]


Change = Callable[[Event], dict[str, Any]]
CASES: dict[str, tuple[list[T.Transform], Change]] = {
    "Standardize": (
        [T.Standardize("charge", 2, 3, clip=0.5), T.Standardize("half", 1, 2), T.Standardize("y", 1, 2)],
        lambda e: {
            "charge": np.clip((e["charge"] - f4(2)) / f4(3), -0.5, 0.5),
            "half": (e["half"].astype(f4) - 1) / 2,
            "y": (e["y"] - 1) / 2,
        },
    ),
    "Standardize, last axis": (
        [T.Standardize("xyz", AXIS, [2, 3, 4], to="z")],
        lambda e: {"z": (e["xyz"] - np.array(AXIS, f4)) / np.array([2, 3, 4], f4)},
    ),
    "Affine": (
        [T.Affine("sensor", 0.5, 1), T.Affine("flag", 3, -1), T.Affine("charge", 2, to="twice")],
        lambda e: {
            "sensor": e["sensor"] * f4(0.5) + 1,
            "flag": e["flag"] * f4(3) - 1,
            "twice": e["charge"] * 2,
        },
    ),
    "Affine, last axis": ([T.Affine("xyz", AXIS)], lambda e: {"xyz": e["xyz"] * np.array(AXIS, f4)}),
    "Affine, missing": (
        [T.Affine("sensor", missing=[3, 4])],
        lambda e: {"sensor": np.where(np.isin(e["sensor"], [3, 4]), f4(np.nan), e["sensor"].astype(f4))},
    ),
    "Log": (
        [T.Log("charge", offset=20.0), T.Log("big", base=10)],
        lambda e: {"charge": np.log(e["charge"] + 20), "big": np.log10(e["big"].astype(float)).astype(f4)},
    ),
    "Clip": (
        [T.Clip("sensor", 5, 20), T.Clip("half", 0), T.Clip("xyz", -1, 1)],
        lambda e: {"sensor": e["sensor"].clip(5, 20), "half": e["half"].clip(0), "xyz": e["xyz"].clip(-1, 1)},
    ),
    "Cast": (
        [T.Cast("half", "float64"), T.Cast("sensor", "uint8"), T.Cast("flag", "float16"), T.Cast("big", "float64")],
        lambda e: {
            "half": e["half"].astype("f8"),
            "sensor": e["sensor"].astype("u1"),
            "flag": e["flag"].astype("f2"),
            "big": e["big"].astype("f8"),
        },
    ),
    "Relabel": (
        [T.Relabel("sensor", {i: 50 - i for i in range(50)}, to="label"), T.Relabel("kind", {0: 5}, otherwise=-1)],
        lambda e: {"label": 50 - e["sensor"].astype("i8"), "kind": np.int64(5 if e["kind"] == 0 else -1)},
    ),
    "Threshold": (
        [T.Threshold("charge", [0, 2, 4])],
        lambda e: {"charge": np.digitize(e["charge"], [0, 2, 4])},
    ),
    "OneHot": (
        [T.OneHot("sensor", 50, dtype="uint8"), T.OneHot("flag", 2, dtype="bool"), T.OneHot("kind", 4)],
        lambda e: {
            "sensor": eye(50, e["sensor"], "u1"), "flag": eye(2, e["flag"], bool), "kind": eye(4, e["kind"]),
        },
    ),
    "Select": (
        [T.Select("xyz", [2, 0], to="zx"), T.Select("xyz", [-1], axis=0)],
        lambda e: {"zx": e["xyz"][:, [2, 0]], "xyz": e["xyz"][:, [2]]},
    ),
    "Reshape": (
        [T.Reshape("xyz", (3, -1)), T.Reshape("sensor", (1, 1), to="s")],
        lambda e: {"xyz": e["xyz"][:, :, None], "s": e["sensor"][:, None, None]},
    ),
    "Concat of numbers": (
        [T.Cast("flag", f4), T.Cast("half", f4), T.Concat(["charge", "flag", "half"], to="f"), T.Affine("f", AXIS)],
        lambda e: {"f": np.stack([e["charge"], e["flag"].astype(f4), e["half"].astype(f4)], -1) * np.array(AXIS, f4)},
    ),
    "Concat of vectors": (
        [T.Reshape("charge", [1]), T.Concat(["xyz", "charge"])],
        lambda e: {"xyz": np.concatenate([e["xyz"], e["charge"][:, None]], -1)},
    ),
    "Keep": ([T.Affine("charge", 2), T.Keep("number", "charge")], lambda e: {"charge": e["charge"] * 2}),
    "Keep of ragged fields beside a target": ([T.Keep("big", "number", "flag")], lambda e: {}),
    "Drop": ([T.Drop("y", "half"), T.Clip("sensor", 1)], lambda e: {"sensor": e["sensor"].clip(1)}),
    "targets alone": (
        [T.Cast("kind", "float64"), T.Concat(["y", "kind"])],
        lambda e: {"y": np.array([e["y"], e["kind"]])},
    ),
    "chain": (
        [T.Affine("charge", 2), T.Clip("charge", 0, 5), T.Cast("charge", "int32"), T.OneHot("charge", 6)],
        lambda e: {"charge": eye(6, (e["charge"] * 2).clip(0, 5).astype(int))},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_each_row_is_a_sample_of_the_transform(each: hr.Dataset, name: str) -> None:
    """However rows come to a batch, and with filling that the transform would change."""
    transforms, change = CASES[name]
    if "xyz" not in each.fields and any("xyz" in transform.fields for transform in transforms):
        pytest.skip("the format has no vectors")
    data = each.map(*transforms)
    check_everywhere(data, changed(WANT, change, data.fields), fill=1)


SOME = [T.Affine("charge", 2), T.OneHot("sensor", 50), T.Cast("flag", f4), T.Standardize("y", 1, 2), T.Drop("half")]
SOME += [T.Reshape("charge", [1]), T.Concat(["xyz", "charge"])]


@pytest.fixture(scope="module")
def some(events: hr.Dataset) -> hr.Dataset:
    """Transforms of one column while it is copied, of several, and of targets."""
    return events.map(*SOME)


def want_some(rows: int = 10**9) -> list[Event]:
    def change(event: Event) -> dict[str, Any]:
        e = {name: values[:rows] if name in ROWS else values for name, values in event.items()}
        xyz = np.concatenate([e["xyz"], e["charge"][:, None] * 2], -1)
        made = {"xyz": xyz, "sensor": eye(50, e["sensor"]), "flag": e["flag"].astype(f4), "big": e["big"]}
        return {**made, "y": (e["y"] - 1) / 2}

    return changed(WANT, change, ["xyz", "sensor", "flag", "big", *TARGETS])


def events_by(loader: hr.Loader) -> list[Event]:
    return [event for batch in loader for event in events_of(batch)]


@pytest.mark.parametrize("shuffle", [False, True, "exact"])
def test_budgets_of_rows(some: hr.Dataset, shuffle: Any) -> None:
    loader = hr.Loader(some, batch=hr.ByTokens(600, too_long="alone"), shuffle=shuffle)
    assert sorted(check(events_by(loader), want_some())) == ALL
    assert sorted({len(batch["xyz"]) > 600 for batch in loader}) == [False, True]


@pytest.mark.parametrize("before", [True, False])
def test_truncate_before_and_after(events: hr.Dataset, before: bool) -> None:
    data = events.map(T.Truncate(20), *SOME) if before else events.map(*SOME, T.Truncate(20))
    check_everywhere(data, want_some(20))
    assert max(len(batch["xyz"]) for batch in hr.Loader(data, batch=hr.ByTokens(100), shuffle=True)) <= 100


def test_rows_that_are_left_out_are_not_transformed(tmp_path: Path) -> None:
    """So they may have no value, also where Truncate is named last."""
    np.savez(tmp_path / "x.npz", x=np.arange(20) % 10, at=[0, 10, 20])
    data = hr.open(tmp_path / "x.npz", ["x"], sample_by=hr.Spans(offsets="at"))
    for transforms in ([T.Truncate(4), T.OneHot("x", 4)], [T.OneHot("x", 4), T.Truncate(4)]):
        (batch,) = hr.Loader(data.map(*transforms), 2)
        np.testing.assert_array_equal(batch["x"], np.tile(eye(4, range(4)), (2, 1)))


def test_drawn_rows_are_transformed(events: hr.Dataset) -> None:
    """The same rows are drawn with transforms as without."""
    plain, data = (events.map(T.Truncate(9, method="random"), *more) for more in ([], [T.Affine("charge", 2)]))
    pairs = zip(hr.Loader(plain, 7, shuffle=True), hr.Loader(data, 7, shuffle=True), strict=True)
    for stored, made in pairs:
        np.testing.assert_array_equal(made["charge"], stored["charge"] * 2)
        np.testing.assert_array_equal(made["xyz"], stored["xyz"])


def test_selections_splits_and_pickles(some: hr.Dataset) -> None:
    want, odd = want_some(), ALL[1::2]
    assert check(list(some.select(odd)), want) == odd
    assert sorted(check(events_by(hr.Loader(some.select(odd), 7, shuffle=True)), want)) == odd
    assert some.lengths().tolist() == [len(event["xyz"]) for event in want]
    for by in ("row", "file"):
        parts = some.split({"a": 0.5, "b": 0.5}, by=by).values()
        assert sorted(number for part in parts for number in check(list(part), want)) == ALL
    again = pickle.loads(pickle.dumps(some.select(odd)))
    assert check(events_by(hr.Loader(again, 7)), want) == odd
    assert [str(transform) for transform in SOME] == [str(pickle.loads(pickle.dumps(t))) for t in SOME]


def test_ranks_and_provenance(some: hr.Dataset) -> None:
    seen = []
    for rank in range(3):
        loader = hr.Loader(some, 4, shuffle=True, rank=rank, world_size=3, provenance=True)
        for batch in loader:
            rows = batch.pop("_rows")
            numbers = check(events_of(batch), want_some())
            assert rows[:, 0].tolist() == [number // EVENTS for number in numbers]
            seen += numbers
    assert sorted(seen) == ALL


TOKENS = {"batch": hr.ByTokens(600, too_long="alone")}


@pytest.mark.parametrize(
    ("batch", "layout"), [({"batch_size": 7}, "ragged"), ({"batch_size": 7}, "padded"), (TOKENS, "ragged")]
)
def test_a_state_goes_on_at_every_step(some: hr.Dataset, batch: dict[str, Any], layout: str) -> None:
    def made(data: hr.Dataset = some) -> hr.Loader:
        return hr.Loader(data, **batch, shuffle=True, seed=3, layout=layout)

    loader, states, whole = made(), [], []
    for one in loader:
        whole.append([event["number"] for event in events_of(one)])
        states.append(loader.state_dict())
    for step, state in list(enumerate(states))[:-1:2]:
        rest = made()
        rest.load_state_dict(state)
        left = [events_of(one) for one in rest]
        check([event for one in left for event in one], want_some())
        assert [[event["number"] for event in one] for one in left] == whole[step + 1 :]
    for other in (some.map(T.Affine("flag", 2)), some.map(T.Drop("flag"))):
        with pytest.raises(hr.InvalidArgumentError):
            made(other).load_state_dict(states[1])


def test_long_tables_of_settings_tell_states_apart(events: hr.Dataset) -> None:
    """Lists of more than 32 numbers are not printed, but one number in them makes another transform."""
    labels = {i: i for i in range(50)}
    loader = hr.Loader(events.map(T.Relabel("sensor", labels)), 8)
    other = hr.Loader(events.map(T.Relabel("sensor", {**labels, 49: 50})), 8)
    with pytest.raises(hr.InvalidArgumentError):
        other.load_state_dict(loader.state_dict())
    assert len(str(events.map(T.Relabel("sensor", labels)))) < len(str(events)) + 400
    assert T.Relabel("sensor", labels) != T.Relabel("sensor", {**labels, 49: 50})


def test_targets_go_through_any_transform(events: hr.Dataset) -> None:
    """Random ones draw by seed, epoch and sample, beside ragged fields that are transformed."""
    noisy = events.map(T.Affine("charge", 2), T.Noise("y", 0.5, seed=1))
    loaders = [hr.Loader(noisy, 7, shuffle=shuffle, seed=2) for shuffle in (False, True)]
    drawn = [{int(e["number"]): float(e["y"]) for e in events_by(loader)} for loader in loaders]
    assert drawn[0] == drawn[1]
    noise = np.array([drawn[0][number] - WANT[number]["y"] for number in ALL])
    assert 0.2 < noise.std() < 0.9
    mixed = events.map(T.OneHot("kind", 4), T.MixUp(["kind"], 0.4), T.Affine("charge", 2))
    for batch in (batch for layout in ("ragged", "padded") for batch in hr.Loader(mixed, 7, layout=layout)):
        np.testing.assert_allclose(batch["kind"].sum(-1), 1, rtol=1e-6)
        assert ((batch["kind"] > 0).sum(-1) > 1).any() or len(batch["kind"]) == 1
        for event in events_of(batch):
            np.testing.assert_array_equal(event["charge"], WANT[int(event["number"])]["charge"] * 2)


def test_tensors_are_the_same(some: hr.Dataset) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    for tensors in hr.Loader(some.map(T.Drop("big")), 13, framework="torch", shuffle=True):
        batch = {name: tensor.numpy() for name, tensor in tensors.items()}
        want = changed(want_some(), lambda e: {}, [name for name in some.fields if name != "big"])
        check(events_of(batch), want)


def test_ragged_fields_alone(events: hr.Dataset) -> None:
    for data in (events.map(T.Keep("charge")), events.map(T.Drop(*TARGETS, *ROWS[1:]))):
        batch = next(iter(hr.Loader(data.map(T.Affine("charge", 2)), 20)))
        assert list(batch) == ["charge", "charge.offsets"]
        np.testing.assert_array_equal(batch["charge"], np.concatenate([e["charge"] for e in WANT[:20]]) * 2)


def test_what_fills_a_padded_batch_is_not_transformed(tmp_path: Path) -> None:
    """There is no row for the key 0 in the table, nor in the events: only fresh memory has it."""
    np.savez(tmp_path / "x.npz", k=np.arange(1, 31), x=np.ones(30, "f4"), at=[0, 1, 4, 10, 10, 30])
    data = hr.open(tmp_path / "x.npz", ["k", "x"], sample_by=hr.Spans(offsets="at"))
    table = {"k": np.arange(1, 31), "z": np.arange(1, 31, dtype="f4")}
    data = data.join(table, "k", ["z"]).map(T.Concat(["x", "z"], to="xz"), T.Keep("xz"))
    batch = next(iter(hr.Loader(data, 5, layout="padded", fill=-1)))
    assert batch["xz"][2, :6, 1].tolist() == [5, 6, 7, 8, 9, 10]
    assert (batch["xz"][2, 6:] == -1).all()


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Event 33 has a NaN, and event 12, the long one, a sensor that is none, in a late tile."""
    bad = [{name: np.array(values) for name, values in event.items()} for event in WANT]
    bad[33]["charge"][2], bad[12]["sensor"][4321] = np.nan, 77
    return opened_as(tmp_path_factory.mktemp("damaged"), "h5", bad)


STACK = [T.Affine("sensor"), T.Concat(["charge", "sensor"], to="c"), T.Cast("c", "int16")]
DAMAGES = [
    ([T.Cast("charge", "int32")], 33, r"Cast\(charge.*nan is no int32"),
    ([T.OneHot("sensor", 50)], 12, r"OneHot\(sensor.*label 77 is none of 50"),
    ([T.Relabel("sensor", {i: i for i in range(50)})], 12, r"Relabel\(sensor.*label 77 has no new"),
    (STACK, 33, r"Cast\(c.*, sample 33: nan is no int16"),
]


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize(("transforms", "number", "text"), DAMAGES)
def test_what_has_no_value_is_an_error_of_its_batch(
    damaged: hr.Dataset, transforms: list[T.Transform], number: int, text: str, layout: str
) -> None:
    data = damaged.map(*transforms)
    with pytest.raises(hr.CorruptDataError, match=text):
        data[number]
    loader = hr.Loader(data, 10, layout=layout)
    with pytest.raises(hr.CorruptDataError, match=text) as caught:
        loader.batch(0, number // 10)
    assert caught.value.hint
    assert [len(loader.batch(0, i)["y"]) for i in range(6) if i != number // 10] == [10] * 5


def batches_before_the_error(loader: hr.Loader) -> int:
    delivered = 0
    with pytest.raises(hr.CorruptDataError):
        for _ in loader:
            delivered += 1
    return delivered


@pytest.mark.parametrize("layout", ["ragged", "padded"])
@pytest.mark.parametrize("transforms", [DAMAGES[0][0], STACK])
def test_batches_before_it_are_delivered(damaged: hr.Dataset, transforms: list[T.Transform], layout: str) -> None:
    assert batches_before_the_error(hr.Loader(damaged.map(*transforms), 10, layout=layout)) == 3


@pytest.mark.parametrize("row", [155, 255, 355])
def test_batches_before_it_that_share_its_chunk_are_delivered(tmp_path: Path, row: int) -> None:
    np.savez(tmp_path / "x.npz", x=np.arange(400) == row, at=np.arange(0, 401, 10))
    data = hr.open(tmp_path / "x.npz", ["x"], sample_by=hr.Spans(offsets="at")).map(T.OneHot("x", 1))
    assert batches_before_the_error(hr.Loader(data, 10)) == row // 100


@pytest.mark.parametrize(("transforms", "number", "text"), DAMAGES[:3])
def test_the_error_has_the_number_of_the_sample(
    damaged: hr.Dataset, transforms: list[T.Transform], number: int, text: str
) -> None:
    """As the docstring of Cast says: with the number of its sample."""
    with pytest.raises(hr.CorruptDataError, match=rf"sample {number}\b"):
        list(hr.Loader(damaged.map(*transforms), 10))


def test_bytes_of_a_sample(events: hr.Dataset) -> None:
    """They are those of samples of mean length, with transforms as without."""
    same = events.map(T.Affine("charge", 2))
    assert same.sample_bytes == events.sample_bytes
    assert repr(same).splitlines()[0] == repr(events).splitlines()[0]


@pytest.mark.parametrize(
    "how",
    [
        {"batch_size": 4},
        {"batch_size": 4, "layout": "padded"},
        {"batch": hr.ByTokens(6000)},
    ],
)
def test_memory_is_that_of_what_is_made(events: hr.Dataset, how: dict[str, Any]) -> None:
    """OneHot makes 200 bytes of 2: budgets are of what batches have then, and hold."""
    data = events.map(T.OneHot("sensor", 50), T.Keep("sensor", "charge", "number"))
    with pytest.raises(hr.OutOfBudgetError) as caught:
        hr.Loader(data, **how, shuffle=True, memory=1)
    least = caught.value.needed_bytes or 0
    assert least >= 5000 * 200
    want = changed(WANT, lambda e: {"sensor": eye(50, e["sensor"])}, ["sensor", "charge", "number"])
    loader = hr.Loader(data, **how, shuffle=True, memory=least, threads=2)
    assert sorted(number for batch in loader for number in check(events_of(batch), want)) == ALL
    report = loader.report().memory
    assert report.peak_bytes <= report.budget_bytes <= least


@pytest.mark.parametrize(
    ("transform", "text"),
    [
        (T.Noise("charge", 0.1), "Noise: it takes samples of one shape"),
        (T.Crop("xyz", [2]), "Crop"),
        (T.Flip("xyz"), "Flip: it takes samples of one shape"),
        (T.SpecAugment("xyz", time=1), "SpecAugment"),
        (T.Transpose("xyz"), "Transpose: it takes samples of one shape"),
        (T.MixUp(["charge"]), "MixUp: it takes samples of one shape"),
        (T.MixUp(["y", "charge"]), "MixUp"),
        (T.Mask("xyz"), "Mask: it takes samples of one shape"),
        (T.SymmetricPairs("xyz"), "SymmetricPairs: it takes samples of one shape"),
        (T.PairFeatures("xyz", vectors=[0, 1, 2, 0]), "PairFeatures"),
        (T.Concat(["charge", "y"]), r"'charge' is ragged \(any number of rows a sample\), and 'y' is not"),
        (T.Concat(["y", "charge"]), r"'charge' is ragged \(any number of rows a sample\), and 'y' is not"),
        (T.Standardize("xyz", [1, 2], 1), "mean has 2 values, and the field's last axis 3"),
        (T.Select("charge", [0]), "a sample has 0 axes"),
        (T.Concat(["charge", "sensor"]), "Concat"),
        (T.Drop(*ROWS, *TARGETS), "no field is left"),
    ],
)
def test_refused(events: hr.Dataset, transform: T.Transform, text: str) -> None:
    with pytest.raises((hr.UnsupportedError, hr.InvalidArgumentError), match=text) as caught:
        events.map(transform)
    assert "samples of one shape" not in text or caught.value.field == transform.fields[0]


@pytest.mark.parametrize("how", ["column", "Keep", "split", "Balanced"])
def test_targets_of_samples_whose_rows_are_transformed(events: hr.Dataset, how: str) -> None:
    data = events.map(T.Affine("charge", 2))
    if how == "column":
        assert data["kind"][:].tolist() == [event["kind"] for event in WANT]
    elif how == "Keep":
        assert data.map(T.Keep("kind"))[:]["kind"].tolist() == [event["kind"] for event in WANT]
    elif how == "split":
        assert len(data.split({"a": 0.5, "b": 0.5}, stratify="kind")["a"]) == len(WANT) // 2
    else:
        assert len(list(hr.Loader(data, 8, sampler=hr.Balanced("kind"))))
