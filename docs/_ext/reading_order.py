"""The order in which Sphinx reads pages, so that all its processes have notebooks to execute.

Conventions: Sphinx cuts the list of pages into runs and reads these in parallel. In order of names one process
would execute all tutorials, last.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def spread(pages: list[str], notebooks: set[str]) -> list[str]:
    """Return the pages with the notebooks at equal distances, tutorials first, which take longest.

    >>> spread(["a", "b", "c", "d", "gallery", "tutorials/x"], {"gallery", "tutorials/x"})
    ['tutorials/x', 'a', 'b', 'gallery', 'c', 'd']
    """
    long = sorted(notebooks & set(pages), key=lambda page: (not page.startswith("tutorials/"), page))
    short = [page for page in pages if page not in notebooks]
    step = len(short) // max(len(long), 1)
    parts = [(page, *short[k * step : (k + 1) * step]) for k, page in enumerate(long)]
    return [page for part in parts for page in part] + short[len(long) * step :]


def _reorder(_app: Any, env: Any, pages: list[str]) -> None:
    sources = {page: Path(env.doc2path(page)).read_text(encoding="utf-8") for page in pages}
    pages[:] = spread(pages, {page for page, text in sources.items() if "{code-cell}" in text})


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-before-read-docs", _reorder)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
