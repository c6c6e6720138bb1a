"""A hook of MkDocs (mkdocs.yml): pages of the whole repository, in the manual's order, anchors as GitHub has them.

A page lies in the site where its source lies in the repository, so that links are right in both. Sources that pages
link to are shown on pages of their own. The pages of Python hold a directive of mkdocstrings, which reads docstrings.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from manual.python_api import FACES
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

_PARTS = {"docs": "Manual", "docs/python": "Python", "docs/guides": "Guides", "docs/decisions": "Decisions"}
_REST = "Project"
_LINK = re.compile(r"(?<=\]\()([^)\s#:]+)")
_IMAGES = {".svg", ".png"}
_PYTHON = {f"docs/python/{name}.md": name for name in ["headrace", *(f"headrace.{face}" for face in FACES)]}


def on_config(config: MkDocsConfig) -> None:
    """Sets the navigation, and how headings are named."""
    parts: dict[str, list[str]] = {part: [] for part in [*_PARTS.values(), _REST]}
    for name in [*_pages(_root(config)), *_PYTHON]:
        folder = "docs" if name == "README.md" else posixpath.dirname(name)
        parts[_PARTS.get(folder, _REST)].append(name)
    config.nav = [{part: names} for part, names in parts.items() if names]
    config.mdx_configs["toc"]["slugify"] = lambda title, _: re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    config.theme.static_templates.discard("404.html")  # its links hold at the top of a server only


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Makes the files of the site: pages, what they link to, and what the theme brings."""
    root = _root(config)
    pages = _pages(root)
    made = [file for file in files if file.src_dir != config.docs_dir]
    made += [File.generated(config, name, abs_src_path=str(root / name)) for name in pages]
    made += [
        File.generated(config, page, content=f"# {module}\n\n::: {module}\n", inclusion=InclusionLevel.INCLUDED)
        for page, module in _PYTHON.items()
    ]
    for name in sorted({link for page in pages for link in _links(root, page)} - set(pages)):
        if Path(name).suffix in _IMAGES:
            made.append(File.generated(config, name, abs_src_path=str(root / name)))
        else:
            text = f"# {name}\n\n````{Path(name).suffix.lstrip('.')}\n{(root / name).read_text(encoding='utf-8')}````\n"
            made.append(File.generated(config, f"{name}.md", content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return Files(made)


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leads links to sources to their pages; code in tables has bars without the escape that only code hosts need."""
    here = page.file.src_uri
    if here not in _pages(_root(config)):
        return markdown

    def place(link: re.Match[str]) -> str:
        return f"{link[0]}.md" if files.get_file_from_path(f"{_target(here, link[0])}.md") else link[0]

    def row(line: re.Match[str]) -> str:
        return re.sub(r"`[^`]+`", lambda code: code[0].replace(r"\|", "|"), line[0])

    return re.sub(r"^\|.*", row, _LINK.sub(place, markdown), flags=re.MULTILINE)


def on_post_build(config: MkDocsConfig) -> None:
    """Takes the addresses out of the theme's scripts, from which it loads what diagrams and old browsers need."""
    for script in Path(config.site_dir).rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace("https://unpkg.com/", ""), encoding="utf-8")


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent


def _pages(root: Path) -> list[str]:
    """Every page, in the order in which docs/index.md links them; decisions by their numbers."""
    paths = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "bench").glob("*.md")]
    linked = [name for name in _links(root, "docs/index.md") if not name.startswith("docs/decisions/")]
    first = list(dict.fromkeys(["README.md", "docs/index.md", *linked]))
    names = sorted(path.relative_to(root).as_posix() for path in paths)
    return sorted(names, key=lambda name: first.index(name) if name in first else len(first))


def _links(root: Path, page: str) -> list[str]:
    """Files of the repository that a page links to."""
    found = [_target(page, link) for link in _LINK.findall((root / page).read_text(encoding="utf-8"))]
    return [name for name in found if not name.startswith("..") and (root / name).is_file()]


def _target(page: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
