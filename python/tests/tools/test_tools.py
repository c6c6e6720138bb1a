"""The command line's verbs as functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr
from headrace import transforms
from headrace.__main__ import command_line


def has_command_line() -> bool:
    try:
        return command_line().is_file()
    except FileNotFoundError:
        return False


def test_inspect(jets) -> None:
    result = hr.inspect(jets.glob)
    for word in ("feature_matrix", "gzip", "native"):
        assert word in str(result)
    assert isinstance(result.to_dict(), dict)
    assert not result.findings


def test_verify(jets) -> None:
    seen = []
    result = hr.verify(jets.paths, threads=2, progress=lambda done, total: seen.append((done, total)))
    assert not result.findings
    assert not result.bad_data
    assert all(0 <= done <= total for done, total in seen)


def test_verify_finds_damage(tmp_path: Path) -> None:
    path = write_h5(
        tmp_path / "v.h5", x=(np.arange(1000.0), {"chunks": (100,), "compression": "gzip", "fletcher32": True})
    )
    import h5py

    with h5py.File(path) as file:
        chunk = file["x"].id.get_chunk_info(3)
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset + chunk.size // 2] ^= 0xFF
    path.write_bytes(data)
    result = hr.verify(path)
    assert result.bad_data
    assert "x" in str(result)


def test_what_a_progress_function_raises_comes_out(jets) -> None:
    def progress(done: int, total: int) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        hr.verify(jets.glob, progress=progress)


def test_bench(jets) -> None:
    result = hr.bench(jets.glob, fields=["labels"], batch_size=50, epochs=2)
    assert isinstance(result.to_dict(), dict)
    assert str(result)
    assert str(hr.bench(hr.Loader(jets.open(), 50)))
    with pytest.raises(TypeError):
        hr.bench(hr.Loader(jets.open(), 50), batch_size=5)


def test_advise(jets, tmp_path: Path) -> None:
    result = hr.advise(jets.glob, fields={"x": "feature_matrix", "y": "labels"}, batch_size=50, target="1/s")
    data = result.to_dict()
    assert data["target"]["reached"]
    assert data["advised"]["threads"] >= 1
    assert data["advised"]["warm_samples_per_second"] > 0
    assert data["measured"]["seconds"] < 10
    for words in ("LIMIT", "STORAGE", "threads", "cache", "NEXT", "headrace bench"):
        assert words in str(result)
    assert result.exit_status == 0
    path = tmp_path / "run.yaml"
    hr.advise(jets.glob, batch_size=50, shuffle="exact", memory="64MiB", seed=7, write=path)
    loader = hr.load_run(path)
    assert (loader.batch_size, loader.seed) == (50, 7)
    assert sum(len(batch["labels"]) for batch in loader) == len(jets.open())


def test_advise_refuses_what_it_cannot_know(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="an order that is not known before it runs"):
        hr.advise(jets.glob, sampler=[1, 2, 3])
    with pytest.raises(hr.InvalidArgumentError, match="samples a second"):
        hr.advise(jets.glob, target="fast")
    with pytest.raises(TypeError, match="bath_size"):
        hr.advise(jets.glob, bath_size=5)
    with pytest.raises(hr.OutOfBudgetError):
        hr.advise(jets.glob, memory=1000)


def test_check_memory(jets) -> None:
    result = hr.check_memory(jets.glob, batch_size=50)
    data = result.to_dict()
    assert (result.exit_status, data["verdict"]) == (0, "fits")
    assert sum(part["bytes"] for part in data["components"]) == data["total_bytes"]
    assert [preset["name"] for preset in data["presets"]] == ["safe", "balanced", "max"]
    assert sum(limit["rules"] for limit in data["limits"]) == 1
    small = hr.check_memory(jets.glob, batch_size=50, memory=1000)
    assert small.exit_status == 11
    least = small.to_dict()["smallest_budget_bytes"]
    assert hr.check_memory(jets.glob, batch_size=50, memory=least).exit_status == 0
    with hr.Loader(jets.open(), 50, shuffle=True, memory=least) as loader:
        assert sum(len(batch["y"]) for batch in loader) == len(jets.open())


def test_check_memory_of_another_machine_and_of_what_transforms_make(jets) -> None:
    with pytest.raises(hr.InvalidArgumentError, match="not a size in bytes"):
        hr.check_memory(jets.glob, machine_memory="many")
    data = jets.open()
    with pytest.raises(hr.InvalidArgumentError, match="fields= is for files"):
        hr.check_memory(data, fields=["x"])
    there = hr.check_memory(data, batch_size=50, machine_memory="64GiB").to_dict()
    assert (there["machine_memory_bytes"], there["available_bytes"]) == (64 << 30, 64 << 30)
    wide = data.map(transforms.Cast("x", "float64"))
    both = [hr.check_memory(each, batch_size=50, cache="none") for each in (data, wide)]
    assert both[0].to_dict()["total_bytes"] < both[1].to_dict()["total_bytes"]
    with hr.Loader(wide, 50, shuffle=True, cache="none") as loader:
        outside = sum(p["bytes"] for p in both[1].to_dict()["components"] if not p["inside_budget"])
        assert loader.report().memory.planned_bytes == both[1].to_dict()["total_bytes"] - outside


def test_advise_takes_the_epochs_of_the_training(jets) -> None:
    assert "assumed" in str(hr.advise(jets.glob, batch_size=50))
    assert "assumed" not in str(hr.advise(jets.glob, batch_size=50, epochs=3))
    with pytest.raises(hr.InvalidArgumentError, match="epochs must be"):
        hr.advise(jets.glob, epochs=0)


def test_load_run(jets, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        f'data:   {{files: "{jets.glob}", fields: {{x: feature_matrix, y: labels}}}}\n'
        "loader: {batch_size: 50, shuffle: true, seed: 7, memory: 64MiB}\n"
    )
    loader = hr.load_run(path)
    assert list(loader.dataset.fields) == ["x", "y"]
    assert (loader.batch_size, loader.seed) == (50, 7)
    expected = hr.Loader(jets.open(), 50, shuffle=True, seed=7)
    for ours, theirs in zip(loader, expected, strict=True):
        assert np.array_equal(ours["y"], theirs["y"])


def test_load_run_names_the_nearest_key(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {files: a.h5}\nloader: {batch_sise: 50}\n")
    with pytest.raises(hr.InvalidArgumentError, match="batch_size"):
        hr.load_run(path)
    with pytest.raises(hr.FileMissingError):
        hr.load_run(tmp_path / "none.yaml")


def test_show_versions(capsys: pytest.CaptureFixture[str]) -> None:
    hr.show_versions()
    out = capsys.readouterr().out
    for name in ("python", "numpy", "headrace", "hdf5"):
        assert name in out.lower()
    assert hr.__version__ in out


@pytest.mark.skipif(not has_command_line(), reason="this installation has no command line")
def test_demo(tmp_path: Path) -> None:
    summary = hr.demo(tmp_path / "demo", jets=300, seed=1)
    assert isinstance(summary, dict)
    assert len(hr.open(str(tmp_path / "demo" / "*.h5"))) == 300
    with pytest.raises(hr.InvalidArgumentError, match="kind must be one of 'jets', not 'nonsense'"):
        hr.demo(tmp_path / "demo", kind="nonsense")
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(hr.WriteFailedError, match="file"):
        hr.demo(tmp_path / "file" / "demo", jets=300)
