"""Truths that are merged from the masks of several annotators (`label consensus`).

Conventions: the labels of an annotator are a truth called TRUTH-PERSON, as `label import` names them. If
there are several for truth `labels` and no `labels`, they are to be merged into it; a merged truth is merged
again if their labels changed, or those of another annotator were imported.
"""

from __future__ import annotations

from faultscape.reading.artefact import Again, Artefact
from faultscape.reading.study import LABELS, Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.consensus import Joined, read_joined
from faultscape.terminal_lines import option_words


def annotators(study: Study, truth: str) -> list[str]:
    """Return the truths of annotators who labelled for a truth, and have a label of an image of the study."""
    named = [name for name in study.label_folders if name.startswith(f"{truth}-")]
    return [name for name in named if _labels_something(study, name)]


def _labels_something(study: Study, truth: str) -> bool:
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder).items()
    return any(
        not study.ids.isdisjoint(label_maps.read_ids(folder, int(number), part)) for number, part in parts
    )


def _instances(study: Study) -> list[str]:
    if study.settings.classifies:  # answers are merged by majority when they are read
        return []
    merged = [name for name in read_joined(study.root) if name in study.truths]
    wanted = LABELS not in study.truths and len(annotators(study, LABELS)) > 1
    return [*merged, *([LABELS] if wanted else [])]


def _held(study: Study, truth: str) -> Joined | None:
    return read_joined(study.root).get(truth) if truth in study.truths else None


def _made_from(study: Study, truth: str) -> dict[str, str] | None:
    held = _held(study, truth)
    return None if held is None else dict(held.inputs)


def _made_from_now(study: Study, truth: str) -> dict[str, str]:
    held = _held(study, truth)
    if held is None:
        return {}
    now = {name: study.truth_key(name) for name in _of(study, truth)}
    if len(now) < 2:  # nothing is left to merge
        return dict(held.inputs)
    return now


def _of(study: Study, truth: str) -> list[str]:
    """Return the truths to merge: those that were merged and are still there, and those of new annotators."""
    there = annotators(study, truth)
    held = _held(study, truth)
    if held is None:
        return there
    kept = [name for name in held.of if name in study.truths]
    return [*kept, *(name for name in there if name not in (*held.of, *held.others))]


def again(study: Study, truth: str) -> Again:
    """Return how to merge a truth again, or for the first time: then an image with the mask of one annotator
    counts as well, so that no label is wasted.
    """
    held = _held(study, truth)
    own_name = None if truth == LABELS else truth
    if held is not None:
        tie = held.tie if held.tie != "void" else None
        least = held.least if held.least != 2 else None
        return Again({"of": _of(study, truth), "truth": own_name, "tie": tie, "least": least})
    tie = None if study.settings.class_list.void else "skill"
    return Again({"of": _of(study, truth), "truth": own_name, "tie": tie, "least": 1})


def _line(study: Study, truth: str) -> str:
    options = again(study, truth).options
    return " ".join([f"faultscape label consensus {study.place}", *option_words(options)])


def lines_to_merge(study: Study) -> list[str]:
    """Return the commands that merge masks of several annotators, or merge them again."""
    return [
        _line(study, truth)
        for truth in _instances(study)
        if _made_from(study, truth) != _made_from_now(study, truth)
    ]


def _describe(study: Study, truth: str) -> str:
    return f"{truth}: merged from {', '.join(_of(study, truth))}"


JOINED = Artefact(
    name="joined labels",
    verb="label",
    inputs=("corpus",),
    reasons={},
    instances=_instances,
    made_from=_made_from,
    made_from_now=_made_from_now,
    describe=_describe,
    line=_line,
    again=again,
)
