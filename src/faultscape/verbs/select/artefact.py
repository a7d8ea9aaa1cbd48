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
from faultscape.reading.snapshot import Snapshot
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


def successor(snapshot: Snapshot, name: str) -> str:
    """Return the selection of all current models that was made in the same way from the current study, and
    that has not been replaced, or ''.
    """
    asked = _asked(snapshot.selections[name][0])
    return next(
        (
            other
            for other, (slots, drawn_from) in snapshot.selections.items()
            if other != name
            and not is_replaced(snapshot, other)
            and _asked(slots) == asked
            and set(slots.models) == set(snapshot.models)
            and drawn_from == snapshot.drawn_from(slots.models)
        ),
        "",
    )


def is_replaced(snapshot: Snapshot, name: str) -> bool:
    """Whether another selection replaced this one and still exists."""
    return snapshot.selections[name][0].definition.get(REPLACED_BY) in snapshot.selections


def in_order(snapshot: Snapshot) -> list[str]:
    """Return the selections in the order in which they are ranked and reported: first those drawn for all
    models, which show which model is better, then those that show where models fail, then replaced ones.
    """
    return sorted(
        snapshot.selections,
        key=lambda name: (is_replaced(snapshot, name), not snapshot.selections[name][0].draws),
    )


def is_superseded(snapshot: Snapshot, name: str) -> bool:
    """Whether nothing is left to do for a selection because another replaced it."""
    slots, drawn_from = snapshot.selections[name]
    if is_replaced(snapshot, name):
        return True
    known = snapshot.knows(slots.models)
    stale = not known or drawn_from != snapshot.drawn_from(slots.models)
    return (stale or _lacks_models(snapshot, slots)) and bool(successor(snapshot, name))


def key(snapshot: Snapshot, name: str) -> str:
    """Return a digest of what a selection contains; it changes when the selection grows or is replaced under
    its name, and not when a class is renamed.
    """
    if name not in snapshot.selection_keys:
        slots, drawn_from = snapshot.selections[name]
        if snapshot.settings.classes.first_names:
            slots = with_renamed_classes(slots, snapshot.settings.classes.first_name_of)
        define = {word: value for word, value in slots.definition.items() if word != REPLACED_BY}
        rows = [list(vars(row).values()) for row in slots.rows]
        snapshot.selection_keys[name] = key_of(list(slots.models), define, drawn_from, rows)
    return snapshot.selection_keys[name]


def is_stale(snapshot: Snapshot, name: str) -> bool:
    """Whether a selection no longer follows from the current study; no one is asked to label it."""
    return _made_from(snapshot, name) != _made_from_now(snapshot, name)


def is_rankable(snapshot: Snapshot, name: str) -> bool:
    """Whether a selection can be ranked as it is: it is not stale, or it is of draws and only models left."""
    held, now = _made_from(snapshot, name) or {}, _made_from_now(snapshot, name)
    changed = {key for key in held if held[key] != now.get(key)}
    return not changed or (changed == {"models"} and snapshot.knows(snapshot.current(name).models))


def _instances(snapshot: Snapshot) -> Sequence[str]:
    return list(snapshot.selections) or [NONE]


def _made_from(snapshot: Snapshot, name: str) -> dict[str, str] | None:
    if name == NONE:
        return None
    slots, drawn_from = snapshot.selections[name]
    files = _own_files(snapshot, slots, now=False)
    return {
        "models": ",".join(slots.models),
        "added": "",
        "maps": drawn_from,
        **files,
        **_left(snapshot, name, now=False),
    }


def _made_from_now(snapshot: Snapshot, name: str) -> dict[str, str]:
    if name == NONE:
        return {}
    slots, drawn_from = snapshot.selections[name]
    own = _own_files(snapshot, slots, now=True) | _left(snapshot, name, now=True)
    if not snapshot.knows(slots.models):
        known = ",".join(m for m in slots.models if m in snapshot.models)
        return {"models": known, "added": "", "maps": drawn_from, **own}
    added = [m for m in snapshot.models if m not in slots.models]
    return {
        "models": ",".join(slots.models),
        "added": ",".join(added),
        "maps": snapshot.drawn_from(slots.models),
        **own,
    }


def _own_files(snapshot: Snapshot, slots: Slots, *, now: bool) -> dict[str, str]:
    """Return digests of your own files that a selection uses: a concordance, a selector, distances between
    classes.
    """
    define = slots.definition
    concordance, selector = define.get("concordance", ""), define["selector"]
    held = {"concordance": define.get("concordance_file", ""), "selector": define.get("selector_file", "")}
    if now:
        held = {"concordance": plug.digest(concordance), "selector": plug.digest(selector)}
    named = {
        name for name, said in (("concordance", concordance), ("selector", selector)) if plug.is_own(said)
    }
    found = {name: digest for name, digest in held.items() if name in named}
    if "distances" in define and (define.get("hierarchy") or define["distance"] not in KINDS):
        found["distances"] = _distances_now(snapshot, define) if now else define["distances"]
    return found


