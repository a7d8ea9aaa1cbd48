"""The report of classifiers: what pairs and draws say, escaped and self-contained, with pictures or
without.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import CorpusError
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.collect import collect
from faultscape.verbs.label import import_
from faultscape.verbs.predict import predict
from faultscape.verbs.rank import rank
from faultscape.verbs.report import report
from faultscape.verbs.select import select
from made_page import Page
from refusals import refused

LONG = "l" * 90
HOSTILE = "<script>alert('x')</script>"
CLASSES = [("church", "n03028079"), ("fountain", "n03388043"), (HOSTILE, "n02123045"), (LONG, "n02084071")]
IMAGES = [f"photo {k:02d} <b>" for k in range(24)]
TRUTH = [k % 4 for k in range(24)]


def table(path: Path, head: list[str], rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    return path


def said(model: int) -> list[int]:
    """Model 0 errs seldom, 1 and 2 more, 3 always."""
    rng = np.random.default_rng(model)
    wrong = [rng.random() < (0.2, 0.5, 0.6, 1.0)[model] for _ in IMAGES]
    return [(t + 1 + int(rng.integers(3))) % 4 if no else t for t, no in zip(TRUTH, wrong, strict=True)]


def page_of(study: Path, tmp_path: Path, **options: Any) -> tuple[Page, str]:
    text = Path(report(str(study), output=str(tmp_path / "page.html"), **options).path).read_text(
        encoding="utf-8"
    )
    return Page(text), " ".join("".join(Page(text).text).split())


def disputed(study: Path) -> int:
    """The first image of the random draw of which the four models say at least three things."""
    drawn = read_selection(study, "random")[0].images
    return next(
        k
        for k in map(IMAGES.index, drawn)
        if len({said(m)[k] for m in range(4)}) > 2 and said(0)[k] != said(3)[k]
    )


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One study of ids, without labels, labelled and ranked, and one with answers to questions instead."""
    root = tmp_path_factory.mktemp("classes")
    listed = [{"id": k, "name": name, "wnid": wnid} for k, (name, wnid) in enumerate(CLASSES)]
    (root / "classes.json").write_text(json.dumps({"classes": listed}))
    names = [name for name, _ in CLASSES]
    ids = table(root / "ids.csv", ["image"], [[i] for i in IMAGES])
    sources = {}
    for m in range(4):
        rows = [
            [i, names[p], 0.8 + 0.01 * (k % 9)] for k, (i, p) in enumerate(zip(IMAGES, said(m), strict=True))
        ]
        sources[f"model-{m}"] = str(table(root / f"{m}.csv", ["image", "label", "probability"], rows))
    bare = root / "bare"
    collect(str(bare), str(ids), task="classification", classes=str(root / "classes.json"))
    predict(str(bare), sources, engine="local")
    select(str(bare), top=4, classifiers=fs.options.ClassifierRules(cap=24, confidence=0.0))
    select(str(bare), selector="random", budget=12)
    labels = table(
        root / "labels.csv", ["image", "label"], [[i, names[t]] for i, t in zip(IMAGES, TRUTH, strict=True)]
    )
    ranked = shutil.copytree(bare, root / "ranked")
    import_(str(ranked), str(labels))
    closed = table(root / "closed.csv", ["model", "score"], [[f"model-{m}", 0.9 - m / 10] for m in range(4)])
    rank(str(ranked), resamples=60, benchmark=str(closed))
    rank(str(ranked), selection="random", resamples=60)
    asked = shutil.copytree(bare, root / "asked")
    k = disputed(asked)
    answers = [[IMAGES[k], names[said(0)[k]], "ann", "yes"], [IMAGES[k], names[said(3)[k]], "ann", "no"]]
    import_(str(asked), str(table(root / "answers.csv", ["image", "class", "annotator", "answer"], answers)))
    return {"bare": bare, "ranked": ranked, "asked": asked}


@pytest.fixture(scope="module")
def pairs(studies: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Page, str]:
    return page_of(studies["ranked"], tmp_path_factory.mktemp("page"))


@pytest.mark.slow
def test_the_page_of_pairs_is_whole_escaped_and_loads_nothing(
    studies: dict[str, Path], pairs: tuple[Page, str]
) -> None:
    page, words = pairs
    ids = {attrs.get("id") for _, attrs in page.tags}
    assert {"standings", "matrices", "cases", "stability", "questions", "gallery", "definitions"} <= ids
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not any(name.startswith("on") for _, attrs in page.tags for name in attrs)
    assert HOSTILE in words
    assert re.search(r"photo \d\d <b>", words)
    html = Path(report(str(studies["ranked"])).path).read_text(encoding="utf-8")
    assert not re.search(r"https?://|@import|url\(", html)
    assert not re.search(r"\b(nan|None|NaN)\b", words)


