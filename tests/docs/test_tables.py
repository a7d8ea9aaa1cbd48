"""Tables of what exists are written from the catalogues: a page that differs from them is found out, and so
is an entry that a page lacks.
"""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

from faultscape.corpus.layouts.catalogue import LAYOUTS
from faultscape.labelling.catalogue import FORMATS
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.scorers import SCORERS
from faultscape.prediction.catalogue import SOURCES
from faultscape.prediction.keep import KEPT
from faultscape.ranking.catalogue import RANKINGS
from faultscape.selection.catalogue import SELECTORS
from faultscape.stressors.catalogue import CORRUPTIONS, PRESETS
from faultscape.uncertainty.catalogue import HEADS
from faultscape.uncertainty.methods.catalogue import METHODS
from faultscape.uncertainty.networks.catalogue import BACKBONES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = DOCS / "reference" / "catalogues.md"
ELSEWHERE = {  # a table has one place: these are on the page that uses them, which the page of catalogues names
    "SELECTORS": "reference/verbs/select.md",
    "LAYOUTS": "how-to/datasets.md",
    "METHODS": "how-to/methods.md",
}
SPEC = importlib.util.spec_from_file_location("tables", ROOT / "scripts" / "tables.py")
assert SPEC is not None
assert SPEC.loader is not None
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)
PAGES = [
    path for path in sorted((ROOT / "docs").rglob("*.md")) if "<!-- " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_table_of_a_page_is_what_the_catalogues_say(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert tables.with_tables(text) == text, "run python scripts/tables.py"


@pytest.mark.parametrize(
    ("catalogue", "entries"),
    [
        ("METRICS", METRICS),
        ("SELECTORS", SELECTORS),
        ("RANKINGS", RANKINGS),
        ("FORMATS", FORMATS),
        ("SOURCES", SOURCES),
        ("KEPT", [entry for entry in KEPT if entry.written]),
        ("SCORERS", SCORERS),
        ("LAYOUTS", LAYOUTS),
        ("CORRUPTIONS", CORRUPTIONS),
        ("PRESETS", PRESETS),
        ("HEADS", HEADS),
        ("METHODS", METHODS),
        ("BACKBONES", BACKBONES),
    ],
)
def test_one_page_has_a_row_for_every_entry_and_the_page_of_catalogues_leads_there(
    catalogue: str, entries: tuple[object, ...]
) -> None:
    page = DOCS / ELSEWHERE.get(catalogue, "reference/catalogues.md")
    holding = [path for path in PAGES if f"<!-- {catalogue} -->" in path.read_text(encoding="utf-8")]
    assert holding == [page]
    if page != PAGE:
        assert f"({os.path.relpath(page, PAGE.parent)}" in PAGE.read_text(encoding="utf-8")
    part = page.read_text(encoding="utf-8").partition(f"<!-- {catalogue} -->\n\n")[2].partition("\n\n")[0]
    assert len(part.splitlines()) == len(entries) + 2


def test_a_row_that_is_wrong_lacking_or_too_much_is_made_anew_and_the_rest_of_a_page_stays() -> None:
    page = PAGE.read_text(encoding="utf-8")
    row = "| `csv` | classifiers | fill in annotator and answer (yes, no, unsure) |\n"
    assert row in page
    for other in ("", row.replace("fill in", "guess"), row * 2):
        assert tables.with_tables(page.replace(row, other)) == page
    assert tables.with_tables("# Words\n\n<!-- FORMATS -->\n\nEnd.\n").startswith(
        "# Words\n\n<!-- FORMATS -->\n\n| format | of |"
    )
    assert tables.with_tables("# Words\n\n<!-- FORMATS -->\n\nEnd.\n").endswith("|\n\nEnd.\n")
    assert tables.with_tables("| a |\n|---|\n| b |\n") == "| a |\n|---|\n| b |\n"
    assert tables.line_of(("p(a | b)", "c")) == "| p(a \\| b) | c |"


@pytest.mark.parametrize("name", tables.TABLES)
def test_tables_cite_papers_by_authors_and_year(name: str) -> None:
    assert not re.search(r"\bS[0-4]\b", repr(tables.TABLES[name]()))
