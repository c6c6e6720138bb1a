"""Loaders in other people's trainers: Accelerate's skip_first_batches, Lightning's overfit_batches, torch's DataLoader.

Each is tried with the real library where it is installed, and with a double that makes the same calls where it is not.
"""

from __future__ import annotations

import pickle
import sys
import types
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headrace as hr

BATCH = 50
ORDERS: dict[str, dict[str, Any]] = {
    "in order": {},
    "shuffled": {"shuffle": True},
    "exact": {"shuffle": "exact", "provenance": True},
    "drop": {"shuffle": True, "drop_last": True},
    "pad": {"shuffle": True, "tail": "pad"},
    "tuple": {"shuffle": True, "batch_format": "tuple"},
    "a list": {"sampler": list(range(600, 10, -3))},
    "weights": {"sampler": hr.Weighted(np.arange(633) + 1.0, num_samples=333)},
    "batches": {"batch_sampler": [[5, 4], [3, 2], [9, 9], [1]], "batch_size": None},
    "second of three ranks": {"shuffle": True, "rank": 1, "world_size": 3, "batch_size": 40},
    "partial ranks": {"rank": 2, "world_size": 3, "batch_size": 40},
}


def make(jets, **options: Any) -> hr.Loader:
    return hr.Loader(jets.open(), **{"batch_size": BATCH, "seed": 3, **options})


def assert_same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if isinstance(want, dict):
        assert list(got) == list(want)
        got, want = list(got.values()), list(want.values())
    for one, other in zip(got, want, strict=True):
        assert type(one) is type(other)
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)


def assert_all_same(got: list[Any], want: list[Any]) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        assert_same(one, other)


class Skipping:
    """What Accelerate 1.15 makes of a loader, and what torch's DataLoader does with that in one process."""

    def __init__(self, loader: Any, skipped: int) -> None:
        assert not isinstance(loader.sampler, types.GeneratorType)  # it asks whether that is a BatchSampler
        self.dataset, self.batch_sampler, self.skipped = loader.dataset, loader.batch_sampler, skipped
        self.collate_fn = loader.collate_fn
        assert (getattr(loader, "num_workers", 0), getattr(loader, "prefetch_factor", 2)) == (0, None)
        for name in ("pin_memory", "timeout", "worker_init_fn", "multiprocessing_context", "generator"):
            assert not hasattr(loader, name)  # its defaults are DataLoader's, which are right

    def __len__(self) -> int:
        return len(self.batch_sampler) - self.skipped

    def __iter__(self) -> Iterator[Any]:
        for number, rows in enumerate(self.batch_sampler):
            if number >= self.skipped:
                yield self.collate_fn(self.dataset.__getitems__(rows))


def skip_first_batches(loader: hr.Loader, number: int) -> Any:
    return pytest.importorskip("accelerate", reason="accelerate is not installed").skip_first_batches(loader, number)


@pytest.mark.parametrize("skip", [Skipping, skip_first_batches], ids=["double", "accelerate"])
@pytest.mark.parametrize("order", ORDERS)
def test_skipped_batches_are_those_of_the_loader(jets, order: str, skip: Any) -> None:
    loader, same = make(jets, **ORDERS[order]), make(jets, **ORDERS[order])
    for epoch, skipped in ((0, 0), (1, 2), (2, len(loader) - 1)):
        rest = skip(loader, skipped)
        assert len(rest) == len(loader) - skipped
        want = list(same)
        assert_all_same(list(rest), want[skipped:])
        assert loader.state_dict() == same.state_dict()
        assert loader.state_dict()["epoch"] == epoch + 1
    assert_all_same(list(loader), list(same))  # and the epoch after is the next one


@pytest.mark.parametrize("order", [name for name in ORDERS if name not in ("exact", "tuple", "pad")])
def test_steps_are_lists_of_row_numbers(jets, order: str) -> None:
    loader, same = make(jets, **ORDERS[order]), make(jets, **ORDERS[order])
    steps = list(loader.batch_sampler)
    assert len(steps) == len(loader.batch_sampler) == len(loader)
    assert loader.state_dict() == same.state_dict()  # looking starts no epoch
    truth = jets.open()
    for step, batch in zip(steps, same, strict=True):
        assert list(step) == batch["y"].tolist()  # the labels are the row numbers
        assert pickle.loads(pickle.dumps(step)) == list(step)
        assert step[1:3] == batch["y"][1:3].tolist()
        assert np.array_equal(truth[step]["x"], batch["x"])
        assert_same(loader.collate_fn(truth.__getitems__(list(step))), batch)
        assert_same(loader.collate_fn(truth.__getitems__(step)), batch)  # not its own data set: rows count
    if loader.sampler.__class__.__name__ == "Rows":
        assert [row for step in steps for row in step] == list(loader.sampler)


