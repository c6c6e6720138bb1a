"""Every kind of sample with every feature: it works, or is refused by the error that a table has.

`pytest python/tests/matrix -k windows-cache` tries some cells; each is called KIND-FEATURE.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from python.tests.matrix import refused
from python.tests.matrix.kinds import Kind
from python.tests.matrix.more_features import FEATURES
from python.tests.matrix.more_kinds import MADE
from scripts.write_kinds import PAGE, page

import headrace as hr

CELLS = [(kind, feature) for kind in refused.KINDS for feature in refused.FEATURES]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Kind]:
    """Make a kind once, when it is first asked for."""
    kinds: dict[str, Kind] = {}

    def get(name: str) -> Kind:
        if name not in kinds:
            kinds[name] = MADE[name](tmp_path_factory.mktemp(name))
        return kinds[name]

    return get


@pytest.mark.filterwarnings("ignore:whole (files|groups) do not make these shares", "ignore:the key .* ends")
@pytest.mark.parametrize(("name", "feature"), CELLS, ids=["-".join(cell) for cell in CELLS])
def test_a_kind_with_a_feature(name: str, feature: str, made: Callable[[str], Kind], tmp_path: Path) -> None:
    kind, cell = made(name), (name, feature)
    said = refused.REFUSED.get(cell, ("", ""))[0]
    if not said:
        FEATURES[feature](kind, tmp_path)
        return
    with pytest.raises(hr.Error, match=said):
        FEATURES[feature](kind, tmp_path)


def test_the_tables_have_every_kind_and_every_feature_once() -> None:
    assert list(refused.KINDS) == [kind for kinds in refused.COLUMNS.values() for kind in kinds]
    assert set(refused.KINDS) == set(MADE)
    assert set(refused.FEATURES) == set(FEATURES)
    cells = [(kind, feature) for rule in refused.RULES for kind in rule.kinds for feature in rule.features]
    assert len(cells) == len(set(cells))
    assert set(cells) <= set(CELLS)
    assert len(refused.RULES) <= 26  # each has a letter


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run scripts/write_kinds.py"
