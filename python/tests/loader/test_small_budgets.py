"""A tenth of the data in memory: what explain() and report() name decodes every block once in that budget."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jet_files import write_h5

import headrace as hr

ROWS, WIDTH, CHUNK = 20_480, 256, 64  # 20 MiB decoded in 320 blocks


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> hr.Dataset:
    path = tmp_path_factory.mktemp("small") / "a.h5"
    x = np.random.default_rng(3).integers(0, 50, (ROWS, WIDTH)).astype("f4")
    write_h5(path, x=(x, {"chunks": (CHUNK, WIDTH), "compression": "gzip", "compression_opts": 1}))
    return hr.open(path)


OPTIONS: dict[str, Any] = {"batch_size": 32, "seed": 7, "cache": "none", "threads": 1}


def epoch_of(data: hr.Dataset, **options: Any) -> tuple[hr.Loader, hr.Report]:
    loader = hr.Loader(data, **{**OPTIONS, "shuffle": True, **options})
    assert sum(len(batch["x"]) for batch in loader) == ROWS
    report = loader.report()
    loader.close()
    return loader, report


@pytest.mark.parametrize("shuffle", [True, "exact"])
def test_at_a_tenth_of_the_data_the_named_buffer_decodes_blocks_once(data: hr.Dataset, shuffle: Any) -> None:
    memory = ROWS * WIDTH * 4 // 10
    loader, report = epoch_of(data, memory=memory, shuffle=shuffle)
    assert report.read_amplification > 1.5
    once = report.decode_once
    assert once is not None
    assert once.shuffle_buffer_bytes > 0
    assert once.deff > once.deff_now
    assert 1 < once.speedup <= report.read_amplification
    text = f'shuffle_buffer="{once.shuffle_buffer_bytes >> 10}KiB"'
    if once.shuffle_buffer_bytes % (1 << 20) == 0:
        text = f'shuffle_buffer="{once.shuffle_buffer_bytes >> 20}MiB"'
    assert text in report.advice[0]
    assert "every block would be decoded once" in report.advice[0]
    assert "Deff" in report.advice[0]
    assert f"DO         {report.advice[0][:20]}" in str(report)
    assert f"{text}, in this budget" in loader.explain()
    assert json.loads(report.to_json())["decode_once"]["shuffle_buffer_bytes"] == once.shuffle_buffer_bytes

    _, named = epoch_of(data, memory=memory, shuffle_buffer=re.search(r'"(.*?)"', text).group(1))
    assert named.read_amplification == pytest.approx(1, abs=0.01)
    assert named.decode_once is None
    assert named.memory.peak_bytes <= memory
    if shuffle is True:
        _, more = epoch_of(data, memory=once.memory_bytes)
        assert more.read_amplification == pytest.approx(1, abs=0.01)


def test_the_order_report_knows_the_deff_of_the_label(tmp_path: Path) -> None:
    x = np.random.default_rng(3).integers(0, 50, (8192, WIDTH)).astype("f4")
    label = np.repeat(np.random.default_rng(4).permutation(8), 1024)
    path = write_h5(tmp_path / "a.h5", x=(x, {"chunks": (CHUNK, WIDTH), "compression": "gzip"}), y=label)
    with hr.open(path) as data, hr.Loader(data, **OPTIONS, shuffle=True, memory=ROWS * WIDTH * 4 // 10) as loader:
        named = loader.report().decode_once
        assert named is not None
        result = loader.order_report(by="y").to_dict()
        [fits] = [choice for choice in result["choices"] if choice["fits"]]
        assert "shuffle_buffer=" in fits["name"]
        assert fits["memory_bytes"] <= ROWS * WIDTH * 4 // 10 * 1.01
        assert fits["effect"] != pytest.approx(fits["quality"]["block_effect"])  # the label's own, not the worst case
        assert f"with {fits['name']} it would decode each once" in " ".join(str(loader.order_report(by="y")).split())


def test_where_nothing_fits_it_says_what_else_to_do(tmp_path: Path) -> None:
    x = np.random.default_rng(3).integers(0, 50, (8192, WIDTH)).astype("f4")
    path = write_h5(tmp_path / "a.h5", x=(x, {"chunks": (2048, WIDTH), "compression": "gzip"}))
    with hr.open(path) as data, hr.Loader(data, **OPTIONS, shuffle=True, memory="5MiB") as loader:
        for _ in loader:
            pass
        report = loader.report()
        assert report.decode_once.shuffle_buffer_bytes == 0
        assert "no shuffle_buffer= decodes each block once in this budget" in report.advice[0]
        assert "smaller batch_size" in report.advice[0]
        least = re.search(r'memory="(\d+MiB)"', report.advice[0]).group(1)
    with hr.open(path) as data, hr.Loader(data, **OPTIONS, shuffle=True, memory=least) as loader:
        assert (once := loader.report().decode_once) is None or once.shuffle_buffer_bytes > 0


def test_with_enough_memory_nothing_is_named(data: hr.Dataset) -> None:
    _, report = epoch_of(data, memory="64MiB")
    assert report.decode_once is None
    assert "shuffle_buffer" not in str(report)
