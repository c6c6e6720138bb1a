"""Fields of a report: what Python measures of copies is what the compiled list has, and prints of the parts."""

from __future__ import annotations

from typing import Any

import pytest

import headrace as hr
from headrace._device.figures import Figures


def test_figures_are_the_fields_that_are_listed() -> None:
    listed = {name for name, value in vars(hr.Report.ToDevice).items() if isinstance(value, property)}
    assert set(Figures("cuda:0").report()) == listed


def test_each_figure_is_read_and_each_is_needed(jets) -> None:
    names = Figures("cuda:0").report()
    figures: dict[str, Any] = {name: at for at, name in enumerate(names, 1)} | {"name": "cuda:0", "by_events": True}
    with hr.Loader(jets.open(), 50) as loader:
        report = loader._native.report(figures)
        assert {name: getattr(report.to_device, name) for name in names} == figures
        assert report.to_dict()["to_device"] == figures
        assert loader.report().to_device is None
        for name in names:
            with pytest.raises(hr.InternalError, match=rf"to_device\.{name}: missing"):
                loader._native.report({key: value for key, value in figures.items() if key != name})
        with pytest.raises(hr.InternalError, match=r"to_device\.batchs: there is no such key"):
            loader._native.report(figures | {"batchs": 1})
        with pytest.raises(hr.InternalError, match=r"to_device\.batches must be a whole number"):
            loader._native.report(figures | {"batches": "many"})


def test_parts_print_their_fields(jets) -> None:
    with hr.Loader(jets.open(), 50, shuffle=True) as loader:
        report = loader.report()
    assert repr(report.stages[0]).startswith("Report.Stage(name='plan', seconds=")
    assert repr(report.row_sums).startswith("Report.RowSums(epoch=0, rows=0, sum_of_rows=0, ")
    assert "complete=False" in repr(report.cache)
    assert repr(report.mixing) == (
        f"Report.Mixing(deff_blocks={report.mixing.deff_blocks}, deff_files={report.mixing.deff_files}, "
        f"mixed_bytes={report.mixing.mixed_bytes})"
    )
