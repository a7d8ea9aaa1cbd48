"""A selection: the images that people should label; once made it only grows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from faultscape import plug
from faultscape.comparison.distance_definitions import KINDS, define_distances
from faultscape.errors import FaultscapeError, counted
from faultscape.nouns import Definition, JsonObject, Slots
from faultscape.reading.artefact import Again, Artefact, gone_file
from faultscape.reading.study import Study
from faultscape.selection.catalogue import GOALS
from faultscape.selection.renamed_classes import with_renamed_classes
from faultscape.study.parts import key_of
from faultscape.study.tables.selections import MAIN, REPLACED_BY
from faultscape.terminal_lines import option_words

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
            and made.drawn_from == study.drawn_from(made.slots.models)
        ),
        "",
    )


def is_replaced(study: Study, name: str) -> bool:
    """Whether another selection replaced this one and still exists."""
    return study.selections[name].slots.definition.get(REPLACED_BY) in study.selections


def in_order(study: Study) -> list[str]:
    """Return the selections in the order in which they are ranked and reported: first those drawn for all
    models, which show which model is better, then those that show where models fail, then replaced ones.
    """
    return sorted(
        study.selections,
        key=lambda name: (is_replaced(study, name), not study.selections[name].slots.draws),
    )


def is_superseded(study: Study, name: str) -> bool:
    """Whether nothing is left to do for a selection because another replaced it."""
    made = study.selections[name]
    if is_replaced(study, name):
        return True
    known = study.knows(made.slots.models)
    stale = not known or made.drawn_from != study.drawn_from(made.slots.models)
    return (stale or _lacks_models(study, made.slots)) and bool(successor(study, name))


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


def is_stale(study: Study, name: str) -> bool:
    """Whether a selection no longer follows from the current study; no one is asked to label it."""
    return _made_from(study, name) != _made_from_now(study, name)


def is_rankable(study: Study, name: str) -> bool:
    """Whether a selection can be ranked as it is: it is not stale, or it is of draws and only models left."""
    held = _made_from(study, name) or {}
    now = _made_from_now(study, name)
    changed = {key for key in held if held[key] != now.get(key)}
    return not changed or (changed == {"models"} and study.knows(study.selection(name).now.models))


def _instances(study: Study) -> Sequence[str]:
    return list(study.selections) or [NONE]


def _made_from(study: Study, name: str) -> dict[str, str] | None:
    if name == NONE:
        return None
    made = study.selections[name]
    files = _own_files(study, made.slots, now=False)
    return {
        "models": ",".join(made.slots.models),
        "added": "",
        "maps": made.drawn_from,
        **files,
        **_left(study, name, now=False),
    }


def _made_from_now(study: Study, name: str) -> dict[str, str]:
    if name == NONE:
        return {}
    made = study.selections[name]
    own = _own_files(study, made.slots, now=True) | _left(study, name, now=True)
    if not study.knows(made.slots.models):
        known = ",".join(m for m in made.slots.models if m in study.models)
        return {"models": known, "added": "", "maps": made.drawn_from, **own}
    added = [m for m in study.models if m not in made.slots.models]
    return {
        "models": ",".join(made.slots.models),
        "added": ",".join(added),
        "maps": study.drawn_from(made.slots.models),
        **own,
    }


def _own_files(study: Study, slots: Slots, *, now: bool) -> dict[str, str]:
    """Return digests of your own files that a selection uses: a concordance, a selector, distances between
    classes.
    """
    define = slots.definition
    concordance = define.get("concordance", "")
    selector = define["selector"]
    held = {"concordance": define.get("concordance_file", ""), "selector": define.get("selector_file", "")}
    if now:
        held = {"concordance": plug.digest(concordance), "selector": plug.digest(selector)}
    named = {
        name for name, said in (("concordance", concordance), ("selector", selector)) if plug.is_own(said)
    }
    found = {name: digest for name, digest in held.items() if name in named}
    if "distances" in define and (define.get("hierarchy") or define["distance"] not in KINDS):
        found["distances"] = _distances_now(study, define) if now else define["distances"]
    return found


def _distances_now(study: Study, define: Definition) -> str:
    """Return the digest of the distances that a definition names, from their files now, or '' if they cannot
    be read.
    """
    try:
        return define_distances(study.settings.class_list, {}, define)[0]["distances"]
    except FaultscapeError:
        return ""


def _left(study: Study, name: str, *, now: bool) -> dict[str, str]:
    """Return how many images of a selection left the corpus, or nothing."""
    number = len({row.image for row in study.selections[name].slots.rows} - study.ids)
    return {"left": str(number) if now else "0"} if number else {}


def _lacks_models(study: Study, slots: Slots) -> bool:
    """Whether models were added to the study since."""
    return study.knows(slots.models) and set(slots.models) != set(study.models)


def _describe(study: Study, name: str) -> str:
    if name == NONE:
        return "no selection yet"
    slots = study.selections[name].slots
    now = study.selection(name).now
    heir = slots.definition[REPLACED_BY] if is_replaced(study, name) else successor(study, name)
    place = f"; replaced by {heir}" if is_superseded(study, name) else ""
    lacks = lacks_sizes(study, name)
    sizes = f"; its scale lacks {', '.join(lacks)}: make SCALE with `faultscape scale`" if lacks else ""
    return f"{name}: {counted(len(now.images), 'image')}{place}{sizes}"


def _line(study: Study, name: str) -> str:
    if name != NONE and is_superseded(study, name):
        return ""
    if len(study.models) < 2:  # nothing can be chosen
        return f"faultscape predict {study.place} NAME=SOURCE"
    if name == NONE:
        return f"faultscape select {study.place}"
    if can_grow(study, name):
        return f"faultscape select {study.place}{'' if name == MAIN else f' --as {shlex.quote(name)}'}"
    return line_again(study, name)


def again(study: Study, name: str) -> Again:
    """Return how to remake a selection, and which of your own files that it needs is gone."""
    if name == NONE:
        return Again({})
    given = options_again(study, name)
    define = cast("JsonObject", study.selections[name].slots.definition)
    gone = gone_file(
        define, ("selector", "concordance", "distance", "hierarchy"), "choose again with --replace"
    )
    return Again(given, (), "" if is_superseded(study, name) else gone)


def can_grow(study: Study, name: str) -> bool:
    """Whether the same command extends a selection to the current models: duels over unchanged images,
    predictions and files of your own.
    """
    made = study.selections[name]
    same = study.knows(made.slots.models) and made.drawn_from == study.drawn_from(made.slots.models)
    return (
        not made.slots.draws
        and same
        and _own_files(study, made.slots, now=False) == _own_files(study, made.slots, now=True)
    )


def line_again(study: Study, name: str) -> str:
    """Return the command that redraws a selection in the same way for all current models; a labelled one is
    kept under a dated name.
    """
    options = {("as" if key == "as_" else key): value for key, value in options_again(study, name).items()}
    # which a person must make for the current classes
    scale = ["--scale", "SCALE"] if lacks_sizes(study, name) else []
    return " ".join([f"faultscape select {study.place}", *option_words(options), *scale, "--replace"])


def lacks_sizes(study: Study, name: str) -> list[str]:
    """Return the current classes that are missing from the scale of a selection (`--scale`)."""
    classes = study.settings.class_list
    sizes = study.selections[name].slots.definition.get("scale")
    return (
        [classes.names[place] for place in classes.groups if classes.names[place] not in sizes]
        if sizes
        else []
    )


def options_again(study: Study, name: str) -> JsonObject:
    """Return the options of `select` that remake a selection in the same way, without defaults."""
    slots = study.selections[name].slots
    define = slots.definition
    usual = (
        DRAWS
        if slots.draws
        else {**CLASSIFIER_DUELS, "distance": _usual_distance(study, define)}
        if slots.pairs
        else DUELS
    )
    asked: dict[str, Any] = {key: define[key] for key in usual if key in define and define[key] != usual[key]}
    drawn = {_chosen_by(define): define[_chosen_by(define)], "budget": len(slots.rows)} if slots.draws else {}
    own_name = None if name == (define[_chosen_by(define)] if drawn else MAIN) else name
    found = {**drawn, **asked, "keep_duplicates": define.get("keep_duplicates") or None}
    # the scale stays unless a new one is given
    found["constraints"] = "none" if define.get("constraints") == "none" else None
    found |= {"without": define.get("without") or None, "as_": own_name}
    return {key: value for key, value in found.items() if value is not None}


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


SELECTION = Artefact(
    name="selection",
    verb="select",
    inputs=("corpus", "maps", "pairs"),
    reasons={
        "models": "a model that it was drawn with is gone",
        "added": "models were added since",
        "maps": "images or predictions changed since",
        "left": "images of it left the corpus",
        "concordance": "the file of its concordance changed, or is gone",
        "selector": "the file of its selector changed, or is gone",
        "distances": "distances between classes changed, or their file is gone",
    },
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=_describe,
    line=_line,
    again=again,
)
