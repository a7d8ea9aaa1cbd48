"""A selection: the images that people should label; once made it only grows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from faultscape import plug
from faultscape.choices import DistanceKind
from faultscape.comparison import combinations
from faultscape.errors import FaultscapeError, counted
from faultscape.nouns import Definition, JsonObject, Slots
from faultscape.reading.artefact import Artefact, Input, Instance, command, gone_file
from faultscape.reading.label_counts import LEFT, RESIZED
from faultscape.reading.study import Study
from faultscape.selection.catalogue import GOALS
from faultscape.selection.renamed_classes import with_renamed_classes
from faultscape.study.parts import key_of
from faultscape.study.tables.selections import MAIN, REPLACED_BY
from faultscape.study.trained_images import learnt_selections

NONE = ""  # the instance that stands for a study without any selection
DUELS = {"concordance": "miou", "over": "union", "per_class": 1, "spares": 3, "seed": 0}
CLASSIFIER_DUELS = {
    "discrepancy": "top1",
    "top": 30,
    "confidence": 0.8,
    "cap": 3,
    "cap_rule": "accepted",
    "hierarchy": None,
    "spares": 10,
    "seed": 0,
}
POINTS = {"goal": "order", "border": 0, "per_image": 1, "seed": 0}
DRAWS = {
    "concordance": "miou",
    "over": "union",
    "temperature": None,
    "distance": "01",
    "hierarchy": None,
    "seed": 0,
}


def successor(study: Study, name: str) -> str:
    """Return the selection of all current models that was made in the same way from the current study, and
    that has not been replaced, or ''.
    """
    asked = _asked(study.selections[name].slots)
    return next(
        (
            other
            for other, made in study.selections.items()
            if other != name
            and not is_replaced(study, other)
            and _asked(made.slots) == asked
            and set(made.slots.models) == set(study.models)
            and made.drawn_from == study.pool_key(made.slots)
        ),
        "",
    )


def is_replaced(study: Study, name: str) -> bool:
    """Whether another selection replaced this one and still exists."""
    return study.selections[name].slots.definition.get(REPLACED_BY) in study.selections


def in_order(study: Study) -> list[str]:
    """Return the selections in the order in which they are ranked and reported: first those drawn for all
    models, which show which model is better, then those that show where models fail, then those that judged
    an earlier round of `loop`, then replaced ones.
    """
    past = judges_of_rounds(study)[:-1]
    return sorted(
        study.selections,
        key=lambda name: (is_replaced(study, name), name in past, not study.selections[name].slots.for_all),
    )


def speakers(study: Study) -> list[str]:
    """Return the selections that have a say in the verdict, in their order: none that was replaced, or judged
    an earlier round of `loop`.
    """
    past = judges_of_rounds(study)[:-1]
    return [name for name in in_order(study) if name not in past and not is_replaced(study, name)]


def _learnt_from(study: Study, name: str) -> str:
    """Return a network of the study that learnt from the images of a selection, or ''."""
    which = ("learnt selections",)
    if which not in study.computed:
        study.computed[which] = learnt_selections(study.root / "models")
    return cast("dict[str, str]", study.computed[which]).get(name, "")


def judges_of_rounds(study: Study) -> list[str]:
    """Return the selections on which the complete rounds of `loop` were judged, in their order."""
    held = study.document(study.root / "loop.json") or {}
    rounds = held.get("rounds")
    number = len(rounds) if isinstance(rounds, list) else 0
    called = held.get("called") or held.get("model")
    return [f"{called}-{k + 1}-judge" for k in range(number)]


def is_superseded(study: Study, name: str) -> bool:
    """Whether nothing is left to do for a selection because another replaced it, a complete round of `loop`
    was judged on it, or a network learnt from it and models came since.
    """
    if is_replaced(study, name) or name in judges_of_rounds(study):
        return True
    if _learnt_from(study, name) and SELECTION.changed(study, name) == {"added"}:
        return True
    return bool(SELECTION.changed(study, name) & {"models", "added", "maps"}) and bool(successor(study, name))


def key(study: Study, name: str) -> str:
    """Return a digest of what a selection contains; it changes when the selection grows or is replaced under
    its name, and not when a class is renamed.
    """
    which = "key of selection", name  # many artefacts depend on one selection
    if which not in study.computed:
        made = study.selections[name]
        slots = made.slots
        if study.settings.classes.first_names:
            slots = with_renamed_classes(slots, study.settings.classes.first_name_of)
        define = {word: value for word, value in slots.definition.items() if word != REPLACED_BY}
        rows = [list(vars(row).values()) for row in slots.rows]
        study.computed[which] = key_of(list(slots.models), define, made.drawn_from, rows)
    return study.computed[which]


# what depends on a selection of the same name reads this of it
CONTENTS = Input(
    "selection", lambda made: key(made.study, made.name), "the selection was extended or replaced"
)


def is_rankable(study: Study, name: str) -> bool:
    """Whether a selection can be ranked as it is: it is done, or drawn for all models and only some left."""
    changed = SELECTION.changed(study, name)
    return not changed or (changed == {"models"} and study.knows(study.selection(name).now.models))


def can_grow(study: Study, name: str) -> bool:
    """Whether the same command extends a selection to the current models: duels over unchanged images,
    predictions and files of your own.
    """
    return not study.selections[name].slots.for_all and SELECTION.changed(study, name) <= {"added", "left"}


def line_again(study: Study, name: str) -> str:
    """Return the command that redraws a selection in the same way for all current models; a labelled one is
    kept under a dated name.
    """
    # which a person must make for the current classes
    scale = {"scale": "SCALE"} if lacks_sizes(study, name) else {}
    options = SELECTION.options_again(study, name)[0]
    return command(study, "select", {**options, **scale, "replace": True})


def lacks_sizes(study: Study, name: str) -> list[str]:
    """Return the current classes that are missing from the scale of a selection (`--scale`)."""
    classes = study.settings.class_list
    sizes = study.selections[name].slots.definition.get("scale")
    return (
        [classes.names[place] for place in classes.groups if classes.names[place] not in sizes]
        if sizes
        else []
    )


def _usual_distance(study: Study, definition: Mapping[str, Any]) -> str:
    """Return the default distance of duels of classifiers."""
    return "wordnet" if study.settings.class_list.wnids or definition.get("hierarchy") else "01"


def _chosen_by(definition: Mapping[str, Any]) -> str:
    """Return "goal" if a goal chose the selector of these draws, and would choose the same today, else
    "selector".
    """
    goal = definition.get("goal")
    return "goal" if goal is not None and GOALS.get(goal) == definition["selector"] else "selector"


def _asked(slots: Slots) -> dict[str, Any]:
    """Return a selection's definition without what the labels and models of its day decided."""
    return {key: value for key, value in slots.definition.items() if key not in ("temperatures", REPLACED_BY)}


