"""Batches belong to the code that holds them: no copy, no sharing, no stall, valid as long as held."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """4,096 rows of 4 KiB: 16 MiB, several times the smallest budgets."""
    x = np.arange(4096 * 1024, dtype=np.float32).reshape(4096, 1024)
    path = write_h5(tmp_path_factory.mktemp("wide") / "w.h5", x=(x, {"chunks": (64, 1024)}), y=np.arange(4096))
    return path, x


def test_arrays_lie_in_memory_as_numpy_likes_it(jets) -> None:
    for batch in hr.Loader(jets.open(), 100, shuffle=True):
        for array in batch.values():
            assert type(array) is np.ndarray
            assert array.flags.writeable
            assert array.flags.c_contiguous
            assert array.flags.aligned
            assert array.ctypes.data % 64 == 0


def test_list_of_a_loader(wide) -> None:
    path, x = wide
    loader = hr.Loader(path, 128, memory="8MiB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        batches = list(loader)
    assert len(batches) == len(loader) == 32
    assert np.array_equal(np.concatenate([batch["x"] for batch in batches]), x)


def test_held_batches_are_not_overwritten(wide) -> None:
    path, x = wide
    loader = hr.Loader(path, 128, memory="8MiB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hr.HeadraceWarning)
        held = [batch for i, batch in enumerate(loader) if i % 3 == 0]
        for _ in loader:
            pass
    loader.close()
    for batch in held:
        assert np.array_equal(batch["x"], x[batch["y"]])


def test_writing_into_a_batch_touches_nothing_else(jets) -> None:
    loader = hr.Loader(jets.open(), 64)
    for batch in loader:
        for array in batch.values():
            array[...] = 0
    first = 0
    for batch in loader:
        assert jets.equals(batch, slice(first, first + len(batch["y"])))
        first += len(batch["y"])


def test_one_array_outlives_its_batch_loader_and_data_set(jets) -> None:
    loader = hr.Loader(jets.open(), 64)
    kept = next(iter(loader))["x"]
    view = kept[3:5]
    loader.close()
    del loader, kept
    gc.collect()
    assert np.array_equal(view, jets.x[3:5])


def test_loader_that_is_collected_while_batches_are_held(jets) -> None:
    batches = []
    for seed in range(5):
        for batch in hr.Loader(jets.open(), 50, shuffle=True, seed=seed):
            batches.append(batch)
            if len(batches) % 3 == 0:
                break
    gc.collect()
    for batch in batches:
        assert jets.equals(batch, batch["y"])


def test_held_memory_beyond_the_budget_warns_once_with_figures(wide) -> None:
    path, _ = wide
    loader = hr.Loader(path, 128, memory="8MiB")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        held = list(loader) + list(loader)
    ours = [w for w in caught if issubclass(w.category, hr.HeadraceWarning)]
    assert len(ours) == 1
    assert "MiB" in str(ours[0].message)
    assert ours[0].filename == __file__
    assert loader.report().memory.held_over_bytes > 0
    del held


def test_batches_that_are_dropped_do_not_warn(wide) -> None:
    path, _ = wide
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = hr.Loader(path, 128, memory="8MiB")
        for _ in range(3):
            for _batch in loader:
                pass
    assert loader.report().memory.held_over_bytes == 0


def test_memory_comes_back_when_batches_go(wide) -> None:
    """The same slots serve many epochs: what the loader holds does not grow."""
    path, _ = wide
    loader = hr.Loader(path, 128, memory="8MiB")
    for _ in range(4):
        for _batch in loader:
            pass
    memory = loader.report().memory
    assert memory.peak_bytes <= memory.budget_bytes


def test_torch_shares_the_memory_and_outlives_the_loader(jets) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    loader = hr.Loader(jets.open(), 64, framework="torch")
    kept = []
    for batch in loader:
        assert all(isinstance(tensor, torch.Tensor) for tensor in batch.values())
        assert all(tensor.is_contiguous() and tensor.device.type == "cpu" for tensor in batch.values())
        kept.append(batch["x"])
        batch["y"].add_(1)
    loader.close()
    del loader, batch
    gc.collect()
    assert np.array_equal(torch.cat(kept).numpy(), jets.x)


def test_torch_tuples(jets) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x, adj, y = next(iter(hr.Loader(jets.open(), 64, framework="torch", batch_format="tuple")))
    assert (x.dtype, adj.dtype, y.dtype) == (torch.float32, torch.float32, torch.int64)
    assert (tuple(x.shape), tuple(adj.shape), tuple(y.shape)) == ((64, 8, 4), (64, 10), (64,))


def test_torch_tensors_let_go_on_any_thread(jets) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    import threading

    boxes = [[batch] for batch in hr.Loader(jets.open(), 16, framework="torch")]
    threads = [threading.Thread(target=boxes[i].clear) for i in range(len(boxes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(boxes)
