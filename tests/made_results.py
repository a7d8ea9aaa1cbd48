"""One result of every kind, with hostile names, and with what may be undefined undefined."""

from __future__ import annotations

import math
from collections.abc import Callable

from faultscape.nouns import Draw, PairSlot, Point, Scale, Slot, Slots
from faultscape.questions.answers import Better, Case, Failures
from faultscape.reporting.verdict import Verdict
from faultscape.results.result import Result
from faultscape.standings import Failing, Gap, ModelRanking, ParentStandings, Standings
from faultscape.verbs.rank.result import Ranked
from faultscape.verbs.select.chosen_result import Selected

HOSTILE = "<script>alert('x')</script>\"&amp;{}"
MODELS = ("unet", HOSTILE, "copy")
NAN = math.nan


def ranking(*, speaks_of: str = "pool") -> ModelRanking:
    """A ranking in which the second model could be the best too, and nothing is known about the third."""
    return ModelRanking(
        {"unet": 1 / 3, HOSTILE: 0.25, "copy": NAN},
        [*MODELS],
        {"unet": [0.3, 0.4], HOSTILE: [0.2, 0.31], "copy": [NAN, NAN]},
        {"unet": [1, 1], HOSTILE: [2, 2], "copy": [3, 3]},
        {"unet": [1, 2], HOSTILE: [1, 2], "copy": [3, 3]},
        ["unet"],
        ["unet", HOSTILE],
        effective_labels=NAN,
        gaps=[Gap("unet", HOSTILE, 1 / 12, [-0.01, 0.17], settled=False, labels=[NAN, 60.0, 90.0])],
        speaks_of=speaks_of,
    )


def standings() -> Standings:
    """Standings of three models, from two rankings that can be used and one that cannot."""
    resistance = [[NAN, 1.25, 2.0], [0.8, NAN, math.inf], [0.5, 0.0, NAN]]
    return Standings(
        MODELS,
        {"used": 40, "pool": 300},
        {"resistance": resistance},
        {"mean": ranking(), "bradley_terry": ModelRanking(unusable=f"{HOSTILE} never won")},
        {"selector": "mad", "concordance": "miou", "seed": 0},
        to_come={"mean": ranking(speaks_of="future")},
        parents={"vehicle": ParentStandings({"used": 12}, {}, {"mean": ranking()})},
        failing=Failing("unet", HOSTILE, 0.125, 4, "bus", 0.5, "street/1"),
        notes=("how it was made", f"{HOSTILE} has no map of one image"),
        details=1,
    )


def verdict() -> Verdict:
    """A verdict that does not decide between two models."""
    gap = standings().rankings["mean"].gaps[0]
    head = f"The labels do not decide between unet and {HOSTILE}"
    return Verdict(
        MODELS[:2], False, head, (f"{head}.",), "main", "pool", "mIoU", gap, standings().failing, "ls", 0.5
    )


def slots() -> Slots:
    """A selection of duels, with a spare."""
    rows = (
        Slot("mad", 1, 1, "unet", HOSTILE, "bus", 1, "street/1", 0.1 + 0.2, 1, 9),
        Slot("mad", 1, 2, "unet", HOSTILE, "", 2, "street/2", NAN, 1, 9),
    )
    return Slots(MODELS, {"selector": "mad", "per_class": 1, "groups": ["bus"], "constraints": "class"}, rows)


def pairs() -> Slots:
    """A selection of pairs of classifiers, whose models give no probabilities."""
    rows = (PairSlot("mad", 1, 1, "unet", HOSTILE, "cat", "dog", 1, "street/1", 2.0, NAN, 1, 9),)
    return Slots(MODELS, {"selector": "mad", "top": 1}, rows)


def draws() -> Slots:
    """A selection of images drawn for all models."""
    rows = (Draw("lure", 1, 1, "street/1", 1 / 3, 0.1, 9), Draw("lure", 1, 2, HOSTILE, NAN, NAN, 9))
    return Slots(MODELS, {"selector": "lure", "temperatures": {"unet": 1.5, "copy": "uncalibrated"}}, rows)


def points() -> Slots:
    """A selection of points."""
    rows = (Point("points", 1, 1, HOSTILE, 3, 4, 52, 0, 1 / 96, 96),)
    return Slots(MODELS, {"selector": "points", "goal": "best"}, rows)


MAKERS: dict[str, Callable[[], Result]] = {
    "standings": standings,
    "no standings": lambda: Standings((), {}, {}, {}, {}),
    "ranked": lambda: Ranked(**vars(Ranked.of(standings())) | {"verdict": verdict()}),
    "verdict": verdict,
    "no verdict": lambda: Verdict((), False, "", ()),
    "scale": lambda: Scale(("sky", HOSTILE), (12, 0), (0.25, NAN), (1 / 3, NAN)),
    "slots": slots,
    "pairs": pairs,
    "draws": draws,
    "points": points,
    "no slots": lambda: Slots((), {"selector": "mad"}, ()),
    "better": lambda: Better(**vars(Ranked.of(standings())), labelled=(3, HOSTILE)),
    "failures": lambda: Failures(
        (
            Case(3, "a", HOSTILE, "sky", 0.25, "sky", "car", 0.5, HOSTILE),
            Case("x", "a", "b", "", NAN, "", "", 0.0),
        ),
        (3, "x"),
        slots(),
        Better(**vars(Ranked.of(standings()))),
    ),
    "selected": lambda: Selected(**vars(draws()), name=HOSTILE, labelled=1, next="ls", hours=0.5),
}
