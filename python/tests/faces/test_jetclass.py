"""The data module of the JetClass scripts: its batches, its knobs, and the 2,000 real jets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jet_files import write_h5
from lightning_runs import noting_model, package, trainer
from real_data import needed

import headrace as hr

package()
import torch  # noqa: E402

from headrace._programs.jetclass import PRESETS  # noqa: E402
from headrace.lightning import JetClassLightningDataModule  # noqa: E402

PARTICLES, SENTINEL = 12, -999.0
KEYS = ["node_features", "edge_features", "labels", "n_particles"]


def triangle(values: np.ndarray, present: int, *, packed: bool) -> np.ndarray:
    """Flatten a symmetric matrix as files have it: the triangle of those present first, or that of all particles."""
    whole = np.full((len(values), len(values), *values.shape[2:]), SENTINEL, np.float32)
    whole[:present, :present] = values[:present, :present]
    flat = whole[np.triu_indices(len(values), k=1)]
    if not packed:
        return flat
    real = values[np.triu_indices(present, k=1)] if present > 1 else flat[:0]
    return np.concatenate([real, np.full_like(flat[len(real) :], SENTINEL)])


def made(rows: int, features: tuple[int, ...], *, packed: bool, seed: int = 0) -> dict[str, np.ndarray]:
    """Jets with 0 to all particles, and the matrices that their pairs are of."""
    random = np.random.default_rng(seed)
    count = random.integers(0, PARTICLES + 1, rows)
    count[:7] = (0, 1, 2, PARTICLES, 3, 3, 3)
    nodes = random.normal(size=(rows, PARTICLES, 4)).astype(np.float32)
    nodes[np.arange(PARTICLES) >= count[:, None]] = 0
    for row, feature in ((5, 0), (6, 3)):  # a particle with one feature that is not 0 is a particle
        nodes[row, 0, np.arange(4) != feature] = 0
    dense = np.zeros((rows, PARTICLES, PARTICLES, *features), np.float32)
    flat = []
    for row, present in enumerate(count):
        upper = np.triu(random.normal(size=(*features, PARTICLES, PARTICLES)), k=1)
        upper[..., present:] = 0
        matrix = np.moveaxis(upper + np.swapaxes(upper, -1, -2), (-2, -1), (0, 1)).astype(np.float32)
        dense[row] = matrix
        flat.append(triangle(matrix, int(present), packed=packed))
    return {"nodes": nodes, "flat": np.stack(flat), "dense": dense, "count": count, "labels": np.arange(rows)}


def write(path: Path, jets: dict[str, np.ndarray]) -> Path:
    arrays = {"feature_matrix": jets["nodes"], "adjacency_matrix": jets["flat"]}
    chunked = {
        name: (array, {"chunks": (32, *array.shape[1:]), "compression": "gzip"}) for name, array in arrays.items()
    }
    return write_h5(path, **chunked, labels=jets["labels"].astype(np.int32))


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "in place"])
@pytest.mark.parametrize("features", [(), (3,)], ids=["one", "three"])
def test_pairs_become_symmetric_matrices(tmp_path, features: tuple[int, ...], packed: bool) -> None:
    jets = made(300, features, packed=packed)
    data = JetClassLightningDataModule(write(tmp_path / "a.h5", jets), batch_size=300, shuffle=False)
    [batch] = data.train_dataloader()
    assert batch["edge_features"].dtype == torch.float32
    assert np.array_equal(batch["edge_features"].numpy(), jets["dense"])
    wrong = {True: "triu_max", False: "triu_n"}[packed]
    with pytest.raises(hr.CorruptDataError, match="edge_features"):
        next(iter(JetClassLightningDataModule(tmp_path / "a.h5", layout=wrong).train_dataloader()))


def test_a_layout_has_a_name(tmp_path) -> None:
    path = write(tmp_path / "a.h5", made(40, (), packed=True))
    with pytest.raises(hr.InvalidArgumentError, match="layout must be one of None, 'triu_max', 'triu_n'"):
        JetClassLightningDataModule(path, layout="triu")


def test_matrices_are_delivered_as_they_are(tmp_path) -> None:
    jets = made(40, (), packed=True)
    write(tmp_path / "a.h5", {**jets, "flat": jets["dense"]})
    batch = next(iter(JetClassLightningDataModule(tmp_path / "a.h5", shuffle=False).train_dataloader()))
    assert np.array_equal(batch["edge_features"].numpy(), jets["dense"])


def test_pairs_that_are_no_triangle_are_an_error(tmp_path) -> None:
    jets = made(40, (), packed=True)
    jets["flat"] = jets["flat"][:, :60]
    data = JetClassLightningDataModule(write(tmp_path / "a.h5", jets))
    with pytest.raises(hr.InvalidArgumentError, match="60"):
        data.setup()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jetclass")
    for number, name in enumerate(("train", "val", "test")):
        write(folder / f"{name}.h5", made(200, (3,), packed=True, seed=number))
    return folder


def module(folder: Path, **words: Any) -> JetClassLightningDataModule:
    named = {f"{name}_files": folder / f"{name}.h5" for name in ("train", "val", "test")}
    return JetClassLightningDataModule(**{**named, "batch_size": 64, **words})


def test_batches_have_the_keys_of_the_scripts(files: Path) -> None:
    jets = made(200, (3,), packed=True)
    seen = []
    for batch in module(files).train_dataloader():
        assert list(batch) == KEYS
        rows = batch["labels"].numpy()
        seen.extend(rows)
        assert batch["labels"].dtype == batch["n_particles"].dtype == torch.int64
        assert np.array_equal(batch["node_features"].numpy(), jets["nodes"][rows])
        assert np.array_equal(batch["edge_features"].numpy(), jets["dense"][rows])
        assert np.array_equal(batch["n_particles"].numpy(), jets["count"][rows])
    assert sorted(seen) == list(range(200))
    flat = next(iter(module(files, reconstruct_full_adjacency=False).val_dataloader()))
    assert np.array_equal(flat["edge_features"].numpy(), made(200, (3,), packed=True, seed=1)["flat"][:64])


def test_further_fields_and_functions(files: Path) -> None:
    data = module(files, fields={"again": "labels"}, column_fn=lambda batch: batch["again"].tolist())
    assert next(iter(data.test_dataloader())) == list(range(64))


# --- knobs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """What Lightning's logger said."""
    names = ("lightning.pytorch", "pytorch_lightning")
    loggers = [logging.getLogger(f"{name}.utilities.rank_zero") for name in names]
    texts: list[str] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(record.getMessage())

    keep = Keep()
    for logger in loggers:
        logger.addHandler(keep)
    yield texts
    for logger in loggers:
        logger.removeHandler(keep)


