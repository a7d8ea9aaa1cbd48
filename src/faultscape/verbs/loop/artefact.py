"""The rounds of a loop, in loop.json: it goes on where labels that it waits for came."""

from __future__ import annotations

from faultscape.errors import counted
from faultscape.reading.artefact import Artefact, Input, Instance
from faultscape.reading.study import Study
from faultscape.study.parts import key_of

OPEN = "open"  # the selection whose labels the loop waits for


def labels_waited_for(study: Study, selection: str) -> str:
    """Return a digest of which images of a selection have labels."""
    return key_of(sorted(study.label_count(selection).images))


def _labels(made: Instance) -> str | None:
    held = made.study.document(LOOP.path(made.study)) or {}
    name = str(held.get(OPEN) or "")
    return labels_waited_for(made.study, name) if name in made.study.selections else None


class _Loop(Artefact):
    def describe(self, study: Study, _name: str) -> str:
        held = study.document(self.path(study)) or {}
        rounds = held.get("rounds")
        said = counted(len(rounds) if isinstance(rounds, list) else 0, "round")
        name = str(held.get(OPEN) or "")
        if name not in study.selections:
            return f"{said} of {held.get('model')}"
        left = study.selection(name).now.asked - study.label_count(name).labelled
        return f"{said} of {held.get('model')}; the next waits for {counted(left, 'label')} of {name}"


LOOP = _Loop(
    "loop",
    verb="loop",
    follows=("networks", "selection", "labels"),
    where="loop.json",
    reads=(Input("labels", _labels, "labels came"),),
    own_files=("masks",),
)
