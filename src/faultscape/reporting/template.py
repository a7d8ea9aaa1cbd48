"""The templates of pages, which lie in ``templates``: strict about what is missing, and everything that is
inserted is escaped.

Conventions: ``|coded`` shows what stands between backticks as code, on every page.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jinja2
from markupsafe import Markup, escape


def template(name: str, **filters: Callable[..., Any]) -> Any:
    """Return a template by its file name, with the filters that it may use."""
    return _template(name, tuple(filters.items()))


@functools.cache
def _template(name: str, filters: tuple[tuple[str, Callable[..., Any]], ...]) -> Any:
    return _environment(filters).get_template(name)


@functools.cache
def _environment(filters: tuple[tuple[str, Callable[..., Any]], ...]) -> Any:
    about = jinja2.Environment(
        loader=jinja2.PackageLoader("faultscape.reporting", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    about.filters |= {"coded": coded, **dict(filters)}
    return about


def coded(text: str) -> Any:
    """Return words as HTML, with what stands between backticks as code, whose options are not broken at their
    hyphens.

    >>> str(coded("type `rank <a>` now"))
    'type <code>rank &lt;a&gt;</code> now'
    >>> str(coded("`--all-labels` counts them"))
    '<code><span class="whole">--all-labels</span></code> counts them'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(_options_whole(part)) if k % 2 else escape(part)
        for k, part in enumerate(parts)
    )


def _options_whole(code: str) -> Any:
    words = [
        Markup('<span class="whole">{}</span>').format(w) if w.startswith("--") else escape(w)
        for w in code.split(" ")
    ]
    return Markup(" ").join(words)
