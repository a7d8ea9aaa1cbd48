"""What a card says of requirements: met, missed or not known by the interval, of which models, sets and
scorers, and one line for what no card can meet.
"""

from __future__ import annotations

from typing import Any

import pytest

import made_card
from faultscape.errors import OptionError
from faultscape.reporting.reliability.document import Card, CardRequirement
from faultscape.reporting.reliability.words import card_text
from faultscape.verbs.reliability.conditions import Condition
from faultscape.verbs.reliability.verdicts.requirements import (
    judge_requirements,
    read_requirements,
    refuse_unknown_places,
)
from refusals import refused


def card(models: int = 3, **more: Any) -> Card:
    """A made card that recommends no scorer."""
    return made_card.card(models, **more) | {"recommended": []}  # type: ignore[return-value]


def judged(what: Card, *texts: str) -> list[CardRequirement]:
    return judge_requirements(what, read_requirements(texts))


def standings(what: Card, text: str) -> dict[tuple[str, str, str], str]:
    return {(row["model"], row["scorer"], row["condition"]): row["standing"] for row in judged(what, text)}


def for_validation(what: Card, *names: str) -> Card:
    for condition in what["conditions"]:
        if condition["name"] in names:
            condition["validation"] = True
    return what


def test_without_a_set_nothing_is_required_on_one_that_may_have_taught() -> None:
    what = card(1)
    what["conditions"] = [{**one, "training": one["name"] == "blended"} for one in what["conditions"]]
    assert [*standings(what, "ap>=0")] == [("unet", "msp", "things")]
    assert [*standings(what, "blended: ap>=0")] == [("unet", "msp", "blended")]


@pytest.mark.parametrize(
    ("text", "standing"),
    [
        ("unet: ap>=.37", "met"),  # .4, from .37 to .43
        ("unet: ap>=.3701", "not known"),
        ("unet: ap>=.43", "not known"),
        ("unet: ap>=.4301", "missed"),
        ("unet: FPR95 <= .43", "met"),
        ("unet: fpr95<=.4", "not known"),
        ("unet: fpr95<=.36", "missed"),
        ("unet: objects@5%>=.47", "met"),
        ("unet: found_5>=.54", "missed"),
        ("unet: miou>=.67", "met"),
        ("unet: ece<=.5", "met"),
        ("unet: drop<=.3", "missed"),
        ("unet: error_auroc>=.9", "missed"),
    ],
)
def test_a_requirement_is_met_or_missed_by_the_whole_interval(text: str, standing: str) -> None:
    rows = judged(card(), text)
    assert {row["standing"] for row in rows} == {standing}
    assert all(bool(row["why"]) == (standing == "not known") for row in rows)


def test_without_words_it_is_about_every_model_and_every_set_that_is_not_for_validation() -> None:
    what = for_validation(card(3), "blended")
    names = [one["name"] for one in what["models"]]
    assert standings(what, "ap>=0") == {(name, "msp", "things"): "met" for name in names}
    assert [*standings(what, "blended: ap>=0")] == [(name, "msp", "blended") for name in names]
    assert [*standings(what, "energy, unet: ap>=0")] == [("unet", "energy", "things")]
    assert [*standings(what, "miou>=0")] == [(name, "", "main") for name in names]
    assert [*standings(what, "fog-3: miou>=0")] == [(name, "", "fog-3") for name in names]
    assert [*standings(what, "consistency>=0")] == [(name, "", "all corruptions") for name in names]


def test_a_number_of_scores_is_not_required_of_maps_without_any_beside_models_that_have_some() -> None:
    what = card(2)
    first, second = what["models"]
    second["scorers"] = []
    assert {model for model, _, _ in standings(what, "ap>=0")} == {first["name"]}
    assert {model for model, _, _ in standings(what, "miou>=0")} == {first["name"], second["name"]}
    first["scorers"] = []
    assert {row["why"] for row in judged(what, "ap>=0")} == {"the model has no scorer"}


