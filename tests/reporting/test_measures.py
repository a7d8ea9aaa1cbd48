"""The page of `measure` says what the document holds, claims no more than its intervals allow, escapes names,
and loads nothing.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from faultscape.reporting.charts import plane, scatter
from faultscape.reporting.measure import page as measures
from faultscape.reporting.measure import views
from faultscape.reporting.measure import words as measure_words
from faultscape.reporting.measure.gap_sentences import sentence
from faultscape.reporting.measure.leaders import beaten, contradictions, standings
from faultscape.reporting.measure.tables import TITLES, tables
from faultscape.reporting.measure.views import by_class, confusions, differences, front
from faultscape.reporting.view import ChartPoint, Line, Mark
from made_document import HOSTILE, METRICS, Page, document, gap


def shown(what: dict[str, Any], **facts: Any) -> Page:
    return Page(measures.page(what, measures.Facts(**facts)))


WORST = measures.Card(
    "data",
    HOSTILE,
    f"image {HOSTILE}",
    "rum",
    "data:image/png;base64,AAAA",
    "data:image/png;base64,BBBB",
    bars={"rum": 0.7, "miou": 0.25},
    says="2 joined.",
)


@pytest.mark.parametrize("models", [1, 3, 10])
@pytest.mark.parametrize("intervals", [True, False])
def test_the_page_is_well_formed_shows_every_model_and_runs_nothing_of_a_name(
    models: int, intervals: bool
) -> None:
    what = document(models, intervals=intervals, scores=True)
    html = measures.page(
        what,
        measures.Facts(title=HOSTILE, worst=[WORST], left_out=4, colours={"data": [(HOSTILE, "#010203")]}),
    )
    page = Page(html)
    for name in what["models"]:
        assert name in page.text
    assert "alert(" not in page.script
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert all(not key.startswith("on") for _, attrs in page.tags for key in attrs)
    assert (
        measures.page(
            what,
            measures.Facts(
                title=HOSTILE, worst=[WORST], left_out=4, colours={"data": [(HOSTILE, "#010203")]}
            ),
        )
        == html
    )


def test_the_page_loads_nothing() -> None:
    html = measures.page(document(scores=True), measures.Facts(worst=[WORST]))
    page = Page(html)
    policy = next(
        a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    assert "default-src 'none'" in policy
    loaded = [
        a.get("src") or a.get("href") or ""
        for t, a in page.tags
        if t in ("img", "link", "script", "a", "use", "iframe")
    ]
    assert all(u == "" or u.startswith(("data:", "#")) for u in loaded)
    assert "url(" not in html
    assert "@import" not in html
    assert "http://" not in html
    assert "https://" not in html


def test_every_link_within_the_page_has_its_section() -> None:
    for what in (document(scores=True), document(1), {"models": {}}):
        page = shown(what, worst=[WORST])
        links = {str(a["href"])[1:] for t, a in page.tags if t == "a"}
        assert links <= page.ids()


def test_notes_and_failures_stand_before_any_number() -> None:
    text = shown(document()).text
    assert text.index("a note on") < text.index("failures.csv") < text.index("All errors")


def test_parts_that_are_missing_leave_no_section() -> None:
    anomaly = {
        "models": {
            "s1": {
                m: {"value": 0.9, "low": 0.8, "high": 0.95, "undefined": 0, "better": "high", "definition": m}
                for m in ("auroc", "average_precision")
            }
        }
    }
    ids = shown(anomaly).ids()
    assert {"errors", "definitions"} <= ids
    assert not ids & {
        "losses",
        "plane",
        "classes",
        "confusion",
        "confidence",
        "curves",
        "differences",
        "worst",
    }
    full = shown(document(scores=True), worst=[WORST]).ids()
    assert {"losses", "plane", "classes", "confusion", "confidence", "curves", "differences", "worst"} <= full


def test_several_data_sets_stand_in_one_table() -> None:
    what = {"datasets": {"town": document(3), HOSTILE: document(4, seed=1)}, "provenance": {}}
    page = shown(what)
    assert "4 models on 2 data sets" in page.text
    table, *_ = tables(what["datasets"])
    assert [row.words[0] for row in table.rows] == ["town"] * 3 + [HOSTILE] * 4
    for name in what["datasets"]:
        rows = [row for row in table.rows if row.words[0] == name]
        assert {row.model for row in rows} == set(what["datasets"][name]["models"])
        errors = [row.marks[0].value for row in rows]
        assert errors == sorted(errors)  # the best model first


# the sentences


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("over", "splitting pole regions"),
        ("under", "merging neighbouring pole regions"),
        ("missed", "missing pole regions"),
        ("invented", "predicting pole regions where there are none"),
    ],
)
def test_a_sentence_names_class_kind_and_share(kind: str, words: str) -> None:
    what = {"models": {"unet": {}, "psp": {}}, "gaps": [gap("unet", "psp", "pole", kind, 0.2, 0.34)]}
    assert sentence(what, "unet") == f"unet loses most by {words}: 34 % of what its regions lose to psp."


def test_a_sentence_says_nothing_where_the_interval_holds_zero() -> None:
    doubtful = gap("unet", "psp", "pole", "under", 0.9, 0.8, low=-0.01)
    what = {"models": {"unet": {}, "psp": {}}, "gaps": [doubtful]}
    assert sentence(what, "unet") == "unet: no single kind of error stands out against psp."
    what["gaps"].append(gap("unet", "psp", "car", "over", 0.1, 0.1))
    assert "splitting car regions" in sentence(what, "unet")
    assert "pole" not in sentence(what, "unet")
    assert sentence({"gaps": [doubtful | {"low": None}]}, "unet") == ""
    assert "stands out" in sentence({"gaps": [doubtful | {"low": 0.0}]}, "unet")


def test_the_largest_gap_comes_first_whatever_the_order() -> None:
    what = {"gaps": [gap("a", "b", "car", "over", 0.1, 0.1), gap("a", "b", "pole", "missed", 0.3, 0.3)]}
    assert sentence(what, "a").startswith("a loses most by missing pole regions: 30 %")
    assert sentence(what, "b") == "b has the highest mIoU; the others are compared to it."
    assert sentence({}, "a") == ""


def test_a_class_called_like_a_gap_in_a_sentence_is_harmless() -> None:
    assert "missing {0} regions" in sentence({"gaps": [gap("a", "b", "{0}", "missed", 0.3, 0.3)]}, "a")


# the table


def test_errors_are_zero_at_best_and_intervals_turn_with_them() -> None:
    what = document()
    table, *_ = tables({"": what})
    at = [c.metric for c in table.columns].index("miou")
    x = what["models"]["unet"]["miou"]
    cell = table.rows[0].marks[at]
    assert cell.value == 1 - x["value"]
    assert (cell.low, cell.high) == (1 - x["high"], 1 - x["low"])
    rom = table.rows[0].marks[[c.metric for c in table.columns].index("rom")]
    assert rom.value == what["models"]["unet"]["rom"]["value"]
    assert rom.undefined == 3


def test_the_best_is_marked_and_ties_are_those_of_the_paired_interval() -> None:
    models = {
        n: {"miou": {"value": v, "better": "high", "low": v - 0.1, "high": v + 0.1}}
        for n, v in (("a", 0.5), ("b", 0.6), ("c", 0.59), ("d", 0.3))
    }
    rows = [("a", "b", -0.2, -0.05), ("b", "c", -0.01, 0.03), ("b", "d", 0.1, 0.4), ("a", "c", -0.02, 0.1)]
    paired = [
        {
            "metric": "miou",
            "first": f,
            "second": s,
            "low": lo,
            "high": hi,
            "difference": models[f]["miou"]["value"] - models[s]["miou"]["value"],
        }
        for f, s, lo, hi in rows
    ]
    assert standings({"models": models, "paired": paired}, "miou") == {"b": "best", "c": "tie"}
    assert standings({"models": models}, "miou") == {}
    assert standings({"models": {"a": models["a"]}}, "miou") == {}
    apart = {
        n: {"miou": of["miou"] | {"definition": "not comparable between models"}} for n, of in models.items()
    }
    assert standings({"models": apart}, "miou") == {}
    assert measures.headline({"models": models, "paired": paired}) == "b or c has the highest mIoU"


def test_the_page_begins_with_the_value_and_interval_that_the_terminal_shows() -> None:
    what = document()
    assert "mIoU .582 [.53, .63]" in measure_words.summary("o", what)
    html = measures.page(what, measures.Facts())
    assert "<h1>unet has the highest mIoU: 0.582 (0.532 to 0.632)</h1>" in html
    table = html[html.index('id="values"') : html.index('id="errors"')]
    assert re.search(r'<th scope="row">unet</th><td data-value="0.582\d*" class="best">', table)
    assert "<small>0.532–0.632</small>" in table
    assert "mIoU <span" in table


def test_maps_without_classes_have_no_table_of_values() -> None:
    what = {"models": {"a": {"rom": {"value": 0.1, "better": "low", "definition": "x"}}}}
    assert 'id="values"' not in measures.page(what, measures.Facts())


def compared(*rows: tuple[str, str, float, float], metric: str = "ap") -> dict[str, Any]:
    """A document of models whose errors are those over all they have; rows (FIRST, SECOND, gap of errors in
    common, gap of errors of all), each known to .001.
    """
    names = list(dict.fromkeys(name for first, second, *_ in rows for name in (first, second)))
    models = {
        n: {metric: {"value": 0.5 + 0.01 * k, "low": None, "better": "low", "definition": "x"}}
        for k, n in enumerate(names)
    }
    paired = [
        {
            "metric": metric,
            "first": f,
            "second": s,
            "difference": gap,
            "low": gap - 0.001,
            "high": gap + 0.001,
            "difference_all": whole,
            "low_all": whole - 0.001,
            "high_all": whole + 0.001,
        }
        for f, s, gap, whole in rows
    ]
    return {"models": models, "paired": paired}


def test_the_best_is_who_leads_where_both_have_a_value_and_a_sentence_says_what_changed() -> None:
    what = compared(("a", "b", 0.02, -0.01), ("a", "c", -0.02, -0.02), ("b", "c", -0.0005, -0.01))
    assert standings(what, "ap") == {"b": "best", "c": "tie"}
    said = differences(what)["said"]
    assert said == [
        (
            "AP error: a leads b by 0.0100 over all that each has, and b leads a by 0.0200 where both have a"
            " value."
        ),
        (
            "AP error: b leads c by 0.0100 over all that each has, and by 0.0005 where both have a value,"
            " which the intervals do not show."
        ),
    ]
    assert measure_words.turned(what, "ap", "AP error") == [
        "AP error: a has the smaller error, but b is ahead where both have a value"
    ]
    assert "but b is ahead" in measure_words.told("o", what)
    table = measure_words.told("o", what).splitlines()
    assert ["*" in line for line in table[1:4]] == [False, True, True]
    assert "* marks the best and all that are not significantly worse" in table[-1]
    html = measures.page(compared(("a", "b", 0.02, -0.01), metric="miou"), measures.Facts())
    assert "b has the lowest mIoU where models can be compared" in html
    assert "a leads b by 0.0100 over all that each has, and b leads a" in html


def test_two_models_that_are_equal_where_both_have_a_value_contradict_a_sure_lead_but_do_not_turn_it() -> (
    None
):
    assert contradictions(compared(("a", "b", 0.0, -0.02)), "ap") == [("a", "b", "unsure")]
    assert contradictions(compared(("a", "b", 0.02, -0.02)), "ap") == [("a", "b", "turned")]
    assert contradictions(compared(("a", "b", -0.02, -0.0005)), "ap") == [("a", "b", "sure")]
    assert contradictions(compared(("a", "b", -0.02, -0.03)), "ap") == []


def test_nobody_is_best_where_comparisons_form_a_circle() -> None:
    circle = (("a", "b", -0.02, -0.02), ("b", "c", -0.02, -0.02), ("a", "c", 0.02, -0.03))
    assert standings(compared(*circle), "ap") == {}
    assert standings(
        compared(*circle, ("d", "a", -0.1, -0.1), ("d", "b", -0.1, -0.1), ("d", "c", -0.1, -0.1)), "ap"
    ) == {"d": "best"}
    three = [compared(*circle, metric=metric) for metric in ("miou", "rom", "rum")]
    models = {name: {m: entry for one in three for m, entry in one["models"][name].items()} for name in "abc"}
    what = {"models": models, "paired": [row for one in three for row in one["paired"]]}
    assert [name for name, by in beaten({"models": models}).items() if not by] == ["a"]
    assert all(beaten(what).values())
    assert "none, the comparisons form a circle" in measures.page(what, measures.Facts())


def test_without_intervals_nothing_is_starred_shaded_or_called_beaten() -> None:
    bare, known = document(intervals=False), document()
    for what, marked in ((known, True), (bare, False)):
        table = measure_words.told("o", what)
        assert ("*" in table) == marked
        page = shown(what)
        cells = [
            attrs.get("class") or "" for tag, attrs in page.tags if tag == "td" and "data-value" in attrs
        ]
        assert any(word in ("best", "tie") for of in cells for word in of.split()) == marked
        assert any(attrs.get("class") == "tied" for tag, attrs in page.tags if tag == "tr") == marked
        assert ("nothing is shaded" in page.text) != marked
        assert ("Not beaten: not determined, since there are no intervals" in page.text) != marked
        assert ("has the highest mIoU: 0.582" in measures.headline(what)) == marked
    assert (
        "highest mIoU"
        not in shown(
            bare | {"gaps": [gap("unet", "model 2", "pole", "under", 0.2, 0.3) | {"low": None}]}
        ).text
    )


def test_a_column_has_no_best_where_the_leaders_difference_to_one_model_has_no_interval() -> None:
    what = compared(("a", "b", -0.02, -0.02), ("a", "c", -0.03, -0.03), ("b", "c", -0.01, -0.01))
    assert standings(what, "ap") == {"a": "best"}
    what["paired"][2].update(low=None, high=None)  # of the two behind
    assert standings(what, "ap") == {"a": "best"}
    what["paired"][1].update(low=None, high=None)
    assert standings(what, "ap") == {}


def test_who_is_beaten_is_said_of_pairs_with_intervals() -> None:
    models = {
        n: {m: {"value": v, "better": "low"} for m in ("miou", "rom", "rum")}
        for n, v in (("a", 0.1), ("b", 0.2), ("c", 0.3))
    }
    rows = [
        {"metric": m, "first": f, "second": s, "difference": -0.1, "low": -0.2, "high": -0.05}
        for f, s in (("a", "b"), ("a", "c"), ("b", "c"))
        for m in ("miou", "rom", "rum")
    ]
    assert {row.model: row.words for row in front({"models": models, "paired": rows})["table"].rows} == {
        "a": (),
        "b": ("a",),
        "c": ("a", "b"),
    }
    rows[4] |= {"low": None, "high": None}  # ROM of a and c
    assert {row.model: row.words for row in front({"models": models, "paired": rows})["table"].rows} == {
        "a": (),
        "b": ("a",),
        "c": ("b",),
    }


def test_main_scores_and_rest_hold_every_metric_once() -> None:
    every = tuple(TITLES)
    what = {"": document(metrics=every)}
    split = [[c.metric for c in t.columns] for t in tables(what)]
    assert [t.name for t in tables(what)] == ["maps", "scores", "rest"]
    assert sorted(m for part in split for m in part) == sorted(every)
    assert {"miou", "rom", "rum", "pq", "boundary_f", "gce"} <= set(split[0])
    odd = document(metrics=("miou", "a metric of tomorrow"))
    assert "a metric of tomorrow" in shown(odd).text


def test_saturation_is_said_and_brings_ror_and_rur_to_the_table() -> None:
    what = document(2)
    assert "saturate" not in shown(what).text
    for of in what["models"].values():
        of["rom"]["value"], of["rum"]["value"] = 0.97, 0.99
    text = shown(what).text
    assert "above 0.9 for every model" in text
    assert {"ror", "rur"} <= {c.metric for c in tables({"": what})[0].columns}


def test_sorting_needs_no_script_to_read_and_has_values_to_sort_by() -> None:
    page = shown(document())
    heads = [a for t, a in page.tags if t == "th" and "data-column" in a]
    assert heads
    values = [a["data-value"] for t, a in page.tags if t == "td" and "data-value" in a]
    assert all(v == "" or float(str(v)) is not None for v in values)


# fronts, bars, confusions, differences, figures


def test_pareto_keeps_models_that_no_other_beats_on_all_three() -> None:
    def of(miou: float, rom: float, rum: float) -> dict[str, Any]:
        return {
            m: {"value": v, "better": b}
            for m, v, b in (("miou", miou, "high"), ("rom", rom, "low"), ("rum", rum, "low"))
        }

    models = {
        "a": of(0.8, 0.1, 0.2),
        "twin": of(0.8, 0.1, 0.2),
        "worse": of(0.8, 0.1, 0.3),
        "odd": of(0.1, 0.9, 0.1),
        "half": {"miou": {"value": 1, "better": "high"}},
    }
    assert [name for name, by in beaten({"models": models}).items() if not by] == ["a", "twin", "odd"]


def test_bars_of_classes_leave_out_what_is_undefined() -> None:
    panels = by_class(document())
    assert [p["title"] for p in panels] == ["IoU error", "ROM", "RUM"]
    assert [name for name, _ in panels[0]["rows"]] == ["sky", "pole"]
    what = document()
    first = what["models"]["unet"]["miou"]["per_class"]["sky"]
    assert by_class(what)[0]["rows"][0][1][0] == pytest.approx(1 - first)
    assert panels[0]["axis"].low == 0


def test_confusions_are_shares_of_the_true_class() -> None:
    one, *_ = confusions(document())
    assert one["largest"][0] == ("sky", "pole", pytest.approx(3 / 53), 3)
    assert one["matrix"][1][1] == [0.2, 0.7, 0.1]
    assert one["matrix"][2][1] == [None, None, None]
    assert "void" not in one["names"]


def test_differences_are_of_errors_and_many_are_cut_to_the_main_metrics() -> None:
    what = document(2)
    row = next(r for r in differences(what)["rows"] if r["metric"] == "miou")
    given = next(r for r in what["paired"] if r["metric"] == "miou")
    assert row["mark"] == Mark(-given["difference"], -given["high"], -given["low"])
    assert row["sure"] == (given["low"] > 0 or given["high"] < 0)
    many = differences(document(10))
    assert many["left_out"] > 0
    assert len(many["rows"]) + many["left_out"] == 45 * len(METRICS)


def test_names_of_near_dots_are_not_written_over_each_other() -> None:
    near = [Line(f"a network of name {k}", (ChartPoint(0.5 + k / 100, 0.5),), k) for k in range(4)]
    far = [Line(f"another network {k}", (ChartPoint(0.9 + k / 100, 0.5),), k) for k in range(2)]
    html = str(scatter([*near, *far], "ROM", "RUM"))
    heights = [float(y) for y in re.findall(r'<text class="name" x="[\d.]+%" y="([\d.]+)"', html)]
    assert len(heights) == 6
    assert min(abs(a - b) for k, a in enumerate(heights) for b in heights[:k]) >= 14


def test_figures_say_their_numbers_and_escape_names() -> None:
    drawn = str(
        scatter(
            [Line(HOSTILE, (ChartPoint(0.1, 0.2, (0.05, 0.15)),), 0), Line("b", (ChartPoint(0.1, 0.2),), 11)],
            "ROM",
            "RUM",
        )
    )
    assert "0.100" in drawn
    assert "<script" not in drawn
    heights = [float(y) for y in re.findall(r'class="name"[^>]* y="([\d.]+)"', drawn)]
    assert abs(heights[0] - heights[1]) >= 12, "names of equal dots stand apart"
    gappy = str(plane([views._line("a", 0, [0, None, 1], [0, 0.5, 1])]))
    assert 'd="M0.0 1000.0L1000.0 0.0"' in gappy
    assert "nan" not in gappy


def test_precision_of_tied_scores_is_drawn_in_steps() -> None:
    """Between two recalls there is no threshold: nothing lies on the slope that a straight line would
    draw.
    """
    of = {"recall": [0.5, 1.0], "precision": [1.0, 0.25]}
    found = views.curves({"models": {"a": {}}, "curves": {"a": {"precision_recall": of}}})
    assert 'd="M0.0 0.0L500.0 0.0L500.0 750.0L1000.0 750.0"' in plane(found["precision_recall"])
