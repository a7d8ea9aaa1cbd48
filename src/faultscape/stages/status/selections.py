"""The part of `status` that looks at one selection: whether it is of the models and images of now, how many of its images are labelled, and what to type next.

Conventions: called by `status`, and by `select` for the images that wait; nothing is written. An image counts as labelled when nothing that the selection asks of it is open: of classifiers a label, or answers that
decide for both models of a pair, or for all models where it was drawn for all.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultscape.errors import FaultscapeError, counted
from faultscape.nouns import Draw, PairSlot, Slots
from faultscape.selection import classifier_duels, duel

Stage = tuple[str, str, str]
_DEFAULTS = {"concordance": "miou", "over": "union", "temperature": None, "distance": "01", "hierarchy": None, "seed": 0}


def of_one(
    root: Path,
    place: str,
    settings: Any,
    name: str,
    held: Mapping[str, tuple[Slots, str]],
    truth: str,
    labelled: bool,
    now: Slots,
) -> tuple[list[Stage], str, str]:
    """Return the lines of one of the selections ``held``, what to type next, and what to type when there is nothing else to do.

    ``now`` is the selection without discarded images; ``labelled`` says whether there are labels in the truth at all.
    """
    from faultscape.stages.pairs import corpus_key
    from faultscape.stages.standings_state import standings_state
    from faultscape.study.tables import selections

    slots, drawn_from = held[name]
    models = tuple(settings.models)
    known = all(m in models for m in slots.models)
    fresh = known and drawn_from == corpus_key(root, settings, slots.models)
    added = fresh and set(slots.models) != set(models)
    after = _after(root, settings, name, held) if (added and _drawn(slots)) or not known else ""
    state = "stale" if not fresh else "missing" if added and not after else "done"
    words = f"{name}: {counted(len(now.chosen), 'slot')}, {counted(len(now.images), 'image')}"
    words += "; images or predictions changed since: --as NAME for a new one" if known and not fresh else ""
    if not known:
        words += "; it was drawn with a model that the study has no more" + (f": {after} is of those there are" if after else "")
    if added:
        words += "; models were added since"
        words += (f": {after} is of all" if after else ": draw a new one; labels carry over") if _drawn(slots) else ""
    todo = ""
    if state == "missing" or (not known and not after):
        flag = "" if name == selections.MAIN else f" --as {name}"
        todo = f"faultscape select {place}{flag}" if known and not _drawn(slots) else _again(place, slots, name, held)
    which = "" if name == selections.MAIN else f" --selection {name}"
    which += "" if truth == "labels" else f" --truth {truth}"
    have, partly, answered = _labelled(root, settings, now, truth) if labelled and known else (0, 0, False)
    ask = f"faultscape label export {place} OUT --format {'csv' if settings.classifies else 'png'}{which}{' --again' if answered else ''}"
    number = len(now.images)
    of_them = f"{name}: {have} of {counted(number, 'image')} labelled{f', {partly} partly' if partly else ''} (truth {truth})"
    ranked = standings_state(root, name)
    lines = [
        ("select", state, words),
        ("label", "done" if have == number else "missing", of_them),
        ("rank", ranked, f"{name}: {selections.path(root, name, 'json', stem='standings').name}"),
    ]
    if after or not known:  # another selection took its place, or has to
        return lines, todo, ""
    few = have == 0 or (_drawn(slots) and 2 * have < number)  # images that another selection had labelled say little of this one
    if few and number:
        todo = todo or ask
    elif have and ranked != "done":
        todo = todo or f"faultscape rank {place}{which}"
    return lines, todo, ask if have < number else ""


def _drawn(slots: Slots) -> bool:
    """Whether the images were drawn for all models at once; such a selection is of a fixed set of models."""
    return bool(slots.rows) and isinstance(slots.rows[0], Draw)


def _after(root: Path, settings: Any, name: str, held: Mapping[str, tuple[Slots, str]]) -> str:
    """Return the selection of all models of now that was drawn as this one was, or nothing."""
    from faultscape.stages.pairs import corpus_key

    return next(
        (
            other
            for other, (slots, drawn_from) in held.items()
            if other != name
            and _asked(slots) == _asked(held[name][0])
            and set(slots.models) == set(settings.models)
            and drawn_from == corpus_key(root, settings, slots.models)
        ),
        "",
    )


def _asked(slots: Slots) -> dict[str, Any]:
    """Return a selection's definition without what labels and models of its day decided."""
    return {key: value for key, value in slots.definition.items() if key != "temperatures"}


