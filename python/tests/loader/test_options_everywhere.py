"""Each option of ``hr.Loader`` in its other faces: there with the same batches, or refused by what the face is."""

from __future__ import annotations

import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from jet_files import FIELDS
from lightning_runs import noting_model, package, trainer
from stable_ids import text_of

import headrace as hr

torch = pytest.importorskip("torch", reason="torch is not installed")
from headrace._dataset.ragged import sample as sample_of  # noqa: E402
from headrace._support import argument_hints  # noqa: E402
from headrace.cellmap import CellMapDataLoader  # noqa: E402
from headrace.torch import DataLoader, FakeDevice, SingleSampleLoader  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:a last step can have:headrace.HeadraceWarning")

LENGTHS = np.array([3, 0, 1, 17, 2, 2, 5, 1, 40, 9, 4, 1, 6])


# --- No option is forgotten


FACES: dict[str, Callable[..., Any] | None] = dict.fromkeys(("DataModule", "JetClassLightningDataModule", "jax.Loader"))
FACES |= {"DataLoader": DataLoader, "CellMapDataLoader": CellMapDataLoader}
with suppress(ImportError):  # here, since it takes seconds
    from headrace import lightning as of_lightning

    FACES |= {name: getattr(of_lightning, name) for name in ("DataModule", "JetClassLightningDataModule")}
with suppress(ImportError):
    from headrace import jax as of_jax

    FACES["jax.Loader"] = of_jax.Loader


def face(name: str) -> Callable[..., Any]:
    """A class that loads as Loader does; the test is skipped where its framework is not installed."""
    if (made := FACES[name]) is None:
        pytest.skip(f"what {name} needs is not installed")
    return made


def arguments_of(made: Callable[..., Any]) -> set[str]:
    classes = [cls for cls in inspect.getmro(made) if cls.__module__.startswith("headrace.")]  # type: ignore[arg-type]
    return {name for cls in classes for name in inspect.signature(cls.__init__).parameters}  # type: ignore[misc]


def refusal(made: Callable[..., Any], name: str) -> str | None:
    """The hint with which an argument is refused; None: it is one of the face's own."""
    try:
        made("no such file.h5", **{name: None})
    except hr.UnknownArgumentError as error:
        return error.hint or ""
    except Exception:  # it went on, and found no file
        return None
    return None


@pytest.mark.parametrize("option", inspect.signature(hr.Loader).parameters)
@pytest.mark.parametrize("name", FACES)
def test_an_option_of_a_loader_is_there_or_is_refused_for_a_reason(name: str, option: str) -> None:
    made = face(name)
    hint = refusal(made, option)
    if hint is None:
        assert option in arguments_of(made)
        return
    assert hint, f"{name} has no word for {option}="
    assert not hint.startswith("Did you mean"), f"{name} has not thought of {option}="
    for argument in re.findall(r"\b([a-z_]+)=", re.sub(r"\bhr\.\w+\([^()]*\)", "", hint)):
        assert refusal(made, argument) is None, f"{name} tells to use {argument}=, and has it not"


def test_what_a_face_tells_to_use_it_has() -> None:
    """The hints for arguments of other loaders, too."""
    for name, table in (
        ("DataLoader", argument_hints.DATALOADER_KNOBS),
        ("DataModule", argument_hints.DATA_MODULE_KNOBS),
        ("jax.Loader", argument_hints.JAX_KNOBS),
    ):
        known = arguments_of(face(name))
        hints = [(knob, text) for group in table.values() for knob, text in group.items()]
        assert len(hints) == len({knob for knob, _ in hints})
        assert not known & {knob for knob, _ in hints}
        for knob, text in hints:
            said = re.sub(r"\b(hr|dataset|T)\.\w+\([^()]*\)|\b\w*DataModule, or|reconstruct_full_adjacency=", "", text)
            for argument in re.findall(r"\b([a-z_]+)=", said):
                assert argument in known, (name, knob, text)