def _distances_now(snapshot: Snapshot, define: Definition) -> str:
    """Return the digest of the distances that a definition names, from their files now, or '' if they cannot
    be read.
    """
    try:
        return define_distances(snapshot.settings.class_list, {}, define)[0]["distances"]
    except FaultscapeError:
        return ""


def _left(snapshot: Snapshot, name: str, *, now: bool) -> dict[str, str]:
    """Return how many images of a selection left the corpus, or nothing."""
    number = len({row.image for row in snapshot.selections[name][0].rows} - snapshot.ids)
    return {"left": str(number) if now else "0"} if number else {}


def _lacks_models(snapshot: Snapshot, slots: Slots) -> bool:
    """Whether models were added to the study since."""
    return snapshot.knows(slots.models) and set(slots.models) != set(snapshot.models)


def _describe(snapshot: Snapshot, name: str) -> str:
    if name == NONE:
        return "no selection yet"
    slots, now = snapshot.selections[name][0], snapshot.current(name)
    heir = slots.definition[REPLACED_BY] if is_replaced(snapshot, name) else successor(snapshot, name)
    place = f"; replaced by {heir}" if is_superseded(snapshot, name) else ""
    lacks = lacks_sizes(snapshot, name)
    sizes = f"; its scale lacks {', '.join(lacks)}: make SCALE with `faultscape scale`" if lacks else ""
    return f"{name}: {counted(len(now.images), 'image')}{place}{sizes}"


def _line(snapshot: Snapshot, name: str) -> str:
    if name != NONE and is_superseded(snapshot, name):
        return ""
    if len(snapshot.models) < 2:  # nothing can be chosen
        return f"faultscape predict {snapshot.place} NAME=SOURCE"
    if name == NONE:
        return f"faultscape select {snapshot.place}"
    if can_grow(snapshot, name):
        return f"faultscape select {snapshot.place}{'' if name == MAIN else f' --as {shlex.quote(name)}'}"
    return line_again(snapshot, name)


def again(snapshot: Snapshot, name: str) -> Again:
    """Return how to remake a selection, and which of your own files that it needs is gone."""
    if name == NONE:
        return Again({})
    given, define = options_again(snapshot, name), cast("JsonObject", snapshot.selections[name][0].definition)
    gone = gone_file(
        define, ("selector", "concordance", "distance", "hierarchy"), "choose again with --replace"
    )
    return Again(given, (), "" if is_superseded(snapshot, name) else gone)


def can_grow(snapshot: Snapshot, name: str) -> bool:
    """Whether the same command extends a selection to the current models: duels over unchanged images,
    predictions and files of your own.
    """
    slots, drawn_from = snapshot.selections[name]
    same = snapshot.knows(slots.models) and drawn_from == snapshot.drawn_from(slots.models)
    return (
        not slots.draws
        and same
        and _own_files(snapshot, slots, now=False) == _own_files(snapshot, slots, now=True)
    )


def line_again(snapshot: Snapshot, name: str) -> str:
    """Return the command that redraws a selection in the same way for all current models; a labelled one is
    kept under a dated name.
    """
    options = {("as" if key == "as_" else key): value for key, value in options_again(snapshot, name).items()}
    # which a person must make for the current classes
    scale = ["--scale", "SCALE"] if lacks_sizes(snapshot, name) else []
    return " ".join([f"faultscape select {snapshot.place}", *option_words(options), *scale, "--replace"])


def lacks_sizes(snapshot: Snapshot, name: str) -> list[str]:
    """Return the current classes that are missing from the scale of a selection (`--scale`)."""
    classes, sizes = snapshot.settings.class_list, snapshot.selections[name][0].definition.get("scale")
    return (
        [classes.names[place] for place in classes.groups if classes.names[place] not in sizes]
        if sizes
        else []
    )


def options_again(snapshot: Snapshot, name: str) -> JsonObject:
    """Return the options of `select` that remake a selection in the same way, without defaults."""
    slots = snapshot.selections[name][0]
    define = slots.definition
    usual = (
        DRAWS
        if slots.draws
        else {**CLASSIFIER_DUELS, "distance": _usual_distance(snapshot, define)}
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


def _usual_distance(snapshot: Snapshot, definition: Mapping[str, Any]) -> str:
    """Return the default distance of duels of classifiers."""
    return "wordnet" if snapshot.settings.class_list.wnids or definition.get("hierarchy") else "01"


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
