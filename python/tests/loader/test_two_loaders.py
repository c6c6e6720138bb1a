"""Training validates in the middle of its epochs, over data of four times the memory: in each loop, on each device."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from two_loader_files import KINDS, MEMORY

import headrace as hr

torch = pytest.importorskip("torch", reason="torch is not installed")

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")]
EPOCHS = 2
Digests = list[str]


def digest(batch: Any) -> str:
    """Tells a batch from every other: its fields, their shapes and bytes."""
    made = hashlib.sha1()
    for name, values in batch.items():
        array = np.asarray(values)
        made.update(f"{name}{array.dtype}{array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return made.hexdigest()


class World:
    """Data of one kind, and the batches that loaders of it deliver with plenty of memory."""

    def __init__(self, kind: str, folder: Any) -> None:
        write, self.options = KINDS[kind]
        self.train, self.val = write(folder)
        with self.loader(self.train) as train, self.loader(self.val, shuffle=False) as val:
            self.want = [[digest(batch) for batch in train] for _ in range(EPOCHS)]
            self.want_val = [digest(batch) for batch in val]

    def loader(self, data: hr.Dataset, *, shuffle: bool = True, **words: Any) -> hr.Loader:
        return hr.Loader(data, shuffle=shuffle, seed=3, framework="torch", **{**self.options, **words})

    def pair(self, device: str) -> tuple[hr.Loader, hr.Loader]:
        return self.loader(self.train, device=device), self.loader(self.val, shuffle=False, device=device)

    def check(self, train: Digests, vals: list[Digests], *, validations: int) -> None:
        assert train == [batch for epoch in self.want for batch in epoch]
        assert [len(val) for val in vals] == [len(self.want_val)] * validations
        assert all(val == self.want_val for val in vals)


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], World]:
    made: dict[str, World] = {}

    def world(kind: str) -> World:
        if kind not in made:
            hr.set_memory("4GiB")
            made[kind] = World(kind, tmp_path_factory.mktemp(kind))
            hr.set_memory(MEMORY)
        return made[kind]

    return world


@pytest.fixture
def small_memory() -> Iterator[None]:
    """Both loaders together may hold this much, and neither has ``memory=``."""
    hr.set_memory(MEMORY)
    yield
    hr.set_memory("4GiB")


def own_loop(train: Any, val: Any) -> tuple[Digests, list[Digests]]:
    """Validate four times an epoch."""
    seen: Digests = []
    vals: list[Digests] = []
    for _ in range(EPOCHS):
        every = len(train) // 4
        for number, batch in enumerate(train, 1):
            seen.append(digest(batch))
            if number % every == 0 and number // every <= 4:
                vals.append([digest(batch) for batch in val])
    return seen, vals


DEVICES = ["cpu", "fake"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("kind", KINDS)
def test_own_loop(worlds, small_memory: None, kind: str, device: str) -> None:
    world = worlds(kind)
    train, val = world.pair(device)
    with train, val:
        world.check(*own_loop(train, val), validations=4 * EPOCHS)
        for loader in (train, val):
            assert loader.report().memory.peak_bytes <= MEMORY


@pytest.mark.parametrize("kind", KINDS)
def test_in_turn(worlds, small_memory: None, kind: str) -> None:
    """Two loaders, a batch of each in turn: neither starves the other."""
    world = worlds(kind)
    train, val = world.pair("cpu")
    with train, val:
        pairs = [(digest(one), digest(other)) for one, other in zip(train, val, strict=False)]
    assert [one for one, _ in pairs] == world.want[0][: len(pairs)]
    assert [other for _, other in pairs] == world.want_val[: len(pairs)]


@pytest.mark.parametrize("device", DEVICES)
def test_data_loaders(worlds, small_memory: None, device: str) -> None:
    world = worlds("rows")
    words = {"batch_size": world.options["batch_size"], "num_workers": 1, "seed": 3, "device": device}
    with (
        hr.torch.DataLoader(world.train, shuffle=True, **words) as train,
        hr.torch.DataLoader(world.val, **words) as val,
    ):
        world.check(*own_loop(train, val), validations=4 * EPOCHS)


@pytest.mark.parametrize(
    ("kind", "device", "sanity"),
    [("rows", "cpu", 0), ("rows", "fake", 2), ("windows", "cpu", 2), ("windows", "fake", 0)],
)
def test_lightning(worlds, small_memory: None, kind: str, device: str, sanity: int) -> None:
    pl = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    seen: Digests = []
    vals: list[Digests] = []

    class Model(pl.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch: Any, _number: int) -> Any:
            seen.append(digest(batch))
            return self.weight.sum()

        def on_validation_epoch_start(self) -> None:
            vals.append([])

        def validation_step(self, batch: Any, _number: int) -> None:
            vals[-1].append(digest(batch))

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), 0.1)

    world = worlds(kind)
    train, val = world.pair(device)
    with train, val:
        words = {"val_check_interval": 0.25, "num_sanity_val_steps": sanity, "enable_checkpointing": False}
        quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}
        pl.Trainer(**quiet, **words, max_epochs=EPOCHS).fit(Model(), train, val)
    if sanity:
        assert vals.pop(0) == world.want_val[:sanity]
    world.check(seen, vals, validations=4 * EPOCHS)


@pytest.mark.parametrize(("kind", "device"), [("windows", "cpu"), ("rows", "fake")])
def test_accelerate(worlds, small_memory: None, kind: str, device: str) -> None:
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    from headrace.accelerate import prepare

    world = worlds(kind)
    run = accelerate.Accelerator(cpu=True)
    train, val = world.pair(device)
    with train, val:
        world.check(*own_loop(prepare(train, run), prepare(val, run)), validations=4 * EPOCHS)


@pytest.mark.parametrize("strategy", ["epoch", "steps"])
@pytest.mark.parametrize("device", DEVICES)
def test_hugging_face(
    worlds, small_memory: None, tmp_path, monkeypatch: pytest.MonkeyPatch, device: str, strategy: str
) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    world = worlds("rows")
    train, val = world.pair(device)
    seen: Digests = []
    vals: list[Digests] = []

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x: Any, y: Any) -> Any:
            (seen if self.training else vals[-1]).append(digest({"x": x, "y": y}))
            return {"loss": self.weight.sum()}

    class Trainer(transformers.Trainer):  # type: ignore[name-defined,misc]
        def get_train_dataloader(self) -> Any:
            return train

        def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
            vals.append([])
            return val

    quiet = {"report_to": [], "use_cpu": True, "disable_tqdm": True, "logging_strategy": "no", "save_strategy": "no"}
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=EPOCHS,
        eval_strategy=strategy,
        eval_steps=len(train) // 4,
        prediction_loss_only=True,
        **quiet,
    )
    with train, val:
        Trainer(model=Model(), args=arguments, eval_dataset=[0]).train()
    world.check(seen, vals, validations=4 * EPOCHS if strategy == "steps" else EPOCHS)


@pytest.mark.parametrize("kind", ["rows", "patches", "windows"])
def test_jax(worlds, small_memory: None, kind: str) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    from headrace.jax import Loader

    world = worlds(kind)
    words = {**world.options, "seed": 3, "drop_last": False}
    with Loader(world.train, shuffle=True, **words) as train, Loader(world.val, **words) as val:
        seen: Digests = []
        vals: list[Digests] = []
        for number, batch in enumerate(train):
            seen.append(digest(batch))
            if number % 50 == 20:
                vals.append([digest(batch) for batch in val])
    assert seen == world.want[0][: len(seen)]
    assert vals and all(one == world.want_val[: len(one)] and one for one in vals)


def least_memory(world: World, device: str) -> int:
    """Return what is enough for either loader alone, just so."""
    bytes_ = 16384
    while True:
        hr.set_memory(bytes_)
        try:
            for loader in world.pair(device):
                with loader:
                    next(iter(loader))
            return bytes_
        except hr.OutOfBudgetError:
            bytes_ += bytes_ // 8


@pytest.mark.parametrize(("kind", "device"), list(zip(KINDS, ["cpu", "fake"] * 2, strict=True)))
def test_room_for_one(worlds, small_memory: None, kind: str, device: str) -> None:
    """What is enough for one is enough for both, in turn."""
    world = worlds(kind)
    memory = least_memory(world, device)
    train, val = world.pair(device)
    with train, val:
        world.check(*own_loop(train, val), validations=4 * EPOCHS)
        assert "  pauses" in train.explain()
        for loader in (train, val):
            assert loader.report().memory.peak_bytes <= memory


def test_a_third_loader_starts_beside_two(worlds, small_memory: None) -> None:
    """No loader is stopped for it: windows give slots."""
    world = worlds("rows")
    loaders = [world.loader(data) for data in (world.train, world.val, world.val)]
    epochs = [iter(loader) for loader in loaders]
    for _ in range(5):
        for epoch in epochs:
            next(epoch)
    for loader in loaders:
        assert "  pauses" not in loader.explain()
        assert "  in all" in loader.explain(), "threads of all loaders"
    for loader in loaders:
        loader.close()


def test_page_locked_memory_goes_with_the_other_memory(worlds, small_memory: None) -> None:
    world = worlds("rows")
    train, val = world.pair("fake")
    with train, val:
        epoch = iter(train)
        for _ in range(len(train)):
            next(epoch)  # and not its end: it is idle all the same
        assert train._delivery is not None
        assert train._delivery._copier is not None
        hr.set_memory(1)
        hr.set_memory(MEMORY)
        next(iter(val))
        assert train._delivery._copier is None
        assert next(epoch, None) is None
        assert [digest(batch) for batch in train] == world.want[1]


def test_a_dictionary_that_no_plan_has_ends_no_epoch(tmp_path, small_memory: None) -> None:
    """Plans of two loaders fill the memory; a Parquet dictionary's size is known only when its page is read."""
    random = np.random.default_rng(4)
    table = pa.table({f"c{i}": random.integers(0, 500, 60_000).astype("i4") for i in range(4)})
    pq.write_table(table.append_column("y", pa.array(range(60_000))), tmp_path / "a.parquet", row_group_size=4000)
    data = hr.open(tmp_path / "a.parquet")
    for memory in (2_000_000, 3_000_000, 4_500_000):
        hr.set_memory(memory)
        with hr.Loader(data, 512, shuffle=True, seed=1) as train, hr.Loader(data, 512, shuffle=True, seed=2) as val:
            rows = 0
            for number, batch in enumerate(train):
                rows += len(batch["y"])
                if number % 40 == 10:
                    assert sum(len(other["y"]) for other in val) == 60_000
        assert rows == 60_000