# --- headrace.torch.DataLoader


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Samples of unequal length."""
    folder = tmp_path_factory.mktemp("events")
    rows, random = int(LENGTHS.sum()), np.random.default_rng(3)
    np.savez(
        folder / "events.npz",
        time=random.random(rows).astype(np.float32) + 1,
        label=np.arange(len(LENGTHS)),
        offsets=np.concatenate(([0], np.cumsum(LENGTHS))),
    )
    spans = hr.Spans(offsets="offsets")
    return hr.open(folder / "events.npz", ["time"], sample_by=spans, targets=["label"])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    """Rows of equal length, in groups of three."""
    folder, label = tmp_path_factory.mktemp("runs"), np.arange(len(LENGTHS))
    np.savez(folder / "runs.npz", time=label + 0.5, label=label, run=label // 3)
    return hr.open(folder / "runs.npz", ["time", "label", "run"])


@pytest.fixture
def data(request: pytest.FixtureRequest, jets: Any, events: hr.Dataset, runs: hr.Dataset) -> hr.Dataset:
    return {"events": events, "runs": runs, "jets": jets.open()}[request.param]


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("events", {"batch_size": 4, "layout": "padded"}),
    ("events", {"batch_size": 4, "layout": "padded", "fill": -1, "shuffle": True, "seed": 3}),
    ("events", {"batch_sampler": [[3, 1], [8], [0, 2, 4]], "layout": "padded"}),
    ("events", {"batch": hr.ByTokens(45)}),
    ("events", {"batch": hr.ByTokens(45, max_samples=3), "shuffle": True, "seed": 4, "drop_last": True}),
    ("events", {"batch": hr.ByTokens(45), "sampler": hr.Weighted(np.ones(len(LENGTHS)))}),
    ("runs", {"group_by": "run", "max_items": 5}),
    ("runs", {"group_by": "run", "max_groups": 2, "shuffle": True}),
    ("jets", {"group_by": "file"}),
    ("jets", {"group_by": "file", "max_items": 300, "shuffle": True, "seed": 2, "batch_format": "tuple"}),
    ("jets", {"group_by": "y", "max_items": 64, "max_groups": 50}),
    ("jets", {"batch_size": 100, "tail": "pad", "rank": 1, "world_size": 2}),
    ("jets", {"batch_size": 100, "tail": "drop"}),
    ("jets", {"batch_size": 100, "tail": "drop", "drop_last": True}),
    ("jets", {"batch_size": 50, "shuffle": True, "shuffle_buffer": hr.ShuffleShape(2, 1)}),
    ("jets", {"batch_size": 50, "shuffle": True, "shuffle_buffer": "1MiB"}),
    ("jets", {"batch_size": 50, "share": "host"}),
    ("jets", {"batch_size": 50, "sampler": range(600, 100, -3), "lookahead": 2}),
]


def equal(got: Any, want: Any) -> None:
    torch.testing.assert_close(got, want, rtol=0, atol=0)


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize(("data", "options"), OPTIONS, ids=text_of, indirect=["data"])
def test_a_data_loader_gives_the_batches_of_a_loader(data: hr.Dataset, options: dict[str, Any], device: str) -> None:
    with hr.Loader(data, framework="torch", **options) as loader, DataLoader(data, device=device, **options) as other:
        assert len(other) == len(loader)
        size = None if "batch_sampler" in options else loader.batch_size  # as torch has it
        assert (other.batch_size, other.drop_last) == (size, loader.drop_last)
        assert other.loader._options | {"device": None} == loader._options | {"device": None}
        for _ in range(2):
            batches, want = list(other), list(loader)
            assert len(batches) == len(want) > 0
            for got, expected in zip(batches, want, strict=True):
                equal(got, expected)


def test_defaults_are_the_loaders() -> None:
    ours, theirs = inspect.signature(DataLoader.__init__).parameters, inspect.signature(hr.Loader).parameters
    differ = {name for name in ours.keys() & theirs.keys() if ours[name].default != theirs[name].default}
    # Torch's own defaults, and a seed that a generator may say.
    assert differ <= {"batch_size", "shuffle", "timeout", "seed"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"batch": hr.ByTokens(45), "batch_size": 4}, "batch option is mutually exclusive with batch_size"),
        ({"batch": hr.ByTokens(45), "batch_size": None}, "batch option is mutually exclusive with batch_size"),
        ({"batch": hr.ByTokens(45), "batch_sampler": [[1]]}, "a token budget sets the number of samples"),
        ({"batch": hr.ByTokens(45), "group_by": "run"}, "a token budget sets the number of samples"),
        ({"batch": hr.ByTokens(45), "sampler": [1], "batch_size": None}, "batch option is mutually exclusive"),
        ({"batch": 45}, "batch must be a budget such as ByTokens(32768)"),
        ({"group_by": "run", "batch_size": 4}, "group_by option is mutually exclusive with batch_size"),
        ({"group_by": "run", "batch_size": None}, "group_by option is mutually exclusive with batch_size"),
        ({"group_by": "run", "sampler": [1]}, "group_by and a sampler exclude each other"),
        ({"group_by": "run", "drop_last": True}, "do not apply to group_by="),
        ({"group_by": "run", "tail": "pad"}, "do not apply to group_by="),
        ({"max_items": 4}, "group_by is missing"),
        ({"tail": "pad", "drop_last": True}, "drop_last"),
        ({"tail": "pad", "batch_sampler": [[1]]}, "do not apply to group_by= and a batch_sampler"),
        ({"tail": "pda"}, "Did you mean 'pad'"),
        ({"tail": "pad", "batch_size": None}, "disables auto-batching and is mutually exclusive with tail"),
        ({"layout": "padded", "batch_size": None}, "disables auto-batching and is mutually exclusive with layout"),
        ({"fill": 1}, "Give layout='padded'"),
        ({"lookahead": 2}, "Give sampler="),
        ({"lookahead": 2, "sampler": [[1, 2]], "batch_size": None}, "a sampler gives single row numbers"),
        ({"shuffle_buffer": "1MiB"}, "Give shuffle=True"),
        ({"share": "node"}, "share must be"),
        ({"num_workers": 2, "threads": 2}, "num_workers option is mutually exclusive with threads"),
    ],
    ids=str,
)
def test_what_excludes_what(events: hr.Dataset, options: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=re.escape(text)):
        list(DataLoader(events, **options))


class Asked:
    """A sampler that counts how often it was asked."""

    def __init__(self) -> None:
        self.times = 0

    def __len__(self) -> int:
        return len(LENGTHS)

    def __iter__(self) -> Iterator[int]:
        for row in reversed(range(len(LENGTHS))):
            self.times += 1
            yield row


@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize(("size", "lookahead", "asked"), [(4, 1, 4), (4, 2, 8), (None, 1, 1), (None, 5, 5)])
def test_a_sampler_is_asked_as_late_as_it_says(
    events: hr.Dataset, size: int | None, lookahead: int, asked: int, device: str
) -> None:
    """Single samples are decoded one by one then: the sampler may want to hear of each before it gives the next."""
    sampler = Asked()
    loader = DataLoader(events, size, sampler=sampler, lookahead=lookahead, device=device)
    batches = iter(loader)
    first = next(batches)
    assert sampler.times == asked
    labels = [first["label"], *(batch["label"] for batch in batches)]
    assert torch.cat([label.reshape(-1) for label in labels]).tolist() == list(reversed(range(len(LENGTHS))))
    assert isinstance(loader, SingleSampleLoader) == (size is None)


@pytest.mark.filterwarnings("ignore:collate_fn:headrace.HeadraceWarning")
@pytest.mark.parametrize("device", ["cpu", "fake"])
@pytest.mark.parametrize("batch_format", ["dict", "tuple"])
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 4},
        {"batch_size": 4, "layout": "padded", "fill": 9},
        {"batch": hr.ByTokens(45), "tail": "pad"},
        {"batch_size": None},
    ],
    ids=str,
)
def test_collate_fn_gets_the_samples_of_any_batch(
    events: hr.Dataset, options: dict[str, Any], batch_format: str, device: str
) -> None:
    """Also as tuples, where the offsets of ragged fields would be taken for columns."""
    given = {**options, "batch_format": batch_format, "device": device}
    with DataLoader(events, collate_fn=lambda samples: samples, **given) as loader:
        made = list(loader)
    samples = made if options.get("batch_size", 1) is None else [sample for batch in made for sample in batch]
    assert len(samples) == len(LENGTHS)
    padded = options.get("layout") == "padded"
    names = ["time", "label", *["mask", "lengths"] * padded, *["_weight"] * ("tail" in options)]
    for number, sample in enumerate(samples):
        named = sample if isinstance(sample, dict) else dict(zip(names, sample, strict=True))
        assert isinstance(sample, tuple) == (batch_format == "tuple")
        assert set(named) == set(names)
        assert int(named["label"]) == number
        equal(named["time"][: LENGTHS[number]], torch.from_numpy(np.asarray(events[number]["time"])))
        if padded:
            assert len(named["time"]) == len(named["mask"])
            assert int(named["mask"].sum()) == int(named["lengths"]) == LENGTHS[number]
        else:
            assert len(named["time"]) == LENGTHS[number]


@pytest.mark.filterwarnings("ignore:collate_fn:headrace.HeadraceWarning")
@pytest.mark.parametrize("batch_format", ["dict", "tuple"])
def test_collate_fn_gets_the_group_of_each_sample(runs: hr.Dataset, batch_format: str) -> None:
    """Where groups begin is no column of samples."""
    options: dict[str, Any] = {"group_by": "run", "max_items": 7, "batch_format": batch_format}
    with DataLoader(runs, collate_fn=lambda samples: samples, **options) as loader:
        samples = [sample for batch in loader for sample in batch]
    for number, sample in enumerate(samples):
        assert isinstance(sample, tuple) == (batch_format == "tuple")
        values = sample if isinstance(sample, tuple) else sample.values()
        assert [float(value) for value in values] == [number + 0.5, number, number // 3, number // 3]
    assert len(samples) == len(LENGTHS)
    batch = next(iter(hr.Loader(runs, group_by="run", max_items=7)))
    assert sample_of(batch, 5) == {"time": 5.5, "label": 5, "run": 1, "_group": 1}


@pytest.mark.filterwarnings("ignore:collate_fn:headrace.HeadraceWarning")
@pytest.mark.parametrize("options", [{"batch_size": 4}, {"batch_size": 4, "layout": "padded"}], ids=str)
def test_torch_makes_the_same_of_its_parts(events: hr.Dataset, options: dict[str, Any]) -> None:
    """As Accelerate's skip_first_batches does, which gives a collate_fn samples of the data set."""
    loader = DataLoader(events, collate_fn=list, batch_format="tuple", shuffle=True, **options)
    steps, collate = loader.batch_sampler, loader.collate_fn
    parts = torch.utils.data.DataLoader(loader.dataset, batch_sampler=steps, collate_fn=collate)
    again = DataLoader(events, collate_fn=list, batch_format="tuple", shuffle=True, **options)
    for got, want in zip(parts, again, strict=True):
        equal(got, want)


