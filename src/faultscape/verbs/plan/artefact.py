"""The plan: plan.json, how many labels each question needs."""

from __future__ import annotations

from collections.abc import Sequence

from faultscape import plug
from faultscape.comparison.combinations import measures, spelt
from faultscape.nouns import JsonObject, Slots
from faultscape.reading.artefact import Artefact, Input, Instance, by_method, named
from faultscape.reading.study import LABELS, Study
from faultscape.study.parts import key_of
from faultscape.study.tables.selections import MAIN
from faultscape.verbs import inputs
from faultscape.verbs.rank import artefact as standings
from faultscape.verbs.rank.open_selections import open_selections
from faultscape.verbs.select import artefact as selection

METHOD_NUMBER = 6  # raised when forecasts are computed differently


def _selections(made: Instance) -> str:
    return key_of({name: selection.key(made.study, name) for name in made.study.selections})


def _labels(made: Instance) -> str:
    """Return a digest of the labels of its truth, or, if there was none, of any that count; of several truths
    of which none does, one must be chosen first.
    """
    truth = made.truth or made.study.find_truth()
    return inputs.labels_key(made.study, truth) if truth or not made.study.truths else "several"


def _boxes(made: Instance) -> str | None:
    return inputs.boxes_digest(made.study, made.truth or made.study.likely_truth)


def _own_files(made: Instance) -> str | None:
    """Return a digest of your own files that selections use as selector or concordance."""
    defined = [held.slots.definition for held in made.study.selections.values()]
    named_ = {define.get("selector", "") for define in defined}
    named_ |= {name for define in defined for name in measures(spelt(define))}
    return inputs.key_if_any({name: plug.digest(name) for name in named_ if plug.is_own(name)})


def _left_open(made: Instance) -> str | None:
    """Return a digest of the questions that standings leave open."""
    study = made.study
    return inputs.key_if_any(
        {name: open_ for name in study.selections if (open_ := standings.open_questions(study, name))}
    )


def holds_duels(slots: Slots, models: Sequence[str]) -> bool:
    """Whether a selection, as it counts now, has duels between these models, which a plan then describes;
    otherwise the plan computes its own.
    """
    return slots.models == tuple(models) and bool(slots.chosen) and not slots.for_all


def _classes(made: Instance) -> str | None:
    """Return what its own duels of classifiers depend on: which classes are excluded, and the positions of
    classes in WordNet.
    """
    study = made.study
    settings = study.settings
    classes = settings.classes
    if not settings.classifies or (
        MAIN in study.selections and holds_duels(study.selection(MAIN).now, study.models)
    ):
        return None
    others = [
        first for name, first in classes.first_name_of.items() if settings.only and name not in settings.only
    ]
    return inputs.key_if_any(others, classes.wnids)


def _has_pairs(held: JsonObject) -> bool:
    """Whether the rows of a plan about two models each are such rows: a plan of earlier versions has none."""
    rows = held.get("pairs", [])
    return isinstance(rows, list) and all(isinstance(row, dict) and _is_pair(row) for row in rows)


def _is_pair(row: JsonObject) -> bool:
    models = row.get("models")
    numbers = [row.get(key) for key in ("labels", "low", "high")]
    return (
        isinstance(models, list)
        and len(models) == 2
        and all(isinstance(model, str) for model in models)
        and all(isinstance(number, int) for number in numbers)
        and isinstance(row.get("predictable"), bool)
    )


def _can_say(study: Study, name: str) -> bool:
    """Whether a selection that a plan should use exists, and can be a random draw from the current pool."""
    if name not in study.selections or not standings.is_by_chance(study, name):
        return False
    if study.selections[name].slots.points:  # a plan is about images
        return False
    return not (not selection.SELECTION.is_done(study, name) and selection.is_superseded(study, name))


class _Plan(Artefact):
    def instances(self, study: Study) -> list[str]:
        return [""] if self.exists(study, "") or open_selections(study) else []

    def read(self, study: Study, name: str) -> JsonObject | None:
        held = study.document(self.path(study))
        return super().read(study, name) if held is not None and _has_pairs(held) else None

    def options_again(self, study: Study, _name: str) -> tuple[JsonObject, tuple[str, ...]]:
        """Leave out a selection that is gone, and take the truth that counts if its own is gone."""
        given = dict(self.options(study))
        left_out = list[str]()
        asked = given.get("selection")
        truth = str(given.pop("truth", "") or self.truth(study))
        if truth not in study.truths:
            if truth not in ("", LABELS):
                left_out.append(f"truth {truth} no longer has labels and is left out")
            truth = study.likely_truth if study.truths else ""
        if asked is not None and not (study.truths and _can_say(study, str(asked))):
            del given["selection"]
            why = "no longer shows how models differ" if asked in study.selections else "is gone"
            left_out.append(
                f"selection {asked} {why if study.truths else 'no longer has labels'} and is left out"
            )
        return {**named(truth=truth), **given}, tuple(left_out)

    def is_later(self, study: Study, name: str) -> bool:
        """A plan from a selection that must be redrawn waits for that."""
        asked = self.options_again(study, name)[0].get("selection")
        return asked is not None and not selection.SELECTION.is_done(study, str(asked))

    def waits(self, study: Study, _name: str) -> bool:
        return not open_selections(study)


PLAN = _Plan(
    "plan",
    verb="plan",
    follows=("maps", "selection", "labels", "discards", "standings"),
    where="plan.json",
    reads=(
        inputs.MAPS,
        Input("selections", _selections, "a selection was made or extended"),
        Input("discards", lambda made: inputs.discards_key(made.study, None), "images were discarded"),
        Input("labels", _labels, "labels changed"),
        Input("boxes", _boxes, "boxes changed"),
        inputs.MODELS,
        inputs.PHOTOS,  # they break ties in draws
        Input("files", _own_files, "the file of a selector or of a concordance changed, or is gone"),
        inputs.GROUPS,
        Input("open", _left_open, "standings are out of date, settled a question, or left one open"),
        Input("classes", _classes, "the classes asked about, or their WordNet ids, changed"),
        by_method(METHOD_NUMBER, "an earlier version made it"),
    ),
)
