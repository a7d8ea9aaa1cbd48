"""The page that says which ranking to trust names the one that `rank` prints first, and each by all of its names."""

from __future__ import annotations

import re
from pathlib import Path

from faultscape.ranking.catalogue import BEST, CHANCE, DUELS, FIRST, POINTS, RANKINGS, TOP

DOCS = Path(__file__).parents[2] / "docs"
EXPLAINED = (DOCS / "explanation" / "rankings.md").read_text(encoding="utf-8")
CHOSEN = {  # what a row begins with: how the images were chosen
    "`select --goal order`": CHANCE,
    "`select --goal best`": BEST,
    "duels of label maps": DUELS,
    "pairs of classifiers": DUELS,
    "`entropy`, `model-picker`": TOP,
    "`select --points`": POINTS,
}


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table under a heading, without its head."""
    table = re.search(r"^\|.*?(?=\n\n)", text.partition(f"{heading}\n")[2], re.MULTILINE | re.DOTALL)
    assert table is not None
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[0].splitlines()[2:]]


def test_the_ranking_to_trust_is_the_one_that_is_printed_first() -> None:
    seen = set()
    for cells in rows(EXPLAINED, "## Which to trust"):
        (how,) = (of for words, of in CHOSEN.items() if f"{cells[0]} |".startswith(words))
        named = re.findall(r"`(\w+)`", cells[1])
        assert tuple(named) == FIRST[how][: len(named)], cells[0]
        seen.add(how)
    assert seen == set(FIRST)


def test_each_ranking_has_its_names_in_code_sentences_and_tables() -> None:
    named = {cells[0]: cells[1:3] for cells in rows(EXPLAINED, "## Names")}
    assert named == {f"`{ranking.name}`": [ranking.title, ranking.short] for ranking in RANKINGS}


def test_names_in_benchmarks_are_rows_of_the_page() -> None:
    page = (DOCS / "benchmarks" / "choice.md").read_text(encoding="utf-8")
    found = [cells[3] for cells in rows(EXPLAINED, "## Names") if cells[3]]
    assert len(found) == 6
    for name in found:
        assert f"| {name} |" in page