def test_single_samples_come_as_tuples(events: hr.Dataset) -> None:
    for number, (time, label) in enumerate(DataLoader(events, None, batch_format="tuple")):
        assert (len(time), int(label)) == (LENGTHS[number], number)


@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_lists_of_rows_make_padded_batches(events: hr.Dataset, device: str) -> None:
    """``batch_size=None`` and a sampler of lists: torch's way of reading in bulk."""
    rows = [[3, 1], [8], [0, 2, 4]]
    batches = list(DataLoader(events, None, sampler=rows, layout="padded", device=device))
    assert [batch["label"].tolist() for batch in batches] == rows
    assert [tuple(batch["time"].shape) for batch in batches] == [(2, 17), (1, 40), (3, 3)]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("events", {"batch": hr.ByTokens(45), "shuffle": True}),
        ("runs", {"group_by": "run", "max_items": 4}),
        ("events", {"layout": "padded"}),
    ],
    ids=str,
    indirect=["data"],
)
def test_a_state_goes_on_and_so_does_what_was_pickled(data: hr.Dataset, options: dict[str, Any]) -> None:
    whole = [batch["label"].tolist() for batch in DataLoader(data, **options)]
    loader = DataLoader(data, **options)
    batches = iter(loader)
    head = [next(batches)["label"].tolist() for _ in range(2)]
    other = DataLoader(data, **options)
    other.load_state_dict(loader.state_dict())
    for rest in (other, pickle.loads(pickle.dumps(loader))):
        assert head + [batch["label"].tolist() for batch in rest] == whole


