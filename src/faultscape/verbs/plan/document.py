"""plan.json: how many labels each question needs, with hours and money, and what to do next."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING

from faultscape import __version__
from faultscape.errors import ModelError, OptionError, SelectionError
from faultscape.nouns import JsonObject
from faultscape.ranking.standings_json import written
from faultscape.reading.study import LABELS, Study, opened
from faultscape.selection.catalogue import POINTS, check_goal
from faultscape.study.folder import put
from faultscape.study.tables.logs import log
from faultscape.terminal_lines import number_word
from faultscape.verbs.compare.count import count
from faultscape.verbs.label.artefact import next_export
from faultscape.verbs.plan import advice, facts, mix, one_model
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.plan.forecast import forecast, label_numbers, pair_numbers
from faultscape.verbs.plan.open_question import asked_next, more_images, needs_of
from faultscape.verbs.plan.points import advise_points, look_at_points, point_numbers
from faultscape.verbs.plan.pool import pool_outlook
from faultscape.verbs.plan.prices import idle_costs, price, priced_duel
from faultscape.verbs.plan.result import Costs, LabelPlan, PlanProvenance
from faultscape.verbs.rank.artefact import STANDINGS, open_questions
from faultscape.verbs.rank.open_selections import candidates
from faultscape.verbs.status.costs import read_costs

if TYPE_CHECKING:
    from faultscape.verbs.options import PlanOptions


def make_plan(options: PlanOptions) -> LabelPlan:
    """Plan a study, write its plan.json, and return its content."""
    study = opened(options.study)
    asked = options.goal
    goal = options.goal or "order"
    check_goal(goal)
    costs = read_costs(options.cost)
    engine = options.engine
    workers = options.workers
    within = float(options.within)
    wage = None if options.wage is None else float(options.wage)
    with study.writing():
        models = study.models
        if len(models) < (2 if study.classifies else 1):
            raise ModelError(
                f"a plan needs two models; the study has {', '.join(models) or 'none'}; add more with"
                " `faultscape predict`"
            )
        known = study.truths
        named = options.truth is not None or options.selection is not None
        of_points = _named_points(study, options)
        truth = study.truth(options.truth) if known or (named and not of_points) else LABELS
        of_images = None if of_points else options.selection
        if known and not study.classifies:
            count(study, known, engine=engine)
        if options.pool and (study.classifies or len(models) == 1):
            raise OptionError(
                "--pool is about duels of label maps, and takes two models or more; leave it out"
            )
        if len(models) == 1:
            return _written(study, options, _of_one(study, options, costs, truth, of_points))
        used, notes = facts.measured(study, models, of_images, truth, asked)
        looked = facts.look(study, models, used, engine=engine, workers=workers)
        try:
            duels = facts.deep(facts.duels(study, models, engine=engine, workers=workers))
        except SelectionError as error:
            duels = []
            notes = [*notes, f"there are no duels: {error}"] if (looked.differ > 0).any() else notes
        drawn = facts.drawn(study, models, used, truth, goal)
        found = forecast(looked, used, study.settings.task, options.seed)
        pointed = None
        if not study.classifies:
            pointed = look_at_points(study, models, truth, goal, engine=engine, named=of_points)
        questions, near = label_numbers(models, looked, found, within / 100)
        pairs = pair_numbers(models, looked, found, drawn.selector)
        points = mixed = None
        if pointed is not None:
            points = point_numbers(pointed, found, drawn.selector, within / 100, costs, options.seed)
        if pointed is not None and points is not None:
            mixed = mix.mix_numbers(
                questions,
                points,
                mix.look_at_choices(study, used, truth),
                pointed,
                asked=asked or drawn.goal or goal,
                pool=looked.pools[drawn.selector],
                costs=costs,
            )
        unit = "question" if study.classifies else "mask"
        for row in (row for rows in questions.values() for row in rows.values()):
            price(row, row.pop("units"), costs[unit], wage)
        recommended = advice.advice(questions, looked.pools, drawn, asked or drawn.goal or goal)
        if (
            recommended
            and recommended["verb"] == "rank"
            and _left_open(study, drawn.name, recommended["question"])
        ):
            recommended = advice.further(recommended, looked.pools[drawn.selector], drawn)
        # the question that labels leave open is always which model is best
        open_ = asked_next(study) if asked in (None, "best") else ""
        if recommended and open_ == drawn.name:
            more = more_images(study, open_, needs_of(pairs))
            held = STANDINGS.table(study, open_)
            best = [] if held is None else candidates(held)
            recommended = advice.as_next(recommended, drawn, more, best_of_pool=len(best) == 1)
        if pointed is not None and points is not None:
            recommended = advise_points(study, pointed, points, drawn, recommended, goal, asked)
        draws_images = recommended is not None and recommended["selector"] != POINTS
        if recommended and draws_images and recommended["verb"] == "select" and truth in known:
            new, labelled = facts.labelled_already(
                study, models, recommended, truth, engine=engine, workers=workers
            )
            if labelled:
                recommended["new"] = new
                recommended["labelled"] = labelled
        if recommended and draws_images and recommended["verb"] == "label":
            target, given = next_export(study, recommended["selection"], truth)
            recommended["file"] = target
            recommended["again"] = bool(given["again"])
        of_truth = truth if known or (named and not of_points) else ""
        plan = LabelPlan(
            models=models,
            task=study.settings.task,
            images=looked.images,
            labels={
                "used": used.labels if used else 0,
                "selection": used.selection if used else None,
                "selector": used.selector if used else None,
                "temperature": drawn.temperature if used else None,
            },
            questions=questions,
            duels=tuple(priced_duel(row, study.classifies, costs, wage) for row in duels),
            costs=_costs(costs, wage),
            recommended=recommended,
            pairs=tuple(pairs),
            points=points,
            mix=mixed,
            pool=pool_outlook(study, models, truth, seed=options.seed, engine=engine, workers=workers)
            if options.pool
            else None,
            notes=(
                *near,
                *idle_costs(options.cost, study.settings.task),
                *notes,
                *facts.groups_told(study),
                *(advice.reservations(drawn, study.settings.task, asked) if draws_images else ()),
            ),
            provenance=_provenance(study, options, of_truth),
            study=options.study,
        )
        return _written(study, options, plan)


def _named_points(study: Study, options: PlanOptions) -> str:
    """Return the selection named if it is one of points, '' otherwise."""
    held = study.selections.get(options.selection or "")
    return options.selection or "" if held is not None and held.slots.points else ""


def _of_one(
    study: Study, options: PlanOptions, costs: dict[str, float], truth: str, of_points: str
) -> LabelPlan:
    """Return the plan of a model alone, which points measure."""
    images, looked = one_model.look_at_one(study, truth, engine=options.engine, named=of_points)
    within = float(options.within)
    numbers = one_model.own_numbers(looked, within, costs)
    return LabelPlan(
        models=study.models,
        task=study.settings.task,
        images=images,
        labels={"used": 0, "selection": None, "selector": None, "temperature": None},
        questions={},
        duels=(),
        costs=_costs(costs, options.wage),
        recommended=one_model.advise_one(study, looked, numbers, within),
        points=numbers,
        notes=tuple(idle_costs(options.cost, study.settings.task)),
        provenance=_provenance(study, options, truth if study.truths or options.truth else ""),
        study=options.study,
    )


def _costs(costs: dict[str, float], wage: float | None) -> Costs:
    return {
        "mask": costs["mask"],
        "choice": costs["choice"],
        "question": costs["question"],
        "point": costs["point"],
        "box": costs["box"],
        "wage": None if wage is None else float(wage),
    }


def _provenance(study: Study, options: PlanOptions, truth: str) -> PlanProvenance:
    return {
        "faultscape": __version__,
        "truth": truth,
        "within": float(options.within),
        "seed": options.seed,
        "inputs": PLAN.inputs(study, "", {"truth": truth}),
        "arguments": _arguments(options),
    }


def _written(study: Study, options: PlanOptions, plan: LabelPlan) -> LabelPlan:
    """Write a plan into its study, and return it."""
    names = [field.name for field in fields(plan) if field.name != "study"]
    document = {name: written(getattr(plan, name)) for name in names}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    put(study.root / "plan.json", text.encode())
    costs = {name: seconds for name, seconds in plan.costs.items() if name != "wage"}
    log(
        study.root,
        "plan",
        cost=costs,
        wage=plan.costs["wage"],
        within=plan.provenance["within"],
        selection=options.selection,
        truth=plan.provenance["truth"] or LABELS,
        seed=options.seed,
    )
    return plan


def _left_open(study: Study, selection: str, question: str) -> bool:
    """Whether the standings of a selection use all its labels and leave a question open."""
    return selection in study.selections and question in open_questions(study, selection)


def _arguments(options: PlanOptions) -> JsonObject:
    """Return {option: value} of the given options that can change a plan, as the command line spells them;
    without the truth, which a plan names anyway.
    """
    given = options.given(but=("truth",))
    if not isinstance(options.cost, Mapping):
        return given
    return {**given, "cost": ",".join(f"{name}={number_word(value)}" for name, value in options.cost.items())}