KNOBS: dict[str, Any] = {
    "read_chunk_size": 2048,
    "max_cached_chunks": 20,
    "num_workers": 8,
    "prefetch_factor": 4,
    "preload_to_ram": False,
    "reconstruct_full_adjacency": True,
    "persistent_workers": True,
    "pin_memory": True,
}


def test_what_the_knobs_became_is_said_once(files: Path, said: list[str]) -> None:
    data = module(files, **KNOBS)
    loader = data.train_dataloader()
    data.val_dataloader()
    data.train_dataloader()
    [text] = [text for text in said if "became" in text]
    for knob, value in KNOBS.items():
        assert f"  {knob}" in text
        assert str(value) in text
    row = sum(field.row_bytes for field in data.train_dataset.fields.values())
    assert loader.report().memory.budget_bytes == min(8 * 20 * 2048 * row, plain(files).memory.budget_bytes)
    assert loader.report().threads <= plain(files).threads


def plain(files: Path, **words: Any) -> Any:
    return module(files, **words).train_dataloader().report()


def test_nothing_is_said_where_no_knob_was_given(files: Path, said: list[str]) -> None:
    module(files).train_dataloader()
    assert not [text for text in said if "became" in text]


def test_the_table_tells_what_was_given_from_what_the_preset_gave(files: Path, said: list[str]) -> None:
    module(files, preset="medium", prefetch_factor=3).train_dataloader()
    [text] = [text for text in said if "became" in text]
    rows = dict(line.split(maxsplit=1) for line in text.splitlines()[2:])
    assert rows["read_chunk_size"].startswith('4096 (preset="medium")')
    assert rows["prefetch_factor"].startswith("3  ")
    assert rows["reconstruct_full_adjacency"].startswith("(default)")
    assert not {"persistent_workers", "pin_memory"} & set(rows)


