"""Inputs that several artefacts are made from, each with one digest and one reason."""

from __future__ import annotations

from collections.abc import Iterable

from faultscape import plug
from faultscape.reading.artefact import Input, texts
from faultscape.reading.boxes.evidence import boxes_key
from faultscape.reading.study import Study
from faultscape.study.parts import key_of


def labels_key(study: Study, truth: str) -> str:
    """Return a digest of all labels of a truth and of the answers that count with it, or '' if there is no
    such truth.
    """
    return study.truth_key(truth) if truth in study.truths else ""


def discards_key(study: Study, selection: str | None) -> str:
    """Return a digest of which images of a selection, or of the study, are discarded; the reasons do not
    matter.
    """
    images = set(study.discarded)
    if selection is not None:
        images &= {row.image for row in study.selections[selection].slots.rows}
    return key_of(sorted(images))


def files_of(sources: Iterable[str]) -> str | None:
    """Return a digest of your own functions (file.py:NAME), and of other names; None without any."""
    found = [(source, plug.digest(source)) for source in sources]
    return key_of(found) if found else None


def key_if_any(*held: object) -> str | None:
    """Return a key of these values; None if all are empty."""
    return key_of(*held) if any(held) else None


def boxes_digest(study: Study, truth: str) -> str | None:
    """Return a digest of the boxes of a truth, which narrow what is expected between points; None without
    any.
    """
    return boxes_key(study, truth) or None


MODELS = Input("models", lambda made: ",".join(made.study.models), "models were added, renamed or removed")
MAPS = Input("maps", lambda made: made.study.drawn_from(made.study.models), "images or predictions changed")
SETS = Input(
    "images",
    lambda made: key_of({name: made.study.set_keys.get(name, "") for name in texts(made.record.get("sets"))}),
    "images of its sets changed",
)
CLASSES = Input("classes", lambda made: key_of(made.study.settings.classes.counted), "classes changed")
LABELS = Input("labels", lambda made: labels_key(made.study, made.truth), "labels changed")
PHOTOS = Input("photos", lambda made: made.study.photos_key(), "image files changed")
GROUPS = Input(
    "groups", lambda made: key_if_any(sorted(made.study.groups.items())), "groups of images changed"
)
COLOURS = Input(
    "colours",
    lambda made: key_if_any(made.study.settings.classes.colours),
    "colours of classes changed",
)
NAMES = Input(
    "names",
    lambda made: (
        key_of(made.study.settings.classes.names) if made.study.settings.classes.first_names else None
    ),
    "classes were renamed",
)
