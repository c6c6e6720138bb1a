"""``headrace.lightning.DataModule`` under the real Trainer, of both packages that have it."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jet_files import FIELDS
from lightning_runs import BATCH, PACKAGES, epoch, noting_model, package, trainer, values

import headrace as hr

package()
from headrace.lightning import DataModule  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore", "error::headrace.HeadraceWarning")

ROWS = 633


def module(jets: Any, **words: Any) -> DataModule:
    files = {"train_files": jets.glob, "val_files": jets.paths[2], "test_files": jets.paths[1]}
    return DataModule(**{**files, "fields": FIELDS, "batch_size": BATCH, "seed": 3, **words})


@pytest.mark.parametrize("name", PACKAGES)
def test_fit_validate_test_and_predict(jets, name: str) -> None:
    lightning = package(name)
    model, data = noting_model(lightning), module(jets)
    fit = trainer(lightning, max_epochs=3)
    fit.fit(model, data)
    assert model.seen["train"] == {number: epoch(jets, number) for number in range(3)}
    assert model.seen["val"] == dict.fromkeys(range(3), values(jets, 2))
    assert model.seen["sanity"] == {0: values(jets, 2)[: 2 * BATCH]}
    fit.test(model, data)
    assert sum(model.seen["test"].values(), []) == values(jets, 1)  # noqa: RUF017
    predicted = fit.predict(model, data)
    assert [row for rows in predicted for row in rows] == values(jets, 1)


def test_without_a_trainer_and_without_setup(jets) -> None:
    data = module(jets)
    for number in range(2):
        rows = [row for batch in data.train_dataloader() for row in batch["y"].tolist()]
        assert rows == epoch(jets, number)
    assert len(data.train_dataloader()) == -(-ROWS // BATCH)
    assert [row for batch in data.val_dataloader() for row in batch["y"].tolist()] == values(jets, 2)
    assert len(data.train_dataset) == ROWS and len(data.test_dataset) == 256 and len(data.val_dataset) == 77
    data.close()
    assert module(jets, val_files=None).val_dataloader() == []
    with pytest.raises(hr.InvalidArgumentError, match="test_files"):
        module(jets, test_files=None).test_dataloader()


def test_looking_whether_it_can_be_iterated_starts_no_epoch(jets) -> None:
    loader = module(jets).train_dataloader()
    iter(loader)
    kept = iter(loader)
    loader.sampler.set_epoch(4)
    assert loader.state_dict()["epoch"] == 4
    assert next(kept)["y"].tolist() == epoch(jets, 4)[:BATCH]


# --- checkpoints -----------------------------------------------------------------------------------------------------


def saving(path: Path, at: tuple[int, int]) -> Callable[[Any, int], None]:
    def save(model: Any, number: int) -> None:
        if (model.current_epoch, number) == at:
            model.trainer.save_checkpoint(path)

    return save


@pytest.mark.parametrize("at", [(0, 0), (1, 4), (1, 12)], ids=str)
def test_a_checkpoint_goes_on_with_the_next_batch(jets, tmp_path, at: tuple[int, int]) -> None:
    lightning = package()
    whole = noting_model(lightning, saving(tmp_path / "c.ckpt", at))
    trainer(lightning, max_epochs=3).fit(whole, module(jets))
    rest = noting_model(lightning)
    trainer(lightning, max_epochs=3).fit(rest, module(jets), ckpt_path=tmp_path / "c.ckpt")
    number, step = at
    expected = {number: epoch(jets, number)[(step + 1) * BATCH :]} if step < 12 else {}
    expected |= {later: epoch(jets, later) for later in range(number + 1, 3)}
    assert rest.seen["train"] == expected


def test_a_checkpoint_of_the_epochs_end_begins_the_next_epoch(jets, tmp_path) -> None:
    """Also where the epoch was cut short, so that the loader stands in the middle of it."""
    lightning = package()
    callback = lightning.callbacks.ModelCheckpoint(tmp_path, "end", save_on_train_epoch_end=True)
    words = {"max_epochs": 1, "limit_train_batches": 3}
    short = trainer(lightning, callbacks=[callback], **{**words, "enable_checkpointing": True})
    short.fit(noting_model(lightning), module(jets))
    rest = noting_model(lightning)
    trainer(lightning, **{**words, "max_epochs": 2}).fit(rest, module(jets), ckpt_path=tmp_path / "end.ckpt")
    assert rest.seen["train"] == {1: epoch(jets, 1)[: 3 * BATCH]}


def test_the_data_module_holds_the_place(jets, tmp_path) -> None:
    """Its state alone is enough, without what the Trainer keeps of loaders."""
    data = module(jets)
    batches = iter(data.train_dataloader())
    head = [next(batches)["y"].tolist() for _ in range(3)]
    state = json.loads(json.dumps(data.state_dict()))
    again = module(jets)
    again.load_state_dict(state)
    assert again.state_dict() == state
    rows = [row for batch in again.train_dataloader() for row in batch["y"].tolist()]
    assert sum(head, []) + rows == epoch(jets, 0)  # noqa: RUF017
    again.load_state_dict(state)  # its loader is there now
    assert next(iter(again.train_dataloader()))["y"].tolist() == epoch(jets, 0)[3 * BATCH : 4 * BATCH]
    other = module(jets, seed=4)
    other.load_state_dict(state)
    with pytest.raises(hr.InvalidArgumentError, match="seed"):
        other.train_dataloader()
    assert module(jets).state_dict() == {}
    third = pickle.loads(pickle.dumps(data))
    assert next(iter(third.train_dataloader()))["y"].tolist() == next(batches)["y"].tolist()


def test_a_state_that_was_loaded_after_closing_is_the_place(jets) -> None:
    data = module(jets)
    batches = iter(data.train_dataloader())
    next(batches)
    state = data.state_dict()
    next(batches)
    data.teardown()
    assert data.state_dict()["train"]["samples"] == 2 * BATCH
    data.load_state_dict(state)
    assert data.state_dict() == state
    for each in (pickle.loads(pickle.dumps(data)), data):
        assert next(iter(each.train_dataloader()))["y"].tolist() == epoch(jets, 0)[BATCH : 2 * BATCH]
        assert each.state_dict()["train"]["samples"] == 2 * BATCH


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tail": "paad"}, "tail must be partial, drop or pad, not 'paad'. Did you mean 'pad'?"),
        ({"seed": "a"}, "seed must be a whole number"),
        ({"shuffle": "blok"}, "shuffle must be true, false, block or exact"),
        ({"memory": 1.5}, "memory must be a size in bytes"),
        ({"threads": 2.0}, "threads must be a whole number from 1 to 4096"),
        ({"threads": 2, "num_workers": 4}, "num_workers and threads exclude each other"),
        ({"on_error": "skip"}, "on_error must be raise"),
        ({"tail": "pad", "drop_last": True}, "drop_last and tail contradict each other"),
        ({"eval_batch_size": "8"}, "batch_size must be a whole number"),
        ({"cache": "ramm"}, "'ramm' is none of auto, none and ram"),
    ],
)
def test_what_is_wrong_is_said_before_the_training(jets, options: dict[str, Any], words: str) -> None:
    with pytest.raises(hr.InvalidArgumentError, match=re.escape(words)):
        DataModule(jets.glob, jets.glob, **{"batch_size": 8, **options})


def test_a_state_that_is_refused_changes_nothing(jets) -> None:
    other = module(jets, seed=4)
    next(iter(other.train_dataloader()))
    data = module(jets)
    next(iter(data.train_dataloader()))
    state = data.state_dict()
    with pytest.raises(hr.InvalidArgumentError, match="seed"):
        data.load_state_dict(other.state_dict())
    assert data.state_dict() == state
    data.teardown()
    data.load_state_dict(other.state_dict())
    for _ in range(2):  # until there is another
        with pytest.raises(hr.InvalidArgumentError, match="seed"):
            data.train_dataloader()
    data.load_state_dict(state)
    assert next(iter(data.train_dataloader()))["y"].tolist() == epoch(jets, 0)[BATCH : 2 * BATCH]


def test_evaluating_a_checkpoint_does_not_move_training(jets, tmp_path) -> None:
    lightning = package()
    path = tmp_path / "c.ckpt"
    trainer(lightning).fit(noting_model(lightning, saving(path, (0, 5))), module(jets))
    model, data = noting_model(lightning), module(jets)
    trainer(lightning).test(model, data, ckpt_path=path)
    trainer(lightning).fit(model, data)
    assert model.seen["train"] == {0: epoch(jets, 0)}


# --- limits ----------------------------------------------------------------------------------------------------------


def test_overfitting_repeats_the_first_batches_in_order(jets) -> None:
    lightning = package()
    model = noting_model(lightning)
    trainer(lightning, max_epochs=3, overfit_batches=2).fit(model, module(jets))
    assert model.seen["train"] == {number: list(range(2 * BATCH)) for number in range(3)}
    assert model.seen["val"] == dict.fromkeys(range(3), values(jets, 2))


def test_limits_and_epochs_that_are_given_up(jets) -> None:
    lightning = package()
    model, data = noting_model(lightning), module(jets)
    trainer(lightning, max_epochs=2, limit_train_batches=3, limit_val_batches=1, num_sanity_val_steps=0).fit(
        model, data
    )
    assert model.seen["train"] == {number: epoch(jets, number)[: 3 * BATCH] for number in range(2)}
    assert model.seen["val"] == dict.fromkeys(range(2), values(jets, 2)[:BATCH])
    model = noting_model(lightning)
    trainer(lightning, max_epochs=-1, max_steps=16, reload_dataloaders_every_n_epochs=1).fit(model, data)
    assert model.seen["train"] == {0: epoch(jets, 0), 1: epoch(jets, 1)[: 3 * BATCH]}
    assert data.train_dataloader().loader.report().epochs_started == 0  # teardown closed the loader that trained


def test_a_batch_size_that_a_tuner_sets(jets) -> None:
    data = module(jets, eval_batch_size=20)
    small = data.train_dataloader()
    assert data.train_dataloader() is small
    data.batch_size = 100
    assert len(data.train_dataloader()) == 7 and small.closed
    assert data.val_dataloader().batch_size == 20


def test_another_batch_size_goes_on_where_the_next_loop_would_begin(jets) -> None:
    data = module(jets)
    batches = iter(data.train_dataloader())
    for _ in range(3):
        next(batches)
    state = data.state_dict()
    data.batch_size = 100  # the epoch was given up: the next one begins, as with the same batch size
    assert len(next(iter(data.train_dataloader()))["y"]) == 100
    assert data.state_dict()["train"]["epoch"] == 1
    data.load_state_dict(state)
    data.batch_size = 60  # the state of the loader that there was
    assert next(iter(data.train_dataloader()))["y"].tolist() == epoch(jets, 0)[3 * BATCH : 3 * BATCH + 60]


def test_fitting_after_overfitting_begins_anew(jets) -> None:
    lightning = package()
    data = module(jets)
    whole = data.train_dataloader()
    next(iter(whole))
    data.trainer = trainer(lightning, overfit_batches=2)
    assert next(iter(data.train_dataloader()))["y"].tolist() == list(range(BATCH))
    data.trainer = None
    assert next(iter(data.train_dataloader()))["y"].tolist() == epoch(jets, 0)[:BATCH]


# --- errors ----------------------------------------------------------------------------------------------------------


class SpoiltError(Exception):
    pass


@pytest.mark.parametrize("where", ["column_fn", "model"])
def test_a_function_that_raises_ends_the_run(jets, where: str) -> None:
    lightning = package()
    calls: list[int] = []

    def spoil(*_: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise SpoiltError("no")
        return _[0]

    words = {"column_fn": spoil} if where == "column_fn" else {}
    data = module(jets, val_files=None, **words)
    model = noting_model(lightning, spoil if where == "model" else None)
    run = trainer(lightning)
    with pytest.raises(SpoiltError, match="no"):
        run.fit(model, data)
    assert all(loader.closed for _, loader in data._loaders.values())
    model.seen.clear()
    trainer(lightning).fit(model, data)
    assert model.seen["train"] == {0: epoch(jets, 0)}


def test_damage_is_the_error_that_the_trainer_raises(jets, tmp_path) -> None:
    whole = jets.paths[0].read_bytes()
    place = len(whole) // 2
    (tmp_path / "bad.h5").write_bytes(whole[:place] + bytes(100) + whole[place + 100 :])
    lightning = package()
    with pytest.raises(hr.CorruptDataError, match=r"bad\.h5"):
        trainer(lightning).fit(noting_model(lightning), module(jets, train_files=tmp_path / "bad.h5"))


def test_wrong_arguments(jets) -> None:
    with pytest.raises(hr.UnknownArgumentError, match="Did you mean 'max_cached_chunks'"):
        module(jets, max_cache_chunks=3)
    with pytest.raises(hr.UnknownArgumentError, match="column_fn"):
        module(jets, collate_fn=list)
    with pytest.raises(hr.UnknownArgumentError, match="transforms="):
        module(jets, train_transform=print)
    with pytest.raises(hr.InvalidArgumentError, match="needs files"):
        DataModule(batch_size=3)
    with pytest.raises(hr.InvalidArgumentError, match="transforms must be a list"):
        module(jets, transforms=print)
    with pytest.raises(hr.InvalidArgumentError, match="num_workers must be at least 0"):
        module(jets, num_workers=-1)
    with pytest.raises(hr.InvalidArgumentError, match="stage must be"):
        module(jets).setup("training")
    with pytest.raises(hr.FileMissingError):
        module(jets, val_files="nothing_*.h5").setup("fit")
    with pytest.raises(hr.InvalidArgumentError, match="fields="):
        module(jets, train_files=jets.open()).setup()


def test_importing_headrace_imports_no_trainer(run_python) -> None:
    done = run_python(
        "import sys; print([name for name in ('torch', 'lightning', 'pytorch_lightning') if name in sys.modules])"
    )
    assert done.stdout.strip() == "[]"


# --- on a device -----------------------------------------------------------------------------------------------------


def test_batches_are_on_the_trainers_device_ahead(jets, tmp_path: Path) -> None:
    """As on the CPU: the rows of each epoch and stage, and where a checkpoint goes on."""
    from headrace.torch import FakeDevice

    lightning = package()
    device = FakeDevice(1e9, delay_seconds=0.002)
    whole = noting_model(lightning, saving(tmp_path / "c.ckpt", (1, 4)))
    fit = trainer(lightning, max_epochs=3)
    fit.fit(whole, module(jets, device=device))
    assert whole.seen["train"] == {number: epoch(jets, number) for number in range(3)}
    assert whole.seen["val"] == dict.fromkeys(range(3), values(jets, 2))
    assert fit.train_dataloader.report().to_device.batches == 3 * 13
    rest = noting_model(lightning)
    trainer(lightning, max_epochs=3).fit(rest, module(jets, device=device), ckpt_path=tmp_path / "c.ckpt")
    assert rest.seen["train"] == {1: epoch(jets, 1)[5 * BATCH :], 2: epoch(jets, 2)}


def test_the_device_of_the_trainer_is_found(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    data = module(jets, device="auto")
    assert data.train_dataloader().loader._delivery is None, "without a Trainer"
    data.trainer = trainer(package())
    assert data.train_dataloader().loader._delivery is None, "the Trainer trains on the CPU"
    monkeypatch.setattr(type(data.trainer.strategy), "root_device", torch.device("meta"))
    assert data.val_dataloader().loader._delivery.to == torch.device("meta")
    data.close()


@pytest.mark.parametrize("name", PACKAGES)
def test_a_loader_of_single_samples_trains(jets, name: str, tmp_path: Path) -> None:
    """The Trainer's own checkpoint asks loaders that have a state for it; one of single samples has none."""
    from headrace.torch import DataLoader

    lightning = package(name)
    loader = DataLoader(hr.open(jets.paths[0], FIELDS), batch_size=None)
    model = noting_model(lightning)
    model.note = lambda _stage, sample: [int(sample["y"])]
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    fit = lightning.Trainer(max_epochs=2, accelerator="cpu", default_root_dir=tmp_path, **quiet)
    fit.fit(model, loader)
    assert fit.global_step == 2 * len(loader)
    assert list(tmp_path.rglob("*.ckpt")), "it was saved"
