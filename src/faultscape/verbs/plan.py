"""plan: how many labels each question needs, before there is any, and what they cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.errors import ModelError, OptionError, SelectionError, closest

COSTS = {"mask": 5400.0, "choice": 10.0, "question": 3.0}  # seconds for a whole map, a choice of two, a yes or no
_ASKED = ("best", "best_proved", "order", "order_proved", "scores")
_AGREED = "no image is drawn on which all models agree, and scores hang on these too"
_SAME = "models that never differ cannot be told apart, and say nothing of how often they are right"
_UNSEEN = "models differ on none of the images looked at"


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """How many labels each question needs, by the selector that draws them, and what duels would come to (the content of plan.json).

    ``questions``: {question: {selector: {labels, low, high, foretold, hours, money, why}}}, low to high the range of what is likely, ``foretold`` whether it spans a factor of ten at most; where no number of labels answers all are None but ``why``.
    ``duels``: a row a number of images of a cell, {per_cell, bound, slots, images, hours, ...}. ``labels`` says which labels were used so far, ``recommended`` what to do next.
    """

    models: tuple[str, ...]
    task: str
    images: int
    labels: dict[str, Any]
    questions: dict[str, dict[str, dict[str, Any]]]
    duels: tuple[dict[str, Any], ...]
    costs: dict[str, Any]
    recommended: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    study: str = "STUDY"  # not written: a folder may be moved

    def __repr__(self) -> str:
        from faultscape.stages.plan import words

        return words.text(self)


def plan(
    study: str,
    *,
    cost: Any = None,
    wage: float | None = None,
    within: float = 1.0,
    goal: str | None = None,
    selection: str | None = None,
    truth: str | None = None,
    seed: int = 0,
    engine: str = "processes",
    workers: int | None = None,
) -> LabelPlan:
    """Say how many labels it takes to find the best model, the order of all and the score of each, with hours and money, and write plan.json.

    Before any label the models themselves stand for the truth, each in its turn: that gives how much estimates will vary, and roughly how far apart models may be.
    Labels of images drawn by chance replace both by what they measure. Run it again as labels come in.

    Parameters
    ----------
    study
        The study folder.
    cost
        Seconds of work: mask=5400,choice=10,question=3 are the defaults; in Python also a dict.
    wage
        Money for an hour.
    within
        How exactly scores are asked for, in points of 100.
    goal
        order (of all models; default) or best: which draws to recommend, as `select --goal`, and the question whose number is the budget. Draws that have labels are gone on with as they were made, those for this goal first.
    selection
        The selection whose labels are used; default: of those drawn by chance the one with most labels, with --goal first of those drawn for it.
    truth
        Which labels count; default: labels, or the only ones.
    seed
        Seed of the simulated outcomes.
    engine
        local, processes, ray or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    """
    from importlib.metadata import version

    from faultscape.ranking.standings_json import written
    from faultscape.stages import evidence
    from faultscape.stages.count import count
    from faultscape.stages.pairs import corpus_key
    from faultscape.stages.plan import advice, facts
    from faultscape.study.folder import existing, put
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.logs import log
    from faultscape.verbs.select import chosen_for

    root = existing(study)
    asked, goal = goal, goal or "order"
    chosen_for(goal)
    costs = read_costs(cost)
    if wage is not None and not (math.isfinite(wage) and wage >= 0):
        raise OptionError(f"a wage is money for an hour, not below 0; got {wage}")
    if not 0 < within <= 100:
        raise OptionError(f"--within is a number of points above 0, at most 100; got {within}")
    if seed < 0:
        raise OptionError(f"seed cannot be negative; got {seed}")
    within, wage = float(within), None if wage is None else float(wage)
    with writing(root):
        settings = read_settings(root)
        models = tuple(settings.models)
        if len(models) < 2:
            raise ModelError(
                f"a plan needs two models; the study has {', '.join(models) or 'none'}; add more with `faultscape predict`"
            )
        known = evidence.truths(root)
        if known or truth is not None or selection is not None:
            truth = evidence.choose_truth(root, truth)
        truth = truth or evidence.LABELS
        if known and not settings.classifies:
            count(root, known, engine=engine)
        used, notes = facts.measured(root, settings, models, selection, truth, asked)
        looked = facts.look(root, settings, models, used, engine=engine, workers=workers)
        try:
            duels = facts.deep(facts.duels(root, settings, models, engine=engine, workers=workers))
        except SelectionError as error:
            duels, notes = [], [*notes, f"there are no duels: {error}"] if (looked.differ > 0).any() else notes
        drawn = facts.drawn(root, settings, models, used, truth, goal)
        questions, said = answers(models, looked, used, settings.task, within / 100, seed)
        unit = "question" if settings.classifies else "mask"
        for row in (row for rows in questions.values() for row in rows.values()):
            _price(row, row.pop("units"), costs[unit], wage)
        priced = [_priced_duel(row, settings.classifies, costs, wage) for row in duels]
        provenance = {
            "faultscape": version("faultscape"), "truth": truth, "within": within, "seed": seed,
            "inputs": {"predictions": corpus_key(root, settings, models), "truth": evidence.truth_key(root, truth) if used else None},
        }  # fmt: skip
        found = LabelPlan(
            models,
            settings.task,
            looked.images,
            {
                "used": used.labels if used else 0,
                "selection": used.selection if used else None,
                "selector": used.selector if used else None,
                "temperature": drawn.temperature if used else None,
            },
            questions,
            tuple(priced),
            {**costs, "wage": wage},
            advice.advice(questions, looked.pools, drawn, asked or drawn.goal or goal),
            (
                *said,
                *idle_costs(cost, settings.task),
                *notes,
                *facts.groups_told(root),
                *advice.reservations(drawn, settings.task, asked),
            ),
            provenance,
            str(study),
        )
        document = {name: written(getattr(found, name)) for name in found.__dataclass_fields__ if name != "study"}
        put(Path(root) / "plan.json", (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())
        log(root, "plan", cost=costs, wage=wage, within=within, selection=selection, truth=truth, seed=seed)
    return found


def read_costs(cost: Any) -> dict[str, float]:
    """Return the seconds of each kind of work; OptionError for a kind that is not known or no time.

    >>> read_costs("mask=3600,question=2")
    {'mask': 3600.0, 'choice': 10.0, 'question': 2.0}
    """
    out = dict(COSTS)
    for name, value in _costs_given(cost):
        if name not in COSTS:
            raise OptionError(
                f"--cost knows {', '.join(COSTS)}, in seconds, such as mask=5400,choice=10; got {name!r}.{closest(name, list(COSTS))}"
            )
        try:
            out[name] = float(value)
        except (TypeError, ValueError):
            out[name] = math.nan
        if not (math.isfinite(out[name]) and out[name] >= 0):
            raise OptionError(f"--cost {name} is a number of seconds, not below 0; got {value!r}")
    return out


def idle_costs(cost: Any, task: str) -> list[str]:
    """Return what to say of costs that were given of work that this task has none of.

    >>> idle_costs("question=2,mask=60", "segmentation")
    ['--cost question changes nothing for label maps: their work is mask, choice']
    """
    works = ("question",) if task == "classification" else ("mask", "choice")
    idle = [name for name, _ in _costs_given(cost) if name not in works]
    of = "classifiers" if task == "classification" else "label maps"
    return [f"--cost {', '.join(idle)} changes nothing for {of}: their work is {', '.join(works)}"] if idle else []


def _costs_given(cost: Any) -> list[tuple[str, Any]]:
    """Return (kind of work, seconds) as they were given."""
    if isinstance(cost, Mapping):
        return list(cost.items())
    return [(name, value) for name, _, value in (word.partition("=") for word in str(cost).split(","))] if cost else []


def answers(
    models: tuple[str, ...], looked: Any, used: Any, task: str, within: float, seed: int
) -> tuple[dict[str, dict[str, dict[str, Any]]], list[str]]:
    """Return {question: {selector: {labels, low, high, units}}} and what to say of models that are nearly alike."""
    from faultscape.ranking.drawn.estimates import Estimates
    from faultscape.ranking.planning import label_needs, label_variances

    kept = [k for k in range(len(models)) if (looked.differ[k, :k] > 0).all()]
    notes = _near(models, looked, kept)
    none = {"labels": None, "low": None, "high": None, "foretold": None, "units": None}
    if len(kept) < 2:
        return {name: {selector: {**none, "why": _SAME} for selector in looked.weights} for name in _ASKED}, notes
    some = np.ix_(kept, kept)
    expected = label_variances.moments(looked.agreement[some], label_variances.OUTSIDE[task])
    curves = {
        name: label_variances.curve(weights, expected, looked.images) for name, weights in looked.weights.items() if weights.any()
    }
    planned, later = dict(curves), None
    worlds = label_needs.worlds(looked.mean[some], label_needs.BELIEVED[task], seed=seed)
    if used is not None and used.selector in curves:
        found = Estimates(used.estimates.loss[kept], used.estimates.covariance[some], used.estimates.freedom)
        share = used.pool / looked.images
        for name, own in curves.items():
            planned[name], later = label_needs.learnt(worlds, curves[used.selector], found, used.labels, share, own, seed)
    out: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in _ASKED}
    for selector in looked.weights:
        pool = looked.pools[selector]
        for name in _ASKED:
            row: dict[str, Any] = {**none, "why": _UNSEEN}
            if (curve := planned.get(selector)) is not None:
                numbers = _numbers(name, worlds if later is None else later, curve, within)
                row["why"] = _AGREED if name == "scores" else _SAME
                if not np.isnan(numbers).all():
                    middle, low, high = (min(math.ceil(x), pool) for x in np.nanquantile(numbers, (0.5, *label_needs.RANGE)))
                    row = {
                        "labels": middle,
                        "low": low,
                        "high": high,
                        "foretold": high <= label_needs.FORETOLD * low,
                        "units": middle * _each(looked, selector, middle),
                        "why": None,
                    }
            out[name][selector] = row
    return out, notes


def _numbers(question: str, worlds: np.ndarray, curve: Any, within: float) -> np.ndarray:
    """Return the number of labels that a question needs in each world; scores need one number in all of them."""
    from faultscape.ranking.planning import label_needs

    if question == "scores":
        return np.full(1, label_needs.scores_needed(curve, within))
    return label_needs.needed(question, worlds, curve)


def _each(looked: Any, selector: str, labels: int) -> float:
    """Return how many questions an image takes that is drawn: one for each class that a model names, or one map."""
    from faultscape.ranking.planning.label_variances import inclusion

    if looked.questions is None:
        return 1.0
    among = inclusion(looked.weights[selector], labels * len(looked.questions) / looked.images)
    return float((among * looked.questions).sum() / among.sum())


def _near(models: tuple[str, ...], looked: Any, kept: list[int], most: int = 5) -> list[str]:
    """Return a sentence for each model that another equals, and for pairs that differ on no more than one image of a hundred."""
    notes = []
    for k in range(len(models)):
        if k not in kept:
            twin = next(j for j in kept if looked.differ[k, j] == 0)
            notes.append(
                f"{models[twin]} and {models[k]} give the same answer on all images: no number of labels tells them apart; they count as one"
            )
    pairs = sorted(
        (int(looked.differ[a, b]), a, b) for a in kept for b in kept if a < b and looked.differ[a, b] <= looked.images / 100
    )
    notes += [
        f"{models[a]} and {models[b]} give the same answer on all but {number} image{'s' * (number > 1)}: only labels of {'these tell' if number > 1 else 'this one tells'} them apart"
        for number, a, b in pairs[:most]
    ]
    return notes + ([f"{len(pairs) - most} more pairs differ on at most one image of a hundred"] if len(pairs) > most else [])


def _price(row: dict[str, Any], units: float | None, seconds: float, wage: float | None) -> None:
    hours = None if units is None else units * seconds / 3600
    row |= {"hours": hours, "money": None if hours is None or wage is None else hours * wage}


def _priced_duel(row: dict[str, int], classifies: bool, costs: dict[str, float], wage: float | None) -> dict[str, Any]:
    """Return a row of duels with hours: of classifiers two questions a slot, shared ones once; of label maps a map an image, or a choice a slot."""
    out: dict[str, Any] = dict(row)
    if classifies:
        _price(out, row["questions"], costs["question"], wage)
    else:
        del out["questions"]
        _price(out, row["images"], costs["mask"], wage)
        out["choice_hours"] = row["slots"] * costs["choice"] / 3600
    return out