def test_the_rows_of_a_padded_batch_repeat(jets) -> None:
    last = list(make(jets, **ORDERS["pad"]).batch_sampler)[-1]
    assert len(last) == BATCH
    assert len(set(last)) == 633 % BATCH


def test_a_step_delivers_samples_too(jets) -> None:
    """A collate function that knows nothing of Headrace gets samples, as from any data set."""
    loader = make(jets, shuffle=True)
    want = loader.batch(0, 0)
    samples = loader.dataset.__getitems__(next(iter(loader.batch_sampler)))
    assert len(samples) == BATCH
    for i, sample in enumerate(samples):
        assert_same(sample, {name: values[i] for name, values in want.items()})
    assert_all_same(samples[2:4], [samples[2], samples[-47]])
    with pytest.raises(IndexError):
        samples[BATCH]


def test_skipping_goes_on_from_a_state(jets) -> None:
    loader, same = make(jets, shuffle=True), make(jets, shuffle=True)
    state = {**loader.state_dict(), "epoch": 4, "samples": 4 * BATCH}
    loader.load_state_dict(state)
    want = [same.batch(4, step) for step in range(7, len(same))]
    assert_all_same(list(Skipping(loader, 3)), want)
    other_size = make(jets, shuffle=True, batch_size=30)
    other_size.load_state_dict(state)
    got = list(Skipping(other_size, 1))
    assert np.array_equal(
        np.concatenate([batch["y"] for batch in got]),
        np.concatenate([same.batch(4, step)["y"] for step in range(4, len(same))])[30:],
    )
    other_size.load_state_dict(state)
    with pytest.raises(hr.InvalidArgumentError, match="not known before"):
        list(next(iter(other_size.batch_sampler)))


def test_the_epoch_is_named_as_for_the_loader(jets) -> None:
    """Trainers reach for batch_sampler.set_epoch where they skipped."""
    loader = make(jets, shuffle=True)
    rest = Skipping(loader, 2)
    rest.batch_sampler.set_epoch(6)
    assert_same(next(iter(rest)), loader.batch(6, 2))


def test_an_epoch_that_is_named_anew_begins_at_its_start(jets) -> None:
    loader = make(jets, shuffle=True)
    live = iter(loader)
    next(live)
    next(live)
    loader.set_epoch(0)
    assert_same(next(iter(Skipping(loader, 3))), loader.batch(0, 3))
    loader.load_state_dict({**loader.state_dict(), "epoch": 5, "samples": 2 * BATCH})
    loader.set_epoch(5)  # which it is already
    assert_same(next(iter(Skipping(loader, 3))), loader.batch(5, 5))
    loader.load_state_dict({**loader.state_dict(), "epoch": 5, "samples": 2 * BATCH})
    loader.set_epoch(6)
    loader.set_epoch(5)
    assert_same(next(iter(Skipping(loader, 3))), loader.batch(5, 3))


