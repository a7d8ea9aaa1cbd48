"""The figures of the documentation show what the tables of their pages say; drawing them needs matplotlib, which
only the documentation has.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "benchmarks"
FIGURES = ROOT / "docs" / "_figures"
CALL = re.compile(r"```\{code-cell\} python\n:tags: \[remove-input\]\n\n(.*?)```", re.DOTALL)
SETS = {"emotion", "cue-conflict", "16class-22nets", "frames", "crops"}
drawn = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="needs matplotlib, which the documentation installs",
)


def cells() -> Iterator[tuple[str, str]]:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        if "from _figures" in (text := page.read_text("utf-8")):
            yield from ((str(page.relative_to(ROOT / "docs")), cell) for cell in CALL.findall(text))


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let modules of docs/_figures be imported, and forget them afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(FIGURES.parent))
    yield
    for name in set(sys.modules) - before:
        if name.partition(".")[0] == "_figures":
            del sys.modules[name]


def load(name: str) -> ModuleType:
    return importlib.import_module(f"_figures.{name}")


def test_every_page_of_measurements_begins_with_a_figure() -> None:
    for page in sorted(set(PAGES.glob("*.md")) - {PAGES / "index.md"}):
        text = page.read_text("utf-8")
        assert text.startswith("---\nfile_format: mystnb\n"), page.name
        assert CALL.search(text.partition("\n## ")[0]), page.name
        assert "\n|" not in text.partition("```{code-cell}")[0], page.name


def test_a_page_of_measurements_has_few_lines() -> None:
    for page in sorted(set(PAGES.glob("*.md")) - {PAGES / "index.md"}):
        said = re.sub(r"\A---\n.*?\n---\n|```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert len(re.findall(r"^[^|#\s].*", said, re.MULTILINE)) <= 15, page.name


def test_no_picture_is_pasted_where_a_figure_can_be_drawn() -> None:
    pictures = [p.name for p in (ROOT / "docs" / "images").iterdir()]
    assert set(pictures) <= {"doubt.webp", "withheld.webp", "disagreement.webp"}  # the README has no build


@pytest.mark.usefixtures("figures")
def test_curves_of_labels_are_those_of_the_tables() -> None:
    tables = load("tables")
    said = {
        (row["set"], row["selector"], row["ranking"], labels): cell
        for row in tables.read_rows("labels")
        for labels, cell in list(row.items())[3:]
    }
    with (PAGES / "data" / "label_curves.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["set"] for row in rows} == SETS
    for row in rows:
        cell = said[row["set"], row["selector"], row["ranking"], row["labels"]]
        rho, *_, regret = tables.numbers(cell)
        assert abs(float(row["rho"]) - rho) < 0.00051, row
        assert abs(float(row["regret"]) - regret) < 0.0051, row
        assert float(row["low"]) <= float(row["high"])
        assert 0 <= float(row["error"]) < 0.05


@pytest.mark.usefixtures("figures")
@pytest.mark.parametrize(
    ("page", "name", "headings", "key"),
    [
        ("choice", "choice", ("selector", "ranking", "emotion"), ("selector", "ranking")),
        ("plan", "plan", ("set", "really needed"), ("set", "really needed", "named half way")),
        ("plan", "plan_groups", ("needed: a tenth below, median, a tenth above",), ("set", "named")),
        ("heads", "head_differences", ("backbone", "head", "mIoU"), ("backbone", "head")),
        ("corruptions", "corruption_speed", ("corruption", "ours, ms"), ("corruption", "ours, ms")),
        ("near-duplicates", "near_duplicates", ("groups", "duels"), ("groups", "duels", "labels")),
        ("people", "people", ("answers in", "cycles a second"), ("answers in",)),
        ("speed", "speed", ("what", "measured"), ("what",)),
        ("measure", "measure", ("what", "measured"), ("what",)),
    ],
)
def test_rows_of_a_page_are_rows_of_its_file(
    page: str, name: str, headings: tuple[str, ...], key: tuple[str, ...]
) -> None:
    tables = load("tables")
    kept = {tuple(row[heading] for heading in key): row for row in reversed(tables.read_rows(name))}
    shown = tables.read_table(page, *headings)
    assert shown
    for row in shown:
        held = kept[tuple(row[heading] for heading in key)]
        assert {heading: held[heading] for heading in row if heading in held} == {
            heading: cell for heading, cell in row.items() if heading in held
        }


@pytest.mark.usefixtures("figures")
def test_coverage_shows_what_its_file_says_of_the_recommended_rankings() -> None:
    tables = load("tables")
    rows = tables.read_rows("coverage")
    for place, (goal, ranking) in enumerate((("order", "`prediction_powered`"), ("best", "`reuse_margins`"))):
        for shown in tables.read_table("coverage", "set", "25 labels", place=place):
            for heading, cell in list(shown.items())[1:]:
                (held,) = [
                    row for row in rows
                    if (row["goal"], row["ranking"], row["set"]) == (goal, ranking, shown["set"])
                    and f"{row['labels']} labels" == heading
                ] or [None]  # fmt: skip
                assert (held is None) == (cell == "")
                if held:
                    assert tables.numbers(cell) == [
                        tables.value_and_error(held["held, %"])[0],
                        float(held["worst, %"]),
                    ]


@pytest.mark.usefixtures("figures")
def test_the_page_of_points_shows_what_its_file_says() -> None:
    tables = load("tables")
    held = {
        (row["set"], row["models"], row["method"], row["budget"]): row for row in tables.read_rows("points")
    }
    shown = tables.read_table("points", "models", "method", "repeats")
    assert len(shown) >= 20
    for row in shown:
        for heading in ("100", "300", "1000", "3000 points"):
            cell = held[row["set"], row["models"], row["method"], heading.split()[0]]
            assert row[heading] == f"{cell['rmse']} / {float(cell['rho']):.2f}"
            assert row["repeats"] == cell["repeats"]


@pytest.mark.usefixtures("figures")
def test_the_page_of_ways_to_choose_shows_what_its_files_say() -> None:
    tables = load("tables")
    curve = {(row["way"], row["images"]): row for row in tables.read_rows("loop")}
    needed = {row["way"]: row for row in tables.read_rows("loop_needed")}
    shown = {row["way"]: row for row in tables.read_table("loop", "way", "images needed")}
    assert list(shown) == list(needed)
    for way, row in shown.items():
        ends = [needed[way][name].replace("inf", "> 80") for name in ("needed", "least", "most")]
        assert row["images needed"] == f"{ends[0]} ({ends[1]} to {ends[2]})"
        held = {images: curve[way, images] for images in ("10", "20", "40", "80")}
        if way == "uniform":
            assert all(row[k] == f"{100 * float(one['miou']):.1f} %" for k, one in held.items())
            continue
        for heading, one in (held | {"mean of these": needed[way]}).items():
            points = [round(100 * float(one[name]), 1) + 0.0 for name in ("difference", "low", "high")]
            assert row[heading] == "{:+.1f} [{:+.1f}, {:+.1f}]".format(*points)


@pytest.mark.usefixtures("figures")
def test_numbers_are_read_as_the_pages_write_them() -> None:
    tables = load("tables")
    assert tables.numbers("**.910**") == [0.91]
    assert tables.numbers("1,629 of 5,509") == [1629, 5509]
    assert tables.numbers("−1.0 / -0.5") == [-1.0, -0.5]
    assert tables.value_and_error("+0.054 ± 0.030") == (0.054, 0.03)
    assert tables.value_and_error("97.0")[1] != tables.value_and_error("97.0")[1]  # no error is NaN


@pytest.mark.usefixtures("figures")
def test_a_table_that_is_not_there_is_an_error_that_names_its_columns() -> None:
    with pytest.raises(LookupError, match=r"speed\.md has no table 0 with the columns \('colour',\)"):
        load("tables").read_table("speed", "colour")


@drawn
@pytest.mark.slow
@pytest.mark.usefixtures("figures")
@pytest.mark.parametrize(("page", "cell"), list(cells()))
def test_every_figure_can_be_drawn(page: str, cell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir((ROOT / "docs" / page).parent)
    *lines, last = cell.strip().splitlines()
    names = {name: load(name) for name in ("gallery", "report_views")} if page == "gallery.md" else {}
    exec("\n".join(lines), names)
    html = eval(last, names)._repr_html_()
    assert "<svg" in html or "<img" in html or "<iframe" in html
    assert re.search(r'aria-label="[^"]{20,}"|alt="[^"]{10,}"|<iframe title="[^"]{20,}"', html)
    assert len(re.findall(r' id="([^"]+)"', html)) == len(set(re.findall(r' id="([^"]+)"', html)))


@drawn
@pytest.mark.usefixtures("figures")
def test_a_view_of_the_report_is_a_part_of_it_with_all_that_is_nested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    views = load("report_views")
    page = '<head></head><body><p id="a"><section id="b">1<section>2</section></section><section>3</section>'
    assert views.part_of(page, "section", 'id="b"') == '<section id="b">1<section>2</section></section>'
    with pytest.raises(LookupError, match='has no <section id="c">'):
        views.part_of(page, "section", 'id="c"')
    monkeypatch.setattr(views, "make_report", lambda: page)
    shown = views.show_frame("A view of a report", views.part_of(page, "section", 'id="b"')).html
    assert "&lt;section id=&quot;b&quot;&gt;1" in shown
    assert "3" not in shown.partition("srcdoc=")[2].partition("&lt;main&gt;")[2].partition("&lt;/main&gt;")[0]