def _slots(made: Instance) -> Slots:
    return made.study.selections[made.name].slots


def _added(made: Instance) -> str:
    """Return the models that were added since; none if a model that it was drawn with is gone, and of points,
    which speak about any model.
    """
    models = _slots(made).models
    if _slots(made).points:
        return ""
    return ",".join(m for m in made.study.models if m not in models) if made.study.knows(models) else ""


def _maps(made: Instance) -> str:
    held = made.study.selections[made.name]
    return made.study.pool_key(held.slots) if made.study.knows(held.slots.models) else held.drawn_from


def _file(option: str) -> Callable[[Instance], str | None]:
    """Return the digest of your own function that an option names."""

    def digest(made: Instance) -> str | None:
        named = str(_slots(made).definition.get(option, ""))
        return plug.digest(named) if plug.is_own(named) else None

    return digest


def _measures(made: Instance) -> str | None:
    """Return the digests of your own functions among the measures of a concordance."""
    own = _own_measures(_slots(made).definition)
    return "+".join(map(plug.digest, own)) if own else None


def _own_measures(define: Definition) -> list[str]:
    return list(filter(plug.is_own, combinations.measures(combinations.spelt(define))))


def _distances(made: Instance) -> str | None:
    """Return the digest of the distances that a definition names, from their files now, or '' if they cannot
    be read.
    """
    define = _slots(made).definition
    if not _has_own_distances(define):
        return None
    from faultscape.comparison.distance_definitions import define_distances

    try:
        return define_distances(made.study.settings.class_list, {}, define)[0]["distances"]
    except FaultscapeError:
        return ""


def _has_own_distances(define: Definition) -> bool:
    return "distances" in define and bool(
        define.get("hierarchy") or define["distance"] not in get_args(DistanceKind)
    )


def _gone(how: str) -> Callable[[Instance], str | None]:
    """Return a function that says how many images of a selection are gone in a way, if any are."""

    def count(made: Instance) -> str | None:
        number = sum(way == how for way in made.study.selections[made.name].gone.values())
        return str(number) if number else None

    return count


