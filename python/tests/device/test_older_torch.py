"""Releases of torch before the pinned one: what they have not, and what a user is told."""

import importlib
import re
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import headrace as hr
from headrace._support.accelerator import current_accelerator


def refuse(*_: Any, **words: Any) -> Any:
    """Torch 2.6's current_accelerator, on a machine without one."""
    assert not words
    raise RuntimeError("Cannot access accelerator device when none is available.")


@pytest.fixture(params=["2.4", "2.6", "2.7"])
def older(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What torch of this release says on a machine without an accelerator."""
    if request.param == "2.4":
        monkeypatch.delattr(torch, "accelerator")
        monkeypatch.setattr(torch.version, "cuda", "12.4")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    elif request.param == "2.6":
        monkeypatch.setattr(torch.accelerator, "current_accelerator", refuse)
    else:
        monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
        monkeypatch.setattr(torch.accelerator, "is_available", lambda: False)


@pytest.mark.usefixtures("older")
def test_without_an_accelerator(jets) -> None:
    assert current_accelerator(check_available=True) is None
    loader = hr.torch.DataLoader(jets.open(), batch_size=50, pin_memory=True)
    assert sum(len(batch["y"]) for batch in loader) == len(jets)
    found = hr.fit_batch_size(lambda batch: batch["y"].sum(), jets.open(), up_to=16, seconds=0, steps=1)
    assert found.batch_size == 16


def test_with_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "accelerator")
    monkeypatch.setattr(torch.version, "cuda", "12.4")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert current_accelerator() == current_accelerator(check_available=True) == torch.device("cuda")
    monkeypatch.setattr(torch.version, "cuda", None)
    assert current_accelerator() is None


def test_a_device_needs_the_modules_of_torch_2_4(jets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch, "get_device_module")
    loader = hr.Loader(jets.open(), 50, framework="torch", device="meta")
    with pytest.raises(hr.UnsupportedError, match=r"need torch 2\.4 or later"):
        next(iter(loader))


def test_an_older_accelerate_is_refused(run_python) -> None:
    script = """
        import accelerate.data_loader

        del accelerate.data_loader.DataLoaderStateMixin.begin
        try:
            import headrace.accelerate
        except ImportError as error:
            print(error)
    """
    assert "headrace.accelerate needs accelerate 0.21 or later, this is " in run_python(script).stdout


@pytest.mark.parametrize(
    ("version", "is_good"),
    [("1.9.5", False), ("2.4.0", False), ("2.5.0.post0", True), ("2.10.1", True), ("3.0rc1", True)],
)
def test_an_older_lightning_is_refused(monkeypatch: pytest.MonkeyPatch, version: str, is_good: bool) -> None:
    base = importlib.import_module("headrace._faces.lightning_base")
    found = SimpleNamespace(__name__="lightning.pytorch", __version__=version)
    monkeypatch.setattr(base.importlib, "import_module", lambda _: found)
    if is_good:
        assert base._installed()
    else:
        with pytest.raises(ImportError, match=re.escape("2.5 or later, this is " + version)):
            base._installed()


def test_a_device_that_is_not_there_is_named_by_torch(jets) -> None:
    """By the error that a Loader raises; not by that of a call for its memory."""
    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    with pytest.raises((RuntimeError, AssertionError)) as of_loader:
        next(iter(hr.Loader(jets.open(), 50, framework="torch", device="cuda")))
    with pytest.raises(of_loader.type, match=re.escape(str(of_loader.value)[:20])):
        hr.fit_batch_size(lambda batch: batch["y"].sum(), jets.open(), up_to=16, device="cuda")
