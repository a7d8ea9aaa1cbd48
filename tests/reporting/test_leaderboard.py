"""The leaderboard over editions, drawn from the card's document alone."""

from __future__ import annotations

import re

from faultscape.reporting.reliability.document import RANDOM, Card, flags_of_score
from faultscape.reporting.reliability.leaderboard import boards_of, leaderboard_page

AP = {
    ("a", "msp"): (0.2, 0.3, 0.2),
    ("a", "energy"): (0.25, 0.25, 0.25),
    ("a", "entropy"): (0.9, None, None),
    ("b", "submitted"): (0.6, None, 0.7),
    (RANDOM, RANDOM): (0.02, 0.03, 0.02),
}


def card(editions: int = 3) -> Card:
    names = ["2026-01", "2026-06", "2026-11"][:editions]
    return {
        "study": "<street>",
        "models": [
            {"name": "a", "scorers": ["msp", "energy", "entropy"], "flags": []},
            {"name": "b", "scorers": ["submitted"], "flags": ["trained-with-ood (declared)"]},
            {"name": "idle", "scorers": []},
        ],
        "conditions": [
            {"name": "main", "kind": "clean"},
            *({"name": f"v2-{name}", "kind": "anomaly", "of": "main", "edition": name} for name in names),
            {"name": "lost", "kind": "anomaly"},
        ],
        "cells": (
            [
                {
                    "model": model,
                    "scorer": scorer,
                    "condition": f"v2-{name}",
                    "metric": "average_precision",
                    "value": value,
                }
                for (model, scorer), values in AP.items()
                for name, value in zip(names, values, strict=False)
            ]
            + [
                {
                    "model": "a",
                    "scorer": "msp",
                    "condition": "lost",
                    "metric": "average_precision",
                    "value": 0.99,
                }
            ]
        ),
    }


def test_a_flag_of_a_network_and_of_its_method_stands_once() -> None:
    own = {"scorer": "fusion", "flags": ["trained-with-ood", "tuned-with-ood"]}
    both = {"name": "a", "flags": ["retrained", "trained-with-ood"], "methods": [own]}
    flags = flags_of_score({**card(), "models": [both]}, "a", "fusion")
    assert flags == ["retrained", "trained-with-ood", "tuned-with-ood"]


def test_the_best_variant_is_that_of_the_highest_mean_over_the_editions() -> None:
    (board,) = boards_of(card())
    assert (board.of, board.editions, board.chance) == (
        "main",
        ("2026-01", "2026-06", "2026-11"),
        (0.02, 0.03, 0.02),
    )
    assert [(one.model, one.variant, one.values, one.saw) for one in board.standings] == [
        ("a", "energy", (0.25, 0.25, 0.25), ""),
        ("b", "submitted", (0.6, None, 0.7), "trained"),  # it lacks an edition, perhaps the hardest
    ]
    assert [round(one.mean, 9) for one in board.standings] == [0.25, 0.65]


def test_a_page_is_made_of_two_editions_or_more() -> None:
    assert leaderboard_page(card(editions=1)) == ""
    page = leaderboard_page(card())
    lines = dict(re.findall(r'<g class="line ([^"]+)"(.*?)</g>', page))
    joined = {kind: text.count('class="curve"') for kind, text in lines.items()}
    assert joined == {"m0": 1, "m1 dashed": 0, "chance": 1}  # b has no neighbours that are known
    assert lines["m1 dashed"].count('<circle class="dot"') == 2
    assert lines["m0"].count('<circle class="dot"') == 3
    assert "<title>a (energy), 2026-06: 0.250</title>" in page
    assert '<line class="dashed"' in page
    assert "&lt;street&gt;" in page
    assert "<street>" not in page
    assert "<td>–</td>" in page
    assert "b <small>trained-with-ood (declared)</small>" in page
    assert not re.findall(r"stroke: *#|fill: *#", page.partition("{% include")[2])


def test_a_variant_that_was_tuned_with_unknown_objects_is_said_to_be_tuned() -> None:
    document = card()
    document["models"][0]["methods"] = [{"scorer": "energy", "flags": ["tuned-with-ood"]}]
    page = leaderboard_page(document)
    assert "1 a, energy, tuned with unknown objects</li>" in page
    assert "2 b, submitted, trained with unknown objects</li>" in page


def test_sets_of_the_same_edition_are_called_by_their_names() -> None:
    document = card(editions=2)
    document["conditions"][2]["edition"] = "2026-01"
    assert boards_of(document)[0].editions == ("v2-2026-01", "v2-2026-06")
