"""Truths that are merged from the masks of several annotators (`label consensus`).

Conventions: the labels of an annotator are a truth called TRUTH-PERSON, as `label import` names them. If
there are several for truth `labels` and no `labels`, they are to be merged into it; a merged truth is merged
again if their labels changed, or those of another annotator were imported.
"""

from __future__ import annotations

from faultscape.nouns import JsonObject
from faultscape.reading.artefact import Artefact, command, named
from faultscape.reading.study import LABELS, Study
from faultscape.study.tables import label_maps
from faultscape.study.tables.consensus import Joined, read_joined


def annotators(study: Study, truth: str) -> list[str]:
    """Return the truths of annotators who labelled for a truth, and have a label of an image of the study."""
    named = [name for name in study.label_folders if name.startswith(f"{truth}-")]
    return [name for name in named if _labels_something(study, name)]


def _labels_something(study: Study, truth: str) -> bool:
    folder = label_maps.truth(study.root, truth)
    parts = study.manifest(folder).items()
    return any(study.corpus.held(label_maps.read_ids(folder, int(number), part)) for number, part in parts)


def lines_to_merge(study: Study) -> list[str]:
    """Return the commands that merge masks of several annotators, or merge them again."""
    return [
        JOINED.line(study, truth) for truth in JOINED.instances(study) if not JOINED.is_done(study, truth)
    ]


class _Joined(Artefact):
    def instances(self, study: Study) -> list[str]:
        if study.settings.classifies:  # answers are merged by majority when they are read
            return []
        merged = [name for name in read_joined(study.root) if name in study.truths]
        wanted = LABELS not in study.truths and len(annotators(study, LABELS)) > 1
        return [*merged, *([LABELS] if wanted else [])]

    def _held(self, study: Study, truth: str) -> Joined | None:
        return read_joined(study.root).get(truth) if truth in study.truths else None

    def made_from(self, study: Study, truth: str = "") -> dict[str, str] | None:
        held = self._held(study, truth)
        return None if held is None else dict(held.inputs)

    def made_from_now(self, study: Study, truth: str = "") -> dict[str, str]:
        held = self._held(study, truth)
        if held is None:
            return {}
        now = {name: study.truth_key(name) for name in self._of(study, truth)}
        return now if len(now) > 1 else dict(held.inputs)  # of one, nothing is left to merge

    def _of(self, study: Study, truth: str) -> list[str]:
        """Return the truths to merge: those that were merged and are still there, and those of new
        annotators.
        """
        there = annotators(study, truth)
        held = self._held(study, truth)
        if held is None:
            return there
        kept = [name for name in held.of if name in study.truths]
        return [*kept, *(name for name in there if name not in (*held.of, *held.others))]

    def options_again(self, study: Study, truth: str) -> tuple[JsonObject, tuple[str, ...]]:
        """Return the options as before; the first time, an image with the mask of one annotator counts as
        well, so that no label is wasted.
        """
        held = self._held(study, truth)
        if held is None:
            rules: JsonObject = {"tie": None if study.settings.class_list.void else "skill", "least": 1}
        else:
            rules = {
                "tie": held.tie if held.tie != "void" else None,
                "least": held.least if held.least != 2 else None,
            }
        return {"of": [*self._of(study, truth)], **named(truth=truth), **rules}, ()

    def line(self, study: Study, truth: str = "") -> str:
        return command(study, "label consensus", self.options_again(study, truth)[0])

    def describe(self, study: Study, truth: str) -> str:
        return f"{truth}: merged from {', '.join(self._of(study, truth))}"


JOINED = _Joined("joined labels", verb="label", follows=("corpus",))
