"""The command line over Parquet files: inspect, bench, order, advise, check-memory and cache."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
from cli_program import run
from twin_files import TOTAL, Twins, batches_of, make_columns, told, write_parquet

import headrace as hr

# --- inspect ---------------------------------------------------------------------------------------------------------


def test_inspect(twins: Twins) -> None:
    done = run("inspect", "a_*.parquet", cwd=twins.folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith("a_1.parquet\n  Parquet")
    for words in ("float32", "bool", "int32", "dictionary + snappy", "97 rows", "native", "2 more files"):
        assert words in done.stdout, words
    assert max(map(len, done.stdout.splitlines())) <= 100
    files = told("inspect", twins.glob())["files"]
    assert [Path(file["path"]).name for file in files] == ["a_1.parquet", "a_2.parquet", "a_10.parquet"]
    arrays = {array["path"]: array for array in files[0]["arrays"]}
    assert set(arrays) == set(twins.columns)
    assert all(array["read_path"] == "native" for array in arrays.values())


def test_inspect_files_of_one_row_group_each(tmp_path: Path) -> None:
    """They differ in rows alone: that is not another layout, as it is none where HDF5 arrays lie in one piece."""
    for number, rows in enumerate((50, 60, 70)):
        write_parquet(tmp_path / f"b_{number}.parquet", make_columns(rows, number))
    done = run("inspect", f"{tmp_path}/b_*.parquet")
    assert "unlike the first" not in done.stdout
    assert done.returncode == 0


def test_inspect_tells_what_is_refused(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "t.parquet", {**make_columns(50, 1), "words": ["a", "bb"] * 25, "l": [[[1]]] * 50})
    done = run("inspect", path)
    assert done.returncode == 1
    assert "Refused" in done.stdout
    arrays = {array["path"]: array for array in told("inspect", path, status=1)["files"][0]["arrays"]}
    assert arrays["words"]["read_path"] == "refused"
    assert "a list of lists" in arrays["l"]["reason"]


# --- bench, order, advise, check-memory ------------------------------------------------------------------------------


def test_bench(twins: Twins) -> None:
    data = told("bench", twins.glob(), "--fields", "n=id,x,event", "--batch-size", 64, "--epochs", 2, "--cache", "none")
    assert data["samples"] == 2 * TOTAL
    assert data["report"]["read_amplification"] == pytest.approx(1.0)
    assert data["report"]["slow_path_chunks"] == 0
    assert "samples/s" in run("bench", twins.glob()).stdout
    done = run("bench", twins.glob(), "--fields", "n=idd")
    assert done.returncode == 2
    assert "id" in done.stderr
    assert run("bench", twins.glob(), "--memory", "1KiB").returncode == 4


def test_bench_rows_without_a_value(tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "a.parquet", {"x": [1.5, None, 2.5]})
    done = run("bench", path)
    assert done.returncode == 2
    assert "row 1 has no value" in done.stderr
    (tmp_path / "run.yaml").write_text("data: {files: a.parquet, nulls: fill}\nloader: {batch_size: 2}\n")
    assert told("bench", tmp_path / "run.yaml")["samples"] == 3


def test_order(twins: Twins) -> None:
    done = run("order", twins.glob(), "--batch-size", 32, "--by", "y")
    assert done.returncode == 0, done.stderr
    assert "LABEL" in done.stdout
    assert told("order", twins.glob(), "--batch-size", 32, "--exact")


def test_advise_and_check_memory(twins: Twins, tmp_path: Path) -> None:
    written = tmp_path / "run.yaml"
    done = run("advise", twins.glob(), "--batch-size", 64, "--target", "5/s", "--write", written)
    assert done.returncode == 0, done.stderr
    for words in ("DATA", "MACHINE", "LIMIT", "TARGET", "balanced", "NEXT"):
        assert words in done.stdout
    assert told("bench", written)["samples"] == TOTAL
    least = told("check-memory", twins.glob(), "--memory", "1KiB", status=11)["smallest_budget_bytes"]
    assert run("check-memory", twins.glob(), "--memory", least).returncode == 0
    assert run("bench", twins.glob(), "--memory", least).returncode == 0


def test_advice_about_rewriting_can_be_followed(twins: Twins, tmp_path: Path) -> None:
    """Where it speaks of files that load faster, `rewrite` makes them."""
    done = run("rewrite", twins.glob(), "--to", tmp_path / "fast", "--quiet")
    advised = " --to fast/" in run("advise", twins.glob(), "--fields", "id,x").stdout
    assert done.returncode == 0 or not advised, done.stderr


# --- caches ----------------------------------------------------------------------------------------------------------


def test_cache_verbs(twins: Twins, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    done = run("cache", "build", twins.glob(), "--to", directory)
    assert done.returncode == 0, done.stderr
    (cache,) = told("cache", "ls", directory)["caches"]
    assert (cache["state"], cache["rows"], set(cache["fields"])) == ("valid", TOTAL, set(twins.columns))
    assert [Path(source).name for source in cache["sources"]] == ["a_1.parquet", "a_2.parquet", "a_10.parquet"]
    assert run("cache", "verify", directory).returncode == 0
    with hr.Loader(hr.open(twins.glob()), 32, shuffle=True, cache=directory) as loader:
        twins.check_epoch(batches_of(loader))
        assert json.loads(loader.report().to_json())["chunks_decoded"] == 0
    assert told("cache", "ls", directory)["caches"] == [cache]
    write_parquet(twins.folder / "a_1.parquet", make_columns(300, 1))  # the same once more, at another time
    assert told("cache", "ls", directory, status=1)["caches"][0]["state"] != "valid"
    assert run("cache", "rm", directory, cache["name"]).returncode == 0
