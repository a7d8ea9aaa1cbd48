"""Answer questions about models in memory, by the verbs, on a study in a temporary folder."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any, get_args

from faultscape.choices import Goal
from faultscape.errors import OptionError, SelectionError
from faultscape.nouns import MAIN
from faultscape.questions.answers import Better, Failures
from faultscape.questions.cases import cases
from faultscape.questions.given import Labels, Models
from faultscape.questions.short_study import HERE, ShortStudy, own_notes
from faultscape.study.settings import CLASSIFICATION
from faultscape.verbs.select import select
from faultscape.verbs.status.more_images import pool_size

ROUND = 10  # labels between two choices for the best model, as `select --goal best` takes them


def better(models: Models, label: Any, budget: int, goal: Goal, seed: int) -> Better:
    """Return which model is better, with the labels of at most ``budget`` images."""
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise OptionError(f"budget: how many images may be labelled, 1 or more; got {budget!r}")
    if goal not in get_args(Goal):
        raise OptionError(f"goal must be {' or '.join(get_args(Goal))}; got {goal!r}")
    given = models.read()
    labels = Labels(label, given)
    with ShortStudy.of(given) as short:
        most = min(budget, pool_size(short.study))
        first = min(most, ROUND) if goal == "best" else most
        with own_notes():
            select(short.root, goal=goal, budget=first, seed=seed, engine=HERE)
        short.label_chosen(goal, labels)
        for done in range(first, most, ROUND):
            if not _drew_more(short, goal, min(ROUND, most - done)):
                break
            short.label_chosen(goal, labels)
        return short.ranked(goal, seed)


def _drew_more(short: ShortStudy, goal: Goal, number: int) -> bool:
    """Draw more images by what the labels show; whether there were any."""
    before = short.study.selection(goal).slots.images
    with redirect_stdout(io.StringIO()):  # the same notes as at first
        try:
            select(short.root, as_=goal, more=number, engine=HERE)
        except SelectionError:  # all that models differ on is drawn
            return False
    return short.study.selection(goal).slots.images != before


def failures(models: Models, label: Any, per_class: int | None, top: int | None, seed: int) -> Failures:
    """Return the images on which models differ most, and, with labels, their standings."""
    given = models.read()
    classifies = given.task == CLASSIFICATION
    if (per_class if classifies else top) is not None:
        has, takes = ("per_class", "top") if classifies else ("top", "per_class")
        raise OptionError(
            f"{has} does not apply to {'classifiers' if classifies else 'label maps'}; {takes} says how many"
            f" images {'each pair' if classifies else 'a class of two models'} gets"
        )
    labels = None if label is None else Labels(label, given)
    with ShortStudy.of(given) as short:
        with own_notes():
            select(short.root, per_class=per_class, top=top, seed=seed, engine=HERE)
        if labels is not None:
            short.label_chosen(MAIN, labels)
        study = short.study
        now = study.selection(MAIN).now
        return Failures(
            cases(study, now, short.keys),
            tuple(short.keys[id_] for id_ in now.images),
            study.selection(MAIN).slots,
            None if labels is None else short.ranked(MAIN, seed),
            tuple(short.labelled),
        )
