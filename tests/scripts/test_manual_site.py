"""`make docs`: a page for each page of the manual, links and anchors that lead somewhere, nothing from outside."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

for module, package in (("material", "mkdocs-material"), ("mkdocstrings_handlers.python", "mkdocstrings-python")):
    pytest.importorskip(module, reason=f"{package} is not installed: scripts/setup.sh docs")
markdown_it = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed: scripts/setup.sh test")

ROOT = Path(__file__).resolve().parents[2]
ASSETS = {("link", "href"), ("script", "src"), ("img", "src")}
COUNTED = {"li", "ul", "ol", "table", "tr", "td", "pre", "img", "h2", "h3", "h4"}


class Found(HTMLParser):
    """What a page has: names that links can lead to, links, files that it loads, and tags of its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.assets: list[str] = []
        self.tags: Counter[str] = Counter()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Notes what a tag has."""
        self.tags[tag] += tag in COUNTED
        for name, value in attributes:
            if name == "id":
                self.names.append(value or "")
            if (tag, name) in ASSETS:
                self.assets.append(value or "")
            elif name in {"href", "src"}:
                self.links.append(value or "")


@lru_cache(2)
def read(out: Path) -> dict[str, Found]:
    """Place → what the page has."""
    paths = sorted(out.rglob("*.html"))
    return {path.relative_to(out).as_posix(): Found(path.read_text(encoding="utf-8")) for path in paths}


def dead(out: Path) -> list[str]:
    """Links that lead nowhere, files that are loaded from outside or are not there, and names that are there twice."""
    pages = read(out)
    wrong = []
    for place, page in pages.items():
        wrong += [f"{place}: #{name} twice" for name in set(page.names) if page.names.count(name) > 1]
        wrong += [f"{place}: loads {asset}" for asset in page.assets if re.match(r"[a-z]+:|//", asset)]
        for link in [*page.links, *page.assets]:
            if re.match(r"[a-z]+:|//", link):
                continue
            path, _, anchor = unquote(link).partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) if path else place
            target = posixpath.normpath(f"{target}/index.html") if (out / target).is_dir() else target
            if not (out / target).is_file() or (anchor and anchor not in pages[target].names):
                wrong.append(f"{place}: {link} leads nowhere")
    return wrong


def build(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Runs MkDocs as `make docs` does. Without -q: that keeps warnings from being counted."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(out)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, capture_output=True, text=True, cwd=root, env=environment)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository."""
    out = tmp_path_factory.mktemp("site")
    done = build(ROOT, out)
    assert done.returncode == 0, done.stderr
    return out


def sources() -> list[str]:
    """The pages of the manual, as git has them where there is git; else as they lie there."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True).stdout.split()
    names = listed or [path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")]
    return [name for name in names if "/" not in name or name.startswith("docs/")]


def text_of(page: Path) -> str:
    """The page without its navigation and the marks that link to headings."""
    html = page.read_text(encoding="utf-8")
    article = html[html.index("<article") : html.index("</article")]
    return re.sub(r'<a class="headerlink".*?</a>', "", article)


@pytest.mark.parametrize("name", sources())
def test_every_page_has_a_page(site: Path, name: str) -> None:
    """In the navigation of the first page; with the lists, tables, code and sections that code hosts show."""
    place = "index.html" if name == "README.md" else name.replace(".md", ".html")
    assert {place, "." if place == "index.html" else place} & set(Found((site / "index.html").read_text()).links)
    shown = text_of(site / place)
    expected = markdown_it.MarkdownIt("commonmark").enable("table").render((ROOT / name).read_text(encoding="utf-8"))
    assert Found(shown).tags == Found(expected).tags
    words = [unescape(re.sub(r"<!--.*?-->|<[^>]+>|\s+", "", page, flags=re.DOTALL)) for page in (shown, expected)]
    assert words[0].removesuffix("Backtotop") == words[1]


def test_every_link_leads_somewhere(site: Path) -> None:
    """And nothing is loaded from outside, neither by pages nor by what they load."""
    assert len(read(site)) > 90
    assert dead(site) == []
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        loaded = re.findall(r"url\((?!\s*[\"']?data:)[^)]*:[^)]*\)", text)
        assert (loaded, "@import" in text) == ([], False), style
    for script in site.rglob("*.js"):  # api.github.com is asked only about a repository that mkdocs.yml names
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"unpkg\.com|jsdelivr|cdnjs|import(Scripts)?\([\"'`]https?:", text), script
    assert "repo_url" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_the_search_knows_every_section(site: Path) -> None:
    """By a link that leads there; words of a table and of a docstring are found."""
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    pages = read(site)
    for entry in index:
        place, _, anchor = entry["location"].partition("#")
        assert not anchor or anchor in pages[place].names, entry["location"]
    texts = {entry["location"]: entry["text"] for entry in index}
    assert "shuffle_buffer" in texts["docs/reference.html#arguments-of-loader"]
    assert "epoch after epoch" in texts["docs/python/headrace.html#headrace.Loader"]


def test_docstrings_are_whole(site: Path) -> None:
    """A class has its text, its arguments and its methods, whose roles are links; so has each module's page."""
    page = (site / "docs/python/headrace.html").read_text(encoding="utf-8")
    for text in (
        "Delivers the samples of a data set as batches",
        "Samples a batch.",
        'id="headrace.Loader.state_dict"',
    ):
        assert text in page
    assert 'href="#headrace.open"><code>open</code>' in page
    assert ":func:" not in page
    assert ":class:" not in page
    pages = {place for place in read(site) if place.startswith("docs/python/")}
    assert {"docs/python/headrace.torch.html", "docs/python/headrace.transforms.html"} < pages
    assert all("doc-heading" in (site / place).read_text(encoding="utf-8") for place in pages)


