"""Epochs: which samples come, in which order, and what ends an epoch."""

from __future__ import annotations

import numpy as np
import pytest
from jet_files import FIELDS, ROWS

import headrace as hr

TOTAL = sum(ROWS)


def rows_of(epoch) -> np.ndarray:
    """Row numbers an epoch delivered (the field y holds them)."""
    return np.concatenate([batch["y"].copy() for batch in epoch])


@pytest.mark.parametrize("batch_size", [1, 7, 64, 633, 1000])
def test_in_order(jets, batch_size: int) -> None:
    loader = hr.Loader(jets.open(), batch_size)
    first = 0
    batches = 0
    for batch in loader:
        batches += 1
        assert list(batch) == list(FIELDS)
        rows = len(batch["y"])
        assert jets.equals(batch, slice(first, first + rows))
        assert rows == min(batch_size, TOTAL - first)
        first += rows
    assert first == TOTAL
    assert batches == len(loader)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("batch_size", [16, 100])
def test_shuffled_is_a_permutation_with_matching_fields(jets, batch_size: int, threads: int) -> None:
    loader = hr.Loader(jets.open(), batch_size, shuffle=True, seed=7, threads=threads)
    rows = []
    for batch in loader:
        assert jets.equals(batch, batch["y"])
        rows.append(batch["y"].copy())
    rows = np.concatenate(rows)
    assert not np.array_equal(rows, np.arange(TOTAL))
    assert np.array_equal(np.sort(rows), np.arange(TOTAL))


def test_order_depends_on_seed_and_epoch_only(jets) -> None:
    def epochs(**options) -> list[np.ndarray]:
        loader = hr.Loader(jets.open(), 50, shuffle=True, **options)
        return [rows_of(loader) for _ in range(2)]

    first, second = epochs(seed=1)
    assert not np.array_equal(first, second)
    for options in ({"seed": 1, "threads": 1}, {"seed": 1, "threads": 3, "memory": "64MiB"}):
        again = epochs(**options)
        assert np.array_equal(first, again[0])
        assert np.array_equal(second, again[1])
    assert not np.array_equal(first, epochs(seed=2)[0])


def test_shuffle_spellings(jets) -> None:
    dataset = jets.open()
    block = rows_of(hr.Loader(dataset, 50, shuffle="block"))
    assert np.array_equal(block, rows_of(hr.Loader(dataset, 50, shuffle=True)))


@pytest.mark.parametrize("options", [{"drop_last": True}, {"tail": "drop"}, {"drop_last": True, "tail": "drop"}])
def test_drop_last(jets, options: dict) -> None:
    loader = hr.Loader(jets.open(), 100, shuffle=True, **options)
    batches = [len(batch["y"]) for batch in loader]
    assert batches == [100] * 6
    assert len(loader) == 6


def test_set_epoch_names_the_next_one(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, seed=3)
    epochs = [rows_of(loader) for _ in range(3)]
    for epoch in (2, 0, 1):
        loader.set_epoch(epoch)
        loader.set_epoch(epoch)
        assert np.array_equal(rows_of(loader), epochs[epoch])
    assert np.array_equal(rows_of(loader), epochs[2])


def test_every_iter_starts_the_next_epoch_also_after_break(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, seed=3)
    expected = [rows_of(loader) for _ in range(3)]
    loader.set_epoch(0)
    for _ in loader:
        break
    for i, _ in enumerate(loader):
        if i == 4:
            break
    assert np.array_equal(rows_of(loader), expected[2])


def test_a_second_iterator_ends_the_first(jets) -> None:
    loader = hr.Loader(jets.open(), 50)
    first = iter(loader)
    next(first)
    second = iter(loader)
    with pytest.raises(hr.ClosedError):
        for _ in first:
            pass
    with pytest.raises(hr.ClosedError):
        next(first)
    assert len(rows_of(second)) == TOTAL


def test_an_iterator_that_ended_stays_ended(jets) -> None:
    iterator = iter(hr.Loader(jets.open(), 500))
    assert iter(iterator) is iterator
    assert len(list(iterator)) == 2
    for _ in range(3):
        with pytest.raises(StopIteration):
            next(iterator)


def test_iterator_keeps_its_loader(jets) -> None:
    iterator = iter(hr.Loader(jets.open(), 50))
    assert len(rows_of(iterator)) == TOTAL


def test_paths_are_opened_with_all_fields(jets) -> None:
    with hr.Loader(jets.glob, 500) as loader:
        assert set(next(iter(loader))) == set(FIELDS.values())
    assert loader.dataset.closed
    assert len(rows_of({"y": batch["labels"]} for batch in hr.Loader(jets.paths, 500))) == TOTAL


def test_a_loader_goes_on_when_its_dataset_is_closed(jets) -> None:
    dataset = jets.open()
    loader = hr.Loader(dataset, 50)
    iterator = iter(loader)
    next(iterator)
    dataset.close()
    assert len(rows_of(iterator)) == TOTAL - 50
    assert len(rows_of(loader)) == TOTAL