def test_groups_are_reduced_of_a_data_loader(jets: Any) -> None:
    with DataLoader(jets.open(), group_by="file", device=FakeDevice()) as loader:
        reducer = hr.GroupReducer(loader, reduce="mean")
        for batch in loader:
            reducer.add(batch, batch["y"].double())
    files = reducer.result()["file"]
    sizes = [len(hr.open(path)) for path in jets.paths]
    assert files["count"].tolist() == sizes
    firsts = np.cumsum([0, *sizes[:-1]])
    assert files["mean"].tolist() == [first + (size - 1) / 2 for first, size in zip(firsts, sizes, strict=True)]


# --- headrace.lightning.DataModule


def module(data: hr.Dataset, **words: Any) -> Any:
    package()
    words = {"train_files": data, "val_files": data, "test_files": data, **words}
    return face("DataModule")(**words)


def labels(loader: Any) -> list[list[int]]:
    return [batch["label"].tolist() for batch in loader]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("device", ["cpu", "fake"])
def test_a_data_module_trains_on_padded_batches(events: hr.Dataset, device: str) -> None:
    lightning = package()
    shapes: list[tuple[int, ...]] = []

    class Model(noting_model(lightning, key="label").__class__):  # type: ignore[misc]
        def training_step(self, batch: Any, number: int) -> Any:
            shapes.append(tuple(batch["time"].shape))
            assert (batch["time"][~batch["mask"]] == -1).all()
            return super().training_step(batch, number)

    model = Model()
    data = module(events, batch_size=4, layout="padded", fill=-1, seed=5, device=device)
    trainer(lightning, max_epochs=2).fit(model, data)
    plain = hr.Loader(events, 4, shuffle=True, seed=5, layout="padded", fill=-1)
    want = [list(plain) for _ in range(2)]
    assert shapes == [batch["time"].shape for epoch in want for batch in epoch]
    assert [model.seen["train"][n] for n in range(2)] == [sum(labels(epoch), []) for epoch in want]  # noqa: RUF017
    assert model.seen["val"] == {epoch: list(range(len(LENGTHS))) for epoch in range(2)}