def test_a_module_knows_whether_it_fits_another_machine(files: Path) -> None:
    data = module(files, cache="none")
    there, here = data.check_memory("64GiB").to_dict(), data.check_memory().to_dict()
    assert (there["machine_memory_bytes"], here["machine_memory_bytes"]) == (64 << 30, None)
    held = sum(part["bytes"] for part in here["components"] if part["inside_budget"])
    assert held == data.train_dataloader().report().memory.planned_bytes  # of matrices, not of triangles
    with pytest.raises(hr.InvalidArgumentError, match="no train_files"):
        JetClassLightningDataModule(val_files=files).check_memory()


def test_knobs_only_lower_what_is_automatic(files: Path, said: list[str]) -> None:
    automatic = plain(files)
    assert plain(files, num_workers=1).threads == 1
    assert plain(files, num_workers=4000).threads == automatic.threads
    assert plain(files, num_workers=0).threads == automatic.threads
    huge = plain(files, read_chunk_size=2**40, max_cached_chunks=2**10)
    assert huge.memory.budget_bytes > 100 * 2**20
    small = plain(files, memory="80MiB", read_chunk_size=2**40, max_cached_chunks=2**10)
    assert small.memory.budget_bytes == 60 * 2**20  # training's three quarters
    tiny = module(files, read_chunk_size=1, max_cached_chunks=0)
    assert sum(1 for _ in tiny.train_dataloader()) == 4  # the least that will do
    assert tiny.train_dataloader().report().memory.budget_bytes < 2 * 2**20
    assert "the least that will do" in said[-1]


def test_preloading_is_bounded_by_the_memory(tmp_path, files: Path) -> None:
    fits = module(files, preload_to_ram=True).train_dataloader()
    next(iter(fits))
    assert fits.report().cache.kind == "rows" or "all rows" in fits.explain()
    noise = np.random.default_rng(1).normal(size=(20000, PARTICLES, 4)).astype(np.float32)
    write_h5(tmp_path / "large.h5", feature_matrix=(noise, {"chunks": (100, PARTICLES, 4)}), labels=np.arange(20000))
    words = {"preload_to_ram": True, "memory": "2MiB", "reconstruct_full_adjacency": False}
    data = JetClassLightningDataModule(
        hr.open(tmp_path / "large.h5", {"node_features": "feature_matrix", "labels": "labels"}), batch_size=64, **words
    )
    with pytest.warns(hr.HeadraceWarning, match="do not fit"):
        loader = data.train_dataloader()
    assert sum(len(batch["labels"]) for batch in loader) == 20000


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_the_published_configurations(files: Path, preset: str, said: list[str]) -> None:
    data = module(files, preset=preset, batch_size=None)
    data.train_dataloader()
    assert data.batch_size == {"small": 2048, "medium": 512, "large": 1024}[preset]
    lines = {line.split()[0]: line.split()[1] for line in said[-1].splitlines()[2:-1]}
    expected = {name: str(value) for name, value in PRESETS[preset].items() if name != "batch_size"}
    assert expected.items() <= lines.items()
    assert module(files, preset=preset, num_workers=1, batch_size=7)._knobs.num_workers == 1
    assert module(files, preset=preset, batch_size=7).batch_size == 7


