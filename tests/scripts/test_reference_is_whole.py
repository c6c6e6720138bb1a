"""What is built has no name that the reference does not list: the installed package and its command line are asked."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

pytest.importorskip("griffe", reason="griffelib is not installed: scripts/setup.sh test")

from manual.command_line import shared_flags, verbs  # noqa: E402
from manual.entries import Entry  # noqa: E402
from manual.python_api import FACES, described, python_entries, read_package  # noqa: E402

hr: Any = pytest.importorskip("headrace", reason="headrace is not installed")
VERBS = verbs(ROOT)


def members(kind: type) -> set[str]:
    """Public names of a class, but for those of builtin classes that it derives from."""
    inherited = {name for base in kind.__mro__[1:] if not base.__module__.startswith("headrace") for name in dir(base)}
    return {name for name in set(dir(kind)) - inherited if not name.startswith("_")}


def compare(kind: type, entry: Entry, inherited: set[str]) -> None:
    """Every member of a class is read from the sources; so are those of classes inside."""
    listed = {member.name: member for member in entry.members}
    assert members(kind) - inherited <= set(listed), kind
    for name in members(kind):
        if isinstance(getattr(kind, name), type):
            compare(getattr(kind, name), listed[name], set())


def test_every_name_of_the_package_is_read() -> None:
    """Names, and members of classes. An error's own members are those of Error."""
    entries = python_entries(read_package(ROOT))
    faces: dict[str, Any] = {}
    for face in FACES:
        module = pytest.importorskip(f"headrace.{face}", reason=f"{face} is not installed")
        faces |= {f"{face}.{name}": getattr(module, name) for name in module.__all__}
    assert set(entries) == {*hr.__all__, *faces}
    for name, entry in entries.items():
        thing = faces[name] if name in faces else getattr(hr, name)
        if isinstance(thing, type):
            own = members(hr.Error) if issubclass(thing, hr.Error) and thing is not hr.Error else set()
            if name in faces:
                own |= set(described(inspect.getdoc(thing) or ""))  # attributes that a base class sets
            for base in set(thing.__mro__[1:]) & set(faces.values()):
                own |= members(base)
            compare(thing, entry, own | ({"count", "index"} if issubclass(thing, tuple) else set()))
    assert {member.name for member in entries["Report"].members} == members(hr.Report)


def headrace(*arguments: str) -> str:
    """What the program prints."""
    program = sys.modules["headrace.__main__"].command_line()
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture(autouse=True)
def program() -> None:
    """Skips where there is none."""
    command_line = pytest.importorskip("headrace.__main__").command_line
    try:
        command_line()
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_every_verb_is_read() -> None:
    """Those that the program lists, and those of `headrace cache`."""
    listed = re.findall(r"^  ([a-z][\w-]*) {2,}", headrace("--help"), re.MULTILINE)
    listed += [
        f"cache {verb}" for verb in re.findall(r"^  ([a-z][\w-]*) {2,}", headrace("cache", "--help"), re.MULTILINE)
    ]
    assert sorted(set(listed) - {"cache"}) == sorted(verb.name for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_every_option_of_a_verb_is_read(verb: Any) -> None:
    """Those that its help lists."""
    words = re.findall(r"^ +(-\S+)", headrace(*verb.name.split(), "--help"), re.MULTILINE)
    listed = {re.sub(r"\{.*", "", name) for word in words for name in word.split(",")} - {"-h", "--help"}
    flags = [*verb.flags, *(shared_flags(ROOT) if verb.takes_loader else [])]
    assert {name for flag in flags for name in flag.name.split(", ") if name.startswith("-")} == listed
