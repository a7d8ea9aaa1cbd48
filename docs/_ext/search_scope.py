"""Decisions are left out of the site's search: they are for people who change Faultscape, and would be found
before the page that a user looks for.

Conventions: ``nosearch`` is Sphinx's metadata for a page whose text the index leaves out.
"""

from __future__ import annotations

from typing import Any

UNSEARCHED = ("decisions/",)


def leave_out(app: Any, _doctree: Any) -> None:
    """Mark a page that was read as one that the search does not index."""
    page = app.env.docname
    if page.startswith(UNSEARCHED):
        app.env.metadata[page]["nosearch"] = "1"


def setup(app: Any) -> dict[str, bool]:
    app.connect("doctree-read", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
