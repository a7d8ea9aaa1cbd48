"""Load page templates from ``templates``: missing values are errors, and all inserted values are escaped.

Conventions: on every page ``draw`` are the drawings of `charts`, ``|number`` and its kin write numbers as
`view` does, ``|coded`` shows text between backticks as code, and ``|cited`` names papers by authors and year.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

import jinja2
from markupsafe import Markup, escape

from faultscape import __version__
from faultscape.reporting import charts
from faultscape.reporting.view import amount, number, percent, plain, signed

_PAPERS = {"S0": "Yan et al. 2021", "S2": "Wang et al. 2020"}


def template(name: str) -> Any:
    """Return a template by its file name."""
    return _environment().get_template(name)


@functools.cache
def _environment() -> Any:
    about = jinja2.Environment(
        loader=jinja2.PackageLoader("faultscape.reporting", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    about.globals |= {"draw": charts, "version": __version__}
    for written in (amount, cited, coded, flat, number, percent, plain, signed):
        about.filters[written.__name__] = written
    return about


def coded(text: str) -> Any:
    """Return a text as HTML, with text between backticks as code, in which options do not break at hyphens;
    negative numbers outside it have a minus sign, as all on pages do, where a terminal prints a hyphen.

    >>> str(coded("type `rank <a>` now"))
    'type <code>rank &lt;a&gt;</code> now'
    >>> str(coded("`--all-labels` counts them"))
    '<code><span class="whole">--all-labels</span></code> counts them'
    >>> str(coded("unet-2 by 8 points [-20, -.5], `--seed -1`"))
    'unet-2 by 8 points [−20, −.5], <code><span class="whole">--seed</span> -1</code>'
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(_with_minus(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(_options_whole(part)) if k % 2 else escape(_with_minus(part))
        for k, part in enumerate(parts)
    )


def _with_minus(text: str) -> str:
    return re.sub(r"(?<![\w-])-(?=\.?\d)", "−", text)


def cited(source: str) -> str:
    """Return a source for display: papers by authors and year.

    >>> cited("Yan et al. 2021, eq. 3, 6"), cited("Bradley and Terry 1952")
    ('Yan et al. 2021, eq. 3, 6', 'Bradley and Terry 1952')
    """
    named = re.sub(r"\b(S[02])\b(?= )", lambda found: f"{_PAPERS[found[1]]},", source)
    return re.sub(r"\bS[02]\b", lambda found: _PAPERS[found[0]], named)


def flat(value: Any) -> str:
    """Return a provenance value on one line.

    >>> flat({"a": {"b": 1}, "c": "", "d": [1, 2]})
    'a: (b: 1); c: none; d: 1, 2'
    >>> flat({})
    'none'
    """
    if isinstance(value, Mapping):
        parts = (
            f"{k}: ({flat(v)})" if isinstance(v, Mapping) else f"{k}: {flat(v)}" for k, v in value.items()
        )
        return "; ".join(parts) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(flat(v) for v in value)
    return "none" if value is None or value == "" else str(value)


def _options_whole(code: str) -> Any:
    words = [
        Markup('<span class="whole">{}</span>').format(w) if w.startswith("--") else escape(w)
        for w in code.split(" ")
    ]
    return Markup(" ").join(words)