def test_wrong_words(files: Path) -> None:
    with pytest.raises(hr.UnknownArgumentError, match="Did you mean 'reconstruct_full_adjacency'") as caught:
        module(files, reconstruct_full_adjacancy=True)
    assert "JetClassLightningDataModule has no argument" in str(caught.value)
    with pytest.raises(hr.UnknownArgumentError, match="transforms="):
        module(files, val_transform=print)
    with pytest.raises(hr.InvalidArgumentError, match="needs a field node_features; this data set has labels"):
        module(files, train_files=hr.open(files / "val.h5", ["labels"])).setup("fit")
    with pytest.raises(hr.InvalidArgumentError, match="Did you mean 'medium'"):
        module(files, preset="mediun")
    with pytest.raises(hr.InvalidArgumentError, match="max_cached_chunks"):
        module(files, max_cached_chunks=1.5)


# --- real jets -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real_jets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, np.ndarray]:
    """The 2,000 jets in four files, their four-vectors (jets, particles, 4), and their masks."""
    folder = needed("jetclass")
    vectors = np.load(folder / "jc_kin_pf_vectors.npy").transpose(0, 2, 1)
    points = np.load(folder / "jc_kin_pf_points.npy").transpose(0, 2, 1)
    mask = np.load(folder / "jc_kin_pf_mask.npy")[:, 0].astype(bool)
    out = tmp_path_factory.mktemp("real")
    first, second = np.triu_indices(vectors.shape[1], k=1)
    for number, rows in enumerate(np.array_split(np.arange(len(vectors)), 4)):
        distance = np.linalg.norm(points[rows][:, first] - points[rows][:, second], axis=-1).astype(np.float32)
        distance[~(mask[rows][:, first] & mask[rows][:, second])] = SENTINEL
        arrays = {"feature_matrix": vectors[rows], "adjacency_matrix": distance}
        chunks = {
            name: (array, {"chunks": (128, *array.shape[1:]), "compression": "gzip", "compression_opts": 1})
            for name, array in arrays.items()
        }
        write_h5(out / f"train_{number}.h5", **chunks, labels=rows)
    return out, vectors, mask


@pytest.mark.filterwarnings("ignore")
def test_real_jets_under_the_trainer(real_jets: tuple[Path, np.ndarray, np.ndarray], tmp_path: Path) -> None:
    folder, vectors, mask = real_jets
    lightning = package()

    def make() -> JetClassLightningDataModule:
        return JetClassLightningDataModule(
            train_files=str(folder / "train_*.h5"),
            val_files=str(folder / "train_3.h5"),
            test_files=str(folder / "train_0.h5"),
            **{**KNOBS, "batch_size": 512},
        )

    for batch in make().train_dataloader():
        rows = batch["labels"].numpy()
        assert np.array_equal(batch["node_features"].numpy(), vectors[rows])
        assert np.array_equal(batch["n_particles"].numpy(), mask[rows].sum(1))
        edges = batch["edge_features"].numpy()
        assert np.array_equal(edges, edges.transpose(0, 2, 1))
        assert np.all(edges[~(mask[rows][:, :, None] & mask[rows][:, None])] == 0)
        assert edges.min() == 0 < edges.max()

    def save(model: Any, number: int) -> None:
        if (model.current_epoch, number) == (1, 1):
            model.trainer.save_checkpoint(tmp_path / "c.ckpt")

    whole, rest = noting_model(lightning, save, "labels"), noting_model(lightning, None, "labels")
    trainer(lightning, max_epochs=2).fit(whole, make())
    trainer(lightning, max_epochs=2).fit(rest, make(), ckpt_path=tmp_path / "c.ckpt")
    assert all(sorted(rows) == list(range(2000)) for rows in whole.seen["train"].values())
    assert rest.seen["train"] == {1: whole.seen["train"][1][2 * 512 :]}
    assert whole.seen["val"][0] == list(range(1500, 2000))
