"""Kinds of failure on the page: counts as a plain loop makes them, filters that work without a script, and a
page that is stale once tags changed.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_answers
from faultscape.reporting.competition.failure_kinds import MOST, failure_kinds
from faultscape.study.answers.tags import Tag, Tags
from made_page import Page

HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> made_answers.Answers:
    """A study of classifiers, drawn from and labelled; on tagged images every model but the first is wrong
    more often.
    """
    answers = made_answers.study(tmp_path_factory.mktemp("kinds"), images=90)
    fs.select(answers.study, selector="random", budget=60)
    fs.select(answers.study, top=20)
    made_answers.import_labels(answers)
    return answers


def page_of(study: str, selection: str) -> str:
    return Path(fs.report(study, selection=selection).path).read_text(encoding="utf-8")


def state(study: str, selection: str) -> tuple[str, tuple[str, ...]]:
    from faultscape.reading.study import Study
    from faultscape.verbs import graph
    from faultscape.verbs.report.artefact import REPORT

    found = graph.node(Study(Path(study)), REPORT, selection)
    return found.state, found.why


def test_pages_show_tags_filter_by_them_and_are_stale_once_they_change(answers: made_answers.Answers) -> None:
    assert 'id="kinds"' not in page_of(answers.study, "random")
    assert "<fieldset" not in page_of(answers.study, "random")
    fs.rank(answers.study, selection="random", resamples=0)
    page_of(answers.study, "random")
    assert state(answers.study, "random")[0] == "done"
    chosen = fs.study.tables.selections.read_selection(Path(answers.study), "random")[0].images
    wrong = [
        image
        for image in chosen
        if answers.labels["model-2"][k := answers.images.index(image)] != answers.truth[k]
    ]
    assert len(wrong) > 12
    tags = [Tag(image, "hard", "ann") for image in wrong[:12]] + [
        Tag(wrong[0], HOSTILE, "ann", model="model-1")
    ]
    Tags(Path(answers.study)).add_all(tags, "test")
    assert state(answers.study, "random") == ("stale", ("tags of its images changed",))
    html = page_of(answers.study, "random")
    assert state(answers.study, "random")[0] == "done"
    page = Page(html)
    row = page.cells[(at := page.cells.index("hard")) : at + 2]
    assert row[1].startswith(f"12 {100 * 12 / 60:.0f} %"), row
    alone = page.cells[(at := page.cells.index(HOSTILE)) : at + 5]  # tagged on one model's answer
    assert [cell == "not tagged" for cell in alone[2:]] == [True, False, True], alone
    assert "model-2 loses" in html
    assert f"12 {100 * 12 / len(wrong):.0f} %" in " ".join(page.cells)
    assert sum(attrs.get("name") == "tag" for _, attrs in page.tags) == 3  # any, and each tag
    marked = [attrs["class"] or "" for tag, attrs in page.tags if "card" in str(attrs.get("class"))]
    assert sum(" t1" in f" {words}" for words in marked) == 12
    assert sum(" t0" in words for words in marked) == 1
    assert "#gallery:has(#tag-1:checked) .card:not(.t1)" in html
    assert not any(tag == "img" and attrs.get("src") == "x" for tag, attrs in page.tags)
    assert any("&lt;img src=x" in text or "<img src=x" in text for text in page.text)
    Tags(Path(answers.study)).add_all(
        [Tag(image, "other", "ann") for image in answers.images if image not in chosen], "test"
    )
    assert state(answers.study, "random")[0] == "done"  # tags of images that it does not show


def test_pages_of_pairs_show_them_too(answers: made_answers.Answers) -> None:
    chosen = fs.study.tables.selections.read_selection(Path(answers.study), "main")[0].images
    Tags(Path(answers.study)).add_all([Tag(image, "seen", "ann") for image in chosen[:7]], "test")
    html = page_of(answers.study, "main")
    assert 'id="kinds"' in html
    assert "1 for a wrong answer" in html
    assert "wrong answers" in html
    tagged = {tag.image for tag in Tags(Path(answers.study)).tags()} & set(chosen)
    assert html.count('class="card t') == len(tagged) >= 7


@pytest.mark.slow
@pytest.mark.parametrize("draws", [False, True])
def test_pages_of_label_maps_show_them(tmp_path: Path, draws: bool) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=20, models=3), str(tmp_path / "study")
    fs.collect(study, str(corpus.photos), classes=str(corpus.classes))
    fs.predict(study, dict(corpus.models), engine="local")
    fs.compare(study, engine="local")
    fs.select(study, **({"selector": "random", "budget": 12, "as_": "main"} if draws else {}))
    chosen = fs.study.tables.selections.read_selection(Path(study), "main")[0].images
    Tags(Path(study)).add_all([Tag(chosen[0], "dark", "ann")], "test")
    html = page_of(study, "main")
    assert "None of the tagged images has a label yet" in html
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, resamples=0, engine="local")
    html = page_of(study, "main")
    assert "values below 0.6" in html
    assert "Too few labelled images to relate tags to losses" in html
    assert html.count('class="card t0"') == 1
    assert '<span class="chip">dark</span>' in html


def test_counts_are_over_labelled_chosen_images_and_models_that_stand_on_the_page() -> None:
    values = np.array([[0.1, 0.9, np.nan], [0.7, 0.2, 0.3]])
    given = [
        Tag("x", "dark", "a"),
        Tag("x", "dark", "b"),
        Tag("w", "dark", "a"),
        Tag("y", "odd", "a", model="fcn"),
        Tag("y", "odd", "a", model="gone"),
        Tag("elsewhere", "odd", "a"),
    ]
    found = failure_kinds(given, ["w", "x", "y", "z"], ["unet", "fcn"], ["x", "y", "z"], values, 0.6)
    assert found is not None
    dark, odd = found.rows
    assert (dark.images.count, dark.images.of, odd.images.count) == (1, 3, 1)
    assert [(part.count, part.of) for part in (*dark.failures, *odd.failures)] == [
        (1, 1),
        (0, 2),
        (0, 1),
        (1, 2),
    ]
    assert [part.tagged for part in (*dark.failures, *odd.failures)] == [True, True, False, True]
    assert np.isnan([odd.failures[0].share, odd.failures[0].low, odd.failures[0].high]).all()
    assert found.of_image == {"x": (0,), "w": (0,), "y": (1,)}
    assert found.words["y"] == ("odd (fcn)",)
    assert (
        failure_kinds([Tag("elsewhere", "odd", "a")], ["x"], ["unet"], ["x"], np.zeros((1, 1)), 0.6) is None
    )


def test_a_page_holds_the_tags_of_most_images_and_says_how_many_more_there_are() -> None:
    images = [f"i{k}" for k in range(50)]
    given = [Tag(image, f"tag {k:02d}", "a") for k in range(50) for image in images[: k + 1]]
    found = failure_kinds(given, images, ["unet"], images, np.zeros((1, 50)), 0.6)
    assert found is not None
    assert found.names == tuple(f"tag {k:02d}" for k in range(10, 50))
    assert found.left_out == 50 - MOST
    assert not re.search(r"tag 0\d", " ".join(row.tag for row in found.rows))


def test_differences_come_with_the_surest_first_and_whole_groups_where_there_are_some() -> None:
    rng = np.random.default_rng(1)
    images = [f"i{k}" for k in range(60)]
    values = np.stack([rng.random(60) * 0.5 + 0.5 * (np.arange(60) >= 30), rng.random(60)])
    given = [Tag(image, "dark", "a") for image in images[:30]]
    found = failure_kinds(given, images, ["unet", "fcn"], images, values, 0.6)
    assert found is not None
    assert [one.model for one in found.differences] == ["unet", "fcn"]
    assert [one.model for one in found.sure] == ["unet"]
    assert not found.grouped
    grouped = failure_kinds(
        given,
        images,
        ["unet", "fcn"],
        images,
        values,
        0.6,
        {image: f"g{k // 10}" for k, image in enumerate(images)},
    )
    assert grouped is not None
    assert grouped.grouped
    assert grouped.differences[0].low != found.differences[0].low