def test_heat_maps_hold_the_numbers_of_the_standings_and_the_brightest_is_the_highest(
    studies: dict[str, Path], pairs: tuple[Page, str]
) -> None:
    standings = json.loads((studies["ranked"] / "standings.json").read_text())
    cells = [cell.strip() for cell in pairs[0].cells]
    for name in ("accuracy", "dominance"):
        for i, model in enumerate(standings["models"]):
            row = [f"{x:.2f}" if i != j else "·" for j, x in enumerate(standings["matrices"][name][i])]
            assert any(
                cells[k + 1 : k + 1 + len(row)] == row for k, cell in enumerate(cells) if cell == model
            ), (name, model)
    styles = {
        attrs["style"]
        for tag, attrs in pairs[0].tags
        if tag == "td" and "background:#" in (attrs.get("style") or "")
    }
    assert {"background:#fae296;color:#101418", "background:#122642;color:#ffffff"} <= styles


def test_a_model_without_a_score_is_nobody_that_another_is_ahead_of(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    study = shutil.copytree(studies["ranked"], tmp_path / "study")
    standings = json.loads((study / "standings.json").read_text())
    perron = standings["rankings"]["perron"]
    perron["tied_for_best"] = ["model-0"]
    (study / "standings.json").write_text(json.dumps(standings))
    assert "Ahead of all others: model-0." in page_of(study, tmp_path)[1]
    perron["scores"]["model-3"] = None
    (study / "standings.json").write_text(json.dumps(standings))
    assert "Ahead of all others with a score: model-0." in page_of(study, tmp_path)[1]


def test_the_page_says_how_much_runs_in_circles_and_how_consistent_ratios_are(
    studies: dict[str, Path], pairs: tuple[Page, str], tmp_path: Path
) -> None:
    standings = json.loads((studies["ranked"] / "standings.json").read_text())
    b, one, two, three = (
        np.array(standings["matrices"][n], dtype=float) for n in ("dominance", "case_1", "case_2", "case_3")
    )
    logs, weight = np.log(np.where(b > 0, b, 1)), np.nan_to_num(one + two + two.T + three)
    np.fill_diagonal(weight, 0)
    first, second = np.triu_indices(4, 1)
    root = np.sqrt(weight[first, second])
    apart = (np.eye(4)[first] - np.eye(4)[second]) * root[:, None]
    flow = logs[first, second] * root
    left = flow - apart @ np.linalg.lstsq(apart, flow, rcond=None)[0]
    values = np.linalg.eigvals(np.where(np.eye(4, dtype=bool), 1, b)).real.max()
    assert (
        f"{100 * (left @ left) / (flow @ flow):.0f} % of the differences between models run in circles"
        in pairs[1]
    )
    assert (
        f"consistency ratio is {(values - 4) / 3 / 0.9:.3f}:" in pairs[1]
    )  # .9: Saaty's random index of four
    older = shutil.copytree(studies["ranked"], tmp_path / "older")
    del standings["rankings"]["hodge"]["shares"]
    standings["rankings"]["perron"]["consistency_ratio"] = None
    (older / "standings.json").write_text(json.dumps(standings))
    assert "in circles" not in page_of(older, tmp_path)[1]


def test_cases_on_the_page_add_up_to_those_of_the_standings(
    studies: dict[str, Path], pairs: tuple[Page, str]
) -> None:
    matrices = json.loads((studies["ranked"] / "standings.json").read_text())["matrices"]
    one, two, three = (np.nansum(np.array(matrices[f"case_{k}"], dtype=float)) for k in (1, 2, 3))
    found = re.search(
        r"Of (\d+) decided slots, (\d+) \(.*?\(case II\), (\d+) \(.*?\(I\) and (\d+) ", pairs[1]
    )
    assert found is not None
    assert list(map(int, found.groups())) == [one / 2 + two + three / 2, two, one / 2, three / 2]


def row_of(page: Page, image: str) -> list[str]:
    """The cells of an image in the table of images without pictures."""
    cells = [" ".join(cell.split()) for cell in page.cells]
    heads = [k for k, cell in enumerate(cells) if cell.startswith(tuple(IMAGES))]
    at = next(k for k in heads if cells[k].startswith(image))
    return cells[at : next((k for k in heads if k > at), len(cells))]


def test_images_without_pictures_are_a_table_of_answers_with_confidence_and_mark(
    pairs: tuple[Page, str],
) -> None:
    page = pairs[0]
    assert not any(tag == "article" for tag, _ in page.tags)
    k = next(k for k, image in enumerate(IMAGES) if any(cell.startswith(image) for cell in page.cells))
    mine = " ".join(row_of(page, IMAGES[k]))
    assert mine.startswith(f"{IMAGES[k]} {CLASSES[TRUTH[k]][0]} ")
    for m in range(4):
        verdict = "right" if said(m)[k] == TRUTH[k] else "wrong"
        assert f"model-{m} {CLASSES[said(m)[k]][0]} {80 + k % 9} % {verdict}" in mine


def test_filters_find_a_pair_a_label_and_a_case_in_the_rows(pairs: tuple[Page, str]) -> None:
    rows = [(attrs["data-of"] or "").split() for _, attrs in pairs[0].tags if "data-of" in attrs]
    offered = {attrs["value"] for tag, attrs in pairs[0].tags if tag == "option" and attrs["value"]}
    assert rows
    assert all(len([word for word in row if word.startswith("m")]) == 2 for row in rows)
    assert {word for row in rows for word in row} - {"c"} <= offered


def test_ranks_stand_beside_the_closed_benchmark(pairs: tuple[Page, str]) -> None:
    assert "Comparison with the benchmark" in pairs[1]
    assert "Spearman's correlation with the benchmark" in pairs[1]


def test_other_selections_stand_beside_with_their_labels(
    studies: dict[str, Path], pairs: tuple[Page, str]
) -> None:
    used = json.loads((studies["ranked"] / "standings-random.json").read_text())["labels"]["used"]
    assert "random Prediction-powered" in re.sub(r"\s+", " ", pairs[1].replace("random", "random "))
    row = pairs[0].cells.index("labels used")
    assert pairs[0].cells[row + 3].strip() == str(used) == "12"


def test_a_page_of_draws_says_of_which_pool_its_scores_speak(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    page, words = page_of(studies["ranked"], tmp_path, selection="random")
    assert "each model's accuracy on the 24 images that could be drawn" in words
    html = Path(report(str(studies["ranked"]), selection="random").path).read_text(encoding="utf-8")
    standings = html.partition('id="standings"')[2].partition("</section>")[0]
    seen = re.sub("<details>.*?</details>", "", standings, flags=re.DOTALL)
    assert not re.search("LURE|[Pp]rediction-powered|[Mm]argins", seen)
    assert "<b>Score of each model</b>" in seen
    assert "The scores above are those of the ranking" in standings
    assert "matrices" not in {attrs.get("id") for _, attrs in page.tags}
    assert sum(tag == "tbody" and "card" in str(attrs.get("class")) for tag, attrs in page.tags) == 12


def test_where_all_is_labelled_no_score_has_an_interval_and_no_image_is_harder_than_the_pool(
    studies: dict[str, Path], tmp_path: Path
) -> None:
    study = str(shutil.copytree(studies["ranked"], tmp_path / "census"))
    select(study, selector="random", budget=24, as_="all")
    rank(study, selection="all", resamples=60)
    _, words = page_of(Path(study), tmp_path, selection="all")
    assert "Every image that could be drawn is labelled: the scores of this pool have no interval." in words
    assert "Intervals are for" not in words
    ends = re.findall(r"\[([^],]*), ([^],]*)\]", words)
    assert all(low != high for low, high in ends)
    assert "likely to be harder" not in words
    assert "likely to be more frequent" not in words


def test_what_to_do_without_labels_can_be_pasted(studies: dict[str, Path], tmp_path: Path) -> None:
    _, words = page_of(studies["bare"], tmp_path, selection="random")
    lines = (
        "faultscape label export bare questions.csv --format csv --selection random",
        "faultscape label import bare questions.csv",
        "faultscape run bare",
    )
    assert all(line in words for line in lines)


def test_without_labels_nobody_is_right_or_wrong(studies: dict[str, Path], tmp_path: Path) -> None:
    page, words = page_of(studies["bare"], tmp_path)
    assert "images to label" in words
    assert not any("verdict" in (attrs.get("class") or "") for _, attrs in page.tags)
    assert not {"standings", "cases"} & {attrs.get("id") for _, attrs in page.tags}


def test_answers_that_do_not_decide_are_undecided(studies: dict[str, Path], tmp_path: Path) -> None:
    k = disputed(studies["asked"])
    page, _ = page_of(studies["asked"], tmp_path, selection="random")
    label, *mine = row_of(page, IMAGES[k])
    assert f"{CLASSES[said(0)[k]][0]}? yes" in label
    assert f"{CLASSES[said(3)[k]][0]}? no" in label
    for m in range(4):
        verdict = {said(0)[k]: "right", said(3)[k]: "wrong"}.get(said(m)[k], "undecided")
        assert mine[m] == f"{CLASSES[said(m)[k]][0]} {80 + k % 9} % {verdict}"
    assert "undecided" in " ".join(mine)


def test_photos_a_benchmark_by_name_or_wordnet_id_and_the_way_that_gave_the_distance(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for folder in ("photos", "bench/n03028079", "bench/fountain"):
        (tmp_path / folder).mkdir(parents=True)
        for k in range(3):
            Image.fromarray(rng.integers(0, 255, (20, 30, 3), np.uint8)).save(tmp_path / folder / f"{k}.png")
    listed = [{"id": k, "name": name, "wnid": wnid} for k, (name, wnid) in enumerate(CLASSES)]
    (tmp_path / "classes.json").write_text(json.dumps({"classes": listed}))
    study = str(tmp_path / "study")
    collect(study, str(tmp_path / "photos"), task="classification", classes=str(tmp_path / "classes.json"))
    for name, row in (("a", "church fountain church"), ("b", "fountain church fountain")):
        table(tmp_path / f"{name}.csv", ["image", "label"], [[k, word] for k, word in enumerate(row.split())])
    predict(study, {name: str(tmp_path / f"{name}.csv") for name in "ab"}, engine="local")
    select(study, top=3)
    page, words = page_of(Path(study), tmp_path, reference_images=str(tmp_path / "bench"))
    pictures = [attrs["alt"] or "" for tag, attrs in page.tags if tag == "img"]
    assert sum(alt.startswith("benchmark image") for alt in pictures) == 6
    assert sum(alt == "chosen image" for alt in pictures) == 6
    assert sum(alt.startswith("image ") for alt in pictures) == 3
    assert "a: church; b: fountain" in words
    assert "distance 0.086: church → place of worship → building → structure → fountain" in words
    with refused(CorpusError, r"or its WordNet id\)$"):
        report(study, reference_images=str(tmp_path / "photos"))


@pytest.mark.slow
def test_the_filters_show_only_what_fits_and_nothing_is_wider_than_a_phone(
    browser: Any, studies: dict[str, Path], pairs: tuple[Page, str]
) -> None:
    rows = [(attrs["data-of"] or "").split() for _, attrs in pairs[0].tags if "data-of" in attrs]
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(Path(report(str(studies["ranked"])).path).as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#standings summary").first.click()
    glance = page.locator("table.glance").locator("..")  # with its six rankings, whole
    assert glance.evaluate(
        "box => [box.scrollWidth <= box.clientWidth, box.querySelectorAll('thead th').length]"
    ) == [True, 7]
    page.select_option("select[name=model]", "m3")
    page.select_option("select[name=other]", "m1")
    page.select_option("select[name=case]", "cIII")
    fit = sum({"m1", "m3", "cIII"} <= set(row) for row in rows)
    assert 0 < fit < len(rows)
    assert page.locator("[data-of].hit").count() == fit
    cards = page.locator("#gallery .card")
    shown = page.locator("#gallery .card:not([hidden])").count()
    assert page.locator("#shown").inner_text() == f"{shown} of {cards.count()} images"
    assert 0 < shown < cards.count()
    page.get_by_role("button", name="show all").click()
    cards.last.wait_for(state="visible")  # by no script: what the page allows holds for those of a test too
    assert page.locator("#gallery .card[hidden]").count() == 0
    assert complaints == []
    context.close()


def test_a_hierarchy_that_is_gone_or_was_never_there_leaves_out_the_ways_and_nothing_else(
    tmp_path: Path,
) -> None:
    from faultscape.verbs.report import classes as page

    names = fs.classes.resolve("voc")  # without WordNet ids
    parents = tmp_path / "above.csv"
    parents.write_text("".join(f"{name},thing\n" for name in names.names))
    there = page._ways(names, {"distance": "wordnet", "hierarchy": str(parents)})
    assert there(names.names[1], names.names[2]) != ()
    parents.unlink()
    for definition in (
        {"distance": "wordnet", "hierarchy": str(parents)},
        {"distance": "wordnet"},
        {"distance": "01"},
    ):
        assert page._ways(names, definition)(names.names[1], names.names[2]) == ()
