"""The manual: blocks marked `<!-- runnable -->` run, and relative links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import headrace as hr

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINKED_PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "bench" / "README.md"]
GENERATED = {ROOT / "docs/benchmarks.md": "written by `make bench`"}
RUNNABLE = re.compile(r"^<!-- runnable -->\s*\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def runnable_blocks() -> list[tuple[str, int, str]]:
    """(page, line of the block, code)."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        found += [(name_of(page), text.count("\n", 0, m.start(1)) + 1, m.group(1)) for m in RUNNABLE.finditer(text)]
    return found


def links() -> list[tuple[Path, str]]:
    """(page, relative target)."""
    found = []
    for page in LINKED_PAGES:
        targets = LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
        found += [(page, target) for target in targets if not re.match(r"[a-z]+:", target)]
    return found


def anchors(page: Path) -> set[str]:
    """The names that GitHub gives to headings: lower case, no punctuation, a dash for a space."""
    text = FENCED.sub(lambda m: "" if m.group().startswith("```") else m.group(), page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


BLOCKS = runnable_blocks()
LINKS = links()


def test_the_page_of_spectrograms_promises_no_rate() -> None:
    """What a machine reaches is for a measurement there to say."""
    text = " ".join((ROOT / "docs/start-mel.md").read_text(encoding="utf-8").split())
    assert not re.findall(r"\d[\d.,]* ?(?:million|thousand|[kM])?[^.|]{0,40}?(?: a second|/s\b)", text)


@pytest.fixture(scope="session")
def demo_jets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with 2,000 jets in train_*.h5, made by the command line that travels in the package."""
    command_line = pytest.importorskip("headrace.__main__", reason="headrace is not installed")
    out = tmp_path_factory.mktemp("docs") / "jets"
    command = [command_line.command_line(), "demo", "--out", out, "--kind", "jets", "--jets", "2000", "--quiet"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def test_public_modules_are_attributes_of_the_package() -> None:
    """After ``import headrace as hr`` alone: ``hr.jax``, like ``hr.torch``. Faces of other libraries load them then."""
    program = """
import pkgutil, sys
import headrace as hr
libraries = {"accelerate", "jax", "lightning", "torch"}
assert not libraries & set(sys.modules), "import headrace alone needs none of them"
for name in (module.name for module in pkgutil.iter_modules(hr.__path__) if not module.name.startswith("_")):
    try:
        found = getattr(hr, name)
    except ImportError as error:
        if not any(library in str(error) for library in libraries):
            raise
        continue
    if not callable(found):
        assert found is sys.modules[f"headrace.{name}"], name
        print(name)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    named = run.stdout.split()
    for library, faces in {"torch": ["torch", "cellmap"], "jax": ["jax"], "lightning": ["lightning"]}.items():
        assert importlib.util.find_spec(library) is None or set(faces) <= set(named)


def test_the_manual_has_runnable_blocks() -> None:
    assert len({page for page, _, _ in BLOCKS}) >= 4


@pytest.mark.parametrize(("page", "line", "code"), BLOCKS, ids=[f"{page}:{line}" for page, line, _ in BLOCKS])
def test_block_runs(
    page: str, line: int, code: str, demo_jets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("torch", "lightning", "accelerate", "transformers", "jax", "grain", "zarr"):
        used = f"import {package}" in code or f"headrace.{package}" in code or f'framework="{package}"' in code
        if used and importlib.util.find_spec(package) is None:
            pytest.skip(f"{page}:{line} needs {package}, which is not installed")
    for file in demo_jets.glob("train_*.h5"):
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "tokenizer.json").symlink_to(ROOT / "tests/data/small_bpe/tokenizer.json")
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "block.py"
    script.write_text("\n" * (line - 1) + code, encoding="utf-8")  # the page's line numbers in tracebacks
    steps: list[tuple[object, ...]] = []
    runpy.run_path(str(script), init_globals={"step": lambda *arrays: steps.append(tuple(map(len, arrays)))})
    if "set_memory" in code:  # it is the process's
        hr.set_memory(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    assert steps or not re.search(r"(?<![\w.])step\(", code)


@pytest.mark.parametrize(("page", "target"), LINKS, ids=[f"{name_of(page)}:{target}" for page, target in LINKS])
def test_link_leads_somewhere(page: Path, target: str) -> None:
    path, _, fragment = target.partition("#")
    place = (page.parent / path).resolve() if path else page
    if place in GENERATED and not place.exists():
        pytest.skip(f"{name_of(place)} is {GENERATED[place]} and is not there yet")
    assert place.is_relative_to(ROOT), f"{target} leaves the repository"
    assert place.exists(), f"{name_of(page)} links to {target}, which does not exist"
    assert not fragment or fragment in anchors(place), f"{name_of(place)} has no heading #{fragment}"
