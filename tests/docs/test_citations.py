"""What the code and the pages cite of the five papers is in the papers: sections, equations, figures, tables and
algorithms by their numbers. Blum et al.'s sections are counted as its text refers to them (Sect. 3.1, Sect. 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAPERS = {
    "Yan et al. 2021": "S0",
    "Zhang et al. 2021": "S1",
    "Wang et al. 2020": "S2",
    "Buchanan et al. 2022": "S3",
    "Blum et al. 2021": "S4",
}
SECTIONS = {
    "S0": "1 2 2.1 2.2 3 3.1 3.1.1 3.1.2 3.1.3 4 4.1 4.1.1 4.1.2 4.1.3 4.1.4 4.2 4.3 4.3.1 4.4 5",
    "S1": "I II III III-A III-B III-C IV V VI",
    "S2": "1 2 2.1 3 3.1 3.2 4 A",
    "S3": "1 2 3 4",
    "S4": "1 2 2.1 2.2 3 3.1 3.2 3.3 4 4.1 4.2 4.3 5 6 A B B.1 B.2 B.3 B.4 B.5 B.6",
}
LAST = {  # equation, figure, table, algorithm
    "S0": (10, 12, 5, 2),
    "S1": (10, 7, 1, 0),
    "S2": (5, 9, 1, 2),
    "S3": (0, 1, 3, 0),
    "S4": (8, 6, 9, 0),
}
KINDS = (r"eq\.|equations?", r"Fig(?:ure)?s?\.?", r"Tables?", r"Algorithms?")
KIND = rf"(?:{'|'.join(KINDS)}|sections?|appendix)"
NUMBER = r"(?:[IVX]+(?:-[ABC])?|[AB](?:\.\d)?|\d{1,2}(?:\.\d)*)(?![\w-]|[.,]\d)"
CITED = re.compile(
    rf"\b({'|'.join(map(re.escape, PAPERS))}|S[0-4]),? \(?((?:(?:{KIND}|{NUMBER})(?:,| and| or| to|;)? ?)+)"
)
FILES = ("src/**/*.py", "src/**/*.jinja", "docs/**/*.md", "tests/**/*.py", "benchmarks/*.py", "README.md")


def cited(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield (paper, kind, number) of the citations in a text."""
    joined = re.sub(r'"\n\s*f?"', "", text)  # texts over several lines
    for paper, places in CITED.findall(re.sub(r"\n[ #]*", " ", joined)):
        kind = "section"
        for word in re.findall(rf"{KIND}|{NUMBER}", places):
            if re.fullmatch(NUMBER, word):
                yield PAPERS.get(paper, paper), kind, word
            else:
                kind = word


def exists(paper: str, kind: str, number: str) -> bool:
    for k, words in enumerate(KINDS):
        if re.fullmatch(words, kind):
            if number[0] in "AB":  # "eq. 3 and B.4": a section again
                return number in SECTIONS[paper].split()
            value = 1 if number == "I" else int(number) if number.isdigit() else 0
            return 1 <= value <= LAST[paper][k]
    return number in SECTIONS[paper].split()


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("Wang et al.\n    2020, section 4.2 and Figs. 6 to 9", [("S2", "section", "4.2")]),
        ("(Blum et al. 2021, section 5.1, eq. 3 and B.4)", [("S4", "section", "5.1")]),
        ("# S1 eq. 11; S1 Table I, Figs. 2, 5 and 8", [("S1", "eq.", "11"), ("S1", "Figs.", "8")]),
        ("S0 eq. 2 in 3 of 4; S4 200,000 steps; Zhang et al. 2021, section III-B", []),
    ],
)
def test_what_a_paper_does_not_have_is_found(text: str, wrong: list[tuple[str, str, str]]) -> None:
    assert [place for place in cited(text) if not exists(*place)] == wrong


def test_what_is_cited_is_in_the_papers() -> None:
    found = {
        (str(path.relative_to(ROOT)), place)
        for pattern in FILES
        for path in ROOT.glob(pattern)
        if path != Path(__file__)
        for place in cited(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 500
    assert sorted(where for where in found if not exists(*where[1])) == []


MISSING_FIGURES = {("S1", 1), ("S1", 4), ("S1", 6)}  # Zhang et al.: not in the copy that we used


def everything(paper: str) -> set[tuple[str, str]]:
    """Return what a paper has: (kind, number)."""
    sections = {("section", number) for number in SECTIONS[paper].split()}
    numbered = {
        (name, "I" if (paper, name) == ("S1", "table") else str(k))
        for name, last in zip(("eq", "figure", "table", "algorithm"), LAST[paper], strict=True)
        for k in range(1, last + 1)
        if (paper, k) not in MISSING_FIGURES or name != "figure"
    }
    return sections | numbered


def rows_of(cell: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, number) of the first cell of a row: ``3.1.3, eq. 3 to 5, Figs. 9 and 10``."""
    kind, before, to = "section", "", False
    for word in re.findall(rf"{KIND}|{NUMBER}|to\b", cell):
        if word == "to":
            to = True
        elif re.fullmatch(NUMBER, word):
            letter = "section" if word[0] in "AB" else kind
            for k in range(int(before) + 1, int(word)) if to else ():
                yield letter, str(k)
            yield letter, word
            before, to = word, False
        else:
            names = ("eq", "figure", "table", "algorithm")
            kind = next((n for n, w in zip(names, KINDS, strict=True) if re.fullmatch(w, word)), "section")


@pytest.mark.parametrize("paper", PAPERS)
def test_the_page_of_papers_has_a_row_for_everything_in_them(paper: str) -> None:
    page = (ROOT / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| (?!section|---)(.*?) \|", page.split(f"## {paper}\n")[1].split("## ")[0], re.MULTILINE
    )
    assert {place for cell in rows for place in rows_of(cell)} == everything(PAPERS[paper])
