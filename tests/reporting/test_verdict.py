"""The verdict in words, one state of a study after the other: which model to use, by how much, for which
images, what is not settled, where it fails, and what limits all that.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from faultscape.nouns import Draw
from faultscape.reporting.verdict import PairNeed, Verdict, Work
from faultscape.reporting.verdict_lines import verdict
from faultscape.standings import Failing, Gap, ModelRanking, OtherTruth, Standings
from made_draws import draw_rankings

MODELS = ("fcn", "psp", "unet")
FAILS = Failing("fcn", "pole", 0.05, 31, "building", 0.36, "0001TP_009720")


def ranked(
    best: str,
    *gaps: tuple[str, str, float, float, float],
    of: str = "pool",
    models: tuple[str, ...] = MODELS,
) -> ModelRanking:
    """A ranking in the order of the models whose best ones are named; gaps are in points of 100."""
    names = best.split()
    return ModelRanking(
        scores={model: 0.5 - 0.01 * k for k, model in enumerate(models)},
        order=list(models),
        score_interval={model: [0.4, 0.6] for model in models},
        rank_interval={model: [1, 2] for model in models},
        simultaneous_rank_interval={model: [1, 2] for model in models},
        tied_for_best=names,
        best_set=names,
        speaks_of=of,
        gaps=[Gap(a, b, d / 100, [low / 100, high / 100], low > 0) for a, b, d, low, high in gaps],
    )


OPEN = (("fcn", "psp", 1.42, -1.7, 4.5), ("fcn", "unet", 3.0, 0.5, 5.5), ("psp", "unet", 1.58, -1.0, 4.2))
CLEAR = (("fcn", "psp", 2.42, 0.31, 4.5), ("fcn", "unet", 4.0, 1.5, 6.5), ("psp", "unet", 1.58, -1.0, 4.2))
CLOSE = (("fcn", "psp", 2.42, -0.2, 5.04), ("fcn", "unet", 4.0, 1.0, 7.0), ("psp", "unet", 1.58, -1.5, 4.7))
WIDE = (("fcn", "psp", 1.42, -10, 12.9), ("fcn", "unet", 3.0, -8, 14.0), ("psp", "unet", 1.58, -9, 12.2))
CENSUS = (("fcn", "psp", 1.42, 1.42, 1.42), ("fcn", "unet", 3.0, 3.0, 3.0), ("psp", "unet", 1.58, 1.58, 1.58))


def drawn(pool: ModelRanking, later: ModelRanking | None = None, **more: Any) -> Standings:
    """Standings of images drawn for all models."""
    to_come = {} if later is None else {"prediction_powered": later}
    define = {"concordance": "miou", **more.pop("define", {})}
    labels = {"used": 50, "pool": 193}
    rankings = {"prediction_powered": pool}
    return Standings(MODELS, labels, {}, rankings, define, to_come=to_come, failing=FAILS, **more)


def duels(best: str = "fcn") -> Standings:
    """Standings of images that were chosen because models differ."""
    order = tuple(sorted(MODELS, key=lambda model: model != best))
    rankings = {"reuse_bradley_terry": ranked(best, of="chosen", models=order)}
    return Standings(MODELS, {"used": 13}, {}, rankings, {"concordance": "miou"})


FUTURE = ranked("fcn psp", *OPEN, of="future")
SURE = ranked("fcn", *CLEAR, of="future")
NEEDS = {("fcn", "psp"): PairNeed(72, 55, 139), ("psp", "unet"): PairNeed(math.nan, math.nan, math.nan)}
FAILING = (
    "fcn fails most on pole: IoU 5 % on 31 labelled images; 36 % of it is taken for building, most on "
    "0001TP_009720."
)
POOL_FIRST = "On this pool of 193 images, fcn is best (2.4 points ahead of psp [0.3, 4.5]); for images to come, it may be fcn or psp."
MORE_IMAGES = "More images (`faultscape collect STUDY MORE/`), not labels, would tell for images to come."
MORE_TOO = "For images to come, more images (`faultscape collect STUDY MORE/`) are needed as well."
STATES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "no model": (
        {"standings": {}, "models": ()},
        ("There is no model yet.",),
    ),
    "one model": (
        {"standings": {}, "models": ("fcn",)},
        ("fcn is the only model: there is nothing to choose.",),
    ),
    "nothing labelled": (
        {"standings": {}},
        ("No one can say yet which of the 3 models is best.", "No image is labelled."),
    ),
    "labelled, not ranked": (
        {"standings": {}, "labelled": 12},
        (
            "No one can say yet which of the 3 models is best.",
            "12 images are labelled, and nothing is ranked yet.",
        ),
    ),
    "too few labels": (
        {"standings": {"order": Standings(MODELS, {"used": 6}, {}, {}, {})}},
        (
            "No one can say yet which of the 3 models is best.",
            "6 labelled images, and at least 10 are needed.",
        ),
    ),
    "decided": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), SURE)}},
        (
            "Use fcn.",
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [0.3, 4.5] for images to come.",
            "Not settled further down: psp or unet.",
            FAILING,
        ),
    ),
    "undecided": (
        {"standings": {"order": drawn(ranked("fcn psp", *OPEN), FUTURE)}, "needs": NEEDS},
        (
            "The labels do not decide between fcn and psp; unet is not the best.",
            "fcn is ahead of psp by 1.4 points of mIoU (mean over images) [-1.7, 4.5] for images to come; no other model is more than 1.7 points better (95 %).",
            (
                "Not settled: fcn or psp (about 22 more labels would decide this pool, 5 to 89); psp or unet (how "
                "many labels would decide this pool cannot be predicted)."
            ),
            FAILING,
        ),
    ),
    "decided for the pool, not for images to come": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), FUTURE)}},
        (
            POOL_FIRST,
            "fcn is ahead of psp by 1.4 points of mIoU (mean over images) [-1.7, 4.5] for images to come; no other model is more than 1.7 points better (95 %).",
            "Also not settled for images to come: psp or unet.",
            FAILING,
            MORE_IMAGES,
        ),
    ),
    "decided for the pool, and labels of it may tell for images to come": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), ranked("fcn psp", *CLOSE, of="future"))}},
        (
            POOL_FIRST,
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [-0.2, 5.0] for images to come; no other model is more than 0.2 points better (95 %).",
            "Also not settled for images to come: psp or unet.",
            FAILING,
            "If the lead stays as it is, about 11 more labels would tell for images to come.",
        ),
    ),
    "decided for the pool before a model came": (
        {
            "standings": {"order": drawn(ranked("fcn", *CLEAR), FUTURE)},
            "stale": {"order": "model x was added"},
        },
        (
            "On this pool of 193 images, fcn was best before the study changed.",
            "fcn is ahead of psp by 1.4 points of mIoU (mean over images) [-1.7, 4.5] for images to come.",
            "Not settled for images to come: fcn or psp; psp or unet.",
            FAILING,
            "This is out of date: model x was added.",
        ),
    ),
    "a pair that the pool settles": (
        {"standings": {"order": drawn(ranked("fcn psp", *OPEN), ranked("fcn psp unet", *WIDE, of="future"))}},
        (
            "The labels do not decide between the 3 models; fcn is ahead.",
            "fcn is ahead of psp by 1 point of mIoU (mean over images) [-10, 13] for images to come; no other model is more than 10 points better (95 %).",
            "Not settled: fcn or psp; fcn or unet (settled on this pool), and 1 more pair.",
            FAILING,
            MORE_TOO,
        ),
    ),
    "images of one group, decided for the pool": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), ranked("fcn psp", *OPEN, of="same-groups"))}},
        (
            POOL_FIRST.replace("images to come", "more images of the same groups"),
            (
                "fcn is ahead of psp by 1.4 points of mIoU (mean over images) [-1.7, 4.5] for more images of the "
                "same groups; no other model is more than 1.7 points better (95 %)."
            ),
            "Also not settled for more images of the same groups: psp or unet.",
            FAILING,
            MORE_IMAGES.replace("images to come", "more images of the same groups"),
        ),
    ),
    "fewer than six groups": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), ranked("", of="future"))}},
        (
            "Use fcn.",
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [0.3, 4.5] on this pool of 193 images.",
            "Not settled further down: psp or unet.",
            FAILING,
            "Images to come cannot be judged: labels lie in fewer than 6 groups.",
        ),
    ),
    "everything labelled": (
        {"standings": {"order": drawn(ranked("fcn", *CENSUS), FUTURE)}},
        (
            POOL_FIRST.replace(" (2.4 points ahead of psp [0.3, 4.5])", " (1.4 points ahead of psp)"),
            "fcn is ahead of psp by 1.4 points of mIoU (mean over images) [-1.7, 4.5] for images to come; no other model is more than 1.7 points better (95 %).",
            "Also not settled for images to come: psp or unet.",
            FAILING,
            MORE_IMAGES,
        ),
    ),
    "everything labelled, in few groups": (
        {"standings": {"order": drawn(ranked("fcn", *CENSUS), ranked("", of="future"))}},
        (
            "Use fcn.",
            (
                "fcn is ahead of psp by 1.4 points of mIoU (mean over images) on this pool of 193 images, all of it "
                "labelled."
            ),
            FAILING,
            "Images to come cannot be judged: labels lie in fewer than 6 groups.",
        ),
    ),
    "frames of a video without groups": (
        {
            "standings": {
                "order": drawn(ranked("fcn", *CLEAR), SURE, define={"alike": 0.54, "together": "--block 25"})
            },
            "study": "s",
        },
        (
            "Use fcn.",
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [0.3, 4.5] for images to come.",
            "Not settled further down: psp or unet.",
            FAILING,
            (
                "Neighboring images are alike, so this interval is rough; `faultscape collect s --block 25` makes it "
                "sound, often wider."
            ),
        ),
    ),
    "duels alone": (
        {"standings": {"main": duels()}},
        ("On the 13 labelled images chosen for what the models predict, fcn leads.",),
    ),
    "two selections that contradict each other": (
        {"standings": {"order": drawn(ranked("fcn", *CLEAR), SURE), "main": duels("psp")}},
        (
            "Use fcn.",
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [0.3, 4.5] for images to come.",
            "Not settled further down: psp or unet.",
            FAILING,
            "On the images of selection main, psp leads.",
        ),
    ),
    "two annotators": (
        {
            "standings": {
                "order": drawn(
                    ranked("fcn", *CLEAR),
                    SURE,
                    by_truth={"labels-bob": OtherTruth("psp", 41), "labels-eve": OtherTruth("fcn", 40)},
                    provenance={"truth": "labels-ann"},
                )
            }
        },
        (
            "Use fcn.",
            "fcn is ahead of psp by 2.4 points of mIoU (mean over images) [0.3, 4.5] for images to come.",
            "Not settled further down: psp or unet.",
            FAILING,
            "This is by truth labels-ann; by labels-bob, psp leads on 41 images.",
        ),
    ),
    "out of date": (
        {"standings": {"main": duels()}, "stale": {"main": "labels changed"}},
        (
            "On the 13 labelled images chosen for what the models predict, fcn leads.",
            "This is out of date: labels changed.",
        ),
    ),
}


def test_a_model_is_not_to_be_used_by_standings_that_are_out_of_date() -> None:
    found = of(standings={"order": drawn(ranked("fcn", *CLEAR), SURE)}, stale={"order": "model x was added"})
    assert not found.decided
    assert found.lines[0] == "fcn was best before the study changed."
    assert found.lines[-1] == "This is out of date: model x was added."


def test_the_line_that_groups_images_is_advised_where_it_leaves_an_interval() -> None:
    few = {"alike": 0.7}
    known = of(standings={"order": drawn(ranked("fcn", *CLEAR), SURE, define=few)})
    assert known.lines[-1] == (
        "Neighboring images are alike, so this interval is rough; groups of them (`collect --group`) make it"
        " sound once labels lie in 6 groups."
    )
    many = {"order": drawn(ranked("fcn", *CLEAR), SURE, define={**few, "together": "--block 25"})}
    assert any("`faultscape collect STUDY --block 25`" in line for line in of(standings=many).lines)
    # standings that are out of date do not know which groups there are
    old = of(standings=many, stale={"order": "groups of images changed"})
    assert not any("collect STUDY" in line for line in old.lines)


@pytest.mark.parametrize(
    ("low", "words"), [(-0.0004, "more than 1 point better"), (-0.026, "more than 3 points better")]
)
def test_what_stopping_may_cost_is_never_rounded_to_nothing(low: float, words: str) -> None:
    found = ranked("fcn psp", *OPEN, of="future")
    gaps = [replace(gap, interval=[low, 0.4]) if gap.model == "fcn" else gap for gap in found.gaps]
    said = of(standings={"order": drawn(ranked("fcn psp", *OPEN), replace(found, gaps=gaps))})
    assert f"no other model is {words} (95 %)." in said.lines[1]


def test_a_model_that_is_right_everywhere_fails_nowhere() -> None:
    right = replace(drawn(ranked("fcn", *CLEAR), SURE), failing=replace(FAILS, score=0.997))
    assert not any("fails" in line for line in of(standings={"order": right}).lines)
    nearly = replace(drawn(ranked("fcn", *CLEAR), SURE), failing=replace(FAILS, score=0.99))
    assert any("IoU 99 %" in line for line in of(standings={"order": nearly}).lines)


def of(**state: Any) -> Verdict:
    return verdict(**{"models": MODELS, **state})


@pytest.mark.parametrize("state", STATES)
def test_the_verdict_says(state: str) -> None:
    given, lines = STATES[state]
    found = of(**given)
    assert found.lines == lines
    assert found.headline == lines[0].removesuffix(".")
    assert len(found.lines) + 1 <= 6  # with what is next


def test_a_model_is_to_be_used_only_where_it_is_better_than_every_other_for_what_the_verdict_speaks_of() -> (
    None
):
    assert of(standings={"order": drawn(ranked("fcn", *CLEAR), SURE)}).decided
    for state in (drawn(ranked("fcn", *CLEAR), FUTURE), drawn(ranked("fcn psp", *OPEN)), duels()):
        found = of(standings={"order": state})
        assert not found.decided
        assert found.models[0] == "fcn"


def test_the_drawn_selection_with_most_labels_speaks_whatever_the_order_of_the_others() -> None:
    few = replace(drawn(ranked("psp", *CLEAR)), labels={"used": 20, "pool": 193})
    many = drawn(ranked("fcn", *CLEAR), SURE)
    for named in ({"a": few, "b": many, "main": duels()}, {"main": duels(), "b": many, "a": few}):
        assert of(standings=named).selection == "b"


def test_duels_never_say_by_how_much() -> None:
    found = of(standings={"main": duels()})
    assert found.lead is None
    assert found.population == "chosen"


def test_of_classifiers_it_speaks_of_accuracy_and_of_shares_that_are_right() -> None:
    said = replace(
        drawn(ranked("fcn", *CLEAR), SURE),
        definitions={},
        failing=Failing("fcn", "cat", 0.25, 12, "dog", 0.5, "x7"),
    )
    lines = of(standings={"order": said}).lines
    assert "2.4 points of accuracy [0.3, 4.5] for images to come" in lines[1]
    assert (
        lines[3]
        == "fcn fails most on cat: 25 % right on 12 labelled images; 50 % of it is taken for dog, most on x7."
    )


def test_no_number_has_more_digits_than_its_interval_carries() -> None:
    wide = ranked("fcn psp", ("fcn", "psp", 1.4214, -20.3, 23.1), of="future")
    assert (
        "by 1 point of mIoU (mean over images) [-20, 23]"
        in of(standings={"order": drawn(wide, wide)}).lines[1]
    )
    thin = ranked("fcn", ("fcn", "psp", 1.4214, 1.4011, 1.4421), of="future")
    assert (
        "by 1.421 points of mIoU (mean over images) [1.401, 1.442]"
        in of(standings={"order": drawn(thin, thin)}).lines[1]
    )


@pytest.mark.parametrize(
    ("low", "difference", "high", "words"),
    [(-20.0, 0.3, 20.6, "less than 0.5 points"), (-2.0, 0.0, 2.0, "less than 0.05 points")],
)
def test_a_lead_that_rounds_to_nothing_is_bounded(
    low: float, difference: float, high: float, words: str
) -> None:
    near = ranked("fcn psp", ("fcn", "psp", difference, low, high))
    said = of(standings={"order": drawn(near)}).lines[1]
    assert said.startswith(f"fcn is ahead of psp by {words} of mIoU (mean over images) [")


def test_what_is_next_is_printed_last_with_its_hours() -> None:
    found = of(standings={"main": duels()}, work=Work("faultscape label export s to-label/", 30.0))
    assert (
        repr(found).splitlines()[-1]
        == "next: faultscape label export s to-label/  # about 30 hours of labelling"
    )


@pytest.mark.parametrize("models", [2, 4])
def test_the_verdict_is_the_same_whichever_images_the_standings_are_about(models: int) -> None:
    rng = np.random.default_rng(models)
    ids = [f"i{k:02}" for k in range(60)]
    accuracy = rng.normal(0.5, 0.1, len(ids)) + rng.normal(0, 0.03, (models, len(ids)))
    accuracy[0] += 0.02
    groups = {id_: f"g{k // 5}" for k, id_ in enumerate(ids)}
    rows = [
        Draw("random", 1, k + 1, id_, 1.0, 1 / (len(ids) - k), len(ids)) for k, id_ in enumerate(ids[:40])
    ]
    names = [f"m{k}" for k in range(models)]
    said = {
        population: verdict(
            {
                "order": draw_rankings(
                    names,
                    rows,
                    accuracy[:, :40],
                    ids[:40],
                    learns=False,
                    resamples=200,
                    groups=groups,
                    population=population,
                )
            },
            models=names,
        )
        for population in ("pool", "future")
    }
    assert said["pool"].population == "future"
    assert said["pool"].lines == said["future"].lines
