"""Load page templates from ``templates``: missing values are errors, and all inserted values are escaped.

Conventions: on every page ``|coded`` shows text between backticks as code, and ``|cited`` names papers by
authors and year.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import jinja2
from markupsafe import Markup, escape

_PAPERS = {"S0": "Yan et al. 2021", "S2": "Wang et al. 2020"}


def template(name: str, **filters: Callable[..., Any]) -> Any:
    """Return a template by its file name, with additional filters."""
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
    about.filters |= {"coded": coded, "cited": cited, **dict(filters)}
    return about


def coded(text: str) -> Any:
    """Return a text as HTML, with text between backticks as code, in which options do not break at hyphens.

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


def cited(source: str) -> str:
    """Return a source for display: papers by authors and year.

    >>> cited("Yan et al. 2021, eq. 3, 6"), cited("Bradley and Terry 1952")
    ('Yan et al. 2021, eq. 3, 6', 'Bradley and Terry 1952')
    """
    named = re.sub(r"\b(S[02])\b(?= )", lambda found: f"{_PAPERS[found[1]]},", source)
    return re.sub(r"\bS[02]\b", lambda found: _PAPERS[found[0]], named)


def _options_whole(code: str) -> Any:
    words = [
        Markup('<span class="whole">{}</span>').format(w) if w.startswith("--") else escape(w)
        for w in code.split(" ")
    ]
    return Markup(" ").join(words)
