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
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.scorers import SCORERS
from faultscape.prediction.catalogue import SOURCES
from faultscape.prediction.keep import KEPT
from faultscape.ranking.catalogue import RANKINGS
from faultscape.results.files import KINDS, kind_of
from faultscape.results.row_columns import ROW_COLUMNS
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
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if "<!-- " in path.read_text(encoding="utf-8")]


def test_every_table_and_list_of_names_is_what_the_catalogues_say() -> None:
    other = [path for path in tables.files() if tables.as_catalogues_say(path) != path.read_text("utf-8")]
    assert not other, "run python scripts/tables.py"


def test_lists_of_names_in_docstrings_and_pages_are_made_anew_and_the_rest_stays() -> None:
    for place, options in tables.LISTS.items():
        text = (ROOT / place).read_text("utf-8")
        for option, names in options.items():
            other = tables.with_names(text, option, [*names, "newest"])
            assert "newest" in other
            assert tables.with_names(other, option, names) == text


def test_a_metric_that_no_heading_names_gets_one_below_those_of_its_group() -> None:
    page = tables.DEFINITIONS.read_text("utf-8")
    without = re.sub(r"### `dice`\n.*\n\n", "", page)
    assert without != page
    made = tables.with_headings(without)
    dice = next(metric for metric in METRICS if metric.name == "dice")
    text = dice.text(Definitions())
    assert made == without.replace(
        "\n## Region metrics", f"\n### `dice`\n{text[0].upper()}{text[1:]}.\n\n## Region metrics"
    )


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


def test_the_page_of_results_has_the_columns_of_each() -> None:
    page = (DOCS / "reference" / "results.md").read_text("utf-8")
    named = {name.lower() for name in re.findall(r"<!-- ([A-Z]+)COLUMNS -->", page)}
    for name in KINDS:
        kind = kind_of(name)
        shown = [base.__name__ for base in kind.__mro__ if base.__name__.lower() in named]
        same = [other for other in KINDS if kind_of(other).columns == kind.columns and other.lower() in named]
        assert shown or same, name
        assert f"`{name}`" in page or name in ("MeasuredShare", "Verdict", "Status", "Reliability")
    assert {name.lower() for name in ROW_COLUMNS} <= named
