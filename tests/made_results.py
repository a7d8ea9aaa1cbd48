"""One result of every kind, with hostile names, and with what may be undefined undefined."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

import made_card
import made_document
from faultscape.nouns import Agreement, Draw, PairSlot, Point, Scale, Slot, Slots
from faultscape.questions.answers import Better, Case, Failures
from faultscape.ranking.tables.assembly import rank_table
from faultscape.ranking.tables.result import RankedTable
from faultscape.reporting.competition import figure_data
from faultscape.reporting.competition.figure_data import FigureData
from faultscape.reporting.measure.document import Document
from faultscape.reporting.verdict import Verdict
from faultscape.results.result import Result
from faultscape.standings import Failing, Gap, ModelRanking, ParentStandings, Standings
from faultscape.verbs.compare.result import Compared
from faultscape.verbs.measure.signature import Measured, MeasuredBoxes, MeasuredShare
from faultscape.verbs.plan.result import LabelPlan, Needed
from faultscape.verbs.rank.result import Ranked
from faultscape.verbs.reliability.signature import Reliability
from faultscape.verbs.select.chosen_result import ChosenImage, ChosenImages, Selected
from faultscape.verbs.status.signature import Status

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


def selected() -> Selected:
    """A selection that was drawn, one of whose images has a label."""
    of = draws()
    return Selected(of.models, of.definition, of.rows, name=HOSTILE, labelled=1, next="ls", hours=0.5)


def agreement() -> Agreement:
    """How far three models agree, of which two have no image in common."""
    mean = np.array([[NAN, 0.1 + 0.2, NAN], [0.1 + 0.2, NAN, 0.5], [NAN, 0.5, NAN]])
    images = np.array([[9, 9, 0], [9, 9, 4], [0, 4, 9]])
    return Agreement(MODELS, "miou", mean, images, images // 3, (f"{HOSTILE} disagrees with all others",))


def plan() -> LabelPlan:
    """A plan of three models, with points; one question has no number."""
    some: Needed = {"labels": 60, "low": 30, "high": 120, "predictable": True, "hours": 4.5, "money": None}
    none: Needed = {
        "labels": None,
        "low": None,
        "high": None,
        "predictable": None,
        "why": f"{HOSTILE} is alike",
    }
    rows = {"random": some, "mad": some | {"labels": 45, "low": 20, "high": 90}}
    names = ("best", "best_proved", "best_anytime", "order", "order_proved", "order_anytime")
    questions = dict.fromkeys(names, rows) | {"scores": {"random": none, "mad": none}}
    return LabelPlan(
        MODELS,
        "segmentation",
        300,
        {"used": 0, "selection": None, "selector": None, "temperature": None},
        questions,
        (
            {
                "per_cell": 1,
                "bound": 6,
                "slots": 6,
                "images": 5,
                "hours": 0.5,
                "money": None,
                "choice_hours": 0.1,
            },
        ),
        {"mask": 600.0, "choice": 5.0, "question": 4.0, "point": 6.0, "box": 8.0, "wage": None},
        {
            "verb": "select",
            "question": "best",
            "selection": "order",
            "selector": "mad",
            "temperature": None,
            "goal": "order",
            "budget": 45,
            "round": 0,
            "begun": False,
            "why": "fewest labels",
            "instead": None,
        },
        ({"models": ["unet", HOSTILE], "labels": 60, "low": 30, "high": 120, "predictable": True},),
        {
            "answered": 0,
            "selection": None,
            "maps_by": "random",
            "questions": {"best_proved": some, "order_proved": some, "scores": some},
            "apart": [{"apart": 5.0, "points": 700, "point_hours": 1.2, "maps": None, "map_hours": None}],
        },
        (f"a note on {HOSTILE}",),
        {"faultscape": "0", "truth": "", "within": 2.0, "seed": 0},
        HOSTILE,
    )


def status() -> Status:
    """A study with a stale stage."""
    stages = (("collect", "done", "300 images"), ("rank", "stale", f"{HOSTILE} was added"))
    return Status(HOSTILE, stages, "faultscape rank study", verdict=verdict(), warnings=("maps are shifted",))


def scores() -> RankedTable:
    """Three models ranked by two metrics."""
    rng = np.random.default_rng(0)
    at = {"unet": 0.8, HOSTILE: 0.78, "copy": 0.6}
    cases = [f"case-{k}" for k in range(14)]
    rows = [
        (case, model, metric, rng.normal(mean, 0.05))
        for case in cases
        for model, mean in at.items()
        for metric in ("dice", "$miou$")
    ]
    frame = dict(zip(("case", "model", "metric", "score"), zip(*rows, strict=True), strict=True))
    return rank_table({name: list(values) for name, values in frame.items()}, better="high", resamples=200)


def boxes() -> MeasuredBoxes:
    ends = {"low": 0.0, "high": 1 / 3, "interval_low": None, "interval_high": NAN}
    row = {"second": None, "class_": None, "metric": "iou", **ends}
    document = {
        "models": ["a", HOSTILE],
        "images": 3,
        "units": {"drawn": "images", "count": 3},
        "boxes": {"car": 2, HOSTILE: 1},
        "bounds": [{"model": name, **row} for name in ("a", HOSTILE)],
        "certain": [{"model": "a", "class_": HOSTILE, "outside": 0.5, "missed": None}],
        "pairs": [{"model": "a", **row, "second": HOSTILE, "low": 0.25}],
        "notes": [HOSTILE],
        "provenance": {},
    }
    return MeasuredBoxes("study/measures-boxes/labels", cast("Document", document))


def measured(document: dict[str, Any] | None = None) -> Measured:
    """A measurement with every part filled in."""
    return Measured("measured", cast("Document", document or made_document.document(scores=True)))


FIGURES: dict[str, tuple[tuple[Any, ...], ...]] = {  # some rows of each figure of a report
    "matrices": (("resistance", "unet", HOSTILE, 1.25), ("resistance", HOSTILE, "unet", None)),
    "shares": (
        (HOSTILE, None, 0.6, 3, 0.75),
        (HOSTILE, 0.6, None, 1, 0.25),
        ("unet", None, 0.6, 0, None),
        ("unet", 0.6, None, 0, None),
        (None, None, 0.6, 3, 0.75),
        (None, 0.6, None, 1, 0.25),
    ),
    "quartiles": (
        (HOSTILE, "own duels", 4, 0.1, 0.25, 0.5, 0.75, 1.0),
        (HOSTILE, "others", 0, *[None] * 5),
    ),
    "cases": (("unet", 3, 1, 0, 2, 6), (HOSTILE, 0, 0, 0, 0, 0)),
    "pairs": (("unet", HOSTILE, 3, 1, 0, 2, 6, 2 / 3, 1 / 6), ("unet", "copy", 0, 0, 0, 0, 0, None, None)),
    "oracle": (
        (None, None, 1, 1.0, None, None),
        (None, None, 9, 0.5, 0.25, 0.75),
        ("unet", HOSTILE, 9, 0.5, 0.25, 0.75),
    ),
    "transfer": ((0, 3, 0.75), (1, 1, 0.25)),
    "growth": ((1, None), (2, 0.5), (3, 1.0)),
    "without": ((HOSTILE, 4, 0.5, 2.0, "unet"), ("unet", 4, None, None, None)),
    "tags": ((HOSTILE, "unet", 5, 0.25, 0.125, 0.375, 0.01), ("dark", HOSTILE, 5, 0.25, None, None, None)),
    "speed": ((HOSTILE, "cpu", 9, 4, 1.0, 2.0, 3.0, 2.0, 3.0, 4.0),),
}


def figure(name: str) -> FigureData:
    """The numbers behind a figure; those of `standings` and `agreement` are of results of their own."""
    of: dict[str, Result] = {"standings": standings(), "agreement": agreement()}
    rows = FIGURES[name] if name in FIGURES else [row.values() for row in of[name].to_arrow().to_pylist()]
    return FigureData(name, "main", tuple(tuple(row) for row in rows))


MAKERS: dict[str, Callable[[], Result]] = {
    "standings": standings,
    "no standings": lambda: Standings((), {}, {}, {}, {}),
    "ranked": lambda: replace(Ranked.of(standings()), verdict=verdict()),
    "verdict": verdict,
    "no verdict": lambda: Verdict((), False, "", ()),
    "agreement": agreement,
    "compared": lambda: Compared(HOSTILE, 3, 3, ("gt",), 1, 3, agreement=agreement()),
    "compared in part": lambda: Compared(HOSTILE, 3, 3, (), 1, 3),
    "chosen images": lambda: ChosenImages(
        "study",
        "main",
        (ChosenImage("street/1", "", 0, "drawn by lure"), ChosenImage("b", "b.png", 2, HOSTILE)),
    ),
    "plan": plan,
    "status": status,
    "ranked table": scores,
    "measured": measured,
    "measured sets": lambda: measured({"datasets": {HOSTILE: made_document.document()}}),
    "measured share": lambda: MeasuredShare(
        "measured", cast("Document", {"shard": "1/2", "jobs": 3, "failures": 1})
    ),
    "measured boxes": boxes,
    "card": lambda: Reliability("study/reliability", made_card.card(2, corruptions=("fog",))),
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
    "selected": selected,
    **{f"figure {kind.name}": partial(figure, kind.name) for kind in figure_data.FIGURES},
}
