"""What `reliability` prints: 80 columns, the mean corruption error explained, no empty rows."""

from __future__ import annotations

import re

import pytest

from faultscape.reporting.reliability.document import CORRUPTED
from faultscape.reporting.reliability.words import card_text, doubt_text
from made_card import card, without_sets


@pytest.mark.parametrize("models", [1, 3, 12])
def test_the_card_fits_80_columns_but_for_lines_to_paste(models: int) -> None:
    what = card(models)
    lines = card_text("study/reliability", what).splitlines()
    pasted = {f"  {gap['line']}" for gap in what.get("gaps", []) if gap["line"]}
    assert [line for line in lines if len(line) > 80 and line not in pasted] == []


def test_the_corruption_error_names_its_reference_and_says_what_it_is() -> None:
    what = card(3)
    model = what["models"][0]["name"]
    what["cells"].append({"model": model, "condition": CORRUPTED, "metric": "corruption_error", "value": 1.0})
    text = card_text("study/reliability", what)
    assert f"({what['reference']} = 1)" in text
    assert f"mCE: mean corruption error relative to {what['reference']}; lower is better" in " ".join(
        text.split()
    )


def test_a_mean_over_fewer_corrupted_sets_than_others_carries_a_star_that_says_of_how_many() -> None:
    what = without_sets(card(3), "model 2", keep=1)
    lines = card_text("out", what).splitlines()
    row = next(line for line in lines if line.startswith("model 2 ")).split()
    assert row[2:] == ["0.6000", "0.3600*", "0.4400*"]  # mIoU clean and corrupted, relative drop
    assert "* mean over 1 of 6 corrupted sets: not comparable with means over more of them" in " ".join(lines)
    assert not any("*" in line for line in lines if line.startswith("unet "))
    assert "*" not in card_text("out", card(3))


def test_heads_of_columns_stand_apart_on_lines_of_their_own() -> None:
    top = [line.strip() for line in card_text("out", card(3)).splitlines()[:2]]
    assert [re.split(r" {2,}", line) for line in top] == [
        ["mIoU", "relative"],
        ["mIoU main", "corrupted", "drop"],
    ]


def test_no_row_is_empty() -> None:
    rows = [line.split() for line in card_text("out", card(3)).splitlines() if line.startswith("random ")]
    assert rows
    assert all(set(row[1:]) != {"-"} for row in rows)


def test_an_order_without_labels_that_labels_contradict_is_not_to_be_trusted() -> None:
    what = card(3)
    assert "do not trust the ranking by consistency" not in card_text("study/reliability", what)
    upside_down = {**what["ranking"], "agreement": {"clean": -1.0, "corrupted": 1.0}}
    told = " ".join(card_text("study/reliability", {**what, "ranking": upside_down}).split())
    assert "the ranking by consistency here: 24 labelled images order the models the other way" in told


@pytest.mark.parametrize("ranking", [{"labelled": 9}, {"agreement": {}}])
def test_nor_is_one_that_hardly_any_label_checks(ranking: dict[str, object]) -> None:
    said = doubt_text({**card(3)["ranking"], **ranking})
    assert said.endswith("before three models and 10 labelled images check it")
    assert doubt_text({}) == ""
