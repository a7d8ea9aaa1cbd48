"""What pages show of points, from documents; and both pages in a browser, on a phone and in the dark."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
from faultscape.reading.study import Study
from faultscape.reporting.competition.point_gallery import lead_table
from faultscape.reporting.measure.document import MetricEntry, SetDocument
from faultscape.reporting.measure.point_views import asked_points, class_table
from faultscape.standings import Gap, ModelRanking


def document(**part: Any) -> SetDocument:
    """A document of two models and classes, whose second class only few points decide for the second model."""
    entry: MetricEntry = {
        "value": 0.5,
        "better": "high",
        "per_class": {"road": 0.8, "car": 0.2},
        "per_class_low": {"road": 0.7, "car": 0.1},
        "per_class_high": {"road": 0.9, "car": 0.3},
    }
    few: MetricEntry = {
        **entry,
        "per_class": {"road": 0.8, "car": None},
        "per_class_low": {"road": 0.7, "car": None},
        "per_class_high": {"road": 0.9, "car": None},
    }
    return {
        "models": {"a": {"miou": entry}, "b": {"miou": few}},
        "classes": ["road", "car"],
        "points": {
            "selection": "points",
            "goal": "order",
            "border": 0,
            "drawn": 60,
            "answered": 50,
            "masked": 4,
            "waiting": 6,
            "void": 3,
            "cannot_tell": 5,
            "on_border": 2,
            "images": 5,
            "pixels": 1000,
            "masked_pixels": 100,
            "by_class": {"road": 40.0, "car": 2.0},
            "by_image": {"x": 30, "y": 14, "z": 1},
            "deciding": {"a": {"road": 45, "car": 7}, "b": {"road": 45, "car": 0}},
            "cannot_tell_leaves_open": {"a": [-0.02, 0.01], "b": [-0.03, 0.0]},
            "borders_leave_open": {"a": [-0.001, 0.002], "b": [0.0, 0.0]},
            **part,  # type: ignore[typeddict-item]
        },
    }


def test_kinds_of_answers_add_up_to_what_was_drawn() -> None:
    found = asked_points(document())
    assert found is not None
    assert [(name, number) for name, number, _ in found.kinds] == [
        ("one class", 40),
        ("on a border", 2),
        ("void", 3),
        ("cannot tell", 5),
        ("in images with a mask", 4),
        ("not answered yet", 6),
    ]
    assert sum(number for _, number, _ in found.kinds) == 60
    assert found.by_number == (("0", 2), ("1", 1), ("14", 1), ("30", 1))


def test_what_is_left_open_is_said_of_the_model_that_it_moves_most() -> None:
    found = asked_points(document())
    assert found is not None
    assert found.left_open == (
        (
            "5 points (10 % of those answered) where nobody can tell are left out, as if missing at random; with any"
            " class, a model's mIoU would change by −3.0 to +1.0 points."
        ),
        (
            "2 points (4 % of those answered) on a border count half for each of their classes; if they were wholly"
            " of one of these, a model's mIoU would change by −0.1 to +0.2 points."
        ),
    )
    nothing = asked_points(document(cannot_tell=0, on_border=0))
    assert nothing is not None
    assert nothing.left_open == ()


def test_a_class_says_how_many_points_show_it_and_where_few_decide() -> None:
    table = class_table(document())
    assert table is not None
    road, car = table.rows
    assert (road.note, car.note) == ("40 points", "2 points")
    assert road.marks[0].ends == (0.7, 0.9)
    assert [mark.standing for mark in car.marks] == ["", "few"]
    assert car.kind == ""
    masks = class_table(document(masked_pixels=1000))
    assert masks is not None
    assert [row.note for row in masks.rows] == ["from masks"] * 2
    every = class_table(document(deciding={m: {"road": 45, "car": 4} for m in "ab"}))
    assert every is not None
    assert every.rows[1].kind == "few"


def test_pages_of_masks_have_no_part_about_points() -> None:
    assert asked_points({"models": {}}) is None
    assert class_table({"models": {}}) is None


def test_differences_to_the_leader_say_which_are_settled() -> None:
    ranking = ModelRanking(
        order=["a", "b", "c"],
        gaps=[
            Gap("a", "b", 0.01, [-0.02, 0.04], settled=False),
            Gap("a", "c", 0.1, [0.06, 0.14], settled=True),
            Gap("b", "c", 0.09, [0.05, 0.13], settled=True),
        ],
    )
    table = lead_table(ranking)
    assert table is not None
    assert [(row.model, row.words, row.kind) for row in table.rows] == [
        ("b", ("open",), "tied"),
        ("c", ("settled",), ""),
    ]
    assert table.rows[0].marks[0].value == pytest.approx(1.0)
    assert lead_table(ModelRanking(order=["a", "b"])) is None


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_both_pages_in_a_browser(browser: Any, tmp_path: Path, width: int) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=8, models=3)
    study = str(made.collected(corpus, tmp_path / "study", 8))
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, sampling=fs.options.Sampling(points=80), engine="local")
    maps = dict(zip(corpus.ids, corpus.truths, strict=True))
    with (tmp_path / "answers.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["image", "row", "column", "answer"])
        for point in Study(study).selection("points").slots.points:
            word = made.NAMES[int(maps[point.image][point.row, point.column])]
            out.writerow([point.image, point.row, point.column, word])
    fs.label.import_(study, str(tmp_path / "answers.csv"), format="points")
    fs.rank(study, selection="points")
    files = [
        Path(fs.report(study, selection="points").path),
        Path(fs.measure(study, part=fs.options.StudyPart(selection="points")).path) / "report.html",
    ]
    page = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if width == 390 else "light"
    ).new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    for file in files:
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        links = page.locator("nav a").evaluate_all("links => links.map((one) => one.getAttribute('href'))")
        assert all(page.locator(link).count() for link in links)
    crops = "[...document.querySelectorAll('#gallery img')]"
    page.goto(files[0].as_uri())
    page.evaluate(f"{crops}.forEach((one) => {{ one.loading = 'eager'; }})")
    page.wait_for_function(f"{crops}.every((one) => one.complete && one.naturalWidth > 0)")
    assert complaints == []