def _again(place: str, slots: Slots, name: str, taken: Mapping[str, Any]) -> str:
    """Return the line that chooses images in the same way for all models of now, under a name that is free."""
    define, stem = slots.definition, re.sub(r"-[0-9]+$", "", name)
    free = next(new for n in itertools.count(2) if (new := f"{stem}-{n}") not in taken)
    usual = _DEFAULTS if _drawn(slots) else classifier_duels.DEFAULTS if isinstance(slots.rows[0], PairSlot) else duel.DEFAULTS
    asked = {key: define[key] for key in usual if key != "keep_duplicates" and define.get(key, usual[key]) != usual[key]}
    words = [
        *([f"--selector {define['selector']}", f"--budget {len(slots.rows)}"] if _drawn(slots) else []),
        *(f"--{key.replace('_', '-')} {shlex.quote(str(value))}" for key, value in asked.items()),
    ]
    words += ["--keep-duplicates"] if define.get("keep_duplicates") else []
    return " ".join([f"faultscape select {place}", *words, f"--as {free}"])


def tell_waiting(root: Path, settings: Any, name: str, truth: str | None, *, learns: bool) -> None:
    """Say how many images of a selection wait for a label while more are drawn; draws that learn do so from one ``truth`` (default labels)."""
    from faultscape.stages.evidence import LABELS, current, truths
    from faultscape.study.tables.answers import Answers

    now = current(root, name, Answers(root).discarded())
    found = [_labelled(root, settings, now, t) for t in truths(root) if not learns or t == (truth or LABELS)]
    waiting = 0 if any(undecided for *_, undecided in found) else len(now.images) - max((have for have, *_ in found), default=0)
    if waiting:
        what = "; what is drawn now learns nothing from them" if learns else ""
        print(f"note: {counted(waiting, 'image')} drawn before {'waits' if waiting == 1 else 'wait'} for a label still{what}")


def _labelled(root: Path, settings: Any, slots: Slots, truth: str) -> tuple[int, int, bool]:
    """Return how many images of a selection are labelled, how many partly, and whether all that is left to ask was asked once and left undecided."""
    from faultscape.labelling.answers import majority
    from faultscape.stages.label.questions import questions
    from faultscape.study.parts import read_manifest
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import part_name, shards_of

    if not settings.classifies:
        folder, shard_of = label_maps.truth(root, truth), shards_of(root, slots.images)
        parts, wanted = read_manifest(folder), set(shard_of)
        numbers = {s for s in shard_of.values() if part_name(s) in parts}
        return sum(len(wanted & set(label_maps.read_maps(folder, s, parts[part_name(s)]))) for s in sorted(numbers)), 0, False
    try:
        asked = questions(root, settings, slots, truth)
    except FaultscapeError:  # predictions that must be made anew first, which the line of predict says
        return 0, 0, False
    verdicts = majority(Answers(root).answers(truth))
    decided = {question for question, settled in asked.items() if settled or verdicts.get(question) is not None}
    some = {image for image, _ in decided}
    lacking = {image for image, _ in asked.keys() - decided}
    open_ = [question for question in asked if question not in decided and question not in verdicts]
    return len(set(slots.images) - lacking), len(some & lacking), bool(lacking) and not open_
