"""Arguments of other loaders: the error says what replaces each, and the manual has the same list."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace._support.argument_hints import DATALOADER_KNOBS, LOADER_KNOBS, OPEN_KNOBS

pytestmark = pytest.mark.fast

PAGE = Path(__file__).resolve().parents[3] / "docs/knobs.md"
OF_LOADER = [(name, text) for group in LOADER_KNOBS.values() for name, text in group.items()]
OF_DATALOADER = [(name, text) for group in DATALOADER_KNOBS.values() for name, text in group.items()]
OF_OPEN = [(name, text) for group in OPEN_KNOBS.values() for name, text in group.items()]


def rows_of_the_page() -> list[tuple[str, str]]:
    rows = re.findall(r"^\| (`.*?`) \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [(name, text) for names, text in rows for name in re.findall(r"`(\w+)`", names)]


def test_the_page_is_the_table() -> None:
    assert sorted(rows_of_the_page()) == sorted(OF_LOADER + OF_OPEN)


def test_no_knob_is_an_argument() -> None:
    for function, knobs in ((hr.Loader, OF_LOADER), (hr.open, OF_OPEN)):
        names = [name for name, _ in knobs]
        assert len(names) == len(set(names))
        assert not set(names) & set(inspect.signature(function).parameters)


def test_what_replaces_a_knob_exists() -> None:
    loader, words = inspect.signature(hr.Loader).parameters, inspect.signature(hr.Weighted).parameters
    for name, text in OF_LOADER:
        for argument in re.findall(r"\b([a-z_]+)=", text):
            assert argument in {*loader, *words, "fields", "non_blocking"}, (name, argument)
        for public in re.findall(r"\bhr\.(\w+)", text):
            assert hasattr(hr, public), (name, public)


def test_what_a_data_loader_is_told_to_use_it_has() -> None:
    loader = pytest.importorskip("headrace.torch", reason="torch is not installed").DataLoader
    arguments = inspect.signature(loader.__init__).parameters
    names = [name for name, _ in OF_DATALOADER]
    assert len(names) == len(set(names))
    assert not set(names) & set(arguments)
    assert set(inspect.signature(hr.Loader).parameters) - set(arguments) <= set(names)  # of Loader's, each has a hint
    for name, text in OF_DATALOADER:
        for function, words in re.findall(r"\bhr\.(Loader|mix|Weighted)\(([^()]*)", text):
            known = inspect.signature(getattr(hr, function)).parameters
            assert set(re.findall(r"\b([a-z_]+)=", words)) <= set(known), (name, words)
        for argument in re.findall(r"\b([a-z_]+)=", re.sub(r"\bhr\.\w+\([^()]*", "", text)):
            assert argument in arguments, (name, argument)
    with pytest.raises(hr.UnknownArgumentError, match="Use num_workers="):
        loader("no such file.h5", 32, workers=8)


@pytest.mark.parametrize(("name", "text"), OF_LOADER)
def test_a_knob_of_another_loader(name: str, text: str) -> None:
    with pytest.raises(TypeError) as caught:
        hr.Loader("no such file.h5", 32, **{name: None})
    assert isinstance(caught.value, hr.UnknownArgumentError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.hint == text
    assert str(caught.value) == f"Loader has no argument '{name}'. {text}"


@pytest.mark.parametrize(("name", "text"), OF_OPEN)
def test_a_knob_of_another_open(name: str, text: str) -> None:
    with pytest.raises(hr.UnknownArgumentError) as caught:
        hr.open("no such file.h5", **{name: None})
    assert caught.value.hint == text


def test_a_whole_call_of_a_data_loader_is_answered_at_once() -> None:
    with pytest.raises(hr.UnknownArgumentError) as caught:
        hr.Loader("no.h5", 32, shuffle=True, num_workers=4, pin_memory=True, nonsense=1)  # type: ignore[call-arg]
    text = str(caught.value)
    assert "has no arguments 'num_workers', 'pin_memory', 'nonsense'." in text
    for words in ("num_workers: Use threads=", "pin_memory: Use device="):
        assert words in (caught.value.hint or "")
    assert "\n" not in text


def test_a_slip_names_the_nearest() -> None:
    with pytest.raises(hr.UnknownArgumentError, match="Did you mean 'shuffle'") as caught:
        hr.Loader("no.h5", 32, shufle=True)  # type: ignore[call-arg]
    assert caught.value.hint == "Did you mean 'shuffle'?"
    with pytest.raises(hr.UnknownArgumentError) as caught:
        hr.Loader("no.h5", 32, xyzzy=True)  # type: ignore[call-arg]
    assert caught.value.hint is None


@pytest.mark.parametrize("call", [hr.bench, hr.order, hr.check_memory, hr.advise])
def test_verbs_that_take_arguments_of_loader(jets, call: Callable[..., Any]) -> None:
    with pytest.raises(hr.UnknownArgumentError, match="threads="):
        call(jets.glob, num_workers=2)
