"""A parser of pages for tests: whatever does not fit together is an error."""

from __future__ import annotations

from html.parser import HTMLParser

VOID_TAGS = {"meta", "img", "br", "line", "rect", "path", "input", "link"}


class Page(HTMLParser):
    """The tags, texts and attributes of a page; an end tag that fits no open one is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], self._open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID_TAGS:
            self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, tag
        assert self._open.pop() == tag, (tag, self._open, self.getpos())

    def handle_data(self, data):
        if "script" in self._open or "style" in self._open:
            return
        self.text.append(data)
        if self._open and self.cells and {"td", "th"} & set(self._open) and "title" not in self._open[1:]:
            self.cells[-1] += data
