"""The reference is what the sources say: no public name is missing, and none is without documentation."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.fast

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

pytest.importorskip("griffe", reason="griffelib is not installed: scripts/setup.sh test")
if not (ROOT / "python/headrace/_headrace.pyi").exists():
    pytest.skip("python/headrace/_headrace.pyi is not there: the build writes it", allow_module_level=True)

from manual.reference import IncompleteError, reference  # noqa: E402


class Sources:
    """A copy of what the reference is made of, which can be changed and put back."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.changed: dict[Path, str | None] = {}
        for name in ("python/headrace", "cli"):
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("*.so", "bin", "__pycache__"))

    def change(self, name: str, old: str | None, new: str) -> None:
        """Replaces one place of a file, or makes the file."""
        path = self.root / name
        text = path.read_text() if path.exists() else None
        self.changed.setdefault(path, text)
        if text is not None and old is not None:
            assert text.count(old) == 1, f"{name}: {text.count(old)} times {old!r}"
            new = text.replace(old, new)
        path.write_text(new)

    def export(self, name: str, module: str) -> None:
        """Makes a name of a module public."""
        listed = f'from headrace.{module} import {name}\n\n__all__ = [\n    "{name}",\n'
        self.change("python/headrace/__init__.py", "__all__ = [\n", listed)

    def put_back(self) -> None:
        """Undoes all changes."""
        for path, text in self.changed.items():
            path.unlink() if text is None else path.write_text(text)
        self.changed.clear()


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """One copy for all tests."""
    return Sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def sources(copied: Sources) -> Iterator[Sources]:
    """The copy, unchanged."""
    yield copied
    copied.put_back()


def test_the_pages_are_what_the_sources_say() -> None:
    """After a change of a public name run scripts/write_reference.py."""
    for name, made in reference(ROOT).items():
        found = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert found == made, f"docs/{name} is not what the sources say: run scripts/write_reference.py"


def test_environment_variables_are_listed() -> None:
    """Those that the sources know by name; a variable of the tests' own is none."""
    listed = set(re.findall(r"`(HEADRACE_\w+)", (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")))
    folders = [ROOT / "src", ROOT / "cli", ROOT / "python" / "headrace"]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".cpp", ".h", ".py"}]
    texts = [path.read_text() for path in paths if not path.stem.endswith("_test")]
    known = {name for text in texts for name in re.findall(r'"(HEADRACE_[A-Z0-9_]+)"', text)}
    assert {"HEADRACE_LOG", "HEADRACE_CACHE"} <= known
    assert known == listed


NOT_PLACED = {
    "a function of Python": (
        "python/headrace/tools.py",
        "def show_versions()",
        'def freshly_made() -> int:\n    """Return one."""\n    return 1\n\n\ndef show_versions()',
        "hr.freshly_made is public, but",
    ),
}
NOT_DOCUMENTED = {
    "a function": (
        "python/headrace/tools.py",
        '    """Print the versions',
        '    f"""Print the versions',
        "show_versions has no",
    ),
    "a method": (
        "python/headrace/loader.py",
        "    def explain(self)",
        "    def new(self):\n        pass\n\n    def explain(self)",
        "Loader.new has",
    ),
    "an attribute": (
        "python/headrace/column.py",
        "        self.info = info",
        "        self.info = self.fresh = info",
        "Column.fresh has",
    ),
    "a field": (
        "python/headrace/fields.py",
        "    uniform: bool",
        "    uniform: bool\n    fresh: int",
        "FieldInfo.fresh has",
    ),
    "a fragment": (
        "python/headrace/tools.py",
        '    """Print the versions',
        '    """Of versions',
        "show_versions: say what it is",
    ),
    "no full stop": (
        "python/headrace/fields.py",
        "    uniform: bool",
        "    uniform: bool\n    fresh: int  #: Fresh",
        "FieldInfo.fresh: its doc",
    ),
    "a bound member": (
        "python/headrace/_headrace.pyi",
        "    @property\n    def waste(",
        "    @property\n    def fresh(self) -> float: ...\n\n    @property\n    def waste(",
        "Report.fresh has",
    ),
    "an option of a verb": (
        "cli/verify.cpp",
        '  app->add_flag("--json"',
        '  app->add_flag("--fresh", options->json);\n  app->add_flag("--json"',
        "headrace verify --fresh has no help",
    ),
    "an exit status": ("cli/exit_status.h", "  kBug = 70, ", "  kFresh = 71,\n  kBug = 70, ", "kFresh has"),
}


@pytest.mark.parametrize("case", [*NOT_PLACED.values(), *NOT_DOCUMENTED.values()], ids=[*NOT_PLACED, *NOT_DOCUMENTED])
def test_what_is_missing_is_found(sources: Sources, case: tuple[str, str | None, str, str]) -> None:
    """A public name without a place or without documentation: there is no page, and the text names it."""
    name, old, new, said = case
    sources.change(name, old, new)
    if said.startswith("hr."):
        sources.export("freshly_made", "tools")
    with pytest.raises(IncompleteError, match=re.escape(said)):
        reference(sources.root)


ADDED = {
    "a method": (
        "python/headrace/loader.py",
        "    def explain(self)",
        '    def new(self, a=1):\n        """Do."""\n\n    def explain(self)',
        "| `new(a=1)` |  | Do. |",
    ),
    "an attribute": (
        "python/headrace/column.py",
        "    def __init__(",
        "    fresh: ClassVar[int] = 3  #: Number of it.\n\n    def __init__(",
        "| `fresh` | `int` | Number of it. |",
    ),
    "an error": (
        "python/headrace/errors.py",
        "class ClosedError(Error",
        'class FreshError(Error, OSError):\n    """Fresh."""\n    default_code = "timeout"\n\nclass ClosedError(Error',
        "| `FreshError` | `OSError` | `timeout` | 4 | Fresh. |",
    ),
    "a verb": (
        "cli/cache.cpp",
        "  CLI::App* remove = ",
        '  add("fresh", "Is it fresh?");\n  CLI::App* remove = ',
        "| `headrace cache fresh [DIR]` | Is it fresh? |  |",
    ),
    "an argument of Loader": (
        "python/headrace/_headrace.pyi",
        '{"name": "lookahead",',
        '{"name": "seed", "annotation": "int", "default": 7, "expected": "a {, or b", "doc": "Seed", "more": "",\n'
        '"run_file": true, "command_line": true},\n{"name": "lookahead",',
        "| `seed` | `int` | `7` | a {, or b | `--seed`, run file | Seed. |",
    ),
}


@pytest.mark.parametrize("case", ADDED.values(), ids=ADDED)
def test_what_is_added_is_listed(sources: Sources, case: tuple[str, str, str, str]) -> None:
    """A new name that has documentation, in a place that there is: the page is another than the one checked in."""
    name, old, new, line = case
    sources.change(name, old, new)
    if "FreshError" in new:
        sources.export("FreshError", "errors")
    made = reference(sources.root)
    assert any(line in text.splitlines() for text in made.values())
    assert all(line not in (ROOT / "docs" / page).read_text(encoding="utf-8") for page in made)
