"""Each feature of caches, tools and partners: a function that uses it on a kind of sample and checks what comes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from python.tests.matrix.features import FEATURES, delivered, feature, same
from python.tests.matrix.kinds import BATCH, Kind

import headrace as hr

__all__ = ["FEATURES"]


def kept(kind: Kind, epochs: int = 2, **words: Any) -> Any:
    """The report of a loader with a cache, whose first batches are those of one that keeps nothing."""
    with kind.loader(**words) as loader:
        same(loader, kind.epoch)
        for _ in range(epochs - 1):
            assert sorted(delivered(kind, loader)) == list(range(len(kind.samples))) or not kind.once
        return loader.report()


@feature
def cache_none(kind: Kind, _: Path) -> None:
    assert kept(kind, cache="none").cache.kind == "nothing"


@feature
def cache_auto(kind: Kind, _: Path) -> None:
    kept(kind, cache="auto")


@feature
def cache_ram(kind: Kind, _: Path) -> None:
    assert kept(kind, cache="ram").cache.complete


@feature
def cache_directory(kind: Kind, folder: Path) -> None:
    """The second run decodes nothing."""
    kept(kind, cache=folder / "kept")
    report = kept(kind, cache=folder / "kept")
    assert (report.cache.kind, report.chunks_decoded) == ("directory", 0)


@feature
def share_host(kind: Kind, _: Path) -> None:
    """The second loader decodes nothing."""
    with kind.loader(cache="ram", share="host") as first:
        same(first, kind.epoch)
        assert kept(kind, share="host").chunks_decoded == 0


@feature
def preload(kind: Kind, _: Path) -> None:
    with kind.loader(cache="ram") as loader:
        loader.preload()
        before = loader.report()
        same(loader, kind.epoch)
        assert before.cache.complete
        assert before.chunks_decoded == loader.report().chunks_decoded


@feature
def run_file(kind: Kind, folder: Path) -> None:
    with kind.loader() as loader:
        hr.save_run(loader, folder / "run.yaml")
    with hr.load_run(folder / "run.yaml") as loader:
        same(loader, kind.epoch)


@feature
def replay(kind: Kind, _: Path) -> None:
    with kind.loader() as loader:
        found = hr.replay(loader, epoch=0, step=1).to_dict()["samples"]
    numbers = kind.numbers_of(kind.epoch)[1]
    places = [(one["file"], *(one["start"] if "start" in one else [one["row"]])) for one in found]
    assert places == [kind.places[i] for i in numbers]
    assert [one.get("dataset_row", number) for one, number in zip(found, numbers, strict=True)] == numbers


@feature
def bench(kind: Kind, _: Path) -> None:
    found = hr.bench(kind.data, batch_size=BATCH, epochs=1, max_seconds=1, threads=1, memory="64MiB").to_dict()
    assert found["samples"] == kind.length, found


@feature
def advise(kind: Kind, _: Path) -> None:
    assert "loader:" in hr.advise(kind.data, batch_size=BATCH, threads=1, memory="64MiB").run_file


@feature
def check_memory(kind: Kind, _: Path) -> None:
    assert hr.check_memory(kind.data, batch_size=BATCH, memory="64MiB").exit_status == 0


@feature
def order(kind: Kind, _: Path) -> None:
    assert "DEFF" in str(hr.order(kind.data, batch_size=BATCH, shuffle=True, threads=1, memory="64MiB"))


@feature
def pickled(kind: Kind, _: Path) -> None:
    with pickle.loads(pickle.dumps(kind.data)) as data, kind.loader(data) as loader:
        same(loader, kind.epoch)


@feature
def torch_loader(kind: Kind, _: Path) -> None:
    pytest.importorskip("torch")
    from headrace.torch import DataLoader

    loader = DataLoader(kind.data, BATCH, shuffle=True, seed=5, num_workers=1, memory="64MiB")
    same(loader, kind.epoch)
    loader.close()


@feature
def lightning(kind: Kind, _: Path) -> None:
    pytest.importorskip("lightning")
    from headrace.lightning import DataModule

    module = DataModule(kind.data, kind.data, batch_size=BATCH, seed=5, num_workers=1, memory="64MiB")
    module.setup("fit")
    same(module.train_dataloader(), kind.epoch)
    if kind.once:
        assert delivered(kind, module.val_dataloader()) == list(range(len(kind.samples)))
    module.teardown("fit")


@feature
def jax_loader(kind: Kind, _: Path) -> None:
    pytest.importorskip("jax")
    from headrace.jax import Loader

    width = {"width": 16} if kind.ragged else {}
    loader = Loader(kind.data, BATCH, shuffle=True, seed=5, threads=1, memory="64MiB", tail="drop", **width)
    full = [numbers for numbers in kind.numbers_of(kind.epoch) if len(numbers) == BATCH]
    assert kind.numbers_of(loader) == full


@feature
def accelerate(kind: Kind, _: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    from headrace.accelerate import prepare

    with kind.loader(framework="torch") as loader:
        prepared = prepare(loader, accelerate.Accelerator(cpu=True))
        steps = list(prepared)
        assert prepared.end_of_dataloader
        same(steps, kind.epoch)


@feature
def fake_device(kind: Kind, _: Path) -> None:
    pytest.importorskip("torch")
    from headrace.torch import FakeDevice

    with kind.loader(framework="torch", device=FakeDevice(bytes_per_second=1e12)) as loader:
        same(loader, kind.epoch)
