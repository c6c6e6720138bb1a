"""The site: a page for each source, what pages link to, and a search that needs no server."""

from __future__ import annotations

import json
import shutil
from html import escape
from pathlib import Path

from manual.site_markdown import Converted, convert
from manual.site_pages import Page, manual_pages, place_of, relative

_ASSETS = Path(__file__).parent / "assets"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="stylesheet" href="{up}style.css">
<script defer src="{up}search.js"></script>
</head>
<body data-up="{up}">
<nav>
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search the manual" autocomplete="off">
<ol id="found"></ol>
{navigation}
</nav>
<main>
{body}
</main>
</body>
</html>
"""


def build_site(root: Path, out: Path, docstrings: str = "") -> list[Page]:
    """Write the site into `out`, and return its pages. `docstrings`: place in it of a page that others have written."""
    pages = manual_pages(root)
    index = []
    linked: set[str] = set()
    for page in pages:
        text = (root / page.source).read_text(encoding="utf-8")
        made = convert(text, page.source, lambda name: (root / name).is_file())
        linked |= made.linked
        _write(out, page.place, page.title, _navigation(pages, page, made, docstrings), made.html)
        for section in made.sections:
            words = " ".join(" ".join(section.words).split())
            index.append([f"{page.place}#{section.anchor}", page.title, section.title, words])
    sources = {page.source for page in pages}
    for name in sorted(linked - sources):
        if place_of(name) == name:
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, out / name)
        else:
            code = (
                f"<h1>{escape(name)}</h1>\n<pre><code>{escape((root / name).read_text(encoding='utf-8'))}</code></pre>"
            )
            shown = Page(name, place_of(name), name, "")
            _write(out, shown.place, name, _navigation(pages, shown, None, docstrings), code)
    for asset in _ASSETS.iterdir():
        shutil.copyfile(asset, out / asset.name)
    (out / "search-index.js").write_text(f"showFound({json.dumps(index, ensure_ascii=False)});\n", encoding="utf-8")
    return pages


def _write(out: Path, place: str, title: str, navigation: str, body: str) -> None:
    path = out / place
    path.parent.mkdir(parents=True, exist_ok=True)
    up = "../" * place.count("/")
    whole = title if title == "Headrace" else f"{title} · Headrace"
    path.write_text(_PAGE.format(title=escape(whole), up=up, navigation=navigation, body=body), encoding="utf-8")


def _navigation(pages: list[Page], here: Page, made: Converted | None, docstrings: str) -> str:
    """Links to all pages by part; the one that is shown has its sections below it."""
    lines: list[str] = []
    section = ""
    for page in pages:
        if page.section != section:
            lines += ["</ul>"] if section else []
            section = page.section
            lines.append(f"<h2>{section}</h2>\n<ul>")
        link = relative(page.place, here.place)
        if page == here and made is not None:
            shown = [section for section in made.sections if section.level in {2, 3}]
            inner = [f'<li class="l{s.level}"><a href="#{s.anchor}">{escape(s.title)}</a></li>' for s in shown]
            below = f"<ul>{''.join(inner)}</ul>" if inner else ""
            lines.append(f'<li class="here"><a href="{link}">{escape(page.title)}</a>{below}</li>')
        else:
            lines.append(f'<li><a href="{link}">{escape(page.title)}</a></li>')
        if page.source == "docs/reference.md" and docstrings:
            lines.append(f'<li><a href="{relative(docstrings, here.place)}">Python docstrings</a></li>')
    return "\n".join([*lines, "</ul>"])
