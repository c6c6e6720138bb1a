"""Batches are what they were: golden_batches.json holds digests of whole epochs, and no setting may change one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from make_golden_batches import GOLDEN, SETTINGS, Case, Open, Setting, cases, deliver, everything

CASES = list(cases())


@pytest.fixture(scope="session")
def golden() -> dict[str, list[str]]:
    return json.loads(GOLDEN.read_text())


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Open]:
    return everything(tmp_path_factory.mktemp("golden"))


def settings_of(number: int, case: Case) -> list[Setting]:
    """All settings for the plain cases, one each, in turn, for the others."""
    plain = case.tail == "partial" and case.world == 1 and not case.resumed_at and "mixed" not in case.data
    return list(SETTINGS) if plain else [SETTINGS[number % len(SETTINGS)]]


def test_every_case_has_its_digests(golden: dict[str, list[str]]) -> None:
    assert list(golden) == [str(case) for case in CASES]
    twins = [(case, replace(case, resumed_at=0)) for case in CASES if case.resumed_at and not case.resumed_world]
    twins = [(str(case), str(whole)) for case, whole in twins if str(whole) in golden]
    assert len(twins) == 4
    assert all(golden[case] == golden[whole] for case, whole in twins)  # a stop in the middle changes nothing
    assert len({tuple(digests) for digests in golden.values()}) == len(golden) - len(twins)


@pytest.mark.parametrize("number", range(len(CASES)), ids=[str(case) for case in CASES])
def test_batches_are_what_they_were(
    number: int, golden: dict[str, list[str]], datasets: dict[str, Open], tmp_path: Path
) -> None:
    case = CASES[number]
    wrong = []
    for setting in settings_of(number, case):
        with datasets[case.data]() as dataset:
            got = deliver(case, dataset, setting.loader_options(tmp_path / setting.name))
        wrong += [
            f"{setting.name}, rank {rank}"
            for rank, (a, b) in enumerate(zip(got, golden[str(case)], strict=True))
            if a != b
        ]
    assert not wrong, f"{case}: other batches than before with {'; '.join(wrong)}"
