"""Follow adding-an-option.md and adding-a-verb.md of docs/guides in a copy of the sources, and run what they promise.

A comment before a block of a guide says what it is: `<!-- FILE -->` is a new file, `<!-- FILE, before: TEXT -->`
stands before the only line of FILE with TEXT, `<!-- FILE, in place of: TEXT -->` in its place, `<!-- run.yaml -->` is a
file of the program `<!-- run -->`. The copy is build/guides/tree; what no guide touches comes from the compiler cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "build" / "guides" / "tree"
GUIDES = ("adding-an-option.md", "adding-a-verb.md")
_BLOCK = re.compile(
    r"^<!-- ([\w./-]+)(?:, (before|in place of): (.*?))? -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_TOO_LONG = 124  # status of `timeout`
#: An editable installation would go before the copy.
_PRELUDE = "import sys; sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in type(f).__module__]\n"


@dataclass
class Block:
    """One block of a guide."""

    name: str  # of a file, "run" or "run.yaml"
    how: str
    place: str
    text: str

    @property
    def is_source(self) -> bool:
        """Does it become part of the sources?"""
        return self.name not in ("run", "run.yaml")


def blocks_of(guide: str) -> list[Block]:
    """The blocks of a guide that are marked."""
    text = (ROOT / "docs" / "guides" / guide).read_text(encoding="utf-8")
    blocks = [Block(*(part or "" for part in match.groups())) for match in _BLOCK.finditer(text)]
    for kind in ("run", "run.yaml"):
        if [block.name for block in blocks].count(kind) != 1:
            sys.exit(f"docs/guides/{guide}: one block {kind} is expected")
    return blocks


def changed(text: str, block: Block) -> str:
    """The text of a file with a block in it."""
    if not block.how:
        return block.text
    lines = text.splitlines(keepends=True)
    found = [i for i, line in enumerate(lines) if block.place in line]
    if len(found) != 1:
        sys.exit(f"{block.name}: {len(found)} lines have {block.place!r}, one is expected")
    at = found[0]
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    made = textwrap.indent(block.text, margin) + ("\n" if block.name.endswith(".py") else "")
    lines[at : at + (block.how == "in place of")] = [made]
    return "".join(lines)


def write_copy(blocks: list[Block]) -> None:
    """Write the sources with the blocks in them, touch no file that stays as it is, and remove those that are gone."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout.decode().split("\0")
    sources = {name: (ROOT / name).read_bytes() for name in names if name and (ROOT / name).is_file()}
    for block in blocks:
        if not block.how and block.name in sources:
            sys.exit(f"{block.name} is there already")
        text = sources.get(block.name, b"").decode()
        sources[block.name] = changed(text, block).encode()
    for name, content in sources.items():
        path = TREE / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            shutil.copymode(ROOT / name, path) if (ROOT / name).exists() else None
    for folder in ("src", "include"):  # CMake takes what it finds there
        for path in (TREE / folder).rglob("*"):
            if path.is_file() and str(path.relative_to(TREE)) not in sources:
                path.unlink()


def build() -> Path:
    """Build the module and the command line of the copy, and return the folder of the package."""
    env = {**os.environ, "CCACHE_BASEDIR": str(TREE)}
    switches = ["-DHEADRACE_BUILD_PYTHON=ON", "-DHEADRACE_BUILD_TESTS=OFF", "-DHEADRACE_BUILD_EXAMPLES=OFF"]
    cache = ROOT / "build" / "release" / "CMakeCache.txt"  # other flags would miss the compiler cache
    if cache.exists() and "HEADRACE_WERROR:BOOL=ON" in cache.read_text(encoding="utf-8"):
        switches.append("-DHEADRACE_WERROR=ON")
    configure = ["cmake", "--preset", "release", *switches, f"-DPython_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, cwd=TREE, env=env, check=True, stdout=subprocess.DEVNULL)
    made = ["cmake", "--build", "build/release", "--target", "_headrace", "headrace_cli"]
    seconds = os.environ.get("HEADRACE_BUILD_SECONDS")
    status = subprocess.run(["timeout", seconds, *made] if seconds else made, cwd=TREE, env=env, check=False).returncode
    if status == _TOO_LONG:
        reason = f"the guides: what they make was not built within {seconds} s"
        subprocess.run([ROOT / "scripts" / "not_run.sh", reason], check=True)
    if status != 0:
        sys.exit(0 if status == _TOO_LONG and "HEADRACE_NOT_RUN" in os.environ else 1)
    package = TREE / "python" / "headrace"
    (package / "bin").mkdir(exist_ok=True)
    shutil.copy2(TREE / "build/release/cli/headrace", package / "bin")
    for module in (TREE / "build/release/python").glob("_headrace*.so"):
        shutil.copy2(module, package)
    return package.parent


def run(blocks: list[Block], package: Path) -> None:
    """Run the program of a guide, in a folder with its run file."""
    texts = {block.name: block.text for block in blocks}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "run.yaml").write_text(texts["run.yaml"], encoding="utf-8")
        program = f"{_PRELUDE}sys.path.insert(0, {str(package)!r})\n{texts['run']}"
        program += f"\nassert hr.__file__.startswith({str(package)!r}), hr.__file__\n"
        subprocess.run([sys.executable, "-c", program], cwd=folder, check=True)


def main() -> None:
    """Follow both guides in one copy."""
    guides = {guide: blocks_of(guide) for guide in GUIDES}
    write_copy([block for blocks in guides.values() for block in blocks if block.is_source])
    package = build()
    for guide, blocks in guides.items():
        run(blocks, package)
        print(f"docs/guides/{guide}: followed", flush=True)


if __name__ == "__main__":
    main()
