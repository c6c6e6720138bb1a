"""A page's Markdown as HTML: headings get the names that GitHub gives them, links go to pages of the site."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from markdown_it import MarkdownIt
from markdown_it.token import Token

from manual.site_pages import place_of, relative


@dataclass
class Section:
    """A heading and the text below it."""

    level: int
    title: str
    anchor: str
    words: list[str] = field(default_factory=list)


@dataclass
class Converted:
    """A page: HTML, its sections, and files of the repository that it links to."""

    html: str
    sections: list[Section]
    linked: set[str]


def convert(text: str, source: str, exists: Callable[[str], bool]) -> Converted:
    """The page of `source`. Raises ValueError where a relative link leads nowhere."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    sections: list[Section] = []
    linked: set[str] = set()
    for i, token in enumerate(tokens):
        if token.type == "heading_open":
            sections.append(_section(token, tokens[i + 1], sections))
        elif token.type in {"inline", "fence", "code_block"}:
            if sections and tokens[i - 1].type != "heading_open":
                sections[-1].words.append(_plain(token))
            for child in token.children or []:
                name = {"link_open": "href", "image": "src"}.get(child.type)
                if name:
                    child.attrSet(name, _target(str(child.attrGet(name)), source, exists, linked))
    return Converted(parser.renderer.render(tokens, parser.options, {}), sections, linked)


def _section(heading: Token, inline: Token, before: list[Section]) -> Section:
    """Name a heading as GitHub does: lower case, no punctuation, a dash for a space, a number if the name was there."""
    title = _plain(inline)
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    same = sum(re.fullmatch(re.escape(anchor) + r"(-\d+)?", section.anchor) is not None for section in before)
    anchor = f"{anchor}-{same}" if same else anchor
    heading.attrSet("id", anchor)
    return Section(int(heading.tag[1:]), title, anchor)


def _plain(token: Token) -> str:
    if token.type != "inline":
        return token.content
    return "".join(" " if child.type.endswith("break") else child.content for child in token.children or [])


def _target(link: str, source: str, exists: Callable[[str], bool], linked: set[str]) -> str:
    path, hash_mark, anchor = link.partition("#")
    if re.match(r"[a-z]+:", link) or not path:
        return link
    name = posixpath.normpath(posixpath.join(PurePosixPath(source).parent.as_posix(), path))
    if name.startswith("..") or not exists(name):
        raise ValueError(f"{source} links to {link}, which does not exist")
    linked.add(name)
    return relative(place_of(name), place_of(source)) + hash_mark + anchor