class _Selection(Artefact):
    def instances(self, study: Study) -> list[str]:
        return list(study.selections) or [NONE]

    def exists(self, _study: Study, name: str) -> bool:
        return name != NONE

    def read(self, study: Study, name: str) -> JsonObject | None:
        """Return what its definition records."""
        held = study.selections[name]
        define = cast("Mapping[str, Any]", held.slots.definition)
        inputs = {"models": ",".join(held.slots.models), "added": "", "maps": held.drawn_from}
        if plug.is_own(define.get("selector", "")):
            inputs["selector"] = define.get("selector_file", "")
        if _own_measures(held.slots.definition):
            files = (define.get(name, "") for name in ("concordance_file", "combined_file"))
            inputs["concordance"] = "+".join(filter(None, files))
        if _has_own_distances(held.slots.definition):
            inputs["distances"] = define["distances"]
        return {"inputs": inputs}

    def describe(self, study: Study, name: str) -> str:
        if name == NONE:
            return "no selection yet"
        slots = study.selections[name].slots
        now = study.selection(name).now
        heir = slots.definition[REPLACED_BY] if is_replaced(study, name) else successor(study, name)
        learnt = _learnt_from(study, name)
        place = f"; {learnt} learnt from it" if learnt else ""
        place = f"; replaced by {heir}" if heir and is_superseded(study, name) else place
        lacks = lacks_sizes(study, name)
        sizes = f"; its scale lacks {', '.join(lacks)}: make SCALE with `faultscape scale`" if lacks else ""
        what = counted(now.asked, "point" if study.selections[name].slots.points else "image")
        return f"{name}: {what}{place}{sizes}"

    def options_again(self, study: Study, name: str) -> tuple[JsonObject, tuple[str, ...]]:
        """Return the options of `select` that remake a selection in the same way, without defaults."""
        if name == NONE:
            return {}, ()
        slots = study.selections[name].slots
        define = slots.definition
        usual = (
            POINTS
            if slots.points
            else DRAWS
            if slots.draws
            else {**CLASSIFIER_DUELS, "distance": _usual_distance(study, define)}
            if slots.pairs
            else DUELS
        )
        found: dict[str, Any] = {}
        own_name = None if name == MAIN else name
        if slots.points:
            found = {"points": len(slots.rows)}
            own_name = None if name == define["selector"] else name
        if slots.draws:
            by = _chosen_by(define)
            found = {by: define[by], "budget": len(slots.rows)}
            own_name = None if name == define[by] else name
        found |= {key: define[key] for key in usual if key in define and define[key] != usual[key]}
        if "combined" in define:
            found["concordance"] = define["combined"]
        found["keep_duplicates"] = define.get("keep_duplicates") or None
        # the scale stays unless a new one is given
        found["constraints"] = "none" if define.get("constraints") == "none" else None
        found |= {"without": define.get("without") or None, "as_": own_name}
        return {key: value for key, value in found.items() if value is not None}, ()

    def in_the_way(self, study: Study, name: str, _options: Mapping[str, object]) -> str:
        """Return which of your own files that it needs is gone."""
        if name == NONE or is_superseded(study, name):
            return ""
        define = study.selections[name].slots.definition
        own = {**define, "concordance": _own_measures(define)}
        return gone_file(cast("JsonObject", own), self.own_files, "choose again with --replace")

    def line(self, study: Study, name: str = "") -> str:
        if name != NONE and is_superseded(study, name):
            return ""
        if len(study.models) < 2:  # nothing can be chosen
            return f"faultscape predict {study.place} NAME=SOURCE"
        if name == NONE or can_grow(study, name):
            return command(study, "select", {"as": None if name in (NONE, MAIN) else name})
        return line_again(study, name)


SELECTION = _Selection(
    "selection",
    verb="select",
    follows=("corpus", "maps", "pairs"),
    reads=(
        Input(
            "models",
            lambda made: ",".join(m for m in _slots(made).models if m in made.study.models),
            "a model that it was drawn with is gone",
        ),
        Input("added", _added, "models were added since"),
        Input("maps", _maps, "images or predictions changed since"),
        Input("concordance", _measures, "the file of its concordance changed, or is gone"),
        Input("selector", _file("selector"), "the file of its selector changed, or is gone"),
        Input("distances", _distances, "distances between classes changed, or their file is gone"),
        Input("left", _gone(LEFT), "images of it left the corpus"),
        Input("resized", _gone(RESIZED), "images of it have another size now"),
    ),
    where="selection-NAME.json",
    own_files=("selector", "concordance", "distance", "hierarchy"),
)