@pytest.mark.parametrize("memory", ["600KiB", "1MiB", "1GiB"])
def test_a_loader_plans_anew_although_its_dataset_is_closed(jets, memory: str) -> None:
    """For the first epoch, where re-encoding is tried; after it has given its memory away; and for preload()."""
    with jets.open() as dataset:
        loader = hr.Loader(dataset, 50, shuffle=True, memory=memory)
    assert len(rows_of(loader)) == TOTAL
    loader._native.set_rank(0, 2)
    assert len(rows_of(loader)) < TOTAL
    assert jets.equals(loader.batch(3, 0), loader.batch(3, 0)["y"])
    with pytest.raises(hr.ClosedError):
        hr.Loader(dataset, 50)


def test_tuples(jets) -> None:
    for batch in hr.Loader(jets.open(), 100, batch_format="tuple"):
        assert isinstance(batch, tuple)
        assert jets.equals(dict(zip(FIELDS, batch, strict=True)), batch[2])


def test_close(jets) -> None:
    loader = hr.Loader(jets.open(), 50)
    iterator = iter(loader)
    held = next(iterator)
    loader.close()
    loader.close()
    assert loader.closed
    assert jets.equals(held, slice(0, 50))
    with pytest.raises(hr.ClosedError):
        next(iterator)
    with pytest.raises(hr.ClosedError):
        iter(loader)
    assert "closed" in repr(loader)
    assert loader.report().batches == 1


def test_global_batch_size_is_the_other_spelling(jets) -> None:
    assert len(hr.Loader(jets.open(), global_batch_size=100, rank=0, world_size=1)) == 7


def test_explain_and_repr(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, seed=11, memory="64MiB")
    assert "11" in loader.explain()
    assert "64" in loader.explain()
    assert "batch_size=50" in repr(loader)
    assert loader._repr_html_().startswith("<pre>")
    assert (loader.batch_size, loader.seed) == (50, 11)


def test_report(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, threads=2, memory="64MiB", cache="none")
    assert loader.report().batches == 0
    for _ in range(2):
        rows_of(loader)
    report = loader.report()
    assert (report.epochs_started, report.epochs_finished) == (2, 2)
    assert (report.batches, report.samples) == (2 * len(loader), 2 * TOTAL)
    assert report.delivered_bytes == 2 * TOTAL * loader.dataset.sample_bytes
    assert report.threads == 2
    assert report.read_amplification == pytest.approx(1.0)
    assert report.slow_path_chunks == 0
    assert report.slow_fields == []
    assert report.memory.budget_bytes == 64 << 20
    assert 0 < report.memory.peak_bytes <= report.memory.budget_bytes
    assert report.memory.held_over_bytes == 0
    stages = {stage.name: stage for stage in report.stages}
    assert {"read", "decode", "scatter"} <= set(stages)
    assert all(stage.seconds >= 0 for stage in report.stages)
    assert report.verdict in str(report)
    data = report.to_dict()
    assert isinstance(data, dict)
    assert data["batches"] == report.batches
    assert report._repr_html_().startswith("<pre>")


def test_what_json_says_is_an_attribute(jets) -> None:
    loader = hr.Loader(jets.open(), 50, shuffle=True, threads=1, memory="64MiB")
    rows_of(loader)
    report = loader.report()
    data = report.to_dict()
    assert {"rank", "world_size", "exactly_once", "row_sums"} <= set(data)
    parts = {"memory": report.memory, "cache": report.cache, "row_sums": report.row_sums, "mixing": report.mixing}
    for name, part in parts.items():
        assert {key: getattr(part, key) for key in data[name]} == data[name]
    stages = {s.name: {"seconds": s.seconds, "count": s.count, "bytes": s.bytes} for s in report.stages}
    assert stages == data["stages"]
    plain = set(data) - set(parts) - {"stages"}
    assert {key: getattr(report, key) for key in plain} == {key: data[key] for key in plain}
    assert (report.exactly_once, report.rank, report.world_size) == (True, 0, 1)
    assert (report.row_sums.rows, report.row_sums.sum_of_rows) == (TOTAL, sum(range(TOTAL)))


def test_report_while_running(jets) -> None:
    loader = hr.Loader(jets.open(), 50)
    for i, _ in enumerate(loader):
        assert loader.report().batches == i + 1


def test_set_memory(run_python) -> None:
    run_python("""
        hr.set_memory("256MiB")
        loader = hr.Loader(PATHS, 50)
        assert loader.report().memory.budget_bytes <= 256 << 20, loader.report().memory.budget_bytes
        for bad in (0, -1, 1.5, "much", True, None):
            try:
                hr.set_memory(bad)
            except ValueError as error:
                assert isinstance(error, hr.InvalidArgumentError)
            else:
                raise SystemExit(f"{bad!r} was taken")
    """)


def test_waits_for_batches_on_average_and_at_worst(jets) -> None:
    with hr.Loader(jets.open(), 20, threads=1, shuffle=True, cache="none") as loader:
        for _ in range(2):
            for _batch in loader:
                pass
        report = loader.report()
    assert report.batches == 64
    assert report.batch_wait_seconds * 64 == pytest.approx(report.consumer_wait_seconds)
    # The slowest, as there are less than a hundred: no less than the average, no more than all together.
    assert report.batch_wait_seconds <= report.batch_wait_p99_seconds <= report.consumer_wait_seconds * 9 / 8
    assert "ms each on average, 99 % within" in str(report)
    assert report.to_dict()["batch_wait_p99_seconds"] == report.batch_wait_p99_seconds