def test_batches_that_are_divided_twice_are_an_error(jets) -> None:
    """As Accelerate's prepare_data_loader would with two processes: every second batch of what is divided already."""
    loader = make(jets, shuffle=True, rank=0, world_size=2)
    with pytest.raises(hr.InvalidArgumentError, match="divide") as caught:
        for number, step in enumerate(loader.batch_sampler):
            if number % 2 == 0:
                loader.dataset.__getitems__(step)
    assert "prepare_data_loader" in (caught.value.hint or "")
    loader.set_epoch(0)
    assert_same(next(iter(Skipping(loader, 4))), loader.batch(0, 4))  # another pass may begin where it likes
    alone = make(jets, shuffle=True)  # one process may take what it likes
    for step in list(alone.batch_sampler)[::-3]:
        assert_same(alone.collate_fn(alone.dataset.__getitems__(step)), alone.batch(0, step.first_sample // BATCH))


def test_attributes_say_what_is_so(jets) -> None:
    rows = [3, 4, 5]
    assert make(jets, sampler=rows).sampler is rows
    weights = hr.Weighted([1.0] * 633)
    assert make(jets, sampler=weights).sampler is weights
    for drop in (True, False):
        loader = make(jets, drop_last=drop)
        assert loader.drop_last is loader.batch_sampler.drop_last is drop
        assert loader.batch_size == loader.batch_sampler.batch_size == BATCH
    assert make(jets, tail="drop").drop_last
    ahead = make(jets, sampler=rows, lookahead=1)
    assert ahead.sampler is rows
    assert not hasattr(ahead, "batch_sampler")


def test_torch_reads_all_rows_of_a_batch_at_once(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
    reads: list[Any] = []
    read = hr.Dataset.__getitem__
    monkeypatch.setattr(hr.Dataset, "__getitem__", lambda self, key: reads.append(key) or read(self, key))
    for number, batch in enumerate(data.DataLoader(jets.open(), batch_size=BATCH)):
        rows = slice(BATCH * number, BATCH * (number + 1))
        assert np.array_equal(batch["y"], np.arange(633)[rows])
        assert np.array_equal(batch["x"], jets.x[rows])
    assert len(reads) == 13


@pytest.mark.parametrize("own", [True, False], ids=["our collate_fn", "torch's"])
def test_torch_takes_the_batches_of_a_loader(jets, own: bool) -> None:
    data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
    loader, same = make(jets, shuffle=True, framework="torch"), make(jets, shuffle=True, framework="torch")
    words = {"collate_fn": loader.collate_fn} if own else {}
    through = data.DataLoader(loader.dataset, batch_sampler=loader.batch_sampler, **words)
    for _ in range(2):
        assert_all_same(list(through), list(same))


def test_accelerate_prepares_a_loader(jets) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    loader, same = make(jets, shuffle=True, framework="torch"), make(jets, shuffle=True, framework="torch")
    accelerator = accelerate.Accelerator(cpu=True)
    assert accelerator.prepare(loader) is loader
    prepared = accelerator.prepare_data_loader(loader)
    for _ in range(2):
        assert_all_same(list(prepared), list(same))
    assert_all_same(list(accelerator.skip_first_batches(prepared, 3)), list(same)[3:])


# --- overfit_batches -------------------------------------------------------------------------------------------------


class TrainerDouble:
    """Makes the calls on a loader that Lightning 2.6's Trainer makes in fit()."""

    def __init__(self, overfit_batches: int, epochs: int) -> None:
        self.overfit_batches, self.epochs = overfit_batches, epochs
        self.seen: list[list[int]] = []

    def fit(self, loader: Any) -> None:
        if self.overfit_batches > 0:
            assert not hasattr(loader, "sampler"), "Lightning would build it anew, as the DataLoader that it is not"
        iter(loader)  # is it iterable?
        iterator = iter(loader)
        for epoch in range(self.epochs):
            iterator = iterator if epoch == 0 else iter(loader)
            rows = [next(iterator)["y"].tolist() for _ in range(self.overfit_batches or len(loader))]
            self.seen.append(sum(rows, []))  # noqa: RUF017


def lightning_fit(
    loader: hr.Loader, overfit: int, epochs: int, *, save: Path | None = None, resume: Path | None = None
) -> list[list[int]]:
    """Rows that each epoch of a real Trainer sees; it may save in the middle of its second epoch, or resume."""
    lightning = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    import torch

    class Model(lightning.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4))
            self.seen: list[list[int]] = [[] for _ in range(epochs)]

        def training_step(self, batch: Any, _number: int) -> Any:
            self.seen[self.current_epoch] += batch["y"].tolist()
            return (batch["x"] @ self.weight).mean()

        def on_train_batch_end(self, _outputs: Any, _batch: Any, number: int) -> None:
            if save is not None and (self.current_epoch, number) == (1, 4):
                self.trainer.save_checkpoint(save)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.001)

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    model = Model()
    trainer = lightning.Trainer(
        accelerator="cpu", devices=1, max_epochs=epochs, overfit_batches=overfit, enable_checkpointing=False, **quiet
    )
    trainer.fit(model, loader, ckpt_path=resume)
    return model.seen


def double_fit(loader: hr.Loader, overfit: int, epochs: int) -> list[list[int]]:
    trainer = TrainerDouble(overfit, epochs)
    trainer.fit(loader)
    return trainer.seen


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fit", [double_fit, lightning_fit], ids=["double", "lightning"])
@pytest.mark.parametrize("order", ["shuffled", "weights", "random sampler"])
def test_overfitting_sees_the_same_batches(jets, order: str, fit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if fit is double_fit:
        module = types.ModuleType("lightning.pytorch")
        module.Trainer = TrainerDouble  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lightning.pytorch", module)
    options = ORDERS.get(order)
    if options is None:
        data = pytest.importorskip("torch.utils.data", reason="torch is not installed")
        options = {"sampler": data.RandomSampler(range(633))}
    framework = "torch" if fit is lightning_fit else "numpy"
    loader = make(jets, **options, framework=framework)
    loader.set_epoch(3)
    known = order != "random sampler"  # which gives other rows each time it is asked
    want = [loader.batch(3, step)["y"].tolist() for step in (0, 1)] if known else []
    first, second, third = fit(loader, overfit=2, epochs=3)
    assert len(first) == 2 * BATCH
    assert first == second == third
    assert first == sum(want, []) or not known  # noqa: RUF017
    assert hasattr(loader, "sampler")
    assert next(iter(loader))["y"].tolist() != first[:BATCH]  # after it, epochs go on
    epochs = fit(make(jets, **options, framework=framework), overfit=0, epochs=2)
    assert epochs[0] != epochs[1]  # and nothing repeats where it is not asked for


class Batch:
    """Something large that a program's method holds."""


class OwnLoop:
    """A program's training loop in a method, without a Trainer."""

    def epoch(self, loader: hr.Loader) -> Any:
        held = Batch()
        known = weakref.ref(held)
        batches = iter(loader)  # looks for a Trainer among its callers
        loader.state_dict()
        assert hasattr(loader, "sampler")
        next(batches)
        del held
        return known()


@pytest.mark.parametrize("real", [True, False])
def test_looking_for_a_trainer_keeps_no_locals_alive(jets, real: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the dict of f_locals did before Python 3.13, in every method above: batch, loss and outputs."""
    if real:
        pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    else:
        module = types.ModuleType("lightning.pytorch")
        module.Trainer = type("Trainer", (), {"__module__": "elsewhere"})  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "lightning.pytorch", module)
    assert OwnLoop().epoch(make(jets, shuffle=True)) is None


@pytest.mark.filterwarnings("ignore")
def test_lightning_resumes_where_it_was(jets, tmp_path: Path) -> None:
    words = {"shuffle": True, "framework": "torch"}
    whole = lightning_fit(make(jets, **words), overfit=0, epochs=3, save=tmp_path / "saved.ckpt")
    rest = lightning_fit(make(jets, **words), overfit=0, epochs=3, resume=tmp_path / "saved.ckpt")
    assert rest == [[], whole[1][5 * BATCH :], whole[2]]


def test_hugging_face_resumes_where_it_was(jets, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(4))
            self.seen: list[list[int]] = []

        def forward(self, x: Any, adj: Any, y: Any) -> Any:
            self.seen.append(y.tolist())
            return {"loss": (x @ self.weight).mean()}

    class Trainer(transformers.Trainer):  # type: ignore[name-defined,misc]
        def get_train_dataloader(self) -> Any:
            return make(jets, shuffle=True, framework="torch")

    def train(**words: Any) -> list[list[int]]:
        quiet = {"report_to": [], "use_cpu": True, "disable_tqdm": True, "logging_strategy": "no"}
        arguments = transformers.TrainingArguments(
            output_dir=str(tmp_path), num_train_epochs=3, save_strategy="steps", save_steps=18, **quiet
        )
        model = Model()
        Trainer(model=model, args=arguments).train(**words)
        return model.seen

    loader = make(jets, shuffle=True)
    want = [batch["y"].tolist() for _ in range(3) for batch in loader]
    assert train() == want
    assert train(resume_from_checkpoint=str(tmp_path / "checkpoint-18")) == want[18:]
