"""What the three kinds of evidence count: the same images, slots and labels, however they chose them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faultscape.nouns import Draw, PairSlot, Slot
from faultscape.ranking.assembly import assemble
from faultscape.ranking.catalogue import Ranking
from faultscape.ranking.classifiers import PairsOfClassifiers
from faultscape.ranking.drawn.rankings import Draws
from faultscape.ranking.drawn.scores import Expected
from faultscape.ranking.duel_standings import Duels
from faultscape.ranking.panel import Panel, RankingOptions

MODELS, IMAGES = ("a", "b", "c"), [f"{k:02d}" for k in range(40)]
OWN = Ranking("own", "t", "t", "s", "ours", "re-use", "scores", lambda scores, weights: weights @ scores.T)


def of(kind: str, chosen: list[str], rng: np.random.Generator) -> Any:
    """Evidence whose slots chose these images."""
    two = [sorted(rng.choice(3, 2, replace=False).tolist()) for _ in chosen]
    names = [(MODELS[a], MODELS[b]) for a, b in two]
    if kind == "duels":
        rows = [
            Slot("mad", 1, 1, *pair, "car", 1, image, 0.1, 1.0, 9)
            for pair, image in zip(names, chosen, strict=True)
        ]
        return Duels(rows, ["car"], {"all": ["car"]})
    if kind == "pairs":
        return PairsOfClassifiers(
            [
                PairSlot("mad", 1, 1, *pair, "x", "y", 1, image, 1.0, 1.0, 1.0, 9)
                for pair, image in zip(names, chosen, strict=True)
            ]
        )
    once = list(dict.fromkeys(chosen))
    rows = [Draw("random", 1, k, image, 1.0, 1 / (41 - k), 40) for k, image in enumerate(once, 1)]
    return Draws(rows, learns=False, partly=IMAGES[::3])


def by_hand(kind: str, evidence: Any, panel: Panel, all_labels: bool, discarded: int) -> dict[str, int]:
    """The numbers of labels, one image at a time."""
    columns = dict(zip(panel.images, panel.scores.T, strict=True))
    labelled = {image for image, scores in columns.items() if not np.isnan(scores).all()}
    chosen = {row.image for row in evidence.rows}
    used = labelled if all_labels else labelled & chosen
    out = {
        "used": len(used),
        "slots": len(chosen) if kind == "draws" else len(evidence.rows),
        "discarded": discarded,
        "missing": len(chosen - labelled) - (discarded if kind == "draws" else 0),
    }
    if used != chosen & labelled:
        out["of_selection"] = len(chosen & labelled)
    if kind == "draws":
        partly = used & {*evidence.partly}
    elif kind == "pairs":
        asked = {image: {*MODELS} for image in used - chosen}
        for row in evidence.rows:
            asked.setdefault(row.image, set()).update((row.model_a, row.model_b))
        partly = {i for i in used if any(np.isnan(columns[i][MODELS.index(m)]) for m in asked[i])}
    else:
        partly = set()
    return out | ({"partly": len(partly)} if partly else {})


@pytest.mark.parametrize("kind", ["duels", "pairs", "draws"])
def test_labels_are_counted_alike_whatever_chose_the_images(kind: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 2, (3, 40)).astype(float)
        scores[rng.random((3, 40)) < 0.05] = np.nan
        scores[:, rng.random(40) < 0.3] = np.nan
        panel = Panel.of(MODELS, IMAGES, scores, discarded=seed % 3)
        found = of(kind, rng.choice(IMAGES, 15).tolist(), rng)
        for all_labels in (False, True):
            options = RankingOptions(resamples=0, all_labels=all_labels)
            labels = assemble(panel, found, options).labels
            expected = by_hand(kind, found, panel, all_labels, seed % 3)
            assert {key: labels.get(key) for key in expected} == expected
            assert ("partly" in labels, "of_selection" in labels) == (
                "partly" in expected,
                "of_selection" in expected,
            )


def test_rankings_of_ones_own_are_of_all_classes_and_of_no_part_of_them() -> None:
    rng = np.random.default_rng(0)
    found = assemble(
        Panel.of(MODELS, IMAGES, rng.random((3, 40))),
        of("duels", IMAGES[:20], rng),
        RankingOptions(resamples=0, extra=[OWN]),
    )
    assert "own" in found.rankings
    assert list(found.parents["all"].rankings) == [name for name in found.rankings if name != "own"]


def test_few_chosen_images_leave_faithful_ranks_open_however_many_other_labels_there_are() -> None:
    rng = np.random.default_rng(0)
    scores = (rng.random((3, 40)) < [[0.95], [0.5], [0.05]]).astype(float)
    benchmark = {"a": 3.0, "b": 2.0, "c": 1.0}
    found = assemble(
        Panel.of(MODELS, IMAGES, scores),
        of("pairs", IMAGES[:9] * 2, rng),
        RankingOptions(resamples=60, all_labels=True, benchmark=benchmark),
    )
    assert found.rankings["reuse_mean"].rank_interval["a"] == [1, 1]
    assert found.rankings["perron"].rank_interval["a"] == [1, 3]
    assert found.benchmark is not None
    assert np.isfinite(found.benchmark.spearman["reuse_mean"]).all()
    assert np.isnan(found.benchmark.spearman["perron"][1:]).all()


def test_labels_outside_the_draws_speak_of_no_data_to_come() -> None:
    rng = np.random.default_rng(0)
    panel = Panel.of(MODELS, IMAGES, rng.random((3, 40)))
    draws = replace(of("draws", IMAGES[:30], rng), population="future")
    for all_labels, says in ((False, "future"), (True, "chosen")):
        options = RankingOptions(resamples=20, all_labels=all_labels)
        assert assemble(panel, draws, options).rankings["reuse_mean"].speaks_of == says


def test_a_control_variate_needs_the_pool_that_was_drawn_from() -> None:
    rng = np.random.default_rng(0)
    panel = Panel.of(MODELS, IMAGES, rng.random((3, 40)))
    draws = of("draws", IMAGES[:30], rng)
    other = [*IMAGES[1:], "else"]
    lost = replace(draws, lost={IMAGES[35], IMAGES[3]})
    for evidence, pool, there in (
        (draws, IMAGES, True),
        (draws, IMAGES[:39], False),
        (draws, other, False),  # as many, but without an image drawn
        (lost, IMAGES, True),
    ):
        losses = rng.random((3, len(pool)))
        found = assemble(
            panel, replace(evidence, expected=Expected(pool, losses)), RankingOptions(resamples=0)
        )
        assert ("prediction_powered" in found.rankings) == there


def test_a_choice_decides_the_slots_of_its_models_and_no_others_on_its_image() -> None:
    panel = Panel.of(MODELS, ["x", "y"], np.full((3, 2), np.nan))
    rows = [
        Slot("mad", 1, 1, "a", "b", "car", 1, "x", 0.1, 1.0, 9),
        Slot("mad", 1, 2, "a", "c", "road", 1, "x", 0.1, 1.0, 9),
    ]
    duels = Duels(
        rows, ["car", "road"], {"things": ["car"], "ground": ["road"]}, 0.01, {("x", "a", "b"): (0.75, 4)}
    )
    found = assemble(panel, duels, RankingOptions(resamples=0))
    assert found.labels == {"used": 1, "slots": 2, "discarded": 0, "missing": 0, "choices": 4, "by_choice": 1}
    assert list(found.parents) == ["things"]
    assert "parent group ground: none of its 1 slot is labelled; it is not ranked" in found.notes
