"""The page of the card says what the document holds, claims no more than paired intervals allow, escapes
names, leaves out what is missing, and loads nothing.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from markupsafe import escape

from faultscape.reporting.anomaly_frames import FrameCard, FramePicture, Ring
from faultscape.reporting.measure.coverage import held
from faultscape.reporting.reliability import views
from faultscape.reporting.reliability.document import CORRUPTED, Card, CardTraining
from faultscape.reporting.reliability.page import Facts, card_page
from faultscape.reporting.reliability.questions import CardIndex, above_chance, questions, verdict
from faultscape.reporting.reliability.tables import latex_text, markdown_text, views_of
from made_card import HOSTILE, card, with_requirements, without_sets
from made_document import Page

FRAME = FrameCard(
    "blended",
    HOSTILE,
    "Max probability",
    f"scene {HOSTILE}",
    "worst",
    0.123,
    0.02,
    3,
    2,
    (Ring(10.0, 12.0, 8.0, "missed: 4 % of its 9 pixels found"),),
    (
        FramePicture("image, objects outlined", "data:image/webp;base64,AAAA", ringed=True),
        FramePicture("score", "data:image/png;base64,BBBB", ringed=True),
    ),
    40,
    30,
)
FACTS = Facts([FRAME], 4, [f"{HOSTILE} cannot be run"], [("sky", "#010203")])


def shown(what: Card, facts: Facts | None = None) -> Page:
    return Page(card_page(what, facts))


def heading(what: Card) -> str:
    return card_page(what).partition("<h1>")[2].partition("</h1>")[0]


@pytest.mark.slow
@pytest.mark.parametrize("models", [1, 2, 3, 12])
def test_the_page_is_well_formed_shows_every_model_and_runs_nothing_of_a_name(models: int) -> None:
    what = card(models)
    html = card_page(what, FACTS)
    page = Page(html)
    for one in what["models"]:
        assert one["name"] in page.text
    assert f"scene {HOSTILE}" in page.text
    assert "alert(" not in page.script
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert all(not key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert card_page(copy.deepcopy(what), FACTS) == html


def test_the_page_loads_nothing() -> None:
    html = card_page(card(), FACTS)
    page = Page(html)
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in str(policy)
    loaded = [
        a.get("src") or a.get("href") or ""
        for t, a in page.tags
        if t in ("img", "link", "script", "a", "use", "iframe", "image")
    ]
    assert all(u == "" or u.startswith(("data:", "#")) for u in loaded)
    assert not any(word in html for word in ("url(", "@import", "http://", "https://"))


def test_every_section_is_there_and_linked() -> None:
    page = shown(card(), FACTS)
    assert {
        "card",
        "corruption",
        "anomalies",
        "using",
        "errors",
        "without-labels",
        "differences",
        "finders",
        "guards",
        "presets",
        "times",
        "gaps",
        "definitions",
    } <= page.ids()
    links = {str(a["href"])[1:] for t, a in page.tags if t == "a"}
    assert links <= page.ids()
    assert "logits, bilinear to the working size" in page.text.lower()
    assert "1080 Ti" in page.text
    assert "3090 Ti" in page.text
    assert "4 frames were left out" in page.text
    assert "2 of 3 objects are missed" in page.text
    assert [a["r"] for t, a in page.tags if t == "circle" and a.get("class") == "over"] == ["8.0", "8.0"]
    assert f"{HOSTILE} cannot be run" in page.text


@pytest.mark.parametrize(
    ("part", "section"),
    [
        ("times", "times"),
        ("guards", "guards"),
        ("finders", "finders"),
        ("presets", "presets"),
        ("ranking", "without-labels"),
        ("paired", "differences"),
        ("gaps", ""),
        ("notes", ""),
        ("objects", ""),
        ("units", ""),
        ("provenance", ""),
        ("cells", "card"),
        ("conditions", "corruption"),
        ("models", "differences"),
        ("truth", ""),
        ("reference", ""),
        ("study", ""),
    ],
)
def test_a_part_that_is_missing_leaves_its_section_out(part: str, section: str) -> None:
    what: dict[str, Any] = dict(card())
    assert section == "" or section in shown(card()).ids()
    del what[part]
    page = shown(what)  # type: ignore[arg-type]
    assert section not in page.ids()
    links = {str(a["href"])[1:] for t, a in page.tags if t == "a"}
    assert links <= page.ids()


def rows_of(what: Card, section: str) -> list[str]:
    """The text of each row of the tables of a section."""
    part = card_page(what).partition(f'<section id="{section}">')[2].partition("</section>")[0]
    return [
        " ".join(re.sub(r"<[^>]*>", " ", row).split()) for row in re.findall(r"<tr>.*?</tr>", part, re.DOTALL)
    ]


def test_requirements_are_the_first_thing_on_the_page() -> None:
    text = shown(with_requirements(card())).text
    first = text.index("Requirements: 1 met, 1 missed, 2 not known.")
    assert first < text.index("unet is ")
    assert "the interval includes the bound" in text
    assert "Requirements" not in shown(card()).text


def test_the_scorer_to_use_and_its_thresholds_are_said_and_where_none_can_be() -> None:
    page = shown(card())
    assert "using" in page.ids()
    assert f"Energy, AP 0.500 on {HOSTILE}; +0.100 (+0.050 to +0.150) from Max probability" in page.text
    assert "no scorer is recommended: it has no average precision on a set for validation." in page.text
    assert "6.0 %25 % of objects" in page.text.replace("\n", "")


def test_classes_are_shown_by_what_they_lose_under_corruption() -> None:
    rows = views.classes(card(1))[0]["rows"]
    assert [row["title"] for row in rows] == [HOSTILE, "road", "gone"]
    assert [round(lost, 3) for _, lost in rows[0]["cells"]] == [0.0, 0.75, 0.75, 0.75]
    assert rows[2]["lost"] is None  # of nothing nothing is lost
    assert f"unet: {HOSTILE} loses most, 0.800 clean, 0.200 corrupted" in shown(card(1)).text
    assert views.classes(card(1, corruptions=())) == []
    (table,) = [view for view in views_of(card(1)) if view.name == "classes"]
    assert [column.title for column in table.columns][-1] == "all corruptions"


def test_a_finder_is_sooner_only_where_the_sign_test_says_so() -> None:
    rows = rows_of(card(2), "finders")[1:]
    assert rows[0] == "unet 6 60 2 2 3 5 disagreement"
    assert rows[1].endswith("6 60 2 2 3 5 not decided")
    alone = card(1)
    alone["finders"] = [row | {"p_value": None} for row in alone["finders"] if row["finder"] == "doubt"]
    assert rows_of(alone, "finders")[1:] == ["unet 6 60 2 – 3 – –"]


def test_guards_say_what_a_cheat_reaches_and_how_pasted_objects_are_told_apart() -> None:
    rows = rows_of(card(), "guards")
    assert rows[0] == "unet Max probability, blended 0.620 0.620, 0.550 to 0.690"
    assert rows[-1] == "blended clear 24 0.970 0.020 0.001 0.990"


def test_what_others_count_has_a_row_a_set_and_one_of_means() -> None:
    head, of_set, means = rows_of(card(), "presets")
    assert head == "model set mIoU OOD FPR95 semantic mean OOD mean BRAVO index"
    assert of_set.startswith("unet")
    assert of_set.endswith("0.412 0.300 – – –")
    assert means == "unet all sets – – 0.500 0.250 0.333"


def test_what_a_submission_could_see_and_what_became_of_its_claims_is_said() -> None:
    what = card(2)
    assert "submissions" not in shown(what).ids()
    refused = {
        "condition": "blended",
        "average_precision": 0.9,
        "fpr95": 0.1,
        "measured_average_precision": 0.4,
        "measured_fpr95": 0.4,
        "accepted": False,
        "why": "more than .01 apart",
    }
    what["models"][1] |= {
        "kind": "submission",
        "hidden": ["network"],
        "open": ["other files"],
        "declared": HOSTILE,
        "publication": "",
        "claims": [refused],
    }  # type: ignore[typeddict-item]
    page = shown(what)
    assert "submissions" in page.ids()
    part = card_page(what).partition('<section id="submissions">')[2].partition("</section>")[0]
    said = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", part)
    assert said == [
        ("Could not read", "network"),
        ("Could read", "other files"),
        ("Unknown objects in training", escape(HOSTILE)),
        ("Published", "not declared"),
        (
            "Claim, refused",
            (
                "<b>AP 0.9000 (measured 0.4000) and FPR95 0.1000 (measured 0.4000) on blended: more than .01"
                " apart</b>"
            ),
        ),
    ]


def test_definitions_say_where_intervals_hold_less_often_than_they_say_by_the_fewest_images() -> None:
    what = card()
    said = {metric.name: metric.says for metric in views.definitions(what)["metrics"]}
    fewest = min(c["images"] for c in what["cells"] if c["metric"] == "fpr95" and c.get("low") is not None)
    assert said["fpr95"].endswith(held("fpr95", fewest, grouped=False))
    assert "% of its 95 % intervals" in said["fpr95"]
    assert "hold the truth" not in said["miou"]
    for cell in what["cells"]:
        cell["low"] = cell["high"] = None
    assert not any("hold the truth" in metric.says for metric in views.definitions(what)["metrics"])


@pytest.mark.slow
def test_without_gaps_and_notes_nothing_is_said_to_be_missing() -> None:
    what = card()
    what["gaps"], what["notes"] = [], []
    assert "gaps" not in shown(what).ids()
    assert "gaps" in shown(what, Facts(notes=["unet has no pictures"])).ids()


def test_nothing_at_all_is_a_page_too() -> None:
    page = shown({})
    assert "Nothing to report yet" in page.text
    assert page.ids() == {"main", "definitions"}


def test_a_heading_names_a_model_only_where_every_paired_interval_leaves_out_0() -> None:
    assert heading(card(3)) == "unet is the most accurate under corruption"
    assert heading(card(3, half=0.06)) == "No model is conclusively best under corruption"
    assert heading(card(3, intervals=False)) == "No model is conclusively best under corruption"
    assert heading(card(3, corruptions=())) == "unet finds the anomalies of blended best"
    partly = card(3)
    partly["paired"] = [row for row in partly["paired"] if "model 2" not in (row["first"], row["second"])]
    assert heading(partly) == "No model is conclusively best under corruption"  # of the third nobody knows
    alone = card(1)
    assert heading(alone) == "unet loses 34 % of its mIoU under corruption"
    drop = next(cell for cell in alone["cells"] if cell["metric"] == "relative_drop")
    drop["low"] = -0.01
    assert heading(alone) == "unet does not conclusively lose accuracy under corruption"


def test_means_over_other_corruptions_are_not_compared() -> None:
    what = card(3)
    what["cells"] = [
        c for c in what["cells"] if (c["model"], c["condition"], c["metric"]) != ("model 2", "fog-1", "miou")
    ]
    assert heading(what) == "No model is conclusively best under corruption"


def test_a_verdict_names_those_between_whom_it_is_not_decided_and_those_behind() -> None:
    what = card(4, gap=0.015)  # neighbours are not told apart, others are
    index = CardIndex(what)
    said = {question.title: verdict(index.stand(question)) for question in questions(what)}
    assert (
        said["mIoU under corruption"]
        == f"Undecided between unet and {HOSTILE}. Best value: unet 0.460 (0.430 to 0.490). Conclusively"
        " worse: model 2 and model 3."
    )
    assert said["Relative drop under corruption"].startswith(
        f"Undecided between unet and {HOSTILE}. Best value: unet 0.340"
    )
    assert "conclusively best" in verdict(CardIndex(card(2)).stand(questions(card(2))[1]))
    none = CardIndex(card(2, intervals=False))
    assert (
        verdict(none.stand(questions(card(2))[0]))
        == "Undecided, since differences have no intervals. Best value: unet 0.460."
    )
    apart = CardIndex(without_sets(card(2), HOSTILE, keep=1))
    assert (
        verdict(apart.stand(questions(card(2))[0]))
        == "Not comparable: no two models were run on the same corrupted sets."
    )


def test_models_of_other_scorers_are_compared_by_those_of_their_own_rows_and_unbeaten_only_if_they_are() -> (
    None
):
    what = card(3)
    what["models"][2]["scorers"] = ["energy"]
    own = [c for c in what["cells"] if (c["model"], c["scorer"]) == ("model 2", "msp")]
    what["cells"] += [c | {"scorer": "energy"} for c in own]
    asked = {question.title: question for question in questions(what)}["Finding anomalies in blended"]
    standing = CardIndex(what).stand(asked)
    assert (standing.unbeaten, standing.apart, standing.behind) == (["unet"], ["model 2"], [HOSTILE])
    assert not standing.best
    assert verdict(standing).endswith(f"Conclusively worse: {HOSTILE}. Not compared with it: model 2.")
    for row in [row for row in what["paired"] if row["second"] == "model 2" and row.get("scorer") == "msp"]:
        what["paired"].append(row | {"second_scorer": "energy"})
    standing = CardIndex(what).stand(asked)
    assert (standing.best, standing.behind) == ("unet", [HOSTILE, "model 2"])
    assert standing.gaps["model 2", "unet"] == standing.gaps["unet", "model 2"].turned


def trained(*withheld: str) -> CardTraining:
    return {
        "backbone": "made",
        "head": "linear",
        "loss": "ce",
        "images": 1,
        "withheld": list(withheld),
        "inherited": [],
        "steps": 0,
        "batch": 1,
        "rate": 0.1,
        "losses": [],
        "watched": [],
        "negatives": "",
        "family": "",
    }


def test_numbers_in_distribution_come_first_and_those_of_all_classes_are_named() -> None:
    what = card(2, in_distribution=True)
    titles = [question.title for question in questions(what)]
    assert titles[:4] == [
        "mIoU under corruption, InD",
        "mIoU under corruption, all classes",
        "Relative drop under corruption, InD",
        "Relative drop under corruption, all classes",
    ]
    assert "Consistency" in titles  # which no holdout changes
    standings = [CardIndex(what).stand(question) for question in questions(what)[:2]]
    assert [round(one.cells["unet"]["value"], 3) for one in standings] == [0.56, 0.46]
    columns = {c.title for c in views.front(what, CardIndex(what))["table"].columns}
    assert {"mIoU main InD", "mIoU main all classes", "calibration AUROC InD", "consistency"} <= columns
    held = views.severities(what, CardIndex(what))
    assert held is not None
    assert round(held["grids"][0]["clean"], 3) == 0.8
    assert "InD: in distribution, without thing (things)" in card_page(what)
    assert " InD" not in card_page(card(2))


def test_held_out_classes_enter_the_summary_among_models_that_did_not_learn_them() -> None:
    what = card(3)
    title = "Finding held-out classes, things"
    said = lambda: verdict(CardIndex(what).stand({q.title: q for q in questions(what)}[title]))  # noqa: E731
    assert said().endswith(
        " Not known to be trained without these classes: unet, " + HOSTILE + " and model 2."
    )
    what["models"][0]["training"] = trained()
    what["models"][1]["training"] = trained("thing")
    what["models"][2]["training"] = trained("thing", "other")
    assert said().startswith(f"{HOSTILE} is conclusively best")
    assert said().endswith(" Left out, since trained with held-out classes: unet.")
    what["models"][2]["training"] = trained("other")
    assert said() == (
        f"{HOSTILE} 0.350 (0.320 to 0.380). No other model was compared. Left out, since trained with"
        " held-out classes: unet and model 2."
    )
    what["models"][1]["training"] = trained()
    assert title not in [question.title for question in questions(what)]
    assert "Trained with some of them: unet (thing), " in card_page(what)


def test_copies_of_training_images_have_no_place_in_the_summary_and_the_first_table() -> None:
    what = card(2)
    assert "Finding anomalies in blended" in {one.title for one in questions(what)}
    what["conditions"] = [{**one, "training": one["name"] == "blended"} for one in what["conditions"]]
    assert "Finding anomalies in blended" not in {one.title for one in questions(what)}
    groups = {view.name: {column.group for column in view.columns} for view in views_of(what)}
    assert "blended" not in groups["models"]
    assert "blended" in groups["table-s4"]


def test_a_fitted_method_has_its_minutes_and_the_time_of_an_image_with_it_alone() -> None:
    what = card(1)
    (model,) = what["models"]
    model["scorers"] = ["msp", "knn"]
    method = {"scorer": "knn", "layers": [], "options": {}, "flags": [], "validation": "", "negatives": ""}
    model["methods"] = [{**method, "family": "", "minutes": 2.5}]
    what["times"][0]["methods_ms"] = {"knn": [6.0, 7.0, 8.0]}
    shown_times = views.times(what, CardIndex(what))
    assert shown_times is not None
    first, other = shown_times["table"].rows
    assert [mark.value for mark in other.marks] == [2.5, None, 7.0, None]
    assert first.marks[2].value == 3.0
    (table,) = [view for view in views_of(what) if view.name == "table-s4"]
    at = {row.words[0]: row.marks[-2:] for row in table.rows if row.model == model["name"]}
    assert [mark.value for mark in at["knn"]] == [2.5, 7.0]
    assert at["msp"][1].value == 3.0
    assert "2.5 | 7.0 |" in markdown_text(table)


def test_low_is_better_turns_the_sign_of_a_difference() -> None:
    index = CardIndex(card(2))
    drop = next(question for question in questions(card(2)) if question.metric == "relative_drop")
    gap = index.stand(drop).gaps["unet", HOSTILE]
    assert (gap.value, gap.ends) == (pytest.approx(0.05), pytest.approx((0.03, 0.07)))


def test_only_intervals_above_the_share_of_anomalies_are_above_chance() -> None:
    index = CardIndex(card(3))
    assert above_chance(index, "blended", 0.02) == ["unet", HOSTILE, "model 2"]
    assert above_chance(index, "blended", 0.33) == ["unet"]  # 0.37 and 0.32 at the least
    assert above_chance(CardIndex(card(3, intervals=False)), "blended", 0.02) is None


def test_the_card_marks_who_is_unbeaten_and_only_where_somebody_is_beaten() -> None:
    def standings(what: Card, title: str) -> list[str]:
        front = views.front(what, CardIndex(what))
        assert front is not None
        k = [column.title for column in front["table"].columns].index(title)
        return [row.marks[k].standing for row in front["table"].rows if row.place is not None]

    assert standings(card(3), "mIoU corrupted") == ["best", "", ""]
    assert standings(card(3, gap=0.015), "mIoU corrupted") == ["unbeaten", "unbeaten", ""]
    assert standings(card(3, half=0.2), "mIoU corrupted") == ["", "", ""]
    assert standings(card(3), "ECE main") == ["", "", ""]  # of which there are no differences


def test_a_mean_over_fewer_corrupted_sets_than_others_carries_a_star_on_the_page() -> None:
    what = without_sets(card(3), "model 2", keep=1)
    front = views.front(what, CardIndex(what))
    assert front is not None
    titles = [column.title for column in front["table"].columns]
    stars = {
        (row.model, titles[k]) for row in front["table"].rows for k, m in enumerate(row.marks) if m.share
    }
    assert stars == {("model 2", "mIoU corrupted"), ("model 2", "relative drop")}
    page = card_page(what)
    assert page.count("(mean over 1 of 6 corrupted sets)") == 3  # and once more beside consistency
    assert page.count("* mean over 1 of 6 corrupted sets: not comparable") == 2
    assert "corrupted sets: not comparable" not in card_page(card(3))


def test_tables_mark_a_mean_over_fewer_corrupted_sets_than_others() -> None:
    held = {view.name: view for view in views_of(without_sets(card(3), "model 2", keep=1))}
    assert "| 0.360* |" in markdown_text(held["models"])
    assert "0.360*" in latex_text(held["models"])
    row = markdown_text(held["corruptions"]).splitlines()[-3]
    assert row == "| model 2 | 0.600 | 0.520* | – | 0.360* |"  # fog at one severity, snow at none


def test_views_hold_the_numbers_of_the_card() -> None:
    what = card(3)
    index = CardIndex(what)
    held = views.severities(what, index)
    assert held is not None
    assert [chart["title"] for chart in held["charts"]] == ["Fog", "Snow"]
    assert [(p.x, round(p.y, 2)) for p in held["charts"][0]["lines"][1].points] == [
        (0, 0.65),
        (1, 0.57),
        (3, 0.41),
        (5, 0.25),
    ]
    assert held["grids"][0]["worst"] == (0.3, "Fog", 5)
    assert [round(lost or 0, 3) for _, lost in held["grids"][0]["rows"][0]["cells"]] == [0.114, 0.343, 0.571]
    blended, things = views.anomaly_sets(what, index)
    assert (blended["share"], things["holdout"], len(blended["table"].rows)) == (0.02, "things", 6)
    lows = {
        (c["model"], c["scorer"]): c["low"]
        for c in what["cells"]
        if (c["condition"], c["metric"]) == ("blended", "average_precision")
    }
    wanted = [
        f"{model} ({scorer})"
        for (model, scorer), low in lows.items()
        if scorer == "energy" and low is not None and low > 0.02
    ]
    assert blended["others_above"] == wanted
    assert wanted
    for cell in what["cells"]:
        if (cell["condition"], cell["metric"], cell["scorer"]) == ("blended", "average_precision", "energy"):
            cell["low"] = 0.02  # no better than chance may be
    assert views.anomaly_sets(what, CardIndex(what))[0]["others_above"] == []
    assert [row.note for row in blended["table"].rows[:2]] == ["Max probability", "Energy"]
    assert views.mark({"model": "a", "metric": "ece", "value": 0.01, "low": -0.02, "high": 0.04}).low == 0.0
    ranks = views.without_labels(what, index)
    assert ranks is not None
    assert ranks["agreement"] == {"clean": 1.0, "corrupted": 0.5}
    pairs = views.differences(what, index, [index.stand(question) for question in questions(what)])
    assert pairs is not None
    assert [panel["leader"] for panel in pairs["panels"]] == ["unet"] * len(questions(what))
    assert len(pairs["rest"]) == len(questions(what))
    assert pairs["left_out"] == len(what["paired"]) - 3 * len(questions(what))


def test_a_scale_of_one_severity_and_no_clean_set_is_drawn() -> None:
    what = card(2, corruptions=("fog",))
    what["conditions"] = [c for c in what["conditions"] if c["name"] in ("fog-3", "blended")]
    page = shown(what)
    assert "corruption" in page.ids()
    assert any(tag == "line" and attrs.get("class") == "cross" for tag, attrs in page.tags)


def test_undefined_numbers_are_dashes() -> None:
    what = card(2)
    for cell in what["cells"]:
        if cell["model"] == "unet":
            cell["value"] = cell["low"] = cell["high"] = None
    page = shown(what)
    assert re.search(r"\b(nan|none)\b", page.text.lower()) is None
    assert CORRUPTED in page.text.lower()


@pytest.mark.slow
@pytest.mark.parametrize("models", [2, 12])
def test_a_phone_needs_no_scrolling_across(browser: Any, models: int, tmp_path: Any) -> None:
    (tmp_path / "page.html").write_text(card_page(card(models), FACTS))
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto((tmp_path / "page.html").as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.locator("button[data-model='1']").first.click()
    assert (
        page.evaluate(
            "new Set([...document.querySelectorAll('g.line:not(.dim)')].map((g) => g.dataset.model)).size"
        )
        == 1
    )
    head = page.locator("table.sortable th button").first
    head.press("Enter")
    assert page.locator("table.sortable th[aria-sort=descending]").count() == 1
    page.close()
