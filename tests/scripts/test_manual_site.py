"""`make docs`: a page for each page of the manual, links and anchors that lead somewhere, nothing from outside."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("markdown_it", reason="markdown-it-py is not installed: scripts/setup.sh docs")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from manual.site import build_site  # noqa: E402

ASSETS = {("link", "href"), ("script", "src"), ("img", "src")}


class Found(HTMLParser):
    """What a page has: names that links can lead to, links, and files that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.links: list[str] = []
        self.assets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Notes what a tag has."""
        for name, value in attributes:
            if name == "id":
                self.names.append(value or "")
            if (tag, name) in ASSETS:
                self.assets.append(value or "")
            elif name in {"href", "src"}:
                self.links.append(value or "")


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
            if not (out / target).is_file() or (anchor and anchor not in pages[target].names):
                wrong.append(f"{place}: {link} leads nowhere")
    return wrong


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this repository."""
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "scripts" / "build_manual.py"), str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def sources() -> list[str]:
    """The pages of the manual, as git has them where there is git; else as they lie there."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True).stdout.split()
    names = listed or [path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md")]
    return [name for name in names if "/" not in name or name.startswith("docs/")]


@pytest.mark.parametrize("name", sources())
def test_every_page_has_a_page(site: Path, name: str) -> None:
    """With its heading, in the navigation of the first page."""
    place = "index.html" if name == "README.md" else name.replace(".md", ".html")
    heading = re.search(r"^# +(.+)$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert heading
    assert "<h1" in (site / place).read_text(encoding="utf-8")
    assert place in Found((site / "index.html").read_text(encoding="utf-8")).links


def test_every_link_leads_somewhere(site: Path) -> None:
    """And nothing is loaded from outside, neither by pages nor by what they load."""
    assert len(read(site)) > 40
    assert dead(site) == []
    for asset in ("style.css", "search.js"):
        assert not re.search(r"https?:|@import|url\(", (site / asset).read_text(encoding="utf-8"))


def test_the_search_knows_every_section(site: Path) -> None:
    """By a link that leads there; words of a table are found."""
    text = (site / "search-index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("showFound(").removesuffix(");\n"))
    pages = read(site)
    for link, *_ in index:
        place, _, anchor = link.partition("#")
        assert anchor in pages[place].names, link
    assert any(
        link == "docs/reference.html#arguments-of-loader" and "shuffle_buffer" in words for link, _, _, words in index
    )


LINKS = "[two](docs/two.md#sec-tion) [code](a.py) ![p](docs/p.svg) [out](https://example.org)"
PAGE = f"# One\n\n{LINKS}\n\n## Same\n\n## Same\n"


def write(root: Path, files: dict[str, str]) -> Path:
    """Writes a small manual."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_a_small_manual(tmp_path: Path) -> None:
    """Pages, code, pictures, anchors; headings of one name get names of their own; tables and code are as written."""
    table = "| a |\n| --- |\n| `x \\| y` |\n"
    files = {
        "README.md": PAGE,
        "docs/two.md": f"# Two `x`\n\n## Sec: tion\n\n{table}",
        "a.py": "a < b\n",
        "docs/p.svg": "<svg/>",
    }
    build_site(write(tmp_path / "in", files), tmp_path / "out")
    assert dead(tmp_path / "out") == []
    first = (tmp_path / "out/index.html").read_text()
    assert 'href="docs/two.html#sec-tion"' in first
    assert 'id="same-1"' in first
    assert 'href="https://example.org"' in first
    assert "<td><code>x | y</code></td>" in (tmp_path / "out/docs/two.html").read_text()
    assert "a &lt; b" in (tmp_path / "out/a.py.html").read_text()


@pytest.mark.parametrize("link", ["docs/none.md", "../x.md", "docs/"])
def test_a_link_to_no_file_is_an_error(tmp_path: Path, link: str) -> None:
    """It names the page and the link."""
    root = write(tmp_path / "in", {"README.md": f"# One\n\n[x]({link})\n", "docs/two.md": "# Two\n"})
    with pytest.raises(ValueError, match=rf"README.md links to {re.escape(link)}"):
        build_site(root, tmp_path / "out")


def test_what_is_dead_is_found(tmp_path: Path) -> None:
    """An anchor that is not there, a picture from outside, a page that was taken away."""
    text = "# One\n\n[x](docs/two.md#none) ![p](https://example.org/p.png) [y](docs/two.md)\n"
    root = write(tmp_path / "in", {"README.md": text, "docs/two.md": "# Two\n"})
    build_site(root, tmp_path / "out")
    assert dead(tmp_path / "out") == [
        "index.html: loads https://example.org/p.png",
        "index.html: docs/two.html#none leads nowhere",
    ]
    (tmp_path / "out/docs/two.html").unlink()
    assert "index.html: docs/two.html leads nowhere" in dead(tmp_path / "out")
