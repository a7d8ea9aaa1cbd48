"""Check the built documentation site: ``python scripts/check_site.py build/docs``.

Conventions: the pages are read as a browser would read them, without opening one. Nothing may be loaded from
elsewhere (a link that a reader follows may lead anywhere); every verb, every public name, every metric and
every error has its place; all links within the site lead to a page and a heading of it; the index of the search
knows the words that it should, and no decision. Each problem is one line, and the exit status is 1 where there is one.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
LOADING = {
    "stylesheet",
    "icon",
    "preload",
    "prefetch",
    "preconnect",
    "dns-prefetch",
    "modulepreload",
    "apple-touch-icon",
    "manifest",
}
STYLED = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^'\")]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")
SEARCHED = ("bradley", "concord", "defend")  # stems, as the index has them
UNSEARCHED = "decisions/"  # pages for people who change Faultscape


@dataclass
class Page(HTMLParser):
    """What a page loads, links to, and can be linked to."""

    loads: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def __hash__(self) -> int:
        return id(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.append(given[LOADED[tag]])
        if "srcset" in given:
            self.loads += [part.split()[0] for part in given["srcset"].split(",") if part.split()]
        if tag == "link" and set(given.get("rel", "").split()) & LOADING:
            self.loads.append(given.get("href", ""))
        if "style" in given:
            self.loads += styled(given["style"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])


def styled(text: str) -> list[str]:
    """Return what a style loads from elsewhere.

    >>> styled("a { background: url('https://example.org/a.png') } b { background: url(b.png) }")
    ['https://example.org/a.png']
    """
    return [first or second for first, second in STYLED.findall(text)]


def elsewhere(address: str) -> bool:
    """Say whether an address is of another place than the site.

    >>> elsewhere("https://example.org/x.js"), elsewhere("//example.org/x.js"), elsewhere("../x.js")
    (True, True, False)
    """
    return bool(urlsplit(address).netloc) or urlsplit(address).scheme in {"http", "https"}


def read_pages(site: Path) -> dict[Path, Page]:
    """Return the pages of a site."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.relative_to(site).parts:
            continue
        page = Page()
        text = path.read_text(encoding="utf-8")
        page.feed(text)
        for style in re.findall(r"<style[^>]*>(.*?)</style>", text, re.DOTALL):
            page.loads += styled(style)
        found[path.resolve()] = page
    return found


def loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return what pages and style sheets load from elsewhere, or from a file that is not there."""
    problems = []
    for path, page in pages.items():
        name = path.relative_to(site)
        for address in page.loads:
            if elsewhere(address):
                problems.append(f"{name}: loads {address} from elsewhere")
            elif not address.startswith("data:"):
                file = path.parent / unquote(urlsplit(address).path)
                if not file.exists():
                    problems.append(f"{name}: loads {address}, which is not there")
    for path in sorted(site.rglob("*.css")):
        found = styled(path.read_text(encoding="utf-8"))
        problems += [f"{path.relative_to(site)}: loads {address} from elsewhere" for address in found]
    return problems


def broken_links(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return links within the site that lead nowhere."""
    problems = []
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or link in {"", "#"}:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            of_it = pages.get(target)
            if not target.exists():
                problems.append(f"{path.relative_to(site)}: {link} leads to no page")
            elif of_it and parts.fragment and unquote(parts.fragment) not in of_it.anchors:
                problems.append(f"{path.relative_to(site)}: {link} leads to no heading of that page")
    return problems


def lacking(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return verbs, public names, metrics and errors that have no place on the site."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    import public_names as public

    from faultscape.cli import VERBS
    from faultscape.metrics.catalogue import METRICS

    anchors = set().union(*(page.anchors for page in pages.values()))
    problems = [
        f"the verb {verb} has no page"
        for verb in VERBS
        if not (site / "reference" / "verbs" / f"{verb}.html").exists()
    ]
    names = [*public.verbs(), *public.options(), *(n for of_it in public.rooms().values() for n in of_it)]
    problems += [
        f"faultscape.{name.written} has no place in the reference"
        for name in names
        if f"faultscape.{name.written}" not in anchors
    ]
    return problems + [
        f"the metric {m.name} has no place in the reference"
        for m in METRICS
        if f"metric-{m.name.replace('_', '-')}" not in anchors
    ]


def unsearchable(site: Path) -> list[str]:
    """Return words that the index of the search lacks."""
    path = site / "searchindex.js"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [f"the search does not know {word}" for word in SEARCHED if f'"{word}' not in text]


def searched_decisions(site: Path) -> list[str]:
    """Return decisions that the index of the search knows, by a word or a heading."""
    path = site / "searchindex.js"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")]) if "(" in text else {}
    known: set[int] = set()
    for pages in (*index.get("terms", {}).values(), *index.get("titleterms", {}).values()):
        known |= {pages} if isinstance(pages, int) else set(pages)
    known |= {page for headings in index.get("alltitles", {}).values() for page, _ in headings}
    return [
        f"the search finds {name}, a decision: users need none"
        for number, name in enumerate(index.get("docnames", ()))
        if name.startswith(UNSEARCHED) and number in known
    ]


def problems_of(site: Path) -> list[str]:
    """Return all that is wrong with a site."""
    pages = read_pages(site)
    if not pages:
        return [f"{site} holds no pages; build them with `make docs`"]
    return [
        *loaded_from_elsewhere(site, pages),
        *broken_links(site, pages),
        *lacking(site, pages),
        *unsearchable(site),
        *searched_decisions(site),
    ]


if __name__ == "__main__":
    problems = problems_of(Path(sys.argv[1]).resolve())
    print("\n".join(problems) or f"{sys.argv[1]}: nothing is loaded from elsewhere, all links lead somewhere")
    sys.exit(bool(problems))