def test_the_scorer_is_the_recommended_one_or_that_of_the_own_row() -> None:
    what = card(2)
    row: Any = {"model": "unet", "scorer": "energy", "sets": ["x"], "why": ""}
    what["recommended"] = [row]
    assert {one["model"]: one["scorer"] for one in judged(what, "ap>=0")}["unet"] == "energy"
    assert {one["scorer"] for one in judged(what, "unet, msp: ap>=0")} == {"msp"}


def test_what_has_no_number_or_no_interval_is_not_known_and_why() -> None:
    what = for_validation(card(1, intervals=False), "blended", "things")
    assert {row["why"] for row in judged(what, "ap>=0")} == {"no set with anomalies is for test"}
    assert {row["why"] for row in judged(what, "miou>=0")} == {"it has no interval"}
    assert {row["why"] for row in judged(what, "mce<=1")} == {"it was not measured"}
    what["models"][0]["scorers"] = []
    assert {row["why"] for row in judged(what, "blended: ap>=0")} == {"the model has no scorer"}


def test_under_a_holdout_numbers_of_maps_are_those_in_distribution() -> None:
    (row,) = judged(card(1, in_distribution=True), "miou>=.75")
    assert (row["holdout"], row["standing"]) == ("things", "met")
    assert row["value"] == pytest.approx(0.8)


def test_a_word_is_the_first_of_set_model_and_scorer_that_is_not_taken() -> None:
    what = card(2)
    what["models"][0]["name"] = "blended"
    for cell in what["cells"]:
        cell["model"] = "blended" if cell["model"] == "unet" else cell["model"]
    assert len(standings(what, "blended: ap>=0")) == 2
    assert [*standings(what, "blended, blended: ap>=0")] == [("blended", "msp", "blended")]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ap", 'is not NUMBER>=BOUND or NUMBER<=BOUND, for example --require "ap>=.5"; without quotes'),
        ("ap>.5", "is not NUMBER>=BOUND"),
        ("precision>=.5", "no number precision; it has ap, auroc, fpr95, objects@1%"),
        ("objects@5>=.5", "Did you mean 'objects@5%'?"),
        (">=.5", "no number without a name"),
        ("ap>=half", "half is not a number; give a share, such as .5"),
        ("ap>=", "nothing is not a number"),
        ("ap>=50", "ap is between 0 and 1"),
        ("ap>=nan", "ap is between 0 and 1"),
        ("ap<=.5", "of ap, more is better; write ap>=.5"),
        ("ece>=.5", "of ece, less is better; write ece<=.5"),
    ],
)
def test_what_no_card_can_meet_is_refused_in_one_line(text: str, says: str) -> None:
    with refused(OptionError, "") as found:
        read_requirements([text])
    assert f"--require {text}: " in str(found.value)
    assert says in str(found.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("blend: ap>=.5", "blend is not a set, model or scorer of the card; it has main, blended"),
        ("unet, unet: ap>=.5", "unet is named twice"),
        ("unet,: ap>=.5", "an empty word"),
        ("main: ap>=.5", "main is not a set with anomalies; the card has blended"),
        ("msp: miou>=.5", "mIoU is a number of maps, not of a scorer; remove msp"),
    ],
)
def test_what_the_study_does_not_have_is_refused_in_one_line(text: str, says: str) -> None:
    conditions = [
        Condition("main", "clean", ("main",), ()),
        Condition("blended", "anomaly", ("blended",), ()),
    ]
    with refused(OptionError, "") as found:
        refuse_unknown_places(read_requirements([text]), conditions, {"unet": ["msp"]})
    assert says in str(found.value)


def test_requirements_come_first_in_the_text_in_80_columns() -> None:
    what = card(1)
    what["requirements"] = judged(what, "ap>=.38", "ap>=.1", "fpr95<=.2")
    lines = card_text("out", what).splitlines()
    assert lines[0] == "requirements: 2 met, 2 missed, 2 not known"
    assert lines[1] == "not known: ap>=.38: unet, msp, blended 0.400 (0.370 to 0.430); the interval"
    assert max(map(len, lines[:10])) <= 80
