"""Turns a Markdown document of the checkout into HTML that stands alone: pictures inside, links that lead somewhere."""

from __future__ import annotations

import base64
import mimetypes
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from sweep_analysis.draw import svg
from sweep_analysis.read.errors import InputError
from sweep_analysis.read.load import CHECKOUT

LONG_CELL = 44
"""Letters from which on a cell of a table is broken into lines."""

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_PICTURE = re.compile(r"<picture>.*?</picture>", re.DOTALL)
_ATTRIBUTE = re.compile(r'\b(alt|src)="([^"]*)"')
_ELSEWHERE = re.compile(r"[a-z]+:", re.IGNORECASE)


@dataclass(frozen=True)
class Heading:
    """A heading, as a table of contents needs it.

    Attributes:
        level: 1 is the largest.
        text: without signs of Markdown.
        anchor: what links name it by.
    """

    level: int
    text: str
    anchor: str


@dataclass
class Document:
    """A document that is rendered piece by piece, in its order.

    Attributes:
        file: where it lies; links and pictures start there.
        headings: those that were rendered so far.
    """

    file: Path
    headings: list[Heading] = field(default_factory=list)
    _pictures: int = 0
    _sorts: bool = False

    def __post_init__(self) -> None:
        """Set up the library."""
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        prose = ("heading_open", "html_block", "html_inline", "image", "link_open", "link_close")
        tables = ("table_open", "table_close", "th_open", "th_close", "td_open")
        renderer = RendererHTML()
        # Not by `add_render_rule`, which makes a rule a method of the library's renderer.
        own: dict[str, Any] = {name: _rule(getattr(self, f"_{name}")) for name in (*prose, *tables)}
        renderer.rules = {**renderer.rules, **own}
        self._markdown.renderer = renderer

    def html(self, markdown: str) -> str:
        """A piece of prose as HTML."""
        self._sorts = False
        return str(self._markdown.render(markdown))

    def statement(self, markdown: str) -> tuple[str, str]:
        """A statement as HTML: what is around its tables, and its tables, whose columns sort."""
        self._sorts = True
        tokens = self._markdown.parse(markdown)
        inside = False
        around: list[Token] = []
        tables: list[Token] = []
        for token in tokens:
            inside = inside or token.type == "table_open"
            (tables if inside else around).append(token)
            inside = inside and token.type != "table_close"
        render, options = self._markdown.renderer.render, self._markdown.options
        return str(render(around, options, {})), str(render(tables, options, {}))

    def picture(self, address: str, label: str) -> str:
        """A picture of the checkout as a part of the page; one of ours follows its colours.

        Raises:
            InputError: there is no such file.
        """
        file = self.file.parent / address
        if _ELSEWHERE.match(address) or not file.is_file():
            raise InputError(self.file, f"picture `{address}` is no file", "name one of the checkout, from its folder")
        self._pictures += 1
        if file.suffix == ".svg":
            drawn = svg.inline(file.read_text(encoding="utf-8"), f"picture{self._pictures}", label)
            return f"<figure>{drawn}</figure>"
        kind, _ = mimetypes.guess_type(file.name)
        data = base64.b64encode(file.read_bytes()).decode()
        return f'<figure><img alt="{escape(label)}" src="data:{kind};base64,{data}"></figure>'

    # Rules of the library: each makes the HTML of one token.

    def _heading_open(self, tokens: Sequence[Token], at: int) -> str:
        text = "".join(child.content for child in tokens[at + 1].children or [])
        plain = re.sub(r"[^\w\- ]", "", text).replace(" ", "-").lower()
        same = sum(re.fullmatch(rf"{re.escape(plain)}(-\d+)?", known.anchor) is not None for known in self.headings)
        anchor = f"{plain}-{same}" if same else plain
        self.headings.append(Heading(int(tokens[at].tag[1:]), text, anchor))
        return f'<{tokens[at].tag} id="{escape(anchor)}">'

    def _html_block(self, tokens: Sequence[Token], at: int) -> str:
        def drawn(found: re.Match[str]) -> str:
            told = dict(_ATTRIBUTE.findall(found[0].rpartition("<img")[2]))
            return self.picture(told["src"], told.get("alt", ""))

        return _PICTURE.sub(drawn, _COMMENT.sub("", tokens[at].content))

    def _html_inline(self, tokens: Sequence[Token], at: int) -> str:
        return _COMMENT.sub("", tokens[at].content)

    def _image(self, tokens: Sequence[Token], at: int) -> str:
        return self.picture(str(tokens[at].attrs["src"]), tokens[at].content)

    def _link_open(self, tokens: Sequence[Token], at: int) -> str:
        address = str(tokens[at].attrs["href"])
        leads = address.startswith("#") or _ELSEWHERE.match(address)
        return f'<a href="{escape(address)}">' if leads else f'<span title="{escape(self._path(address))}">'

    def _link_close(self, tokens: Sequence[Token], at: int) -> str:
        opened = max(number for number in range(at) if tokens[number].type == "link_open")
        address = str(tokens[opened].attrs["href"])
        if address.startswith("#") or _ELSEWHERE.match(address):
            return "</a>"
        path = self._path(address)
        text = "".join(token.content for token in tokens[opened + 1 : at])
        # A sweep is found by its name.
        return "</span>" if text in path else f"</span> (<code>{escape(path)}</code>)"

    def _path(self, address: str) -> str:
        """Where a link leads, from the root of the checkout: the page may lie anywhere."""
        return os.path.relpath(self.file.parent / address.partition("#")[0], CHECKOUT)

    def _table_open(self, *_: object) -> str:
        return f'<div class="scroll{"" if self._sorts else " prose"}"><table>'

    def _table_close(self, *_: object) -> str:
        return "</table></div>\n"

    def _th_open(self, tokens: Sequence[Token], at: int) -> str:
        return f"<th{_aligned(tokens[at])}>" + ('<button type="button">' if self._sorts else "")

    def _th_close(self, *_: object) -> str:
        return ("</button>" if self._sorts else "") + "</th>\n"

    def _td_open(self, tokens: Sequence[Token], at: int) -> str:
        long = ' class="long"' if len(tokens[at + 1].content) > LONG_CELL else ""
        return f"<td{long}{_aligned(tokens[at])}>"


def _rule(make: Callable[[Sequence[Token], int], str]) -> Callable[..., str]:
    """A rule as the library calls it: what else it tells is not needed here."""
    return lambda tokens, at, *_: make(tokens, at)


def _aligned(cell: Token) -> str:
    style = cell.attrs.get("style")
    return f' style="{style}"' if style else ""