LINKS = "[two](docs/two.md#sec-tion) [code](a.py) ![p](docs/p.svg) [out](https://example.org)"
SMALL = {
    "README.md": f"# One\n\n{LINKS}\n\n## Same\n\n## Same\n",
    "docs/index.md": "# Manual\n\n[two](two.md) [one](../README.md)\n",
    "docs/two.md": "# Two `x`\n\n## Sec: tion\n\n| a |\n| --- |\n| `x \\| y` |\n",
    "a.py": "a < b\n",
    "docs/p.svg": "<svg/>",
}


def small(root: Path, files: dict[str, str]) -> Path:
    """Writes a small manual, of a package whose modules have nothing to say."""
    shutil.copytree(ROOT / "scripts", root / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", root)
    sys.path.insert(0, str(ROOT / "scripts"))
    from manual.python_api import FACES

    modules = {f"python/headrace/{name}.py": "__all__ = []\n" for name in ("__init__", *FACES)}
    for name, text in {**modules, **SMALL, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_small_manual(tmp_path: Path) -> None:
    """Pages, code, pictures, anchors; headings of one name get names of their own; tables and code are as written."""
    done = build(small(tmp_path / "in", {}), tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert dead(tmp_path / "out") == []
    first = (tmp_path / "out/index.html").read_text()
    assert 'href="docs/two.html#sec-tion"' in first
    assert 'href="https://example.org"' in first
    assert "<td><code>x | y</code></td>" in (tmp_path / "out/docs/two.html").read_text()
    assert "a &lt; b" in re.sub(r"</?(?:span|a)\b[^>]*>", "", (tmp_path / "out/a.py.html").read_text())


def test_a_link_that_leads_nowhere_is_an_error(tmp_path: Path) -> None:
    """It names the page and each link: no file, a place outside, a folder, a heading that is not there."""
    links = ["docs/none.md", "../x.md", "docs/", "docs/two.md#none", "#nowhere"]
    text = "# One\n\n" + " ".join(f"[x]({link})" for link in links)
    done = build(small(tmp_path / "in", {"README.md": text}), tmp_path / "out")
    assert done.returncode != 0
    said = done.stderr.splitlines()
    for link in links:
        assert any("README.md" in line and f"'{link}'" in line for line in said), (link, done.stderr)


def test_what_is_dead_is_found(tmp_path: Path) -> None:
    """An anchor that is not there, a picture from outside, a page that was taken away."""
    text = '<h1 id="a">One</h1><a href="b.html#none"></a><img src="https://example.org/p.png"><a href="b.html">'
    (tmp_path / "a.html").write_text(text)
    (tmp_path / "b.html").write_text("Two")
    assert dead(tmp_path) == ["a.html: loads https://example.org/p.png", "a.html: b.html#none leads nowhere"]
    (tmp_path / "b.html").unlink()
    read.cache_clear()
    assert "a.html: b.html leads nowhere" in dead(tmp_path)
