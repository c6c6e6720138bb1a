"""Which files make up the manual, where their pages lie in the site, and how they are ordered."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_LINK = re.compile(r"\]\(([^)\s#]+\.md)")
_SECTIONS = {"docs": "Manual", "docs/guides": "Guides", "docs/decisions": "Decisions"}
_REST = "Project"


@dataclass(frozen=True)
class Page:
    """One page: its source, its place in the site (both relative), its title and the part of the manual it is in."""

    source: str
    place: str
    title: str
    section: str


def manual_pages(root: Path) -> list[Page]:
    """Every page, part by part, in the order in which docs/index.md links them; decisions by their numbers."""
    sources = sorted([*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "bench").glob("*.md")])
    names = [path.relative_to(root).as_posix() for path in sources]
    rank = {name: number for number, name in enumerate(_in_index(root)) if not name.startswith("docs/decisions/")}
    order = ["README.md", "docs/index.md", *sorted(names, key=lambda name: (rank.get(name, len(rank)), name))]
    pages = [_page(root, name) for name in dict.fromkeys(order) if name in names]
    sections = [*_SECTIONS.values(), _REST]
    return sorted(pages, key=lambda page: sections.index(page.section))


def place_of(name: str) -> str:
    """Where a file of the repository lies in the site: a folder's README is its index, and code is shown on a page."""
    path = PurePosixPath(name)
    if path.name == "README.md":
        return (path.parent / "index.html").as_posix()
    if path.suffix == ".md":
        return path.with_suffix(".html").as_posix()
    return name if path.suffix in {".svg", ".png"} else f"{name}.html"


def relative(target: str, page: str) -> str:
    """The link from one place in the site to another."""
    return posixpath.relpath(target, PurePosixPath(page).parent.as_posix())


def _in_index(root: Path) -> list[str]:
    index = root / "docs" / "index.md"
    found = _LINK.findall(index.read_text(encoding="utf-8")) if index.exists() else []
    return [posixpath.normpath(posixpath.join("docs", name)) for name in found]


def _page(root: Path, name: str) -> Page:
    text = (root / name).read_text(encoding="utf-8")
    heading = re.search(r"^# +(.+?) *$", text, re.MULTILINE)
    if heading is None:
        raise ValueError(f"{name} has no heading of the first level: it is the page's title")
    title = "Headrace" if name == "README.md" else heading[1].replace("`", "")
    section = "Manual" if name == "README.md" else _SECTIONS.get(PurePosixPath(name).parent.as_posix(), _REST)
    return Page(name, place_of(name), title, section)