def test_what_is_of_training_alone_and_what_is_of_all_stages(events: hr.Dataset) -> None:
    words: dict[str, Any] = {"batch": hr.ByTokens(45, max_samples=4), "tail": "drop", "seed": 5}
    data = module(events, **words, shuffle_buffer=hr.ShuffleShape(1, 1), shuffle=True)
    shape = {"shuffle_buffer": hr.ShuffleShape(1, 1), "shuffle": True}
    assert labels(data.train_dataloader()) == labels(hr.Loader(events, **words, **shape))
    assert labels(data.val_dataloader()) == labels(hr.Loader(events, batch=words["batch"]))
    assert "ByTokens(tokens=45, " in str(data)
    data.close()
    data = module(events, batch=hr.ByTokens(45), eval_batch_size=5)
    assert labels(data.test_dataloader()) == labels(hr.Loader(events, 5))
    assert data.check_memory().exit_status == 0


def test_processes_share_the_files_of_all_stages(jets: Any) -> None:
    data = module(jets.open(), batch_size=50, share="host")
    for loader in (data.train_dataloader(), data.val_dataloader()):
        assert loader.loader._options["share"] == "host"
    data.close()


def test_a_data_module_evaluates_whole_groups(runs: hr.Dataset) -> None:
    data = module(runs, batch_size=4, eval_group_by="run", max_items=7, max_groups=2)
    loader = data.val_dataloader()
    assert labels(loader) == labels(hr.Loader(runs, group_by="run", max_items=7, max_groups=2))
    reducer = hr.GroupReducer(loader, reduce="mean")
    for batch in loader:
        reducer.add(batch, batch["label"].double())
    assert reducer.result()["run"]["count"].tolist() == [3, 3, 3, 3, 1]
    assert len(data.train_dataloader()) == -(-len(LENGTHS) // 4)


@pytest.mark.filterwarnings("ignore")
def test_a_sampler_is_of_the_training_files(jets: Any) -> None:
    lightning = package()
    rows = list(range(600, 100, -3))
    data = module(jets.open(), batch_size=50, sampler=rows, val_files=None)
    model = noting_model(lightning)
    trainer(lightning, max_epochs=2).fit(model, data)
    assert model.seen["train"] == {0: rows, 1: rows}
    overfitting = noting_model(lightning)
    again = module(jets.open(), batch_size=50, sampler=rows, val_files=None, shuffle_buffer=None)
    trainer(lightning, overfit_batches=2).fit(overfitting, again)
    assert overfitting.seen["train"] == {0: list(range(100))}
    with pytest.raises(hr.InvalidArgumentError, match="gives an order"):
        data.check_memory()
    with pytest.raises(hr.InvalidArgumentError, match="shuffle"):
        module(jets.open(), batch_size=50, sampler=rows, shuffle=True).train_dataloader()


@pytest.mark.filterwarnings("ignore")
def test_overfitting_leaves_out_what_shapes_the_shuffle(jets: Any) -> None:
    lightning = package()
    model = noting_model(lightning)
    data = module(jets.open(), batch_size=50, shuffle_buffer=hr.ShuffleShape(2, 1), tail="drop", val_files=None)
    trainer(lightning, overfit_batches=2).fit(model, data)
    assert model.seen["train"] == {0: list(range(100))}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "batch_size is missing"),
        ({"batch_size": 4, "batch": hr.ByTokens(45)}, "batch and batch_size exclude each other"),
        ({"batch_size": 4, "eval_batch_size": 4, "eval_group_by": "run"}, "eval_group_by and eval_batch_size exclude"),
        ({"batch_size": 4, "max_items": 7}, "give eval_group_by="),
        ({"batch_size": 4, "tail": "pad", "drop_last": True}, "drop_last"),
    ],
    ids=str,
)
def test_what_a_data_module_refuses(events: hr.Dataset, options: dict[str, Any], text: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=text):
        module(events, **options).train_dataloader()


@pytest.mark.parametrize("options", [{"layout": "padded"}, {"batch": hr.ByTokens(45)}, {"fill": 1}], ids=str)
def test_jets_are_not_of_unequal_length(jets: Any, options: dict[str, Any]) -> None:
    package()
    with pytest.raises(hr.InvalidArgumentError, match=r"Not for jets|layout must be one of"):
        face("JetClassLightningDataModule")(jets.glob, **options)


def test_check_memory_judges_the_loader_that_will_be_made(jets: Any) -> None:
    words: dict[str, Any] = {"shuffle_buffer": hr.ShuffleShape(2, 1), "tail": "drop"}
    package()
    data = face("DataModule")(jets.glob, batch_size=50, fields=FIELDS, **words)
    want = hr.check_memory(jets.open(), batch_size=50, shuffle=True, **words, machine_memory="64GiB")
    found = data.check_memory("64GiB").to_dict()
    assert {**found, "process_resident_bytes": 0} == {**want.to_dict(), "process_resident_bytes": 0}
