"""The rounds of a loop, in loop.json: it goes on where labels that it waits for came."""

from __future__ import annotations

import json
from collections.abc import Mapping

from faultscape.errors import counted
from faultscape.reading.artefact import Artefact, Input, Instance, command
from faultscape.reading.study import Study
from faultscape.study.folder import put
from faultscape.study.parts import key_of
from faultscape.verbs.loop.signature import LEAST

CALLED = "called"  # what the first network was called when the rounds began, as selections still are
NETWORK = "network"  # the network that the open round trains, '' between rounds
OPEN = "open"  # the selection whose labels the open round waits for, or has, '' between rounds


def rename_networks(study: Study, renamed: Mapping[str, str]) -> None:
    """Rename the networks of the rounds of a study; twice is as good as once."""
    held = study.document(LOOP.path(study))
    if held is None:
        return
    made = held.get("provenance")
    options = made.get("arguments") if isinstance(made, dict) else None
    rounds = held.get("rounds")
    for of in (held, options, *(rounds if isinstance(rounds, list) else ())):
        for key in ("model", NETWORK, "parent"):
            if isinstance(of, dict) and str(of.get(key)) in renamed:
                of[key] = renamed[str(of[key])]
    put(LOOP.path(study), (json.dumps(held, indent=1, ensure_ascii=False, allow_nan=True) + "\n").encode())


def labels_waited_for(study: Study, selection: str, truth: str) -> str:
    """Return a digest of which images of a selection have labels under a truth, and whether they are all; ''
    goes for none that the loop waits for.
    """
    images = study.label_count(selection, truth).images
    return key_of(sorted(images), left_to_label(study, selection, truth) == 0)


def left_to_label(study: Study, selection: str, truth: str) -> int:
    """Return how many images of a selection have no label under a truth yet."""
    return study.selection(selection).now.asked - study.label_count(selection, truth).labelled


def unused_images(study: Study) -> int:
    """Return how many images of the pool trained no model of a study."""
    trained = frozenset[str]().union(*(study.trained_on(name) for name in study.models))
    return sum(role == "pool" and id_ not in trained for id_, role in study.corpus.each_row("id", "role"))


def next_round(study: Study) -> tuple[str, str, int]:
    """Return the line that begins another round of a study whose rounds are complete, why, and how many
    images the round learns from; ('', '', 0) without rounds, or where too few images are left to judge it.
    """
    held = study.document(LOOP.path(study)) or {}
    rounds = held.get("rounds")
    images = held.get("images")
    if not rounds or not isinstance(rounds, list) or held.get(OPEN) or not isinstance(images, int):
        return "", "", 0
    if unused_images(study) < images + LEAST["judged"]:
        return "", "", 0
    done = (
        f"{counted(len(rounds), 'round')} of {held.get('model')} {'is' if len(rounds) == 1 else 'are'} done"
    )
    return f"faultscape loop {study.place}", f"{done}; this begins the next", images


def _labels(made: Instance) -> str | None:
    held = made.study.document(LOOP.path(made.study)) or {}
    name = str(held.get(OPEN) or "")
    if name not in made.study.selections:
        return None
    return labels_waited_for(made.study, name, made.study.truth_of(name))


class _Loop(Artefact):
    def line(self, study: Study, _name: str = "", /) -> str:
        return command(study, self.verb, {})  # loop.json holds its options

    def describe(self, study: Study, _name: str) -> str:
        held = study.document(self.path(study)) or {}
        rounds = held.get("rounds")
        said = counted(len(rounds) if isinstance(rounds, list) else 0, "round")
        name = str(held.get(OPEN) or "")
        if name not in study.selections:
            return f"{said} of {held.get('model')}"
        left = left_to_label(study, name, study.truth_of(name))
        next_ = f"waits for {counted(left, 'label')} of {name}" if left else "can go on"
        return f"{said} of {held.get('model')}; the next {next_}"


LOOP = _Loop(
    "loop",
    verb="loop",
    follows=("networks", "selection", "labels"),
    where="loop.json",
    reads=(Input("labels", _labels, "labels came"),),
    own_files=("masks",),
)
