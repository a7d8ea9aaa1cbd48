"""The templates of pages, which lie in ``templates``: strict about what is missing, and everything that is inserted is escaped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jinja2


def template(name: str, **filters: Callable[..., Any]) -> Any:
    """Return a template by its file name, with the filters that it may use."""
    return _template(name, tuple(filters.items()))


@functools.cache
def _template(name: str, filters: tuple[tuple[str, Callable[..., Any]], ...]) -> Any:
    about = jinja2.Environment(
        loader=jinja2.PackageLoader("faultscape.reporting", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    about.filters |= dict(filters)
    return about.get_template(name)
